/** What is shown of a model that predicts a number: how far off it is, what moves it, what if, and the file. */

import { about } from "virtual:assets";
import { curveChart, shape, valuesChart } from "./curve_chart";
import { counted, h, offer, put, rounded, styled, visible } from "./dom";
import { countOf } from "./kernel";
import { type Input, TOGETHER, valueOf } from "./model";
import { numberFile } from "./model_file";
import type { NumberModel } from "./number_model";
import type { NumberMethod } from "./numbers";
import { RecordControls } from "./record_controls";
import type { Studio } from "./studio";
import { effect } from "./understand_panel";

const MOST_BARS = 12;
const MOST_CURVES = 9;
const SIDE = 300;

export const NUMBER_METHODS: [NumberMethod, string][] = [["auto", "Auto: lines, curves and interactions"], ["exact", "Exact: curves"]];
const NAMES: Record<NumberMethod, string> = { auto: "Auto", exact: "Exact, with curves" };

export function showNumberTrain(panel: HTMLElement, model: NumberModel): void {
  const { evaluation, note, milliseconds, recipe, products, why, method } = model.trained;
  const how = `${NAMES[method]}: ${counted(products.count, "row")}, ${counted(model.inputs.length, "column")}, one pass in ${milliseconds.train.toFixed(1)} ms`;
  const title = h("h2", { id: "train-title" }, "Trained");
  const said = why && h("p", { id: "quantity" }, `${why}: it is predicted as a number.`);
  if (!evaluation) {
    put(panel, title, h("p", { class: "lead" }, how), said, h("p", { class: "refusal" }, note ?? ""));
    return;
  }
  const { r2, mae, rmse, base, rows } = evaluation;
  const figure = (name: string, value: string, what: string, id: string): HTMLElement =>
    h("div", { class: "figure" }, h("span", { class: "name" }, name), h("span", { class: "value", id: `figure-${id}` }, value), h("span", { class: "faint" }, what));
  put(panel, title,
    h("p", { class: "lead" }, `${how}; tested on ${rows < products.count ? `${counted(rows, "row")} of them` : `rows that were left out, in ${evaluation.folds} parts`}, in ${milliseconds.evaluate.toFixed(0)} ms.`),
    said,
    h("div", { class: "figures" },
      figure("R²", r2.toFixed(3), "of the variation is explained; 1 is perfect", "r2"),
      figure("Mean error", rounded(mae), `of ${visible(recipe.label, 24)}, up or down`, "mae"),
      figure("Typical error", rounded(rmse), "root mean square", "rmse"),
      figure("Without a model", rounded(base), "mean error of always answering the mean", "base")),
    r2 <= 0 && h("p", { class: "refusal", id: "useless" }, "The model is no better than always answering the mean: these columns hardly tell anything about it."),
    comparison(model),
    h("div", { class: "block" }, h("h3", {}, "Predicted against true"), scatter(evaluation.points, recipe.label)));
}

/** The ways of training beside each other. */
function comparison({ trained: { compared, method, coder, tooLarge, recipe } }: NumberModel): HTMLElement | null {
  if (tooLarge) return h("p", { class: "faint", id: "no-auto" }, "The table is too large for auto in this page: sefr train has no such limit.");
  if (!compared) return null;
  return h("div", { class: "block" }, h("h3", {}, "Methods compared"),
    h("p", { class: "faint", id: "chosen" }, `Auto adds ${counted(countOf(coder.ferns), "interaction")} of columns to their curves.`),
    h("table", { id: "compared" },
      h("thead", {}, h("tr", {}, ["Method", "R²", `Mean error of ${visible(recipe.label, 24)}`].map((name, i) => h("th", { scope: "col", class: i ? "number" : null }, name)))),
      h("tbody", {}, compared.map((one) => h("tr", { class: one.method === method ? "used" : null },
        h("th", { scope: "row" }, NAMES[one.method], one.method === method && h("span", { class: "faint" }, " used")),
        h("td", { class: "number" }, one.r2.toFixed(3)), h("td", { class: "number" }, rounded(one.mae)))))));
}

function scatter(points: readonly [number, number][], label: string): HTMLElement {
  const all = points.flat();
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const at = (value: number): number => ((value - low) / (high - low || 1)) * SIDE;
  const svg = shape("svg", { viewBox: `-4 -4 ${SIDE + 8} ${SIDE + 8}`, class: "scatter", role: "img", "aria-label": `Predicted against true ${visible(label)} of ${points.length} rows, from ${rounded(low)} to ${rounded(high)}` });
  svg.append(shape("line", { class: "zero", x1: 0, y1: SIDE, x2: SIDE, y2: 0 }));
  for (const [truth, given] of points) svg.append(shape("circle", { cx: at(truth), cy: SIDE - at(given), r: 2.4 }));
  return h("figure", { class: "chart against-truth" }, svg,
    h("p", { class: "faint ends" }, h("span", {}, rounded(low)), h("span", {}, `true ${visible(label, 24)} →, predicted ↑`), h("span", {}, rounded(high))),
    h("figcaption", { class: "faint" }, "On the dashed line a prediction is right."));
}

