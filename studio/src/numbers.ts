/** A label that is a quantity: a ridge regression of cells, from one pass, with interactions or without, and how far off it is. */

import { type Coder, EDGE_ROWS, learnCoder } from "./cells";
import { type Batch, FOLDS, refuseBadCell } from "./batches";
import { Gatherer } from "./gatherer";
import type { Column, Floats, Kernel } from "./kernel";
import { binsOf, MOST_AUTO_VALUES, type Settings } from "./learning";
import { addProducts, type Products, type Regression, solveNumbers } from "./moments";
import { learnNumberCells } from "./number_cells";
import { repr } from "./python_text";
import { batchRows, featureNames, featuresOf, missesValues, type Recipe, recipeOf, taken } from "./recipe";
import { SourceError, type Table } from "./table";

/** How far predictions are from the truth, of rows that were left out. */
export interface NumberEvaluation {
  rows: number;
  folds: number;
  r2: number;
  mae: number;
  rmse: number;
  /** The mean absolute error of always saying the mean. */
  base: number;
  /** Some rows, evenly spread: what is true and what was predicted. */
  points: [number, number][];
}

/** Curves of so many bins; "auto": interactions beside them. */
export type NumberMethod = "exact" | "auto";

export interface TrainedNumbers {
  recipe: Recipe;
  names: string[];
  method: NumberMethod;
  /** Of curves; auto chooses. */
  bins: number | null;
  /** The ways that were tested beside each other, simplest first; null: none was. */
  compared: { method: NumberMethod; r2: number; mae: number }[] | null;
  /** Auto was asked for, but the table is too large for it. */
  tooLarge: boolean;
  ignoreMissing: boolean;
  /** What shows that the label is a quantity. */
  why: string | null;
  coder: Coder;
  products: Products;
  regression: Regression;
  ranges: { low: Floats; high: Floats };
  evaluation: NumberEvaluation | null;
  note: string | null;
  milliseconds: { train: number; evaluate: number };
}

const MOST_LABELS = 30;
const COMPARED_VALUES = 2 ** 21;
const GOLDEN = (5 ** 0.5 - 1) / 2;
const POINTS = 400;
const FIRST_ROWS = 256;
/** Features that auto learns from in a page, at most: the time to solve grows with the third power of their cells. */
const MOST_AUTO_FEATURES = 32;
/** So many cells are tested by ten folds, more by five. */
const FEW_CELLS = 256;
const FEWER_FOLDS = 5;

/** Return what shows that a column is a quantity, not labels of classes; null if nothing does. */
export function whyAQuantity(table: Table, label: string): string | null {
  const column = table.column(label);
  if (column.kind !== "number" || column.boolean) return null;
  const seen = new Set<number>();
  for (const value of column.numbers!.subarray(0, table.rows)) {
    if (!Number.isFinite(value)) continue;
    if (value !== Math.floor(value)) return `${repr(label)} has fractions, for example ${Number(value.toPrecision(6))}`;
    if (seen.size <= MOST_LABELS) seen.add(value);
  }
  return seen.size > MOST_LABELS ? `${repr(label)} has more than ${MOST_LABELS} different numbers` : null;
}

interface Task {
  kernel: Kernel;
  table: Table;
  recipe: Recipe;
  ignoreMissing: boolean;
  /** null: auto. */
  bins: number | null;
}

type Wanted = (row: number) => boolean;

interface NumberBatch extends Batch {
  rows: Int32Array;
  targets: Floats;
}

