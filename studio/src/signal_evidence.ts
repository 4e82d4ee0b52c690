/** Where in a window the evidence for a class lies, as src/sefr/signals/display.py finds it. */

import { signals } from "virtual:signals";
import type { Model } from "./model";
import { samplesOf, type SignalPlan } from "./signal_plan";

const BYTE = 255;
const TAPS = 9;
const TOP = 2047;

/**
 * Return what each sample (axes x length) of a window adds to the score of a class; it sums to the score.
 *
 * A count adds its weight wherever its shape occurs, and what its absence is worth everywhere; the statistics of a part
 * add to its samples. The model must have no bins: a feature then has one weight.
 */
export function evidenceOf(model: Model, plan: SignalPlan, window: Float64Array, features: Float64Array, k: number): Float64Array[] {
  const { length, axes, dilations, kernels, thresholds, segments } = plan;
  const parts = model.contributions(features, k);
  const weights = model.weightsPerUnit(k);
  const each = dilations.length * kernels * thresholds;
  const statistics = segments ? signals.whole.length + signals.perSegment.length * segments : 0;
  const samples = samplesOf(model.kernel, plan, [window]);
  return Array.from({ length: axes }, (_, axis) => {
    const found = placesOf(plan, axis, samples.subarray(axis * length, (axis + 1) * length), weights);
    const counts = parts.subarray(axis * each, (axis + 1) * each);
    const own = parts.subarray(axes * each + axis * statistics, axes * each + (axis + 1) * statistics);
    const everywhere = sum(counts) - sum(found) + sum(own.subarray(0, signals.whole.length));
    const result = found.map((value) => value + everywhere / length);
    for (let part = 0; part < segments; part++) {
      const [from, to] = [part, part + 1].map((edge) => Math.floor((edge * length) / segments));
      const first = signals.whole.length + signals.perSegment.length * part;
      const share = sum(own.subarray(first, first + signals.perSegment.length)) / (to - from);
      for (let p = from; p < to; p++) result[p] += share;
    }
    return result;
  });
}

/** Return the weights of the shapes of one axis at the samples where they occur, a share of the byte each. */
function placesOf(plan: SignalPlan, axis: number, samples: Int16Array, weights: Float64Array): Float64Array {
  const { length, dilations, kernels, thresholds, levels } = plan;
  const stride = signals.taps.length / kernels;
  const u = normalised(samples);
  const found = new Float64Array(length);
  dilations.forEach((dilation, i) => {
    const group = axis * dilations.length + i;
    const tap = (p: number, t: number): number => u[Math.min(Math.max(p + (t - 4) * dilation, 0), length - 1)];
    const whole = Float64Array.from({ length }, (_, p) => Array.from({ length: TAPS }, (_, t) => tap(p, t)).reduce((a, b) => a + b));
    const spread = spreadOf(u, dilation);
    let at = group * kernels * thresholds;
    for (let kernel = group % stride; kernel < signals.taps.length; kernel += stride) {
      const [a, b, c] = signals.taps[kernel];
      const convolved = whole.map((all, p) => 3 * (tap(p, a) + tap(p, b) + tap(p, c)) - all);
      for (let t = 0; t < thresholds; t++, at++) {
        const bound = Math.floor((levels[at] * spread) / signals.eighths);
        for (let p = 0; p < length; p++) if (convolved[p] > bound) found[p] += (weights[at] * BYTE) / length;
      }
    }
  });
  return found;
}

/** Return a window from 0 on, halved until it has 11 bits. */
function normalised(samples: Int16Array): Float64Array {
  const low = Math.min(...samples);
  let shift = 0;
  while ((Math.max(...samples) - low) >> shift > TOP) shift++;
  return Float64Array.from(samples, (value) => (value - low) >> shift);
}

/** Return the mean difference of samples one dilation apart, rounded down; 1 at least. */
function spreadOf(u: Float64Array, dilation: number): number {
  let steps = 0;
  for (let p = dilation; p < u.length; p++) steps += Math.abs(u[p] - u[p - dilation]);
  return Math.max(1, Math.floor(steps / (u.length - dilation)));
}

function sum(values: Float64Array): number {
  return values.reduce((a, b) => a + b, 0);
}
