/** A model as C: the header and the sketch that `sefr export` writes, byte for byte, from the same templates. */

import { render } from "virtual:templates";
import { crc32 } from "./crc32";
import { labelText } from "./labels";
import { cText, distinct, identifier, type Taken, word } from "./names";
import { dumps, Float, general, type Json } from "./python_text";
import { NotForBoards, type Quantised, toEven } from "./quantise";
import type { SignalPlan, SignalSettings } from "./signal_plan";
import { packState } from "./state";

export interface Source {
  version: string;
  taken: Taken;
  /** The files of the device library. */
  library: Readonly<Record<string, string>>;
}

const ON_A_LINE = 20;
const LONGEST_SIGNAL = 255;
const SHOWN = 64;
const UNO_EEPROM = 1024;
const MAX_RECORDS_16 = 256;
const VALUE_TYPES = { uint8: "uint8_t", int16: "int16_t", int32: "int32_t", float: "float" };

/** Return the C header: one file, complete by itself. */
export function header(q: Quantised, stem: string, source: Source): { name: string; text: string } {
  const name = identifier(stem, source.taken);
  const needed = "sefr_weights.h";
  const more = { ...product(q), body: "weights.j2", body_kind: "products", sketch: false, complete: complete(needed, source), needed: [needed] };
  return { name: `${name}.h`, text: render("scores.h.j2", { ...context(q, name, source.version), ...more }) };
}

