/** Cells: a feature and a bin of it. Where features are cut, as src/sefr/_rows/cells learns it. */

import type { Gathered } from "./gatherer";
import type { Cut, Floats, Kernel } from "./kernel";

/** Where each feature is cut; its cells begin at offsets[j]. */
export interface Coder extends Cut {
  offsets: Int32Array;
  /** The feature of each cell. */
  featureOf: Int32Array;
}

export const MOST_BINS = 256;
/** Rows whose quantiles are the edges. */
export const EDGE_ROWS = 1 << 13;
const FEWEST_ROWS = 512;
const SAMPLE_CELLS = 1 << 24;
const GOLDEN = (5 ** 0.5 - 1) / 2;

export function coderOf(parts: readonly Floats[], missing: boolean): Coder {
  const starts = new Int32Array(parts.length + 1);
  parts.forEach((part, j) => (starts[j + 1] = starts[j] + part.length));
  const edges = new Float64Array(starts[parts.length]);
  parts.forEach((part, j) => edges.set(part, starts[j]));
  const offsets = starts.map((start, j) => start + j * (missing ? 2 : 1));
  const featureOf = new Int32Array(offsets[parts.length]);
  parts.forEach((_, j) => featureOf.fill(j, offsets[j], offsets[j + 1]));
  return { edges, starts, missing, offsets, featureOf };
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

/** Return where features are cut into at most so many cells each: quantiles of a sample. */
export function learnCoder(kernel: Kernel, sample: Gathered, bins: number, missing: boolean): Coder {
  const most = missing && bins === MOST_BINS ? bins - 1 : bins;
  const { at, weights } = sampleOfValues(sample);
  const parts = sample.columns.map((column) => {
    const values = at ? Float64Array.from(at, (i) => column[i]) : column.slice();
    for (let i = 0; i < values.length; i++) if (!Number.isFinite(values[i])) values[i] = NaN;
    return weights ? weightedEdges(values, weights, most) : kernel.findEdges(values.sort(), most);
  });
  return coderOf(parts, missing);
}

/** Return the rows that edges are taken from (null: all), and their weights; some are spread unevenly, by weight. */
function sampleOfValues({ columns, weights }: Gathered): { at: number[] | null; weights: Floats | null } {
  const n = columns[0].length;
  const most = Math.min(Math.max(Math.floor(SAMPLE_CELLS / columns.length), FEWEST_ROWS), EDGE_ROWS);
  if (n <= most) return { at: null, weights: weights?.some((weight) => weight !== 1) ? weights : null };
  const places = Array.from({ length: most }, (_, i) => (i + ((i * GOLDEN) % 1)) / most);
  if (!weights) return { at: places.map((place) => Math.floor(place * n)), weights: null };
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

/** Return what the cells of a feature add up to, for rows of one value per cell (R x cells): (R x m). */
export function sumsOfFeatures(values: Floats, coder: Coder): Floats {
  const [m, cells] = [coder.offsets.length - 1, coder.featureOf.length];
  const sums = new Float64Array((values.length / cells) * m);
  values.forEach((value, i) => (sums[Math.floor(i / cells) * m + coder.featureOf[i % cells]] += value));
  return sums;
}

/** What each cell adds to each score (R x cells), and what goes with it: 0, and -inf for a class never seen. */
export interface Table {
  coder: Coder;
  entries: Floats;
  bias: Floats;
}