export function showNumberUnderstand(panel: HTMLElement, model: NumberModel): void {
  const { inputs, trained: { recipe } } = model;
  const shares = model.importances();
  const order = Array.from(shares.keys()).sort((a, b) => shares[b] - shares[a]);
  const most = Math.max(1e-12, shares[order[0]]);
  const drawn = order.filter((at) => at < inputs.length).slice(0, MOST_CURVES);
  const valuesOf = (input: Input): Float64Array => (input.values ? model.effectsOfValues(input) : model.curve(input.first).effects);
  const largest = Math.max(1e-12, ...drawn.flatMap((at) => Array.from(valuesOf(inputs[at]), Math.abs)));
  put(panel,
    h("h2", { id: "understand-title" }, "Why it answers as it does"),
    h("p", { class: "lead" }, shares.length > inputs.length
      ? "A prediction is the mean, one part per column, and one for what several columns say together, so every one can be taken apart."
      : "A prediction is the mean and one part per column, so every one can be taken apart."),
    h("div", { class: "block" }, h("h3", {}, "What moves the prediction"),
      h("p", { class: "faint" }, `By how much each column typically moves ${visible(recipe.label, 40)}.`),
      h("div", { class: "shares", id: "looks" }, order.slice(0, MOST_BARS).map((at) => h("div", { class: "score won" },
        h("span", {}, visible(inputs[at]?.name ?? TOGETHER, 28)), h("div", {}, styled(h("i", {}), { "--part": shares[at] / most })), h("span", { class: "number" }, rounded(shares[at])))))),
    h("div", { class: "block" }, h("h3", {}, "Curves: what a value adds"),
      h("p", { class: "faint" }, "From the lowest value to the highest; below, in grey, how many rows have such a value. All are drawn to one scale."),
      h("div", { class: "curves", id: "curves" }, drawn.map((at) => {
        const input = inputs[at];
        const what = { name: input.name, what: visible(recipe.label), most: largest };
        return input.values ? valuesChart(what, input.values, valuesOf(input)) : curveChart(what, model.curve(input.first));
      }))),
    whatIf(model));
}

function whatIf(model: NumberModel): HTMLElement {
  const { inputs, sample, trained: { ranges, recipe, regression, evaluation } } = model;
  const head = h("p", { class: "answer", id: "what-if-answer", "aria-live": "polite" });
  const parts = h("div", { class: "effects", id: "contributions" });
  let at = 0;
  const follow = (): void => {
    const { values } = controls;
    const error = evaluation ? `, give or take ${rounded(evaluation.rmse)}` : "";
    put(head, `line ${sample.lines[at]}, is ${rounded(sample.truth[at])}: predicted `, h("strong", {}, rounded(model.predict(values))), error);
    const own = model.parts(values);
    const order = Array.from(own.keys()).sort((a, b) => Math.abs(own[b]) - Math.abs(own[a])).slice(0, MOST_BARS);
    const most = Math.max(1e-12, ...order.map((i) => Math.abs(own[i])));
    put(parts, h("p", { class: "faint" }, `Starting from the mean of ${visible(recipe.label, 32)}, ${rounded(regression.mean)}`),
      order.map((i) => effect(i < inputs.length ? `${inputs[i].name} = ${valueOf(inputs[i], values)}` : TOGETHER, own[i], most)));
  };
  const controls = new RecordControls({ inputs, ranges, sampled: sample.values, features: model.names.length }, follow);
  const show = (by: number): void => {
    at = (at + by + sample.rows.length) % sample.rows.length;
    const own = model.parts(model.row(at));
    controls.show(model.row(at), Array.from(inputs.keys()).sort((a, b) => Math.abs(own[b]) - Math.abs(own[a])));
    follow();
  };
  show(0);
  return h("div", { class: "block what-if", id: "what-if" }, h("h3", {}, "What if"),
    h("div", { class: "buttons" },
      h("button", { type: "button", onclick: () => show(-1) }, "Previous row"), h("button", { type: "button", onclick: () => show(1) }, "Next row")),
    h("div", { class: "two" }, h("div", {}, head, controls.element), h("div", {}, h("h4", {}, "What each column adds"), parts)));
}

export function showNumberCarry(panel: HTMLElement, studio: Studio, model: NumberModel): void {
  const said = h("p", { class: "said", "aria-live": "polite", id: "carried" });
  put(panel, h("h2", { id: "carry-title" }, "Download"),
    h("div", { class: "aways" },
      h("div", { class: "away" }, h("h3", {}, "Model"), h("p", { class: "faint" }, "A .sefr file for Python and the command: sefr predict, update, merge, forget."),
        h("button", { type: "button", id: "save-model", onclick: () => {
          const content = numberFile(about, model.trained);
          offer(`${model.stem}.sefr`, content, "application/json");
          put(said, `${model.stem}.sefr: ${content.length.toLocaleString("en-US")} bytes`);
        } }, "Download")),
      h("div", { class: "away" }, h("h3", {}, "Link"), h("p", { class: "faint" }, "The settings of this page, never the data."),
        h("button", { type: "button", id: "copy-link", onclick: () => {
          put(said, studio.copyLink());
        } }, "Copy"))), said);
}
