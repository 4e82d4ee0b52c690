/** Recordings of a sensor: from tables of samples, and to a table of windows that everything else learns from. */

import type { Kernel } from "./kernel";
import { byCodePoints, general, repr } from "./python_text";
import { checkSignal, clippedIn, featureWords, planOf, signalFeatures, type SignalPlan, type SignalSettings } from "./signal_plan";
import { SourceError, Table, TableColumn } from "./table";

/** Samples of one situation, without a gap. */
export interface Recording {
  name: string;
  label: string;
  /** A line of the table for each sample: where the first one stands. */
  line: number;
  /** Axis by axis. */
  values: Float64Array[];
}

/** A table of samples, and where in it files begin. */
export interface Samples {
  table: Table;
  label: string;
  /** The first row of every file, with its name; none if the table is one file. */
  files: readonly { row: number; name: string }[];
}

/** What the page shows of recordings. */
export interface RecordingsView {
  axes: string[];
  recordings: Recording[];
  /** How many there are; those above are the first of each label. */
  count: number;
  windows: number;
  /** What is to be known of recordings that were left out, or of a sensor at its end. */
  notes: string[];
}

/** Columns that are no axis but say when a sample was taken; how many of their units are a second, if known. */
const TIMES: ReadonlyMap<string, readonly number[]> = new Map<string, readonly number[]>([
  ["t", [1, 1e3, 1e6]], ["time", [1, 1e3, 1e6]], ["timestamp", [1, 1e3, 1e6]],
  ["s", [1]], ["seconds", [1]],
  ["ms", [1e3]], ["millis", [1e3]], ["milliseconds", [1e3]],
  ["us", [1e6]], ["micros", [1e6]], ["microseconds", [1e6]],
]);
const TOLERATED = 0.05;
const GAP = 1.5;
const SHOWN_PER_LABEL = 2;
const SHOWN = 12;
const LABEL = "label";

/** Join the tables of several recordings, each with the label of its folder. */
export function joined(tables: readonly Table[], labels: readonly string[]): Samples {
  const order = Array.from(tables.keys()).sort((a, b) => byCodePoints(labels[a], labels[b]) || byCodePoints(tables[a].name, tables[b].name));
  const first = tables[order[0]];
  const names = first.columns.map((column) => column.name);
  const label = freeName(LABEL, names);
  const columns = [...names, label].map((name) => new TableColumn(name));
  const whole = new Table(`${tables.length} recordings`, columns);
  const files: { row: number; name: string }[] = [];
  for (const at of order) {
    const table = tables[at];
    const found = table.columns.map((column) => column.name);
    if (found.join("\n") !== names.join("\n")) {
      throw new SourceError(`${table.name} has the axes ${found.join(", ")}; the recordings before have ${names.join(", ")}`);
    }
    files.push({ row: whole.rows, name: table.name });
    table.columns.forEach((column, j) => append(columns[j], column, whole.rows, table));
    for (let row = 0; row < table.rows; row++) columns[names.length].set(whole.rows + row, labels[at]);
    whole.noteLine(whole.rows, table.lineOf(0));
    whole.rows += table.rows;
  }
  columns[names.length].kind = "text";
  return { table: whole, label, files };
}

function append(to: TableColumn, from: TableColumn, row: number, table: Table): void {
  if (!from.numbers) throw new SourceError(`${table.name}: column ${repr(from.name)} is not of numbers`);
  const longer = new Float64Array(row + table.rows);
  if (to.numbers) longer.set(to.numbers.subarray(0, row));
  longer.set(from.numbers.subarray(0, table.rows), row);
  to.numbers = longer;
  to.codes = null;
  to.missing += from.missing;
  to.fault ??= from.fault && { ...from.fault, row: row + from.fault.row };
}

/** Cut a table into recordings: neighbouring rows of one label, in one file. Or say what is wrong with one. */
export function recordingsOf({ table, label, files }: Samples, rate: number): { axes: string[]; recordings: Recording[] } {
  const { codes, texts } = table.column(label);
  const others = table.columns.filter((column) => column.name !== label);
  const times = others.filter((column) => TIMES.has(column.name.trim().toLowerCase()));
  const axes = others.filter((column) => !times.includes(column));
  const text = axes.find((column) => !column.numbers);
  if (text) throw new SourceError(`${table.name}: column ${repr(text.name)} is not of numbers`);
  if (!axes.length) throw new SourceError(`${table.name} has no column of samples`);
  if (!codes) throw new SourceError(`${table.name}: column ${repr(label)} has too many different labels: is it a class?`);
  for (const column of [...axes, ...times]) refuseGap(table, column, files);
  const unlabelled = codes.subarray(0, table.rows).indexOf(-1);
  if (unlabelled >= 0) throw new SourceError(`${table.name}: row ${unlabelled + 1} has no label in column ${repr(label)}`);
  const starts = new Set(files.map(({ row }) => row));
  const recordings: Recording[] = [];
  for (let start = 0, row = 1; row <= table.rows; row++) {
    if (row < table.rows && codes[row] === codes[start] && !starts.has(row)) continue;
    const own = texts[codes[start]];
    const file = files.find(({ row: begin }) => begin === start)?.name;
    for (const column of times) {
      refuseOtherTimes(column, start, row, rate, `${file ?? table.name}, column ${repr(column.name)}`, file ? 0 : start);
    }
    recordings.push({ name: file ?? `${table.name}, from row ${start + 1}`, label: own, line: table.lineOf(start), values: axes.map((column) => column.numbers!.slice(start, row)) });
    start = row;
  }
  if (new Set(recordings.map((recording) => recording.label)).size < 2) {
    throw new SourceError(`all recordings have the label ${repr(recordings[0].label)}; at least two are needed`);
  }
  return { axes: axes.map((column) => column.name), recordings };
}

