/** A model that predicts a number: the mean, a part for every column, and one for what several say together. */

import { cellOf, fernCells } from "./cells";
import type { Curve } from "./curve_chart";
import type { Sample } from "./messages";
import { byInput, type Input, inputsOf } from "./model";
import type { TrainedNumbers } from "./numbers";

export class NumberModel {
  readonly inputs: readonly Input[];
  readonly names: readonly string[];

  /** `sample.truth` are the numbers themselves. */
  constructor(readonly trained: TrainedNumbers, readonly sample: Sample, readonly fileName: string) {
    this.inputs = inputsOf(trained.recipe);
    this.names = trained.names;
  }

  get stem(): string {
    return this.fileName.replace(/\.[^.]*$/, "") || "model";
  }

  row(i: number): Float64Array {
    const m = this.names.length;
    return this.sample.values.slice(i * m, (i + 1) * m);
  }

  /** Return what each feature of a record adds to the mean. */
  contributions(values: Float64Array): Float64Array {
    const { coder, regression: { entries } } = this.trained;
    return values.map((value, j) => {
      const cell = cellOf(coder, j, value);
      return cell < 0 ? 0 : entries[coder.offsets[j] + cell];
    });
  }

  /** Return what several features of a record add together, beyond what each adds; null if the model has no interactions. */
  together(values: Float64Array): number | null {
    const { coder, regression: { entries } } = this.trained;
    return coder.ferns && fernCells(coder, values).reduce((sum, c) => sum + entries[c], 0);
  }

  predict(values: Float64Array): number {
    return this.parts(values).reduce((a, b) => a + b, this.trained.regression.mean);
  }

  /** Return what each column of a record adds to the mean, and last what several add together, if the model has interactions. */
  parts(values: Float64Array): Float64Array {
    const together = this.together(values);
    return Float64Array.from([...byInput(this.inputs, this.contributions(values)), ...(together === null ? [] : [together])]);
  }

  /** Return what each of these parts adds, by how much it scatters over the rows that are kept. */
  importances(): Float64Array {
    const n = this.sample.rows.length;
    const parts = Array.from({ length: n }, (_, i) => this.parts(this.row(i)));
    return parts[0].map((_, at) => {
      const mean = parts.reduce((sum, own) => sum + own[at], 0) / n;
      return Math.sqrt(parts.reduce((sum, own) => sum + (own[at] - mean) ** 2, 0) / n);
    });
  }

  /** Return the curve of a feature. */
  curve(j: number): Curve {
    const { coder, regression: { entries }, products: { pairs }, ranges: { low, high } } = this.trained;
    const cells = coder.columnOf.length;
    const rowsOf = (c: number): number => pairs[c * cells - (c * (c - 1)) / 2];
    const [first, last] = [coder.offsets[j], coder.offsets[j + 1] - (coder.missing ? 1 : 0)];
    return {
      effects: entries.slice(first, last),
      edges: coder.edges.slice(coder.starts[j], coder.starts[j + 1]),
      rows: Float64Array.from({ length: last - first }, (_, c) => rowsOf(first + c)),
      missing: coder.missing && rowsOf(last) > 0 ? entries[last] : null,
      low: low[j],
      high: high[j],
    };
  }

  /** Return what each value of a column of categories adds. */
  effectsOfValues({ first, values }: Input): Float64Array {
    return Float64Array.from(values!, (_, i) => {
      const record = new Float64Array(this.names.length).fill(NaN);
      values!.forEach((_, j) => (record[first + j] = Number(i === j)));
      return this.contributions(record).subarray(first, first + values!.length).reduce((a, b) => a + b, 0);
    });
  }
}