/** Return a header of the library with those that it includes in their places. */
function complete(name: string, source: Source): string {
  return source.library[name].replace(/#include "(sefr_\w+\.h)"\n/g, (_, inner: string) => complete(inner, source));
}

/** Return how a record is multiplied with weights, and the type that holds the sum. */
function product(q: Quantised): Record<string, string> {
  const wide = q.weightBits === 16;
  // 32767 products of 127 * 255, or 256 of 32767 * 255, are below 2**31
  const narrow = q.low.length <= (wide ? 256 : 32767);
  return { product: wide ? "sefr_sum_16" : narrow ? "sefr_sum_8" : "sefr_sum_8_wide", multiplied: "uint8_t", sum_type: narrow ? "int32_t" : "int64_t" };
}

export interface SketchSettings {
  balanced: boolean;
  /** How the sketch samples, if records are windows of a signal. */
  signal: SignalSettings | null;
  plan: SignalPlan | null;
}

/** Return what the template needs to make the features of a signal, or say why a board cannot. */
function signalContext(q: Quantised, plan: SignalPlan, { hop, rate }: SignalSettings): Record<string, unknown> {
  if (q.input !== "uint8") throw new NotForBoards(`a signal goes with the target 'arduino' and bytes, not 'arduino' and ${q.input}`);
  if (plan.length > LONGEST_SIGNAL || plan.axes > 254) {
    throw new NotForBoards(
      `boards take windows of up to ${LONGEST_SIGNAL} samples, 254 axes and 255 thresholds, not ` +
        `${plan.length}, ${plan.axes} and ${plan.thresholds}: train on shorter windows`,
    );
  }
  return {
    plan,
    dilations: plan.dilations.join(", "),
    ranges: plan.ranges.map(([low, high]) => `{${low}, ${high}}`).join(", "),
    hop,
    rate: general(rate, 6),
    microseconds: toEven(1e6 / rate),
    most_clipped: Math.floor((plan.axes * plan.length) / 8),
    ram: 4 * plan.axes * plan.length + 2 * plan.kernels * plan.thresholds + q.names.length + 31,
    steps: plan.names.map((axis, i) => `${cText(axis)}: ${general(plan.resolution[i], 6)}`),
  };
}

/** Return the files of an Arduino sketch, by their paths. */
export function sketch(q: Quantised, stem: string, source: Source, learn: boolean, { balanced, signal, plan }: SketchSettings): Map<string, Uint8Array> {
  const name = identifier(stem, source.taken);
  let all: Record<string, unknown> = { ...context(q, name, source.version), learn, complete: "", needed: ["sefr_sketch.h", "sefr_values.h"] };
  if (signal && plan) all.signal = signalContext(q, plan, signal);
  let base: Uint8Array | null = null;
  let id = 0;
  if (learn) {
    if (balanced) {
      throw new NotForBoards(
        "a board that goes on learning counts its records as they come, without class_weight: " +
          "export with learn=False, or train without it and set SEFR_BALANCED on the board",
      );
    }
    if (q.refined) {
      throw new NotForBoards(
        "a board that goes on learning solves its weights from sums, which would undo " +
          "passes > 1: export with learn=False, or train with passes=1",
      );
    }
    if (q.missed) {
      throw new NotForBoards(
        "a board that goes on learning solves its weights from sums of all values, and some were " +
          "missing here: export with learn=False, or fill them in before training",
      );
    }
    const made = baseState(q);
    ({ bytes: base, id } = made);
    if (2 * base.length > UNO_EEPROM) {
      throw new NotForBoards(
        `saving ${q.low.length} features x ${q.classes.length} classes takes two states of ${base.length} ` +
          `bytes, and the EEPROM has ${UNO_EEPROM} (an Uno's has ${UNO_EEPROM}): train on fewer features` +
          ", or take a board with more EEPROM (eeprom=, in the command --eeprom)",
      );
    }
    all = { ...all, state: Array.from(base), state_note: made.note, model_id: id };
  }
  const encoder = new TextEncoder();
  const files = new Map<string, Uint8Array>();
  const put = (path: string, text: string): void => void files.set(`${name}/${path}`, encoder.encode(text));
  put(`${name}.h`, render(learn ? "learning.h.j2" : "fixed.h.j2", all));
  put(`${name}.ino`, render("sensors.ino.j2", all));
  for (const [path, text] of Object.entries(source.library)) put(`src/sefr/${path}`, text);
  put("src/sefr/sefr_config.h", configuration(q, learn));
  if (base) files.set(`${name}/base.state`, base);
  put("model.json", `${dumps(aboutModel(q, name, learn, id), { ascii: true, indent: 1 })}\n`);
  return files;
}

/** Return the settings of the library: what the sketch does not call is left out. */
function configuration(q: Quantised, learn: boolean): string {
  const switches = [
    "SEFR_NO_LEAN", "SEFR_NO_SPARSE", "SEFR_NO_CORRECT",
    ...(learn ? ["SEFR_NO_STEPS"] : []),
    ...(q.classes.length === 2 ? ["SEFR_TWO_CLASSES"] : []),
    ...(q.ranges && learn ? [] : ["SEFR_NO_RANGES"]),
    "SEFR_NO_UNKNOWN",
    ...(learn ? [] : ["SEFR_NO_BALANCED", "SEFR_NO_STATE"]),
  ];
  return (
    `/* The settings of this sketch; see sefr.h. */\n#define SEFR_WEIGHT_BITS ${q.weightBits}\n#define SEFR_SUM_BITS 16\n` +
    "/* What the sketch does not call is left out; take a line away to use it. */\n" +
    switches.map((name) => `#define ${name}\n`).join("")
  );
}

function aboutModel(q: Quantised, name: string, learn: boolean, id: number): Json {
  const about = { name, input: q.input, features: q.low.length, classes: q.classes as readonly Json[], learn };
  if (!learn) return about;
  const m = q.low.length;
  const side = (values: ArrayLike<number>, byte: number): Json[] => {
    if (q.input === "uint8") return byte ? new Array<Json>(m).fill(255) : new Array<Json>(m).fill(new Float(0));
    return Array.from(values, (x) => (q.input === "float" ? new Float(x) : x));
  };
  return { ...about, low: side(q.low, 0), high: side(q.high, 1), feature_names: q.names as readonly Json[], id, sum_bits: 16 };
}

function context(q: Quantised, name: string, version: string): Record<string, unknown> {
  const m = q.low.length;
  const rows = q.bias.length;
  const wide = q.weightBits === 16;
  const { mapping } = q;
  const weights = Array.from(q.weights);
  const [low, high] = mapping.how === "divide" ? [q.low, q.high] : [mapping.low, q.high];
  return {
    numbers: false,
    score_note: rows === 1 ? "above 0: class 1" : "per class, the highest wins",
    q: {
      input: q.input, weight_bits: q.weightBits, wide, ranges: q.ranges, weights: { ravel: () => weights },
    },
    map: mapping,
    maps: mapping.ranges.map((range, j) => [low[j], high[j], range, mapping.factors[j], (mapping.exponents ?? mapping.low)[j]]),
    m,
    name,
    NAME: name.toUpperCase(),
    version,
    labels: q.classes.map((label) => cText(labelText(label))),
    features: q.names.slice(0, SHOWN).map(cText),
    clear: clear(q).map((value) => literal(value, wide)),
    classes: distinct(q.classes.map((label) => `is_${word(labelText(label)) || "class"}`)),
    rows,
    value_type: VALUE_TYPES[q.input],
    score_type: wide ? "int64_t" : "int32_t",
    values: q.input !== "uint8",
    bias_type: q.bias.every((value) => value < 1n << 31n && -value < 1n << 31n) ? "int32_t" : "int64_t",
    biases: q.bias.map((value) => literal(value, wide)),
    window: null,
    signal: null,
    limits: null,
    margin: 0,
    kept: `int${q.weightBits} weights`,
    lines,
    integers: (values: ArrayLike<number>) => Array.from(values, String),
  };
}

/** Return by how much the mean record of each class leads; 1 where it does not. */
function clear(q: Quantised): bigint[] {
  const m = q.low.length;
  return q.classes.map((_, label) => {
    const means = Array.from({ length: m }, (_, j) => Math.floor(q.sums[label * m + j] / Math.max(q.counts[label], 1)));
    const totals = q.bias.map((bias, r) => bias + BigInt(means.reduce((sum, mean, j) => sum + mean * q.weights[r * m + j], 0)));
    let lead = label ? totals[0] : -totals[0];
    if (totals.length > 1) {
      const next = totals.filter((_, k) => k !== label).reduce((a, b) => (a > b ? a : b));
      lead = totals[label] - next;
    }
    return lead > 1n ? lead : 1n;
  });
}

/** Return a C literal; the lowest number of a type has none of its own. */
function literal(value: bigint, wide: boolean): string {
  const suffix = wide ? "LL" : "L";
  const lowest = -(1n << (wide ? 63n : 31n));
  return value === lowest ? `(-${-(value + 1n)}${suffix} - 1)` : `${value}${suffix}`;
}

function lines(texts: readonly string[]): string {
  let out = "";
  for (let at = 0; at < texts.length; at += ON_A_LINE) out += `    ${texts.slice(at, at + ON_A_LINE).join(", ")},\n`;
  return out;
}

/** Return what was learned as a board with 16-bit sums would have it, and a note about it. */
export function baseState(q: Quantised): { bytes: Uint8Array; id: number; note: string } {
  if (q.classes.length > 43) throw new NotForBoards(`16-bit sums take 43 classes, not ${q.classes.length}: use sum_bits=32`);
  const m = q.low.length;
  const counts = Array.from(q.counts, (n) => n / q.factor);
  const share = Math.min(1, MAX_RECORDS_16 / 2 / Math.max(...counts));
  const kept = counts.map((n) => (n > 0 ? Math.max(Math.floor(n * share), 1) : 0));
  const part = kept.map((n, k) => (counts[k] > 0 ? n / counts[k] : 0));
  const whole = Array.from(q.sums, (sum, i) => {
    const k = Math.floor(i / m);
    return Math.min(Math.floor((sum / q.factor) * part[k] + 1e-6), 255 * kept[k]);
  });
  const total = (values: number[]): number => values.reduce((a, b) => a + b, 0);
  const note = `${total(counts).toFixed(0)} records` + (share < 1 ? `, counting as ${total(kept).toFixed(0)}` : "");
  const integers = q.input === "int16" || q.input === "int32";
  const side = (values: ArrayLike<number>): Json[] => Array.from(values, (x) => (integers ? x : new Float(x)));
  const floats = (values: number[]): Json[] => values.map((x) => new Float(x));
  const rows = kept.map((_, k) => floats(whole.slice(k * m, (k + 1) * m)));
  // bytes are taken as they are: their ranges are learned, and no part of what they mean
  const scaling = q.input === "uint8" ? [] : [side(q.low), side(q.high)];
  const id = checksum([m, q.input, scaling, q.names as readonly Json[], q.classes.map(labelText)]);
  const base = checksum([floats(kept), rows]);
  return { bytes: packState({ counts: kept, sums: whole, ranges: q.ranges, id, base }, 16), id, note };
}

/** Return a number of 32 bits for facts, never 0, which stands for none. */
function checksum(facts: Json): number {
  return crc32(new TextEncoder().encode(dumps(facts, { ascii: true }))) || 1;
}
