/** From scores to probabilities: bias-corrected temperature scaling, as src/sefr/_answers/probabilities.py. */

import type { HeldOut } from "./held_out";
import type { Floats } from "./kernel";
import { dot, highest, perClass, solveLinear, total } from "./linear";

/** 1 / T, the offsets (K), and how well each of them is known (K + 1). */
export interface TemperatureScaling {
  inverse: number;
  offsets: Floats;
  precision: Floats;
}

const OFFSET_VARIANCE = 25;
const TEMPERATURE_PRECISION = 4;
const SURE_OF_SCORES = 3;
const NEWTON_STEPS = 50;
const FARTHEST_GAPS = 1e3;

/** Return the probability of every class from one score per class. */
export function probabilities({ inverse, offsets }: TemperatureScaling, scores: Floats): Floats {
  const logits = scores.map((score, k) => score * inverse + offsets[k]).map((logit) => (Number.isNaN(logit) ? -Infinity : logit));
  const most = highest(logits);
  const likely = logits.map((logit) => (most === Infinity ? Number(logit === Infinity) : Math.exp(logit - most)));
  const all = total(likely);
  return likely.map((value) => value / all);
}

/** Newton's method solves as many equations: more would keep the page's reader waiting. */
const MOST_CLASSES = 256;

/** Return the temperature and the offsets that make the labels of rows most likely; null where a class has none. */
export function fitScaling(sample: HeldOut, counts: Floats): TemperatureScaling | null {
  if (counts.length > MOST_CLASSES || counts.some((count, k) => count > 0 && !sample.codes.includes(k))) return null;
  const problem = new Likelihood(sample, sample.scores.length / sample.codes.length, counts);
  const k = counts.length;
  const start = new Float64Array(k + 1);
  start[0] = 1;
  let theta = problem.minimum(start, false);
  const plain = problem.minimum(start, true);
  if (problem.value(plain) - problem.value(theta) < k - 1) theta = plain;
  const base = Float64Array.of(0, ...problem.shares.map((share) => Math.log(Math.max(share / total(problem.shares), 1e-300))));
  const ofOne = Math.log(Math.max(2, total(problem.weights))) / 2;
  if (problem.value(base) - problem.value(theta) < SURE_OF_SCORES * ofOne) theta = base;
  const precision = new Float64Array(k + 1);
  problem.rows(theta, (likely, gaps, weight) => {
    const mean = dot(likely, gaps);
    for (let c = 0; c < k; c++) {
      precision[0] += weight * likely[c] * (gaps[c] - mean) ** 2;
      precision[1 + c] += weight * (likely[c] * (1 - likely[c]));
    }
  });
  precision[0] *= problem.size ** 2;
  return { inverse: theta[0] / problem.size, offsets: theta.slice(1), precision };
}

/** Minus the logarithm of how likely the labels are, as a function of 1 / T and the offsets: convex. */
class Likelihood {
  readonly weights: Floats;
  readonly shares: Floats;
  readonly size: number;
  /** Row by row: slices made once, for the many times they are read. */
  private readonly gaps: Floats[];
  private readonly target: Floats[];
  private readonly precision: Floats;
  private readonly k: number;

  constructor(sample: HeldOut, r: number, counts: Floats) {
    const k = (this.k = counts.length);
    const { codes } = sample;
    const scores = perClass(sample.scores, r);
    const evidence = sample.evidence ?? sample.weights;
    const found = (values: Floats): Floats => {
      const sums = new Float64Array(k);
      codes.forEach((code, i) => (sums[code] += values[i]));
      return sums;
    };
    const own = found(sample.weights);
    const reweighted = sample.weights.map((weight, i) => weight * (own[codes[i]] > 0 ? counts[codes[i]] / own[codes[i]] : 1));
    const scale = total(evidence) / total(reweighted);
    const weights = (this.weights = reweighted.map((weight) => weight * scale));
    const gaps = new Float64Array(scores.length);
    let [behind, distance] = [0, 0];
    codes.forEach((_, i) => {
      const own = scores.subarray(i * k, (i + 1) * k);
      const most = highest(own);
      own.forEach((score, c) => (gaps[i * k + c] = score - most));
      const second = k > 1 ? own.slice().sort()[k - 2] - most : 0;
      if (!Number.isFinite(second) || second >= 0) return;
      behind += weights[i];
      distance += weights[i] * second;
    });
    this.size = behind ? -distance / behind : 1;
    const byRow = (values: Floats): Floats[] => Array.from(codes, (_, i) => values.slice(i * k, (i + 1) * k));
    this.gaps = byRow(gaps.map((gap) => Math.max(gap / this.size, -FARTHEST_GAPS)));
    // Platt's targets: n rows of one of two classes cannot show that it is surer than (n + 1) / (n + 2); of more classes
    // all together are doubted as much as two are. The doubt is about the likeliest of the others.
    const rows = found(evidence);
    const sure = rows.map((n) => 1 - 2 / k / (n + 2));
    this.target = this.gaps.map((own, i) => {
      const others = own.slice();
      others[codes[i]] = -Infinity;
      const target = new Float64Array(k);
      target[others.indexOf(highest(others))] = 1 - sure[codes[i]];
      target[codes[i]] = sure[codes[i]];
      return target;
    });
    const outside = Math.max(1, total(rows) - highest(rows)); // the largest class
    this.precision = Float64Array.of(TEMPERATURE_PRECISION / outside, ...new Array<number>(k).fill(1 / OFFSET_VARIANCE));
    this.shares = found(weights).map((sum) => sum / total(weights));
  }

