/** The C kernels, compiled to wasm: what native/ and device/ compute for Python, to the bit. */

import type { HeldOut } from "./held_out";
import type { TemperatureScaling } from "./probabilities";

export type Floats = Float64Array;
/** A column as the kernels read it: float64, or bytes for what is true or false. */
export type Column = Float64Array | Uint8Array;

interface Exports {
  memory: WebAssembly.Memory;
  mark(): number;
  release(mark: number): void;
  most_columns(): number;
  summarise_columns(n: number, m: number, data: number, bytes: number, to: number): number;
  summarise_rows(n: number, m: number, data: number, to: number): number;
  scores(n: number, m: number, data: number, bytes: number, coef: number, intercept: number, k: number, out: number): number;
  solve(from: number, epsilon: number, to: number): number;
  solve_means(from: number, rest: number, epsilon: number, to: number): void;
  is_delicate(from: number): number;
  solve_bytes(weightBits: number, model: number): number;
  find_edges(sorted: number, m: number, n: number, most: number, alone: number, edges: number, starts: number): void;
  grow_ferns(of: number, cut: number, step: number, comparisons: number): number;
  count_cells(n: number, data: number, bytes: number, cut: number, to: number): number;
  code_cells(n: number, data: number, bytes: number, cut: number, cells: number): number;
  cell_scores(n: number, data: number, bytes: number, cut: number, table: number, intercept: number, k: number, out: number): number;
  coded_scores(n: number, cells: number, cut: number, table: number, intercept: number, k: number, out: number): number;
  search_size(of: number): number;
  begin_search(search: number, of: number, point: number, loss: number, gradient: number, memory: number): void;
  try_points(search: number, points: number, count: number, start: number): void;
  search_ask(search: number): number;
  models_asked(search: number, of: number, coef: number, intercept: number): number;
  tell_scores(search: number, of: number, scores: number): number;
  tell_pass(search: number, of: number, loss: number, coef: number, intercept: number): number;
  search_rows(search: number, of: number, rows: number, passes: number, curve: number): number;
  search_best(search: number, point: number): number;
  move_search(search: number, to: number, before: number, ridge: number): void;
  sample_scores(rows: number, n: number, m: number, coef: number, intercept: number, k: number, scores: number): number;
  step_tables(steps: number, weights: number, before: number, k: number, tables: number, intercepts: number): void;
  step_slopes(steps: number, byTable: number, byIntercept: number, k: number, byWeight: number): void;
  gradient(n: number, m: number, data: number, bytes: number, centre: number, scale: number, pass: number): number;
  gradient_cells(n: number, cells: number, cut: number, pass: number): number;
  count_pairs(n: number, data: number, bytes: number, cut: number, pairs: number): number;
  step_products(n: number, begins: number, scale: number, packed: number, products: number, pitch: number): void;
  solve_ridges(of: number, count: number): number;
  fit_scaling(rows: number, counts: number, found: number): number;
  weigh_parts(parts: number, shares: number, losses: number): number;
  leave_one_out(rows: number, ridge: number, say: number, leftOut: number): number;
  samples_of(n: number, values: number, step: number, samples: number): void;
  signal_features(plan: number, windows: number, n: number, features: number): number;
}

const FINITE = 0;
const NOT_FINITE = 1;

/** What a search asks: see native/refine/search.h. */
const NOTHING = 0;
const SCORES = 2;
const MOST_ASKED = 3;

/** Which group each row belongs to, below 0 to none; group g is class g % classes of fold g / classes. */
export interface Grouping {
  codes: Int32Array;
  classes: number;
  folds: number;
  /** How often each row counts; null: once. */
  weights?: Floats | null;
}

/** Where features are cut: the edges of feature j are edges[starts[j]] .. edges[starts[j + 1] - 1]. */
export interface Cut {
  edges: Floats;
  starts: Int32Array;
  /** The last cell of a feature is for values that are missing. */
  missing: boolean;
  /** Further columns of cells, which comparisons of the cells of features choose; null: there are none. */
  ferns: Ferns | null;
}

/** Comparisons of ferns, `depth` each: whether the cell of a feature is a bound or higher. */
export interface Ferns {
  features: Int32Array;
  bounds: Int32Array;
  depth: number;
}

/** How ferns are grown on rows in cells: see native/cells/grow.h. */
export interface Growth {
  codes: Int32Array;
  classes: number;
  /** Numbers to tell instead of classes, of unit variance about 0. */
  targets: Floats | null;
  /** Whether a row is held out; null: one in four is. */
  held: Uint8Array | null;
  most: number;
  depth: number;
  tried: number;
  bounds: number;
  subsets: number;
  step: number;
}

