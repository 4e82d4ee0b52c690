/** How a window of a signal becomes features, chosen as src/sefr/signals/features.py chooses it, in its words. */

import { signals } from "virtual:signals";
import type { Kernel, SignalShape } from "./kernel";
import { Float, type Json } from "./python_text";
import { toEven } from "./quantise";
import { SourceError } from "./table";

/** What the reader says of recordings: `sefr train --signal --rate --window LENGTH:HOP --range LOW:HIGH`. */
export interface SignalSettings {
  /** Samples per second. */
  rate: number;
  /** Samples in a window. */
  length: number;
  /** Samples from one window to the next. */
  hop: number;
  /** The ends of the sensor; null: a step beyond those of the recordings. */
  range: readonly [number, number] | null;
}

export interface SignalPlan extends SignalShape {
  /** What one step of a sample stands for, per axis. */
  resolution: readonly number[];
  names: readonly string[];
}

const LONGEST = 4096;
const MOST_HOP = 65535;
const MOST_AXES = 255;
const [LEAST, MOST] = [-32768, 32767];
const DILATIONS = 4;
const SEGMENTS = 8;

export function checkSignal({ rate, length, hop, range }: SignalSettings): void {
  const whole = (value: number, name: string, least: number, most: number): void => {
    if (!Number.isInteger(value) || value < least || value > most) throw new SourceError(`${name} must be a whole number from ${least} to ${most}, not ${value}`);
  };
  if (!(rate > 0 && rate < Infinity)) throw new SourceError(`rate must be above 0 samples per second, not ${rate}`);
  whole(length, "length", 2, LONGEST);
  whole(hop, "hop", 1, MOST_HOP);
  if (range && !(range[0] < range[1])) throw new SourceError(`range must go up, not from ${range[0]} to ${range[1]}`);
}

/** Choose the plan for windows (n x axes x length) of recorded values. */
export function planOf(names: readonly string[], windows: readonly Float64Array[], { length, range }: SignalSettings): SignalPlan {
  const axes = names.length;
  if (axes > MOST_AXES) throw new SourceError(`axes must be a whole number from 1 to ${MOST_AXES}, not ${axes}`);
  const extremes = names.map((_, axis) => extremesOf(windows, axis * length, length));
  const resolution = extremes.map(({ low, high, whole }) => stepOf(Math.max(-low, high, 0), whole));
  const ranges = extremes.map(({ low, high }, axis): [number, number] => {
    const step = resolution[axis];
    if (!range) return [Math.max(samplesIn(low, step) - 1, LEAST), Math.min(samplesIn(high, step) + 1, MOST)];
    const sides: [number, number] = [toEven(range[0] / step), toEven(range[1] / step)];
    if (!(sides[0] >= LEAST && sides[1] <= MOST && sides[0] < sides[1])) {
      throw new SourceError(`range must go up and lie within ${LEAST} to ${MOST} steps of the resolution, ${step}, not from ${range[0]} to ${range[1]}`);
    }
    return sides;
  });
  const wanted = Math.max(1, Math.floor(signals.taps.length / axes));
  const kernels = Array.from({ length: wanted }, (_, i) => wanted - i).find((n) => signals.taps.length % n === 0)!;
  const dilations = dilationsOf(length);
  return {
    length, axes, dilations, kernels, thresholds: 1, levels: levelsOf(axes * dilations.length * kernels),
    segments: Math.min(SEGMENTS, Math.floor(length / 2)), ranges, resolution, names,
  };
}

/** Return windows (n x axes x length) of recorded values as a board samples them: 16 bits, in steps of the resolution. */
export function samplesOf(kernel: Kernel, plan: SignalPlan, windows: readonly Float64Array[]): Int16Array {
  const { axes, length } = plan;
  const samples = new Int16Array(windows.length * axes * length);
  for (let axis = 0; axis < axes; axis++) {
    const values = new Float64Array(windows.length * length);
    windows.forEach((window, i) => values.set(window.subarray(axis * length, (axis + 1) * length), i * length));
    const found = kernel.samplesOf(values, plan.resolution[axis]);
    windows.forEach((_, i) => samples.set(found.subarray(i * length, (i + 1) * length), (i * axes + axis) * length));
  }
  return samples;
}

