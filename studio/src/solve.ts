/** From a Summary to weights: equations 3 to 9, scaling folded in. As src/sefr/_weights, to the bit. */

import { type Coder, sumsOfColumns, type Table } from "./cells";
import { add, type Doubles, multiply, negative, plain } from "./double_double";
import type { Column, Floats, Kernel, Solved } from "./kernel";
import { cellsOf, isDelicate, pairwise, reweighted, sumOfRows, type Summary } from "./summary";

export interface Scaling {
  low: Floats;
  span: Floats;
}

/** One hyperplane for two classes, else one per class: the higher score wins. */
export interface Planes {
  scaling: Scaling;
  /** Of scaled features, (R x m), and what goes with them. */
  weights: Floats;
  bias: Floats;
  /** Of raw features. */
  coef: Floats;
  intercept: Floats;
  /** Where each scaled feature speaks for no class, (R x m): a score is the sum of w (x' - t). */
  midpoints: Floats;
  /** Features that lie too far from zero for coef; null if there are none. */
  far: number[] | null;
  /** Where features are cut into bins: what scores are added up from. */
  table: Table | null;
  /** Lines whose scores are added to those of the table. */
  beside: Planes | null;
}

export const EPSILON = 1e-7;
const FAR = 256;
const NARROW = 1e-290;
/** The total minus a class that has more than this many times the rows of all others costs 8 of 53 bits. */
const DOMINANT = 256;

export class Unscalable extends Error {}

export function scalingOf<L>(summary: Summary<L>, names: readonly string[]): Scaling {
  const m = summary.low.length;
  if (summary.coder) return { low: new Float64Array(m), span: new Float64Array(m).fill(1) };
  const low = new Float64Array(m);
  const span = new Float64Array(m);
  for (let j = 0; j < m; j++) {
    const seen = summary.high[j] >= summary.low[j];
    low[j] = seen ? summary.low[j] : 0;
    span[j] = seen ? summary.high[j] - summary.low[j] : 0;
    if (!Number.isFinite(span[j])) {
      throw new Unscalable(`the range of column ${names[j]} is wider than float64 can hold`);
    }
  }
  return { low, span };
}

/** Return the weight of every class; null where all are 1. */
export function classWeights<L>(balanced: boolean, summary: Summary<L>): Floats | null {
  if (!balanced) return null;
  const counts = summary.counts.head;
  const seen = counts.filter((n) => n > 0).length;
  const even = pairwise(counts, 0, counts.length) / Math.max(1, seen);
  return counts.map((n) => (n > 0 ? even / n : 1));
}

/** Return the hyperplanes that the rows behind a Summary define. */
export function solve<L>(kernel: Kernel, summary: Summary<L>, scaling: Scaling, balanced: boolean): Planes {
  const weight = classWeights(balanced, summary);
  const weighted = weight ? reweighted(summary, weight) : summary;
  const counts = weighted.counts.head;
  const solved = weighted.present ? null : kernel.solve({ sums: weighted.sums.head, counts, ...scaling }, EPSILON);
  const { weights, bias, midpoints } = solved ?? solveWithCare(kernel, weighted, scaling);
  return planesOf({ weights, bias, midpoints }, scaling, summary.coder, !solved);
}

/** Return hyperplanes from weights and biases for scaled features; `careful` looks for features far from zero. */
export function planesOf({ weights, bias, midpoints }: Solved, scaling: Scaling, coder: Coder | null, careful: boolean): Planes {
  const m = scaling.low.length;
  const coef = rawWeights(weights, scaling.span);
  const intercept = bias.map((b, r) => b - pairwise(coef.slice(r * m, (r + 1) * m).map((c, j) => c * scaling.low[j]), 0, m));
  const table = coder && tableOf(coder, weights, bias, midpoints);
  return { scaling, weights, bias, coef, intercept, midpoints, far: careful ? farFeatures(scaling) : null, table, beside: null };
}

/** The sum of w (x' - t) over the cells of a feature is w of the cell that it is in, less w·t: its entry. */
function tableOf(coder: Coder, weights: Floats, bias: Floats, midpoints: Floats): Table {
  const [m, cells] = [coder.offsets.length - 1, coder.columnOf.length];
  const shares = sumsOfColumns(weights.map((weight, i) => weight * midpoints[i]), coder);
  const entries = weights.map((weight, i) => weight - shares[Math.floor(i / cells) * m + coder.columnOf[i % cells]]);
  return { coder, entries, bias: bias.map((value) => (Number.isFinite(value) ? 0 : value)) };
}

