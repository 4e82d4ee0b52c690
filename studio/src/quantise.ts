/** A model in the board's integers, as src/sefr/device/quantise.py makes it: the device library itself solves. */

import type { Floats, Kernel } from "./kernel";
import type { Label } from "./labels";
import { byteOf, floatMapping, floorLog2, integerMapping, type Mapping, notHeld } from "./mapping";
import { dot, highest } from "./linear";
import { classWeights, means, type Planes, type Scaling } from "./solve";
import { reweighted, type Summary } from "./summary";

export type Input = "uint8" | "int16" | "int32" | "float";

export class NotForBoards extends Error {}

export interface Quantised {
  classes: readonly Label[];
  names: readonly string[];
  input: Input;
  low: ArrayLike<number>;
  high: ArrayLike<number>;
  /** Low and high of each feature as bytes where scaling is folded into the weights. */
  ranges: Uint8Array | null;
  counts: Uint32Array;
  sums: Uint32Array;
  factor: number;
  weightBits: 8 | 16;
  weights: Int8Array | Int16Array;
  bias: bigint[];
  mapping: Mapping;
  /** The weights come from further passes, not from the sums. */
  refined: boolean;
  /** Some values were missing, which the sums of a board cannot tell. */
  missed: boolean;
}

const MAX_CLASSES = 254;
const MAX_RECORDS = 2 ** 24;
const MAX_NARROW = 32767;
const MAX_WIDE = 65534;
const LIMITS: Record<Exclude<Input, "float">, [number, number]> = {
  uint8: [0, 255], int16: [-32768, 32767], int32: [-(2 ** 31), 2 ** 31 - 1],
};
const LARGEST_FLOAT = 3.4028234663852886e38;

/** What of a model goes to a board. */
export interface Source {
  summary: Summary<Label>;
  scaling: Scaling;
  planes: Planes;
  names: readonly string[];
  settings: { balanced: boolean };
  trained: { refined: unknown };
}

export function quantise(kernel: Kernel, model: Source, weightBits: 8 | 16): Quantised {
  const { summary, scaling, names } = model;
  const m = scaling.low.length;
  if (summary.coder) {
    throw new NotForBoards(
      "the page writes no C of a model with bins: save the model here, then sefr export writes its table for a board",
    );
  }
  if (summary.classes.length > MAX_CLASSES) {
    throw new NotForBoards(`a board knows 2 to ${MAX_CLASSES} classes, not ${summary.classes.length}`);
  }
  const limit = weightBits === 8 ? MAX_NARROW : MAX_WIDE;
  if (m > limit) throw new NotForBoards(`the device library takes ${limit} features with int${weightBits} weights, not ${m}`);
  const top = scaling.low.map((bottom, j) => bottom + scaling.span[j]);
  const input = smallestInput(summary, scaling.low, top);
  let low: ArrayLike<number> = scaling.low;
  let high: ArrayLike<number> = top;
  let ranges: Uint8Array | null = null;
  if (input === "uint8") {
    if (scaling.low.some((bottom) => bottom !== 0) || top.some((value) => value !== 255)) {
      ranges = Uint8Array.from([...scaling.low, ...top]);
    }
  } else if (input === "float") {
    [low, high] = floatRange(scaling.low, top);
  } else {
    low = Int32Array.from(scaling.low);
    high = Int32Array.from(top);
  }
  const weight = classWeights(model.settings.balanced, summary);
  const weighted = weight ? reweighted(summary, weight) : summary;
  const { counts, sums, factor } = byteSums(weighted, scaling, input, scaling.low, top);
  // the sums of a board count no missing values: what they would give is another model
  const [refined, missed] = [Boolean(model.trained.refined), summary.present !== null];
  const solved = refined || missed ? refinedBytes(model.planes, weightBits, input, low, high) : kernel.solveBytes(weightBits, counts, sums, m, ranges);
  if (!solved) throw new NotForBoards("a board needs records of two classes at least");
  const mapping = input === "float"
    ? floatMapping(low as Float32Array, high as Float32Array)
    : integerMapping(low, high, LIMITS[input][1]);
  return { classes: summary.classes, names, input, low, high, ranges, counts, sums, factor, weightBits, mapping, refined, missed, ...solved };
}

/** Return weights and bias of a refined model: its own, for bytes, the largest being ONE. */
function refinedBytes(
  { coef, intercept }: Planes, weightBits: 8 | 16, input: Input, low: ArrayLike<number>, high: ArrayLike<number>,
): { weights: Int8Array | Int16Array; bias: bigint[] } {
  const m = low.length;
  const raw = input === "uint8";
  const own = raw ? coef : coef.map((weight, i) => (weight * (high[i % m] - low[i % m])) / 255);
  const bias = raw ? intercept : intercept.map((value, r) => value + dot(coef.subarray(r * m, (r + 1) * m), low));
  const one = weightBits === 8 ? 127 : 32767;
  const finite = bias.filter(Number.isFinite);
  const loudest = highest(own.map(Math.abs)) || (finite.length ? highest(finite.map(Math.abs)) : 0) || 1;
  const rounded = own.map((weight) => toEven((weight / loudest) * one));
  const weights = weightBits === 8 ? Int8Array.from(rounded) : Int16Array.from(rounded);
  return { weights, bias: boundedBias(weights, m, Array.from(bias, (value) => wholeBias(value, one, loudest, bias.length === 1))) };
}

