/** Further passes: from SEFR's weights towards those of a linear SVM, as src/sefr/_weights/refine/refine.py. */

import type { Batch } from "./batches";
import type { HeldOut } from "./held_out";
import type { Floats, Gradient, Kernel, LinearModel, SearchState } from "./kernel";
import { Objective, type Sample, Search, type Space } from "./lbfgs";
import { dot, highest, perScore, total } from "./linear";
import { type Kept, relax, ROWS_PER_WEIGHT } from "./relax";
import { type Planes, planesOf, type Scaling } from "./solve";
import { means } from "./solve";
import { type ClassMeans, type SampledRows, standardise } from "./standardise";
import type { Summary } from "./summary";
import { stepSpace } from "./thermometer";
import { heldOutFrom, leaveOneOut } from "./leave_one_out";

/** The score of a typical row is expected to have this variance before any row is seen: the ridge penalty. */
const PRIOR_VARIANCE = 10;
/** A row of a class weighs share ** -RARITY. */
const RARITY = 0.5;
/** What the further passes found, and how it went. */
export interface Refined {
  planes: Planes;
  lossCurve: number[];
  heldOut: HeldOut | null;
}

/** Where passes start instead of at SEFR's weights, what L-BFGS remembers there, and by how much the variance of weights exceeds what is usual. */
export interface Start {
  planes: Pick<Planes, "weights" | "bias"> | null;
  memory: SearchState | null;
  variance: number;
}

export const USUAL: Start = { planes: null, memory: null, variance: 1 };

/** What passes found, and what L-BFGS remembered at the end. */
export interface Ended {
  refined: Refined;
  memory: SearchState;
}

/** Rows in cells, with their classes, below 0 for one that is left out, and how often each counts, null for once. */
export interface CodedRows {
  cells: Uint8Array;
  codes: Int32Array;
  weights: Floats | null;
}

/** The rows, anew for each pass, coded by the classes of the Summary; and some of them. */
export interface TrainingRows {
  batches(): Iterable<Pick<Batch, "columns" | "codes"> & { weights?: Floats | null }>;
  /** All rows in cells, if they are at hand. */
  coded?: CodedRows;
  sampled: SampledRows;
  /** Whether the kernel moves and scales each column in float32. */
  narrow: readonly boolean[];
}

/** How many passes are made at most, the first included, and whether leave-one-out scores are kept. */
export interface Limits {
  passes: number;
  keep: boolean;
}

export function refine<L>(
  kernel: Kernel, summary: Summary<L>, scaling: Scaling, sefr: Planes, classWeight: Floats | null, rows: TrainingRows, { passes, keep }: Limits,
  start: Start = USUAL,
): Ended {
  const counts = summary.counts.head;
  const own = rowWeights(counts, classWeight);
  const all = dot(own, counts);
  const classes: ClassMeans = { means: means(summary, scaling), counts, weights: own.map((weight) => weight / all) };
  const scores = sefr.bias.length;
  const baseRates = classes.weights.map((weight, k) => (weight * counts[k]) / dot(classes.weights, counts));
  const { space, sample, pass } = searchFrom(kernel, classes, summary, scaling, rows);
  const objective = new Objective(kernel, space, sample, 1 / (PRIOR_VARIANCE * space.weightVariance * start.variance * total(counts)), scores, pass);
  const logs = baseRates.map(Math.log);
  const mean = total(logs) / logs.length;
  const bias = perScore(logs.map((value) => value - mean), counts.length);
  const origin = new Float64Array(objective.weights + scores);
  origin.set(bias, objective.weights);
  const atOrigin = atBaseRates(space, baseRates, origin, scores);
  const curve = [atOrigin.loss];
  const trial = start.planes ? space.point(start.planes) : null;
  // the base rates are no step of what is remembered
  const known = trial && start.memory ? { point: trial, loss: Infinity } : atOrigin;
  const search = Search.begin(objective, known.point, known.loss, atOrigin.gradient, trial && start.memory);
  if (trial) search.tryPoints([trial], null);
  else tryFirst(search, sefr, objective, origin, counts.length);
  search.minimise(curve, passes);
  let kept: Kept = { objective, search };
  if (!summary.coder && total(counts) >= ROWS_PER_WEIGHT * space.width) {
    kept = relax(kept, (tried) => leaveOneOut(tried.objective, tried.search.best.point, classes, rows.sampled), curve, passes);
  }
  const best = summary.coder ? kept.search.best.point : withCarriedIntercepts(kept.search.best.point, objective.weights);
  const found = space.hyperplanes(best.slice(0, objective.weights), best.slice(objective.weights));
  const heldOut = keep ? heldOutFrom(kept.objective, best, classes, rows.sampled, summary.coder) : null;
  return { refined: { planes: planesOf(found, scaling, summary.coder, true), lossCurve: curve, heldOut }, memory: search.state };
}

