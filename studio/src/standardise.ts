/** Features standardised for further passes, in passing: as src/sefr/_weights/refine/standardise.py. */

import type { Floats, Kernel, LinearModel, Standardisation, StepsOfCells } from "./kernel";
import type { Sample, Space } from "./lbfgs";
import { dot, highest, total } from "./linear";
import type { Planes, Scaling } from "./solve";

/** So few values are kept standardised in float64. */
const FEW_CELLS = 1 << 17;
/** A feature's variance is taken from its mean as far as fewer than this many rows of the sample inform on it. */
const SHY_ROWS = 8;
/** A feature that is at one end of its range in all but this part of the rows is rare: its weight is expected to be smaller. */
const [RARE, RAREST] = [1 / 40, 1e-12];

/** Means of the scaled features in each class (K x m), NaN where there is no value; rows, and what a row weighs. */
export interface ClassMeans {
  means: Floats;
  counts: Floats;
  weights: Floats;
}

/** Rows that a minimum is searched with: by columns, with their classes; weights only if they are all rows. */
export interface SampledRows {
  columns: readonly Floats[];
  codes: Int32Array;
  weights: Floats | null;
}

/** Return the mean of all rows (m), by the weights of the classes. */
export function meanOf({ means, counts, weights }: ClassMeans): Floats {
  const m = means.length / counts.length;
  const all = dot(weights, counts);
  const sum = new Float64Array(m);
  const share = new Float64Array(m);
  counts.forEach((count, k) => {
    for (let j = 0; j < m; j++) {
      if (Number.isNaN(means[k * m + j])) continue;
      sum[j] += means[k * m + j] * ((weights[k] * count) / all);
      share[j] += (weights[k] * count) / all;
    }
  });
  return sum.map((value, j) => value / Math.max(share[j], 1e-300));
}

/** Return what each row of a sample weighs in the loss; together 1. */
export function lossWeights(classes: ClassMeans, { codes, weights }: SampledRows): Floats {
  const own = Float64Array.from(codes, (code, i) => classes.weights[code] * (weights ? weights[i] : 1));
  const all = total(own);
  return own.map((weight) => weight / all);
}

class StandardSpace implements Space {
  readonly weightVariance = 1;

  constructor(
    readonly unit: number, readonly classMeans: Floats, private readonly mean: Floats, private readonly spread: Floats,
  ) {}

  get width(): number {
    return this.mean.length;
  }

  model(weights: Floats, intercept: Floats): LinearModel {
    return { coef: weights.map((weight) => weight * this.unit), intercept };
  }

  get pointModel(): { unit: number; steps: StepsOfCells | null } {
    return { unit: this.unit, steps: null };
  }

  point({ weights, bias }: Pick<Planes, "weights" | "bias">): Floats {
    const m = this.width;
    const point = new Float64Array(weights.length + bias.length);
    weights.forEach((weight, i) => (point[i] = (weight * this.spread[i % m]) / this.unit));
    bias.forEach((value, k) => (point[weights.length + k] = value + dot(weights.subarray(k * m, (k + 1) * m), this.mean)));
    return point;
  }

  /** The midpoints lie around the mean; the intercept is shared out by how much each feature moves the score. */
  hyperplanes(weights: Floats, intercepts: Floats): { weights: Floats; bias: Floats; midpoints: Floats } {
    const m = this.width;
    const scaled = weights.map((weight, i) => (this.spread[i % m] > 0 ? (weight * this.unit) / this.spread[i % m] : 0));
    const largest = Float64Array.from(intercepts, (_, k) => Math.max(highest(weights.slice(k * m, (k + 1) * m).map(Math.abs)), 1e-300));
    const power = weights.map((weight, i) => (weight / largest[Math.floor(i / m)]) ** 2);
    const midpoints = new Float64Array(weights.length);
    const bias = intercepts.map((intercept, k) => {
      const all = total(power.subarray(k * m, (k + 1) * m));
      for (let i = k * m; i < (k + 1) * m; i++) {
        const share = all > 0 ? (power[i] / all) * intercept : 0;
        midpoints[i] = this.mean[i - k * m] - (scaled[i] !== 0 ? share / scaled[i] : 0);
      }
      return intercept - dot(scaled.subarray(k * m, (k + 1) * m), this.mean);
    });
    return { weights: scaled, bias, midpoints };
  }
}

class StandardSample implements Sample {
  readonly mixes = false;
  readonly allRows: Floats | null;

  constructor(
    private readonly kernel: Kernel, private readonly rows: Floats, readonly codes: Int32Array, readonly weights: Floats,
    private readonly unit: number, private readonly narrow: boolean, complete: boolean,
  ) {
    this.allRows = complete ? rows : null;
  }

  private get width(): number {
    return this.rows.length / this.codes.length;
  }

  scores(coef: Floats, r: number): Floats {
    return this.kernel.sampleScores(this.rows, this.codes.length, this.narrow ? coef.map(Math.fround) : coef, r);
  }

  vectors(rows: readonly number[]): Floats[] {
    const m = this.width;
    return rows.map((row) => this.rows.slice(row * m, (row + 1) * m).map((value) => value * this.unit));
  }

