/** Understand: what the model looks at, what would change an answer, where it fails, and drawing. */

import { curveChart, signed, valuesChart } from "./curve_chart";
import { drawPanel } from "./draw_panel";
import { counted, h, put, styled, visible } from "./dom";
import type { Mistake } from "./learning";
import { byInput, type Input, type Model, TOGETHER, valueOf } from "./model";
import { drawn, drawnWeights } from "./picture";
import { trySignal } from "./signal_panel";
import type { Studio } from "./studio";
import { WhatIf } from "./what_if";

const MOST_BARS = 12;
const MOST_PICTURES = 20;
const MOST_MISTAKES = 12;
const MOST_CURVES = 9;

/** What is shown; kept while a model changes. */
const chosen = { k: 0, effects: true };

export function showUnderstand(panel: HTMLElement, studio: Studio, model: Model): void {
  if (model.trained.plan) {
    put(panel,
      h("h2", { id: "understand-title" }, "Why it answers as it does"),
      h("p", { class: "lead" }, "Each window is answered by itself, from how often which shape occurs in it, and from its level and spread."),
      trySignal(studio, model), looks(model));
    return;
  }
  const whatIf = new WhatIf(model);
  const parts = [
    h("h2", { id: "understand-title" }, "Why it answers as it does"),
    h("p", { class: "lead" }, model.trained.auto
      ? "A score is a sum with one part per column, and one for what several columns say together, so every answer can be taken apart."
      : "A score is a sum with one part per column, so every answer can be taken apart."),
    model.picture && drawPanel(studio, model),
    looks(model),
    whatIf.element,
    mistakes(model, whatIf),
  ];
  put(panel, ...parts);
}

function looks(model: Model): HTMLElement {
  chosen.k = Math.min(chosen.k, model.labels.length - 1);
  const bars = h("div", { class: model.trained.plan ? "effects wide" : "effects", id: "looks" });
  const pictures = h("div", { class: "pictures" });
  const curves = h("div", { class: "curves", id: "curves" });
  const { picture } = model;
  const of = (k: number): Float64Array => (chosen.effects ? model.effects(k) : model.featureScores(k));
  const key = h("p", { class: "key" });
  const show = (): void => {
    // with bins, high values need not count for the class: a column moves the score towards it or not
    const [towards, away] = model.planes.table && chosen.effects ? ["moves the score towards the class", "away from it"] : ["counts for the class", "counts against it"];
    put(key, h("span", {}, h("span", { class: "swatch for" }), towards), h("span", {}, h("span", { class: "swatch against" }), away));
    const whole = chosen.effects && !picture && !model.trained.plan;
    const [names, values] = whole ? ofColumns(model, of(chosen.k)) : model.trained.plan ? byKind(model.names, of(chosen.k)) : [[...model.names, TOGETHER], of(chosen.k)];
    const order = Array.from(values.keys()).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a])).slice(0, MOST_BARS);
    const most = chosen.effects || model.planes.table || model.trained.refined ? Math.abs(values[order[0]]) : 1;
    put(bars, order.map((j) => effect(names[j], values[j], most)));
    if (model.planes.table) showCurves(curves, model, chosen.k);
    put(pictures, picture && model.labels.slice(0, MOST_PICTURES).map((label, k) =>
      h("figure", {}, drawnWeights(picture, of(k), `What counts for ${visible(label)}`), h("figcaption", {}, visible(label, 12)))));
  };
  const select = h("select", { id: "looks-class", onchange: () => {
    chosen.k = Number(select.value);
    show();
  } }, model.labels.map((label, k) => h("option", { value: k, selected: k === chosen.k }, visible(label, 40))));
  const kind = h("select", { id: "looks-kind", onchange: () => {
    chosen.effects = kind.value === "effects";
    show();
  } }, h("option", { value: "effects", selected: chosen.effects }, "Effect: how much it moves the score on average"),
  h("option", { value: "scores", selected: !chosen.effects }, model.planes.table ? "Strongest bin: what it adds to the score" : model.trained.refined ? "Weight: of the feature scaled to 0 to 1" : "Score of the paper: how clear it is, from −1 to 1"));
  show();
  return h("div", { class: "block" },
    h("h3", {}, "What it looks at"),
    key,
    picture && pictures,
    h("div", { class: "field" }, h("label", { for: "looks-class" }, "Class"), select, h("label", { for: "looks-kind" }, "Show"), kind), bars,
    model.planes.table && h("h4", {}, "Curves: what a value adds to the score of the class"),
    model.planes.table && h("p", { class: "faint" }, "From the lowest value to the highest; below, in grey, how many rows have such a value. All are drawn to one scale."), model.planes.table && curves);
}