/** What a search minimises: see struct objective of native/refine/search.h. */
export interface Searched {
  width: number;
  scores: number;
  unit: number;
  steps: StepsOfCells | null;
  ridge: number;
  /** Of the sample, whose weights add up to 1. */
  codes: Int32Array;
  weights: Floats;
  mixes: boolean;
}

/** Who answers what a search asks: the scores of the sample (S x R) by models without intercepts, and passes. */
export interface Answers {
  scores(coef: Floats, r: number): Floats;
  pass(model: LinearModel): Gradient;
}

/** A search between passes, as the module keeps it. */
export type SearchState = Uint8Array;

/** See native/refine/steps.h. */
export interface StepsOfCells {
  begins: Uint8Array;
  mean: Floats | null;
  scale: Floats | null;
}

/** Weights (R x m) and intercepts (R) of standardised features, or a table (R x cells) and intercepts. */
export interface LinearModel {
  coef: Floats;
  intercept: Floats;
}

/** The loss of some rows and its derivatives by the weights and intercepts of a model. */
export interface Gradient extends LinearModel {
  loss: number;
}

/** x' = (x - centre) * scale, and 0 where that is not finite. */
export interface Standardisation {
  centre: Floats;
  scale: Floats;
}

/** The class of each row, below 0 for one that is left out; what a row of each class weighs; and how often each counts, null for once. */
export interface WeightedRows {
  codes: Int32Array;
  classWeights: Floats;
  weights?: Floats | null;
}

/** What parts say of n rows that they have not seen (n x K each), beyond what is known without them: see native/answers/parts.h. */
export interface HeldOutParts {
  logits: readonly Floats[];
  base: Floats;
  codes: Int32Array;
  weights: Floats;
  classes: number;
}

/** What the leverage of rows is found from: see native/refine/leave_one_out.h. */
export enum KnownBy { ALL_ROWS, PAIRS, SPECTRUM }

/** Rows that a loss was minimised with, their scores, and what is known of some of them. */
export interface LearnedRows {
  scores: Floats;
  codes: Int32Array;
  weights: Floats;
  /** The weight of each row in the loss; they add up to 1. */
  shares: Floats;
  classWeights: Floats;
  squaredLengths: Floats;
  ridge: number;
  by: KnownBy;
  /** Weights of a score. */
  width: number;
  /** Which rows are known, and themselves or their products. */
  rows: readonly number[];
  known: Floats;
  say: number;
}

/** How a window of a signal becomes bytes; see native/signals/signals.h. */
export interface SignalShape {
  length: number;
  axes: number;
  dilations: readonly number[];
  kernels: number;
  thresholds: number;
  /** A threshold per count, in eighths of the spread. */
  levels: Int8Array;
  segments: number;
  ranges: readonly (readonly [number, number])[];
}

/** What one pass adds up: (groups x m), (groups), (folds x m). */
export interface Raw {
  sums: Floats;
  counts: Floats;
  low: Floats;
  high: Floats;
  present: Floats | null;
  finite: boolean;
}

export class Kernel {
  private readonly exports: Exports;

  private constructor(instance: WebAssembly.Instance) {
    this.exports = instance.exports as unknown as Exports;
  }

  static async from(code: Uint8Array<ArrayBuffer>): Promise<Kernel> {
    const { instance } = await WebAssembly.instantiate(code, { page: { log: Math.log } });
    return new Kernel(instance);
  }

  get mostColumns(): number {
    return this.exports.most_columns();
  }

  /** Add up rows that lie by columns. */
  summariseColumns(columns: readonly Column[], by: Grouping, missing: boolean): Raw {
    const m = columns.length;
    return this.summarise(m, by, missing, (call, to) => {
      const { data, bytes } = call.columns(columns);
      return this.exports.summarise_columns(by.codes.length, m, data, bytes, to);
    });
  }

  /** Add up rows of m adjacent values. */
  summariseRows(rows: Floats, m: number, by: Grouping, missing: boolean): Raw {
    return this.summarise(m, by, missing, (call, to) =>
      this.exports.summarise_rows(by.codes.length, m, call.floats(rows), to),
    );
  }