  squaredLengths(): Floats {
    const m = this.width;
    return Float64Array.from(this.codes, (_, i) => {
      const row = this.rows.subarray(i * m, (i + 1) * m);
      return dot(row, row) * this.unit ** 2;
    });
  }
}

export interface Standardised {
  space: Space;
  sample: Sample;
  standard: Standardisation;
}

/** Return the space of the scaled features, the sampled rows in it, and how the kernel moves and scales values. */
export function standardise(kernel: Kernel, classes: ClassMeans, { low, span }: Scaling, sampled: SampledRows, narrow: readonly boolean[]): Standardised {
  const [m, n] = [low.length, sampled.codes.length];
  const mean = meanOf(classes);
  const weights = lossWeights(classes, sampled);
  const complete = sampled.weights !== null && total(sampled.weights) >= 0.999 * total(classes.counts);
  const few = n * m <= FEW_CELLS;
  const centre = low.map((bottom, j) => bottom + span[j] * mean[j]);
  let variance = Float64Array.from(sampled.columns, (column, j) => varianceOf(column, weights, centre[j], span[j] > 0 ? span[j] : 1));
  if (!complete) variance = withDoubt(variance, n, { low, span }, mean);
  const part = rarity(mean, variance, { low, span }).map((value) => Math.sqrt(Math.min(Math.max(value / RARE, RAREST), 1)));
  const spread = variance.map((value, j) => (span[j] > 0 && value > 0 ? Math.sqrt(value / part[j]) : 0));
  const scale = spread.map((value, j) => (value * span[j] > 0 && Number.isFinite(1 / (value * span[j])) ? 1 / (value * span[j]) : 0));
  scale.forEach((value, j) => value === 0 && (spread[j] = 0));
  const standard = { centre: asUsed(centre, narrow), scale: asUsed(scale, narrow) };
  const moved = mean.map((value, j) => (span[j] > 0 ? (standard.centre[j] - low[j]) / span[j] : value));
  const distance = classes.means.map((value, i) => {
    const j = i % m;
    return spread[j] > 0 ? ((Number.isNaN(value) ? 0 : value) - moved[j]) / spread[j] : 0;
  });
  const unit = 1 / Math.sqrt(total(part.filter((_, j) => spread[j] > 0)) || 1);
  const rows = new Float64Array(n * m);
  sampled.columns.forEach((column, j) => {
    for (let i = 0; i < n; i++) {
      const value = (column[i] - standard.centre[j]) * standard.scale[j];
      rows[i * m + j] = Number.isNaN(value) ? 0 : few ? value : Math.fround(value);
    }
  });
  return {
    space: new StandardSpace(unit, distance, moved, spread),
    sample: new StandardSample(kernel, rows, sampled.codes, weights, unit, !few, few && complete),
    standard,
  };
}

/** Return centres or scales as the kernel uses them: those of bytes in float32, unless one is too near its limits. */
function asUsed(values: Floats, narrow: readonly boolean[]): Floats {
  const rounded = values.map((value, j) => (narrow[j] ? Math.fround(value) : value));
  const fits = rounded.every((value, j) => !narrow[j] || value === 0 || (Math.abs(value) > 1e-30 && Math.abs(value) < 1e30));
  return fits ? rounded : values;
}

/** Return the variance of a feature in units of its span, by weight, over what is not missing. */
function varianceOf(column: Floats, weights: Floats, near: number, unit: number): number {
  let [count, sum, squares] = [0, 0, 0];
  for (let i = 0; i < column.length; i++) {
    const x = (column[i] - near) / unit;
    if (!Number.isFinite(x)) continue;
    count += weights[i];
    sum += weights[i] * x;
    squares += weights[i] * (x * x);
  }
  const all = Math.max(count, 1e-300);
  const variance = squares / all - (sum / all) ** 2;
  return variance > (1e-13 * squares) / all ? variance : 0; // else it is rounding alone
}

/** Return variances from the sample where it has something to say and from the mean elsewhere. */
function withDoubt(variance: Float64Array<ArrayBuffer>, rows: number, { low, span }: Scaling, mean: Floats): Float64Array<ArrayBuffer> {
  const scaled = isScaled({ low, span });
  const bound = mean.map((value) => (scaled ? Math.max(value * (1 - value), 0) : Math.abs(value)));
  const part = total(variance) / Math.max(total(bound), 1e-300);
  return variance.map((value, j) => {
    const informed = 4 * bound[j] * rows;
    const trust = informed / (informed + SHY_ROWS);
    return trust * value + (1 - trust) * part * bound[j];
  });
}

/** Return how rare what is not at an end of its range is, by the moments of scaled values: of 0 and 1 its share. */
function rarity(mean: Floats, variance: Floats, scaling: Scaling): Floats {
  const scaled = isScaled(scaling);
  return mean.map((value, j) => {
    const square = (scaled ? Math.min(value, 1 - value) : value) ** 2;
    return square / Math.max(square + variance[j], 1e-300);
  });
}

/** Say whether means of a mixture lie in [0, 1]. */
function isScaled({ low, span }: Scaling): boolean {
  return span.some((width) => width !== 1) || low.some((bottom) => bottom !== 0);
}
