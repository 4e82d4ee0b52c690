/** A Table: the columns of a file in memory, each as numbers and, where they could be labels, as text. */

import { Dates, isDateText } from "./dates";
import { repr } from "./python_text";
import type { Decision } from "./survey";

export type Kind = "number" | "text" | "other";
export type Decimal = "." | ",";

/** An error that is the reader's to mend, in the words of the command. */
export class SourceError extends Error {}

export const MISSING: ReadonlySet<string> = new Set([
  "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL",
  "NaN", "n/a", "nan", "null", "?",
]);
export const MOST_CLASSES = 10_000;

const NUMBER_TEXT = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const WORD = /^[+-]?(?:inf|infinity|nan)$/i;
const INTEGER = /^(?:-?[0-9]{1,19}|0[xX][0-9a-fA-F]{1,16})$/;
const TRUE: ReadonlySet<string> = new Set(["1", "True", "TRUE", "true"]);
const FALSE: ReadonlySet<string> = new Set(["0", "False", "FALSE", "false"]);
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIME = /^([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?$/;
const ZONE = /(?:Z|[+-]\d\d(?::?\d\d)?)$/;

export class TableColumn {
  kind: Kind = "number";
  /** Values that are true or false, read as bytes. */
  boolean = false;
  /** Whole numbers from 0 to 255, none missing. */
  bytes = false;
  numbers: Float64Array | null = null;
  /** Each row's position among the texts, -1 where there is none; null where there are too many different ones. */
  codes: Int32Array | null = new Int32Array(1024);
  readonly texts: string[] = [];
  readonly firstRow: number[] = [];
  missing = 0;
  /** The first value that is not what the column holds. */
  fault: { row: number; what: string } | null = null;
  /** A text and its row, for a message. */
  example: { row: number; text: string } | null = null;
  /** Numbers because a comma is taken for their decimal point. */
  withCommas = false;
  /** The values as dates while all of them can be; null if they are something else. */
  dates: Dates | null = null;
  /** What is done with the column; null where nobody looked. */
  decision: Decision | null = null;
  private decimal: Decimal = ".";
  private readonly places = new Map<string, number>();

  constructor(readonly name: string) {}

  /** Decide what the column holds, from the rows read so far. */
  infer(values: readonly string[], decimal: Decimal = "."): void {
    this.decimal = decimal;
    this.kind = "number";
    this.boolean = false;
    const filled = values.filter((value) => !MISSING.has(value));
    const kindOf = (test: (value: string) => boolean): boolean => filled.every(test);
    if (kindOf((value) => INTEGER.test(trimmed(value)))) this.kind = "number";
    else if (kindOf((value) => TRUE.has(value) || FALSE.has(value))) this.boolean = true;
    else if (kindOf(isDate) || kindOf(isTime) || kindOf((value) => isMoment(value, false)) || kindOf((value) => isMoment(value, true))) {
      this.kind = "other";
    } else if (!kindOf((value) => isNumber(value, decimal))) this.kind = "text";
    if (this.kind === "number") this.numbers = new Float64Array(1024);
    else if (kindOf(isDateText)) this.dates = new Dates();
  }

  set(row: number, text: string): void {
    if (this.numbers) {
      if (row >= this.numbers.length) this.numbers = grown(this.numbers, row);
      this.numbers[row] = this.boolean ? this.truthOf(text, row) : this.numberOf(text, row);
    }
    if (this.dates && !this.dates.add(MISSING.has(text) ? null : text)) this.dates = null;
    if (this.codes) this.code(row, text);
    else if (!this.numbers && MISSING.has(text)) this.missing++;
  }

  private code(row: number, text: string): void {
    let place = this.places.get(text);
    if (place === undefined) {
      if (MISSING.has(text)) {
        place = -1;
      } else if (this.texts.length > MOST_CLASSES) {
        this.codes = null;
        return;
      } else {
        place = this.texts.length;
        this.texts.push(text);
        this.firstRow.push(row);
      }
      this.places.set(text, place);
    }
    if (place < 0 && !this.numbers) this.missing++;
    if (row >= this.codes!.length) this.codes = grown(this.codes!, row);
    this.codes![row] = place;
  }

  private numberOf(given: string, row: number): number {
    const text = this.decimal === "." ? given : withPoint(given);
    const first = text.charCodeAt(0);
    if ((first >= 48 && first <= 57) || first === 45 || first === 46) {
      const last = text.charCodeAt(text.length - 1);
      const second = text.charCodeAt(1) | 32;
      if (((last >= 48 && last <= 57) || last === 46) && !(first === 48 && (second === 120 || second === 98 || second === 111))) {
        const value = +text;
        if (value === value) return value;
      }
    }
    if (MISSING.has(text)) {
      this.missing++;
      return NaN;
    }
    const plain = trimmed(text);
    if (NUMBER_TEXT.test(plain)) return +plain;
    if (WORD.test(plain)) return /nan/i.test(plain) ? NaN : plain.startsWith("-") ? -Infinity : Infinity;
    this.fault ??= { row, what: `${short(given)} is not a number` };
    return NaN;
  }

  private truthOf(text: string, row: number): number {
    if (TRUE.has(text)) return 1;
    if (FALSE.has(text)) return 0;
    if (MISSING.has(text)) this.missing++;
    else this.fault ??= { row, what: `${short(text)} is not true or false` };
    return NaN;
  }
}

export class Table {
  rows = 0;
  /** Which recording each row belongs to, if rows are windows: folds keep those of one together. */
  recordings: Int32Array | null = null;
  decimal: Decimal = ".";
  /** How the text was read if it is not UTF-8, as Python calls it. */
  encoding: string | null = null;
  /** Columns of numbers that columns of dates give, beside those of the file. */
  parts: readonly TableColumn[] = [];
  /** The line where rows begin, for each row after which the count changes. */
  private readonly lines: { row: number; line: number }[] = [];

  constructor(readonly name: string, readonly columns: readonly TableColumn[]) {}

  column(name: string): TableColumn {
    const found = this.columns.find((column) => column.name === name) ?? this.parts.find((part) => part.name === name);
    if (!found) {
      const names = this.columns.map((column) => repr(column.name));
      const shown = names.slice(0, 8).join(", ") + (names.length > 8 ? ` and ${names.length - 8} more` : "");
      throw new SourceError(`${this.name}: there is no column ${repr(name)}; its columns are ${shown}`);
    }
    return found;
  }

  noteLine(row: number, line: number): void {
    const last = this.lines.at(-1);
    if (!last || line !== last.line + (row - last.row)) this.lines.push({ row, line });
  }

  /** Return where a row is: "data.csv, line 17". */
  place(row: number): string {
    return `${this.name}, line ${this.lineOf(row)}`;
  }

  lineOf(row: number): number {
    let [from, to] = [0, this.lines.length];
    while (to - from > 1) {
      const middle = (from + to) >> 1;
      if (this.lines[middle].row <= row) from = middle;
      else to = middle;
    }
    return this.lines[from].line + (row - this.lines[from].row);
  }

  /** Return an example of the text in a column, for a message. */
  describeText(column: TableColumn): string {
    const { example } = column;
    return example ? ` (${short(example.text)} in line ${this.lineOf(example.row)})` : "";
  }
}

export function isNumber(text: string, decimal: Decimal = "."): boolean {
  const plain = trimmed(decimal === "." ? text : withPoint(text));
  return NUMBER_TEXT.test(plain) || WORD.test(plain);
}

export function short(text: string): string {
  const chars = [...text];
  return repr(chars.length <= 40 ? text : `${chars.slice(0, 39).join("")}…`);
}

/** Return a number that has a decimal comma with a point; one that has a point is none. */
function withPoint(text: string): string {
  return text.replaceAll(".", "_").replaceAll(",", ".");
}

function trimmed(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, "");
}

function isDate(text: string): boolean {
  const parts = DATE.exec(trimmed(text));
  if (!parts) return false;
  const [year, month, day] = parts.slice(1).map(Number);
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

function isTime(text: string): boolean {
  return TIME.test(trimmed(text));
}

function isMoment(text: string, zoned: boolean): boolean {
  const plain = trimmed(text);
  const zone = plain.length > 10 ? (ZONE.exec(plain.slice(10))?.[0] ?? "") : "";
  if ((zone !== "") !== zoned && zoned) return false;
  if (zone && !zoned) return false;
  const bare = zone ? plain.slice(0, -zone.length) : plain;
  if (bare.length === 10) return !zoned && isDate(bare);
  return isDate(bare.slice(0, 10)) && /^[ T]/.test(bare.slice(10)) && /^(?:([01]\d|2[0-3])|([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?)$/.test(bare.slice(11));
}

function grown<T extends Float64Array | Int32Array>(array: T, row: number): T {
  const wider = new (array.constructor as { new (n: number): T })(Math.max(2 * array.length, row + 1));
  wider.set(array);
  return wider;
}