/** `tell` hears which of several ways of training is tested. */
export function trainNumbers(kernel: Kernel, table: Table, settings: Settings, tell: (number: number, of: number) => void): TrainedNumbers {
  const recipe = recipeOf(table, settings.label, settings.roles);
  const names = featureNames(recipe);
  const bins = binsOf(names.length);
  if (!bins) throw new SourceError(`${table.name}: ${names.length} features are too many to predict a number in this page: sefr train does`);
  refuseLabels(table, recipe.label);
  const wanted = settings.method !== "exact";
  const tooLarge = wanted && (names.length > MOST_AUTO_FEATURES || table.rows * names.length > MOST_AUTO_VALUES);
  const method: NumberMethod = wanted && !tooLarge ? "auto" : "exact";
  const curves: Task = { kernel, table, recipe, ignoreMissing: missesValues(table, recipe), bins };
  const task: Task = method === "auto" ? { ...curves, bins: null } : curves;
  const started = performance.now();
  const { coder, products } = count(task, () => true);
  const regression = solveNumbers(kernel, coder, products);
  const trained = performance.now();
  let evaluation: NumberEvaluation | null = null;
  let note: string | null = null;
  let compared: TrainedNumbers["compared"] = null;
  if (products.count < 2 * FOLDS) note = `${products.count} rows are too few for ${FOLDS} folds`;
  else if (method === "exact") evaluation = crossValidate(task, FOLDS);
  else {
    const folds = names.length * bins > FEW_CELLS ? FEWER_FOLDS : FOLDS;
    const tried = [curves, task].map((way, i) => {
      tell(i + 1, 2);
      return crossValidate(way, folds);
    });
    compared = tried.map(({ r2, mae }, i) => ({ method: i ? "auto" : "exact", r2, mae }));
    evaluation = tried[1];
  }
  const milliseconds = { train: trained - started, evaluate: performance.now() - trained };
  const why = whyAQuantity(table, recipe.label);
  return { recipe, names, method, bins: task.bins, compared, tooLarge, ignoreMissing: task.ignoreMissing, why, coder, products, regression, ranges: rangesOf(task), evaluation, note, milliseconds };
}

function refuseLabels(table: Table, label: string): void {
  const column = table.column(label);
  if (column.kind !== "number") throw new SourceError(`${table.name}: column ${repr(label)} has no numbers${table.describeText(column)}`);
  if (column.fault) throw new SourceError(`${table.place(column.fault.row)}: column ${repr(label)}: ${column.fault.what}`);
  const values = column.numbers!.subarray(0, table.rows);
  const bad = values.findIndex((value) => !Number.isFinite(value) && !Number.isNaN(value));
  if (bad >= 0) throw new SourceError(`${table.place(bad)}: the value of column ${repr(label)} is infinite`);
  const known = values.filter((value) => !Number.isNaN(value));
  if (!known.length) throw new SourceError(`${table.place(0)}: there is no label in column ${repr(label)}`);
  if (known.every((value) => value === known[0])) {
    throw new SourceError(`${table.name}: column ${repr(label)} is ${known[0]} in every row: two different numbers are needed`);
  }
}

/** Yield the rows that have a number to predict, of those that are wanted. */
function* batches({ table, recipe }: Task, wanted: Wanted): Generator<NumberBatch> {
  const numbers = table.column(recipe.label).numbers!;
  const size = batchRows(recipe.columns.length + 1);
  for (let start = 0; start < table.rows; start += size) {
    const all = Int32Array.from({ length: Math.min(size, table.rows - start) }, (_, i) => start + i);
    const rows = all.filter((row) => !Number.isNaN(numbers[row]) && wanted(row));
    if (rows.length) yield { rows, columns: featuresOf(table, recipe, rows), classes: [""], codes: new Int32Array(rows.length), targets: taken(numbers, rows) };
  }
}

function count(task: Task, wanted: Wanted): { coder: Coder; products: Products } {
  const gatherer = new Gatherer(EDGE_ROWS);
  const held: NumberBatch[] = []; // all rows, for auto
  let origin: number | null = null;
  for (const batch of batches(task, wanted)) {
    refuseBadCell(task, batch, task.ignoreMissing);
    if (task.bins === null) held.push(batch);
    else gatherer.add(batch);
    const first = batch.targets.subarray(0, FIRST_ROWS);
    origin ??= Math.fround(first.reduce((a, b) => a + b, 0) / first.length);
  }
  if (origin === null) throw new SourceError(`${task.table.name}: there are no rows`);
  const coder = task.bins === null ? autoCells(task, held) : learnCoder(task.kernel, gatherer.sample(), task.bins, task.ignoreMissing);
  let products: Products | null = null;
  for (const batch of batches(task, wanted)) {
    const more = productsOf(task.kernel, batch, coder, Number.isFinite(origin) ? origin : 0);
    products = products ? addProducts(products, more) : more;
  }
  return { coder, products: products! };
}

