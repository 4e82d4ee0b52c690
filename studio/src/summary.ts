/** A Summary: all that training remembers of the rows it has seen. As src/sefr/_summary, to the bit. */

import type { Coder } from "./cells";
import { add, type Doubles, each, multiply, negative, plain } from "./double_double";
import type { Column, Floats, Grouping, Kernel, Raw } from "./kernel";

export interface Summary<Label = string> {
  readonly classes: readonly Label[];
  readonly counts: Doubles;
  /** Class by class, one sum per feature. */
  readonly sums: Doubles;
  /** Values that were not missing; null if none was missing. */
  readonly present: Doubles | null;
  readonly low: Floats;
  readonly high: Floats;
  /** Where features are cut: sums are then counts of rows per cell. */
  readonly coder: Coder | null;
}

/** A feature is summed anew where its lowest value exceeds the mean distance from it by this factor. */
const DELICATE = 256;
const BLOCK_BYTES = 1 << 19;

export class NotFinite extends Error {}

/** Summarise each fold of some rows in one pass. */
export function summarise(
  kernel: Kernel, columns: readonly Column[], classes: readonly string[], by: Grouping, missing: boolean, coder: Coder | null,
): Summary[] {
  if (coder) return count(kernel, columns, classes, by, coder);
  const m = columns.length;
  let raw = kernel.summariseColumns(columns, by, false);
  if (!raw.finite && missing) raw = kernel.summariseColumns(columns, by, true);
  if (!raw.finite) throw new NotFinite();
  const low = leastOf(raw.low, m, Math.min);
  const exact = columns.every((column) => column instanceof Uint8Array);
  const careless = exact || (!raw.present && !kernel.isDelicate(raw.sums, raw.counts, low));
  const sums = careless ? plain(raw.sums) : withCare(kernel, columns, by, raw);
  const k = by.classes;
  return Array.from({ length: by.folds }, (_, fold) => {
    const cells = (part: Floats): Floats => part.slice(fold * k * m, (fold + 1) * k * m);
    return {
      classes,
      counts: plain(raw.counts.slice(fold * k, (fold + 1) * k)),
      sums: each(sums, cells),
      present: raw.present && plain(cells(raw.present)),
      low: raw.low.slice(fold * m, (fold + 1) * m),
      high: raw.high.slice(fold * m, (fold + 1) * m),
      coder: null,
    };
  });
}

/** Count the rows of each fold per class and cell. Cells are 0 and 1. */
function count(kernel: Kernel, columns: readonly Column[], classes: readonly string[], by: Grouping, coder: Coder): Summary[] {
  const cells = coder.columnOf.length;
  const raw = kernel.countCells(columns, coder, cells, by);
  if (!raw.finite) throw new NotFinite();
  const k = by.classes;
  return Array.from({ length: by.folds }, (_, fold) => ({
    classes,
    counts: plain(raw.counts.slice(fold * k, (fold + 1) * k)),
    sums: plain(raw.sums.slice(fold * k * cells, (fold + 1) * k * cells)),
    present: null,
    low: new Float64Array(cells),
    high: new Float64Array(cells).fill(1),
    coder,
  }));
}

/** Say whether a feature lies so far from zero that plain sums lose what distinguishes its values. */
export function isDelicate(low: number, sum: number, cells: number): boolean {
  return cells > 0 && Math.abs(low) > DELICATE * (sum / cells - low);
}

/** Return the sums, those of delicate features summed again as distances from the lowest value. */
function withCare(kernel: Kernel, columns: readonly Column[], by: Grouping, raw: Raw): Doubles {
  const m = columns.length;
  const groups = raw.counts.length;
  const low = leastOf(raw.low, m, Math.min);
  const high = leastOf(raw.high, m, Math.max);
  const cellsOf = (g: number, j: number): number => (raw.present ? raw.present[g * m + j] : raw.counts[g]);
  const total = sumOfRows(raw.sums, m);
  const some: number[] = [];
  for (let j = 0; j < m; j++) {
    let cells = 0;
    for (let g = 0; g < groups; g++) cells += cellsOf(g, j);
    if (isDelicate(low[j], total[j], cells)) some.push(j);
  }
  if (!some.length) return plain(raw.sums);
  const width = some.length;
  const moved = new Float64Array(groups * width);
  if (some.some((j) => low[j] < high[j])) {
    const n = by.codes.length;
    const step = Math.max(1, Math.floor(BLOCK_BYTES / (8 * width)));
    for (let start = 0; start < n; start += step) {
      const end = Math.min(start + step, n);
      const rows = new Float64Array((end - start) * width);
      some.forEach((j, at) => {
        for (let i = start; i < end; i++) rows[(i - start) * width + at] = columns[j][i] - low[j];
      });
      const part = kernel.summariseRows(rows, width, { ...by, codes: by.codes.slice(start, end), weights: by.weights?.slice(start, end) }, raw.present !== null);
      for (let i = 0; i < moved.length; i++) moved[i] += part.sums[i];
    }
  }
  const cells = new Float64Array(groups * width);
  for (let g = 0; g < groups; g++) some.forEach((j, at) => (cells[g * width + at] = cellsOf(g, j)));
  const careful = add(multiply(plain(cells), (i) => low[some[i % width]]), plain(moved));
  const head = raw.sums.slice();
  const tail = new Float64Array(head.length);
  for (let g = 0; g < groups; g++) {
    some.forEach((j, at) => {
      head[g * m + j] = careful.head[g * width + at];
      if (careful.tail) tail[g * m + j] = careful.tail[g * width + at];
    });
  }
  return { head, tail: tail.some((x) => x !== 0) ? tail : null };
}

