/** A little linear algebra, in float64. Matrices lie row by row. */

import type { Floats } from "./kernel";

export function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [one, two, three, four] = [0, 0, 0, 0]; // one sum waits for itself
  let i = 0;
  for (; i + 4 <= a.length; i += 4) {
    one += a[i] * b[i];
    two += a[i + 1] * b[i + 1];
    three += a[i + 2] * b[i + 2];
    four += a[i + 3] * b[i + 3];
  }
  for (; i < a.length; i++) one += a[i] * b[i];
  return one + two + (three + four);
}

export function total(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i];
  return sum;
}

export function ones(n: number): Floats {
  return new Float64Array(n).fill(1);
}

/** Return the highest of many values. */
export function highest(values: ArrayLike<number>): number {
  let found = -Infinity;
  for (let i = 0; i < values.length; i++) if (values[i] > found) found = values[i];
  return found;
}

/** Return x with a x = b, by elimination with row pivots; a is (n x n). */
export function solveLinear(a: Floats, b: Floats): Floats {
  const n = b.length;
  const left = a.slice();
  const x = b.slice();
  for (let column = 0; column < n; column++) {
    let pivot = column;
    for (let row = column + 1; row < n; row++) {
      if (Math.abs(left[row * n + column]) > Math.abs(left[pivot * n + column])) pivot = row;
    }
    if (pivot !== column) {
      for (let j = 0; j < n; j++) [left[pivot * n + j], left[column * n + j]] = [left[column * n + j], left[pivot * n + j]];
      [x[pivot], x[column]] = [x[column], x[pivot]];
    }
    for (let row = column + 1; row < n; row++) {
      const share = left[row * n + column] / left[column * n + column];
      for (let j = column; j < n; j++) left[row * n + j] -= share * left[column * n + j];
      x[row] -= share * x[column];
    }
  }
  for (let row = n - 1; row >= 0; row--) {
    for (let j = row + 1; j < n; j++) x[row] -= left[row * n + j] * x[j];
    x[row] /= left[row * n + row];
  }
  return x;
}

/** Return values of classes (K x width) as those of scores: for two classes the second less the first. */
export function perScore(byClass: Floats, classes: number): Floats {
  if (classes !== 2) return byClass;
  const width = byClass.length / 2;
  return Float64Array.from({ length: width }, (_, j) => byClass[width + j] - byClass[j]);
}

/** Return scores (n x R) as one per class (n x K): the single score of two classes is their difference. */
export function perClass(scores: Floats, r: number): Floats {
  if (r !== 1) return scores;
  return Float64Array.from({ length: 2 * scores.length }, (_, i) => (i % 2 ? scores[i >> 1] : -scores[i >> 1]) / 2);
}
