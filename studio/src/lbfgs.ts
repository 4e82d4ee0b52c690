/** L-BFGS on the logistic (softmax) loss with a ridge penalty, as src/sefr/_weights/refine/lbfgs.py. */

import type { Floats, Gradient, Kernel, LinearModel } from "./kernel";
import { dot } from "./linear";
import type { Planes } from "./solve";

const MEMORY = 10;
const MEMORY_CELLS = 1 << 26;
/** Stop after two passes in a row that lower the loss by less than this part of it. */
const STALLED = 1e-4;
/** The squared sine of the angle below which two directions are one. */
const PARALLEL = 1e-6;

/** Where the minimum is searched: a point is weights (R x width) and intercepts (R), flat. */
export interface Space {
  readonly width: number;
  readonly unit: number;
  /** The variance that a weight is expected to have, in units of what is usual. */
  readonly weightVariance: number;
  /** Of each class in the space (K x width), without the unit. */
  readonly classMeans: Floats;
  model(weights: Floats, intercepts: Floats): LinearModel;
  /** Return the derivatives by the weights of a point from those by the model's. */
  pull(found: Gradient): Floats;
  point(planes: Pick<Planes, "weights" | "bias">): Floats;
  hyperplanes(weights: Floats, intercepts: Floats): { weights: Floats; bias: Floats; midpoints: Floats };
}

/** Some rows in a space; their weights add up to 1. */
export interface Sample {
  readonly codes: Int32Array;
  readonly weights: Floats;
  /** The mean loss of all rows and its derivatives; null where the sample has not all of them. */
  readonly gradient: ((model: LinearModel) => Gradient) | null;
  /** Return the scores (S x R), without intercepts. */
  scores(coef: Floats, r: number): Floats;
  vectors(rows: readonly number[]): Floats[];
  squaredLengths(): Floats;
}

export interface Evaluated {
  point: Floats;
  loss: number;
  gradient: Floats;
}

/** The penalised loss of all rows at a point: one pass over the rows each. */
export class Objective {
  constructor(
    readonly kernel: Kernel, readonly space: Space, readonly sample: Sample, readonly ridge: number, readonly scores: number,
    private readonly pass: (model: LinearModel) => Gradient,
  ) {}

  /** Return the same with another penalty. */
  under(ridge: number): Objective {
    return new Objective(this.kernel, this.space, this.sample, ridge, this.scores, this.pass);
  }

  get weights(): number {
    return this.scores * this.space.width;
  }

  model(point: Floats): LinearModel {
    return this.space.model(point.slice(0, this.weights), point.slice(this.weights));
  }

  at(point: Floats): Evaluated {
    const found = (this.sample.gradient ?? this.pass)(this.model(point));
    const gradient = new Float64Array(point.length);
    const weights = point.subarray(0, this.weights);
    const pulled = this.space.pull(found);
    for (let i = 0; i < weights.length; i++) gradient[i] = this.ridge * weights[i] + pulled[i];
    gradient.set(found.intercept, weights.length);
    return { point, loss: found.loss + (this.ridge / 2) * dot(weights, weights), gradient };
  }

  /** Return the scores of the sample's rows at a point (S x R). */
  scoresAt(point: Floats): Floats {
    const { coef, intercept } = this.model(point);
    const [scores, r] = [this.sample.scores(coef, this.scores), this.scores];
    for (let i = 0; i < scores.length; i += r) for (let k = 0; k < r; k++) scores[i + k] += intercept[k];
    return scores;
  }

  bestMixture(points: readonly Floats[], start: Floats, hessian: Floats, slope: Floats | null): Floats {
    const { codes, weights } = this.sample;
    const shares = this.kernel.minimiseMixture({ scores: points.map((point) => this.scoresAt(point)), codes, weights, hessian, start, slope });
    const mixed = new Float64Array(points[0].length);
    points.forEach((point, p) => {
      for (let i = 0; i < mixed.length; i++) mixed[i] += shares[p] * point[i];
    });
    return mixed;
  }
}

/** Steps and the changes of the gradient along them, the oldest first: what L-BFGS remembers. */
export type Memory = readonly (readonly [Floats, Floats])[];

/** How far a search has come: the best point, where steps start, and what L-BFGS remembers. */
export class Search {
  best: Evaluated;
  stalled = 0;
  /** The last trial, if the loss of all rows rose there. */
  private failed: Evaluated | null = null;

  constructor(private at: Evaluated, public memory: Memory = []) {
    this.best = { ...at, loss: Infinity };
  }

  /** Learn from a point that was tried. */
  take(tried: Evaluated): void {
    const { at } = this;
    if (Number.isFinite(at.loss)) this.remember(difference(tried.point, at.point), difference(tried.gradient, at.gradient));
    const gain = Math.min(at.loss, this.best.loss) - tried.loss;
    if (tried.loss < this.best.loss) this.best = tried;
    if (tried.loss < at.loss) this.at = tried;
    const small = STALLED * Math.abs(this.best.loss);
    this.failed = gain < -small ? tried : null;
    this.stalled = Math.abs(gain) < small ? this.stalled + 1 : 0;
  }

