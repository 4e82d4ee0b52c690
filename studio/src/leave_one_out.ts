/** The sample's scores as if each row had been left out of the passes: as src/sefr/_weights/refine/leave_one_out.py. */

import type { Coder } from "./cells";
import type { HeldOut } from "./held_out";
import { type Floats, KnownBy } from "./kernel";
import type { Objective } from "./lbfgs";
import { dot, ones } from "./linear";
import type { ClassMeans, SampledRows } from "./standardise";

/** Rows whose products tell how many directions the rows share, and how much they vary along each; the most values of the latter. */
const [GRAM_ROWS, SPECTRUM_ROWS, GRAM_CELLS] = [128, 256, 1 << 22];
/** Multiplications that the leverage of every row may take, if the sample holds all rows. */
const LEVERAGE_PRODUCTS = 1 << 20;
/** A row that is left out had a say in which ferns were grown, too: its score moves so many times as far. */
const FERN_SAY = 1.4;

/** Return the sample's scores as if each row had been left out, for probabilities. */
export function heldOutFrom(objective: Objective, point: Floats, classes: ClassMeans, sampled: SampledRows, coder: Coder | null): HeldOut {
  const { sample: { codes: { length: n } }, space, scores, weights } = objective;
  if (coder) {
    const most = Math.min(SPECTRUM_ROWS, Math.max(2, Math.floor(GRAM_CELLS / space.width)));
    return leftOut(objective, point, classes, sampled, KnownBy.SPECTRUM, most, coder.ferns ? FERN_SAY : 1);
  }
  const few = sampled.weights && scores === 1 && n * (weights + 1) ** 2 <= LEVERAGE_PRODUCTS;
  return few ? leftOut(objective, point, classes, sampled, KnownBy.ALL_ROWS, n) : leaveOneOut(objective, point, classes, sampled);
}

/** Return the same from how many directions rows share. */
export function leaveOneOut(objective: Objective, point: Floats, classes: ClassMeans, sampled: SampledRows): HeldOut {
  return leftOut(objective, point, classes, sampled, KnownBy.PAIRS, GRAM_ROWS);
}

function leftOut(objective: Objective, point: Floats, classes: ClassMeans, sampled: SampledRows, by: KnownBy, most: number, say = 1): HeldOut {
  const { kernel, sample, space: { width }, ridge } = objective;
  const { codes, weights: shares } = sample;
  const rows = spreadOver(codes.length, most);
  const vectors = sample.vectors(rows);
  const columns = by === KnownBy.ALL_ROWS ? width : rows.length;
  const known = new Float64Array(rows.length * columns);
  vectors.forEach((own, i) => known.set(by === KnownBy.ALL_ROWS ? own : vectors.map((other) => dot(own, other)), i * columns));
  const seen = { scores: objective.scoresAt(point), codes, weights: sampled.weights ?? ones(codes.length), evidence: null };
  const squaredLengths = sample.squaredLengths();
  return { ...seen, scores: kernel.leaveOneOut({ ...seen, shares, classWeights: classes.weights, squaredLengths, ridge, by, width, rows, known, say }) };
}

/** Return at most so many of n rows, evenly spread, the first and the last among them. */
function spreadOver(n: number, most: number): number[] {
  const taken = Math.min(n, most);
  return Array.from({ length: taken }, (_, i) => (i + 1 === taken && i ? n - 1 : Math.floor(i * ((n - 1) / Math.max(1, taken - 1)))));
}
