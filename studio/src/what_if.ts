/** What if: a record with sliders, and its answer taken apart while they move. */

import { counted, h, percent, put, styled, visible } from "./dom";
import { byInput, type Model, TOGETHER, valueOf } from "./model";
import { drawn } from "./picture";
import { RecordControls } from "./record_controls";
import { effect } from "./understand_panel";

const MOST_SCORES = 12;
const MOST_PARTS = 12;

export class WhatIf {
  readonly element: HTMLElement;
  private at = 0;
  private truth = -1;
  private name = "";
  private allScores = false;
  private readonly head = h("p", { class: "answer", id: "what-if-answer", "aria-live": "polite" });
  private readonly seen = h("div", { class: "seen" });
  private readonly scores = h("div", { class: "scores", id: "likely" });
  private readonly parts = h("div", { class: "effects", id: "contributions" });
  private readonly controls: RecordControls;

  constructor(private readonly model: Model) {
    const columns = { inputs: model.inputs, ranges: model.trained.ranges, sampled: model.sample.values, features: model.names.length };
    this.controls = new RecordControls(columns, () => this.follow());
    const step = (by: number): void => {
      const n = model.sample.rows.length;
      this.at = (this.at + by + n) % n;
      this.showSample();
    };
    this.element = h("div", { class: "block what-if", id: "what-if" },
      h("h3", {}, "What if"),
      h("div", { class: "buttons" },
        h("button", { type: "button", onclick: () => step(-1) }, "Previous row"),
        h("button", { type: "button", onclick: () => step(1) }, "Next row"),
        h("button", { type: "button", onclick: () => this.show(model.typical(), "a typical row", -1, false) }, "Typical row")),
      h("div", { class: "two" },
        h("div", {}, this.head, h("div", { class: "beside" }, this.seen, this.scores), this.controls.element),
        h("div", {}, h("h4", {}, "What each column adds"), this.parts)));
    this.showSample();
  }

  /** Show a record; `go` brings the reader there. */
  show(values: Float64Array, name: string, truth: number, go: boolean): void {
    const { model } = this;
    this.name = name;
    this.truth = truth;
    const answer = model.answer(values);
    const weights = byInput(model.inputs, model.featureScores(answer).map(Math.abs));
    const parts = byInput(model.inputs, model.contributions(values, answer));
    const order = Array.from(parts.keys()).sort((a, b) => Math.abs(parts[b]) - Math.abs(parts[a]) || weights[b] - weights[a]);
    this.controls.show(values, order);
    this.follow();
    if (go) {
      this.element.scrollIntoView({ block: "start", behavior: "auto" });
      this.controls.element.querySelector<HTMLElement>("input, select")?.focus({ preventScroll: true });
    }
  }

  private showSample(): void {
    const { sample } = this.model;
    this.show(this.model.row(this.at), `line ${sample.lines[this.at]}`, sample.truth[this.at], false);
  }

  /** Take the answer apart anew. */
  private follow(): void {
    const { model, controls: { values } } = this;
    const answer = model.answer(values);
    const is = this.truth >= 0 ? `, is ${visible(model.labels[this.truth], 24)}` : "";
    put(this.head, `${this.name}${is}: the answer is `, h("strong", {}, visible(model.labels[answer], 40)));
    put(this.seen, model.picture && drawn(model.picture, values, model.highest, this.name));
    this.showScores(answer);
    const together = model.together(values, answer);
    const parts = [...byInput(model.inputs, model.contributions(values, answer)), ...(together === null ? [] : [together])];
    const order = Array.from(parts.keys()).sort((a, b) => Math.abs(parts[b]) - Math.abs(parts[a])).slice(0, MOST_PARTS);
    const most = Math.max(1e-12, ...order.map((at) => Math.abs(parts[at])));
    put(this.parts, order.map((at) => {
      if (at === model.inputs.length) return effect(TOGETHER, parts[at], most);
      const input = model.inputs[at];
      return effect(model.picture ? input.name : `${input.name} = ${valueOf(input, values)}`, parts[at], most);
    }), parts.length > order.length && h("p", { class: "faint" }, `and ${counted(parts.length - order.length, "column")} that add less`));
  }

  /** How likely each class is, the likeliest first; without probabilities, by scores. */
  private showScores(answer: number): void {
    const { model, controls: { values } } = this;
    const scores = model.scores(values);
    const likely = model.probabilities(values);
    const by = likely ?? scores;
    const order = Array.from(by.keys()).sort((a, b) => by[b] - by[a] || scores[b] - scores[a]);
    const [top, bottom] = [by[order[0]], by[order[order.length - 1]]];
    const shown = this.allScores ? order : order.slice(0, MOST_SCORES);
    put(this.scores, shown.map((k) => {
      const part = likely ? likely[k] : top > bottom ? 0.08 + (0.92 * (scores[k] - bottom)) / (top - bottom) : 1;
      return h("div", { class: k === answer ? "score won" : "score" }, h("span", {}, visible(model.labels[k], 16)), h("div", {}, styled(h("i", {}), { "--part": part })),
        likely && h("span", { class: "number likely" }, percent(likely[k])));
    }), order.length > shown.length && h("button", { type: "button", onclick: () => {
      this.allScores = true;
      this.showScores(answer);
    } }, `Show all ${counted(order.length, "class")}`));
  }
}
