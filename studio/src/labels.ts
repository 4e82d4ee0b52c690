/** Labels as they come in a file, and the classes that they turn out to be. */

import { byCodePoints, repr } from "./python_text";
import { MOST_CLASSES, SourceError, type Table, type TableColumn } from "./table";

/** Text, a whole number, or true and false. */
export type Label = string | bigint | boolean;

const CANONICAL = /^-?(0|[1-9][0-9]{0,17})$/;
const DIGITS = /^[+-]?[0-9]{1,20}$/;
const DECIMAL = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const EXACT = 2 ** 53;
const LONGEST_LABEL = 1000;

export function byLabel(a: Label, b: Label): number {
  if (typeof a === "string" && typeof b === "string") return byCodePoints(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Return a label as people read it: Python's str. */
export function labelText(label: Label): string {
  return typeof label === "boolean" ? (label ? "True" : "False") : String(label);
}

/** Refuse a column that has no label in any row, or too many different ones to be classes. */
export function checkLabels(table: Table, column: TableColumn, features: number): void {
  const { name, codes } = column;
  if (!codes) throw tooMany(MOST_CLASSES + 1, name, table.place(column.firstRow.at(-1)!));
  if (!column.texts.length) throw new SourceError(`${table.place(0)}: there is no label in column ${repr(name)}`);
  column.texts.forEach((text, code) => {
    const size = [...text].length;
    const place = (): string => table.place(column.firstRow[code]);
    if (size > LONGEST_LABEL) {
      throw new SourceError(`${place()}: column ${repr(name)} has a label of ${grouped(size)} characters: is it a class?`);
    }
  });
  const few = Math.floor((1 << 24) / Math.max(1, features));
  const many = Math.floor((1 << 22) / Math.max(1, features));
  const most = Math.min(MOST_CLASSES, Math.max(2, Math.min(100, few), many));
  if (column.texts.length > most) throw tooMany(most + 1, name, table.place(column.firstRow[most]));
}

/** Return the labels of a Summary as what they turned out to be, in the same order. */
export function finalLabels(table: Table, column: TableColumn, labels: readonly string[], rows: number): Label[] {
  const { name } = column;
  if (labels.length === 1) {
    throw new SourceError(`${table.name}: column ${repr(name)} is ${repr(labels[0])} in every row: two classes are needed`);
  }
  const placeOf = (label: string): string => table.place(column.firstRow[column.texts.indexOf(label)]);
  const values = asTheyAre(labels);
  if (!values) {
    const fraction = labels.find((label) => !Number.isInteger(Number(label)))!;
    throw new SourceError(
      `${placeOf(fraction)}: column ${repr(name)} has ${fraction}, a fraction, and a label names a class: predict it as a number`,
    );
  }
  if (labels.length > 20 && labels.length > rows / 2) throw tooMany(labels.length, name, placeOf(labels[0]), rows);
  return values;
}

/** Return labels read as text as what they are; null if they are fractions. */
export function asTheyAre(labels: readonly string[]): Label[] | null {
  if (labels.every((label) => CANONICAL.test(label))) return labels.map(BigInt);
  const lowered = labels.map((label) => label.toLowerCase());
  if (labels.length === 2 && lowered.includes("true") && lowered.includes("false")) {
    return lowered.map((label) => label === "true");
  }
  if (!labels.every((label) => DECIMAL.test(label))) return [...labels];
  if (labels.some((label) => !Number.isInteger(Number(label)))) return null;
  const whole = labels.map(integerOf).filter((n): n is bigint => n !== null && n >= -(2n ** 63n) && n < 2n ** 63n);
  return new Set(whole).size === labels.length ? whole : [...labels];
}

function integerOf(label: string): bigint | null {
  if (DIGITS.test(label)) return BigInt(label.replace("+", ""));
  const number = Number(label);
  return Math.abs(number) < EXACT && Number.isInteger(number) ? BigInt(number) : null;
}

export function grouped(n: number): string {
  return n.toLocaleString("en-US");
}

function tooMany(count: number, name: string, place: string, rows?: number): SourceError {
  const among = rows === undefined ? "" : ` in ${rows} rows`;
  return new SourceError(
    `${place}: column ${repr(name)} has ${count} different labels${among}: is it a class, or a number or a name?`,
  );
}
