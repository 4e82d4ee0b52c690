/** The columns of a record: a slider for a number, a menu for categories, of which one holds. */

import { h, put, rounded, visible } from "./dom";
import type { Input } from "./model";

const FIRST = 8;
const MORE = 24;

/** The columns that can be changed, with their ranges, and some rows that show which are whole numbers. */
export interface Columns {
  inputs: readonly Input[];
  ranges: { low: Float64Array; high: Float64Array };
  /** Some rows, one after the other, of so many features. */
  sampled: Float64Array;
  features: number;
}

export class RecordControls {
  readonly element = h("div", { class: "sliders" });
  values = new Float64Array(0);
  private order: readonly number[] = [];
  private shown = FIRST;

  constructor(private readonly columns: Columns, private readonly changed: () => void) {}

  /** Show a record, its columns in this order. */
  show(values: Float64Array, order: readonly number[]): void {
    this.values = values.slice();
    this.order = order;
    this.shown = FIRST;
    this.make();
  }

  private make(): void {
    const { inputs, ranges: { low, high } } = this.columns;
    const movable = this.order.filter((at) => (inputs[at].values ? inputs[at].values!.length > 1 : high[inputs[at].first] > low[inputs[at].first]));
    const left = movable.length - this.shown;
    put(this.element, movable.slice(0, this.shown).map((at) => (inputs[at].values ? this.menu(inputs[at]) : this.slider(inputs[at]))),
      left > 0 && h("button", { type: "button", onclick: () => {
        this.shown += MORE;
        this.make();
      } }, "More columns"));
  }

  private slider({ name, first }: Input): HTMLElement {
    const { ranges: { low, high }, sampled, features } = this.columns;
    const id = `slider-${first}`;
    const whole = sampled.every((value, i) => i % features !== first || Number.isInteger(value) || Number.isNaN(value));
    const value = h("output", { for: id }, Number.isNaN(this.values[first]) ? "missing" : rounded(this.values[first]));
    const slider = h("input", { type: "range", id, min: low[first], max: high[first], step: whole ? 1 : (high[first] - low[first]) / 200, oninput: () => {
      this.values[first] = Number(slider.value);
      value.textContent = rounded(this.values[first]);
      this.changed();
    } });
    slider.value = String(this.values[first]);
    return h("div", { class: "slider" }, h("label", { for: id }, visible(name, 28)), slider, value);
  }

  private menu({ name, first, values }: Input): HTMLElement {
    const id = `slider-${first}`;
    const now = values!.findIndex((_, i) => this.values[first + i] === 1);
    const select = h("select", { id, onchange: () => {
      values!.forEach((_, i) => (this.values[first + i] = Number(i === Number(select.value))));
      this.changed();
    } }, now < 0 && h("option", { value: -1, selected: true, disabled: true }, "missing"),
    values!.map((value, i) => h("option", { value: i, selected: i === now }, visible(value, 40))));
    return h("div", { class: "slider menu" }, h("label", { for: id }, visible(name, 28)), select);
  }
}
