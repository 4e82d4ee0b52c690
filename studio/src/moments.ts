/**
 * Second moments of cells solved, as src/sefr/_weights/moments.py: a discriminant for classes, a ridge regression for
 * numbers, from how many rows lie in both of two cells.
 */

import { cellOf, type Coder, edgesOf, featuresIn } from "./cells";
import type { HeldOut } from "./held_out";
import { sampleOf } from "./held_out";
import type { Floats, Kernel } from "./kernel";
import { dot, ones, perScore, solveLinear, total } from "./linear";
import { type Planes, planesOf, type Scaling, scoresOf } from "./solve";
import type { SampledRows } from "./standardise";
import type { Summary } from "./summary";
import { centredTable, Steps } from "./thermometer";

/** The ridges, per row, among which the likeliest is taken: four per decade. */
const RIDGES = Float64Array.from({ length: 29 }, (_, i) => 10 ** (i / 4 - 5));
const PRIOR_POWER = 0.5;
const STEP_POWER = 0.5;
/** Cells of ferns are in units of this part of those of steps, lines in units of this multiple. */
const [FERN_UNIT, LINE_UNIT] = [0.5, 4];
/** Shares of the rows that differ by less are taken to be equal. */
const EQUAL_SHARES = 1e-9;
const LEVERAGE_PRODUCTS = 2 ** 28;
const [FEWEST_SCORED, MOST_SCORED] = [256, 1024];
const MOST_LEVERAGE = 0.95;

/** Counts of pairs of cells (packed), and, of numbers to predict, sums about an origin near them. */
export interface Products {
  count: number;
  pairs: Floats;
  target: { origin: number; sum: number; squares: number; byCell: Floats } | null;
}

export function addProducts(a: Products, b: Products): Products {
  for (let i = 0; i < a.pairs.length; i++) a.pairs[i] += b.pairs[i];
  if (a.target && b.target) {
    a.target.sum += b.target.sum;
    a.target.squares += b.target.squares;
    for (let i = 0; i < a.target.byCell.length; i++) a.target.byCell[i] += b.target.byCell[i];
  }
  return { ...a, count: a.count + b.count };
}

/** What is solved for: steps from cell to cell, each in a unit of its own, and a line through each feature. */
class Basis {
  readonly live: number[];

  constructor(readonly steps: Steps, readonly scale: Floats, readonly lines: Floats[]) {
    this.live = Array.from(scale.keys()).filter((c) => scale[c] > 0);
  }

  get size(): number {
    return this.live.length + this.lines.length;
  }

  /** Return sums by cell (R x C) as sums by what is solved for (R x size). */
  ofRows(byCell: Floats): Floats {
    const cells = this.scale.length;
    const reached = this.steps.reached(byCell);
    const out = new Float64Array((byCell.length / cells) * this.size);
    for (let r = 0; r * cells < byCell.length; r++) {
      const own = out.subarray(r * this.size, (r + 1) * this.size);
      this.live.forEach((c, i) => (own[i] = reached[r * cells + c] * this.scale[c]));
      this.lines.forEach((line, l) => (own[this.live.length + l] = dot(line, own.subarray(0, line.length))));
    }
    return out;
  }

  /** Return the weights of cells (R x C) from those of what is solved for (R x size). */
  table(weights: Floats): Floats {
    const cells = this.scale.length;
    const steps = new Float64Array((weights.length / this.size) * cells);
    for (let r = 0; r * this.size < weights.length; r++) {
      const own = weights.subarray(r * this.size, (r + 1) * this.size);
      this.live.forEach((c, i) => {
        let step = own[i];
        this.lines.forEach((line, l) => (step += own[this.live.length + l] * line[i]));
        steps[r * cells + c] = step * this.scale[c];
      });
    }
    return this.steps.table(steps);
  }
}

/** Sums about the means: what both tasks are solved from. */
interface Centred {
  n: number;
  mean: Floats;
  gram: Floats;
  basis: Basis;
}

