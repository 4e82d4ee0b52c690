/** Scores as if each row had been left out of the passes over cells: as SeenByPasses in src/sefr/_weights/refine/leave_one_out.py. */

import type { Coder } from "./cells";
import { doubts, type HeldOut, unseenByReach } from "./held_out";
import type { Floats } from "./kernel";
import type { Objective } from "./lbfgs";
import { dot, eigenvalues, ones, total } from "./linear";
import type { ClassMeans, SampledRows } from "./standardise";

/** Rows whose products tell how much they vary along each direction, and the most values of these rows. */
const [SPECTRUM_ROWS, GRAM_CELLS] = [256, 1 << 22];
/** A row that is left out had a say in which ferns were grown, too: its score moves so many times as far. */
const FERN_SAY = 1.4;
/** Rows that determine nearly as many weights as they are leave over at least this part of them. */
const LEAST_LEFT = 1 / 4;
/** The logarithm of the ridge is searched by halving, from so far below the least that it may be without rows that hold their own scores. */
const [SPAN, HALVINGS] = [20, 50];

/** Return the sample's scores as if each row had been left out, where the weights are those of cells, which are more than the rows determine. */
export function leftOutOfCells(objective: Objective, point: Floats, classes: ClassMeans, sampled: SampledRows, coder: Coder): HeldOut {
  const { sample, scores: r } = objective;
  const scores = objective.scoresAt(point);
  const n = sample.codes.length;
  const rows = spreadOver(n, Math.min(SPECTRUM_ROWS, Math.max(2, Math.floor(GRAM_CELLS / objective.space.width))));
  const weights = sampled.weights ?? ones(n);
  const learned: Learned = {
    spectrum: spectrumOf(sample.vectors(rows), Float64Array.from(rows, (row) => sample.weights[row])),
    rows: Math.max(total(rows.map((row) => weights[row])), rows.length),
    pushes: Float64Array.from(sample.codes, (code) => classes.weights[code] * (r > 1 ? 1 - 1 / r : 1)),
    squaredLengths: sample.squaredLengths(), shares: sample.weights, ridge: objective.ridge,
  };
  const say = coder.ferns ? FERN_SAY : 1;
  return unseenByReach({ scores, codes: sample.codes, weights, evidence: null }, r, reachOf(learned, doubts(scores, r)).map((reach) => say * reach));
}

/** Return at most so many of n rows, evenly spread, the first and the last among them. */
export function spreadOver(n: number, most: number): number[] {
  const taken = Math.min(n, most);
  return Array.from({ length: taken }, (_, i) => (i + 1 === taken && i ? n - 1 : Math.floor(i * ((n - 1) / Math.max(1, taken - 1)))));
}

/** What the reach of rows follows from: the spectrum that some rows show, and of each row of the sample its weight in the loss. */
interface Learned {
  spectrum: Floats;
  rows: number;
  pushes: Floats;
  squaredLengths: Floats;
  shares: Floats;
  ridge: number;
}

function spectrumOf(vectors: readonly Floats[], weights: Floats): Floats {
  const [m, all] = [vectors.length, Math.max(total(weights), 1e-300)];
  const roots = weights.map((weight) => Math.sqrt(weight / all));
  const products = new Float64Array(m * m);
  for (let i = 0; i < m; i++) {
    for (let j = 0; j <= i; j++) products[i * m + j] = products[j * m + i] = dot(vectors[i], vectors[j]) * roots[i] * roots[j];
  }
  return eigenvalues(products).map((value) => Math.max(value, 0));
}

/** Return how far the score of each row moves per unit of its residual, from how much doubt there is of it. */
function reachOf({ spectrum, rows, pushes, squaredLengths, shares, ridge }: Learned, doubt: Floats): Floats {
  const all = Math.max(total(spectrum), 1e-300);
  const lengths = pushes.map((push, i) => (push * squaredLengths[i]) / all);
  const reachUnder = (weaker: number): { reach: Floats; curvature: number } => {
    const determined = total(spectrum.map((value) => value / (value + weaker)));
    const curvature = (ridge * Math.max(1 - determined / rows, LEAST_LEFT)) / weaker;
    return { reach: lengths.map((length, i) => (length * determined + pushes[i]) / curvature), curvature };
  };
  const curvatureUnder = (reach: Floats): number => dot(shares, doubt.map((own, i) => own / (1 + reach[i] * own)));
  const most = dot(shares, doubt);
  const least = curvatureUnder(lengths.map((length) => (length * all) / ridge));
  let [low, high] = [most, least].map((part) => Math.log(ridge / Math.max(part, 1e-200)));
  low -= SPAN;
  for (let turn = 0; turn < HALVINGS; turn++) {
    const middle = (low + high) / 2;
    const { reach, curvature } = reachUnder(Math.exp(middle));
    if (curvature > curvatureUnder(reach)) low = middle;
    else high = middle;
  }
  return reachUnder(Math.exp(high)).reach;
}