/** Return the score of every row and hyperplane (n x R); a missing value votes for no class. */
export function scoresOf(kernel: Kernel, planes: Planes, columns: readonly Column[], n: number): Floats {
  const r = planes.bias.length;
  const m = columns.length;
  if (planes.table) {
    const scores = kernel.cellScores(columns, n, planes.table.coder, planes.table.entries, planes.table.bias);
    if (planes.beside) scoresOf(kernel, planes.beside, columns, n).forEach((score, i) => (scores[i] += score));
    return scores;
  }
  const { low, span } = planes.scaling;
  const missing = columns.some((column) => column.some(Number.isNaN));
  if (!missing && !planes.far) return kernel.scores(columns, n, planes.coef, planes.intercept);
  const scores = new Float64Array(n * r);
  for (let i = 0; i < n; i++) {
    const incomplete = missing && columns.some((column) => Number.isNaN(column[i]));
    for (let k = 0; k < r; k++) {
      let score = Number.isFinite(planes.bias[k]) && incomplete ? 0 : planes.bias[k];
      for (let j = 0; j < m; j++) {
        const value = columns[j][i];
        if (Number.isNaN(value)) continue;
        const scaled = span[j] > 0 ? (value - low[j]) / span[j] : 0;
        const midpoint = incomplete ? planes.midpoints[k * m + j] : 0;
        score += planes.weights[k * m + j] * (scaled - midpoint);
      }
      scores[i * r + k] = score;
    }
  }
  return scores;
}

/** Return the number of the class that row i of the scores speaks for: the first of the highest. */
export function answerOf(scores: Floats, i: number, r: number): number {
  if (r === 1) return scores[i] > 0 ? 1 : 0;
  let best = 0;
  for (let k = 1; k < r; k++) if (scores[i * r + k] > scores[i * r + best]) best = k;
  return best;
}

/** Return the class means of the scaled features (eq. 3, 4), NaN where a class has no value. */
export function means<L>(summary: Summary<L>, scaling: Scaling, rest = false): Floats {
  const m = scaling.low.length;
  let cells = cellsOf(summary);
  let sums = summary.sums;
  const totalCells = sumOfRows(cells.head, m);
  const total = sumOfRows(sums.head, m);
  const delicate = (side: Floats): boolean => side.some((low, j) => isDelicate(low, total[j], totalCells[j]));
  const dominant = (): boolean => cells.head.some((n, i) => n > DOMINANT * (totalCells[i % m] - n));
  const careful = delicate(scaling.low) || (rest && (dominant() || delicate(summary.low)));
  if (rest) {
    sums = careful ? others(sums, m) : plain(sums.head.map((x, i) => total[i % m] - x));
    cells = careful ? others(cells, m) : plain(cells.head.map((x, i) => totalCells[i % m] - x));
  }
  let numerator: Floats;
  if (careful) {
    const difference = add(sums, negative(multiply(cells, (i) => scaling.low[i % m])));
    numerator = difference.head.map((x, i) => (difference.tail ? x + difference.tail[i] : x));
  } else {
    numerator = sums.head.map((x, i) => x - cells.head[i] * scaling.low[i % m]);
  }
  return numerator.map((x, i) => {
    const divisor = cells.head[i] * scaling.span[i % m];
    if (divisor !== 0) return x / divisor;
    return cells.head[i] > 0 ? 0 : NaN;
  });
}

function solveWithCare<L>(kernel: Kernel, summary: Summary<L>, scaling: Scaling): Solved {
  const counts = summary.counts.head;
  const own = means(summary, scaling);
  const rest = counts.length === 2 ? own.slice(0, scaling.low.length) : means(summary, scaling, true);
  const solved = kernel.solveMeans(own, rest, counts, EPSILON);
  return { ...solved, bias: solved.bias.map((bias, row) => bias + unseen(counts, row)) };
}

/** Return total minus each row of m values. */
function others(parts: Doubles, m: number): Doubles {
  const rowOf = (k: number): Doubles => ({
    head: parts.head.slice(k * m, (k + 1) * m),
    tail: parts.tail && parts.tail.slice(k * m, (k + 1) * m),
  });
  const rows = parts.head.length / m;
  let total = rowOf(0);
  for (let k = 1; k < rows; k++) total = add(total, rowOf(k));
  const wide = (part: Floats): Floats => Float64Array.from(parts.head, (_, i) => part[i % m]);
  return add({ head: wide(total.head), tail: total.tail && wide(total.tail) }, negative(parts));
}

/** Return what keeps a class that was never seen from being the answer. */
function unseen(counts: Floats, row: number): number {
  if (counts.every((n) => n > 0)) return 0;
  if (counts.length === 2) return counts[1] ? Infinity : -Infinity;
  return counts[row] > 0 ? 0 : -Infinity;
}

function rawWeights(weights: Floats, span: Floats): Floats {
  const most = Number.MAX_VALUE;
  return weights.map((w, i) => {
    const width = span[i % span.length];
    return width > 0 ? Math.min(Math.max(w / width, -most), most) : 0;
  });
}

function farFeatures({ low, span }: Scaling): number[] | null {
  const far: number[] = [];
  span.forEach((width, j) => {
    const size = Math.max(Math.abs(low[j]), Math.abs(low[j] + width));
    if (width > 0 && (size > FAR * width || width < NARROW)) far.push(j);
  });
  return far.length ? far : null;
}