  /** Return columns @ coef.T + intercept: (n x k). */
  scores(columns: readonly Column[], n: number, coef: Floats, intercept: Floats): Floats {
    const k = intercept.length;
    return this.call((call) => {
      const { data, bytes } = call.columns(columns);
      const out = call.room(n * k * 8);
      const outcome = this.exports.scores(
        n, columns.length, data, bytes, call.floats(coef), call.floats(intercept), k, out,
      );
      check(outcome);
      return call.readFloats(out, n * k);
    });
  }

  /** Return the edges that cut rising values, NaN last, into at most so many cells of about as many rows; `alone`: frequent values have one each. */
  findEdges(sorted: Floats, most: number, alone = false): Floats {
    return this.call((call) => {
      const [values, edges, starts] = [call.floats(sorted), call.room((most - 1) * 8), call.room(16)];
      this.exports.find_edges(values, 1, sorted.length, most, Number(alone), edges, starts);
      return call.readFloats(edges, Number(new BigInt64Array(this.exports.memory.buffer, starts, 2)[1]));
    });
  }

  /** Count rows per group and cell: sums (groups x cells) and counts (groups). */
  countCells(columns: readonly Column[], cut: Cut, cells: number, by: Grouping): { sums: Floats; counts: Floats; finite: boolean } {
    const groups = by.classes * by.folds;
    return this.call((call) => {
      const { data, bytes } = call.columns(columns);
      const [codes, sums, counts] = [call.words(by.codes), call.room(groups * cells * 8), call.room(groups * 8)];
      const to = call.words(Uint32Array.from([codes, groups, by.classes, sums, counts, 0, 0, 0, call.weights(by.weights)]));
      const outcome = this.exports.count_cells(by.codes.length, data, bytes, call.cut(cut), to);
      check(outcome);
      return { sums: call.readFloats(sums, groups * cells), counts: call.readFloats(counts, groups), finite: outcome === FINITE };
    });
  }

  /** Return the cell of every value and fern within its column (n x columns). */
  codeCells(columns: readonly Column[], n: number, cut: Cut): Uint8Array {
    const width = columns.length + countOf(cut.ferns);
    return this.call((call) => {
      const { data, bytes } = call.columns(columns);
      const cells = call.room(n * width);
      check(this.exports.code_cells(n, data, bytes, call.cut(cut), cells));
      return call.readBytes(cells, n * width);
    });
  }

  /** Return ferns grown on rows in cells (n x features), whose first cells are at `offsets`; null if nothing varies. */
  growFerns(cells: Uint8Array, offsets: Int32Array, growth: Growth): Ferns | null {
    const { codes, classes, targets, held, most, depth, tried, bounds, subsets, step } = growth;
    return this.call((call) => {
      const comparisons = call.room(most * depth * 8);
      const places = [call.bytes(cells), held ? call.bytes(held) : 0, call.words(codes), targets ? call.floats(targets) : 0];
      const of = call.words(Uint32Array.from([...places, codes.length, classes, most, depth, tried, bounds, subsets]));
      const grown = this.exports.grow_ferns(of, call.coded(offsets), step, comparisons);
      if (grown < 0) throw new Error(`the kernel answered ${-grown}`);
      if (!grown) return null;
      const pairs = new Int32Array(this.exports.memory.buffer, comparisons, grown * depth * 2).slice();
      return { features: pairs.filter((_, i) => i % 2 === 0), bounds: pairs.filter((_, i) => i % 2 === 1), depth };
    });
  }

  /** Return the sums of table entries (n x k); NaN for a row with a value that has no cell. */
  cellScores(columns: readonly Column[], n: number, cut: Cut, table: Floats, intercept: Floats): Floats {
    const k = intercept.length;
    return this.call((call) => {
      const { data, bytes } = call.columns(columns);
      const out = call.room(n * k * 8);
      check(this.exports.cell_scores(n, data, bytes, call.cut(cut), call.floats(table), call.floats(intercept), k, out));
      return call.readFloats(out, n * k);
    });
  }

  /** Return the sums of table entries (n x k) of rows in cells (n x columns), whose first cells are at `offsets`. */
  codedScores(cells: Uint8Array, n: number, offsets: Int32Array, table: Floats, intercept: Floats): Floats {
    const k = intercept.length;
    return this.call((call) => {
      const out = call.room(n * k * 8);
      check(this.exports.coded_scores(n, call.bytes(cells), call.coded(offsets), call.floats(table), call.floats(intercept), k, out));
      return call.readFloats(out, n * k);
    });
  }

