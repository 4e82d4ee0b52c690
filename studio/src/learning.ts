/** From the rows of a table to a model, and to ten folds of it. */

import { type Auto, learnAuto } from "./auto";
import { type Batch, batches, FOLDS, foldsOf, picked, type Reading, refuseBadCell, rowOf } from "./batches";
import { type Coder, EDGE_ROWS, learnCoder } from "./cells";
import { Gatherer } from "./gatherer";
import { type HeldOut, heldOutScores } from "./held_out";
import type { Kernel } from "./kernel";
import { checkLabels, finalLabels, byLabel, type Label } from "./labels";
import { addProducts, type Products, solveClasses } from "./moments";
import { fitScaling, type TemperatureScaling } from "./probabilities";
import { byCodePoints, repr } from "./python_text";
import { featureNames, missesValues, type Recipe, recipeOf, type Roles } from "./recipe";
import { refine, type Refined } from "./refine";
import { answerOf, classWeights, type Planes, scalingOf, scoresOf, solve } from "./solve";
import { join, NotFinite, over, relabelled, summarise, type Summary } from "./summary";
import type { SignalPlan, SignalSettings } from "./signal_plan";
import { SourceError, type Table } from "./table";

/** How a model is trained. */
export interface How {
  /** The rows are read so often: 1 is the paper. */
  passes: number;
  /** Each feature is cut into at most so many bins; null: not at all. */
  bins: number | null;
  /** 2: the products of any two cells are added up too. */
  moments: 1 | 2;
  /** Lines, curves and interactions, added up: nothing else is chosen. */
  auto: boolean;
}

/** One of those that have names, or passes and bins as they are set. With auto the others are tested beside it. */
export type Method = Named | "own";
export type Named = "paper" | "passes" | "exact" | "auto";