function centred(kernel: Kernel, coder: Coder, { pairs, count: n }: Products): Centred {
  const cells = coder.columnOf.length;
  const sums = Float64Array.from({ length: cells }, (_, c) => pairs[c * cells - (c * (c - 1)) / 2]);
  const mean = sums.map((sum) => sum / n);
  const steps = new Steps(kernel, coder);
  const gone = steps.reached(mean);
  const variance = gone.map((value) => Math.max(value * (1 - value), 0));
  const scale = variance.map((value, c) => (steps.free[c] && value > 1e-12 ? value ** (-STEP_POWER / 2) : 0));
  const ofFeatures = coder.offsets[featuresIn(coder)];
  for (const c of toldByBins(coder, gone)) scale[c] = 0;
  for (let c = ofFeatures; c < cells; c++) scale[c] *= FERN_UNIT;
  const units = Float64Array.from({ length: ofFeatures }, (_, c) => c).filter((c) => scale[c] > 0).map((c) => scale[c] * Math.sqrt(variance[c])).sort();
  const unit = units.length ? (units[(units.length - 1) >> 1] + units[units.length >> 1]) / 2 : 1;
  const bare = new Basis(steps, scale, []);
  const lines = linesOf(coder).map((line) => Float64Array.from(bare.live, (c) => line[c] / scale[c])).filter((line) => line.some((x) => x !== 0));
  const p = bare.live.length;
  const size = p + lines.length;
  const gram = kernel.stepProducts(steps.begins, scale, pairs, size);
  const at = (i: number, j: number): number => (i <= j ? gram[i * size + j] : gram[j * size + i]);
  const totals = bare.ofRows(sums);
  lines.forEach((line, l) => {
    const own = Array.from(line.keys()).filter((i) => line[i] !== 0);
    const beside = Float64Array.from({ length: p }, (_, i) => own.reduce((sum, j) => sum + at(i, j) * line[j], 0));
    const spread = Math.sqrt(Math.max(dot(line, beside) / n - (dot(line, totals) / n) ** 2, 1e-300));
    for (let j = 0; j < p; j++) line[j] *= (LINE_UNIT * unit) / spread;
    for (let i = 0; i < p; i++) gram[i * size + p + l] = beside[i] * ((LINE_UNIT * unit) / spread);
  });
  lines.forEach((line, l) => {
    for (let other = l; other < lines.length; other++) {
      let sum = 0;
      for (let i = 0; i < p; i++) sum += line[i] * gram[i * size + p + other];
      gram[(p + l) * size + p + other] = sum;
    }
  });
  const basis = new Basis(steps, scale, lines);
  const moved = basis.ofRows(sums);
  for (let i = 0; i < size; i++) for (let j = i; j < size; j++) gram[i * size + j] -= (moved[i] * moved[j]) / n;
  return { n, mean, gram, basis };
}

/** Return the cells of ferns that need no column: of each fern the rarest, and those that differ from it by one comparison. */
function toldByBins(coder: Coder, share: Floats): number[] {
  const found: number[] = [];
  for (let c = featuresIn(coder); c + 1 < coder.offsets.length; c++) {
    const first = coder.offsets[c];
    const own = share.subarray(first, coder.offsets[c + 1]);
    const least = Math.min(...own) + EQUAL_SHARES; // rounding must not choose among equals
    const rarest = own.findIndex((value) => value <= least);
    found.push(first + rarest);
    for (let bit = 1; bit < own.length; bit *= 2) found.push(first + (rarest ^ bit));
  }
  return found;
}

/** Return the steps of a line through each feature with two edges or more: from the middle of one bin to that of the next. */
function linesOf(coder: Coder): Floats[] {
  const found: Floats[] = [];
  for (let j = 0; j < featuresIn(coder); j++) {
    const edges = edgesOf(coder, j);
    if (edges.length < 2) continue;
    const widths = Float64Array.from({ length: edges.length - 1 }, (_, i) => edges[i + 1] - edges[i]);
    const steps = Float64Array.from(edges, (_, i) => (widths[Math.max(0, i - 1)] + widths[Math.min(widths.length - 1, i)]) / 2);
    const line = new Float64Array(coder.columnOf.length);
    line.set(steps.map((step) => step / Math.max(...steps)), coder.offsets[j] + 1);
    found.push(line);
  }
  return found;
}

/** Return some rows as indicators of their cells about the means, in the basis. */
function rowsIn({ basis, mean }: Centred, coder: Coder, columns: readonly Floats[], some: readonly number[]): Floats {
  const moved = new Float64Array(some.length * mean.length);
  some.forEach((row, i) => {
    const own = moved.subarray(i * mean.length, (i + 1) * mean.length);
    mean.forEach((value, c) => (own[c] = -value));
    columns.forEach((column, j) => {
      const cell = cellOf(coder, j, column[row]);
      if (cell >= 0) own[coder.offsets[j] + cell] += 1;
    });
  });
  return basis.ofRows(moved);
}

