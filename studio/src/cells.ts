/** Cells: a feature and a bin of it. Where features are cut, as src/sefr/_rows/cells learns it. */

import type { Gathered } from "./gatherer";
import { countOf, type Cut, type Ferns, type Floats, type Kernel } from "./kernel";

/** Where each feature is cut. Cells come in columns: those of a feature each, then those of each fern, from offsets[c] on. */
export interface Coder extends Cut {
  offsets: Int32Array;
  /** The column of each cell. */
  columnOf: Int32Array;
}

export const MOST_BINS = 256;
/** Rows whose quantiles are the edges. */
export const EDGE_ROWS = 1 << 13;
const FEWEST_EDGE_ROWS = 512;
const EDGE_VALUES = 1 << 24;
const GOLDEN = (5 ** 0.5 - 1) / 2;

export function coderOf(parts: readonly Floats[], missing: boolean): Coder {
  const starts = new Int32Array(parts.length + 1);
  parts.forEach((part, j) => (starts[j + 1] = starts[j] + part.length));
  const edges = new Float64Array(starts[parts.length]);
  parts.forEach((part, j) => edges.set(part, starts[j]));
  return withFerns({ edges, starts, missing }, null);
}

/** Return a coder with columns for ferns, or without. */
export function withFerns({ edges, starts, missing }: Omit<Cut, "ferns">, ferns: Ferns | null): Coder {
  const [m, n] = [starts.length - 1, countOf(ferns)];
  const ofFeature = (j: number): number => starts[j] + j * (missing ? 2 : 1);
  const offsets = Int32Array.from({ length: m + n + 1 }, (_, c) => (c <= m ? ofFeature(c) : ofFeature(m) + ((c - m) << ferns!.depth)));
  const columnOf = new Int32Array(offsets[m + n]);
  for (let c = 0; c < m + n; c++) columnOf.fill(c, offsets[c], offsets[c + 1]);
  return { edges, starts, missing, ferns, offsets, columnOf };
}

/** Return how many features a coder cuts. */
export function featuresIn(coder: Coder): number {
  return coder.starts.length - 1;
}

export function edgesOf(coder: Coder, j: number): Floats {
  return coder.edges.subarray(coder.starts[j], coder.starts[j + 1]);
}

/** Return the cell of a value within its feature; -1 for one that has none. */
export function cellOf(coder: Coder, j: number, value: number): number {
  const edges = edgesOf(coder, j);
  if (Number.isNaN(value)) return coder.missing ? edges.length + 1 : -1;
  let at = 0;
  while (at < edges.length && value >= edges[at]) at++;
  return at;
}

/** Return the first cell of every fern plus the number of the one that a record lies in. */
export function fernCells(coder: Coder, record: ArrayLike<number>): number[] {
  const { ferns, offsets } = coder;
  if (!ferns) return [];
  const m = featuresIn(coder);
  const cells = Array.from({ length: m }, (_, j) => cellOf(coder, j, record[j]));
  return Array.from({ length: countOf(ferns) }, (_, t) => {
    let number = 0;
    for (let c = t * ferns.depth; c < (t + 1) * ferns.depth; c++) number = 2 * number + Number(cells[ferns.features[c]] >= ferns.bounds[c]);
    return offsets[m + t] + number;
  });
}

/** Return where features are cut into at most so many cells each: quantiles of a sample; `alone`: see findEdges. */
export function learnCoder(kernel: Kernel, sample: Omit<Gathered, "labels">, bins: number, missing: boolean, alone = false): Coder {
  const most = missing && bins === MOST_BINS ? bins - 1 : bins;
  const { at, weights } = sampleOfValues(sample);
  const parts = sample.columns.map((column) => {
    const values = at ? Float64Array.from(at, (i) => column[i]) : column.slice();
    for (let i = 0; i < values.length; i++) if (!Number.isFinite(values[i])) values[i] = NaN;
    return weights ? weightedEdges(values, weights, most) : kernel.findEdges(values.sort(), most, alone);
  });
  return coderOf(parts, missing);
}

/** Return so many places from 0 to 1, with a step that is never even, so that no period of the rows meets it. */
function unevenPlaces(count: number): number[] {
  return Array.from({ length: count }, (_, i) => (i + ((i * GOLDEN) % 1)) / count);
}

/** Return so many rows of n, of m features each, evenly spread but for that; null: all, which are no more. */
export function unevenRows(n: number, m: number, rowsAtMost: number): number[] | null {
  const most = mostRows(m, rowsAtMost);
  return n <= most ? null : unevenPlaces(most).map((place) => Math.floor(place * n));
}

function mostRows(m: number, rowsAtMost: number): number {
  return Math.min(Math.max(Math.floor(EDGE_VALUES / m), FEWEST_EDGE_ROWS), rowsAtMost);
}

/** Return the rows that edges are taken from (null: all), and their weights; some are spread unevenly, by weight. */
function sampleOfValues({ columns, weights }: Omit<Gathered, "labels">): { at: number[] | null; weights: Floats | null } {
  const n = columns[0].length;
  const most = mostRows(columns.length, EDGE_ROWS);
  if (n <= most) return { at: null, weights: weights?.some((weight) => weight !== 1) ? weights : null };
  if (!weights) return { at: unevenRows(n, columns.length, EDGE_ROWS), weights: null };
  const places = unevenPlaces(most);
  let total = 0;
  const ends = weights.map((weight) => (total += weight));
  let row = 0;
  return { at: places.map((place) => {
    while (row < n && ends[row] <= place * total) row++;
    return Math.min(row, n - 1);
  }), weights: null };
}

/** Return the edges of rows that count several times. */
function weightedEdges(values: Floats, weights: Floats, most: number): Floats {
  const order = Array.from(values.keys()).filter((i) => !Number.isNaN(values[i])).sort((a, b) => values[a] - values[b] || a - b);
  const rising = order.map((i) => values[i]);
  const distinct = rising.filter((value, i) => i > 0 && value !== rising[i - 1]);
  if (distinct.length < most) return Float64Array.from(distinct);
  let total = 0;
  const ends = order.map((i) => (total += weights[i]));
  const found: number[] = [];
  let at = 0;
  for (let k = 1; k < most; k++) {
    while (at < ends.length && ends[at] * most < k * total) at++; // the least value with k / most of the weight at or below it
    const quantile = rising[Math.min(at, rising.length - 1)];
    if (quantile > (found.at(-1) ?? rising[0])) found.push(quantile);
  }
  return Float64Array.from(found);
}

/** Return what the cells of a column add up to, for rows of one value per cell (R x cells): (R x columns). */
export function sumsOfColumns(values: Floats, coder: Coder): Floats {
  const [m, cells] = [coder.offsets.length - 1, coder.columnOf.length];
  const sums = new Float64Array((values.length / cells) * m);
  for (let r = 0; r * cells < values.length; r++) {
    for (let c = 0; c < cells; c++) sums[r * m + coder.columnOf[c]] += values[r * cells + c];
  }
  return sums;
}

/** What each cell adds to each score (R x cells), and what goes with it: 0, and -inf for a class never seen. */
export interface Table {
  coder: Coder;
  entries: Floats;
  bias: Floats;
}