/** Return what a row of each class weighs in the loss: more in a rare class. */
export function rowWeights(counts: Floats, classWeight: Floats | null): Floats {
  const weighted = counts.map((count, k) => count * (classWeight ? classWeight[k] : 1));
  const all = total(weighted);
  return weighted.map((count, k) => (count / all) ** -RARITY * (classWeight ? classWeight[k] : 1));
}

function searchFrom<L>(
  kernel: Kernel, classes: ClassMeans, summary: Summary<L>, scaling: Scaling, rows: TrainingRows,
): { space: Space; sample: Sample; pass: (model: LinearModel) => Gradient } {
  const { coder } = summary;
  const classWeights = classes.weights;
  if (coder) {
    const coded = rows.coded
      ? [rows.coded]
      : Array.from(rows.batches(), ({ columns, codes }) => ({ cells: kernel.codeCells(columns, codes.length, coder), codes, weights: null }));
    const pass = (model: LinearModel): Gradient =>
      coded.map(({ cells, codes, weights }) => kernel.gradientCells(cells, coder.offsets, { codes, classWeights, weights }, model)).reduce(plus);
    return { ...stepSpace(kernel, classes, coder, rows.sampled), pass };
  }
  const { space, sample, standard } = standardise(kernel, classes, scaling, rows.sampled, rows.narrow);
  const pass = (model: LinearModel): Gradient => {
    let sum: Gradient | null = null;
    for (const { columns, codes, weights } of rows.batches()) {
      const more = kernel.gradient(columns, standard, { codes, classWeights, weights }, model);
      sum = sum ? plus(sum, more) : more;
    }
    return sum!;
  };
  return { space, sample, pass };
}

function plus(a: Gradient, b: Gradient): Gradient {
  return {
    loss: a.loss + b.loss,
    coef: a.coef.map((value, i) => value + b.coef[i]),
    intercept: a.intercept.map((value, k) => value + b.intercept[k]),
  };
}

/** Return a point whose intercepts the weights can carry: a score is a sum over the features, see hyperplanes.py. */
function withCarriedIntercepts(point: Floats, n: number): Floats {
  const rows = point.length - n;
  const m = n / rows;
  const alone = Array.from({ length: rows }, (_, k) => point.subarray(k * m, (k + 1) * m).every((weight) => weight === 0));
  if (!alone.includes(true)) return point;
  const common = rows > 1 ? highest(point.subarray(n).filter((_, k) => alone[k])) : 0;
  return point.map((value, i) => (i < n ? value : alone[i - n] ? 0 : value - common));
}

/** Let the best mixture of SEFR, the class means over the variances, and the base rates be tried first. */
function tryFirst(search: Search, sefr: Planes, objective: Objective, origin: Floats, classes: number): void {
  const { space, weights: n } = objective;
  const { width, classMeans } = space;
  const halves = Float64Array.from({ length: classes }, (_, k) => {
    const own = classMeans.subarray(k * width, (k + 1) * width);
    return -dot(own, own) / 2;
  });
  const byMeans = new Float64Array(origin.length);
  perScore(classMeans, classes).forEach((value, i) => (byMeans[i] = value / space.unit));
  byMeans.set(perScore(halves, classes), n);
  const size = (point: Floats): number => highest(point.map(Math.abs));
  const points = [space.point(sefr), byMeans, ...(size(origin) > 1e-9 ? [origin] : [])].filter((point) => size(point) > 0);
  if (points.length) search.tryPoints(points, Float64Array.from(points, (point) => Number(point === origin)));
  else search.tryPoints([origin], null);
}

/** Return loss and gradient where every row is given the base rates: both follow from the Summary. */
function atBaseRates(space: Space, baseRates: Floats, origin: Floats, scores: number): { point: Floats; loss: number; gradient: Floats } {
  const gradient = new Float64Array(origin.length);
  const skipped = (baseRates.length - scores) * space.width;
  for (let i = 0; i < scores * space.width; i++) {
    const at = skipped + i;
    gradient[i] = -baseRates[Math.floor(at / space.width)] * space.classMeans[at] * space.unit;
  }
  return { point: origin, loss: -dot(baseRates, baseRates.map(Math.log)), gradient };
}
