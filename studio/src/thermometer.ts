/** Further passes over cells, step by step from one bin to the next: as src/sefr/_weights/refine/thermometer.py. */

import { cellOf, type Coder, sumsOfFeatures } from "./cells";
import type { Floats, Gradient, Kernel, LinearModel } from "./kernel";
import type { Sample, Space } from "./lbfgs";
import { dot, total } from "./linear";
import type { Planes } from "./solve";
import { type ClassMeans, lossWeights, meanOf, type SampledRows } from "./standardise";

/** Steps are in units of their spread to this power. */
const STEP_POWER = 0.5;
/** Values of the rows whose products tell how many directions the rows share. */
const GRAM_CELLS = 1 << 22;

/** Which cells follow each other: runs begin at `starts`; the lowest bin of a feature is no step. */
export class Steps {
  readonly starts: number[] = [];
  readonly runOf: Int32Array;
  readonly free: Uint8Array;

  constructor(coder: Coder) {
    const cells = coder.featureOf.length;
    this.runOf = new Int32Array(cells);
    this.free = new Uint8Array(cells).fill(1);
    for (let c = 0; c < cells; c++) {
      const j = coder.featureOf[c];
      if (c === coder.offsets[j]) this.free[c] = 0;
      if (c === coder.offsets[j] || (coder.missing && c === coder.offsets[j + 1] - 1)) this.starts.push(c);
      this.runOf[c] = this.starts.length - 1;
    }
  }

  /** Return the effect of each cell (R x C) from the steps up to it. */
  table(steps: Floats): Floats {
    const before = new Float64Array(this.starts.length);
    return this.byRows(steps, (row, sums) => {
      this.starts.forEach((start, run) => (before[run] = sums[start] - row[start]));
      return sums.map((sum, c) => sum - before[this.runOf[c]]);
    });
  }

  /** Return sums over the cells from each step on (R x C): what `table` does, transposed. */
  reached(byCell: Floats): Floats {
    return this.byRows(byCell, (row, sums) =>
      sums.map((sum, c) => {
        const end = (this.starts[this.runOf[c] + 1] ?? row.length) - 1;
        return this.free[c] ? sums[end] - sum + row[c] : 0;
      }));
  }

  /** Return the steps that a table consists of; those of first cells are the cells themselves. */
  differences(table: Floats): Floats {
    const begins = new Set(this.starts);
    return this.byRows(table, (row) => row.map((value, c) => (begins.has(c) ? value : value - row[c - 1])));
  }

  private byRows(values: Floats, change: (row: Floats, sums: Floats) => Floats): Floats {
    const cells = this.runOf.length;
    const out = new Float64Array(values.length);
    for (let at = 0; at < values.length; at += cells) {
      const row = values.subarray(at, at + cells);
      let sum = 0;
      out.set(change(row, row.map((value) => (sum += value))), at);
    }
    return out;
  }
}

class StepSpace implements Space {
  constructor(
    readonly coder: Coder, readonly steps: Steps, private readonly shares: Floats, readonly mean: Floats, readonly scale: Floats,
    readonly unit: number, readonly classMeans: Floats,
  ) {}

  get width(): number {
    return this.mean.length;
  }

  model(weights: Floats, intercepts: Floats): LinearModel {
    const width = this.width;
    const steps = weights.map((weight, i) => weight * this.scale[i % width]);
    const intercept = intercepts.map((value, k) => value - dot(steps.subarray(k * width, (k + 1) * width), this.mean));
    return { coef: this.steps.table(steps), intercept };
  }

  pull(found: Gradient): Floats {
    const width = this.width;
    return this.steps.reached(found.coef).map((value, i) => (value - found.intercept[Math.floor(i / width)] * this.mean[i % width]) * this.scale[i % width]);
  }

  point({ weights: table, bias }: Pick<Planes, "weights" | "bias">): Floats {
    const { coder, width } = this;
    const first = (i: number): number => table[Math.floor(i / width) * width + coder.offsets[coder.featureOf[i % width]]];
    const steps = this.steps.differences(table.map((value, i) => value - first(i)));
    const weights = steps.map((step, i) => (this.scale[i % width] > 0 ? step / this.scale[i % width] : 0));
    const point = new Float64Array(weights.length + bias.length);
    point.set(weights);
    bias.forEach((value, k) => {
      const own = weights.slice(k * width, (k + 1) * width).map((weight, c) => weight * this.scale[c]);
      const lowest = total(Array.from(coder.offsets.subarray(0, -1), (at) => table[k * width + at]));
      point[weights.length + k] = value + lowest + dot(own, this.mean);
    });
    return point;
  }

