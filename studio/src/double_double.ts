/** Double-double arithmetic, as src/sefr/_summary/double_double.py has it: a number as head + tail, 106 bits. */

import type { Floats } from "./kernel";

/** head + tail; tail null stands for zero. */
export interface Doubles {
  head: Floats;
  tail: Floats | null;
}

export function plain(head: Floats): Doubles {
  return { head, tail: null };
}

export function add(a: Doubles, b: Doubles): Doubles {
  const n = a.head.length;
  const head = new Float64Array(n);
  const error = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const [x, y] = [a.head[i], b.head[i]];
    const total = x + y;
    const part = total - x;
    head[i] = total;
    error[i] = x - (total - part) + (y - part);
    if (a.tail) error[i] += a.tail[i];
    if (b.tail) error[i] += b.tail[i];
  }
  return normal(head, error);
}

export function negative(a: Doubles): Doubles {
  return { head: a.head.map((x) => -x), tail: a.tail && a.tail.map((x) => -x) };
}

/** Multiply each number by the factor of its place. */
export function multiply(a: Doubles, factor: (i: number) => number): Doubles {
  const n = a.head.length;
  const head = new Float64Array(n);
  const error = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const [x, y] = [a.head[i], factor(i)];
    const product = x * y;
    const [xHigh, xLow] = halves(x);
    const [yHigh, yLow] = halves(y);
    const lost = xHigh * yHigh - product + xHigh * yLow + xLow * yHigh + xLow * yLow;
    head[i] = product;
    error[i] = Number.isFinite(lost) ? lost : 0;
    if (a.tail) error[i] += a.tail[i] * y;
  }
  return normal(head, error);
}

/** Return the parts with both floats changed in the same way. */
export function each(a: Doubles, change: (part: Floats) => Floats): Doubles {
  return { head: change(a.head), tail: a.tail && change(a.tail) };
}

function normal(head: Floats, error: Floats): Doubles {
  if (error.every((x) => x === 0)) return { head, tail: null };
  const tail = new Float64Array(head.length);
  for (let i = 0; i < head.length; i++) {
    const [x, y] = [head[i], error[i]];
    const total = x + y;
    const part = total - x;
    head[i] = total;
    tail[i] = x - (total - part) + (y - part);
  }
  return { head, tail: tail.some((x) => x !== 0) ? tail : null };
}

function halves(a: number): [number, number] {
  const shifted = a * 134217729; // 2**27 + 1
  const high = shifted - (shifted - a);
  return [high, a - high];
}
