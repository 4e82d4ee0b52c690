/** Text as Python writes it: repr, json.dumps, and the order of strings. */

/** Return a string as repr does: 'plain', "it's", and escapes for what cannot be seen. */
export function repr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let out = quote;
  for (const char of text) {
    const code = char.codePointAt(0)!;
    if (char === quote || char === "\\") out += `\\${char}`;
    else if (char === "\n") out += "\\n";
    else if (char === "\r") out += "\\r";
    else if (char === "\t") out += "\\t";
    else if (isPrintable(char)) out += char;
    else if (code < 256) out += `\\x${hex(code, 2)}`;
    else if (code < 65536) out += `\\u${hex(code, 4)}`;
    else out += `\\U${hex(code, 8)}`;
  }
  return out + quote;
}

/** Say whether Python's str.isprintable holds for a character: nothing unseen, and no space but " ". */
export function isPrintable(char: string): boolean {
  return char === " " || !/[\p{C}\p{Z}]/u.test(char);
}

/** Return a float as Python's repr does: the shortest digits that read back, 1.0, 1e-07, 1e+16. */
export function reprFloat(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (Object.is(value, -0)) return "-0.0";
  if (value === 0) return "0.0";
  const [, sign, digits, power] = /^(-?)([\d.]+)e([+-]\d+)$/.exec(value.toExponential())!;
  const exponent = Number(power);
  const plain = digits.replace(".", "");
  if (exponent < -4 || exponent >= 16) {
    const size = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${digits}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${plain}`;
  const whole = plain.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${plain.slice(exponent + 1) || "0"}`;
}

/** Return a float as Python's format(x, ".9g") does. */
export function general(value: number, digits: number): string {
  if (value === 0) return "0";
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < digits) return String(Number(value.toPrecision(digits)));
  const size = String(Math.abs(exponent)).padStart(2, "0");
  return `${mantissa.replace(/\.?0+$/, "")}e${exponent < 0 ? "-" : "+"}${size}`;
}

/** A float that is to be written as one, also where it is whole. */
export class Float {
  constructor(readonly value: number) {}
}

export type Json = null | boolean | number | bigint | string | Float | readonly Json[] | ReadonlyMap<string, Json> | { readonly [name: string]: Json };

export interface Layout {
  ascii: boolean;
  indent?: number;
}

/** Return what json.dumps gives. Numbers are integers; floats are written as such by Float. */
export function dumps(value: Json, layout: Layout, depth = 0): string {
  if (value === null) return "null";
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (value instanceof Float) return reprFloat(value.value);
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : reprFloat(value);
  if (typeof value === "string") return dumpString(value, layout.ascii);
  const parts = Array.isArray(value)
    ? value.map((part: Json) => dumps(part, layout, depth + 1))
    : [...(value instanceof Map ? (value as ReadonlyMap<string, Json>) : Object.entries(value))].map(([name, part]) => `${dumpString(name, layout.ascii)}: ${dumps(part, layout, depth + 1)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  if (!parts.length || layout.indent === undefined) return `${open}${parts.join(", ")}${close}`;
  const margin = " ".repeat(layout.indent * (depth + 1));
  return `${open}\n${margin}${parts.join(`,\n${margin}`)}\n${" ".repeat(layout.indent * depth)}${close}`;
}

function dumpString(text: string, ascii: boolean): string {
  // JSON.stringify escapes what Python escapes, but for DEL and what is not ASCII
  const plain = JSON.stringify(text);
  if (!ascii) return plain;
  return plain.replace(/[\u007f-\uffff]/g, (char) => (char === "\u007f" ? char : `\\u${hex(char.charCodeAt(0), 4)}`));
}

/** Compare strings by code points, as Python and numpy sort them. */
export function byCodePoints(a: string, b: string): number {
  if (a === b) return 0;
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x === y) continue;
    // surrogates stand for characters above all others
    const high = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);
    return high(x) - high(y);
  }
  return a.length - b.length;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}