/** Return the sums over the features of each column, and what several columns say together. */
function ofColumns({ inputs, names }: Model, values: Float64Array): [string[], Float64Array] {
  return [[...inputs.map(({ name }) => name), TOGETHER], Float64Array.from([...byInput(inputs, values), ...values.subarray(names.length)])];
}

/** Return the sums over features of one shape and width, or one statistic of all parts of a window. */
export function byKind(names: readonly string[], values: Float64Array): [string[], Float64Array] {
  const sums = new Map<string, number>();
  names.forEach((name, j) => {
    const kind = name.replace(/(?:, high at .*| of part .*)$/, "");
    sums.set(kind, (sums.get(kind) ?? 0) + values[j]);
  });
  return [[...sums.keys()], Float64Array.from(sums.values())];
}

/** The curves of the features that move the score most. */
function showCurves(to: HTMLElement, model: Model, k: number): void {
  const { inputs } = model;
  const effects = byInput(inputs, model.effects(k));
  const order = Array.from(effects.keys()).sort((a, b) => Math.abs(effects[b]) - Math.abs(effects[a])).slice(0, MOST_CURVES);
  const valuesOf = (input: Input): Float64Array => (input.values ? model.effectsOfValues(input, k) : model.curve(input.first, k).effects);
  const most = Math.max(1e-12, ...order.flatMap((at) => Array.from(valuesOf(inputs[at]), Math.abs)));
  put(to, order.map((at) => {
    const input = inputs[at];
    const about = { name: input.name, what: visible(model.labels[k]), most };
    if (input.values) return valuesChart(about, input.values, valuesOf(input));
    const { low, high } = model.trained.ranges;
    return curveChart(about, { ...model.curve(input.first, k), low: low[input.first], high: high[input.first] });
  }), inputs.length > order.length && h("p", { class: "faint" }, `The ${order.length} of ${inputs.length} columns that move the score most.`));
}

/** A bar to the right where a number is positive, to the left where it is negative. */
export function effect(name: string, value: number, most: number): HTMLElement {
  const bar = styled(h("div", { class: `bar ${value >= 0 ? "for" : "against"}` }), { "--part": Math.min(1, Math.abs(value) / (most || 1)) });
  return h("div", { class: "effect" }, h("span", { class: "feature", title: visible(name, 200) }, visible(name, 40)), h("div", { class: "axis" }, bar), h("span", { class: "number" }, signed(value)));
}

function mistakes(model: Model, whatIf: WhatIf): HTMLElement | null {
  const { evaluation } = model.trained;
  if (!evaluation) return null;
  const hardest = evaluation.mistakes.slice(0, MOST_MISTAKES);
  const total = evaluation.confusion.reduce((sum, row, k) => sum + row.reduce((a, b, j) => a + (j === k ? 0 : b), 0), 0);
  return h("div", { class: "block" },
    h("h3", {}, "Hardest mistakes"),
    h("p", { class: "faint" }, total ? `${counted(total, "mistake")} in all; these the model was surest of. Choose one to see why.` : "None: every row was answered right."),
    h("div", { class: "mistakes" }, hardest.map((mistake) => card(model, mistake, whatIf))));
}

function card(model: Model, mistake: Mistake, whatIf: WhatIf): HTMLElement {
  const { picture } = model;
  const [is, said] = [visible(model.labels[mistake.truth], 16), visible(model.labels[mistake.answer], 16)];
  const show = (): void => whatIf.show(mistake.values, `line ${mistake.line}`, mistake.truth, true);
  const seen = picture
    ? drawn(picture, mistake.values, model.highest, `line ${mistake.line}`)
    : h("span", { class: "faint values" }, model.inputs.slice(0, 4).map((input) => visible(valueOf(input, mistake.values), 16)).join(", ") + (model.inputs.length > 4 ? ", …" : ""));
  return h("button", { type: "button", class: "mistake", onclick: show }, seen,
    h("span", {}, "is ", h("strong", {}, is), ", said ", h("strong", {}, said)), h("span", { class: "faint" }, `line ${mistake.line}`));
}