  /** Begin a search at a point of which loss and gradient are known; a loss of infinity: the gradient is of another. */
  beginSearch(of: Searched, point: Floats, loss: number, gradient: Floats, memory: SearchState | null): SearchState {
    return this.call((call) => {
      const own = call.searched(of);
      const size = this.exports.search_size(own);
      const [known, search] = [memory ? call.bytes(memory) : 0, call.room(size)];
      this.exports.begin_search(search, own, call.floats(point), loss, call.floats(gradient), known);
      return call.readBytes(search, size);
    });
  }

  /** Let the first of some points, or with `start` their best mixture, be tried first. */
  tryPoints(state: SearchState, points: readonly Floats[], start: Floats | null): SearchState {
    return this.call((call) => {
      const search = call.bytes(state);
      const all = call.room(points.length * points[0].byteLength);
      points.forEach((point, p) => call.write(all + p * point.byteLength, point));
      this.exports.try_points(search, all, points.length, start ? call.floats(start) : 0);
      return call.readBytes(search, state.length);
    });
  }

  /** Make up to so many passes; return the lowest loss after each. */
  search(of: Searched, state: SearchState, passes: number, answers: Answers): { state: SearchState; losses: number[] } {
    const { width, scores: r, codes } = of;
    return this.call((call) => {
      const [own, search] = [call.searched(of), call.bytes(state)];
      const most = MOST_ASKED * r;
      const [coef, intercept, told] = [call.room(most * width * 8), call.room(most * 8), call.room(codes.length * most * 8)];
      const losses: number[] = [];
      while (losses.length < passes) {
        const asked = this.exports.search_ask(search);
        if (asked === NOTHING) break;
        const k = r * this.exports.models_asked(search, own, coef, intercept);
        const model = { coef: call.readFloats(coef, k * width), intercept: call.readFloats(intercept, k) };
        if (asked === SCORES) {
          const scores = answers.scores(model.coef, k);
          call.write(told, scores.map((score, i) => score + model.intercept[i % k]));
          check(this.call(() => this.exports.tell_scores(search, own, told)));
        } else {
          const found = answers.pass(model);
          call.write(coef, found.coef);
          call.write(intercept, found.intercept);
          losses.push(this.exports.tell_pass(search, own, found.loss, coef, intercept));
        }
      }
      return { state: call.readBytes(search, state.length), losses };
    });
  }

  /** Do the same where the sample has all rows (S x width). */
  searchRows(of: Searched, state: SearchState, passes: number, rows: Floats): { state: SearchState; losses: number[] } {
    return this.call((call) => {
      const [own, search, all, curve] = [call.searched(of), call.bytes(state), call.floats(rows), call.room(passes * 8)];
      const made = this.exports.search_rows(search, own, all, passes, curve);
      check(Math.max(-made, FINITE));
      return { state: call.readBytes(search, state.length), losses: Array.from(call.readFloats(curve, made)) };
    });
  }

  /** Return the best point (n) of a search, and its loss. */
  bestOf(state: SearchState, n: number): { point: Floats; loss: number } {
    return this.call((call) => {
      const [search, point] = [call.bytes(state), call.room(n * 8)];
      const loss = this.exports.search_best(search, point);
      return { point: call.readFloats(point, n), loss };
    });
  }

  /** Return a search at its best point under another ridge, which was `ridge`. */
  moveSearch(to: Searched, state: SearchState, ridge: number): SearchState {
    return this.call((call) => {
      const [own, before, search] = [call.searched(to), call.bytes(state), call.room(state.length)];
      this.exports.move_search(search, own, before, ridge);
      return call.readBytes(search, state.length);
    });
  }

  /** Return the scores (n x k) of rows (n x m) in float64, without intercepts. */
  sampleScores(rows: Floats, n: number, coef: Floats, k: number): Floats {
    return this.call((call) => {
      const [all, own, none, to] = [call.floats(rows), call.floats(coef), call.floats(new Float64Array(k)), call.room(n * k * 8)];
      if (!this.exports.sample_scores(all, n, coef.length / k, own, none, k, to)) throw new RangeError("no memory");
      return call.readFloats(to, n * k);
    });
  }

  /** Return tables of effects (k x cells), and intercepts, from weights of steps and intercepts. */
  stepTables(steps: StepsOfCells, weights: Floats, before: Floats): LinearModel {
    return this.call((call) => {
      const [coef, intercept] = [call.room(weights.byteLength), call.room(before.byteLength)];
      this.exports.step_tables(call.steps(steps), call.floats(weights), call.floats(before), before.length, coef, intercept);
      return { coef: call.readFloats(coef, weights.length), intercept: call.readFloats(intercept, before.length) };
    });
  }

