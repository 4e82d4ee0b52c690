/** What the page and its worker say to each other. */

import type { Settings, Trained } from "./learning";
import type { TrainedNumbers } from "./numbers";
import type { RecordingsView } from "./recordings";
import type { Decision } from "./survey";
import type { Kind } from "./table";

/** A column, as the page shows it. */
export interface ColumnView {
  name: string;
  kind: Kind;
  boolean: boolean;
  missing: number;
  /** Different values; null if there are too many to count. */
  distinct: number | null;
  /** Of numbers. */
  range: [number, number] | null;
  bars: number[];
  /** The most frequent texts, with how often each occurs. */
  common: [string, number][];
  withCommas: boolean;
  decision: Decision;
}

export interface TableView {
  name: string;
  rows: number;
  columns: ColumnView[];
  milliseconds: number;
  /** How the text was read if it is not UTF-8. */
  encoding: string | null;
  /** The column with the labels of several files: rows are samples then. */
  recordings: string | null;
}

/** A file to read; with a label, it is one recording of several. */
export interface Given {
  name: string;
  label: string | null;
  data: Blob;
}

/** Rows that the page keeps, evenly spread over the table. */
export interface Sample {
  rows: number[];
  lines: number[];
  /** The class of each row, or the number that is predicted. */
  truth: number[];
  /** Features, row by row. */
  values: Float64Array;
}

export type Request =
  | { kind: "begin"; kernel: Uint8Array<ArrayBuffer> }
  | { kind: "open"; id: number; files: readonly Given[] }
  | { kind: "try"; id: number; file: Given }
  | { kind: "train"; id: number; settings: Settings };

export type Reply =
  | { kind: "progress"; id: number; part: number }
  | { kind: "opened"; id: number; table: TableView }
  | { kind: "testing"; id: number; number: number; of: number }
  | { kind: "trained"; id: number; trained: Trained; sample: Sample; recordings: RecordingsView | null }
  | { kind: "numbers"; id: number; trained: TrainedNumbers; sample: Sample }
  | { kind: "tried"; id: number; name: string; values: Float64Array[] }
  | { kind: "refused"; id: number; message: string; about: "data" | "training" | "trial" };
