/**
 * auto: a line, bins and ferns, weighed on rows held out, fitted to all, and added up. As src/sefr/_answers/auto.py,
 * from which the constants come.
 */

import { auto as how } from "virtual:auto";
import { assignFolds, type Folds } from "./auto_folds";
import { type Coder, learnCoder, sumsOfColumns, unevenRows, withFerns } from "./cells";
import { isSparse, sampleSize } from "./gatherer";
import { countOf, type Floats, type HeldOutParts, type Kernel } from "./kernel";
import { ones, perClass, perScore, total } from "./linear";
import type { TemperatureScaling } from "./probabilities";
import { type Ended, refine, type Refined, rowWeights, type Start, USUAL } from "./refine";
import { classWeights, type Planes, planesOf, scalingOf, scoresOf, solve } from "./solve";
import type { SampledRows } from "./standardise";
import { summarise, type Summary } from "./summary";

/** All rows of a training in memory: features by columns, and the class of each row. */
export interface AllRows<L> {
  columns: readonly Floats[];
  codes: Int32Array;
  classes: readonly L[];
  ignoreMissing: boolean;
  balanced: boolean;
}

export type PartName = "line" | "bins" | "ferns";

/** What was chosen: how much each part counts, the log loss of each on rows that were held out, and of their sum. */
export interface AutoChoice {
  weights: Map<PartName, number>;
  logLoss: Map<PartName | "sum", number>;
  ferns: number;
  heldOut: number;
}

/** What was chosen, and the mean value of the rows in each cell of a feature. */
export interface Auto {
  choice: AutoChoice;
  values: Floats;
}

export interface AutoModel<L> {
  summary: Summary<L>;
  /** Its planes have the lines beside the table. */
  refined: Refined;
  calibration: TemperatureScaling;
  auto: Auto;
}

/** One of the models that are added up; null for the coder: a line. */
interface Part {
  name: PartName;
  coder: Coder | null;
  /** The rows in cells. */
  cells: Uint8Array | null;
}

/** A part fitted to some rows; of the classes that these have, by their numbers. */
interface Fit<L> {
  part: Part;
  seen: number[];
  summary: Summary<L>;
  ended: Ended;
}

/** Return what rows teach. */
export function learnAuto<L>(kernel: Kernel, rows: AllRows<L>): AutoModel<L> {
  return new Learner(kernel, rows).learn();
}

class Learner<L> {
  private readonly coder: Coder;
  private readonly cells: Uint8Array;
  private readonly n: number;
  private readonly m: number;
  /** Passes of a fit that starts where another ended. */
  private further = how.furtherPasses;

  constructor(private readonly kernel: Kernel, private readonly rows: AllRows<L>) {
    const { columns, codes, ignoreMissing } = rows;
    [this.n, this.m] = [codes.length, columns.length];
    this.coder = learnCoder(kernel, { columns: [...columns], weights: null }, how.bins, ignoreMissing, true);
    this.cells = kernel.codeCells(columns, this.n, this.coder);
  }

  learn(): AutoModel<L> {
    const { n } = this;
    const count = Math.max(how.parts, Math.ceil(n / how.partRows));
    const folds = assignFolds(this.rows.codes, this.rows.classes.length, this.cells, count);
    if (count > how.parts) this.further = { ...how.furtherPasses, ferns: how.fernPassesOfMany[Number(this.rows.classes.length > 2)] };
    const { parts, found, starts } = n < how.smallRows ? this.weighSmall(folds) : this.weigh(folds);
    const { shares: weights, losses } = this.kernel.weighParts(found);
    const fits = new Map<PartName, Fit<L>>();
    parts.forEach((part, p) => {
      if (weights[p] > 0 || p === parts.length - 1) fits.set(part.name, this.fit(part, ones(n), starts[p])!);
    });
    const logLoss = new Map<PartName | "sum", number>();
    if (found.codes.length) {
      parts.forEach(({ name }, p) => logLoss.set(name, losses[p]));
      logLoss.set("sum", losses[parts.length]);
    }
    const choice = {
      weights: new Map(parts.map(({ name }, p) => [name, weights[p]])), logLoss,
      ferns: countOf(parts.at(-1)!.coder?.ferns ?? null), heldOut: Math.min(found.codes.length, this.n), // repeated rows are held out more than once
    };
    return this.sum(fits, choice);
  }

