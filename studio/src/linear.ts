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

/** The least curvature along a direction, over the mean. */
const LEAST_CURVATURE = 1e-12;

/** Return the leverage x' H^-1 x of each row x, with H the sum of weight x x' over the rows plus a ridge, by its Cholesky factor. */
export function leverages(rows: readonly Floats[], weights: Floats, ridge: number): Floats {
  const m = rows[0].length;
  const root = new Float64Array(m * m);
  rows.forEach((row, at) => {
    for (let i = 0; i < m; i++) for (let j = 0; j <= i; j++) root[i * m + j] += weights[at] * row[i] * row[j];
  });
  let trace = 0;
  for (let i = 0; i < m; i++) trace += root[i * m + i];
  for (let i = 0; i < m; i++) {
    root[i * m + i] += Math.max(ridge, (LEAST_CURVATURE * trace) / m, 1e-300);
    for (let j = 0; j <= i; j++) {
      const left = root[i * m + j] - dot(root.subarray(i * m, i * m + j), root.subarray(j * m, j * m + j));
      root[i * m + j] = i === j ? Math.sqrt(left) : left / root[j * m + j];
    }
  }
  return Float64Array.from(rows, (row) => {
    const solved = new Float64Array(m);
    for (let i = 0; i < m; i++) solved[i] = (row[i] - dot(root.subarray(i * m, i * m + i), solved.subarray(0, i))) / root[i * m + i];
    return dot(solved, solved);
  });
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

/** QL steps that an eigenvalue may take: three are usual. */
const MOST_TURNS = 60;

/** Return the eigenvalues of a symmetric matrix (n x n): Householder's reflections, then QL with implicit shifts. */
export function eigenvalues(a: Floats): Floats {
  const n = Math.round(Math.sqrt(a.length));
  const left = a.slice();
  const beside = new Float64Array(n);
  for (let k = 0; k + 2 < n; k++) {
    const from = k + 1;
    const v = Float64Array.from({ length: n - from }, (_, i) => left[(from + i) * n + k]);
    const length = Math.sqrt(dot(v, v));
    beside[k] = v[0] > 0 ? -length : length;
    v[0] -= beside[k];
    const square = dot(v, v);
    if (square === 0) continue;
    const moved = v.map((_, i) => (2 * dot(left.subarray((from + i) * n + from, (from + i + 1) * n), v)) / square);
    const along = dot(moved, v) / square;
    moved.forEach((value, i) => (moved[i] = value - along * v[i]));
    for (let i = 0; i < v.length; i++) {
      const row = left.subarray((from + i) * n + from, (from + i + 1) * n);
      for (let j = 0; j < v.length; j++) row[j] -= v[i] * moved[j] + moved[i] * v[j];
    }
  }
  if (n > 1) beside[n - 2] = left[(n - 1) * n + n - 2];
  const found = Float64Array.from({ length: n }, (_, i) => left[i * n + i]);
  for (let first = 0; first < n; first++) {
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      let last = first;
      while (last + 1 < n && Math.abs(beside[last]) > Number.EPSILON * (Math.abs(found[last]) + Math.abs(found[last + 1]))) last++;
      if (last === first) break;
      const half = (found[first + 1] - found[first]) / (2 * beside[first]);
      let g = found[last] - found[first] + beside[first] / (half + Math.sign(half || 1) * Math.hypot(half, 1));
      let [sine, cosine, shift] = [1, 1, 0];
      let i = last - 1;
      for (; i >= first; i--) {
        const [f, b] = [sine * beside[i], cosine * beside[i]];
        const r = Math.hypot(f, g);
        beside[i + 1] = r;
        if (r === 0) break;
        [sine, cosine] = [f / r, g / r];
        g = found[i + 1] - shift;
        const turned = (found[i] - g) * sine + 2 * cosine * b;
        shift = sine * turned;
        found[i + 1] = g + shift;
        g = cosine * turned - b;
      }
      if (i >= first) {
        found[i + 1] -= shift;
      } else {
        found[first] -= shift;
        beside[first] = g;
      }
      beside[last] = 0;
    }
  }
  return found;
}