function autoCells({ kernel, ignoreMissing }: Task, read: readonly NumberBatch[]): Coder {
  const targets = joined(read.map((batch) => batch.targets));
  const columns = read[0].columns.map((_, j) => joined(read.map((batch) => batch.columns[j])));
  return learnNumberCells(kernel, columns, targets, ignoreMissing);
}

function joined(parts: readonly Column[]): Floats {
  const whole = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function productsOf(kernel: Kernel, { columns, targets }: NumberBatch, coder: Coder, origin: number): Products {
  const [n, m, width] = [targets.length, coder.offsets.length - 1, coder.columnOf.length];
  const cells = kernel.codeCells(columns, n, coder);
  const byCell = new Float64Array(width);
  let [sum, squares] = [0, 0];
  targets.forEach((value, i) => {
    const moved = value - origin;
    sum += moved;
    squares += moved * moved;
    for (let j = 0; j < m; j++) byCell[coder.offsets[j] + cells[i * m + j]] += moved;
  });
  return { count: n, pairs: kernel.countPairs(columns, n, coder, width), target: { origin, sum, squares, byCell } };
}

/** Test the model of the other folds on the rows of each fold, which are dealt out in turn; of large tables on some rows. */
function crossValidate(task: Task, folds: number): NumberEvaluation {
  const { kernel, table, recipe } = task;
  const part = COMPARED_VALUES / (table.rows * recipe.columns.length);
  const some: Wanted = (row) => part >= 1 || ((row + 0.5) * GOLDEN) % 1 < part;
  const pairs: [number, number, number][] = [];
  for (let fold = 0; fold < folds; fold++) {
    const { coder, products } = count(task, (row) => row % folds !== fold && some(row));
    const { entries, mean } = solveNumbers(kernel, coder, products);
    for (const { rows, columns, targets } of batches(task, (row) => row % folds === fold && some(row))) {
      const scores = kernel.cellScores(columns, targets.length, coder, entries, Float64Array.of(mean));
      targets.forEach((truth, i) => pairs.push([rows[i], truth, scores[i]]));
    }
  }
  pairs.sort((a, b) => a[0] - b[0]);
  const rows = pairs.length;
  const mean = pairs.reduce((sum, [, truth]) => sum + truth, 0) / rows;
  const sumOf = (what: (truth: number, given: number) => number): number => pairs.reduce((sum, [, truth, given]) => sum + what(truth, given), 0);
  const left = sumOf((truth, given) => (truth - given) ** 2);
  const step = Math.max(1, rows / POINTS);
  return {
    rows,
    folds,
    r2: 1 - left / sumOf((truth) => (truth - mean) ** 2),
    mae: sumOf((truth, given) => Math.abs(truth - given)) / rows,
    rmse: Math.sqrt(left / rows),
    base: sumOf((truth) => Math.abs(truth - mean)) / rows,
    points: Array.from({ length: Math.min(rows, POINTS) }, (_, i) => pairs[Math.floor(i * step)]).map(([, truth, given]) => [truth, given]),
  };
}

function rangesOf(task: Task): TrainedNumbers["ranges"] {
  const m = featureNames(task.recipe).length;
  const [low, high] = [new Float64Array(m).fill(Infinity), new Float64Array(m).fill(-Infinity)];
  for (const { columns } of batches(task, () => true)) {
    columns.forEach((column, j) => {
      for (let i = 0; i < column.length; i++) {
        if (column[i] < low[j]) low[j] = column[i];
        if (column[i] > high[j]) high[j] = column[i];
      }
    });
  }
  return { low, high };
}
