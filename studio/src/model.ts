/** The model in the page: what the file taught, what was taught since, and what follows. */

import { cellOf, featuresIn, fernCells, sumsOfColumns, type Table } from "./cells";
import { rounded } from "./dom";
import type { Kernel } from "./kernel";
import { byLabel, labelText, type Label } from "./labels";
import type { Settings, Trained } from "./learning";
import type { Sample } from "./messages";
import { pictureOf, type Picture } from "./picture";
import { fitScaling, probabilities, type TemperatureScaling } from "./probabilities";
import { quantise, type Quantised } from "./quantise";
import type { Recipe } from "./recipe";
import { addProducts, type Products, solveClasses } from "./moments";
import { answerOf, classWeights, type Planes, type Scaling, scalingOf, scoresOf, solve } from "./solve";
import { join, summarise, type Summary, without } from "./summary";

/** A column of the table among the features: its own, or one for each of its values. */
export interface Input {
  name: string;
  first: number;
  values: readonly string[] | null;
}

/** Return the columns behind the features of a recipe. */
export function inputsOf({ columns, categories }: Recipe): Input[] {
  let first = 0;
  return columns.map((name) => {
    const values = categories.get(name) ?? null;
    const input = { name, first, values };
    first += values ? values.length : 1;
    return input;
  });
}

/** Return the value of a record in a column, in words. */
export function valueOf({ first, values }: Input, record: Float64Array): string {
  if (Number.isNaN(record[first])) return "missing";
  if (!values) return rounded(record[first]);
  return values.find((_, i) => record[first + i] === 1) ?? "none";
}

/** Return what each column adds, from what its features add. */
export function byInput(inputs: readonly Input[], parts: Float64Array): Float64Array {
  return Float64Array.from(inputs, ({ first, values }) => parts.subarray(first, first + (values?.length ?? 1)).reduce((a, b) => a + b, 0));
}

/** The name of what no column says by itself. */
export const TOGETHER = "several columns together";

/** What a model was learned from. */
interface State {
  summary: Summary<Label>;
  products: Products | null;
}

function copyOf(products: Products): Products {
  return { ...products, pairs: products.pairs.slice() };
}

export class Model {
  readonly inputs: readonly Input[];
  readonly labels: readonly string[];
  readonly names: readonly string[];
  readonly picture: Picture | null;
  summary: Summary<Label>;
  /** Of an exact model. */
  products: Products | null;
  scaling: Scaling;
  planes: Planes;
  /** What each cell adds, with lines beside the cells drawn as steps; null without bins. */
  private shown: Table | null;
  /** What the model was before each change, with the words for it. */
  readonly before: { state: State; what: string }[] = [];
  private quantised = new Map<8 | 16, Quantised>();
  private fittedScaling: { found: TemperatureScaling | null } | null = null;

  constructor(
    readonly kernel: Kernel, readonly trained: Trained, readonly sample: Sample, readonly settings: Settings, readonly fileName: string,
  ) {
    this.summary = trained.summary;
    this.products = trained.products;
    this.names = trained.names;
    this.labels = trained.summary.classes.map(labelText);
    this.picture = pictureOf(trained.names);
    this.inputs = inputsOf(trained.recipe);
    this.fittedScaling = { found: trained.calibration };
    [this.scaling, this.planes] = this.solved();
    this.shown = this.withLines();
  }

  get classes(): readonly Label[] {
    return this.summary.classes;
  }

  /** The name of the file without its ending, as the command takes it. */
  get stem(): string {
    return this.fileName.replace(/\.[^.]*$/, "") || "model";
  }

  row(i: number): Float64Array {
    const m = this.names.length;
    return this.sample.values.slice(i * m, (i + 1) * m);
  }

  /** The highest value of all features. */
  get highest(): number {
    return Math.max(...this.trained.ranges.high);
  }

  /** Why the model cannot learn further records; null if it can. */
  get fixed(): string | null {
    const what = this.trained.auto ? "the auto method" : "several passes";
    return this.trained.refined && `A model of ${what} cannot learn further records: its weights come from all rows. Choose the paper's method for that.`;
  }

  /** The mean row of all; with bins, of the rows that are kept. */
  mean(): Float64Array {
    const m = this.names.length;
    const { counts, sums, present, coder } = this.summary;
    return Float64Array.from({ length: m }, (_, j) => {
      let [sum, cells] = [0, 0];
      if (coder) {
        for (let i = j; i < this.sample.values.length; i += m) {
          if (Number.isNaN(this.sample.values[i])) continue;
          sum += this.sample.values[i];
          cells++;
        }
      }
      for (let k = 0; k < counts.head.length && !coder; k++) {
        sum += sums.head[k * m + j];
        cells += present ? present.head[k * m + j] : counts.head[k];
      }
      return cells > 0 ? sum / cells : 0;
    });
  }

  /** The mean of numbers and the commonest category of each column. */
  typical(): Float64Array {
    const mean = this.mean();
    for (const { first, values } of this.inputs) {
      if (!values) continue;
      const own = mean.subarray(first, first + values.length);
      const best = own.indexOf(Math.max(...own));
      own.forEach((_, i) => (own[i] = Number(i === best)));
    }
    return mean;
  }

