/** A sample of rows that come in batches, as src/sefr/_rows/batches.py gathers it. */

import { type Batch, picked } from "./batches";
import type { Column, Floats } from "./kernel";

const SAMPLE_ROWS = 1024;
const FEWEST_ROWS = 256;
const SAMPLE_SCORES = 1 << 13;
const SAMPLE_CELLS = 1 << 23;
/** Rows of which less than this part is not 0 are sparse; values that are looked at. */
const [SPARSE, COMPARED_VALUES] = [1 / 16, 1 << 20];

/** Rows in float64, by columns, with their texts; weights only if they are all rows. */
export interface Gathered {
  columns: Floats[];
  labels: string[];
  weights: Floats | null;
}

/** Return how many rows choose the steps: a thousand, fewer where they are wide or have many scores, more where they are sparse. */
export function sampleSize(classes: number, width: number, sparse: boolean): number {
  const byScores = Math.max(FEWEST_ROWS, Math.floor(SAMPLE_SCORES / (classes > 2 ? classes : 1)));
  const usual = Math.min(SAMPLE_ROWS, byScores, Math.max(64, Math.floor(SAMPLE_CELLS / width)));
  return sparse ? Math.max(usual, Math.min(byScores, Math.floor(SAMPLE_CELLS / width))) : usual;
}

/** Say whether most values are 0, by some of the first n rows. */
export function isSparse(columns: readonly Column[], n: number): boolean {
  const few = Math.min(n, FEWEST_ROWS, Math.max(16, Math.floor(COMPARED_VALUES / columns.length)));
  let filled = 0;
  for (let i = 0; i < few; i++) {
    const row = Math.floor(((i + 0.5) / few) * n);
    for (const column of columns) filled += Number(column[row] !== 0);
  }
  return filled < SPARSE * few * columns.length;
}

interface Kept {
  /** Where the weight of all rows stands after each row. */
  ends: number[];
  weights: number[];
  columns: Column[];
  labels: string[];
}

/** Keeps every row, then those at every second, fourth, ... unit of weight. */
export class Gatherer {
  private step = 0;
  private weight = 0;
  private sparse = false;
  private kept: Kept[] = [];

  /** At most so many rows; 0: twice those that choose the steps, for rows of so many columns or cells. */
  constructor(private readonly most: number, private readonly width = 0) {}

  add(batch: Batch): void {
    const n = batch.codes.length;
    if (!this.weight) this.sparse = !this.width && isSparse(batch.columns, n);
    const most = this.most || 2 * sampleSize(batch.classes.length, this.width || batch.columns.length, this.sparse);
    let live = Array.from({ length: n }, (_, i) => i);
    let weights: number[] = new Array<number>(n).fill(1);
    let merged = false;
    if (!this.step) {
      const left = most - this.kept.reduce((sum, { weights: own }) => sum + own.length, 0);
      const starts = runStarts(batch, Math.max(0, left));
      if (starts) {
        merged = true;
        weights = starts.map((start, i) => (starts[i + 1] ?? n) - start);
        live = starts;
      }
    }
    let total = this.weight;
    let ends = weights.map((weight) => (total += weight));
    this.weight = total;
    if (!merged) {
      this.lengthen(2 ** Math.ceil(Math.log2(this.weight / most)));
      const some = reached(ends, weights, this.step);
      [live, ends, weights] = [live, ends, weights].map((part) => some.map((i) => part[i]));
    }
    this.kept.push({
      ends, weights,
      columns: batch.columns.map((column) => picked(column, live)),
      labels: live.map((i) => batch.classes[batch.codes[i]]),
    });
  }

  sample(): Gathered {
    const places: [Kept, number][] = [];
    for (const part of this.kept) {
      part.ends.forEach((end, i) => {
        const often = this.step ? ticks(end, part.weights[i], this.step) : 1;
        for (let copy = 0; copy < often; copy++) places.push([part, i]);
      });
    }
    const m = this.kept[0].columns.length;
    const columns = Array.from({ length: m }, () => new Float64Array(places.length));
    places.forEach(([part, i], at) => {
      for (let j = 0; j < m; j++) columns[j][at] = part.columns[j][i];
    });
    return {
      columns,
      labels: places.map(([part, i]) => part.labels[i]),
      weights: this.step ? null : Float64Array.from(places, ([part, i]) => part.weights[i]),
    };
  }

  /** Keep what a longer step reaches: a multiple of it lies within the row's weight. */
  private lengthen(step: number): void {
    if (step <= this.step) return;
    this.step = step;
    this.kept = this.kept.map(({ ends, weights, columns, labels }) => {
      const some = reached(ends, weights, step);
      return {
        ends: some.map((i) => ends[i]), weights: some.map((i) => weights[i]),
        columns: columns.map((column) => picked(column, some)), labels: some.map((i) => labels[i]),
      };
    });
  }
}

/** Return how many multiples of a step lie within the weight of a row. */
function ticks(end: number, weight: number, step: number): number {
  return Math.ceil(end / step) - Math.ceil((end - weight) / step);
}

function reached(ends: readonly number[], weights: readonly number[], step: number): number[] {
  return Array.from(ends.keys()).filter((i) => ticks(ends[i], weights[i], step) > 0);
}

/** Return where runs of equal rows of one class begin; null if there are more than `most`. */
function runStarts({ columns, codes }: Batch, most: number): number[] | null {
  const starts: number[] = [];
  for (let i = 0; i < codes.length; i++) {
    const again = i > 0 && codes[i] === codes[i - 1] && columns.every((column) => Object.is(column[i] + 0, column[i - 1] + 0));
    if (!again) starts.push(i);
    if (starts.length > most) return null;
  }
  return starts;
}
