/** Scores of a few training rows as if the model had not seen them: as src/sefr/_weights/held_out.py. */

import type { Floats, Kernel } from "./kernel";
import { ones, total } from "./linear";
import { means, type Planes, type Scaling, scoresOf, solve } from "./solve";
import type { SampledRows } from "./standardise";
import { each } from "./double_double";
import type { Summary } from "./summary";

/** Scores (S x R) of some rows with their codes; `weights` say how many rows each stands for, `evidence` how many were looked at. */
export interface HeldOut {
  scores: Floats;
  codes: Int32Array;
  weights: Floats;
  /** null: the weights themselves. */
  evidence: Floats | null;
}

const SCORED_ROWS = 256;
const FEWEST_SCORED = 64;
const SCORED_PRODUCTS = 1 << 20;
const SCORED_PART = 16;
const FEW_CELLS = 1 << 17;
const MOST_CELLS = 1 << 18;
const FEWEST_FEATURES = 256;
/** Columns that stand for all come in runs. */
const RUN = 64;
const RARE_PART = 1 / 8;
const RARE_ROWS = 48;
/** The variance of values in [a, b] is at most (mean - a)(b - mean), a third of it if they are spread evenly. */
const EVEN = 1 / 3;
/** Of means whose sum is lower nothing is known. */
const LEAST_MEAN = 1e-7;

/** Return leave-one-out scores of a few of the rows behind a Summary, by what one pass has learned. */
export function heldOutScores<L>(kernel: Kernel, rows: SampledRows, summary: Summary<L>, planes: Planes, balanced: boolean): HeldOut {
  const n = rows.codes.length;
  const counted = rows.weights ? total(rows.weights) : n;
  const [most, step] = share(counted, summary.low.length, planes.bias.length, summary.coder !== null);
  const { some, weights, evidence } = sampleOf(rows, counted, most, summary.counts.head);
  const columns = rows.columns.map((column) => Float64Array.from(some, (i) => column[i]));
  const scores = step > 1
    ? scoresBySomeFeatures(kernel, columns, some.length, step, summary, planes, balanced)
    : scoresOf(kernel, planes, columns, some.length);
  const codes = Int32Array.from(some, (i) => rows.codes[i]);
  return unseenBySefr({ scores, codes, weights, evidence }, summary, planes);
}

/** Return how many rows are scored, by every how many-th run of their features. */
function share(rows: number, features: number, planes: number, whole: boolean): [number, number] {
  if (whole) return [SCORED_ROWS, 1];
  const part = Math.floor(Math.min((rows * features) / SCORED_PART, 1e15));
  const cells = Math.min(Math.max(FEW_CELLS, Math.min(MOST_CELLS, part)), Math.floor((SCORED_PRODUCTS + part) / planes));
  const most = Math.min(SCORED_ROWS, Math.max(FEWEST_SCORED, Math.floor(cells / FEWEST_FEATURES)));
  const step = Math.floor(features / Math.max(FEWEST_FEATURES, Math.floor(cells / most)));
  if (step > 1) return [most, step];
  return [Math.min(SCORED_ROWS, Math.max(FEWEST_SCORED, Math.floor(cells / features))), 1];
}

/** Return about `most` rows, evenly spread by weight; those of a rare class by themselves. */
export function sampleOf(
  { codes, weights: given }: SampledRows, counted: number, most: number, counts: Floats,
): { some: number[]; weights: Floats; evidence: Floats | null } {
  const n = codes.length;
  if (Math.max(counted, n) <= most) return { some: Array.from(codes.keys()), weights: given ?? ones(n), evidence: null };
  const spread = spreadRows(n, given, most);
  const bound = (RARE_PART * total(counts)) / counts.length;
  const rare = counts.map((count) => Number(count > 0 && count < bound));
  if (!rare.includes(1)) return { some: spread, weights: ones(most), evidence: null };
  const parts = [spread.filter((i) => !rare[codes[i]])];
  const shares = [total(counts.filter((_, k) => !rare[k])) / Math.max(1, parts[0].length)];
  counts.forEach((count, k) => {
    if (!rare[k]) return;
    let own = Array.from(codes.keys()).filter((i) => codes[i] === k);
    if (own.length > RARE_ROWS) {
      const within = given && Float64Array.from(own, (i) => given[i]);
      own = spreadRows(own.length, within, RARE_ROWS).map((at) => own[at]);
    }
    parts.push(own);
    shares.push(count / Math.max(1, own.length));
  });
  const each = Float64Array.from(parts.flatMap((part, p) => part.map(() => shares[p])));
  const scale = each.length / total(each);
  return { some: parts.flat(), weights: each.map((value) => value * scale), evidence: ones(each.length) };
}

/** Return `most` rows, evenly spread by weight; a heavy row several times. */
function spreadRows(n: number, weights: Floats | null, most: number): number[] {
  const all = weights ? total(weights) : n;
  const places = Array.from({ length: most }, (_, i) => ((i + 0.5) / most) * all);
  if (!weights) return places.map(Math.floor);
  let [row, end] = [0, weights[0]];
  return places.map((place) => {
    while (row < n && end <= place) end += weights[++row] ?? 0;
    return Math.min(row, n - 1);
  });
}

