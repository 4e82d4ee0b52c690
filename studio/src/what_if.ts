/** What if: a record with sliders, and its answer taken apart while they move. */

import { h, percent, put, rounded, styled, visible } from "./dom";
import type { Model } from "./model";
import { drawn } from "./picture";
import { effect } from "./understand_panel";

const FIRST_SLIDERS = 8;
const MORE_SLIDERS = 24;
const MOST_SCORES = 8;

export class WhatIf {
  readonly element: HTMLElement;
  private values: Float64Array;
  private order: number[] = [];
  private sliders = FIRST_SLIDERS;
  private at = 0;
  private truth = -1;
  private name = "";
  private readonly head = h("p", { class: "answer", id: "what-if-answer", "aria-live": "polite" });
  private readonly seen = h("div", { class: "seen" });
  private readonly scores = h("div", { class: "scores" });
  private readonly controls = h("div", { class: "sliders" });
  private readonly parts = h("div", { class: "effects", id: "contributions" });

  constructor(private readonly model: Model) {
    this.values = model.mean();
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
        h("button", { type: "button", onclick: () => this.show(model.mean(), "the mean row", -1, false) }, "Mean row")),
      h("div", { class: "two" },
        h("div", {}, this.head, h("div", { class: "beside" }, this.seen, this.scores), this.controls),
        h("div", {}, h("h4", {}, "What each feature adds"), this.parts)));
    this.showSample();
  }

  /** Show a record; `go` brings the reader there. */
  show(values: Float64Array, name: string, truth: number, go: boolean): void {
    this.values = values.slice();
    this.name = name;
    this.truth = truth;
    this.sliders = FIRST_SLIDERS;
    const answer = this.model.answer(values);
    const weights = this.model.featureScores(answer);
    const parts = this.model.contributions(values, answer);
    this.order = Array.from(parts.keys()).sort((a, b) => Math.abs(parts[b]) - Math.abs(parts[a]) || Math.abs(weights[b]) - Math.abs(weights[a]));
    this.makeSliders();
    this.follow();
    if (go) {
      this.element.scrollIntoView({ block: "start", behavior: "auto" });
      this.controls.querySelector("input")?.focus({ preventScroll: true });
    }
  }

  private showSample(): void {
    const { sample } = this.model;
    this.show(this.model.row(this.at), `line ${sample.lines[this.at]}`, sample.truth[this.at], false);
  }

  private makeSliders(): void {
    const { low, high } = this.model.trained.ranges;
    const movable = this.order.filter((j) => high[j] > low[j]);
    const shown = movable.slice(0, this.sliders);
    const left = movable.length - shown.length;
    const whole = this.model.sample.values.every((value) => Number.isInteger(value) || Number.isNaN(value));
    put(this.controls, shown.map((j) => {
      const id = `slider-${j}`;
      const value = h("output", { for: id }, rounded(this.values[j]));
      const slider = h("input", { type: "range", id, min: low[j], max: high[j], step: whole ? 1 : (high[j] - low[j]) / 200, oninput: () => {
        this.values[j] = Number(slider.value);
        value.textContent = rounded(this.values[j]);
        this.follow();
      } });
      slider.value = String(this.values[j]);
      return h("div", { class: "slider" }, h("label", { for: id }, visible(this.model.names[j], 28)), slider, value);
    }), left > 0 && h("button", { type: "button", onclick: () => {
      this.sliders += MORE_SLIDERS;
      this.makeSliders();
    } }, "More features"));
  }

  /** Take the answer apart anew. */
  private follow(): void {
    const { model, values } = this;
    const scores = model.scores(values);
    const answer = model.answer(values);
    const is = this.truth >= 0 ? `, is ${visible(model.labels[this.truth], 24)}` : "";
    put(this.head, `${this.name}${is}: the answer is `, h("strong", {}, visible(model.labels[answer], 40)));
    put(this.seen, model.picture && drawn(model.picture, values, model.highest, this.name));
    const best = Array.from(scores.keys()).sort((a, b) => scores[b] - scores[a]).slice(0, MOST_SCORES);
    const [top, bottom] = [scores[best[0]], Math.min(...best.map((k) => scores[k]))];
    const likely = model.probabilities(values);
    put(this.scores, best.map((k) => {
      const part = likely ? likely[k] : top > bottom ? 0.08 + (0.92 * (scores[k] - bottom)) / (top - bottom) : 1;
      return h("div", { class: k === answer ? "score won" : "score" }, h("span", {}, visible(model.labels[k], 16)), h("div", {}, styled(h("i", {}), { "--part": part })),
        likely && h("span", { class: "number likely" }, percent(likely[k])));
    }));
    const parts = model.contributions(values, answer);
    const order = Array.from(parts.keys()).sort((a, b) => Math.abs(parts[b]) - Math.abs(parts[a])).slice(0, 12);
    const most = Math.max(1e-12, ...order.map((j) => Math.abs(parts[j])));
    put(this.parts, order.map((j) => effect(model.names[j], parts[j], most)));
  }
}