  /** Return derivatives by the weights of steps from those by tables and intercepts. */
  stepSlopes(steps: StepsOfCells, byTable: Floats, byIntercept: Floats | null): Floats {
    return this.call((call) => {
      const [to, k] = [call.room(byTable.byteLength), byTable.length / steps.begins.length];
      this.exports.step_slopes(call.steps(steps), call.floats(byTable), byIntercept ? call.floats(byIntercept) : 0, k, to);
      return call.readFloats(to, byTable.length);
    });
  }

  /** Return the loss of a model of standardised features and its derivatives, in one pass. */
  gradient(columns: readonly Column[], standard: Standardisation, rows: WeightedRows, model: LinearModel): Gradient {
    return this.call((call) => {
      const { data, bytes } = call.columns(columns);
      const [centre, scale] = [call.floats(standard.centre), call.floats(standard.scale)];
      return this.pass(call, rows, model, (pass) =>
        this.exports.gradient(rows.codes.length, columns.length, data, bytes, centre, scale, pass));
    });
  }

  /** Return the loss of a table and its derivatives, over rows in cells (n x columns), whose first cells are at `offsets`. */
  gradientCells(cells: Uint8Array, offsets: Int32Array, rows: WeightedRows, model: LinearModel): Gradient {
    return this.call((call) => {
      const [at, by] = [call.bytes(cells), call.coded(offsets)];
      return this.pass(call, rows, model, (pass) => this.exports.gradient_cells(rows.codes.length, at, by, pass));
    });
  }

  private pass(call: Call, rows: WeightedRows, model: LinearModel, run: (pass: number) => number): Gradient {
    const scores = model.intercept.length;
    const [coef, intercept, loss] = [call.room(model.coef.byteLength), call.room(scores * 8), call.room(8)];
    const parts = [call.words(rows.codes), call.floats(model.coef), call.floats(model.intercept), call.floats(rows.classWeights)];
    const outcome = run(call.words(Uint32Array.from([...parts, scores, rows.classWeights.length, coef, intercept, loss, call.weights(rows.weights)])));
    check(outcome);
    return {
      coef: call.readFloats(coef, model.coef.length),
      intercept: call.readFloats(intercept, scores),
      loss: call.readFloats(loss, 1)[0],
    };
  }

  /** Return how many rows lie in both of two cells: the upper triangle, row after row. */
  countPairs(columns: readonly Column[], n: number, cut: Cut, cells: number): Floats {
    return this.call((call) => {
      const { data, bytes } = call.columns(columns);
      const pairs = call.room(((cells * (cells + 1)) / 2) * 8);
      check(this.exports.count_pairs(n, data, bytes, call.cut(cut), pairs));
      return call.readFloats(pairs, (cells * (cells + 1)) / 2);
    });
  }

  /** Return the upper triangle of the products of steps (size x size), from those of cells. */
  stepProducts(begins: Uint8Array, scale: Floats, packed: Floats, size: number): Floats {
    return this.call((call) => {
      const parts = [call.bytes(begins), call.floats(scale), call.floats(packed), call.floats(new Float64Array(size * size))];
      this.exports.step_products(begins.length, parts[0], parts[1], parts[2], parts[3], size);
      return call.readFloats(parts[3], size * size);
    });
  }

  /** Return the ridge regressions of targets (k x p), the ridge of each by restricted likelihood, and the leverage of rows (n x p). */
  solveRidges({ gram, cross, power, count, together, ridges, rows }: RidgeProblem): { solved: Floats; chosen: Floats; leverage: Floats } {
    const k = power.length;
    const p = cross.length / k;
    const n = p ? rows.length / p : 0;
    return this.call((call) => {
      const given = [gram, cross, power, ridges, rows].map((part) => call.floats(part));
      const [chosen, solved, leverage] = [call.room(k * 8), call.room(k * p * 8), call.room(n * 8)];
      const of = call.words(Uint32Array.from([p, k, ridges.length, n, together ? 1 : 0, ...given, chosen, solved, leverage]));
      if (!this.exports.solve_ridges(of, count)) throw new RangeError("products of columns are not those of any rows");
      return { solved: call.readFloats(solved, k * p), chosen: call.readFloats(chosen, k), leverage: call.readFloats(leverage, n) };
    });
  }

