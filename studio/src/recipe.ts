/** A Recipe: how the columns of a table become the features of a model. */

import { partNames } from "./dates";
import type { Column } from "./kernel";
import { byCodePoints, repr } from "./python_text";
import { isWhole, MOST_CATEGORIES } from "./survey";
import { SourceError, type Table, type TableColumn } from "./table";

/** What the reader wants a column for; for a column that is not named, a look at the table decides. */
export const ROLES = ["number", "categories", "dates", "out"] as const;
export type Role = (typeof ROLES)[number];

/** By the names of columns. A map, since a column may be called "constructor" or "__proto__". */
export type Roles = ReadonlyMap<string, Role>;

export interface Recipe {
  label: string;
  columns: string[];
  categories: ReadonlyMap<string, string[]>;
  /** Columns that a look at the table left out, and why. */
  leftOut: ReadonlyMap<string, string>;
  encoding: string | null;
  skipUnlabelled: boolean;
  /** Columns of dates, and how each is written: their parts are among the columns. */
  dates: ReadonlyMap<string, string>;
}

const MOST_LISTED = 50;

export function recipeOf(table: Table, label: string, roles: Roles): Recipe {
  table.column(label);
  const chosen = table.columns.filter((column) => column.name !== label && roleOf(column, roles) !== "out");
  if (!chosen.length) throw new SourceError(`${table.name}: no column is left for the features`);
  refuseText(table, chosen.filter((column) => roleOf(column, roles) === "number" && column.kind !== "number"));
  const categories = new Map<string, string[]>();
  for (const column of chosen) {
    if (roleOf(column, roles) !== "categories") continue;
    if (!column.codes || column.texts.length > MOST_CATEGORIES) {
      throw new SourceError(
        `${table.place(0)}: column ${repr(column.name)} has more than ${MOST_CATEGORIES} values: ` +
          "too many for categories; leave it out",
      );
    }
    categories.set(column.name, [...column.texts].sort(byCodePoints));
  }
  const dates = new Map(chosen.filter((column) => roleOf(column, roles) === "dates").map(({ name, decision }) => [name, decision!.order!]));
  const parts = [...dates].flatMap(([name, order]) => partNames(name, order));
  refuseFault(table, [...chosen.filter((column) => !categories.has(column.name))]);
  const left = table.columns.filter(({ name, decision }) => name !== label && decision?.why && !roles.has(name));
  return {
    label,
    columns: [...chosen.map((column) => column.name).filter((name) => !dates.has(name)), ...parts],
    categories,
    leftOut: new Map(left.map(({ name, decision }) => [name, decision!.why!])),
    encoding: table.encoding,
    skipUnlabelled: table.column(label).missing > 0,
    dates,
  };
}

/** Say whether a value of the columns that are learned may be missing. */
export function missesValues(table: Table, recipe: Recipe): boolean {
  return !isWhole(table) || recipe.columns.some((name) => table.column(name).missing > 0);
}

export function roleOf(column: TableColumn, roles: Roles): Role {
  return roles.get(column.name) ?? column.decision?.role ?? (column.kind === "number" ? "number" : "out");
}

export function featureNames(recipe: Recipe): string[] {
  return recipe.columns.flatMap((name) => {
    const values = recipe.categories.get(name);
    return values ? values.map((value) => `${name}=${value}`) : [name];
  });
}

/** Return the rows of a batch as the command takes them: 2**18 cells, wide rows at most 64. */
export function batchRows(columns: number): number {
  const wide = Math.min(64, Math.floor((1 << 23) / Math.max(1, columns)));
  return Math.max(1, wide, Math.min(1 << 16, Math.floor((1 << 18) / Math.max(1, columns))));
}

/** Return the features of some rows, as the kernels read them; a missing value is NaN. */
export function featuresOf(table: Table, recipe: Recipe, rows: Rows): Column[] {
  return recipe.columns.flatMap((name) => {
    const column = table.column(name);
    const values = recipe.categories.get(name);
    if (values) return oneHot(column, values, rows);
    const numbers = taken(column.numbers!, rows);
    return [column.bytes || (column.boolean && !numbers.some(Number.isNaN)) ? Uint8Array.from(numbers) : numbers];
  });
}

/** Rows from start to end, or those listed. */
export type Rows = { start: number; end: number } | Int32Array;

export function taken<T extends Float64Array | Int32Array>(values: T, rows: Rows): T {
  if (!(rows instanceof Int32Array)) return values.slice(rows.start, rows.end) as T;
  const some = new (values.constructor as { new (n: number): T })(rows.length);
  for (let i = 0; i < rows.length; i++) some[i] = values[rows[i]];
  return some;
}

function oneHot(column: TableColumn, values: readonly string[], rows: Rows): Column[] {
  const codes = taken(column.codes!, rows);
  const incomplete = codes.includes(-1);
  return values.map((value) => {
    const wanted = column.texts.indexOf(value);
    if (!incomplete) return Uint8Array.from(codes, (code) => (code === wanted ? 1 : 0));
    return Float64Array.from(codes, (code) => (code < 0 ? NaN : code === wanted ? 1 : 0));
  });
}

/** Say which columns are no numbers, and what can be done about it. */
function refuseText(table: Table, bad: readonly TableColumn[]): void {
  if (!bad.length) return;
  const texts = bad.filter((column) => column.kind === "text");
  const others = bad.filter((column) => column.kind === "other");
  const found: string[] = [];
  if (texts.length) found.push(`text where numbers are needed: ${listed(texts)}${table.describeText(texts[0])}`);
  if (others.length) found.push(`not numbers: ${listed(others)}`);
  const advice = texts.length ? "leave out, or make categories of text" : "leave out";
  throw new SourceError(`${table.name}: ${found.join("; ")}; ${advice}`);
}

/** Refuse the first value that is not a number among the columns of numbers. */
function refuseFault(table: Table, columns: readonly TableColumn[]): void {
  const faulty = columns.filter((column) => column.fault).sort((a, b) => a.fault!.row - b.fault!.row);
  if (!faulty.length) return;
  const { name, fault } = faulty[0];
  throw new SourceError(`${table.place(fault!.row)}: column ${repr(name)}: ${fault!.what}`);
}

function listed(columns: readonly TableColumn[]): string {
  const names = columns.slice(0, MOST_LISTED).map((column) => repr(column.name)).join(", ");
  const more = columns.length > MOST_LISTED ? ` and ${columns.length - MOST_LISTED} more` : "";
  return `${columns.length > 1 ? "columns" : "column"} ${names}${more}`;
}
