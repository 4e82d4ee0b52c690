/** A look at a table before it is learned, as src/sefr/files/survey.py: what becomes of each column, and why. */

import { hasTimes, isDateText, partNames, partsSaid } from "./dates";
import { repr } from "./python_text";
import type { Role, Roles } from "./recipe";
import { type Table, TableColumn } from "./table";

/** What is done with a column unless the reader wants something else. */
export interface Decision {
  role: Role;
  /** Why it is left out; null if it is learned. */
  why: string | null;
  /** How its dates are written, whose parts can be learned instead; null if it has none. */
  order: string | null;
  /** Whole numbers that are larger in every row than in the one before. */
  rising: boolean;
  /** Whether its values are dates, though perhaps not all, or of an order that is not known. */
  dates: boolean;
}

/** What sentences need to know of a column. */
export interface Looked {
  name: string;
  missing: number;
  distinct: number | null;
  withCommas: boolean;
  decision: Decision;
}

export const MOST_CATEGORIES = 1000;
/** Values of a table that are looked at before missing ones are expected in any case. */
const MOST_CELLS = 1 << 24;
const MOST_COLUMNS = 1000;
const FEW_ROWS = 20;
const FIRST = 50;
const MOST_LISTED = 6;
const ROW_NUMBER = "a number per row";
const WHICH_DATE = "a date: the day or the month first?";
const NOT_ALL_DATES = "dates, and values that are not dates";
const ID_NAME = /(?:^|[\s_.-])(?:id|nr|no|number|nummer|uuid|guid)\.?$|^unnamed: 0$/i;
const ID_ENDING = /[a-z](?:Id|ID|Nr)$/;
const SEPARATED = /^[+-]?[0-9]{1,3}(?:[.,' ][0-9]{3})+(?:[.,][0-9]+)?$/;

/** Whether all values of a table are looked at; of a larger one nothing is said of all rows. */
export function isWhole(table: Table): boolean {
  const numbers = table.columns.filter((column) => column.kind === "number").length;
  return table.rows * table.columns.length < MOST_CELLS && numbers <= MOST_COLUMNS;
}

/** Decide about every column of a table, and put the parts of dates beside its columns. */
export function survey(table: Table): void {
  const whole = isWhole(table);
  for (const column of table.columns) column.decision = decided(table, column, whole);
  table.parts = table.columns.flatMap(partsOf);
}

function decided(table: Table, column: TableColumn, whole: boolean): Decision {
  if (column.kind === "number") {
    const why = whole ? uselessNumbers(table, column) : null;
    return { role: why === null ? "number" : "out", why, order: null, rising: why === null && whole && isRising(table, column), dates: false };
  }
  const order = column.dates?.order ?? null;
  const taken = order && partTaken(table, column.name, order);
  if (order && !taken) return { role: "dates", why: null, order, rising: false, dates: true };
  const why = taken ?? uselessText(table, column, whole) ?? (column.kind === "other" ? "a time of day" : null);
  return { role: why === null ? "categories" : "out", why, order: null, rising: false, dates: order !== null || why === WHICH_DATE || why === NOT_ALL_DATES };
}

/** Return why the parts of dates cannot be learned: another column has the name of one; else null. */
function partTaken({ columns }: Table, name: string, order: string): string | null {
  const other = partNames(name, order).find((part) => columns.some((column) => column.name === part));
  return other === undefined ? null : `a date whose parts need the name of the column ${repr(other)}`;
}

/** Return the columns of numbers that a column of dates gives; its dates are not needed any more. */
function partsOf(column: TableColumn): TableColumn[] {
  const { dates, missing } = column;
  const order = column.decision?.order;
  column.dates = null;
  if (!order) return [];
  const values = dates!.parts();
  return partNames(column.name, order).map((name, i) => {
    const part = new TableColumn(name);
    part.codes = null;
    part.numbers = values[i];
    part.missing = missing;
    return part;
  });
}

/** Return why a column of text is of no use; null if it is of some. */
function uselessText(table: Table, { codes, texts, missing, dates }: TableColumn, whole: boolean): string | null {
  const [values, present] = [texts.length, table.rows - missing];
  if (!values) return whole ? "empty" : null;
  const counts = new Int32Array(values);
  if (codes) for (const code of codes.subarray(0, table.rows)) if (code >= 0) counts[code]++;
  const first = Array.from(texts.keys()).sort((a, b) => counts[b] - counts[a] || a - b).slice(0, FIRST).map((code) => texts[code]);
  if (dates?.isAmbiguous) return WHICH_DATE;
  if (first.every(isDateText)) return NOT_ALL_DATES;
  if (values > 2 && first.every((text) => SEPARATED.test(text.trim()))) {
    return `numbers with separators, for example ${repr(first[0])}: write them without`;
  }
  if (values === 1 && !missing && whole) return "one value only";
  if (present >= FEW_ROWS && values >= 0.95 * present) return "a name per row";
  if (present >= FEW_ROWS && values > present / 2) return `${values.toLocaleString("en-US")} values in ${present.toLocaleString("en-US")} rows`;
  if (values > MOST_CATEGORIES) return `more than ${MOST_CATEGORIES.toLocaleString("en-US")} values`;
  return null;
}

function uselessNumbers(table: Table, column: TableColumn): string | null {
  const { rows } = table;
  const numbers = column.numbers!.subarray(0, rows);
  if (rows < 2) return null;
  const empty = numbers.reduce((sum, value) => sum + Number(Number.isNaN(value)), 0);
  if (empty === rows) return "empty";
  if (rows < FEW_ROWS || empty) return null;
  if (isRising(table, column) && numbers.every((value, i) => i < 2 || value - numbers[i - 1] === numbers[1] - numbers[0])) return ROW_NUMBER;
  const named = ID_NAME.test(column.name) || ID_ENDING.test(column.name);
  if (named && numbers.every((value) => value === Math.floor(value)) && new Set(numbers).size === rows) return ROW_NUMBER;
  return null;
}

function isRising({ rows }: Table, { numbers }: TableColumn): boolean {
  if (rows < FEW_ROWS) return false;
  return numbers!.subarray(0, rows).every((value, i) => value === Math.floor(value) && (i === 0 || value > numbers![i - 1]));
}

/** Return what was decided, a sentence per kind of decision, in the words of the command. */
export function sentences(columns: readonly Looked[], label: string, roles: Roles, encoding: string | null): string[] {
  const said: string[] = [];
  const features = columns.filter(({ name }) => name !== label);
  const roleOf = ({ name, decision }: Looked): Role => roles.get(name) ?? decision.role;
  const learned = features.filter((column) => roleOf(column) !== "out");
  if (encoding) said.push(`the text is not UTF-8: it is read as Windows-1252, which Excel writes in Western Europe`);
  const commas = learned.filter(({ withCommas }) => withCommas);
  if (commas.length) said.push(`decimal commas are read in ${listed(commas.map(({ name }) => name))}`);
  const categories = learned.filter((column) => roleOf(column) === "categories" && !roles.has(column.name));
  if (categories.length) {
    const named = categories.map(({ name, distinct }) => `${name} (${distinct} values)`);
    said.push(`${categories.length} ${categories.length > 1 ? "columns" : "column"} of text learned as categories: ${listed(named)}`);
  }
  const dates = learned.filter((column) => roleOf(column) === "dates" && !roles.has(column.name));
  if (dates.length) {
    const { decision } = dates.find((column) => hasTimes(column.decision.order!)) ?? dates[0];
    said.push(`${dates.length} ${dates.length > 1 ? "dates" : "date"} learned as ${partsSaid(decision.order!)}: ${listed(dates.map(({ name }) => name))}`);
  }
  const out = features.filter((column) => column.decision.why !== null && roleOf(column) === "out" && !roles.has(column.name));
  if (out.length) said.push(`left out: ${listed(out.map(({ name, decision }) => `${name} (${decision.why})`))}`);
  const empty = learned.filter(({ missing }) => missing > 0);
  if (empty.length) {
    const cells = empty.reduce((sum, { missing }) => sum + missing, 0);
    const each = empty.map(({ name, missing }) => `${name} (${missing.toLocaleString("en-US")})`);
    said.push(`${cells.toLocaleString("en-US")} empty ${cells > 1 ? "cells" : "cell"} treated as missing: ${listed(each)}`);
  }
  const unlabelled = columns.find(({ name }) => name === label)?.missing ?? 0;
  if (unlabelled) said.push(`${unlabelled.toLocaleString("en-US")} ${unlabelled > 1 ? "rows" : "row"} without a label left out`);
  const rising = learned.filter(({ decision }) => decision.rising).map(({ name }) => name);
  if (rising.length) said.push(`${listed(rising)}: larger in every row than in the one before. If that is a number of the row, leave it out`);
  return said;
}

function listed(names: readonly string[]): string {
  return names.slice(0, MOST_LISTED).join(", ") + (names.length > MOST_LISTED ? ` and ${names.length - MOST_LISTED} more` : "");
}
