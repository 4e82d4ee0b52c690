/** The worker: reads files and trains, so that the page stays free. */

import { CsvReader, NotUtf8 } from "./csv";
import { Kernel } from "./kernel";
import { train, type Trained } from "./learning";
import type { ColumnView, Given, Reply, Request, Sample, TableView } from "./messages";
import { trainNumbers, whyAQuantity } from "./numbers";
import { featuresOf, type Recipe } from "./recipe";
import { axesOf, joined, type Samples, tableOfWindows } from "./recordings";
import { Unscalable } from "./solve";
import { survey } from "./survey";
import { SourceError, type Table, type TableColumn } from "./table";

const PIECE = 1 << 21;
const BARS = 24;
const MOST_COMMON = 5;
const SAMPLE = 240;
const SAMPLE_CELLS = 1 << 18;

let kernel: Promise<Kernel>;
let table: Table | null = null;
/** Several files, each a recording; null: one file. */
let several: Samples | null = null;

const say = (reply: Reply, transfer: Transferable[] = []): void => self.postMessage(reply, { transfer });

self.onmessage = async ({ data }: MessageEvent<Request>) => {
  if (data.kind === "begin") {
    kernel = Kernel.from(data.kernel);
    return;
  }
  try {
    if (data.kind === "open") {
      table = several = null;
      say({ kind: "opened", id: data.id, table: await open(data.id, data.files) });
      return;
    }
    if (!table) return;
    if (data.kind === "try") {
      const one = await read(data.file, () => undefined);
      say({ kind: "tried", id: data.id, name: data.file.name, values: axesOf(one, several ?? { table, label: "", files: [] }) });
      return;
    }
    const { settings } = data;
    const tell = (number: number, of: number): void => say({ kind: "testing", id: data.id, number, of });
    if (!settings.signal) {
      if (settings.task === "number" || (settings.task === null && whyAQuantity(table, settings.label))) {
        const trained = trainNumbers(await kernel, table, settings, tell);
        const { numbers } = table.column(settings.label);
        say({ kind: "numbers", id: data.id, trained, sample: sampleOf(table, trained, (row) => (Number.isNaN(numbers![row]) ? null : numbers![row])) });
        return;
      }
      const trained = train(await kernel, table, settings, tell);
      say({ kind: "trained", id: data.id, trained, sample: sampleOf(table, trained, classIn(table, trained)), recordings: null });
      return;
    }
    const made = tableOfWindows(await kernel, several ?? { table, label: settings.label, files: [] }, settings.signal);
    const label = made.table.columns.at(-1)!.name;
    const trained = train(await kernel, made.table, { ...settings, label, roles: new Map() }, tell, made.plan);
    say({ kind: "trained", id: data.id, trained, sample: sampleOf(made.table, trained, classIn(made.table, trained)), recordings: made.view });
  } catch (error) {
    const tooLarge = error instanceof RangeError;
    if (!tooLarge && !(error instanceof SourceError) && !(error instanceof Unscalable)) throw error;
    const about = data.kind === "open" ? "data" : data.kind === "try" ? "trial" : "training";
    const message = tooLarge ? "the data are too large for the memory of this page" : (error as Error).message;
    say({ kind: "refused", id: data.id, message, about });
  }
};

async function open(id: number, files: readonly Given[]): Promise<TableView> {
  const started = performance.now();
  const size = files.reduce((sum, { data }) => sum + data.size, 0);
  const tables: Table[] = [];
  let done = 0;
  for (const file of files) {
    tables.push(await read(file, (bytes) => say({ kind: "progress", id, part: Math.min(1, (done + bytes) / size) })));
    done += file.data.size;
  }
  if (files[0].label !== null) several = joined(tables, files.map(({ label }) => label!));
  table = several?.table ?? tables[0];
  const opened = table;
  survey(opened);
  const columns = opened.columns.map((column) => viewOf(opened, column));
  return { name: opened.name, rows: opened.rows, columns, milliseconds: performance.now() - started, encoding: opened.encoding, recordings: several?.label ?? null };
}

/** Read a file; one that is not UTF-8 is taken for what Excel writes in Western Europe. */
async function read({ name, data }: Given, tick: (bytes: number) => void, encoding: "utf-8" | "windows-1252" = "utf-8"): Promise<Table> {
  const reader = new CsvReader(name, encoding);
  try {
    for (let at = 0; at < data.size; at += PIECE) {
      reader.push(new Uint8Array(await data.slice(at, at + PIECE).arrayBuffer()));
      tick(at + PIECE);
    }
    return reader.end();
  } catch (error) {
    if (!(error instanceof NotUtf8)) throw error;
    return read({ name, label: null, data }, tick, "windows-1252");
  }
}

function viewOf(from: Table, column: TableColumn): ColumnView {
  const { name, kind, boolean, missing, withCommas } = column;
  const distinct = column.codes ? column.texts.length : null;
  const view: ColumnView = { name, kind, boolean, missing, distinct, range: null, bars: [], common: [], withCommas, decision: column.decision! };
  if (column.numbers) {
    const numbers = column.numbers.subarray(0, from.rows);
    let [low, high] = [Infinity, -Infinity];
    for (const value of numbers) {
      if (value < low && value > -Infinity) low = value;
      if (value > high && value < Infinity) high = value;
    }
    if (low <= high) {
      view.range = [low, high];
      view.bars = new Array<number>(BARS).fill(0);
      const scale = high > low ? BARS / (high - low) : 0;
      for (const value of numbers) {
        if (value >= low && value <= high) view.bars[Math.min(BARS - 1, Math.floor((value - low) * scale))]++;
      }
    }
  } else if (column.codes) {
    const counts = new Array<number>(column.texts.length).fill(0);
    for (const code of column.codes.subarray(0, from.rows)) if (code >= 0) counts[code]++;
    const order = counts.map((_, code) => code).sort((a, b) => counts[b] - counts[a]).slice(0, MOST_COMMON);
    view.common = order.map((code) => [column.texts[code], counts[code]]);
  }
  return view;
}

/** Return what says the class of a row; null if it has none. */
function classIn(from: Table, trained: Trained): (row: number) => number | null {
  const { codes, texts } = from.column(trained.recipe.label);
  const places = new Map(trained.places);
  return (row) => (codes![row] < 0 ? null : places.get(texts[codes![row]])!);
}

/** Return some rows, evenly spread, with their classes or numbers. */
function sampleOf(from: Table, trained: { recipe: Recipe; names: string[] }, truthOf: (row: number) => number | null): Sample {
  const m = trained.names.length;
  const most = Math.max(8, Math.min(SAMPLE, Math.floor(SAMPLE_CELLS / m)));
  const step = Math.max(1, from.rows / most);
  const rows: number[] = [];
  for (let at = step / 2; at < from.rows; at += step) {
    const row = Math.floor(at);
    if (truthOf(row) !== null) rows.push(row);
  }
  const columns = featuresOf(from, trained.recipe, Int32Array.from(rows));
  const values = new Float64Array(rows.length * m);
  columns.forEach((column, j) => column.forEach((value, i) => (values[i * m + j] = value)));
  return { rows, lines: rows.map((row) => from.lineOf(row)), truth: rows.map((row) => truthOf(row)!), values };
}
