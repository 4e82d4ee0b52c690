/** On a board: the model on a simulated Uno, learning there, and the same with a real one. */

import { counted, h, put, rounded, styled, visible } from "./dom";
import { baseState } from "./export";
import { BoardError, Client } from "./line";
import type { Model } from "./model";
import { boardAnswer, bytesOf, NotForBoards, type Quantised } from "./quantise";
import { NotHeld } from "./mapping";
import { CLOCK, modelRam, type Mode, SimulatedUno, UNO_FLASH, UNO_RAM } from "./simulated_uno";
import { StateError, stateWithout, summaryOfState, unpackState } from "./state";
import type { Studio } from "./studio";
import { hasSerial, SerialLine } from "./web_serial";

const TRIED = 20;
const LEARNED = 30;
/**
 * The chip alone: 5.2 mA at 5 V and 8 MHz, active, 25 °C, typical (data sheet of the ATmega328P, Atmel-8271, DC
 * characteristics). It names no current at 16 MHz; a cycle is taken to cost there what it costs at 8 MHz.
 */
const JOULES_PER_CYCLE = (5 * 5.2e-3) / 8e6;
const ARENA = 1600;

export function showBoard(panel: HTMLElement, studio: Studio, model: Model): void {
  const out = h("div", { class: "ran", "aria-live": "polite" });
  const learned = h("div", { class: "ran", "aria-live": "polite" });
  const real = h("div", { class: "ran", "aria-live": "polite" });
  const button = (id: string, text: string, to: HTMLElement, run: () => Promise<void>, disabled = false): HTMLElement => {
    const element = h("button", { type: "button", id, class: id === "run-board" ? "primary" : null, disabled, onclick: async () => {
      element.disabled = true;
      put(to, h("p", { class: "faint" }, "The board is running …"));
      try {
        await run();
      } catch (error) {
        if (!isExpected(error)) throw error;
        put(to, h("p", { class: "refusal", role: "alert" }, error.message));
      } finally {
        element.disabled = false;
      }
    } }, text);
    return element;
  };
  if (model.planes.table) {
    put(panel, h("h2", { id: "board-title" }, "On a board"),
      h("p", { class: "lead" }, "A model with curves becomes C by the command: sefr export. Without curves, it runs here on a simulated Arduino Uno."),
      h("button", { type: "button", id: "use-lines", onclick: () => studio.set({ method: "passes" }) }, "Use ten passes instead"));
    return;
  }
  put(panel,
    h("h2", { id: "board-title" }, "On a board"),
    h("p", { class: "lead" }, "A simulated Arduino Uno runs the device library, instruction by instruction: 16 MHz, 32 KB of flash, 2 KB of RAM."),
    h("div", { class: "block" }, h("h3", {}, "Answer"),
      button("run-board", `Classify ${TRIED} rows on the Uno`, out, () => classify(studio, model, out)), out),
    h("div", { class: "block" }, h("h3", {}, "Learn on the board"),
      h("p", { class: "faint" }, `The page forgets ${LEARNED} rows, exactly. The board, which knows nothing yet, learns them record by record; its state comes back over its serial line and is added to the page's model.`),
      button("learn-board", `Let the Uno learn ${LEARNED} rows`, learned, () => learn(studio, model, learned)), learned),
    h("div", { class: "block" }, h("h3", {}, "A real board"),
      h("p", { class: "faint" }, "The same panel speaks to a board with an exported sketch, where the browser has Web Serial. What a sketch that learns has learned since it was flashed can be added to the model."),
      button("real-board", hasSerial() ? "Connect a board" : "This browser has no Web Serial", real, () => connect(studio, model, real), !hasSerial()), real));
}

function isExpected(error: unknown): error is Error {
  return [BoardError, NotForBoards, NotHeld, StateError, DOMException].some((kind) => error instanceof kind);
}