  /** Return 1 / T and the offsets that make the labels of rows most likely, if classes weigh as counts say. */
  fitScaling({ scores, codes, weights, evidence }: HeldOut, counts: Floats): TemperatureScaling {
    const [n, k] = [codes.length, counts.length];
    return this.call((call) => {
      const places = [call.floats(scores), call.words(codes), call.floats(weights), call.floats(evidence ?? weights)];
      const [rows, found] = [call.words(Uint32Array.of(n, k, scores.length / n, ...places)), call.room((2 * k + 2) * 8)];
      check(this.exports.fit_scaling(rows, call.floats(counts), found));
      const all = call.readFloats(found, 2 * k + 2);
      return { inverse: all[0], offsets: all.slice(1, k + 1), precision: all.slice(k + 1) };
    });
  }

  /** Return how much each part is to say, the log loss of each by itself, and, last, that of their sum. */
  weighParts({ logits, base, codes, weights, classes }: HeldOutParts): { shares: Floats; losses: Floats } {
    const p = logits.length;
    return this.call((call) => {
      const [all, shares, losses] = [call.room(p * base.byteLength), call.room(p * 8), call.room((p + 1) * 8)];
      logits.forEach((own, i) => call.write(all + i * base.byteLength, own));
      const places = [all, call.floats(base), call.words(codes), call.floats(weights)];
      check(this.exports.weigh_parts(call.words(Uint32Array.of(p, codes.length, classes, ...places)), shares, losses));
      return { shares: call.readFloats(shares, p), losses: call.readFloats(losses, p + 1) };
    });
  }

  /** Return the scores of rows as if each had been left out. */
  leaveOneOut(of: LearnedRows): Floats {
    const { scores, codes, weights, shares, classWeights, squaredLengths, ridge, by, width, rows, known, say } = of;
    const some = (part: Floats): Floats => Float64Array.from(rows, (row) => part[row]);
    return this.call((call) => {
      const own = [call.floats(scores), call.words(codes), ...[weights, shares, classWeights, squaredLengths].map((part) => call.floats(part))];
      const [to, ...others] = [call.room(scores.byteLength), ...[known, some(weights), some(shares)].map((part) => call.floats(part))];
      const from = call.words(Uint32Array.from([codes.length, scores.length / codes.length, ...own, by, rows.length, width, ...others]));
      check(this.exports.leave_one_out(from, ridge, say, to));
      return call.readFloats(to, scores.length);
    });
  }

  /** Return equations 3 to 9 on sums; null where they need care. */
  solve(learned: Learned, epsilon: number): Solved | null {
    return this.planes(learned, (call, to) => this.exports.solve(call.learned(learned), epsilon, to) !== 0);
  }

  /** Return equations 5 to 9 on means of each class and of the rest that were taken with care. */
  solveMeans(own: Floats, rest: Floats, counts: Floats, epsilon: number): Solved {
    const nothing = new Float64Array(own.length / counts.length);
    const learned = { sums: own, counts, low: nothing, span: nothing };
    return this.planes(learned, (call, to) => {
      this.exports.solve_means(call.learned(learned), call.floats(rest), epsilon, to);
      return true;
    })!;
  }

  private planes({ counts, low }: Learned, run: (call: Call, to: number) => boolean): Solved | null {
    const rows = counts.length === 2 ? 1 : counts.length;
    const cells = rows * low.length;
    return this.call((call) => {
      const [weights, bias, midpoints] = [call.room(cells * 8), call.room(rows * 8), call.room(cells * 8)];
      const to = call.words(Uint32Array.of(weights, bias, midpoints));
      if (!run(call, to)) return null;
      return { weights: call.readFloats(weights, cells), bias: call.readFloats(bias, rows), midpoints: call.readFloats(midpoints, cells) };
    });
  }

  isDelicate(sums: Floats, counts: Floats, low: Floats): boolean {
    return this.call((call) => this.exports.is_delicate(call.learned({ sums, counts, low, span: low })) !== 0);
  }