function refuseGap(table: Table, column: TableColumn, files: Samples["files"]): void {
  const row = column.numbers!.subarray(0, table.rows).findIndex((value) => !Number.isFinite(value));
  if (row < 0) return;
  const file = files.findLast((one) => one.row <= row);
  throw new SourceError(`${file?.name ?? table.name}: row ${row - (file?.row ?? 0) + 1} has no number in column ${repr(column.name)}: cut the recording at the gap`);
}

/** Say if samples come at another rate than was said, or with a gap. */
function refuseOtherTimes(column: TableColumn, from: number, to: number, rate: number, where: string, start: number): void {
  const times = column.numbers!.subarray(from, to);
  const steps = times.slice(1).map((time, i) => time - times[i]);
  if (!steps.length) return;
  const sorted = steps.slice().sort();
  const half = sorted.length >> 1;
  const middle = sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  const short = (x: number): string => general(x, 6);
  const units = TIMES.get(column.name.trim().toLowerCase())!;
  if (!units.some((unit) => Math.abs((middle * rate) / unit - 1) <= TOLERATED)) {
    const told = middle > 0 ? `${short(units[0] / middle)} per second${units.length > 1 ? " if that is seconds" : ""}` : "backwards";
    throw new SourceError(`${where}: samples come every ${short(middle)}, ${told}, not ${short(rate)}`);
  }
  const far = steps.findIndex((step) => step > GAP * middle || step <= 0);
  if (far < 0) return;
  const row = start + far + 1;
  throw new SourceError(`${where}: rows ${row} and ${row + 1} are ${short(steps[far])} apart, not ${short(middle)}: cut the recording at the gap`);
}

/** Return the axes of a recording that is tried, in the order of those that were learned. */
export function axesOf(one: Table, { table, label }: Samples): Float64Array[] {
  const learned = table.columns.filter((column) => column.name !== label && column.numbers && !TIMES.has(column.name.trim().toLowerCase()));
  return learned.map(({ name }) => {
    const column = one.column(name);
    if (!column.numbers) throw new SourceError(`${one.name}: column ${repr(name)} is not of numbers`);
    refuseGap(one, column, []);
    return column.numbers.slice(0, one.rows);
  });
}

/** Return the windows of a recording, each axis by axis. */
export function windowsOf(values: readonly Float64Array[], length: number, hop: number): Float64Array[] {
  const windows: Float64Array[] = [];
  for (let start = 0; start + length <= values[0].length; start += hop) {
    const window = new Float64Array(values.length * length);
    values.forEach((axis, i) => window.set(axis.subarray(start, start + length), i * length));
    windows.push(window);
  }
  return windows;
}

/** Turn a table of samples into one of windows, with a column per feature; and into what is shown of it. */
export function tableOfWindows(kernel: Kernel, samples: Samples, signal: SignalSettings): { table: Table; plan: SignalPlan; view: RecordingsView } {
  checkSignal(signal);
  const { axes, recordings } = recordingsOf(samples, signal.rate);
  const kept = recordings.filter(({ values }) => values[0].length >= signal.length);
  if (!kept.length) {
    const longest = Math.max(...recordings.map(({ values }) => values[0].length));
    throw new SourceError(`no recording is as long as a window of ${signal.length} samples; the longest has ${longest}`);
  }
  const each = kept.map(({ values }) => windowsOf(values, signal.length, signal.hop));
  const windows = each.flat();
  const plan = planOf(axes, windows, signal);
  const words = featureWords(plan);
  const features = signalFeatures(kernel, plan, windows, words.length);
  const label = new TableColumn(freeName(samples.label, words));
  label.kind = "text";
  const columns = words.map((word, j) => {
    const column = new TableColumn(word);
    column.codes = null;
    column.bytes = true;
    column.numbers = Float64Array.from({ length: windows.length }, (_, i) => features[i * words.length + j]);
    return column;
  });
  const table = new Table(samples.table.name, [...columns, label]);
  table.recordings = new Int32Array(windows.length);
  kept.forEach((recording, r) => each[r].forEach((_, i) => {
    table.noteLine(table.rows, recording.line + i * signal.hop);
    label.set(table.rows, recording.label);
    table.recordings![table.rows++] = r;
  }));
  return { table, plan, view: { axes, recordings: shownOf(kept), count: kept.length, windows: windows.length, notes: notesOf(recordings, kept, each, plan) } };
}

function notesOf(all: readonly Recording[], kept: readonly Recording[], windows: readonly Float64Array[][], plan: SignalPlan): string[] {
  const notes: string[] = [];
  if (kept.length < all.length) notes.push(`${all.length - kept.length} of ${all.length} recordings are shorter than a window and left out`);
  const size = plan.axes * plan.length;
  kept.forEach(({ name }, r) => {
    const clipped = Math.max(...windows[r].map((window) => clippedIn(plan, window)));
    if (clipped > Math.floor(size / 8)) notes.push(`${name}: ${clipped} of ${size} samples of a window lie at an end of the range: is the sensor saturated?`);
  });
  return notes;
}

/** The first recordings of each label, in the order they have. */
function shownOf(recordings: readonly Recording[]): Recording[] {
  const seen = new Map<string, number>();
  return recordings.filter(({ label }) => {
    const before = seen.get(label) ?? 0;
    seen.set(label, before + 1);
    return before < SHOWN_PER_LABEL;
  }).slice(0, SHOWN);
}

function freeName(name: string, taken: readonly string[]): string {
  return taken.includes(name) ? freeName(`${name}_`, taken) : name;
}
