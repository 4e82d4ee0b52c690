/** From the rows of a table to a model, and to ten folds of it. */

import { type Batch, batches, FOLDS, foldsOf, picked, type Reading, refuseBadCell, rowOf } from "./batches";
import { type Coder, EDGE_ROWS, learnCoder } from "./cells";
import { Gatherer } from "./gatherer";
import { type HeldOut, heldOutScores } from "./held_out";
import type { Kernel } from "./kernel";
import { checkLabels, finalLabels, byLabel, type Label } from "./labels";
import { fitScaling, type TemperatureScaling } from "./probabilities";
import { byCodePoints, repr } from "./python_text";
import { featureNames, type Recipe, recipeOf, type Roles } from "./recipe";
import { refine, type Refined } from "./refine";
import { answerOf, classWeights, type Planes, scalingOf, scoresOf, solve } from "./solve";
import { join, NotFinite, over, relabelled, summarise, type Summary } from "./summary";
import type { SignalPlan, SignalSettings } from "./signal_plan";
import { SourceError, type Table } from "./table";

export interface Settings {
  label: string;
  roles: Roles;
  /** Every class counts the same, however rare it is. */
  balanced: boolean;
  /** A missing value votes for no class; else it is an error. */
  ignoreMissing: boolean;
  /** Rows without a label are left out; else they are an error. */
  skipUnlabelled: boolean;
  /** The rows are read so often: 1 is the paper. */
  passes: number;
  /** Each feature is cut into at most so many bins; null: not at all. */
  bins: number | null;
  /** Rows are samples of a signal, which is cut into windows; null: rows are records. */
  signal: SignalSettings | null;
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

/** What the rows taught. */
export interface Fitted {
  summary: Summary<Label>;
  refined: Refined | null;
  /** Leave-one-out scores of a few rows: what probabilities are fitted to; null where they are not wanted. */
  heldOut: HeldOut | null;
}

export interface Trained extends Fitted {
  recipe: Recipe;
  names: string[];
  /** What turns scores into probabilities; null where no row tells, or there are too many classes. */
  calibration: TemperatureScaling | null;
  /** The lowest and highest value of every feature. */
  ranges: { low: Float64Array; high: Float64Array };
  /** The class that each text of the label's column means. */
  places: [string, number][];
  evaluation: Evaluation | null;
  /** Why there is no evaluation. */
  note: string | null;
  milliseconds: { train: number; evaluate: number };
  /** How windows became features, if rows are windows of a signal. */
  plan: SignalPlan | null;
}

const FOLD_BYTES = 128 << 20;
const MOST_MISTAKES = 24;
/** Values that the passes of ten folds may read, about a minute of them. */
const MOST_READ = 2 ** 33;

/** What all training of one table shares. */
interface Task extends Reading {
  kernel: Kernel;
  settings: Settings;
  names: string[];
}

export function train(kernel: Kernel, table: Table, settings: Settings, plan: SignalPlan | null = null): Trained {
  const recipe = recipeOf(table, settings.label, settings.roles);
  const names = featureNames(recipe);
  checkLabels(table, table.column(recipe.label), names.length, settings.skipUnlabelled);
  if (names.length > kernel.mostColumns) {
    throw new SourceError(`${table.name}: ${names.length} features, but the page takes ${kernel.mostColumns}`);
  }
  const task: Task = { kernel, table, recipe, skipUnlabelled: settings.skipUnlabelled, settings, names };
  const started = performance.now();
  const counted = count(task);
  const { total } = counted;
  const rows = total.counts.head.reduce((a, b) => a + b, 0);
  const found = finalLabels(table, table.column(recipe.label), total.classes, rows);
  const labels = plan ? [...total.classes] : found; // of recordings, labels are names of folders
  const fitted = fit(task, counted, new Map(total.classes.map((text, k) => [text, labels[k]])), true);
  const places = total.classes.map((text, k): [string, number] => [text, fitted.summary.classes.indexOf(labels[k])]);
  const trained = performance.now();
  const { heldOut, summary } = fitted;
  const calibration = heldOut && fitScaling(heldOut, summary.counts.head);
  const calibrated = performance.now();
  let evaluation: Evaluation | null = null;
  let note: string | null = null;
  try {
    evaluation = crossValidate(task, total, new Map(places), labels);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    note = error.message;
  }
  const milliseconds = { train: trained - started, evaluate: performance.now() - calibrated };
  const ranges = fitted.summary.coder ? rangesOf(task) : { low: fitted.summary.low, high: fitted.summary.high };
  return { recipe, names, ...fitted, calibration, ranges, places, evaluation, note, milliseconds, plan };
}

/** The Summary of rows, by the texts of their labels, and a sample of them. */
interface Counted {
  total: Summary;
  gatherer: Gatherer;
  wanted?: (row: number) => boolean;
}

/** Make the first pass, and before it the reading that finds where features are cut. */
function count(task: Task, wanted?: (row: number) => boolean): Counted {
  const coder = task.settings.bins === null ? null : findEdges(task, task.settings.bins, wanted);
  const gatherer = new Gatherer(0, coder?.featureOf.length);
  let total: Summary | null = null;
  for (const batch of batches(task, wanted)) {
    const [summary] = summariseBatch(task, batch, coder, null);
    gatherer.add(batch);
    total = total ? join(total, summary, byCodePoints) : summary;
  }
  if (!total) throw new SourceError(`${task.table.name}: there are no rows`);
  return { total, gatherer, wanted };
}

function findEdges(task: Task, bins: number, wanted?: (row: number) => boolean): Coder {
  const { ignoreMissing } = task.settings;
  const gatherer = new Gatherer(EDGE_ROWS);
  let some = false;
  for (const batch of batches(task, wanted)) {
    refuseBadCell(task, batch, ignoreMissing, "gives it a bin");
    gatherer.add(batch);
    some = true;
  }
  if (!some) throw new SourceError(`${task.table.name}: there are no rows`);
  return learnCoder(task.kernel, gatherer.sample(), bins, ignoreMissing);
}

/** Make the further passes; `keep` what probabilities are fitted to. */
function fit(task: Task, { total, gatherer, wanted }: Counted, labelOf: ReadonlyMap<string, Label>, keep: boolean): Fitted {
  const { kernel, settings, names } = task;
  const summary = relabelled(total, total.classes.map((text) => labelOf.get(text)!), byLabel);
  const scaling = scalingOf(summary, names);
  const sefr = solve(kernel, summary, scaling, settings.balanced);
  const place = (text: string): number => summary.classes.indexOf(labelOf.get(text)!);
  const { columns, labels, weights } = gatherer.sample();
  const sampled = { columns, codes: Int32Array.from(labels, place), weights };
  if (settings.passes === 1) {
    return { summary, refined: null, heldOut: keep ? heldOutScores(kernel, sampled, summary, sefr, settings.balanced) : null };
  }
  const again = function* (): Generator<Batch> {
    for (const batch of batches(task, wanted)) {
      const codes = batch.classes.map(place);
      yield { ...batch, codes: batch.codes.map((code) => codes[code]) };
    }
  };
  const first = batches(task, wanted).next().value as Batch;
  const narrow = first.columns.map((column) => column instanceof Uint8Array);
  const refined = refine(kernel, summary, scaling, sefr, classWeights(settings.balanced, summary), { batches: again, sampled, narrow }, { passes: settings.passes, keep });
  return { summary, refined, heldOut: refined.heldOut };
}

/** Test the model of the other folds on the rows of each fold. */
function crossValidate(task: Task, total: Summary, places: ReadonlyMap<string, number>, labels: readonly Label[]): Evaluation {
  const { kernel, table, settings } = task;
  refuseRare(task, total);
  const folds = foldsOf(task);
  const models = settings.passes === 1 && settings.bins === null ? modelsOfFolds(task, total, folds, labels) : null;
  const read = table.rows * task.names.length * settings.passes * FOLDS;
  if (!models && read > MOST_READ) {
    throw new SourceError("ten folds of so many rows and passes take too long in a page: use sefr evaluate");
  }
  const labelOf = new Map(total.classes.map((text, k) => [text, labels[k]]));
  const modelOf = (fold: number): Planes => {
    const { summary, refined } = fit(task, count(task, (row) => folds[row] !== fold), labelOf, false);
    return refined?.planes ?? solve(kernel, summary, scalingOf(summary, task.names), settings.balanced);
  };
  const confusion = labels.map(() => labels.map(() => 0));
  const mistakes: Mistake[] = [];
  const test = (planes: Planes, batch: Batch, rows: Int32Array): void => {
    const scores = scoresOf(kernel, planes, batch.columns.map((column) => picked(column, rows)), rows.length);
    const r = planes.bias.length;
    rows.forEach((i, at) => {
      const truth = places.get(batch.classes[batch.codes[i]])!;
      const answer = answerOf(scores, at, r);
      confusion[truth][answer]++;
      if (truth === answer) return;
      const lead = r === 1 ? Math.abs(scores[at]) : scores[at * r + answer] - scores[at * r + truth];
      keepHardest(mistakes, () => {
        const row = rowOf(batch, i);
        return { row, line: table.lineOf(row), truth, answer, lead, values: Float64Array.from(batch.columns, (column) => column[i]) };
      }, lead);
    });
  };
  if (models) {
    for (const batch of batches(task)) models.forEach((planes, fold) => test(planes, batch, rowsIn(batch, folds, fold)));
  } else {
    for (let fold = 0; fold < FOLDS; fold++) {
      const planes = modelOf(fold);
      for (const batch of batches(task, (row) => folds[row] === fold)) test(planes, batch, Int32Array.from(batch.codes.keys()));
    }
  }
  return { folds: FOLDS, confusion, mistakes };
}

function rowsIn(batch: Batch, folds: Int8Array, fold: number): Int32Array {
  return Int32Array.from(batch.codes.keys()).filter((i) => folds[rowOf(batch, i)] === fold);
}

function refuseRare({ table, recipe }: Task, total: Summary): void {
  const { recordings } = table;
  if (recordings) {
    const { codes, texts } = table.column(recipe.label);
    const of = texts.map((_, code) => new Set(recordings.filter((_, row) => codes![row] === code)).size);
    const lone = of.findIndex((n) => n < 2);
    if (lone >= 0) throw new SourceError(`class ${repr(texts[lone])} has one recording only: too few to leave one out`);
    return;
  }
  const rare = total.counts.head.indexOf(Math.min(...total.counts.head));
  if (total.counts.head[rare] >= 2) return;
  const column = table.column(recipe.label);
  const text = total.classes[rare];
  const place = table.place(column.firstRow[column.texts.indexOf(text)]);
  throw new SourceError(`${place}: class ${repr(text)} has one row only: too few for folds`);
}

/** Return the model of all folds but each, from one pass: the Summary of the other folds. */
function modelsOfFolds(task: Task, total: Summary, folds: Int8Array, labels: readonly Label[]): Planes[] {
  const { kernel, settings, names } = task;
  if (8 * labels.length * names.length * FOLDS > FOLD_BYTES) {
    throw new SourceError(`${FOLDS} folds of so many features and classes do not fit: use fewer folds`);
  }
  let parts: Summary[] = [];
  for (const batch of batches(task)) {
    const more = summariseBatch(task, batch, null, Int32Array.from(batch.codes, (_, i) => folds[rowOf(batch, i)]));
    parts = parts.length ? parts.map((fold, f) => join(fold, more[f], byCodePoints)) : more;
  }
  return parts.map((_, k) => {
    const others = parts.filter((_, j) => j !== k).map((fold) => over(fold, total.classes));
    const rest = others.slice(1).reduce((a, b) => join(a, b, byCodePoints), others[0]);
    const summary = relabelled(rest, labels, byLabel);
    return solve(kernel, summary, scalingOf(summary, names), settings.balanced);
  });
}

function keepHardest(mistakes: Mistake[], make: () => Mistake, lead: number): void {
  if (mistakes.length === MOST_MISTAKES && mistakes[MOST_MISTAKES - 1].lead >= lead) return;
  const at = mistakes.findIndex((mistake) => mistake.lead < lead);
  mistakes.splice(at < 0 ? mistakes.length : at, 0, make());
  mistakes.length = Math.min(mistakes.length, MOST_MISTAKES);
}

function summariseBatch(task: Task, batch: Batch, coder: Coder | null, folds: Int32Array | null): Summary[] {
  const classes = batch.classes.length;
  const codes = folds ? batch.codes.map((code, i) => folds[i] * classes + code) : batch.codes;
  const by = { codes, classes, folds: folds ? FOLDS : 1 };
  const { ignoreMissing } = task.settings;
  try {
    return summarise(task.kernel, batch.columns, batch.classes, by, ignoreMissing, coder);
  } catch (error) {
    if (!(error instanceof NotFinite)) throw error;
    refuseBadCell(task, batch, ignoreMissing, "leaves it out");
    throw new SourceError(`${task.table.name}: the sums of its values are beyond float64`);
  }
}

function rangesOf(task: Task): Trained["ranges"] {
  const m = task.names.length;
  const [low, high] = [new Float64Array(m).fill(Infinity), new Float64Array(m).fill(-Infinity)];
  for (const { columns } of batches(task)) {
    columns.forEach((column, j) => {
      for (let i = 0; i < column.length; i++) {
        if (column[i] < low[j]) low[j] = column[i];
        if (column[i] > high[j]) high[j] = column[i];
      }
    });
  }
  return { low, high };
}