/** Return the Summary of the rows of both. */
export function join<Label>(a: Summary<Label>, b: Summary<Label>, order: (x: Label, y: Label) => number): Summary<Label> {
  const classes = union(a.classes, b.classes, order);
  const [x, y] = [over(a, classes), over(b, classes)];
  let present: Doubles | null = null;
  if (x.present || y.present) present = add(cellsOf(x), cellsOf(y));
  return {
    classes,
    counts: add(x.counts, y.counts),
    sums: add(x.sums, y.sums),
    present,
    low: x.low.map((value, j) => Math.min(value, y.low[j])),
    high: x.high.map((value, j) => Math.max(value, y.high[j])),
    coder: x.coder,
  };
}

/** Return the Summary without the rows of `b`, which `a` has learned; the extremes stay. */
export function without<Label>(a: Summary<Label>, b: Summary<Label>): Summary<Label> {
  const taken = over(b, a.classes);
  const counts = add(a.counts, negative(taken.counts));
  const present = a.present || taken.present ? add(cellsOf(a), negative(cellsOf(taken))) : null;
  return { ...a, counts, sums: add(a.sums, negative(taken.sums)), present };
}

/** Return the same Summary with the classes given, a superset of its own. */
export function over<Label>(summary: Summary<Label>, classes: readonly Label[]): Summary<Label> {
  if (classes.length === summary.classes.length) return summary;
  const at = new Map(classes.map((label, k) => [label, k]));
  return rearranged(summary, classes, summary.classes.map((label) => at.get(label)!), classes.length);
}

/** Return the Summary with other names for its classes, given in their present order, and sorted by these. */
export function relabelled<Label>(
  summary: Summary, labels: readonly Label[], order: (a: Label, b: Label) => number,
): Summary<Label> {
  const sorted = labels.map((_, k) => k).sort((a, b) => order(labels[a], labels[b]) || a - b);
  const at = new Array<number>(labels.length);
  sorted.forEach((from, to) => (at[from] = to));
  return rearranged(summary, sorted.map((k) => labels[k]), at, labels.length);
}

/** Return the Summary with the rows of each class counting so often. */
export function reweighted<Label>(summary: Summary<Label>, weights: Floats): Summary<Label> {
  const m = summary.low.length;
  const cells = (i: number): number => weights[Math.floor(i / m)];
  return {
    ...summary,
    counts: multiply(summary.counts, (k) => weights[k]),
    sums: multiply(summary.sums, cells),
    present: summary.present && multiply(summary.present, cells),
  };
}

/** Return how many values stand behind each sum: (K x m). */
export function cellsOf<Label>(summary: Summary<Label>): Doubles {
  const m = summary.low.length;
  return summary.present ?? each(summary.counts, (part) => {
    const wide = new Float64Array(part.length * m);
    part.forEach((value, k) => wide.fill(value, k * m, (k + 1) * m));
    return wide;
  });
}

/** Return what numpy's sum over the first axis gives for rows of m values. */
export function sumOfRows(values: Floats, m: number): Floats {
  if (m === 1) return Float64Array.of(pairwise(values, 0, values.length));
  const total = values.slice(0, m);
  for (let at = m; at < values.length; at += m) {
    for (let j = 0; j < m; j++) total[j] += values[at + j];
  }
  return total;
}

/** Return what numpy's sum gives for n adjacent values: eight accumulators in blocks of 128, pairwise beyond. */
export function pairwise(values: Floats, start: number, n: number): number {
  if (n < 8) {
    let total = 0;
    for (let i = 0; i < n; i++) total += values[start + i];
    return total;
  }
  if (n <= 128) {
    const r = values.slice(start, start + 8);
    let i = 8;
    for (; i < n - (n % 8); i += 8) {
      for (let u = 0; u < 8; u++) r[u] += values[start + i + u];
    }
    let total = r[0] + r[1] + (r[2] + r[3]) + (r[4] + r[5] + (r[6] + r[7]));
    for (; i < n; i++) total += values[start + i];
    return total;
  }
  const half = Math.floor(n / 2) - (Math.floor(n / 2) % 8);
  return pairwise(values, start, half) + pairwise(values, start + half, n - half);
}

function leastOf(values: Floats, m: number, choose: (a: number, b: number) => number): Floats {
  const found = values.slice(0, m);
  for (let i = m; i < values.length; i++) found[i % m] = choose(found[i % m], values[i]);
  return found;
}

function union<Label>(a: readonly Label[], b: readonly Label[], order: (x: Label, y: Label) => number): readonly Label[] {
  if (a === b) return a;
  const all = [...new Set([...a, ...b])];
  return all.length === a.length ? a : all.sort(order);
}

function rearranged<From, To>(summary: Summary<From>, classes: readonly To[], at: readonly number[], n: number): Summary<To> {
  const m = summary.low.length;
  const spread = (size: number) => (part: Floats): Floats => {
    const wide = new Float64Array(n * size);
    at.forEach((to, from) => wide.set(part.subarray(from * size, (from + 1) * size), to * size));
    return wide;
  };
  return {
    classes,
    counts: each(summary.counts, spread(1)),
    sums: each(summary.sums, spread(m)),
    present: summary.present && each(summary.present, spread(m)),
    low: summary.low,
    high: summary.high,
    coder: summary.coder,
  };
}