  /** Return the weights and bias that a board solves from sums of bytes (classes x features); null: one class only. */
  solveBytes(
    weightBits: 8 | 16, counts: Uint32Array, sums: Uint32Array, features: number, ranges: Uint8Array | null,
  ): { weights: Int8Array | Int16Array; bias: bigint[] } | null {
    const classes = counts.length;
    const rows = classes === 2 ? 1 : classes;
    return this.call((call) => {
      const weights = call.room((rows * features * weightBits) / 8);
      const bias = call.room(rows * 8);
      const parts = [features, classes, call.words(sums), call.words(counts), weights, bias, ranges ? call.bytes(ranges) : 0];
      // twin_model: seven words, options and half_life 0, padding, and a margin of 64 bits
      const model = call.words(Uint32Array.from([...parts, 0, 0, 0, 0, 0]));
      if (this.exports.solve_bytes(weightBits, model) !== 0) return null;
      const buffer = this.exports.memory.buffer;
      const found = weightBits === 8
        ? new Int8Array(buffer, weights, rows * features).slice()
        : new Int16Array(buffer, weights, rows * features).slice();
      const biases = weightBits === 8
        ? Array.from(new Int32Array(buffer, bias, rows), BigInt)
        : Array.from(new BigInt64Array(buffer, bias, rows));
      return { weights: found, bias: biases };
    });
  }

  /** Return recorded values in steps of a resolution, within 16 bits. */
  samplesOf(values: Floats, step: number): Int16Array {
    return this.call((call) => {
      const [from, to] = [call.floats(values), call.room(2 * values.length)];
      this.exports.samples_of(values.length, from, step, to);
      return new Int16Array(this.exports.memory.buffer, to, values.length).slice();
    });
  }

  /** Return the features (n x width) of windows (n x axes x length) of samples. */
  signalFeatures(shape: SignalShape, windows: Int16Array, width: number): Uint8Array {
    const n = windows.length / (shape.axes * shape.length);
    return this.call((call) => {
      const side = (i: 0 | 1): number => call.words(Int32Array.from(shape.ranges, (range) => range[i]));
      const dilations = call.words(Int32Array.from(shape.dilations));
      const levels = call.bytes(new Uint8Array(shape.levels.buffer));
      const plan = call.words(Uint32Array.from([
        shape.length, shape.axes, dilations, shape.dilations.length, shape.kernels, shape.thresholds, levels, shape.segments, side(0), side(1),
      ]));
      const [from, to] = [call.bytes(new Uint8Array(windows.buffer, windows.byteOffset, windows.byteLength)), call.room(n * width)];
      if (!this.exports.signal_features(plan, from, n, to)) throw new RangeError("no memory");
      return new Uint8Array(this.exports.memory.buffer, to, n * width).slice();
    });
  }

  private summarise(m: number, by: Grouping, missing: boolean, run: (call: Call, to: number) => number): Raw {
    const groups = by.classes * by.folds;
    return this.call((call) => {
      const codes = call.words(by.codes);
      const sums = call.room(groups * m * 8);
      const counts = call.room(groups * 8);
      const low = call.room(by.folds * m * 8);
      const high = call.room(by.folds * m * 8);
      const present = missing ? call.room(groups * m * 8) : 0;
      const to = call.words(Uint32Array.from([codes, groups, by.classes, sums, counts, low, high, present, call.weights(by.weights)]));
      const outcome = run(call, to);
      check(outcome);
      return {
        sums: call.readFloats(sums, groups * m),
        counts: call.readFloats(counts, groups),
        low: call.readFloats(low, by.folds * m),
        high: call.readFloats(high, by.folds * m),
        present: missing ? call.readFloats(present, groups * m) : null,
        finite: outcome === FINITE,
      };
    });
  }

  /** Run something with memory of its own. */
  private call<T>(run: (call: Call) => T): T {
    const mark = this.exports.mark();
    try {
      return run(new Call(this.exports, mark));
    } finally {
      this.exports.release(mark);
    }
  }
}

/** See native/moments/ridge.h. */
export interface RidgeProblem {
  /** Products of columns about their means (p x p), of which the upper triangle counts. */
  gram: Floats;
  /** Those of targets with columns (k x p) and with themselves (k). */
  cross: Floats;
  power: Floats;
  /** The weight of all rows. */
  count: number;
  /** One ridge for all targets. */
  together: boolean;
  /** Per row. */
  ridges: Floats;
  /** Rows (n x p) whose leverage is wanted. */
  rows: Floats;
}

/** Counts (k), sums (k x m), and what features are scaled by (m). */
export interface Learned {
  sums: Floats;
  counts: Floats;
  low: Floats;
  span: Floats;
}

/** Weights of scaled features (R x m), biases (R), and where each feature speaks for neither side (R x m). */
export interface Solved {
  weights: Floats;
  bias: Floats;
  midpoints: Floats;
}

/** Copies arguments into the memory of the module, one after the other. */
class Call {
  private end: number;

