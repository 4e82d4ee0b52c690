/** Further passes over cells, step by step from one bin to the next: as src/sefr/_weights/refine/thermometer.py. */

import { type Coder, featuresIn, sumsOfColumns } from "./cells";
import type { Floats, Kernel, LinearModel, StepsOfCells } from "./kernel";
import type { Sample, Space } from "./lbfgs";
import { dot, total } from "./linear";
import type { Planes } from "./solve";
import { type ClassMeans, lossWeights, meanOf, type SampledRows } from "./standardise";

/** Steps are in units of their spread to this power. */
const STEP_POWER = 0.5;
/** Weights of cells of ferns are in units of this part of those of bins. */
const FERN_UNIT = 0.5;
/** With ferns, scores are expected to have this part of the variance, and rows are scaled to this length instead of 1. */
const [FERN_VARIANCE, FERN_LENGTH] = [0.5, 2];

/** Which cells follow each other: runs begin where `begins` is 1; the lowest bin of a feature is no step. */
export class Steps {
  readonly begins: Uint8Array;
  readonly free: Uint8Array;

  constructor(private readonly kernel: Kernel, coder: Coder) {
    const [cells, m] = [coder.columnOf.length, featuresIn(coder)];
    this.begins = new Uint8Array(cells).fill(1, coder.offsets[m]);
    this.free = new Uint8Array(cells).fill(1);
    for (let j = 0; j < m; j++) {
      this.begins[coder.offsets[j]] = 1;
      this.free[coder.offsets[j]] = 0;
      if (coder.missing) this.begins[coder.offsets[j + 1] - 1] = 1;
    }
  }

  /** Return the effect of each cell (R x C) from the steps up to it. */
  table(steps: Floats): Floats {
    const { begins } = this;
    return this.kernel.stepTables({ begins, mean: null, scale: null }, steps, new Float64Array(steps.length / begins.length)).coef;
  }

  /** Return sums over the cells from each step on (R x C): what `table` does, transposed. */
  reached(byCell: Floats): Floats {
    const { begins, free } = this;
    const found = this.kernel.stepSlopes({ begins, mean: null, scale: null }, byCell, null);
    for (let i = 0; i < found.length; i++) if (!free[i % free.length]) found[i] = 0;
    return found;
  }

  /** Return the steps that a table consists of; those of first cells are the cells themselves. */
  differences(table: Floats): Floats {
    const { begins } = this;
    return table.map((value, i) => (begins[i % begins.length] ? value : value - table[i - 1]));
  }
}

class StepSpace implements Space {
  constructor(
    private readonly kernel: Kernel, readonly coder: Coder, readonly steps: Steps, private readonly shares: Floats, readonly mean: Floats,
    readonly scale: Floats, readonly unit: number, readonly classMeans: Floats,
  ) {}

  get width(): number {
    return this.mean.length;
  }

  get weightVariance(): number {
    return this.coder.ferns ? FERN_VARIANCE / FERN_LENGTH ** 2 : 1;
  }

  model(weights: Floats, intercepts: Floats): LinearModel {
    return this.kernel.stepTables({ begins: this.steps.begins, mean: this.mean, scale: this.scale }, weights, intercepts);
  }

  get pointModel(): { unit: number; steps: StepsOfCells | null } {
    return { unit: 1, steps: { begins: this.steps.begins, mean: this.mean, scale: this.scale } };
  }

