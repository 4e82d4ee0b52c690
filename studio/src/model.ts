/** The model in the page: what the file taught, what was taught since, and what follows. */

import { cellOf, sumsOfFeatures } from "./cells";
import type { Kernel } from "./kernel";
import { byLabel, labelText, type Label } from "./labels";
import type { Settings, Trained } from "./learning";
import type { Sample } from "./messages";
import { pictureOf, type Picture } from "./picture";
import { fitScaling, probabilities, type TemperatureScaling } from "./probabilities";
import { quantise, type Quantised } from "./quantise";
import { answerOf, type Planes, type Scaling, scalingOf, scoresOf, solve } from "./solve";
import { join, summarise, type Summary, without } from "./summary";

export class Model {
  readonly labels: readonly string[];
  readonly names: readonly string[];
  readonly picture: Picture | null;
  summary: Summary<Label>;
  scaling: Scaling;
  planes: Planes;
  /** What the model was before each change, with the words for it. */
  readonly before: { summary: Summary<Label>; what: string }[] = [];
  private quantised = new Map<8 | 16, Quantised>();
  private fittedScaling: { found: TemperatureScaling | null } | null = null;

  constructor(
    readonly kernel: Kernel, readonly trained: Trained, readonly sample: Sample, readonly settings: Settings, readonly fileName: string,
  ) {
    this.summary = trained.summary;
    this.names = trained.names;
    this.labels = trained.summary.classes.map(labelText);
    this.picture = pictureOf(trained.names);
    this.fittedScaling = { found: trained.calibration };
    [this.scaling, this.planes] = this.solved();
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
    const { passes } = this.settings;
    return this.trained.refined && `a model of passes=${passes} cannot learn on: its weights were refined on all rows. Train with one pass.`;
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
    this.fittedScaling ??= { found: heldOut && fitScaling(heldOut, this.summary.counts.head) };
    return this.fittedScaling.found;
  }

  /** Return how likely each class is for a record; null where that is not known. */
  probabilities(values: Float64Array): Float64Array | null {
    return this.calibration && probabilities(this.calibration, this.scores(values));
  }

  /** Return what each feature of a record adds to the score of a class; together they are the score. */
  contributions(values: Float64Array, k: number): Float64Array {
    const m = this.names.length;
    const [row, sign] = this.side(k);
    const { weights, midpoints, table } = this.planes;
    if (table) {
      const { coder, entries } = table;
      return values.map((value, j) => {
        const cell = cellOf(coder, j, value);
        return cell < 0 ? 0 : sign * entries[row * coder.featureOf.length + coder.offsets[j] + cell];
      });
    }
    return values.map((value, j) => {
      if (Number.isNaN(value)) return 0;
      const scaled = this.scaling.span[j] > 0 ? (value - this.scaling.low[j]) / this.scaling.span[j] : 0;
      return sign * weights[row * m + j] * (scaled - midpoints[row * m + j]);
    });
  }

  /** Return what one more unit of each feature adds to the score of a class; of a model without bins. */
  weightsPerUnit(k: number): Float64Array {
    return this.featureScores(k).map((weight, j) => (this.scaling.span[j] > 0 ? weight / this.scaling.span[j] : 0));
  }

  /** Return what a value of each bin of a feature adds to the score of a class, its edges, and its rows. */
  curve(j: number, k: number): { effects: Float64Array; edges: Float64Array; rows: Float64Array; missing: number | null } {
    const { coder, entries } = this.planes.table!;
    const [row, sign] = this.side(k);
    const cells = coder.featureOf.length;
    const [first, last] = [coder.offsets[j], coder.offsets[j + 1] - (coder.missing ? 1 : 0)];
    const all = (c: number): number => this.labels.reduce((sum, _, other) => sum + this.summary.sums.head[other * cells + c], 0);
    return {
      effects: entries.slice(row * cells + first, row * cells + last).map((entry) => sign * entry),
      edges: coder.edges.slice(coder.starts[j], coder.starts[j + 1]),
      rows: Float64Array.from({ length: last - first }, (_, c) => all(first + c)),
      missing: coder.missing && all(last) > 0 ? sign * entries[row * cells + last] : null,
    };
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

  /** Return how much each feature moves the score from the mean row of the others to that of a class. */
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
    const { table } = this.planes;
    if (table) {
      const [row, sign] = this.side(k);
      return sumsOfFeatures(Float64Array.from({ length: m }, (_, c) => known(distance(c) * sign * table.entries[row * m + c])), table.coder);
    }
    return this.featureScores(k).map((weight, j) =>
      this.scaling.span[j] > 0 ? known((weight * Math.abs(distance(j))) / this.scaling.span[j]) : 0);
  }

  /** Learn one more record. */
  teach(values: Float64Array, k: number): void {
    this.change(join(this.summary, this.summaryOf([values], [k]), byLabel), `a record of ${this.labels[k]}`);
  }

  /** Take records back that were learned. */
  forget(rows: readonly Float64Array[], codes: readonly number[], what: string): void {
    this.change(without(this.summary, this.summaryOf(rows, codes)), what);
  }

  /** Add what a board learned. */
  merge(other: Summary<Label>, what: string): void {
    this.change(join(this.summary, other, byLabel), what);
  }

  /** Be as before the last change, exactly. */
  undo(): void {
    const last = this.before.pop();
    if (last) this.become(last.summary);
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
    const [summary] = summarise(this.kernel, columns, this.labels, by, this.settings.ignoreMissing, this.summary.coder);
    return { ...summary, classes: this.classes };
  }

  private change(summary: Summary<Label>, what: string): void {
    const old = this.summary;
    this.become(summary);
    this.before.push({ summary: old, what });
  }

  private become(summary: Summary<Label>): void {
    this.summary = summary;
    [this.scaling, this.planes] = this.solved();
    this.quantised.clear();
    this.fittedScaling = null;
  }

  private solved(): [Scaling, Planes] {
    const scaling = scalingOf(this.summary, this.names);
    return [scaling, this.trained.refined?.planes ?? solve(this.kernel, this.summary, scaling, this.settings.balanced)];
  }
}
