/** The rows of a table as the command reads them: batch by batch, with their classes. */

import type { Column } from "./kernel";
import { byCodePoints, repr } from "./python_text";
import { batchRows, featureNames, featuresOf, type Recipe, type Rows, taken } from "./recipe";
import { SourceError, type Table } from "./table";

export const FOLDS = 10;

/** A batch: its features, its labels in order, and each row's position among these. */
export interface Batch {
  rows: Rows;
  columns: Column[];
  classes: string[];
  codes: Int32Array;
}

/** How rows are read. */
export interface Reading {
  table: Table;
  recipe: Recipe;
}

/** Yield all rows that have a label, or those of them that are wanted. */
export function* batches({ table, recipe }: Reading, wanted?: (row: number) => boolean): Generator<Batch> {
  const size = batchRows(recipe.columns.length + 1);
  const label = table.column(recipe.label);
  for (let start = 0; start < table.rows; start += size) {
    let rows: Rows = { start, end: Math.min(start + size, table.rows) };
    let codes = taken(label.codes!, rows);
    if (wanted || codes.includes(-1)) {
      const all = Int32Array.from(codes.keys());
      rows = all.filter((i) => codes[i] >= 0 && (!wanted || wanted(start + i))).map((i) => start + i);
      codes = taken(label.codes!, rows);
    }
    if (!codes.length) continue;
    const present = [...new Set(codes)].sort((a, b) => byCodePoints(label.texts[a], label.texts[b]));
    const place = new Map(present.map((code, k) => [code, k]));
    yield {
      rows,
      columns: featuresOf(table, recipe, rows),
      classes: present.map((code) => label.texts[code]),
      codes: codes.map((code) => place.get(code)!),
    };
  }
}

export function rowOf(batch: Batch, i: number): number {
  return batch.rows instanceof Int32Array ? batch.rows[i] : batch.rows.start + i;
}

/** Return some values of a column. */
export function picked(column: Column, rows: ArrayLike<number>): Column {
  const some = column instanceof Uint8Array ? new Uint8Array(rows.length) : new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) some[i] = column[rows[i]];
  return some;
}

/** Raise an error for the first value that a model cannot use, with its place; return if there is none. */
export function refuseBadCell({ table, recipe }: Reading, batch: Batch, ignoreMissing: boolean): void {
  const names = featureNames(recipe);
  for (let i = 0; i < batch.codes.length; i++) {
    for (let j = 0; j < batch.columns.length; j++) {
      const value = batch.columns[j][i];
      if (Number.isFinite(value) || (ignoreMissing && Number.isNaN(value))) continue;
      const what = Number.isNaN(value) ? "is missing" : "is infinite";
      throw new SourceError(`${table.place(rowOf(batch, i))}: the value of column ${repr(names[j])} ${what}`);
    }
  }
}

/** Return the fold of every row, -1 without a label: rows, or recordings, of each class go to the folds in turn. */
export function foldsOf({ table, recipe }: Reading): Int8Array {
  const { codes, texts } = table.column(recipe.label);
  const next = new Int32Array(texts.length);
  const { recordings } = table;
  if (recordings) {
    const folds = new Map<number, number>();
    return Int8Array.from(recordings, (recording, row) => {
      if (!folds.has(recording)) folds.set(recording, next[codes![row]]++ % FOLDS);
      return folds.get(recording)!;
    });
  }
  return Int8Array.from(codes!.subarray(0, table.rows), (code) => (code < 0 ? -1 : next[code]++ % FOLDS));
}
