/** CSV and TSV, read in pieces by papaparse; what is wrong with a file is said as the command says it. */

import Papa from "papaparse";
import { repr } from "./python_text";
import { isNumber, MISSING, SourceError, Table, TableColumn } from "./table";

const DELIMITERS = ",;\t|";
/** As much as the command looks at to tell what columns hold. */
const HEAD = 1 << 19;
const MOST_COLUMNS = 1 << 14;
/** Rows that are looked at for decimal commas. */
const MOST_NOTICED = 2000;
const COMMA_NUMBER = /^[+-]?(?:[0-9]+(?:,[0-9]*)?|,[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const COMMA_THOUSANDS = /^[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+$/;
const WORKBOOK = /\.(?:xlsx|xlsm|xlsb|xls|ods)$/i;

/** Text that is not UTF-8. */
export class NotUtf8 extends Error {}

export class CsvReader {
  table: Table | null = null;
  private readonly decoder: TextDecoder;
  private delimiter = ",";
  private parser: Papa.Parser | null = null;
  private rest = "";
  private bytes = 0;
  private head: string[][] = [];
  private headLines: number[] = [];
  private headBytes = 0;
  private line = 1;
  private names: string[] | null = null;
  private inferred = false;
  private lastLine = 0;
  /** Nothing but white space came so far. */
  private blank = true;

  constructor(private readonly name: string, private readonly encoding: "utf-8" | "windows-1252" = "utf-8") {
    this.decoder = new TextDecoder(encoding, { fatal: true });
  }

  /** Take the next bytes of the file. */
  push(bytes: Uint8Array): void {
    if (this.bytes === 0) this.refuseOtherFiles(bytes);
    const nul = bytes.indexOf(0);
    if (nul >= 0) {
      const before = bytes.subarray(0, nul).filter((byte) => byte === 10).length;
      const line = this.line + (this.rest.match(/\n/g)?.length ?? 0) + before;
      throw new SourceError(`${this.name}, line ${line}: there is a NUL byte: this is not a text file`);
    }
    this.bytes += bytes.length;
    this.take(this.decoded(bytes), false);
  }

  /** Finish; return the table. */
  end(): Table {
    this.take(this.decoded(), true);
    if (!this.names) throw new SourceError(`${this.name}: the file is empty`);
    if (!this.inferred) this.infer();
    if (!this.table!.rows) throw new SourceError(`${this.name}: there are column names but no rows`);
    this.table!.encoding = this.encoding === "utf-8" ? null : "cp1252";
    return this.table!;
  }

  private decoded(bytes?: Uint8Array): string {
    try {
      return this.decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw new NotUtf8();
    }
  }

  private refuseOtherFiles(bytes: Uint8Array): void {
    if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
      throw new SourceError(`${this.name}, line 1: the text is UTF-16; save it as UTF-8`);
    }
    const zipped = String.fromCharCode(...bytes.subarray(0, 1 << 12));
    if (WORKBOOK.test(this.name) || (zipped.startsWith("PK\x03\x04") && zipped.includes("[Content_Types].xml"))) {
      const kind = /ods$/i.test(this.name) ? "OpenDocument" : "Excel";
      throw new SourceError(
        `${this.name}: an ${kind} workbook, which is not read: save the sheet as CSV (in Excel: Save as, CSV UTF-8) and give that file`,
      );
    }
  }

  private take(text: string, last: boolean): void {
    let input = this.rest + text;
    this.rest = "";
    if (input.includes("\r")) {
      if (!last && input.endsWith("\r")) {
        this.rest = "\r";
        input = input.slice(0, -1);
      }
      input = input.replace(/\r\n?/g, "\n");
    }
    if (last && !input) return;
    this.blank &&= !/\S/.test(input);
    if (!this.parser) {
      if (!last && !input.trimStart().includes("\n")) {
        this.rest = input + this.rest;
        return;
      }
      this.delimiter = sniffed(input);
      this.parser = new Papa.Parser({ delimiter: this.delimiter, newline: "\n", quoteChar: '"' } as never);
    }
    const found = (this.parser as unknown as { parse(i: string, b: number, l: boolean): Papa.ParseResult<string[]> }).parse(input, 0, !last);
    const quoted = input.includes('"');
    const open = last && found.errors.some((error) => error.code === "MissingQuotes");
    for (const row of open ? found.data.slice(0, -1) : found.data) this.addRow(row, quoted);
    if (open) throw new SourceError(`${this.name}, after line ${this.lastLine}: a quote is not closed`);
    this.rest = input.slice(found.meta.cursor) + this.rest;
  }

  private addRow(row: string[], quoted: boolean): void {
    const line = this.line;
    this.line++;
    if (quoted) for (const value of row) if (value.includes("\n")) this.line += value.split("\n").length - 1;
    if (row.length === 1 && row[0] === "") return; // an empty line
    if (!this.names) {
      if (this.blank) return;
      this.names = checkedNames(row.map((name) => name.trim()), `${this.name}, line ${line}`);
      this.table = new Table(this.name, this.names.map((name) => new TableColumn(name)));
      return;
    }
    if (row.length !== this.names.length) this.refuseWidth(row.length, line);
    this.lastLine = line;
    if (this.inferred) {
      this.store(row, line);
      return;
    }
    this.head.push(row);
    this.headLines.push(line);
    this.headBytes += row.reduce((bytes, value) => bytes + value.length + 1, 0);
    if (this.headBytes > (HEAD * 3) / 4) this.infer();
  }

  private refuseWidth(found: number, line: number): never {
    const expected = this.names!.length;
    const cut = found > expected ? "" : " (a line that is cut, or a quote that is not closed?)";
    throw new SourceError(`${this.name}, line ${line}: expected ${expected} columns, found ${found}${cut}`);
  }

  private infer(): void {
    const table = this.table!;
    const valuesOf = (j: number): string[] => this.head.map((row) => row[j]);
    table.columns.forEach((column, j) => column.infer(valuesOf(j)));
    table.columns.forEach((column, j) => {
      const some = valuesOf(j).slice(0, MOST_NOTICED).map((value) => value.trim());
      column.withCommas = column.kind === "text" && haveDecimalCommas(some.filter((value) => !MISSING.has(value)));
    });
    if (table.columns.some(({ withCommas }) => withCommas)) {
      const before = table.columns.map(({ kind }) => kind);
      table.decimal = ",";
      table.columns.forEach((column, j) => column.infer(valuesOf(j), ","));
      if (table.columns.some(({ kind }, j) => kind === "text" && before[j] !== "text")) {
        // other numbers have points
        table.decimal = ".";
        table.columns.forEach((column, j) => {
          column.withCommas = false;
          column.infer(valuesOf(j));
        });
      }
    }
    this.inferred = true;
    this.head.forEach((row, i) => this.store(row, this.headLines[i]));
    this.head = [];
  }

  private store(row: string[], line: number): void {
    const table = this.table!;
    const at = table.rows;
    table.noteLine(at, line);
    const { columns } = table;
    for (let j = 0; j < columns.length; j++) {
      const column = columns[j];
      column.set(at, row[j]);
      if (column.kind === "text" && !column.example && !MISSING.has(row[j].trim()) && !isNumber(row[j], table.decimal)) {
        column.example = { row: at, text: row[j] };
      }
    }
    table.rows++;
  }
}

/** Return the delimiter that the first line has most of, outside quotes; else a comma. */
export function sniffed(text: string): string {
  const first = text.trimStart().split("\n", 1)[0].replace(/"[^"]*"/g, "");
  const count = (char: string): number => first.split(char).length;
  return [...DELIMITERS].reduce((best, char) => (count(char) > count(best) ? char : best));
}

function checkedNames(names: string[], where: string): string[] {
  if (names.length > MOST_COLUMNS) {
    throw new SourceError(`${where}: ${names.length} columns, but the page takes ${MOST_COLUMNS}; the command takes more`);
  }
  const seen = new Map<string, number>();
  names.forEach((name, j) => {
    if (!name) throw new SourceError(`${where}: column ${j + 1} has no name`);
    const before = seen.get(name);
    if (before !== undefined) {
      throw new SourceError(`${where}: two columns are called ${repr(name)}: columns ${before} and ${j + 1}`);
    }
    seen.set(name, j + 1);
  });
  return names;
}

/** Say whether values are numbers with decimal commas, and not with commas between thousands. */
function haveDecimalCommas(values: readonly string[]): boolean {
  if (!values.length || !values.every((value) => COMMA_NUMBER.test(value))) return false;
  return values.some((value) => value.includes(",") && !COMMA_THOUSANDS.test(value));
}
