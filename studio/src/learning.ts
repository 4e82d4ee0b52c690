/** From the rows of a table to a Summary, and to ten folds of it: one pass each, batch by batch. */

import type { Column, Kernel } from "./kernel";
import { checkLabels, finalLabels, byLabel, type Label } from "./labels";
import { byCodePoints, repr } from "./python_text";
import { batchRows, featureNames, featuresOf, type Recipe, recipeOf, type Role, type Rows, taken } from "./recipe";
import { answerOf, scalingOf, scoresOf, solve } from "./solve";
import { join, NotFinite, over, relabelled, summarise, type Summary } from "./summary";
import { SourceError, type Table } from "./table";

export interface Settings {
  label: string;
  roles: Record<string, Role>;
  /** Every class counts the same, however rare it is. */
  balanced: boolean;
  /** A missing value votes for no class; else it is an error. */
  ignoreMissing: boolean;
  /** Rows without a label are left out; else they are an error. */
  skipUnlabelled: boolean;
}

export interface Mistake {
  row: number;
  line: number;
  truth: number;
  answer: number;
  /** By how much the score of the answer leads that of the truth. */
  lead: number;
  values: Float64Array;
}

export interface Evaluation {
  folds: number;
  /** One row per true class, one column per answer. */
  confusion: number[][];
  mistakes: Mistake[];
}

export interface Trained {
  recipe: Recipe;
  names: string[];
  summary: Summary<Label>;
  /** The class that each text of the label's column means. */
  places: [string, number][];
  evaluation: Evaluation | null;
  /** Why there is no evaluation. */
  note: string | null;
  milliseconds: { train: number; evaluate: number };
}

export const FOLDS = 10;
const FOLD_BYTES = 128 << 20;
const MOST_MISTAKES = 24;

/** A batch: its features, its labels in order, and each row's position among these. */
interface Batch {
  rows: Int32Array | { start: number; end: number };
  columns: Column[];
  classes: string[];
  codes: Int32Array;
}

export function train(kernel: Kernel, table: Table, settings: Settings): Trained {
  const recipe = recipeOf(table, settings.label, settings.roles);
  const names = featureNames(recipe);
  checkLabels(table, table.column(recipe.label), names.length, settings.skipUnlabelled);
  if (names.length > kernel.mostColumns) {
    throw new SourceError(`${table.name}: ${names.length} features, but the page takes ${kernel.mostColumns}`);
  }
  const started = performance.now();
  let total: Summary | null = null;
  for (const batch of batches(table, recipe, settings)) {
    const [summary] = summariseBatch(kernel, table, recipe, batch, settings, null);
    total = total ? join(total, summary, byCodePoints) : summary;
  }
  if (!total) throw new SourceError(`${table.name}: there are no rows`);
  const counted = total.counts.head.reduce((a, b) => a + b, 0);
  const labels = finalLabels(table, table.column(recipe.label), total.classes, counted);
  const summary = relabelled(total, labels, byLabel);
  scalingOf(summary, names);
  const places = total.classes.map((text, k): [string, number] => [text, summary.classes.indexOf(labels[k])]);
  const trained = performance.now();
  let evaluation: Evaluation | null = null;
  let note: string | null = null;
  try {
    evaluation = crossValidate(kernel, table, recipe, settings, labels);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    note = error.message;
  }
  const milliseconds = { train: trained - started, evaluate: performance.now() - trained };
  return { recipe, names, summary, places, evaluation, note, milliseconds };
}