async function classify(studio: Studio, model: Model, out: HTMLElement): Promise<void> {
  const q = model.inIntegers(8);
  const { uno, client } = SimulatedUno.client(studio.uno, q, "fixed");
  const rows = Math.min(TRIED, model.sample.rows.length);
  let [asPage, asTwin, right] = [0, 0, 0];
  const answers: string[] = [];
  for (let i = 0; i < rows; i++) {
    const at = Math.floor((i * model.sample.rows.length) / rows);
    const values = model.row(at);
    const bytes = bytesOf(q, values);
    const answer = await client.classify(bytes);
    asTwin += Number(answer === boardAnswer(q, bytes));
    asPage += Number(answer === model.answer(values));
    right += Number(answer === model.sample.truth[at]);
    answers.push(model.labels[answer]);
  }
  const cycles = median(uno.measured);
  if (asTwin < rows) throw new BoardError(`the board and the page disagree on ${rows - asTwin} of ${rows} rows`);
  put(out, figures(cycles, "per answer"), memory(uno, q, "fixed", studio),
    h("p", { id: "board-answers" }, `${asPage} of ${rows} answers as in the page, ${right} right: `, h("span", { class: "faint" }, answers.map((answer) => visible(answer, 12)).join(", "))),
    h("p", { class: "faint" }, q.input === "uint8" ? "Records are bytes as they are." : `The page has turned ${q.input} values into bytes; the exported sketch does so itself, at some cycles per value.`));
  studio.say(`${rounded(cycles)} cycles per answer`);
}

async function learn(studio: Studio, model: Model, out: HTMLElement): Promise<void> {
  if (model.fixed) throw new BoardError(model.fixed);
  const q = model.inIntegers(8);
  const mode = modeOf(q, studio);
  const n = model.sample.rows.length;
  const step = Math.max(1, Math.floor(n / LEARNED));
  const rows = Array.from({ length: Math.min(LEARNED, n) }, (_, i) => i * step).filter((at) => !model.row(at).some(Number.isNaN));
  const truth = rows.map((at) => model.sample.truth[at]);
  const { uno, client } = SimulatedUno.client(studio.uno, q, mode);
  for (const [i, at] of rows.entries()) await client.learn(bytesOf(q, model.row(at)), truth[i]);
  const learning = median(uno.measured);
  await client.solve();
  const solving = uno.measured.at(-1)!;
  let right = 0;
  const others = Array.from({ length: Math.min(TRIED, n) }, (_, i) => Math.min(n - 1, i * step + 1));
  for (const at of others) right += Number((await client.classify(bytesOf(q, model.row(at)))) === model.sample.truth[at]);
  const state = unpackState(await client.state());
  const home = summaryOfState(state, q);
  put(out, figures(learning, "per record learned"), memory(uno, q, mode, studio),
    h("p", { id: "board-learned" }, `From ${counted(rows.length, "record")} alone the board answers ${right} of ${others.length} other rows right. To solve took ${solving.toLocaleString("en-US")} cycles.`),
    mode === "lean" && h("p", { class: "faint" }, "Weights do not fit beside the sums: the board computes them at each answer."),
    h("button", { type: "button", id: "bring-home", onclick: () => {
      const kept = rows.map((at) => model.row(at));
      const before = model.summary;
      model.forget(kept, truth, `${counted(rows.length, "row")} forgotten`);
      model.merge(home, "what the board learned");
      const same = before.sums.head.every((sum, i) => sum === model.summary.sums.head[i]) && before.counts.head.every((count, i) => count === model.summary.counts.head[i]);
      studio.tell("changed");
      const said = same
        ? `${counted(rows.length, "record")} were added. The model is what it was before, to the bit.`
        : `${counted(rows.length, "record")} were added, as bytes: the model is what it was but for their rounding.`;
      put(document.querySelector("#learn-board + .ran")!, h("p", { id: "came-home" }, said));
      studio.say(said);
    } }, "Add what it learned"));
  studio.say(`The board learned ${rows.length} records`);
}