  /** Fit parts to the rows that are not held out; if the scores of ferns are far too small, try a weaker penalty of theirs. */
  private weigh(folds: Folds): { parts: Part[]; found: HeldOutParts; starts: Start[] } {
    const [held, left] = [folds.held(0), folds.left()];
    const parts = this.parts(held, left);
    const fits = this.fits(parts, left);
    const found = this.heldOut(fits, held);
    const { shares, losses } = this.kernel.weighParts(found);
    const last = parts.length - 1;
    if (shares[last] >= how.tooSmall) {
      const again = this.fit(parts[last], left, startAt(fits[last], how.weaker));
      const others = [...fits.slice(0, -1), again];
      const other = this.heldOut(others, held);
      if (this.kernel.weighParts(other).losses[last + 1] < losses[last + 1]) {
        return { parts, found: other, starts: others.map((fit, p) => startAt(fit, p === last ? how.weaker : 1)) };
      }
    }
    return { parts, found, starts: fits.map((fit) => startAt(fit, 1)) };
  }

  /** Do the same with few rows: each is held out once. */
  private weighSmall(folds: Folds): { parts: Part[]; found: HeldOutParts; starts: Start[] } {
    const known: HeldOutParts[] = [];
    for (let fold = 0; fold < how.parts; fold++) {
      const held = folds.held(fold);
      const left = held.map((share) => 1 - share);
      const codes = this.rows.codes.filter((_, i) => left[i] > 0);
      if (!held.some((share) => share > 0) || codes.every((code) => code === codes[0])) continue;
      known.push(this.heldOut(this.fits(this.parts(held, left), left), held));
    }
    const parts = this.parts(null, ones(this.n));
    return { parts, found: joined(known, parts.length, this.rows.classes.length), starts: parts.map(() => USUAL) };
  }

  /** Return a line, bins, and ferns grown on rows that are left; no ferns if nothing varies. */
  private parts(held: Floats | null, left: Floats): Part[] {
    const { kernel, coder, cells, m } = this;
    const parts: Part[] = [{ name: "line", coder: null, cells: null }, { name: "bins", coder, cells }];
    const live = Array.from({ length: this.n }, (_, i) => i).filter((i) => left[i] + (held ? held[i] : 0) > 0);
    const at = this.sampled(live, how.fernRows);
    const own = new Uint8Array(at.length * m);
    at.forEach((row, i) => own.set(cells.subarray(row * m, (row + 1) * m), i * m));
    const subsets = Math.min(Math.max(Math.floor(Math.min(this.n, how.fernRows) / how.subsetRows), 1), how.mostSubsets);
    const ferns = kernel.growFerns(own, coder.offsets, {
      codes: Int32Array.from(at, (row) => this.rows.codes[row]), classes: this.rows.classes.length, targets: null,
      held: held && Uint8Array.from(at, (row) => Number(held[row] === 1)),
      most: how.mostFerns, depth: how.depth, tried: how.tried, bounds: how.bounds, subsets, step: how.step,
    });
    if (ferns) {
      const wider = withFerns(coder, ferns);
      parts.push({ name: "ferns", coder: wider, cells: kernel.codeCells(this.rows.columns, this.n, wider) });
    }
    return parts;
  }

  /** Return some of the rows that count: all, or so many, with a step that is never even. */
  private sampled(live: readonly number[], most: number): readonly number[] {
    const some = unevenRows(live.length, this.m, most);
    return some ? some.map((at) => live[at]) : live;
  }

  /** Return each part fitted to shares of the rows; the ferns start where the bins ended. */
  private fits(parts: readonly Part[], shares: Floats): Fit<L>[] {
    const fits: Fit<L>[] = [];
    for (const part of parts) {
      let start = USUAL;
      if (part.name === "ferns") {
        const { weights, bias } = fits.at(-1)!.ended.refined.planes;
        const [narrow, wide] = [weights.length / bias.length, part.coder!.columnOf.length];
        const wider = new Float64Array(bias.length * wide);
        bias.forEach((_, k) => wider.set(weights.subarray(k * narrow, (k + 1) * narrow), k * wide));
        start = { planes: { weights: wider, bias }, memory: null, variance: 1 };
      }
      fits.push(this.fit(part, shares, start, true));
    }
    return fits;
  }