  point({ weights: table, bias }: Pick<Planes, "weights" | "bias">): Floats {
    const { coder, width, scale } = this;
    // a cell of a fern is no step beyond another: where one was never seen, it says what goes with none
    const at = Array.from(coder.offsets.subarray(0, -1), (first, c) => {
      if (c < featuresIn(coder)) return first;
      const unseen = scale.subarray(first, coder.offsets[c + 1]).indexOf(0);
      return unseen < 0 ? -1 : first + unseen;
    });
    const point = new Float64Array(table.length + bias.length);
    bias.forEach((value, k) => {
      const own = table.subarray(k * width, (k + 1) * width);
      const first = at.map((c) => (c < 0 ? 0 : own[c]));
      const steps = this.steps.differences(own.map((entry, c) => entry - first[coder.columnOf[c]]));
      const weights = steps.map((step, c) => (scale[c] > 0 ? step / scale[c] : 0));
      point.set(weights, k * width);
      point[table.length + k] = value + total(first) + dot(weights.map((weight, c) => weight * scale[c]), this.mean);
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
  const feature = (i: number): number => Math.floor(i / width) * m + coder.columnOf[i % width];
  const mean = sumsOfColumns(table.map((value, i) => value * shares[i % width]), coder);
  const power = sumsOfColumns(table.map((value, i) => (value - mean[feature(i)]) ** 2 * shares[i % width]), coder);
  const shift = mean.map((value, i) => {
    const k = Math.floor(i / m);
    const all = total(power.subarray(k * m, (k + 1) * m));
    return (all > 0 ? power[i] / all : 1 / m) * intercepts[k] - value;
  });
  const zeros = new Float64Array(table.length);
  return { weights: table.map((value, i) => value + shift[feature(i)]), bias: new Float64Array(intercepts.length), midpoints: zeros };
}

class CellSample implements Sample {
  readonly allRows = null;
  readonly mixes = true;
  private readonly cells: Uint8Array;

  constructor(
    private readonly kernel: Kernel, rows: SampledRows, private readonly space: StepSpace, readonly weights: Floats,
    readonly codes: Int32Array = rows.codes,
  ) {
    this.cells = kernel.codeCells(rows.columns, rows.codes.length, space.coder);
  }

  scores(coef: Floats, r: number): Floats {
    return this.kernel.codedScores(this.cells, this.codes.length, this.space.coder.offsets, coef, new Float64Array(r));
  }

  vectors(rows: readonly number[]): Floats[] {
    const { coder, steps, mean, scale } = this.space;
    const columns = coder.offsets.length - 1;
    return rows.map((row) => {
      const cells = new Float64Array(mean.length);
      for (let c = 0; c < columns; c++) cells[coder.offsets[c] + this.cells[row * columns + c]] = 1;
      return steps.reached(cells).map((value, c) => (value - mean[c]) * scale[c]);
    });
  }

  squaredLengths(): Floats {
    const { coder, steps, mean, scale } = this.space;
    const table = steps.table(scale.map((value, c) => value ** 2 * (1 - 2 * mean[c])));
    const base = total(scale.map((value, c) => value ** 2 * mean[c] ** 2));
    return this.kernel.codedScores(this.cells, this.codes.length, coder.offsets, table, Float64Array.of(base));
  }
}

/** Return the space of the steps between the cells of a coder, and the sampled rows in it. */
export function stepSpace(kernel: Kernel, classes: ClassMeans, coder: Coder, sampled: SampledRows): { space: Space; sample: Sample } {
  const steps = new Steps(kernel, coder);
  const shares = meanOf(classes);
  const mean = steps.reached(shares);
  const variance = mean.map((value) => Math.max(value * (1 - value), 0));
  const scale = variance.map((value, c) => (steps.free[c] && value > 1e-12 ? value ** (-STEP_POWER / 2) : 0));
  if (coder.ferns) for (let c = coder.offsets[featuresIn(coder)]; c < scale.length; c++) scale[c] *= FERN_UNIT;
  const length = coder.ferns ? FERN_LENGTH : 1;
  const unit = length * (scale.some((value) => value > 0) ? 1 / Math.sqrt(Math.max(dot(scale.map((value) => value ** 2), variance), 1e-12)) : 1);
  const known = classes.means.map((value) => (Number.isNaN(value) ? 0 : value));
  const ofClass = steps.reached(known).map((value, i) => (value - mean[i % mean.length]) * scale[i % mean.length]);
  const space = new StepSpace(kernel, coder, steps, shares, mean, scale.map((value) => value * unit), unit, ofClass);
  return { space, sample: new CellSample(kernel, sampled, space, lossWeights(classes, sampled)) };
}
