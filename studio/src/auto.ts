/**
 * auto: a line, bins and ferns, weighed on rows held out, fitted to all, and added up. As src/sefr/_answers/auto.py and
 * src/sefr/_weights/auto.py, from which the constants come.
 */

import { auto as how } from "virtual:auto";
import { type Coder, learnCoder, sumsOfColumns, unevenPlaces, withFerns } from "./cells";
import { sampleSize } from "./gatherer";
import { countOf, type Floats, type Kernel } from "./kernel";
import { dot, ones, perClass, perScore, solveLinear, total } from "./linear";
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

  constructor(private readonly kernel: Kernel, private readonly rows: AllRows<L>) {
    const { columns, codes, ignoreMissing } = rows;
    [this.n, this.m] = [codes.length, columns.length];
    this.coder = learnCoder(kernel, { columns: [...columns], weights: null }, how.bins, ignoreMissing, true);
    this.cells = kernel.codeCells(columns, this.n, this.coder);
  }

  learn(): AutoModel<L> {
    const { n } = this;
    const folds = assignFolds(this.rows, this.cells, Math.max(how.parts, Math.ceil(n / how.partRows)));
    const { parts, found, starts } = n < how.smallRows ? this.weighSmall(folds) : this.weigh(folds);
    const weights = found.bestWeights();
    const fits = new Map<PartName, Fit<L>>();
    parts.forEach((part, p) => {
      if (weights[p] > 0 || p === parts.length - 1) fits.set(part.name, this.fit(part, ones(n), starts[p])!);
    });
    const logLoss = new Map<PartName | "sum", number>();
    if (found.codes.length) {
      parts.forEach(({ name }, p) => logLoss.set(name, found.loss(parts.map((_, q) => Number(p === q)))));
      logLoss.set("sum", found.loss(weights));
    }
    const choice = {
      weights: new Map(parts.map(({ name }, p) => [name, weights[p]])), logLoss,
      ferns: countOf(parts.at(-1)!.coder?.ferns ?? null), heldOut: found.codes.length,
    };
    return this.sum(fits, choice);
  }

  /** Fit parts to the rows that are not held out; if the scores of ferns are far too small, try a weaker penalty of theirs. */
  private weigh(folds: Folds): { parts: Part[]; found: HeldOutParts; starts: Start[] } {
    const [held, left] = [folds.held(0), folds.left()];
    const parts = this.parts(held, left);
    const fits = this.fits(parts, left);
    const found = this.heldOut(fits, held);
    const weights = found.bestWeights();
    const last = parts.length - 1;
    if (weights[last] >= how.tooSmall) {
      const again = this.fit(parts[last], left, startAt(fits[last], how.weaker));
      const others = [...fits.slice(0, -1), again];
      const other = this.heldOut(others, held);
      if (other.loss(other.bestWeights()) < found.loss(weights)) {
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
    return { parts, found: HeldOutParts.joined(known, parts.length, this.rows.classes.length), starts: parts.map(() => USUAL) };
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
      codes: Int32Array.from(at, (row) => this.rows.codes[row]), classes: this.rows.classes.length,
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
    const few = Math.min(Math.max(Math.floor(how.sampleCells / this.m), how.fewestSampled), most);
    return live.length <= few ? live : unevenPlaces(few).map((place) => live[Math.floor(place * live.length)]);
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
    const from = whole && start.planes?.bias.length === (seen.length === 2 ? 1 : seen.length) ? start : { ...USUAL, variance: start.variance };
    const before = from.planes && part.name === "line" ? (from.planes as Planes).scaling : null; // in its units
    const scaling = before ?? scalingOf(summary, columns.map((_, j) => String(j)));
    const all = whole ? summary : summed(codes.map((code) => (code < 0 ? code : seen[code])), Array.from(classes.keys()));
    const sefr = someClasses(solve(kernel, all, scaling, balanced), seen, classes.length);
    const passes = first || !from.planes ? how.passes[part.name] : how.furtherPasses[part.name];
    const width = part.coder ? part.coder.columnOf.length : this.m;
    const training = {
      batches: () => [{ columns: [...columns], codes, weights }],
      ...(part.cells ? { coded: { cells: part.cells, codes, weights } } : {}),
      sampled: this.sampleOf(codes, weights ?? ones(n), sampleSize(seen.length, width)),
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
      return over((i, s) => scores[i * seen.length + s] - rarity[s] - shares[s], 0);
    });
    return new HeldOutParts(logits, base, Int32Array.from(at, (row) => codes[row]), weights, wide);
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

/** What P parts say of n rows that they have not seen (n x K each), beyond the logarithm of the shares of the classes. */
class HeldOutParts {
  private best: number[] | null = null;

  constructor(
    private readonly logits: readonly Floats[], private readonly base: Floats, readonly codes: Int32Array, private readonly weights: Floats,
    private readonly classes: number,
  ) {}

  static joined(known: readonly HeldOutParts[], parts: number, classes: number): HeldOutParts {
    const all = (of: (one: HeldOutParts) => ArrayLike<number>): Floats => Float64Array.from(known.flatMap((one) => Array.from(of(one))));
    const logits = Array.from({ length: parts }, (_, p) => all((one) => one.logits[p]));
    return new HeldOutParts(logits, all((one) => one.base), Int32Array.from(all((one) => one.codes)), all((one) => one.weights), classes);
  }

  loss(shares: readonly number[]): number {
    return this.slopes(shares).loss;
  }

  /** Return the weights, none below 0, of the least log loss; few rows keep to the last part. */
  bestWeights(): number[] {
    this.best ??= this.search();
    return this.best;
  }

  private search(): number[] {
    const centre = this.logits.map((_, p) => Number(p === this.logits.length - 1));
    if (!this.codes.length) return centre;
    const hold = how.hold / total(this.weights);
    const held = (shares: readonly number[]): Slopes => {
      const { loss, slope, curvature } = this.slopes(shares);
      const away = shares.map((share, p) => share - centre[p]);
      return {
        loss: loss + hold * dot(away, away), slope: slope.map((value, p) => value + 2 * hold * away[p]),
        curvature: curvature.map((row, p) => row.map((value, q) => value + (p === q ? 2 * hold : 0))),
      };
    };
    let shares = centre;
    let at = held(shares);
    for (let turn = 0; turn < how.newtonSteps; turn++) {
      const to = lowest(at, shares);
      const step = to.map((value, p) => value - shares[p]);
      if (-dot(step, at.slope) < 1e-7 * Math.abs(at.loss)) break;
      let [shrink, trial] = [1, to];
      let found = held(trial);
      while (found.loss > at.loss && shrink >= 1e-4) {
        shrink /= 2;
        trial = shares.map((share, p) => share + shrink * step[p]);
        found = held(trial);
      }
      if (!(found.loss < at.loss)) break;
      [shares, at] = [trial, found];
    }
    return shares;
  }

  /** Return the log loss and its first and second derivatives by the weights of the parts. */
  private slopes(shares: readonly number[]): Slopes {
    const { logits, base, codes, classes: width } = this;
    const parts = logits.length;
    const all = total(this.weights);
    const slope = new Array<number>(parts).fill(0);
    const curvature = slope.map(() => new Array<number>(parts).fill(0));
    const [likely, mean] = [new Float64Array(width), new Float64Array(parts)];
    let loss = 0;
    for (let i = 0; i < codes.length; i++) {
      const weight = this.weights[i] / all;
      let [most, sum] = [-Infinity, 0];
      for (let k = 0; k < width; k++) {
        let logit = base[i * width + k];
        for (let p = 0; p < parts; p++) logit += shares[p] * logits[p][i * width + k];
        likely[k] = logit;
        if (logit > most) most = logit;
      }
      const own = likely[codes[i]] - most;
      for (let k = 0; k < width; k++) sum += likely[k] = Math.exp(likely[k] - most);
      loss += weight * (Math.log(sum) - own);
      for (let p = 0; p < parts; p++) {
        mean[p] = 0;
        for (let k = 0; k < width; k++) mean[p] += (logits[p][i * width + k] * likely[k]) / sum;
        slope[p] += weight * (mean[p] - logits[p][i * width + codes[i]]);
        for (let q = 0; q <= p; q++) {
          let both = -mean[p] * mean[q];
          for (let k = 0; k < width; k++) both += (logits[p][i * width + k] * logits[q][i * width + k] * likely[k]) / sum;
          curvature[p][q] += weight * both;
        }
      }
    }
    for (let p = 0; p < parts; p++) for (let q = 0; q < p; q++) curvature[q][p] = curvature[p][q];
    return { loss, slope, curvature };
  }
}

interface Slopes {
  loss: number;
  slope: number[];
  curvature: number[][];
}

/** Return where a quadratic function is lowest among what is not below 0: the few sets of what is above it are tried in turn. */
function lowest({ slope, curvature }: Slopes, at: readonly number[]): number[] {
  const wanted = slope.map((value, p) => dot(curvature[p], at) - value);
  const value = (x: readonly number[]): number => x.reduce((sum, own, p) => sum + own * (dot(curvature[p], x) / 2 - wanted[p]), 0);
  let best = at.map(() => 0);
  for (let set = 1; set < 1 << at.length; set++) {
    const free = Array.from(at.keys()).filter((p) => (set >> p) & 1);
    const solved = solveLinear(Float64Array.from(free.flatMap((p) => free.map((q) => curvature[p][q]))), Float64Array.from(free, (p) => wanted[p]));
    if (solved.some((own) => !(own >= 0))) continue;
    const x = at.map(() => 0);
    free.forEach((p, i) => (x[p] = solved[i]));
    if (value(x) < value(best)) best = x;
  }
  return best;
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

/** The part that each row is in; `shared` rows are in all parts. */
class Folds {
  constructor(private readonly number: Int32Array, private readonly shared: Uint8Array, private readonly parts: number) {}

  /** Return the share of each row that a part holds out: 0, 1, or that of one part. */
  held(fold: number): Floats {
    return Float64Array.from(this.number, (own, i) => (this.shared[i] ? 1 / this.parts : Number(own === fold)));
  }

  /** Return the share of each row in the parts 1 to 3. */
  left(): Floats {
    return Float64Array.from(this.number, (own, i) => (this.shared[i] ? (how.parts - 1) / this.parts : Number(own > 0 && own < how.parts)));
  }
}

/**
 * Return the parts that rows are in, of so many about equal ones in each class. It depends on the cells of a row, not on
 * where it stands, and equal rows of a class are in one part, or if they are many shared out among all.
 */
function assignFolds<L>({ codes, classes }: AllRows<L>, cells: Uint8Array, parts: number): Folds {
  const n = codes.length;
  const hashes = hashesOf(cells, n);
  const order = Array.from(codes.keys()).sort((a, b) => codes[a] - codes[b] || (hashes[a] < hashes[b] ? -1 : hashes[a] > hashes[b] ? 1 : a - b));
  const starts = Array.from(order.keys()).filter((i) => !i || codes[order[i]] !== codes[order[i - 1]] || hashes[order[i]] !== hashes[order[i - 1]]);
  const sizes = starts.map((start, run) => (starts[run + 1] ?? n) - start);
  const left = sizes.map((size) => (size >= parts ? 0 : size));
  const totals = new Float64Array(classes.length);
  starts.forEach((start, run) => (totals[codes[order[start]]] += left[run]));
  const [number, shared] = [new Int32Array(n), new Uint8Array(n)];
  const gone = new Float64Array(classes.length);
  starts.forEach((start, run) => {
    const code = codes[order[start]];
    const middle = gone[code] + left[run] / 2;
    gone[code] += left[run];
    const place = Math.floor(Math.min(Math.max((parts * middle) / Math.max(totals[code], 1e-300), 0), parts - 1));
    for (let i = start; i < start + sizes[run]; i++) {
      number[order[i]] = place;
      shared[order[i]] = Number(sizes[run] >= parts);
    }
  });
  return new Folds(number, shared, parts);
}

/** Return a number per row that depends on its cells alone, and looks like a random one: a polynomial modulo 2^64, mixed (splitmix64). */
function hashesOf(cells: Uint8Array, n: number): BigUint64Array {
  const found = new BigUint64Array(n);
  const m = cells.length / n;
  const prime = 0x100000001b3n;
  for (let i = 0; i < n; i++) {
    let hash = 0n;
    for (let j = 0; j < m; j++) hash = BigInt.asUintN(64, hash * prime + BigInt(cells[i * m + j]));
    hash = BigInt.asUintN(64, (hash ^ (hash >> 30n)) * 0xbf58476d1ce4e5b9n);
    hash = BigInt.asUintN(64, (hash ^ (hash >> 27n)) * 0x94d049bb133111ebn);
    found[i] = hash ^ (hash >> 31n);
  }
  return found;
}