  /** Return a part fitted to shares of the rows, in few passes if it starts where another fit ended. */
  private fit(part: Part, shares: Floats, start: Start, first = false): Fit<L> {
    const { kernel, n } = this;
    const { columns, classes, ignoreMissing, balanced } = this.rows;
    const present = new Uint8Array(classes.length);
    shares.forEach((share, i) => share > 0 && (present[this.rows.codes[i]] = 1));
    const seen = Array.from(classes.keys()).filter((k) => present[k]);
    const place = Int32Array.from(classes, (_, k) => seen.indexOf(k));
    const codes = this.rows.codes.map((code, i) => (shares[i] > 0 ? place[code] : -1));
    const weights = shares.some((share) => share > 0 && share < 1) ? shares : null;
    const whole = seen.length === classes.length;
    const summed = (own: Int32Array, of: readonly number[]): Summary<L> => {
      const [found] = summarise(kernel, columns, of.map(String), { codes: own, classes: of.length, folds: 1, weights }, ignoreMissing, part.coder);
      return { ...found, classes: of.map((k) => classes[k]) };
    };
    const summary = summed(codes, seen);
    const units = scalingOf(summary, columns.map((_, j) => String(j)));
    const anew = { ...USUAL, variance: start.variance };
    let from = whole && start.planes?.bias.length === (seen.length === 2 ? 1 : seen.length) ? start : anew;
    const before = from.planes && part.name === "line" ? (from.planes as Planes).scaling : null; // in its units, if the rows have such
    const beyond = before?.span.some((span, j) => span > 0 && units.span[j] / how.far > span);
    if (beyond) from = anew;
    const scaling = before && !beyond ? before : units;
    const all = whole ? summary : summed(codes.map((code) => (code < 0 ? code : seen[code])), Array.from(classes.keys()));
    const sefr = someClasses(solve(kernel, all, scaling, balanced), seen, classes.length);
    const passes = first || !from.planes ? how.passes[part.name] : this.further[part.name];
    const width = part.coder ? part.coder.columnOf.length : this.m;
    const training = {
      batches: () => [{ columns: [...columns], codes, weights }],
      ...(part.cells ? { coded: { cells: part.cells, codes, weights } } : {}),
      sampled: this.sampleOf(codes, weights ?? ones(n), sampleSize(seen.length, width, !part.coder && isSparse(columns, n))),
      narrow: columns.map(() => false),
    };
    const ended = refine(kernel, summary, scaling, sefr, classWeights(balanced, summary), training, { passes, keep: false }, from);
    return { part, seen, summary, ended };
  }

  /** Return up to so many rows, evenly spread by weight; weights only if they are all rows, runs of equal ones as one. */
  private sampleOf(codes: Int32Array, weights: Floats, most: number): SampledRows {
    const { columns } = this.rows;
    const live = Array.from(codes.keys()).filter((i) => codes[i] >= 0 && weights[i] > 0);
    const taken = (rows: readonly number[], own: Floats | null): SampledRows => ({
      columns: columns.map((column) => Float64Array.from(rows, (row) => column[row])),
      codes: Int32Array.from(rows, (row) => codes[row]), weights: own,
    });
    const starts: number[] = [];
    for (let at = 0; at < live.length && starts.length <= most; at++) {
      const [row, last] = [live[at], live[at - 1]];
      const again = at > 0 && codes[row] === codes[last] && columns.every((column) => column[row] === column[last] || (Number.isNaN(column[row]) && Number.isNaN(column[last])));
      if (!again) starts.push(at);
    }
    if (starts.length <= most) {
      const sums = starts.map((start, i) => total(live.slice(start, starts[i + 1] ?? live.length).map((row) => weights[row])));
      return taken(starts.map((start) => live[start]), Float64Array.from(sums));
    }
    return taken(spreadRows(live.map((row) => weights[row]), most).map((at) => live[at]), null);
  }

