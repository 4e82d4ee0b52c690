/** The C kernels, compiled to wasm: what native/ and device/ compute for Python, to the bit. */

export type Floats = Float64Array;
/** A column as the kernels read it: float64, or bytes for what is true or false. */
export type Column = Float64Array | Uint8Array;

interface Exports {
  memory: WebAssembly.Memory;
  mark(): number;
  release(mark: number): void;
  most_columns(): number;
  summarise_columns(n: number, m: number, data: number, bytes: number, to: number): number;
  summarise_rows(n: number, m: number, data: number, to: number): number;
  scores(n: number, m: number, data: number, bytes: number, coef: number, intercept: number, k: number, out: number): number;
  solve(from: number, epsilon: number, to: number): number;
  solve_means(from: number, rest: number, epsilon: number, to: number): void;
  is_delicate(from: number): number;
  solve_bytes(weightBits: number, model: number): number;
}

const FINITE = 0;
const NOT_FINITE = 1;

/** Which group each row belongs to; group g is class g % classes of fold g / classes. */
export interface Grouping {
  codes: Int32Array;
  classes: number;
  folds: number;
}

/** What one pass adds up: (groups x m), (groups), (folds x m). */
export interface Raw {
  sums: Floats;
  counts: Floats;
  low: Floats;
  high: Floats;
  present: Floats | null;
  finite: boolean;
}

export class Kernel {
  private readonly exports: Exports;

  private constructor(instance: WebAssembly.Instance) {
    this.exports = instance.exports as unknown as Exports;
  }

  static async from(code: Uint8Array<ArrayBuffer>): Promise<Kernel> {
    const { instance } = await WebAssembly.instantiate(code, {});
    return new Kernel(instance);
  }

  get mostColumns(): number {
    return this.exports.most_columns();
  }

  /** Add up rows that lie by columns. */
  summariseColumns(columns: readonly Column[], by: Grouping, missing: boolean): Raw {
    const m = columns.length;
    return this.summarise(m, by, missing, (call, to) => {
      const { data, bytes } = call.columns(columns);
      return this.exports.summarise_columns(by.codes.length, m, data, bytes, to);
    });
  }

  /** Add up rows of m adjacent values. */
  summariseRows(rows: Floats, m: number, by: Grouping, missing: boolean): Raw {
    return this.summarise(m, by, missing, (call, to) =>
      this.exports.summarise_rows(by.codes.length, m, call.floats(rows), to),
    );
  }

  /** Return columns @ coef.T + intercept: (n x k). */
  scores(columns: readonly Column[], n: number, coef: Floats, intercept: Floats): Floats {
    const k = intercept.length;
    return this.call((call) => {
      const { data, bytes } = call.columns(columns);
      const out = call.room(n * k * 8);
      const outcome = this.exports.scores(
        n, columns.length, data, bytes, call.floats(coef), call.floats(intercept), k, out,
      );
      check(outcome);
      return call.readFloats(out, n * k);
    });
  }

  /** Return equations 3 to 9 on sums; null where they need care. */
  solve(learned: Learned, epsilon: number): Solved | null {
    return this.planes(learned, (call, to) => this.exports.solve(call.learned(learned), epsilon, to) !== 0);
  }

  /** Return equations 5 to 9 on means of each class and of the rest that were taken with care. */
  solveMeans(own: Floats, rest: Floats, counts: Floats, epsilon: number): Solved {
    const nothing = new Float64Array(own.length / counts.length);
    const learned = { sums: own, counts, low: nothing, span: nothing };
    return this.planes(learned, (call, to) => {
      this.exports.solve_means(call.learned(learned), call.floats(rest), epsilon, to);
      return true;
    })!;
  }

  private planes({ counts, low }: Learned, run: (call: Call, to: number) => boolean): Solved | null {
    const rows = counts.length === 2 ? 1 : counts.length;
    const cells = rows * low.length;
    return this.call((call) => {
      const [weights, bias, midpoints] = [call.room(cells * 8), call.room(rows * 8), call.room(cells * 8)];
      const to = call.words(Uint32Array.of(weights, bias, midpoints));
      if (!run(call, to)) return null;
      return { weights: call.readFloats(weights, cells), bias: call.readFloats(bias, rows), midpoints: call.readFloats(midpoints, cells) };
    });
  }

  isDelicate(sums: Floats, counts: Floats, low: Floats): boolean {
    return this.call((call) => this.exports.is_delicate(call.learned({ sums, counts, low, span: low })) !== 0);
  }