  /** Return the point to be tried next; null where the gradient is 0. */
  trial(objective: Objective): Floats | null {
    const { at, memory } = this;
    if (this.failed) return between(at, this.failed);
    const towards = objective.kernel.findDirection(at.gradient, memory);
    if (!(dot(towards, at.gradient) < 0)) return null;
    const points = [at.point, towards, ...memory.slice(-1).map((pair) => pair[0]).filter((last) => !parallel(last, at.point))];
    const slope = Float64Array.from(points, (point) => dot(at.gradient, point));
    const weights = points.map((point) => point.subarray(0, objective.weights));
    const hessian = Float64Array.from(weights.flatMap((own) => weights.map((other) => objective.ridge * dot(own, other))));
    return objective.bestMixture(points, Float64Array.from(points, (_, i) => (i ? 0 : 1)), hessian, slope);
  }

  /** Remember a step along which the gradient rises. */
  private remember(step: Floats, change: Floats): void {
    if (!(dot(step, change) > 1e-10 * Math.sqrt(dot(step, step) * dot(change, change)))) return;
    const most = Math.min(Math.max(Math.floor(MEMORY_CELLS / Math.max(1, step.length)), 3), MEMORY);
    this.memory = [...this.memory, [step, change] as const].slice(-most);
  }

  /** Return the search at its best point under another ridge: no row need be read to know it there. */
  under(before: Objective, objective: Objective): Search {
    const { best } = this;
    const more = objective.ridge - before.ridge;
    const added = (point: Floats): Floats => point.map((value, i) => (i < objective.weights ? more * value : 0));
    const pulled = added(best.point);
    const moved = { point: best.point, loss: best.loss + dot(pulled, best.point) / 2, gradient: best.gradient.map((value, i) => value + pulled[i]) };
    const found = new Search(moved);
    found.best = moved;
    found.memory = this.memory.map(([step, change]) => {
      const bent = added(step);
      return [step, change.map((value, i) => value + bent[i])] as const;
    });
    return found;
  }
}

/** Search from `first` on; the loss after each pass is added to `curve`. */
export function minimise(objective: Objective, search: Search, first: Floats | null, curve: number[], passes: number): void {
  for (let trial = first; trial && curve.length < passes; ) {
    search.take(objective.at(trial));
    curve.push(search.best.loss);
    trial = search.stalled === 2 || curve.length === passes ? null : search.trial(objective);
  }
}

/** Say whether a step leads where the point lies: as a third direction it would add rounding alone. */
function parallel(step: Floats, point: Floats): boolean {
  return dot(step, point) ** 2 >= (1 - PARALLEL) * dot(step, step) * dot(point, point);
}

/**
 * Return the lowest point of the cubic through two points with their slopes, of which one is higher: the sample chose
 * the step to it and was wrong about it, so that all rows decide now.
 */
function between(low: Evaluated, high: Evaluated): Floats {
  const step = difference(high.point, low.point);
  const [down, up] = [dot(low.gradient, step), dot(high.gradient, step)];
  const rise = 3 * (low.loss - high.loss) + down + up;
  const root = Math.sqrt(Math.max(rise * rise - down * up, 0));
  const part = up - down + 2 * root > 0 ? 1 - (up + root - rise) / (up - down + 2 * root) : 0.5;
  return low.point.map((value, i) => value + Math.min(Math.max(part, 0.1), 0.9) * step[i]);
}

function difference(a: Floats, b: Floats): Floats {
  const found = new Float64Array(a.length);
  for (let i = 0; i < a.length; i++) found[i] = a[i] - b[i];
  return found;
}

/** Return the loss of scores (S x R) and the probabilities, in place; for one score, that of code 1. */
export function lossOf(z: Floats, r: number, codes: Int32Array, weights: Floats): number {
  let loss = 0;
  if (r === 1) {
    for (let i = 0; i < z.length; i++) {
      const signed = codes[i] === 1 ? -z[i] : z[i];
      loss += weights[i] * (Math.max(signed, 0) + Math.log1p(Math.exp(-Math.abs(signed))));
      z[i] = z[i] >= 0 ? 1 / (1 + Math.exp(-z[i])) : Math.exp(z[i]) / (1 + Math.exp(z[i]));
    }
    return loss;
  }
  for (let i = 0; i < codes.length; i++) {
    let most = -Infinity;
    for (let k = 0; k < r; k++) most = Math.max(most, z[i * r + k]);
    const own = z[i * r + codes[i]] - most;
    let sum = 0;
    for (let k = 0; k < r; k++) sum += z[i * r + k] = Math.exp(z[i * r + k] - most);
    loss += weights[i] * (Math.log(sum) - own);
    for (let k = 0; k < r; k++) z[i * r + k] /= sum;
  }
  return loss;
}