export interface Settings extends Pick<How, "passes" | "bins"> {
  label: string;
  roles: Roles;
  method: Method;
  /** Whether a column of numbers names classes or is a quantity; null: what it looks like. */
  task: "classes" | "number" | null;
  /** Every class counts the same, however rare it is. */
  balanced: boolean;
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

/** How well a way of training does on rows that were left out. */
export interface Compared {
  method: Named;
  accuracy: number;
  f1: number;
}

/** What the rows taught. */
export interface Fitted {
  summary: Summary<Label>;
  refined: Refined | null;
  /** Of second moments. */
  products: Products | null;
  /** What further passes or second moments found; null: the paper, from the Summary. */
  planes: Planes | null;
  /** Leave-one-out scores of a few rows: what probabilities are fitted to; null where they are not wanted. */
  heldOut: HeldOut | null;
  /** What auto chose; null if it was not asked for. */
  auto: Auto | null;
  /** What turns scores into probabilities, if that is known already. */
  scaling: TemperatureScaling | null;
}

export interface Trained extends Fitted {
  recipe: Recipe;
  how: How;
  /** The ways that were tested beside each other, simplest first; null: none was. */
  compared: Compared[] | null;
  /** A missing value votes for no class; there are none, or none was seen, where it is false. */
  ignoreMissing: boolean;
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
/** Values of the rows that ways of training are compared on, but for those of classes with so few rows. */
const COMPARED_VALUES = 2 ** 18;
/** So many values are compared by ten folds, more by five. */
const FEW_VALUES = 2 ** 15;
const FEWER_FOLDS = 5;
const FEW_OF_CLASS = 1000;
const GOLDEN = (5 ** 0.5 - 1) / 2;
const MOST_BINS_OF_ALL = 512;
/** More different numbers than these, of so few rows each, are a quantity. */
const MOST_NUMBERS = 20;
const FEW_PER_NUMBER = 20;
const PAPER: How = { passes: 1, bins: null, moments: 1, auto: false };
/** Values that auto learns from in a page, at most. */
export const MOST_AUTO_VALUES = 2 ** 23;

/** What all training of one table shares. */
interface Task extends Reading {
  kernel: Kernel;
  settings: Settings;
  names: string[];
  ignoreMissing: boolean;
  how: How;
}

/** Return into how many bins features are cut whose second moments are to be quick to solve; undefined: there are too many. */
export function binsOf(features: number): number | undefined {
  return [32, 16, 8].find((bins) => bins * features <= MOST_BINS_OF_ALL);
}

/** Return the ways of training that settings ask for, the one to take last; second moments and auto only where they are quick. */
function waysOf({ method, passes, bins, signal }: Settings, rows: number, features: number): { method: Method; how: How }[] {
  const most = binsOf(features);
  const ways: { method: Method; how: How }[] = [{ method: "paper", how: PAPER }, { method: "passes", how: { ...PAPER, passes: 10 } }];
  if (most) ways.push({ method: "exact", how: { ...PAPER, bins: most, moments: 2 } });
  if (method === "own" || signal) return [{ method: "own", how: { ...PAPER, passes, bins } }];
  if (method === "auto") return rows * features > MOST_AUTO_VALUES ? ways : [...ways, { method: "auto", how: { ...PAPER, auto: true } }];
  const found = ways.filter((way) => way.method === method);
  if (!found.length) throw new SourceError(`${features} features are too many for the exact method in this page: choose another one, or sefr train --exact`);
  return found;
}

export function accuracyOf(confusion: readonly number[][]): number {
  const rows = confusion.flat().reduce((a, b) => a + b, 0);
  return confusion.reduce((sum, row, k) => sum + row[k], 0) / rows;
}

/** Return the mean over the classes of the harmonic mean of precision and recall. */
export function macroF1(confusion: readonly number[][]): number {
  const each = confusion.map((row, k) => {
    const both = row.reduce((a, b) => a + b, 0) + confusion.reduce((sum, other) => sum + other[k], 0);
    return both ? (2 * row[k]) / both : 0;
  });
  return each.reduce((a, b) => a + b, 0) / each.length;
}

/** `tell` hears which of several ways of training is tested. */
export function train(kernel: Kernel, table: Table, settings: Settings, tell: (number: number, of: number) => void, plan: SignalPlan | null = null): Trained {
  const recipe = recipeOf(table, settings.label, settings.roles);
  const names = featureNames(recipe);
  checkLabels(table, table.column(recipe.label), names.length);
  if (names.length > kernel.mostColumns) {
    throw new SourceError(`${table.name}: ${names.length} features, but the page takes ${kernel.mostColumns}`);
  }
  const ignoreMissing = plan === null && missesValues(table, recipe);
  const ways = waysOf(settings, table.rows, names.length);
  const task: Task = { kernel, table, recipe, settings, names, ignoreMissing, how: ways[0].how };
  let started = performance.now();
  let counted = count(task);
  const { total } = counted;
  const rows = total.counts.head.reduce((a, b) => a + b, 0);
  refuseQuantity(task, total);
  const found = finalLabels(table, table.column(recipe.label), total.classes, rows);
  refuseLone(task, total);
  const labels = plan ? [...total.classes] : found; // of recordings, labels are names of folders
  const labelOf = new Map(total.classes.map((text, k) => [text, labels[k]]));
  const order = [...labels].sort(byLabel);
  const places = total.classes.map((text, k): [string, number] => [text, order.indexOf(labels[k])]);
  let evaluation: Evaluation | null = null;
  let compared: Compared[] | null = null;
  let note: string | null = null;
  const evaluate = (how: How, some?: (row: number) => boolean, parts = FOLDS): Evaluation => crossValidate({ ...task, how }, total, new Map(places), labels, parts, some);
  let evaluated = performance.now();
  if (ways.length > 1) {
    try {
      const parts = rows * names.length > FEW_VALUES ? FEWER_FOLDS : FOLDS;
      const tried = ways.map(({ method, how }, i) => {
        tell(i + 1, ways.length);
        return { method: method as Named, how, evaluation: evaluate(how, someOf(task), parts) };
      });
      compared = tried.map(({ method, evaluation: { confusion } }) => ({ method, accuracy: accuracyOf(confusion), f1: macroF1(confusion) }));
      const used = tried.at(-1)!;
      [task.how, evaluation] = [used.how, used.evaluation];
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      note = error.message;
    }
    evaluated = performance.now() - evaluated;
    started = performance.now();
    if (task.how !== ways[0].how) counted = count(task);
  }
  const fitted = fit(task, counted, labelOf, true);
  const trained = performance.now();
  const calibration = fitted.scaling ?? (fitted.heldOut && fitScaling(task.kernel, fitted.heldOut, fitted.summary.counts.head));
  if (ways.length === 1) {
    evaluated = performance.now();
    try {
      evaluation = evaluate(task.how);
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      note = error.message;
    }
    evaluated = performance.now() - evaluated;
  }
  const milliseconds = { train: trained - started, evaluate: evaluated };
  const ranges = fitted.summary.coder ? rangesOf(task) : { low: fitted.summary.low, high: fitted.summary.high };
  return { recipe, how: task.how, compared, ignoreMissing, names, ...fitted, calibration, ranges, places, evaluation, note, milliseconds, plan };
}

/** Return which rows ways of training are compared on, if not all: evenly spread ones, and all of rare classes. */
function someOf({ table, recipe, names }: Task): ((row: number) => boolean) | undefined {
  const part = COMPARED_VALUES / (table.rows * names.length);
  if (part >= 1) return undefined;
  const { codes, texts } = table.column(recipe.label);
  const counts = new Int32Array(texts.length);
  for (const code of codes!.subarray(0, table.rows)) if (code >= 0) counts[code]++;
  return (row) => ((row + 0.5) * GOLDEN) % 1 < part || counts[codes![row]] < FEW_OF_CLASS;
}

/** Refuse many different numbers as classes: little can be learned about each of them. */
function refuseQuantity({ table, recipe }: Task, { counts: { head } }: Summary): void {
  const rows = head.reduce((a, b) => a + b, 0);
  if (table.recordings || table.column(recipe.label).kind !== "number" || head.length <= MOST_NUMBERS || rows / head.length >= FEW_PER_NUMBER) return;
  throw new SourceError(
    `${table.name}: column ${repr(recipe.label)} has ${head.length} different numbers in ${rows} rows: a class for each of them predicts it badly; predict it as a number`,
  );
}

/** Refuse labels of which most occur once: they are names, and nothing can be learned about any of them. */
function refuseLone({ table, recipe }: Task, { counts: { head } }: Summary): void {
  const lone = head.filter((n) => n < 2).length;
  if (table.recordings || lone <= head.length / 2) return;
  throw new SourceError(
    `${table.name}: column ${repr(recipe.label)} has ${head.length} different labels, and ${lone} of them in one row only: is it a class, or a number or a name?`,
  );
}

/** The Summary of rows, by the texts of their labels, and a sample of them. */
interface Counted {
  total: Summary;
  gatherer: Gatherer;
  products: Products | null;
  wanted?: (row: number) => boolean;
}

/** Make the first pass, and before it the reading that finds where features are cut. */
function count(task: Task, wanted?: (row: number) => boolean): Counted {
  const { bins, moments } = task.how;
  const coder = bins === null ? null : findEdges(task, bins, wanted);
  const gatherer = new Gatherer(0, coder?.columnOf.length);
  let total: Summary | null = null;
  let products: Products | null = null;
  for (const batch of batches(task, wanted)) {
    const [summary] = summariseBatch(task, batch, coder, null);
    gatherer.add(batch);
    total = total ? join(total, summary, byCodePoints) : summary;
    if (moments === 1) continue;
    const n = batch.codes.length;
    const more = { count: n, pairs: task.kernel.countPairs(batch.columns, n, coder!, coder!.columnOf.length), target: null };
    products = products ? addProducts(products, more) : more;
  }
  if (!total) throw new SourceError(`${task.table.name}: there are no rows`);
  return { total, gatherer, products, wanted };
}

function findEdges(task: Task, bins: number, wanted?: (row: number) => boolean): Coder {
  const { ignoreMissing } = task;
  const gatherer = new Gatherer(EDGE_ROWS);
  let some = false;
  for (const batch of batches(task, wanted)) {
    refuseBadCell(task, batch, ignoreMissing);
    gatherer.add(batch);
    some = true;
  }
  if (!some) throw new SourceError(`${task.table.name}: there are no rows`);
  return learnCoder(task.kernel, gatherer.sample(), bins, ignoreMissing);
}

/** Make the further passes; `keep` what probabilities are fitted to. */
function fit(task: Task, { total, gatherer, products, wanted }: Counted, labelOf: ReadonlyMap<string, Label>, keep: boolean): Fitted {
  const { kernel, settings, names } = task;
  const summary = relabelled(total, total.classes.map((text) => labelOf.get(text)!), byLabel);
  if (task.how.auto) return fitAuto(task, summary.classes, labelOf, wanted);
  const scaling = scalingOf(summary, names);
  const place = (text: string): number => summary.classes.indexOf(labelOf.get(text)!);
  const { columns, labels, weights } = gatherer.sample();
  const sampled = { columns, codes: Int32Array.from(labels, place), weights };
  if (products) {
    const solved = solveClasses(kernel, summary, products, scaling, classWeights(settings.balanced, summary), keep ? sampled : null);
    return { summary, refined: null, products, ...solved, auto: null, scaling: null };
  }
  const sefr = solve(kernel, summary, scaling, settings.balanced);
  const { passes } = task.how;
  if (passes === 1) {
    const heldOut = keep ? heldOutScores(kernel, sampled, summary, sefr, settings.balanced) : null;
    return { summary, refined: null, products: null, planes: null, heldOut, auto: null, scaling: null };
  }
  const again = function* (): Generator<Batch> {
    for (const batch of batches(task, wanted)) {
      const codes = batch.classes.map(place);
      yield { ...batch, codes: batch.codes.map((code) => codes[code]) };
    }
  };
  const first = batches(task, wanted).next().value as Batch;
  const narrow = first.columns.map((column) => column instanceof Uint8Array);
  const { refined } = refine(kernel, summary, scaling, sefr, classWeights(settings.balanced, summary), { batches: again, sampled, narrow }, { passes, keep });
  return { summary, refined, products: null, planes: refined.planes, heldOut: refined.heldOut, auto: null, scaling: null };
}

/** Learn lines, curves and interactions from all rows at once. */
function fitAuto(task: Task, classes: readonly Label[], labelOf: ReadonlyMap<string, Label>, wanted?: (row: number) => boolean): Fitted {
  const read = [...batches(task, wanted)];
  const n = read.reduce((sum, { codes }) => sum + codes.length, 0);
  const columns = task.names.map(() => new Float64Array(n));
  const codes = new Int32Array(n);
  let at = 0;
  for (const batch of read) {
    const places = batch.classes.map((text) => classes.indexOf(labelOf.get(text)!));
    batch.columns.forEach((column, j) => columns[j].set(column, at));
    codes.set(batch.codes.map((code) => places[code]), at);
    at += batch.codes.length;
  }
  const { ignoreMissing, settings: { balanced } } = task;
  const { summary, refined, calibration, auto } = learnAuto(task.kernel, { columns, codes, classes, ignoreMissing, balanced });
  return { summary, refined, products: null, planes: refined.planes, heldOut: null, auto, scaling: calibration };
}

/** Test the model of the other folds on the rows of each fold, of `some` rows if they are given. */
function crossValidate(
  task: Task, total: Summary, places: ReadonlyMap<string, number>, labels: readonly Label[], parts: number, some: (row: number) => boolean = () => true,
): Evaluation {
  const { kernel, table, settings, how } = task;
  refuseRare(task, total);
  const folds = foldsOf(task);
  for (let row = 0; row < table.rows; row++) folds[row] = some(row) && folds[row] >= 0 ? folds[row] % parts : -1;
  const models = how.passes === 1 && how.bins === null && !how.auto ? modelsOfFolds(task, total, folds, labels) : null;
  const tested = folds.reduce((n, fold) => n + Number(fold >= 0), 0);
  const read = tested * task.names.length * how.passes * parts;
  if (!models && read > MOST_READ) {
    throw new SourceError("ten folds of these rows, with this number of passes, take too long in a page: use sefr evaluate");
  }
  const labelOf = new Map(total.classes.map((text, k) => [text, labels[k]]));
  const modelOf = (fold: number): Planes => {
    const { summary, planes } = fit(task, count(task, (row) => folds[row] !== fold && folds[row] >= 0), labelOf, false);
    return planes ?? solve(kernel, summary, scalingOf(summary, task.names), settings.balanced);
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
    for (const batch of batches(task, some)) models.forEach((planes, fold) => test(planes, batch, rowsIn(batch, folds, fold)));
  } else {
    for (let fold = 0; fold < parts; fold++) {
      const planes = modelOf(fold);
      for (const batch of batches(task, (row) => folds[row] === fold)) test(planes, batch, Int32Array.from(batch.codes.keys()));
    }
  }
  return { folds: parts, confusion, mistakes };
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
    throw new SourceError(`${FOLDS} folds of ${names.length} features and ${labels.length} classes do not fit into the memory of a page: use sefr evaluate`);
  }
  let parts: Summary[] = [];
  for (const batch of batches(task, (row) => folds[row] >= 0)) {
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
  const { ignoreMissing } = task;
  try {
    return summarise(task.kernel, batch.columns, batch.classes, by, ignoreMissing, coder);
  } catch (error) {
    if (!(error instanceof NotFinite)) throw error;
    refuseBadCell(task, batch, ignoreMissing);
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
