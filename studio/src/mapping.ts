/** How a raw value becomes a byte on a board: src/sefr/device/mapping.py, where the proof is. */

import { general } from "./python_text";

export interface Mapping {
  how: "narrow" | "wide" | "fine" | "divide";
  shift: number;
  low: number[];
  ranges: number[];
  factors: number[];
  exponents: number[] | null;
  /** Whether a range is below 256, which the wide form takes times 256. */
  has_short: boolean;
}

export class NotHeld extends Error {}

const SATURATED = 2 ** 30 - 1;
const NEVER = 2 ** 30;
const NARROW_SHIFT = 24;
const WIDE_SHIFT = 32;
const WIDEST = 65535;
const FINE = 32641;

/** Return the quickest exact mapping of integers up to `highest`. */
export function integerMapping(low: ArrayLike<number>, high: ArrayLike<number>, highest: number): Mapping {
  const ranges = Array.from(low, (bottom, j) => Math.max(high[j] - bottom, 0));
  const bottom = ranges.map((range, j) => (range > 0 ? low[j] : highest)); // no value exceeds it: the byte is 0
  if (Math.max(0, ...ranges) <= WIDEST) {
    for (const [how, shift] of [["narrow", NARROW_SHIFT], ["wide", WIDE_SHIFT]] as const) {
      const factors = ranges.map((range) => exactFactor(range, how === "wide" && range < 256 ? 256 : 1, shift));
      if (!factors.includes(null)) {
        return mapping(how, shift, bottom, ranges.map((range) => Math.max(range, 1)), factors as number[], null);
      }
    }
  }
  return mapping("divide", 0, bottom, ranges, ranges.map(() => 0), null);
}

function mapping(
  how: Mapping["how"], shift: number, low: number[], ranges: number[], factors: number[], exponents: number[] | null,
): Mapping {
  const isShort = (range: number, j: number): boolean => (range > 1 && range < 256) || (factors[j] > 0 && range === 1);
  return { how, shift, low, ranges, factors, exponents, has_short: ranges.some(isShort) };
}

/** Return a factor that equals the division for every d from 0 to the range, or null. All products are below 2**53. */
function exactFactor(range: number, step: number, shift: number): number | null {
  if (range === 0) return 0;
  let factor = 0;
  let top = Infinity;
  for (let byte = 1; byte < 256; byte++) {
    const first = Math.ceil((byte * range - (range >> 1)) / 255);
    const edge = byte * 2 ** shift - 2 ** (shift - 1);
    factor = Math.max(factor, Math.ceil(edge / Math.max(first * step, 1)));
    const before = (first - 1) * step;
    top = Math.min(top, before > 0 ? Math.floor((edge - 1) / before) : 2 ** 40);
  }
  return factor > top || factor >= 2 ** 32 ? null : factor;
}

/** Return the mapping of floats; say which feature is too narrow for them. */
export function floatMapping(low: Float32Array, high: Float32Array): Mapping {
  const m = low.length;
  const span = Array.from(low, (bottom, j) => Math.max(high[j] - bottom, 0));
  const exponents = span.map((width, j) => {
    const size = Math.max(Math.abs(low[j]), Math.abs(high[j]));
    const scale = Math.min(15 - floorLog2(width), 29 - floorLog2(size));
    const exponent = Math.min(Math.max(142 - (width > 0 ? scale : 0), 0), 254);
    return exponent + (fixedPoint(high[j], exponent) - fixedPoint(low[j], exponent) > WIDEST ? 1 : 0);
  });
  const first = exponents.map((exponent, j) => fixedPoint(low[j], exponent));
  const ranges = exponents.map((exponent, j) => Math.max(fixedPoint(high[j], exponent) - first[j], 0));
  for (let j = 0; j < m; j++) {
    if ((span[j] > 0 && ranges[j] === 0) || ranges[j] > WIDEST || exponents[j] > 254) throw notHeld(j, low[j], high[j]);
  }
  const fine = ranges.every((range, j) => span[j] <= 0 || range >= FINE);
  const shift = fine ? 23 : NARROW_SHIFT;
  const factors = ranges.map((range) => (range > 0 ? Math.floor((255 * 2 ** shift + (range >> 1)) / range) : 0));
  return mapping(fine ? "fine" : "narrow", shift, first.map((at, j) => (ranges[j] > 0 ? at : NEVER)), ranges, factors, exponents);
}

export function notHeld(feature: number, low: number, high: number): NotHeld {
  return new NotHeld(
    `feature ${feature}: floats on a board cannot hold the range ${general(low, 9)} to ${general(high, 9)}; train on ` +
      "values with another unit or offset",
  );
}

/** Return a value times 2**(142 - exponent), cut towards 0; 2**30 - 1 beyond that, and for infinity. */
export function fixedPoint(value: number, exponent: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value);
  const bits = view.getUint32(0);
  const own = (bits >>> 23) & 255;
  const digits = (bits & 0x7fffff) + (own > 0 ? 0x800000 : 0);
  const up = Math.max(own, 1) - exponent - 8;
  let size = up >= 0 ? digits * 2 ** Math.min(up, 6) : digits >> Math.min(-up, 24);
  if (up > 6 || own === 255) size = SATURATED;
  return bits >>> 31 ? -size : size;
}

/** Return the byte that a board makes of a raw value of feature j. */
export function byteOf(mapping: Mapping, j: number, value: number): number {
  const range = mapping.ranges[j];
  if (range === 0 || Number.isNaN(value)) return 0;
  const t = mapping.exponents ? fixedPoint(value, mapping.exponents[j]) : value;
  const d = Math.min(Math.max(t - mapping.low[j], 0), range);
  if (d >= range) return 255;
  if (!mapping.exponents) return Math.floor((255 * d + (range >> 1)) / range);
  return Math.floor((d * mapping.factors[j] + 2 ** (mapping.shift - 1)) / 2 ** mapping.shift);
}

/** The largest whole number not above the logarithm, exactly. */
export function floorLog2(x: number): number {
  if (x <= 0) return -Infinity;
  let found = Math.floor(Math.log2(x));
  while (2 ** found > x) found--;
  while (2 ** (found + 1) <= x) found++;
  return found;
}