  /** Return one score per class for a record: the higher wins. */
  scores(values: Float64Array): Float64Array {
    const scores = scoresOf(this.kernel, this.planes, Array.from(values, (value) => Float64Array.of(value)), 1);
    return scores.length === 1 ? Float64Array.of(-scores[0] / 2, scores[0] / 2) : scores;
  }

  answer(values: Float64Array): number {
    const scores = this.scores(values);
    return this.labels.length === 2 ? (scores[1] > 0 ? 1 : 0) : answerOf(scores, 0, scores.length);
  }

  /** What turns scores into probabilities, fitted when first asked for; null where no row tells. */
  get calibration(): TemperatureScaling | null {
    const { heldOut } = this.trained;
    this.fittedScaling ??= { found: heldOut && fitScaling(this.kernel, heldOut, this.summary.counts.head) };
    return this.fittedScaling.found;
  }

  /** Return how likely each class is for a record; null where that is not known. */
  probabilities(values: Float64Array): Float64Array | null {
    return this.calibration && probabilities(this.calibration, this.scores(values));
  }

  /** Return what each feature of a record adds to the score of a class; together they are the score. */
  contributions(values: Float64Array, k: number): Float64Array {
    const { table, beside } = this.planes;
    if (!table) return this.ofLines(this.planes, values, k);
    const [row, sign] = this.side(k);
    const { coder, entries } = table;
    const lines = beside && this.ofLines(beside, values, k);
    return values.map((value, j) => {
      const cell = cellOf(coder, j, value);
      return (cell < 0 ? 0 : sign * entries[row * coder.columnOf.length + coder.offsets[j] + cell]) + (lines ? lines[j] : 0);
    });
  }

  /** Return what several features of a record add together to the score of a class, beyond what each adds; null if the model has no interactions. */
  together(values: Float64Array, k: number): number | null {
    const { table } = this.planes;
    if (!table?.coder.ferns) return null;
    const [row, sign] = this.side(k);
    return fernCells(table.coder, values).reduce((sum, c) => sum + sign * table.entries[row * table.coder.columnOf.length + c], 0);
  }

  private ofLines({ scaling: { low, span }, weights, midpoints }: Planes, values: Float64Array, k: number): Float64Array {
    const m = this.names.length;
    const [row, sign] = this.side(k);
    return values.map((value, j) => {
      if (Number.isNaN(value)) return 0;
      const scaled = span[j] > 0 ? (value - low[j]) / span[j] : 0;
      return sign * weights[row * m + j] * (scaled - midpoints[row * m + j]);
    });
  }

  private withLines(): Table | null {
    const { table, beside } = this.planes;
    const { auto } = this.trained;
    if (!table || !beside || !auto) return table;
    const { coder } = table;
    const [m, cells] = [featuresIn(coder), coder.columnOf.length];
    const entries = table.entries.slice();
    auto.values.forEach((value, c) => {
      const j = coder.columnOf[c];
      if (coder.missing && c === coder.offsets[j + 1] - 1) return;
      const { low, span } = beside.scaling;
      const scaled = span[j] > 0 ? (value - low[j]) / span[j] : 0;
      for (let r = 0; r * cells < entries.length; r++) entries[r * cells + c] += beside.weights[r * m + j] * (scaled - beside.midpoints[r * m + j]);
    });
    return { ...table, entries };
  }

  /** Return what one more unit of each feature adds to the score of a class; of a model without bins. */
  weightsPerUnit(k: number): Float64Array {
    return this.featureScores(k).map((weight, j) => (this.scaling.span[j] > 0 ? weight / this.scaling.span[j] : 0));
  }

  /** Return what a value of each bin of a feature adds to the score of a class, its edges, and its rows. */
  curve(j: number, k: number): { effects: Float64Array; edges: Float64Array; rows: Float64Array; missing: number | null } {
    const { coder, entries } = this.shown!;
    const [row, sign] = this.side(k);
    const cells = coder.columnOf.length;
    const [first, last] = [coder.offsets[j], coder.offsets[j + 1] - (coder.missing ? 1 : 0)];
    const all = (c: number): number => this.labels.reduce((sum, _, other) => sum + this.summary.sums.head[other * cells + c], 0);
    return {
      effects: entries.slice(row * cells + first, row * cells + last).map((entry) => sign * entry),
      edges: coder.edges.slice(coder.starts[j], coder.starts[j + 1]),
      rows: Float64Array.from({ length: last - first }, (_, c) => all(first + c)),
      missing: coder.missing && all(last) > 0 ? sign * entries[row * cells + last] : null,
    };
  }

  /** Return what each value of a column of categories adds to the score of a class; of a model with bins. */
  effectsOfValues({ first, values }: Input, k: number): Float64Array {
    const own = values!.map((_, i) => Float64Array.from(values!, (_, j) => Number(i === j)));
    return Float64Array.from(own, (record) => {
      const whole = new Float64Array(this.names.length).fill(NaN);
      whole.set(record, first);
      return this.contributions(whole, k).subarray(first, first + values!.length).reduce((a, b) => a + b, 0);
    });
  }