  constructor(private readonly exports: Exports, start: number) {
    this.end = start;
  }

  /** Return a place for n bytes. */
  room(n: number): number {
    const start = this.end;
    this.end = start + Math.ceil(n / 16) * 16;
    const lacking = this.end - this.exports.memory.buffer.byteLength;
    if (lacking > 0) this.exports.memory.grow(Math.ceil(lacking / 65536));
    this.exports.release(this.end); // what the kernels take begins here
    return start;
  }

  floats(values: Floats): number {
    const at = this.room(values.byteLength);
    new Float64Array(this.exports.memory.buffer, at, values.length).set(values);
    return at;
  }

  weights(values: Floats | null | undefined): number {
    return values ? this.floats(values) : 0;
  }

  bytes(values: Uint8Array): number {
    const at = this.room(values.length);
    new Uint8Array(this.exports.memory.buffer, at, values.length).set(values);
    return at;
  }

  words(values: Int32Array | Uint32Array): number {
    const at = this.room(values.byteLength);
    new Uint32Array(this.exports.memory.buffer, at, values.length).set(values);
    return at;
  }

  columns(columns: readonly Column[]): { data: number; bytes: number } {
    const places = columns.map((column) => (column instanceof Uint8Array ? this.bytes(column) : this.floats(column)));
    const narrow = Uint8Array.from(columns, (column) => (column instanceof Uint8Array ? 1 : 0));
    return { data: this.words(Uint32Array.from(places)), bytes: this.bytes(narrow) };
  }

  learned(learned: Learned): number {
    const { sums, counts, low, span } = learned;
    const places = [this.floats(counts), this.floats(sums), this.floats(low), this.floats(span)];
    return this.words(Uint32Array.from([counts.length, low.length, ...places]));
  }

  cut({ edges, starts, missing, ferns }: Cut): number {
    const own = [this.floats(edges), this.longs(starts), starts.length - 1, edges.length, missing ? 1 : 0];
    if (!ferns) return this.words(Uint32Array.from([...own, 0, 0, 0, 0]));
    const [n, q] = [countOf(ferns), ferns.features.length];
    const begins = this.longs(Int32Array.from({ length: n + 1 }, (_, t) => t * ferns.depth));
    const comparisons = new Int32Array(3 * q);
    for (let c = 0; c < q; c++) comparisons.set([ferns.features[c], ferns.bounds[c]], 3 * c);
    return this.words(Uint32Array.from([...own, begins, this.words(comparisons), n, q]));
  }

  /** What is in cells already, of columns whose first cells are at `offsets`. */
  coded(offsets: Int32Array): number {
    return this.words(Uint32Array.from([0, this.longs(offsets.map((first, c) => first - c)), offsets.length - 1, 0, 0, 0, 0, 0, 0]));
  }

  searched({ width, scores, unit, steps, ridge, codes, weights, mixes }: Searched): number {
    const numbers = this.floats(Float64Array.of(unit, ridge));
    const places = [numbers, this.words(codes), this.floats(weights), steps ? this.bytes(steps.begins) : 0];
    const cells = [this.weights(steps?.mean), this.weights(steps?.scale)];
    return this.words(Uint32Array.from([width, scores, codes.length, mixes ? 1 : 0, ...places, ...cells]));
  }

  steps({ begins, mean, scale }: StepsOfCells): number {
    const places = [this.bytes(begins), mean ? this.floats(mean) : 0, scale ? this.floats(scale) : 0];
    return this.words(Uint32Array.from([...places, begins.length]));
  }

  private longs(values: Int32Array): number {
    const at = this.room(values.length * 8);
    new BigInt64Array(this.exports.memory.buffer, at, values.length).set(Array.from(values, BigInt));
    return at;
  }

  write(at: number, values: Floats): void {
    new Float64Array(this.exports.memory.buffer, at, values.length).set(values);
  }

  readBytes(at: number, n: number): Uint8Array {
    return new Uint8Array(this.exports.memory.buffer, at, n).slice();
  }

  readFloats(at: number, n: number): Floats {
    return new Float64Array(this.exports.memory.buffer, at, n).slice();
  }
}

function check(outcome: number): void {
  if (outcome !== FINITE && outcome !== NOT_FINITE) throw new Error(`the kernel answered ${outcome}`);
}

/** Return how many ferns there are. */
export function countOf(ferns: Ferns | null): number {
  return ferns ? ferns.features.length / ferns.depth : 0;
}
