/** L-BFGS on the logistic (softmax) loss with a ridge penalty: the search of native/refine/search.h, and what it asks for. */

import type { Floats, Gradient, Kernel, LinearModel, Searched, SearchState, StepsOfCells } from "./kernel";
import type { Planes } from "./solve";

/** Where the minimum is searched: a point is weights (R x width) and intercepts (R), flat. */
export interface Space {
  readonly width: number;
  readonly unit: number;
  /** How a model follows from a point: its weights times a unit, or tables of steps. */
  readonly pointModel: { unit: number; steps: StepsOfCells | null };
  /** The variance that a weight is expected to have, in units of what is usual. */
  readonly weightVariance: number;
  /** Of each class in the space (K x width), without the unit. */
  readonly classMeans: Floats;
  model(weights: Floats, intercepts: Floats): LinearModel;
  point(planes: Pick<Planes, "weights" | "bias">): Floats;
  hyperplanes(weights: Floats, intercepts: Floats): { weights: Floats; bias: Floats; midpoints: Floats };
}

/** Some rows in a space; their weights add up to 1. */
export interface Sample {
  readonly codes: Int32Array;
  readonly weights: Floats;
  /** All rows there are (S x width), if the sample has them; else null. */
  readonly allRows: Floats | null;
  /** Whether the scores of a mixture of models are the mixture of their scores. */
  readonly mixes: boolean;
  /** Return the scores (S x R), without intercepts. */
  scores(coef: Floats, r: number): Floats;
  vectors(rows: readonly number[]): Floats[];
  squaredLengths(): Floats;
}

/** The penalised loss of all rows: what is searched for its minimum. */
export class Objective {
  constructor(
    readonly kernel: Kernel, readonly space: Space, readonly sample: Sample, readonly ridge: number, readonly scores: number,
    readonly pass: (model: LinearModel) => Gradient,
  ) {}

  /** Return the same with another penalty. */
  under(ridge: number): Objective {
    return new Objective(this.kernel, this.space, this.sample, ridge, this.scores, this.pass);
  }

  get weights(): number {
    return this.scores * this.space.width;
  }

  get searched(): Searched {
    const { codes, weights, mixes } = this.sample;
    return { width: this.space.width, scores: this.scores, ...this.space.pointModel, ridge: this.ridge, codes, weights, mixes };
  }

  model(point: Floats): LinearModel {
    return this.space.model(point.slice(0, this.weights), point.slice(this.weights));
  }

  /** Return the scores of the sample's rows at a point (S x R). */
  scoresAt(point: Floats): Floats {
    const { coef, intercept } = this.model(point);
    const [scores, r] = [this.sample.scores(coef, this.scores), this.scores];
    for (let i = 0; i < scores.length; i += r) for (let k = 0; k < r; k++) scores[i + k] += intercept[k];
    return scores;
  }
}

/** How far a search has come: the best point, where steps start, and what L-BFGS remembers. */
export class Search {
  private constructor(private readonly objective: Objective, private current: SearchState) {}

  /** Begin where loss and gradient are known, with the steps that another search remembers, if any. */
  static begin(objective: Objective, point: Floats, loss: number, gradient: Floats, memory: SearchState | null): Search {
    return new Search(objective, objective.kernel.beginSearch(objective.searched, point, loss, gradient, memory));
  }

  get state(): SearchState {
    return this.current;
  }

  get best(): { point: Floats; loss: number } {
    const { kernel, weights, scores } = this.objective;
    return kernel.bestOf(this.current, weights + scores);
  }

  /** Let the first of some points, or with `start` their best mixture, be tried first. */
  tryPoints(points: readonly Floats[], start: Floats | null): void {
    this.current = this.objective.kernel.tryPoints(this.current, points, start);
  }

  /** Return the search at its best point under another ridge: no row need be read to know it there. */
  under(objective: Objective): Search {
    return new Search(objective, objective.kernel.moveSearch(objective.searched, this.current, this.objective.ridge));
  }

  /** Make passes until they no longer help; the loss after each is added to `curve`. */
  minimise(curve: number[], passes: number): void {
    const { kernel, sample, pass, searched } = this.objective;
    const left = passes - curve.length;
    if (left <= 0) return;
    const { state, losses } = sample.allRows
      ? kernel.searchRows(searched, this.current, left, sample.allRows)
      : kernel.search(searched, this.current, left, { scores: (coef, r) => sample.scores(coef, r), pass });
    this.current = state;
    curve.push(...losses);
  }
}
