/** Which rows auto holds out, as src/sefr/_answers/auto.py. */

import { auto as how } from "virtual:auto";
import type { Floats } from "./kernel";

/** The part that each row is in; `shared` rows are in all parts. */
export class Folds {
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
export function assignFolds(codes: Int32Array, classes: number, cells: Uint8Array, parts: number): Folds {
  const n = codes.length;
  const hashes = hashesOf(cells, n);
  const order = Array.from(codes.keys()).sort((a, b) => codes[a] - codes[b] || (hashes[a] < hashes[b] ? -1 : hashes[a] > hashes[b] ? 1 : a - b));
  const starts = Array.from(order.keys()).filter((i) => !i || codes[order[i]] !== codes[order[i - 1]] || hashes[order[i]] !== hashes[order[i - 1]]);
  const sizes = starts.map((start, run) => (starts[run + 1] ?? n) - start);
  const left = sizes.map((size) => (size >= parts ? 0 : size));
  const totals = new Float64Array(classes);
  starts.forEach((start, run) => (totals[codes[order[start]]] += left[run]));
  const [number, shared] = [new Int32Array(n), new Uint8Array(n)];
  const gone = new Float64Array(classes);
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