  /** Return the weights and bias that a board solves from sums of bytes (classes x features); null: one class only. */
  solveBytes(
    weightBits: 8 | 16, counts: Uint32Array, sums: Uint32Array, features: number, ranges: Uint8Array | null,
  ): { weights: Int8Array | Int16Array; bias: bigint[] } | null {
    const classes = counts.length;
    const rows = classes === 2 ? 1 : classes;
    return this.call((call) => {
      const weights = call.room((rows * features * weightBits) / 8);
      const bias = call.room(rows * 8);
      const parts = [features, classes, call.words(sums), call.words(counts), weights, bias, ranges ? call.bytes(ranges) : 0];
      // twin_model: seven words, options and half_life 0, padding, and a margin of 64 bits
      const model = call.words(Uint32Array.from([...parts, 0, 0, 0, 0, 0]));
      if (this.exports.solve_bytes(weightBits, model) !== 0) return null;
      const buffer = this.exports.memory.buffer;
      const found = weightBits === 8
        ? new Int8Array(buffer, weights, rows * features).slice()
        : new Int16Array(buffer, weights, rows * features).slice();
      const biases = weightBits === 8
        ? Array.from(new Int32Array(buffer, bias, rows), BigInt)
        : Array.from(new BigInt64Array(buffer, bias, rows));
      return { weights: found, bias: biases };
    });
  }

  private summarise(m: number, by: Grouping, missing: boolean, run: (call: Call, to: number) => number): Raw {
    const groups = by.classes * by.folds;
    return this.call((call) => {
      const codes = call.words(by.codes);
      const sums = call.room(groups * m * 8);
      const counts = call.room(groups * 8);
      const low = call.room(by.folds * m * 8);
      const high = call.room(by.folds * m * 8);
      const present = missing ? call.room(groups * m * 8) : 0;
      const to = call.words(Uint32Array.from([codes, groups, by.classes, sums, counts, low, high, present]));
      const outcome = run(call, to);
      check(outcome);
      return {
        sums: call.readFloats(sums, groups * m),
        counts: call.readFloats(counts, groups),
        low: call.readFloats(low, by.folds * m),
        high: call.readFloats(high, by.folds * m),
        present: missing ? call.readFloats(present, groups * m) : null,
        finite: outcome === FINITE,
      };
    });
  }

  /** Run something with memory of its own. */
  private call<T>(run: (call: Call) => T): T {
    const mark = this.exports.mark();
    try {
      return run(new Call(this.exports, mark));
    } finally {
      this.exports.release(mark);
    }
  }
}

/** Counts (k), sums (k x m), and what features are scaled by (m). */
export interface Learned {
  sums: Floats;
  counts: Floats;
  low: Floats;
  span: Floats;
}

/** Weights of scaled features (R x m), biases (R), and where each feature speaks for neither side (R x m). */
export interface Solved {
  weights: Floats;
  bias: Floats;
  midpoints: Floats;
}

/** Copies arguments into the memory of the module, one after the other. */
class Call {
  private end: number;

  constructor(private readonly exports: Exports, start: number) {
    this.end = start;
  }

  /** Return a place for n bytes. */
  room(n: number): number {
    const start = this.end;
    this.end = start + Math.ceil(n / 16) * 16;
    const lacking = this.end - this.exports.memory.buffer.byteLength;
    if (lacking > 0) this.exports.memory.grow(Math.ceil(lacking / 65536));
    this.exports.release(this.end); // what the kernels take begins here
    return start;
  }

  floats(values: Floats): number {
    const at = this.room(values.byteLength);
    new Float64Array(this.exports.memory.buffer, at, values.length).set(values);
    return at;
  }

  bytes(values: Uint8Array): number {
    const at = this.room(values.length);
    new Uint8Array(this.exports.memory.buffer, at, values.length).set(values);
    return at;
  }

  words(values: Int32Array | Uint32Array): number {
    const at = this.room(values.byteLength);
    new Uint32Array(this.exports.memory.buffer, at, values.length).set(values);
    return at;
  }

  columns(columns: readonly Column[]): { data: number; bytes: number } {
    const places = columns.map((column) => (column instanceof Uint8Array ? this.bytes(column) : this.floats(column)));
    const narrow = Uint8Array.from(columns, (column) => (column instanceof Uint8Array ? 1 : 0));
    return { data: this.words(Uint32Array.from(places)), bytes: this.bytes(narrow) };
  }

  learned(learned: Learned): number {
    const { sums, counts, low, span } = learned;
    const places = [this.floats(counts), this.floats(sums), this.floats(low), this.floats(span)];
    return this.words(Uint32Array.from([counts.length, low.length, ...places]));
  }

  readFloats(at: number, n: number): Floats {
    return new Float64Array(this.exports.memory.buffer, at, n).slice();
  }
}

function check(outcome: number): void {
  if (outcome !== FINITE && outcome !== NOT_FINITE) throw new Error(`the kernel answered ${outcome}`);
}
