/** From scores to probabilities: bias-corrected temperature scaling, fitted by native/answers/probabilities.h. */

import type { HeldOut } from "./held_out";
import type { Floats, Kernel } from "./kernel";
import { highest, total } from "./linear";

/** 1 / T, the offsets (K), and how well each of them is known (K + 1). */
export interface TemperatureScaling {
  inverse: number;
  offsets: Floats;
  precision: Floats;
}

/** Newton's method solves as many equations: more would keep the page's reader waiting. */
const MOST_CLASSES = 256;

/** Return the probability of every class from one score per class. */
export function probabilities({ inverse, offsets }: TemperatureScaling, scores: Floats): Floats {
  const logits = scores.map((score, k) => score * inverse + offsets[k]).map((logit) => (Number.isNaN(logit) ? -Infinity : logit));
  const most = highest(logits);
  const likely = logits.map((logit) => (most === Infinity ? Number(logit === Infinity) : Math.exp(logit - most)));
  const all = total(likely);
  return likely.map((value) => value / all);
}

/** Return the temperature and the offsets that make the labels of rows most likely; null where a class has none. */
export function fitScaling(kernel: Kernel, sample: HeldOut, counts: Floats): TemperatureScaling | null {
  const lacks = counts.length > MOST_CLASSES || counts.some((count, k) => count > 0 && !sample.codes.includes(k));
  return lacks ? null : kernel.fitScaling(sample, counts);
}