  /** Each feature's effect has its mean over the rows at its share of the intercept. */
  hyperplanes(weights: Floats, intercepts: Floats): { weights: Floats; bias: Floats; midpoints: Floats } {
    return centredTable(this.steps.table(weights.map((weight, i) => weight * this.scale[i % this.width])), this.shares, this.coder, intercepts);
  }
}

/** Return a table (R x C) in which each feature's mean over the rows is its share of the intercept: by how much it moves the score. */
export function centredTable(table: Floats, shares: Floats, coder: Coder, intercepts: Floats): { weights: Floats; bias: Floats; midpoints: Floats } {
  const [width, m] = [shares.length, coder.offsets.length - 1];
  const feature = (i: number): number => Math.floor(i / width) * m + coder.featureOf[i % width];
  const mean = sumsOfFeatures(table.map((value, i) => value * shares[i % width]), coder);
  const power = sumsOfFeatures(table.map((value, i) => (value - mean[feature(i)]) ** 2 * shares[i % width]), coder);
  const shift = mean.map((value, i) => {
    const k = Math.floor(i / m);
    const all = total(power.subarray(k * m, (k + 1) * m));
    return (all > 0 ? power[i] / all : 1 / m) * intercepts[k] - value;
  });
  const zeros = new Float64Array(table.length);
  return { weights: table.map((value, i) => value + shift[feature(i)]), bias: new Float64Array(intercepts.length), midpoints: zeros };
}

class CellSample implements Sample {
  readonly gradient = null;

  constructor(
    private readonly kernel: Kernel, private readonly rows: SampledRows, private readonly space: StepSpace, readonly weights: Floats,
  ) {}

  get codes(): Int32Array {
    return this.rows.codes;
  }

  scores(coef: Floats, r: number): Floats {
    return this.kernel.cellScores(this.rows.columns, this.codes.length, this.space.coder, coef, new Float64Array(r));
  }

  vectors(rows: readonly number[]): Floats[] {
    const { coder, steps, mean, scale } = this.space;
    return rows.slice(0, Math.max(2, Math.floor(GRAM_CELLS / mean.length))).map((row) => {
      const cells = new Float64Array(mean.length);
      this.rows.columns.forEach((column, j) => (cells[coder.offsets[j] + cellOf(coder, j, column[row])] = 1));
      return steps.reached(cells).map((value, c) => (value - mean[c]) * scale[c]);
    });
  }

  squaredLengths(): Floats {
    const { coder, steps, mean, scale } = this.space;
    const table = steps.table(scale.map((value, c) => value ** 2 * (1 - 2 * mean[c])));
    const base = total(scale.map((value, c) => value ** 2 * mean[c] ** 2));
    return this.kernel.cellScores(this.rows.columns, this.codes.length, coder, table, Float64Array.of(base));
  }
}

/** Return the space of the steps between the cells of a coder, and the sampled rows in it. */
export function stepSpace(kernel: Kernel, classes: ClassMeans, coder: Coder, sampled: SampledRows): { space: Space; sample: Sample } {
  const steps = new Steps(coder);
  const shares = meanOf(classes);
  const mean = steps.reached(shares);
  const variance = mean.map((value) => Math.max(value * (1 - value), 0));
  const scale = variance.map((value, c) => (steps.free[c] && value > 1e-12 ? value ** (-STEP_POWER / 2) : 0));
  const unit = scale.some((value) => value > 0) ? 1 / Math.sqrt(Math.max(dot(scale.map((value) => value ** 2), variance), 1e-12)) : 1;
  const known = classes.means.map((value) => (Number.isNaN(value) ? 0 : value));
  const ofClass = steps.reached(known).map((value, i) => (value - mean[i % mean.length]) * scale[i % mean.length]);
  const space = new StepSpace(coder, steps, shares, mean, scale.map((value) => value * unit), unit, ofClass);
  return { space, sample: new CellSample(kernel, sampled, space, lossWeights(classes, sampled)) };
}