/** Return the discriminant as hyperplanes and, from `sampled` rows, leave-one-out scores: what probabilities are fitted to. */
export function solveClasses<L>(
  kernel: Kernel, summary: Summary<L>, products: Products, scaling: Scaling, classWeight: Floats | null, sampled: SampledRows | null,
): { planes: Planes; heldOut: HeldOut | null } {
  const coder = summary.coder!;
  const own = centred(kernel, coder, products);
  const { n, mean, basis } = own;
  const counts = summary.counts.head;
  const [k, cells, p] = [counts.length, mean.length, basis.size];
  const aboutMean = new Float64Array(k * cells);
  for (let c = 0; c < cells; c++) {
    let left = 0;
    for (let g = 0; g < k; g++) left += aboutMean[g * cells + c] = summary.sums.head[g * cells + c] - counts[g] * mean[c];
    for (let g = 0; g < k; g++) aboutMean[g * cells + c] -= (counts[g] / n) * left; // what rounding left is shared out
  }
  const cross = basis.ofRows(aboutMean);
  const power = counts.map((count) => Math.max(count - (count * count) / n, 0));
  const most = Math.min(Math.max(Math.floor(LEVERAGE_PRODUCTS / Math.max(1, cells) ** 2), FEWEST_SCORED), MOST_SCORED);
  const counted = sampled && (sampled.weights ? total(sampled.weights) : sampled.codes.length);
  const sample = sampled && sampleOf(sampled, counted!, most, counts);
  const rows = sampled && sample ? rowsIn(own, coder, sampled.columns, sample.some) : new Float64Array(0);
  const { solved, leverage } = kernel.solveRidges({ gram: own.gram, cross, power, count: n, together: true, ridges: RIDGES, rows });
  const product = (a: Floats, i: number, b: Floats, j: number): number => dot(a.subarray(i * p, (i + 1) * p), b.subarray(j * p, (j + 1) * p));
  // by Woodbury's identity: see moments.py
  const inner = Float64Array.from({ length: k * k }, (_, at) => {
    const [i, j] = [Math.floor(at / k), at % k];
    return (i === j ? counts[i] : 0) - product(cross, j, solved, i); // transposed
  });
  const toScores = new Float64Array(k * k);
  for (let j = 0; j < k; j++) {
    const unit = new Float64Array(k);
    unit[j] = 1;
    solveLinear(inner, unit).forEach((value, i) => (toScores[i * k + j] = n * value));
  }
  const weights = new Float64Array(k * p);
  for (let i = 0; i < k; i++) {
    for (let j = 0; j < k; j++) for (let c = 0; c < p; c++) weights[i * p + c] += toScores[i * k + j] * solved[j * p + c];
  }
  const prior = counts.map((count, g) => count * (classWeight ? classWeight[g] : 1));
  const all = total(prior);
  const table = basis.table(weights);
  const level = counts.map((count, g) => -product(weights, g, cross, g) / count / 2 + PRIOR_POWER * Math.log(prior[g] / all));
  // at the mean of every feature the score is its level
  const planes = planesOf(centredTable(perScore(table, k), mean, coder, perScore(level, k)), scaling, coder, true);
  if (!sampled || !sample) return { planes, heldOut: null };
  const codes = Int32Array.from(sample.some, (i) => sampled.codes[i]);
  const columns = sampled.columns.map((column) => Float64Array.from(sample.some, (i) => column[i]));
  const scores = scoresOf(kernel, planes, columns, codes.length);
  const r = planes.bias.length;
  codes.forEach((code, i) => {
    const weight = sampled.weights ? Math.min(sampled.weights[sample.some[i]], 1) : 1;
    const h = Math.min((leverage[i] + 1 / n) * weight, MOST_LEVERAGE);
    const left = counts.map((count, g) => Number(g === code) - count / n - dot(rows.subarray(i * p, (i + 1) * p), solved.subarray(g * p, (g + 1) * p)));
    const change = counts.map((_, g) => -(h / (1 - h)) * dot(left, toScores.subarray(g * k, (g + 1) * k)));
    perScore(change, k).forEach((value, g) => (scores[i * r + g] += value));
  });
  return { planes, heldOut: { scores, codes, weights: sample.weights ?? ones(codes.length), evidence: sample.evidence } };
}

/** A regression: what each cell adds to the mean of y, and the variance of y about its prediction. */
export interface Regression {
  entries: Floats;
  mean: number;
  noise: number;
}

/** Return the ridge regression of the numbers that the products are of. */
export function solveNumbers(kernel: Kernel, coder: Coder, products: Products): Regression {
  const own = centred(kernel, coder, products);
  const { origin, sum, squares, byCell } = products.target!;
  const { n, mean, basis } = own;
  const cross = basis.ofRows(byCell.map((value, c) => value - sum * mean[c]));
  const power = Float64Array.of(Math.max(squares - (sum * sum) / n, 0));
  const { solved } = kernel.solveRidges({ gram: own.gram, cross, power, count: n, together: false, ridges: RIDGES, rows: new Float64Array(0) });
  const weights = basis.table(solved);
  // the part of a feature is 0 at its mean
  const byFeature = new Float64Array(coder.offsets.length - 1);
  weights.forEach((weight, c) => (byFeature[coder.columnOf[c]] += weight * mean[c]));
  const noise = Math.max(power[0] - dot(solved, cross), 0) / Math.max(n - 1, 1);
  return { entries: weights.map((weight, c) => weight - byFeature[coder.columnOf[c]]), mean: origin + sum / n, noise };
}