/** With weights where they fit the RAM of the program on the board, else without. */
function modeOf(q: Quantised, studio: Studio): Mode {
  const fits = (mode: Mode): boolean => modelRam(q, mode) <= ARENA;
  if (q.classes.length > 43) throw new NotForBoards(`16-bit sums take 43 classes, not ${q.classes.length}`);
  if (fits("learns")) return "learns";
  if (fits("lean")) return "lean";
  const needed = modelRam(q, "lean") + studio.uno.size.ram - ARENA;
  throw new BoardError(`learning ${q.low.length} features x ${q.classes.length} classes takes ${needed.toLocaleString("en-US")} bytes of RAM, and an Uno has ${UNO_RAM.toLocaleString("en-US")}`);
}

function figures(cycles: number, what: string): HTMLElement {
  const one = (name: string, value: string, id: string): HTMLElement => h("div", { class: "figure" }, h("span", { class: "name" }, name), h("span", { class: "value", id }, value), h("span", { class: "faint" }, what));
  return h("div", { class: "figures" },
    one("Cycles", Math.round(cycles).toLocaleString("en-US"), "board-cycles"),
    one("Milliseconds", rounded((1000 * cycles) / CLOCK), "board-ms"),
    one("Microjoules", rounded(1e6 * cycles * JOULES_PER_CYCLE), "board-uj"));
}

function memory(uno: SimulatedUno, q: Quantised, mode: Mode, studio: Studio): HTMLElement {
  const ram = studio.uno.size.ram - ARENA + modelRam(q, mode) + uno.stack;
  const meter = (name: string, used: number, of: number, id: string): HTMLElement => h("div", { class: "meter" },
    h("span", {}, name), styled(h("div", { class: "track" }, h("i", {})), { "--part": Math.min(1, used / of) }),
    h("span", { class: "number", id }, `${used.toLocaleString("en-US")} of ${of.toLocaleString("en-US")} bytes`));
  return h("div", { class: "meters" }, meter("Flash", uno.flash, UNO_FLASH, "board-flash"), meter("RAM", ram, UNO_RAM, "board-ram"),
    h("p", { class: "faint" }, "Of this program, without the Arduino core; RAM with the deepest stack so far. Microjoules by arithmetic: 3.25 nJ per cycle, from the data sheet's 5.2 mA at 5 V and 8 MHz, the chip alone."));
}

async function connect(studio: Studio, model: Model, out: HTMLElement): Promise<void> {
  const client = new Client(await SerialLine.open());
  try {
    await client.hush();
    const about = await client.about();
    if (about.features !== model.names.length || about.classes !== model.labels.length) {
      throw new BoardError(`the board has ${about.features} features and ${about.classes} classes, this model ${model.names.length} and ${model.labels.length}`);
    }
    const rows = Math.min(TRIED, model.sample.rows.length);
    let same = 0;
    for (let i = 0; i < rows; i++) {
      const values = model.row(i);
      same += Number((await client.classify(values)) === model.answer(values));
    }
    put(out, h("p", { id: "board-said" }, `${same} of ${rows} answers of the board as in the page.`), about.id !== 0 && (await learnedThere(studio, model, client)));
  } finally {
    await client.close();
  }
}

/** What a board with a sketch that learns has learned beyond the model it started from, to be added. */
async function learnedThere(studio: Studio, model: Model, client: Client): Promise<HTMLElement> {
  const q = model.inIntegers(8);
  const base = unpackState(baseState(q).bytes);
  const learned = stateWithout(unpackState(await client.state()), base);
  const records = learned.counts.reduce((a, b) => a + b, 0);
  const said = h("p", { id: "board-home" }, records ? `The board has learned ${counted(records, "record")} since it was flashed.` : "The board has learned nothing since it was flashed.");
  return h("div", {}, said, records > 0 && h("button", { type: "button", id: "bring-real-home", onclick: () => {
    model.merge(summaryOfState(learned, q), "what a board learned");
    studio.tell("changed");
    const done = `${counted(records, "record")} of the board were added.`;
    put(document.querySelector("#real-board + .ran")!, h("p", { id: "board-home" }, done));
    studio.say(done);
  } }, "Add what it learned"));
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