/** Return bias * one / loudest as a whole number of the same answers: up for two classes, else down; null for -inf. */
function wholeBias(bias: number, one: number, loudest: number, binary: boolean): bigint | null {
  if (!Number.isFinite(bias)) return null;
  const [a, b] = [fraction(-bias), fraction(loudest)];
  const numerator = a[0] * b[1] * BigInt(one);
  const denominator = a[1] * b[0];
  const low = numerator / denominator - (numerator % denominator < 0n ? 1n : 0n);
  return -(binary || low * denominator === numerator ? low : low + 1n);
}

/** Return a float as a fraction, exactly. */
function fraction(value: number): [bigint, bigint] {
  let power = 0;
  let whole = value;
  while (!Number.isInteger(whole)) {
    whole *= 2;
    power++;
  }
  return [BigInt(whole), 1n << BigInt(power)];
}

/** Return biases of the same answers that a score's bits hold: beyond 255 sum |w| + 1 a bias decides alone. */
function boundedBias(weights: Int8Array | Int16Array, m: number, bias: readonly (bigint | null)[]): bigint[] {
  const reach = (r: number, sign: number): bigint => {
    let sum = 0;
    for (let j = r * m; j < (r + 1) * m; j++) if (weights[j] * sign > 0) sum += 255 * weights[j];
    return BigInt(sum);
  };
  const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);
  if (bias.length === 1) {
    const [least, top] = [-reach(0, 1), 1n - reach(0, -1)];
    const value = most(bias[0] ?? 0n, least);
    return [value < top ? value : top];
  }
  const floor = bias.map((b, r) => (b === null ? null : b + reach(r, -1))).filter((b) => b !== null).reduce(most);
  return bias.map((b, r) => (b === null ? -1n - reach(r, 1) : most(b - floor, -1n - reach(r, 1))));
}

/** Return a record of raw values as the bytes that the board classifies. */
export function bytesOf(q: Quantised, values: ArrayLike<number>): Uint8Array {
  return Uint8Array.from({ length: values.length }, (_, j) => {
    if (q.input === "uint8") return Math.min(Math.max(Math.round(values[j]), 0), 255);
    return byteOf(q.mapping, j, q.input === "float" ? values[j] : Math.round(values[j]));
  });
}

/** Return the scores of a record of bytes, as the board adds them up. */
export function boardScores(q: Quantised, bytes: Uint8Array): bigint[] {
  const m = bytes.length;
  return q.bias.map((bias, r) => {
    let score = 0;
    for (let j = 0; j < m; j++) score += q.weights[r * m + j] * bytes[j];
    return bias + BigInt(score);
  });
}

export function boardAnswer(q: Quantised, bytes: Uint8Array): number {
  const scores = boardScores(q, bytes);
  if (scores.length === 1) return scores[0] > 0n ? 1 : 0;
  return scores.reduce((best, score, k) => (score > scores[best] ? k : best), 0);
}

function smallestInput(summary: Summary<Label>, low: Floats, high: Floats): Input {
  const whole = [summary.sums.head, low, high].every((part) => part.every(Number.isInteger));
  if (!whole || summary.sums.tail) return "float";
  for (const kind of ["uint8", "int16", "int32"] as const) {
    const [least, most] = LIMITS[kind];
    if (low.every((x) => x >= least) && high.every((x) => x <= most) && low.every((x, j) => high[j] - x < 2 ** 24)) return kind;
  }
  return "float";
}

function floatRange(low: Floats, high: Floats): [Float32Array, Float32Array] {
  const narrow = (side: Floats): Float32Array =>
    Float32Array.from(side, (x) => Math.min(Math.max(x, -LARGEST_FLOAT), LARGEST_FLOAT));
  const [bottom, top] = [narrow(low), narrow(high)];
  for (let j = 0; j < low.length; j++) {
    const tooLarge = Math.max(Math.abs(low[j]), Math.abs(high[j])) > LARGEST_FLOAT;
    if (tooLarge || (low[j] < high[j] && bottom[j] >= top[j])) throw notHeld(j, low[j], high[j]);
  }
  return [bottom, top];
}

function byteSums(
  summary: Summary<Label>, scaling: Scaling, input: Input, low: Floats, high: Floats,
): { counts: Uint32Array; sums: Uint32Array; factor: number } {
  const m = low.length;
  const given = summary.counts.head;
  let sums = summary.sums.head;
  if (input !== "uint8" || summary.present) {
    const average = means(summary, scaling).map((x) => (Number.isNaN(x) ? 0 : x));
    sums = average.map((mean, i) => {
      const [j, n] = [i % m, given[Math.floor(i / m)]];
      return input === "uint8" ? (low[j] + mean * (high[j] - low[j])) * n : 255 * mean * n;
    });
  }
  const rows = given.reduce((a, b) => a + b, 0);
  const room = MAX_RECORDS * Math.min(1, MAX_WIDE / m) - summary.classes.length;
  const factor = 2 ** floorLog2(room / rows);
  const counts = given.map((n) => (n > 0 ? Math.max(toEven(n * factor), 1) : 0));
  const clipped = sums.map((x, i) => Math.min(Math.max(toEven(x * factor), 0), 255 * counts[Math.floor(i / m)]));
  return { counts: Uint32Array.from(counts), sums: Uint32Array.from(clipped), factor };
}

/** Round to the nearest whole number, halves to even. */
export function toEven(x: number): number {
  const low = Math.floor(x);
  const part = x - low;
  if (part !== 0.5) return Math.round(x);
  return low % 2 === 0 ? low : low + 1;
}