/** Test the model of the other folds on the rows of each fold. */
function crossValidate(kernel: Kernel, table: Table, recipe: Recipe, settings: Settings, labels: readonly Label[]): Evaluation {
  const names = featureNames(recipe);
  if (8 * labels.length * names.length * FOLDS > FOLD_BYTES) {
    throw new SourceError(`${FOLDS} folds of so many features and classes do not fit: use fewer folds`);
  }
  let folds: Summary[] = [];
  const assigner = new FoldAssigner();
  for (const batch of batches(table, recipe, settings)) {
    const more = summariseBatch(kernel, table, recipe, batch, settings, assigner.assign(batch));
    folds = folds.length ? folds.map((fold, f) => join(fold, more[f], byCodePoints)) : more;
  }
  const total = folds.slice(1).reduce((a, b) => join(a, b, byCodePoints), folds[0]);
  const rare = total.counts.head.indexOf(Math.min(...total.counts.head));
  if (total.counts.head[rare] < 2) {
    const column = table.column(recipe.label);
    const text = total.classes[rare];
    const place = table.place(column.firstRow[column.texts.indexOf(text)]);
    throw new SourceError(`${place}: class ${repr(text)} has one row only: too few for folds`);
  }
  const order = [...labels].sort(byLabel);
  const models = folds.map((_, k) => {
    const others = folds.filter((_, j) => j !== k).map((fold) => over(fold, total.classes));
    const rest = others.slice(1).reduce((a, b) => join(a, b, byCodePoints), others[0]);
    const summary = relabelled(rest, labels, byLabel);
    return solve(kernel, summary, scalingOf(summary, names), settings.balanced);
  });
  const places = new Map(total.classes.map((text, k) => [text, order.indexOf(labels[k])]));
  const confusion = order.map(() => order.map(() => 0));
  const mistakes: Mistake[] = [];
  const again = new FoldAssigner();
  for (const batch of batches(table, recipe, settings)) {
    const fold = again.assign(batch);
    const of = Int32Array.from(batch.classes, (text) => places.get(text)!);
    models.forEach((planes, f) => {
      const here: number[] = [];
      fold.forEach((at, i) => at === f && here.push(i));
      const rows = Int32Array.from(here);
      const scores = scoresOf(kernel, planes, batch.columns.map((column) => picked(column, rows)), rows.length);
      const r = planes.bias.length;
      rows.forEach((i, at) => {
        const truth = of[batch.codes[i]];
        const answer = answerOf(scores, at, r);
        confusion[truth][answer]++;
        if (truth === answer) return;
        const lead = r === 1 ? Math.abs(scores[at]) : scores[at * r + answer] - scores[at * r + truth];
        keepHardest(mistakes, () => {
          const row = batch.rows instanceof Int32Array ? batch.rows[i] : batch.rows.start + i;
          const values = Float64Array.from(batch.columns, (column) => column[i]);
          return { row, line: table.lineOf(row), truth, answer, lead, values };
        }, lead);
      });
    });
  }
  return { folds: FOLDS, confusion, mistakes };
}

function keepHardest(mistakes: Mistake[], make: () => Mistake, lead: number): void {
  if (mistakes.length === MOST_MISTAKES && mistakes[MOST_MISTAKES - 1].lead >= lead) return;
  const at = mistakes.findIndex((mistake) => mistake.lead < lead);
  mistakes.splice(at < 0 ? mistakes.length : at, 0, make());
  mistakes.length = Math.min(mistakes.length, MOST_MISTAKES);
}

function picked(column: Column, rows: Int32Array): Column {
  const some = column instanceof Uint8Array ? new Uint8Array(rows.length) : new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) some[i] = column[rows[i]];
  return some;
}

function* batches(table: Table, recipe: Recipe, settings: Settings): Generator<Batch> {
  const size = batchRows(recipe.columns.length + 1);
  const label = table.column(recipe.label);
  for (let start = 0; start < table.rows; start += size) {
    let rows: Rows = { start, end: Math.min(start + size, table.rows) };
    let codes = taken(label.codes!, rows);
    if (settings.skipUnlabelled && codes.includes(-1)) {
      rows = Int32Array.from(codes.keys()).filter((i) => codes[i] >= 0).map((i) => start + i);
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

function summariseBatch(
  kernel: Kernel, table: Table, recipe: Recipe, batch: Batch, settings: Settings, folds: Int32Array | null,
): Summary[] {
  const classes = batch.classes.length;
  const codes = folds ? batch.codes.map((code, i) => folds[i] * classes + code) : batch.codes;
  const by = { codes, classes, folds: folds ? FOLDS : 1 };
  try {
    return summarise(kernel, batch.columns, batch.classes, by, settings.ignoreMissing);
  } catch (error) {
    if (error instanceof NotFinite) refuseBadCell(table, recipe, batch, settings);
    throw error;
  }
}

/** Raise an error for the first value that a model cannot use, with its place. */
function refuseBadCell(table: Table, recipe: Recipe, batch: Batch, settings: Settings): never {
  const names = featureNames(recipe);
  for (let i = 0; i < batch.codes.length; i++) {
    for (let j = 0; j < batch.columns.length; j++) {
      const value = batch.columns[j][i];
      if (Number.isFinite(value) || (settings.ignoreMissing && Number.isNaN(value))) continue;
      const row = batch.rows instanceof Int32Array ? batch.rows[i] : batch.rows.start + i;
      const what = Number.isNaN(value) ? "is missing (--missing ignore leaves it out)" : "is infinite";
      throw new SourceError(`${table.place(row)}: the value of column ${repr(names[j])} ${what}`);
    }
  }
  throw new SourceError(`${table.name}: the sums of its values are beyond float64`);
}

/** Assigns the rows of each class to the folds in turn, across batches: the folds are stratified. */
class FoldAssigner {
  private readonly assigned = new Map<string, number>();

  assign(batch: Batch): Int32Array {
    const next = batch.classes.map((label) => this.assigned.get(label) ?? 0);
    const folds = batch.codes.map((code) => next[code]++ % FOLDS);
    batch.classes.forEach((label, k) => this.assigned.set(label, next[k]));
    return folds;
  }
}