  /** Call with the probabilities of each row, its gaps, its weight, its targets and the logarithm of the sum. */
  rows(theta: Floats, run: (likely: Floats, gaps: Floats, weight: number, target: Floats, value: number) => void): void {
    const { k } = this;
    const likely = new Float64Array(k);
    for (let i = 0; i < this.gaps.length; i++) {
      const [gaps, target] = [this.gaps[i], this.target[i]];
      for (let c = 0; c < k; c++) likely[c] = theta[0] * gaps[c] + theta[1 + c];
      const most = highest(likely);
      const aimed = dot(target, likely);
      let sum = 0;
      for (let c = 0; c < k; c++) sum += likely[c] = Math.exp(likely[c] - most);
      for (let c = 0; c < k; c++) likely[c] /= sum;
      run(likely, gaps, this.weights[i], target, Math.log(sum) + most - aimed);
    }
  }

  value(theta: Floats): number {
    let sum = 0;
    this.rows(theta, (_likely, _gaps, weight, _target, value) => (sum += weight * value));
    return sum + dot(this.precision, theta.map((x) => x * x)) / 2;
  }

  /** Return the point of the lowest value, by Newton's method; 1 / T stays at 0 or above. */
  minimum(start: Floats, onlyTemperature: boolean): Floats {
    let theta = start;
    let value = this.value(theta);
    for (let turn = 0; turn < NEWTON_STEPS; turn++) {
      const { gradient, curvature } = this.slopes(theta);
      const moves = Array.from(theta.keys()).filter((c) => (c ? !onlyTemperature : theta[0] > 0 || gradient[0] < 0));
      const n = theta.length;
      const inner = Float64Array.from(moves.flatMap((row) => moves.map((column) => curvature[row * n + column])));
      const solved = solveLinear(inner, Float64Array.from(moves, (c) => gradient[c]));
      const step = new Float64Array(n);
      moves.forEach((c, i) => (step[c] = solved[i]));
      const slack = 1e-13 * Math.abs(value); // near the minimum the value is flat to its rounding
      let [trial, found] = [theta, value];
      for (let shrink = 1; ; shrink /= 2) {
        trial = theta.map((x, c) => (c ? x - shrink * step[c] : Math.max(x - shrink * step[c], 0)));
        found = this.value(trial);
        if (found <= value + slack || shrink < 1e-6) break;
      }
      if (!(value - found > slack)) return found <= value + slack ? trial : theta;
      [theta, value] = [trial, found];
    }
    return theta;
  }

  private slopes(theta: Floats): { gradient: Floats; curvature: Floats } {
    const { k } = this;
    const n = k + 1;
    const gradient = theta.map((x, c) => this.precision[c] * x);
    const curvature = new Float64Array(n * n);
    this.rows(theta, (likely, gaps, weight, target) => {
      const mean = dot(likely, gaps);
      for (let c = 0; c < k; c++) {
        const error = (likely[c] - target[c]) * weight;
        gradient[0] += error * gaps[c];
        gradient[1 + c] += error;
        curvature[0] += weight * likely[c] * (gaps[c] - mean) ** 2;
        curvature[1 + c] += weight * likely[c] * (gaps[c] - mean);
        curvature[(1 + c) * n + 1 + c] += weight * likely[c];
        for (let d = 0; d < k; d++) curvature[(1 + c) * n + 1 + d] -= weight * likely[c] * likely[d];
      }
    });
    for (let c = 0; c < k; c++) curvature[(1 + c) * n] = curvature[1 + c];
    for (let c = 0; c < n; c++) curvature[c * (n + 1)] += this.precision[c];
    return { gradient, curvature };
  }
}
