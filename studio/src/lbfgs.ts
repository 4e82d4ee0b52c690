/** L-BFGS on the logistic (softmax) loss with a ridge penalty, as src/sefr/_weights/refine/lbfgs.py. */

import type { Floats, Gradient, LinearModel } from "./kernel";
import { dot, solveLinear } from "./linear";
import type { Planes } from "./solve";

const MEMORY = 10;
const MEMORY_CELLS = 1 << 26;
/** Stop after two passes in a row that lower the loss by less than this part of it. */
const STALLED = 1e-4;
const NEWTON_STEPS = 25;
/** The squared sine of the angle below which two directions are one. */
const PARALLEL = 1e-6;
/** Of the loss; the pass over all rows corrects what is left. */
const ENOUGH = 1e-4;

/** Where the minimum is searched: a point is weights (R x width) and intercepts (R), flat. */
export interface Space {
  readonly width: number;
  readonly unit: number;
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
    readonly space: Space, readonly sample: Sample, readonly ridge: number, readonly scores: number,
    private readonly pass: (model: LinearModel) => Gradient,
  ) {}

  /** Return the same with another penalty. */
  under(ridge: number): Objective {
    return new Objective(this.space, this.sample, ridge, this.scores, this.pass);
  }

  get weights(): number {
    return this.scores * this.space.width;
  }

  model(point: Floats): LinearModel {
    return this.space.model(point.slice(0, this.weights), point.slice(this.weights));
  }

  at(point: Floats): Evaluated {
    const found = (this.sample.gradient ?? this.pass)(this.model(point));
    const gradient = this.penalty(point);
    const weights = point.subarray(0, this.weights);
    this.space.pull(found).forEach((value, i) => (gradient[i] += value));
    found.intercept.forEach((value, k) => (gradient[this.weights + k] += value));
    return { point, loss: found.loss + (this.ridge / 2) * dot(weights, weights), gradient };
  }

  /** Return the gradient of the ridge penalty. */
  penalty(point: Floats): Floats {
    return point.map((value, i) => (i < this.weights ? this.ridge * value : 0));
  }

  /** Return the scores of the sample's rows at a point (S x R). */
  scoresAt(point: Floats): Floats {
    const { coef, intercept } = this.model(point);
    return this.sample.scores(coef, this.scores).map((score, i) => score + intercept[i % this.scores]);
  }

  bestMixture(points: readonly Floats[], start: Floats, hessian: Floats, slope: Floats | null): Floats {
    const shares = minimiseMixture(points.map((point) => this.scoresAt(point)), this.sample, this.scores, start, hessian, slope);
    const mixed = new Float64Array(points[0].length);
    points.forEach((point, p) => point.forEach((value, i) => (mixed[i] += shares[p] * value)));
    return mixed;
  }
}

/** How far a search has come: the best point, where steps start, and what L-BFGS remembers. */
export class Search {
  best: Evaluated;
  stalled = 0;
  private pairs: [Floats, Floats][] = [];

  constructor(private at: Evaluated) {
    this.best = { ...at, loss: Infinity };
  }

  /** Learn from a point that was tried. */
  take(tried: Evaluated): void {
    const { at } = this;
    const memory = Math.min(Math.max(Math.floor(MEMORY_CELLS / Math.max(1, tried.point.length)), 3), MEMORY);
    const step = tried.point.map((value, i) => value - at.point[i]);
    const change = tried.gradient.map((value, i) => value - at.gradient[i]);
    if (dot(step, change) > 1e-10 * Math.sqrt(dot(step, step) * dot(change, change))) this.pairs = [...this.pairs, [step, change] as [Floats, Floats]].slice(-memory);
    const gain = Math.min(at.loss, this.best.loss) - tried.loss;
    if (tried.loss < this.best.loss) this.best = tried;
    if (tried.loss < at.loss) this.at = tried;
    this.stalled = gain < STALLED * Math.abs(this.best.loss) ? this.stalled + 1 : 0;
  }

