/** The model in the page: what the file taught, what was taught since, and what follows. */

import type { Kernel } from "./kernel";
import { byLabel, labelText, type Label } from "./labels";
import type { Settings, Trained } from "./learning";
import type { Sample } from "./messages";
import { pictureOf, type Picture } from "./picture";
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

  constructor(
    readonly kernel: Kernel, readonly trained: Trained, readonly sample: Sample, readonly settings: Settings, readonly fileName: string,
  ) {
    this.summary = trained.summary;
    this.names = trained.names;
    this.labels = trained.summary.classes.map(labelText);
    this.picture = pictureOf(trained.names);
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

  /** The mean row of all. */
  mean(): Float64Array {
    const m = this.names.length;
    const { counts, sums, present } = this.summary;
    return Float64Array.from({ length: m }, (_, j) => {
      let [sum, cells] = [0, 0];
      for (let k = 0; k < counts.head.length; k++) {
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

  /** Return what each feature of a record adds to the score of a class; together they are the score. */
  contributions(values: Float64Array, k: number): Float64Array {
    const m = this.names.length;
    const binary = this.labels.length === 2;
    const [row, sign] = binary ? [0, k === 1 ? 1 : -1] : [k, 1];
    const { weights, midpoints } = this.planes;
    return values.map((value, j) => {
      if (Number.isNaN(value)) return 0;
      const scaled = this.scaling.span[j] > 0 ? (value - this.scaling.low[j]) / this.scaling.span[j] : 0;
      return sign * weights[row * m + j] * (scaled - midpoints[row * m + j]);
    });
  }

  /** Return the weight of every scaled feature for a class, from -1 to 1. */
  featureScores(k: number): Float64Array {
    const m = this.names.length;
    if (this.labels.length > 2) return this.planes.weights.slice(k * m, (k + 1) * m);
    return this.planes.weights.map((weight) => (k === 1 ? weight : -weight));
  }

  /** Return how much each feature moves the score from the mean row of the others to that of a class. */
  effects(k: number): Float64Array {
    const m = this.names.length;
    const { counts, sums, present } = this.summary;
    const total = (part: Float64Array, j: number): number => counts.head.reduce((sum, _, other) => sum + part[other * m + j], 0);
    const cells = present?.head ?? Float64Array.from(sums.head, (_, i) => counts.head[Math.floor(i / m)]);
    return this.featureScores(k).map((weight, j) => {
      const [own, n] = [sums.head[k * m + j], cells[k * m + j]];
      const distance = Math.abs(own / n - (total(sums.head, j) - own) / (total(cells, j) - n));
      const moved = this.scaling.span[j] > 0 ? (weight * distance) / this.scaling.span[j] : 0;
      return Number.isFinite(moved) ? moved : 0;
    });
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
      found = quantise(this.kernel, this.summary, this.scaling, this.names, this.settings.balanced, weightBits);
      this.quantised.set(weightBits, found);
    }
    return found;
  }

  private summaryOf(rows: readonly Float64Array[], codes: readonly number[]): Summary<Label> {
    const columns = this.names.map((_, j) => Float64Array.from(rows, (row) => row[j]));
    const by = { codes: Int32Array.from(codes), classes: this.classes.length, folds: 1 };
    const [summary] = summarise(this.kernel, columns, this.labels, by, this.settings.ignoreMissing);
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
  }

  private solved(): [Scaling, Planes] {
    const scaling = scalingOf(this.summary, this.names);
    return [scaling, solve(this.kernel, this.summary, scaling, this.settings.balanced)];
  }
}