  /** Return what fits say of rows that they have not seen, of classes that they have. */
  private heldOut(fits: readonly Fit<L>[], held: Floats): HeldOutParts {
    const { kernel } = this;
    const { codes, classes, columns, balanced } = this.rows;
    const { seen, summary } = fits[0];
    let at = Array.from(codes.keys()).filter((i) => held[i] > 0 && seen.includes(codes[i]));
    let weights: Floats = Float64Array.from(at, (i) => held[i]);
    if (at.length > how.mostHeld) {
      at = spreadRows([...weights], how.mostHeld).map((i) => at[i]);
      weights = ones(at.length);
    }
    const counts = summary.counts.head;
    const shares = counts.map((count) => Math.log(count / total(counts)));
    const rarity = rowWeights(counts, classWeights(balanced, summary)).map(Math.log);
    const wide = classes.length;
    const over = (value: (i: number, k: number) => number, none: number): Floats => {
      const all = new Float64Array(at.length * wide).fill(none);
      for (let i = 0; i < at.length; i++) seen.forEach((k, s) => (all[i * wide + k] = value(i, s)));
      return all;
    };
    const base = over((_, s) => shares[s], how.leastLogit);
    const some = columns.map((column) => Float64Array.from(at, (row) => column[row]));
    const logits = fits.map(({ ended: { refined: { planes } } }) => {
      const scores = perClass(scoresOf(kernel, planes, some, at.length), planes.bias.length);
      const bounded = scores.map((score) => Math.min(Math.max(score, how.leastLogit), -how.leastLogit));
      return over((i, s) => bounded[i * seen.length + s] - rarity[s] - shares[s], 0);
    });
    return { logits, base, codes: Int32Array.from(at, (row) => codes[row]), weights, classes: wide };
  }

  /** Return the parts as one model: their scores, each times what makes it a log probability. */
  private sum(fits: ReadonlyMap<PartName, Fit<L>>, choice: AutoChoice): AutoModel<L> {
    const { summary, ended, part } = [...fits.values()].at(-1)!;
    const coder = part.coder!;
    const [counts, cells, classes] = [summary.counts.head, coder.columnOf.length, summary.classes.length];
    const scores = ended.refined.planes.bias.length;
    const entries = new Float64Array(scores * cells);
    for (const [name, fit] of fits) {
      const { table } = fit.ended.refined.planes;
      if (!table) continue;
      const [own, weight] = [table.entries.length / scores, choice.weights.get(name)!];
      for (let k = 0; k < scores; k++) for (let c = 0; c < own; c++) entries[k * cells + c] += weight * table.entries[k * own + c];
    }
    const rarity = rowWeights(counts, classWeights(this.rows.balanced, summary)).map(Math.log);
    const shares = counts.map((count) => Math.log(Math.max(count / total(counts), 1e-300)));
    const rest = 1 - total([...choice.weights.values()]);
    const constant = perScore(rarity.map((value, k) => value + shares[k]), classes).map((value) => value * rest);
    const rows = new Float64Array(cells);
    for (let k = 0; k < classes; k++) for (let c = 0; c < cells; c++) rows[c] += summary.sums.head[k * cells + c];
    const more = shareOut(constant, entries, coder, rows);
    const all = entries.map((entry, i) => entry + more[i]);
    const scaling = scalingOf(summary, []);
    const line = fits.get("line");
    const planes = {
      ...planesOf({ weights: all, bias: new Float64Array(scores), midpoints: new Float64Array(all.length) }, scaling, coder, false),
      beside: line ? linesOf(line.ended.refined.planes, choice.weights.get("line")!) : null,
    };
    return {
      summary,
      refined: { planes, lossCurve: ended.refined.lossCurve, heldOut: null },
      calibration: { inverse: 1, offsets: rarity.map((value) => -value), precision: Float64Array.from([choice.heldOut, ...rarity.map(() => 0)]) },
      auto: { choice, values: this.values() },
    };
  }

