/** The page: panels one below the other, each shown when there is something to show. */

import { about, examples } from "virtual:assets";
import { showBoard } from "./board_panel";
import { showCarry } from "./carry_panel";
import { DataPanel } from "./data_panel";
import { byId, counted, percent } from "./dom";
import type { Model } from "./model";
import { showNumberCarry, showNumberTrain, showNumberUnderstand } from "./number_panels";
import { showTrial } from "./signal_panel";
import { Studio, unpacked } from "./studio";
import { accuracyOf } from "./learning";
import { showTrain } from "./train_panel";
import { showUnderstand } from "./understand_panel";

const LATER = ["train", "understand", "board", "carry"] as const;

async function begin(): Promise<void> {
  const studio = await Studio.begin();
  const data = new DataPanel(byId("data"), studio);
  byId("about").textContent = `SEFR Studio ${about.version}. Everything is computed here, by the C of the sefr package compiled to WebAssembly; the page makes no network request.`;
  studio.listen((event) => {
    if (event === "opening" || event === "opened" || event === "training" || event === "refused" || event === "trained") data.show(event);
    if (event === "testing") {
      data.showTesting();
      return;
    }
    if (event === "tried") {
      showTrial(studio);
      return;
    }
    const shown = studio.model ?? studio.numbers;
    for (const id of LATER) byId(id).hidden = !shown && !(id === "train" && event === "training");
    const { evaluation, plan } = studio.model?.trained ?? { evaluation: null, plan: null };
    if (!evaluation && !plan) byId("board").hidden = true; // a number, or nothing that was tested
    document.querySelectorAll<HTMLElement>("#steps li").forEach((step, i) => (step.hidden = i > 0 && byId(LATER[i - 1]).hidden));
    document.body.classList.toggle("busy", event === "opening" || event === "training");
    const { model, numbers } = studio;
    if (numbers && event === "trained") {
      const { evaluation, products } = numbers.trained;
      studio.say(`Trained on ${counted(products.count, "row")}${evaluation ? `, R² ${evaluation.r2.toFixed(3)}` : ""}`);
      inTurn([
        () => showNumberTrain(byId("train"), numbers),
        () => showNumberUnderstand(byId("understand"), numbers),
        () => showNumberCarry(byId("carry"), studio, numbers),
      ], () => studio.numbers === numbers);
    }
    if (!model) return;
    if (event === "trained") {
      const { evaluation } = model.trained;
      const rows = studio.recordings ? counted(studio.recordings.windows, "window") : counted(studio.table!.rows, "row");
      studio.say(`Trained on ${rows}${evaluation ? `, accuracy ${percent(accuracyOf(evaluation.confusion))}` : ""}`);
    }
    if (event === "changed") for (const show of panels(studio, model).slice(1)) show();
    else if (event === "trained") inTurn(panels(studio, model), () => studio.model === model);
  });
  data.show("opening");
  document.querySelectorAll<HTMLElement>("#steps li").forEach((step, i) => (step.hidden = i > 0));
  const words = new URLSearchParams(location.hash.slice(1));
  if (words.has("label") || words.has("method")) studio.want(words);
  const given = document.getElementById("given");
  const example = `${words.get("example")}.csv`;
  if (given) studio.open(given.dataset.name ?? "data.csv", new Blob([await unpacked(given.textContent!.trim())]));
  else if (Object.hasOwn(examples, example)) await studio.openExample(example);
  document.documentElement.dataset.ready = "yes";
}

function panels(studio: Studio, model: Model): (() => void)[] {
  return [
    () => showTrain(byId("train"), studio, model),
    () => showUnderstand(byId("understand"), studio, model),
    () => showBoard(byId("board"), studio, model),
    () => showCarry(byId("carry"), studio, model),
  ];
}

/** Do one thing after the other, so that none keeps the page from its reader. */
function inTurn(things: readonly (() => void)[], wanted: () => boolean): void {
  const [first, ...rest] = things;
  if (!first || !wanted()) return;
  first();
  setTimeout(() => inTurn(rest, wanted));
}

void begin();