/** Score wide rows by hyperplanes that know some of the features, times their number. */
function scoresBySomeFeatures<L>(
  kernel: Kernel, columns: readonly Floats[], n: number, step: number, summary: Summary<L>, planes: Planes, balanced: boolean,
): Floats {
  const m = columns.length;
  const known: number[] = [];
  for (let run = Math.floor(step / 2); run < Math.floor(m / RUN); run += step) {
    for (let j = run * RUN; j < (run + 1) * RUN; j++) known.push(j);
  }
  const line = (part: Floats): Floats => Float64Array.from(known, (j) => part[j]);
  const lines = (part: Floats): Floats =>
    Float64Array.from({ length: (part.length / m) * known.length }, (_, i) => part[Math.floor(i / known.length) * m + known[i % known.length]]);
  const { low, span } = planes.scaling;
  const scaling: Scaling = { low: line(low), span: line(span) };
  const part: Summary<L> = {
    ...summary, sums: each(summary.sums, lines), present: summary.present && each(summary.present, lines), low: line(summary.low), high: line(summary.high),
  };
  const some = known.map((j) => columns[j]);
  const scores = scoresOf(kernel, solve(kernel, part, scaling, balanced), some, n).map((score) => score * (m / known.length));
  if (!summary.present) return scores;
  const whole = scoresOf(kernel, planes, columns, n);
  const gone = Array.from({ length: n }, (_, i) => some.some((column) => Number.isNaN(column[i])));
  return scores.map((score, i) => (gone[Math.floor(i / planes.bias.length)] ? whole[i] : score));
}

/** Return SEFR's scores of rows it has learned as if it had not: less what a row of their class does. */
function unseenBySefr<L>(seen: HeldOut, summary: Summary<L>, planes: Planes): HeldOut {
  const k = summary.counts.head.length;
  const favour = summary.coder ? favourInCells(summary) : favourOf(summary, planes);
  const r = planes.bias.length;
  const scores = seen.scores.slice();
  seen.codes.forEach((code, i) => {
    const own = favour[code * k + code];
    if (r === 1) scores[i] -= code === 1 ? own : -own;
    else for (let c = 0; c < r; c++) scores[i * r + c] -= favour[code * k + c];
  });
  return { ...seen, scores };
}

/** Return how much too high each score (k x k) is for a row of each class: of the others 0. */
function favourOf<L>(summary: Summary<L>, { scaling }: Planes): Floats {
  const counts = summary.counts.head;
  const [k, m] = [counts.length, scaling.low.length];
  const known = (values: Floats): Floats => values.map((value) => (Number.isNaN(value) ? 0 : value));
  const own = known(means(summary, scaling));
  const rest = known(means(summary, scaling, true));
  const ends = (side: Floats): Floats => side.map((value, j) => (scaling.span[j] > 0 ? (value - scaling.low[j]) / scaling.span[j] : 0));
  const [low, high] = [ends(summary.low), ends(summary.high)];
  const favour = new Float64Array(k * k);
  counts.forEach((count, c) => {
    let sum = 0;
    for (let j = 0; j < m; j++) {
      const [a, b] = [own[c * m + j], rest[c * m + j]];
      const steep = a + b > LEAST_MEAN ? (2 * b) / (a + b) ** 2 : 0;
      sum += steep * EVEN * Math.max((a - low[j]) * (high[j] - a), 0);
    }
    favour[c * k + c] = count > 1 ? sum / (count - 1) : 0;
  });
  return favour;
}

/** Return the same for cells, which may have few rows: the weight of one that has a row less is found anew. */
function favourInCells<L>(summary: Summary<L>): Floats {
  const [counts, cells] = [summary.counts.head, summary.sums.head];
  const [k, all] = [counts.length, total(counts)];
  const m = cells.length / k;
  const sums = new Float64Array(m);
  cells.forEach((count, at) => (sums[at % m] += count));
  const weight = (own: number, of: number, rest: number, ofRest: number): number => {
    const [a, b] = [Math.max(own, 0) / Math.max(of, 1), Math.max(rest, 0) / Math.max(ofRest, 1)];
    return a + b > LEAST_MEAN ? (a - b) / (a + b) : 0;
  };
  const favour = new Float64Array(k * k);
  for (let c = 0; c < k; c++) {
    const [count, others] = [counts[c], all - counts[c]];
    for (let j = 0; j < m; j++) {
      const [own, rest] = [cells[c * m + j], sums[j] - cells[c * m + j]];
      const now = weight(own, count, rest, others);
      const withoutOwn = now - weight(own - 1, count - 1, rest, others);
      const withoutOther = now - weight(own, count, rest - 1, others - 1);
      for (let of = 0; of < k; of++) {
        if (counts[of] > 1) favour[of * k + c] += (cells[of * m + j] / counts[of]) * (of === c ? withoutOwn : withoutOther);
      }
    }
  }
  return favour;
}