  /** Return the point to be tried next; null where the gradient is 0. */
  trial(objective: Objective): Floats | null {
    const { at, pairs } = this;
    const towards = direction(at.gradient, pairs);
    if (!(dot(towards, at.gradient) < 0)) return null;
    const points = [at.point, towards, ...pairs.slice(-1).map((pair) => pair[0]).filter((last) => !parallel(last, at.point))];
    const slope = Float64Array.from(points, (point) => dot(at.gradient, point));
    const gradients = points.map((point) => objective.penalty(point));
    const hessian = Float64Array.from(gradients.flatMap((gradient) => points.map((point) => dot(gradient, point))));
    return objective.bestMixture(points, Float64Array.from(points, (_, i) => (i ? 0 : 1)), hessian, slope);
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
    found.pairs = this.pairs.map(([step, change]) => {
      const bent = added(step);
      return [step, change.map((value, i) => value + bent[i])];
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

/** Return the direction of L-BFGS, by its two loops over pairs of steps and changes of the gradient. */
function direction(gradient: Floats, pairs: readonly [Floats, Floats][]): Floats {
  let q: Floats = gradient.map((value) => -value);
  const shares: number[] = [];
  for (const [step, change] of [...pairs].reverse()) {
    const share = dot(step, q) / dot(step, change);
    shares.push(share);
    q = q.map((value, i) => value - share * change[i]);
  }
  const last = pairs.at(-1);
  if (last) {
    const scale = dot(last[0], last[1]) / dot(last[1], last[1]);
    q = q.map((value) => value * scale);
  }
  for (const [step, change] of pairs) {
    const share = shares.pop()! - dot(change, q) / dot(step, change);
    q = q.map((value, i) => value + step[i] * share);
  }
  return q;
}

interface Derivatives {
  value: number;
  gradient: Floats;
  curvature: Floats;
}

/** Return the a that minimises the loss of sum_i a_i scores_i + a·hessian·a / 2, by Newton's method. */
function minimiseMixture(given: readonly Floats[], sample: Sample, r: number, start: Floats, penalty: Floats, slope: Floats | null): Floats {
  const q = given.length;
  const unit = Float64Array.from(given, (scores) => {
    const size = Math.sqrt(dot(scores, scores) / sample.codes.length);
    return size > 1e-150 ? 1 / size : 1; // a point without scores has no size
  });
  const scores = given.map((own, p) => own.map((score) => score * unit[p]));
  const hessian = penalty.map((value, i) => value * (unit[Math.floor(i / q)] * unit[i % q]));
  const times = (at: Floats): Floats => at.map((_, p) => dot(hessian.subarray(p * q, (p + 1) * q), at));
  const begin = start.map((value, p) => value / unit[p]);
  const plain = derivatives(scores, sample, r, begin);
  const bent = times(begin);
  const correction = plain.gradient.map((value, p) => (slope ? slope[p] * unit[p] - value - bent[p] : 0));
  const penalised = (at: Floats, found: Derivatives): Derivatives => {
    const pulled = times(at);
    return {
      value: found.value + dot(at, pulled) / 2 + dot(correction, at.map((value, p) => value - begin[p])),
      gradient: found.gradient.map((value, p) => value + pulled[p] + correction[p]),
      curvature: found.curvature.map((value, i) => value + hessian[i]),
    };
  };
  let a: Floats = begin;
  let here = penalised(a, plain);
  for (let turn = 0; turn < NEWTON_STEPS; turn++) {
    let trace = 0;
    for (let p = 0; p < q; p++) trace += here.curvature[p * (q + 1)];
    const ridge = (1e-10 * trace) / q + 1e-300;
    const curvature = here.curvature.map((value, i) => (i % (q + 1) ? value : value + ridge));
    const step = solveLinear(curvature, here.gradient.map((value) => -value));
    const slopeOfStep = dot(here.gradient, step);
    let found: { at: Floats; there: Derivatives } | null = null;
    for (let size = 1; size > 1e-4 && !found; size /= 2) {
      const at = a.map((value, p) => value + size * step[p]);
      const there = penalised(at, derivatives(scores, sample, r, at));
      if (there.value <= here.value + 1e-4 * size * slopeOfStep) found = { at, there };
    }
    if (!found) break;
    a = found.at;
    const gain = here.value - found.there.value;
    here = found.there;
    if (gain <= ENOUGH * Math.abs(here.value)) break;
  }
  return a.map((value, p) => value * unit[p]);
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

/** Return the loss of the combined scores, its gradient and its Hessian in `a`. */
function derivatives(scores: readonly Floats[], { codes, weights }: Sample, r: number, a: Floats): Derivatives {
  const [q, n] = [scores.length, codes.length];
  const z = new Float64Array(n * r);
  scores.forEach((own, p) => own.forEach((score, i) => (z[i] += a[p] * score)));
  const value = lossOf(z, r, codes, weights);
  const gradient = new Float64Array(q);
  const curvature = new Float64Array(q * q);
  const mean = new Float64Array(q);
  for (let i = 0; i < n; i++) {
    for (let p = 0; p < q; p++) {
      let own = 0;
      for (let k = 0; k < r; k++) own += scores[p][i * r + k] * z[i * r + k];
      mean[p] = own;
      gradient[p] += weights[i] * (own - (r === 1 ? Number(codes[i] === 1) * scores[p][i] : scores[p][i * r + codes[i]]));
    }
    for (let p = 0; p < q; p++) {
      for (let s = 0; s <= p; s++) {
        let sum = -mean[p] * mean[s];
        for (let k = 0; k < r; k++) sum += scores[p][i * r + k] * scores[s][i * r + k] * z[i * r + k];
        curvature[p * q + s] += weights[i] * sum;
      }
    }
  }
  for (let p = 0; p < q; p++) for (let s = 0; s < p; s++) curvature[s * q + p] = curvature[p * q + s];
  return { value, gradient, curvature };
}