  /** Return the mean value of some of the rows in each cell of a feature; an edge where none lies. */
  private values(): Floats {
    const { coder, cells, m } = this;
    const found = new Float64Array(coder.offsets[m]);
    const [sums, counts] = [new Float64Array(found.length), new Float64Array(found.length)];
    for (let j = 0; j < m; j++) {
      const edges = coder.edges.subarray(coder.starts[j], coder.starts[j + 1]);
      if (edges.length) found.set([edges[0], ...edges], coder.offsets[j]);
    }
    for (const row of this.sampled(Array.from({ length: this.n }, (_, i) => i), how.sampleRows)) {
      for (let j = 0; j < m; j++) {
        const value = this.rows.columns[j][row];
        if (!Number.isFinite(value)) continue;
        sums[coder.offsets[j] + cells[row * m + j]] += value;
        counts[coder.offsets[j] + cells[row * m + j]]++;
      }
    }
    return found.map((value, c) => (counts[c] > 0 ? sums[c] / counts[c] : value));
  }
}

/** Return what parts say of the rows of several folds. */
function joined(known: readonly HeldOutParts[], parts: number, classes: number): HeldOutParts {
  const all = (of: (one: HeldOutParts) => ArrayLike<number>): Floats => Float64Array.from(known.flatMap((one) => Array.from(of(one))));
  const logits = Array.from({ length: parts }, (_, p) => all((one) => one.logits[p]));
  return { logits, base: all((one) => one.base), codes: Int32Array.from(all((one) => one.codes)), weights: all((one) => one.weights), classes };
}

/** Return lines times a weight: w (x' - t), with t the midpoints. */
function linesOf({ scaling, weights, midpoints, bias }: Planes, weight: number): Planes {
  const own = weights.map((value) => weight * value);
  const m = own.length / bias.length;
  const shares = own.map((value, i) => value * midpoints[i]);
  return planesOf({ weights: own, bias: bias.map((_, k) => -total(shares.subarray(k * m, (k + 1) * m))), midpoints }, scaling, null, true);
}

/** Return the hyperplanes of some of the classes. */
function someClasses(planes: Planes, seen: readonly number[], classes: number): Planes {
  if (seen.length === classes) return planes;
  const [m, r] = [planes.weights.length / planes.bias.length, planes.bias.length];
  const picked = (rows: Floats, width: number): Floats => perScore(Float64Array.from(seen.flatMap((k) => Array.from(rows.subarray(k * width, (k + 1) * width)))), seen.length);
  return r < classes ? planes : { ...planes, weights: picked(planes.weights, m), bias: picked(planes.bias, 1) };
}

function startAt({ ended: { refined, memory } }: { ended: Ended }, variance: number): Start {
  return { planes: refined.planes, memory, variance };
}

/** Return so many places, evenly spread by weight; a heavy row several times. */
function spreadRows(weights: readonly number[], most: number): number[] {
  let sum = 0;
  const ends = weights.map((weight) => (sum += weight));
  let at = 0;
  return Array.from({ length: most }, (_, i) => {
    const place = ((i + 0.5) / most) * sum;
    while (at < ends.length && ends[at] <= place) at++;
    return Math.min(at, ends.length - 1);
  });
}

/** Return what each cell adds so that a row gets a constant (R): by how much columns move the score. */
function shareOut(constant: Floats, entries: Floats, coder: Coder, rows: Floats): Floats {
  const [cells, columns] = [rows.length, coder.offsets.length - 1];
  const inColumn = sumsOfColumns(rows, coder);
  const share = rows.map((count, c) => count / Math.max(inColumn[coder.columnOf[c]], 1e-300));
  const column = (i: number): number => Math.floor(i / cells) * columns + coder.columnOf[i % cells];
  const mean = sumsOfColumns(entries.map((entry, i) => entry * share[i % cells]), coder);
  const power = sumsOfColumns(entries.map((entry, i) => (entry - mean[column(i)]) ** 2 * share[i % cells]), coder);
  const part = power.map((own, i) => {
    const k = Math.floor(i / columns);
    const all = total(power.subarray(k * columns, (k + 1) * columns));
    return (all > 0 ? own / all : 1 / columns) * constant[k];
  });
  return entries.map((_, i) => part[column(i)]);
}
