/** How much each part of auto is to say, from how well they do on rows that were held out: as src/sefr/_weights/auto.py. */

import { auto as how } from "virtual:auto";
import type { Floats } from "./kernel";
import { dot, solveLinear, total } from "./linear";

/** What P parts say of n rows that they have not seen (n x K each), beyond the logarithm of the shares of the classes. */
export class HeldOutParts {
  private best: number[] | null = null;

  constructor(
    private readonly logits: readonly Floats[], private readonly base: Floats, readonly codes: Int32Array, private readonly weights: Floats,
    private readonly classes: number,
  ) {}

  static joined(known: readonly HeldOutParts[], parts: number, classes: number): HeldOutParts {
    const all = (of: (one: HeldOutParts) => ArrayLike<number>): Floats => Float64Array.from(known.flatMap((one) => Array.from(of(one))));
    const logits = Array.from({ length: parts }, (_, p) => all((one) => one.logits[p]));
    return new HeldOutParts(logits, all((one) => one.base), Int32Array.from(all((one) => one.codes)), all((one) => one.weights), classes);
  }

  loss(shares: readonly number[]): number {
    return this.slopes(shares).loss;
  }

  /** Return the weights, none below 0, of the least log loss; few rows keep to the last part. */
  bestWeights(): number[] {
    this.best ??= this.search();
    return this.best;
  }

  private search(): number[] {
    const centre = this.logits.map((_, p) => Number(p === this.logits.length - 1));
    if (!this.codes.length) return centre;
    const hold = how.hold / total(this.weights);
    const held = (shares: readonly number[]): Slopes => {
      const { loss, slope, curvature } = this.slopes(shares);
      const away = shares.map((share, p) => share - centre[p]);
      return {
        loss: loss + hold * dot(away, away), slope: slope.map((value, p) => value + 2 * hold * away[p]),
        curvature: curvature.map((row, p) => row.map((value, q) => value + (p === q ? 2 * hold : 0))),
      };
    };
    let shares = centre;
    let at = held(shares);
    for (let turn = 0; turn < how.newtonSteps; turn++) {
      const to = lowest(at, shares);
      const step = to.map((value, p) => value - shares[p]);
      if (-dot(step, at.slope) < 1e-7 * Math.abs(at.loss)) break;
      let [shrink, trial] = [1, to];
      let found = held(trial);
      while (found.loss > at.loss && shrink >= 1e-4) {
        shrink /= 2;
        trial = shares.map((share, p) => share + shrink * step[p]);
        found = held(trial);
      }
      if (!(found.loss < at.loss)) break;
      [shares, at] = [trial, found];
    }
    return shares;
  }

  /** Return the log loss and its first and second derivatives by the weights of the parts. */
  private slopes(shares: readonly number[]): Slopes {
    const { logits, base, codes, classes: width } = this;
    const parts = logits.length;
    const all = total(this.weights);
    const slope = new Array<number>(parts).fill(0);
    const curvature = slope.map(() => new Array<number>(parts).fill(0));
    const [likely, mean] = [new Float64Array(width), new Float64Array(parts)];
    let loss = 0;
    for (let i = 0; i < codes.length; i++) {
      const weight = this.weights[i] / all;
      let [most, sum] = [-Infinity, 0];
      for (let k = 0; k < width; k++) {
        let logit = base[i * width + k];
        for (let p = 0; p < parts; p++) logit += shares[p] * logits[p][i * width + k];
        likely[k] = logit;
        if (logit > most) most = logit;
      }
      const own = likely[codes[i]] - most;
      for (let k = 0; k < width; k++) sum += likely[k] = Math.exp(likely[k] - most);
      loss += weight * (Math.log(sum) - own);
      for (let p = 0; p < parts; p++) {
        mean[p] = 0;
        for (let k = 0; k < width; k++) mean[p] += (logits[p][i * width + k] * likely[k]) / sum;
        slope[p] += weight * (mean[p] - logits[p][i * width + codes[i]]);
        for (let q = 0; q <= p; q++) {
          let both = -mean[p] * mean[q];
          for (let k = 0; k < width; k++) both += (logits[p][i * width + k] * logits[q][i * width + k] * likely[k]) / sum;
          curvature[p][q] += weight * both;
        }
      }
    }
    for (let p = 0; p < parts; p++) for (let q = 0; q < p; q++) curvature[q][p] = curvature[p][q];
    return { loss, slope, curvature };
  }
}

interface Slopes {
  loss: number;
  slope: number[];
  curvature: number[][];
}

/** Return where a quadratic function is lowest among what is not below 0: the few sets of what is above it are tried in turn. */
function lowest({ slope, curvature }: Slopes, at: readonly number[]): number[] {
  const wanted = slope.map((value, p) => dot(curvature[p], at) - value);
  const value = (x: readonly number[]): number => x.reduce((sum, own, p) => sum + own * (dot(curvature[p], x) / 2 - wanted[p]), 0);
  let best = at.map(() => 0);
  for (let set = 1; set < 1 << at.length; set++) {
    const free = Array.from(at.keys()).filter((p) => (set >> p) & 1);
    const solved = solveLinear(Float64Array.from(free.flatMap((p) => free.map((q) => curvature[p][q]))), Float64Array.from(free, (p) => wanted[p]));
    if (solved.some((own) => !(own >= 0))) continue;
    const x = at.map(() => 0);
    free.forEach((p, i) => (x[p] = solved[i]));
    if (value(x) < value(best)) best = x;
  }
  return best;
}