/** Return the features of windows (n x axes x length) of recorded values, row by row. */
export function signalFeatures(kernel: Kernel, plan: SignalPlan, windows: readonly Float64Array[], width: number): Uint8Array {
  return kernel.signalFeatures(plan, samplesOf(kernel, plan, windows), width);
}

/** Return how many samples of a window lie at an end of the range or beyond. */
export function clippedIn(plan: SignalPlan, window: Float64Array): number {
  const { length, ranges, resolution } = plan;
  return window.reduce((n, value, i) => {
    const axis = Math.floor(i / length);
    const sample = samplesIn(value, resolution[axis]);
    return n + Number(sample <= ranges[axis][0] || sample >= ranges[axis][1]);
  }, 0);
}

/** Return the features in words. */
export function featureWords(plan: SignalPlan): string[] {
  const words: string[] = [];
  const stride = signals.taps.length / plan.kernels;
  plan.names.forEach((name, axis) => plan.dilations.forEach((dilation, i) => {
    const group = axis * plan.dilations.length + i;
    for (let kernel = group % stride; kernel < signals.taps.length; kernel += stride) {
      const high = signals.taps[kernel].map((tap) => 1 + tap * dilation).join(", ");
      const above = plan.levels[words.length] / signals.eighths;
      words.push(`${name}: ${signals.shapes[kernel]} of ${8 * dilation + 1} samples, high at ${high}, above ${above} spreads`);
    }
  }));
  for (const name of plan.segments ? plan.names : []) {
    words.push(...signals.whole.map((what) => `${name}: ${what}`));
    for (let k = 1; k <= plan.segments; k++) words.push(...signals.perSegment.map((what) => `${name}: ${what} of part ${k} of ${plan.segments}`));
  }
  return words;
}

/** The member "signal" of a model file. */
export function signalMember(plan: SignalPlan, { hop, rate }: SignalSettings): Record<string, Json> {
  const { length, axes, dilations, kernels, thresholds, segments, ranges, resolution, names } = plan;
  const steps = resolution.map((step) => new Float(step));
  return {
    plan: { length, axes, dilations: [...dilations], kernels, thresholds, segments, ranges: ranges.map((range) => [...range]), resolution: steps, axis_names: [...names] },
    hop, rate: new Float(rate),
  };
}

/** Distances between the taps of a kernel: from 1 to an eighth of the window, in equal ratios. */
function dilationsOf(length: number): number[] {
  const widest = Math.max(1, Math.floor((length - 1) / 8));
  const all = Array.from({ length: DILATIONS }, (_, i) => Math.floor(Number((2 ** ((Math.log2(widest) * i) / (DILATIONS - 1))).toFixed(9))));
  return [...new Set(all)];
}

function levelsOf(counts: number): Int8Array {
  return Int8Array.from({ length: counts }, (_, i) => signals.laplace[(((i + 1) * signals.golden) & 0xffff) >> 11]);
}

function extremesOf(windows: readonly Float64Array[], start: number, length: number): { low: number; high: number; whole: boolean } {
  let [low, high, whole] = [Infinity, -Infinity, true];
  for (const window of windows) {
    for (let i = start; i < start + length; i++) {
      low = Math.min(low, window[i]);
      high = Math.max(high, window[i]);
      whole &&= Number.isInteger(window[i]);
    }
  }
  return { low, high, whole };
}

/** 1 for whole numbers that fit in 16 bits, else the power of ten that holds all. */
function stepOf(furthest: number, whole: boolean): number {
  if (furthest === 0 || (whole && furthest <= MOST)) return 1;
  return Number(`1e${Math.max(Math.ceil(Math.log10(furthest) - Math.log10(MOST)), -300)}`);
}

function samplesIn(value: number, step: number): number {
  return Math.min(Math.max(toEven(value / step), LEAST), MOST);
}