  /** Return the weight of every scaled feature for a class; with bins, the entry of its strongest bin. */
  featureScores(k: number): Float64Array {
    const m = this.names.length;
    const [row, sign] = this.side(k);
    if (!this.planes.table) return this.planes.weights.slice(row * m, (row + 1) * m).map((weight) => sign * weight);
    return Float64Array.from({ length: m }, (_, j) => {
      const { effects, rows } = this.curve(j, k);
      return effects.filter((_, c) => rows[c] > 0).reduce((best, one) => (Math.abs(one) > Math.abs(best) ? one : best), 0);
    });
  }

  /** Return how much each feature, and last what several say together, moves the score from the mean row of the others to that of a class. */
  effects(k: number): Float64Array {
    const { counts, sums, present } = this.summary;
    const m = sums.head.length / counts.head.length;
    const total = (part: Float64Array, j: number): number => counts.head.reduce((sum, _, other) => sum + part[other * m + j], 0);
    const cells = present?.head ?? Float64Array.from(sums.head, (_, i) => counts.head[Math.floor(i / m)]);
    const distance = (j: number): number => {
      const [own, n] = [sums.head[k * m + j], cells[k * m + j]];
      return own / n - (total(sums.head, j) - own) / (total(cells, j) - n);
    };
    const known = (value: number): number => (Number.isFinite(value) ? value : 0);
    const { shown } = this;
    if (shown) {
      const [row, sign] = this.side(k);
      const moved = sumsOfColumns(Float64Array.from({ length: m }, (_, c) => known(distance(c) * sign * shown.entries[row * m + c])), shown.coder);
      const features = featuresIn(shown.coder);
      return shown.coder.ferns ? Float64Array.from([...moved.subarray(0, features), moved.subarray(features).reduce((a, b) => a + b, 0)]) : moved;
    }
    return this.featureScores(k).map((weight, j) =>
      this.scaling.span[j] > 0 ? known((weight * Math.abs(distance(j))) / this.scaling.span[j]) : 0);
  }

  /** Learn one more record. */
  teach(values: Float64Array, k: number): void {
    const products = this.products && addProducts(copyOf(this.products), this.productsOf([values]));
    this.change({ summary: join(this.summary, this.summaryOf([values], [k]), byLabel), products }, `a record of ${this.labels[k]}`);
  }

  /** Take records back that were learned. */
  forget(rows: readonly Float64Array[], codes: readonly number[], what: string): void {
    this.change({ summary: without(this.summary, this.summaryOf(rows, codes)), products: null }, what);
  }

  /** Add what a board learned. */
  merge(other: Summary<Label>, what: string): void {
    this.change({ summary: join(this.summary, other, byLabel), products: null }, what);
  }

  /** Be as before the last change, exactly. */
  undo(): void {
    const last = this.before.pop();
    if (last) this.become(last.state);
  }

  inIntegers(weightBits: 8 | 16): Quantised {
    let found = this.quantised.get(weightBits);
    if (!found) {
      found = quantise(this.kernel, this, weightBits);
      this.quantised.set(weightBits, found);
    }
    return found;
  }

  /** The row of weights of a class, and the sign that makes it speak for the class. */
  private side(k: number): [number, number] {
    return this.labels.length === 2 ? [0, k === 1 ? 1 : -1] : [k, 1];
  }

  private summaryOf(rows: readonly Float64Array[], codes: readonly number[]): Summary<Label> {
    const columns = this.names.map((_, j) => Float64Array.from(rows, (row) => row[j]));
    const by = { codes: Int32Array.from(codes), classes: this.classes.length, folds: 1 };
    const [summary] = summarise(this.kernel, columns, this.labels, by, this.trained.ignoreMissing, this.summary.coder);
    return { ...summary, classes: this.classes };
  }

  private productsOf(rows: readonly Float64Array[]): Products {
    const columns = this.names.map((_, j) => Float64Array.from(rows, (row) => row[j]));
    const coder = this.summary.coder!;
    return { count: rows.length, pairs: this.kernel.countPairs(columns, rows.length, coder, coder.columnOf.length), target: null };
  }

  private change(state: State, what: string): void {
    const { summary, products } = this;
    this.become(state);
    this.before.push({ state: { summary, products }, what });
  }

  private become({ summary, products }: State): void {
    this.summary = summary;
    this.products = products;
    [this.scaling, this.planes] = this.solved();
    this.shown = this.withLines();
    this.quantised.clear();
    this.fittedScaling = null;
  }

  private solved(): [Scaling, Planes] {
    const scaling = scalingOf(this.summary, this.names);
    const { kernel, summary, products, settings: { balanced }, trained } = this;
    if (summary === trained.summary && trained.planes) return [scaling, trained.planes];
    if (products) return [scaling, solveClasses(kernel, summary, products, scaling, classWeights(balanced, summary), null).planes];
    return [scaling, trained.refined?.planes ?? solve(kernel, summary, scaling, balanced)];
  }
}
