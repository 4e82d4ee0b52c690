/** What a board remembers, as bytes: the format of sefr_state.h, read and written as src/sefr/device/state.py does. */

import { crc32 } from "./crc32";
import { type Doubles, plain } from "./double_double";
import type { Label } from "./labels";
import type { Quantised } from "./quantise";
import type { Summary } from "./summary";

const MAGIC = 0x52464553; // "SEFR"
const VERSION = 2;
const HEAD = 20;
const WITH_RANGES = 1;
const WITH_BASE = 32;

export class StateError extends Error {}

export interface State {
  counts: number[];
  sums: number[];
  ranges: Uint8Array | null;
  id: number;
  base: number; // what the board started from; 0: from nothing
}

export function packState(state: State, sumBits: 16 | 32): Uint8Array {
  const { counts, sums, ranges, id, base } = state;
  const size = HEAD + 4 * counts.length + (sums.length * sumBits) / 8 + (ranges?.length ?? 0) + (base ? 4 : 0);
  const bytes = new Uint8Array(size + 4);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  bytes.set([VERSION, sumBits, counts.length, (ranges ? WITH_RANGES : 0) | (base ? WITH_BASE : 0)], 4);
  view.setUint32(8, sums.length / counts.length, true);
  view.setUint32(16, id, true);
  let at = HEAD;
  for (const count of counts) view.setUint32((at += 4) - 4, count, true);
  for (const sum of sums) {
    if (sumBits === 16) view.setUint16(at, sum, true);
    else view.setUint32(at, sum, true);
    at += sumBits / 8;
  }
  if (ranges) bytes.set(ranges, at);
  if (base) view.setUint32(size - 4, base, true);
  view.setUint32(size, crc32(bytes.subarray(0, size)), true);
  return bytes;
}

export function unpackState(bytes: Uint8Array): State {
  if (bytes.length < HEAD + 4) throw new StateError(`no state in ${bytes.length} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const [version, bits, classes, flags] = bytes.subarray(4, 8);
  const m = view.getUint32(8, true);
  if (view.getUint32(0, true) !== MAGIC) throw new StateError(`no state in ${bytes.length} bytes`);
  if (version !== VERSION) throw new StateError(`the state has version ${version}, this reads ${VERSION}`);
  if ((bits !== 16 && bits !== 32) || classes < 2 || m < 1 || flags & ~(WITH_RANGES | WITH_BASE)) throw new StateError("the state is damaged: its head makes no sense");
  const end = HEAD + 4 * classes + (classes * m * bits) / 8 + (flags & WITH_RANGES ? 2 * m : 0);
  const size = end + (flags & WITH_BASE ? 4 : 0);
  if (bytes.length < size + 4) throw new StateError(`the state is cut off: ${size + 4} bytes expected, ${bytes.length} there`);
  if (crc32(bytes.subarray(0, size)) !== view.getUint32(size, true)) throw new StateError("the state is damaged: its checksum does not match");
  const counts = Array.from({ length: classes }, (_, k) => view.getUint32(HEAD + 4 * k, true));
  const start = HEAD + 4 * classes;
  const sums = Array.from({ length: classes * m }, (_, i) =>
    bits === 16 ? view.getUint16(start + 2 * i, true) : view.getUint32(start + 4 * i, true));
  if (sums.some((sum, i) => sum > 255 * counts[Math.floor(i / m)])) throw new StateError("the state is damaged: a sum exceeds 255 per record");
  const ranges = flags & WITH_RANGES ? bytes.slice(end - 2 * m, end) : null;
  return { counts, sums, ranges, id: view.getUint32(16, true), base: flags & WITH_BASE ? view.getUint32(end, true) : 0 };
}

/** Return what a board learned beyond what it started from. */
export function stateWithout(state: State, base: State): State {
  const hex = (id: number): string => id.toString(16).padStart(8, "0");
  if (state.id !== base.id || state.sums.length !== base.sums.length) {
    throw new StateError(`the state belongs to model ${hex(state.id)}, the base is of ${hex(base.id)}: the board started from something else`);
  }
  if (state.base !== base.base) {
    throw new StateError(`the board started from base ${hex(state.base)}, not from ${hex(base.base)}: take base.state of the sketch that it first ran`);
  }
  const m = state.sums.length / state.counts.length;
  const counts = state.counts.map((count, k) => count - base.counts[k]);
  const sums = state.sums.map((sum, i) => sum - base.sums[i]);
  if (counts.some((count) => count < 0) || sums.some((sum, i) => sum < 0 || sum > 255 * counts[Math.floor(i / m)])) {
    throw new StateError(
      "the board holds less than its base: a class was full and halved, or records were forgotten, so that what it learned can no longer be told from the base",
    );
  }
  return { ...state, counts, sums };
}

/** Turn what a board learned into a Summary of raw values. */
export function summaryOfState(state: State, q: Quantised): Summary<Label> {
  const m = q.low.length;
  if (state.counts.length !== q.classes.length || state.sums.length !== q.classes.length * m) {
    throw new StateError(`the state has ${state.counts.length} classes and ${state.sums.length / state.counts.length} features, not those of this model`);
  }
  const raw = q.input === "uint8";
  const low = Float64Array.from({ length: m }, (_, j) => (raw ? 0 : q.low[j]));
  const unit = low.map((bottom, j) => (raw ? 1 : (q.high[j] - bottom) / 255));
  const sums: Doubles = plain(Float64Array.from(state.sums, (sum, i) => state.counts[Math.floor(i / m)] * low[i % m] + sum * unit[i % m]));
  const { ranges } = state;
  // bytes that are the values themselves tell their extremes only where the board kept ranges
  const seen = (j: number): boolean => (ranges ? ranges[j] <= ranges[m + j] : !raw);
  return {
    classes: q.classes,
    counts: plain(Float64Array.from(state.counts)),
    sums,
    present: null,
    low: low.map((bottom, j) => (seen(j) ? bottom + unit[j] * (ranges ? ranges[j] : 0) : Infinity)),
    high: low.map((bottom, j) => (seen(j) ? (ranges ? bottom + unit[j] * ranges[m + j] : q.high[j]) : -Infinity)),
    coder: null,
  };
}
