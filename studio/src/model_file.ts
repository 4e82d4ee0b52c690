/** The .sefr file, as src/sefr/model_file.py writes it. */

import type { Auto } from "./auto";
import { type Coder, edgesOf, featuresIn } from "./cells";
import type { Doubles } from "./double_double";
import type { Ferns, Floats } from "./kernel";
import type { How } from "./learning";
import type { Products } from "./moments";
import type { TrainedNumbers } from "./numbers";
import type { Label } from "./labels";
import type { TemperatureScaling } from "./probabilities";
import { dumps, Float, type Json, reprFloat } from "./python_text";
import { featureNames, type Recipe } from "./recipe";
import type { Refined } from "./refine";
import { sha256 } from "./sha256";
import type { Planes } from "./solve";
import { signalMember, type SignalPlan, type SignalSettings } from "./signal_plan";
import type { Summary } from "./summary";

/** What the package that the page was built with puts into a file: its version and the settings it knows. */
export interface About {
  version: string;
  schema: number;
  settings: Record<string, Json>;
  /** Those of a model that predicts a number. */
  numberSettings: Record<string, Json>;
  /** The members that say where features are cut, without any. */
  coder: Record<string, Json>;
}

const EXACT = 2 ** 53;

/** What a file holds of a model. */
export interface Content {
  summary: Summary<Label>;
  products: Products | null;
  trained: { recipe: Recipe; how: How; ignoreMissing: boolean; refined: Refined | null; auto: Auto | null; plan: SignalPlan | null };
  calibration: TemperatureScaling | null;
  settings: { balanced: boolean; signal: SignalSettings | null };
}

export function modelFile(about: About, { summary, products, trained, calibration, settings: chosen }: Content): Uint8Array<ArrayBuffer> {
  const { recipe, refined, auto, plan } = trained;
  const settings = {
    ...about.settings,
    auto: trained.how.auto,
    bins: trained.how.bins,
    class_weight: chosen.balanced ? "balanced" : null,
    missing: trained.ignoreMissing ? "ignore" : "error",
    moments: trained.how.moments,
    passes: trained.how.passes,
  };
  const line = (value: Json): string => dumps(value, { ascii: false });
  const { signal } = chosen;
  const columns: Record<string, Json> = { ...recipeMember(recipe), ...(signal ? { label: null } : {}) };
  if (signal && plan) columns.signal = signalMember(plan, signal);
  const members: [string, string][] = [
    ["made_by", line(`sefr ${about.version}`)],
    ["settings", line(settings)],
    ["classes", line({ kind: kindOf(summary.classes), labels: summary.classes, closed: false })],
    ["features", line(featureNames(recipe))],
    ["bins", line(summary.coder && { ...about.coder, ...plainCoder(summary.coder) })],
    ["summary", summaryText(summary, products)],
    ["refined", refined ? refinedText(refined, summary.sums.head.length / summary.classes.length) : "null"],
    ["auto", auto ? autoText(auto, refined!.planes.beside) : "null"],
    ["calibration", calibration ? calibrationText(calibration) : "null"],
    ["columns", line(columns)],
    ["batches", "[]"],
  ];
  return sealed(about, members);
}

/** Return the file of a model that predicts a number. */
export function numberFile(about: About, { recipe, method, bins, ignoreMissing, coder, products }: TrainedNumbers): Uint8Array<ArrayBuffer> {
  const cells = coder.columnOf.length;
  const zeros = new Float64Array(cells);
  const sums = Float64Array.from({ length: cells }, (_, c) => products.pairs[c * cells - (c * (c - 1)) / 2]);
  const plain = (head: Floats): Doubles => ({ head, tail: null });
  const summary = { classes: [0n], counts: plain(Float64Array.of(products.count)), sums: plain(sums), present: null, low: zeros, high: zeros, coder };
  const line = (value: Json): string => dumps(value, { ascii: false });
  return sealed(about, [
    ["made_by", line(`sefr ${about.version}`)],
    ["settings", line({ ...about.numberSettings, auto: method === "auto", bins, missing: ignoreMissing ? "ignore" : "error" })],
    ["classes", line({ kind: "int8", labels: [0], closed: false })],
    ["features", line(featureNames(recipe))],
    ["bins", line({ ...about.coder, ...plainCoder(coder) })],
    ["summary", summaryText(summary, products)],
    ["refined", "null"],
    ["auto", "null"],
    ["calibration", "null"],
    ["columns", line(recipeMember(recipe))],
    ["batches", "[]"],
  ]);
}

function recipeMember(recipe: Recipe): Record<string, Json> {
  const columns: Record<string, Json> = { label: recipe.label, columns: recipe.columns, categories: recipe.categories };
  if (recipe.leftOut.size) columns.left_out = recipe.leftOut;
  if (recipe.encoding) columns.encoding = recipe.encoding;
  if (recipe.skipUnlabelled) columns.skip_unlabelled = true;
  if (recipe.dates.size) columns.dates = recipe.dates;
  return columns;
}

function sealed(about: About, members: readonly [string, string][]): Uint8Array<ArrayBuffer> {
  const text = members.map(([name, value]) => `  "${name}": ${value},\n`).join("");
  const body = `{\n  "format": "sefr model",\n  "schema": ${about.schema},\n${text}  "checksum": "sha256:`;
  const encoder = new TextEncoder();
  return encoder.encode(`${body}${sha256(encoder.encode(body))}"\n}\n`);
}

function kindOf(labels: readonly Label[]): string {
  return typeof labels[0] === "bigint" ? "int64" : typeof labels[0] === "boolean" ? "bool" : "text";
}

function plainCoder(coder: Coder): Record<string, Json> {
  const edges = Array.from({ length: featuresIn(coder) }, (_, j) => Array.from(edgesOf(coder, j), (edge) => new Float(edge)));
  return { missing: coder.missing, edges, interactions: coder.ferns && interactions(coder.ferns) };
}

/** Return the comparisons of each fern: a feature and a bin of it each. */
function interactions({ features, bounds, depth }: Ferns): Json {
  const pairs = Array.from(features, (feature, c) => [feature, bounds[c]]);
  return Array.from({ length: pairs.length / depth }, (_, t) => pairs.slice(t * depth, (t + 1) * depth));
}

function autoText({ choice, values }: Auto, lines: Planes | null): string {
  const byPart = (parts: ReadonlyMap<string, number>): Json => new Map(Array.from(parts, ([name, value]): [string, Json] => [name, new Float(value)]));
  const text = dumps({ weights: byPart(choice.weights), log_loss: byPart(choice.logLoss), n_ferns: choice.ferns, n_held_out: choice.heldOut }, { ascii: false });
  if (!lines) return `${text.slice(0, -1)}, "lines": null}`;
  const m = lines.scaling.low.length;
  const own = objectText([
    ["weights", rowsText(lines.weights, m)],
    ["midpoints", rowsText(lines.midpoints, m)],
    ["low", numbers(lines.scaling.low)],
    ["span", numbers(lines.scaling.span)],
    ["values", numbers(values)],
  ]);
  return `${text.slice(0, -1)}, "lines": ${own}}`;
}

function refinedText({ planes, lossCurve }: Refined, m: number): string {
  return objectText([
    ["weights", rowsText(planes.weights, m)],
    ["bias", numbers(planes.bias)],
    ["midpoints", rowsText(planes.midpoints, m)],
    ["low", numbers(planes.scaling.low)],
    ["span", numbers(planes.scaling.span)],
    ["loss_curve", numbers(Float64Array.from(lossCurve))],
  ]);
}

function calibrationText({ inverse, offsets, precision }: TemperatureScaling): string {
  return objectText([["inverse_temperature", reprFloat(inverse)], ["offsets", numbers(offsets)], ["precision", numbers(precision)]]);
}

function objectText(parts: readonly [string, string][]): string {
  return `{\n${parts.map(([name, value]) => `    "${name}": ${value}`).join(",\n")}\n  }`;
}

function rowsText(values: Floats, m: number): string {
  const rows = Array.from({ length: values.length / m }, (_, k) => `      ${numbers(values.subarray(k * m, (k + 1) * m))}`);
  return `[\n${rows.join(",\n")}\n    ]`;
}

function summaryText(summary: Summary<Label>, products: Products | null): string {
  const m = summary.low.length;
  const table = (part: Floats | null | undefined): string => (part ? rowsText(part, m) : "null");
  const tail = (part: Doubles | null): Floats | null => part && part.tail;
  const { counts } = summary;
  const side = (values: Floats): string => (summary.coder ? "null" : numbers(values)); // those of cells are known
  return objectText([
    ["counts", numbers(counts.head)],
    ["low", side(summary.low)],
    ["high", side(summary.high)],
    ["sums", table(summary.sums.head)],
    ["tails", table(summary.sums.tail)],
    ["present", table(summary.present?.head)],
    ["count_tails", counts.tail ? numbers(counts.tail) : "null"],
    ["present_tails", table(tail(summary.present))],
    ...(products ? [["products", JSON.stringify(inBase64(productBytes(products)))] as [string, string]] : []),
  ]);
}

/** Return products of cells as src/sefr/_summary/bytes_format.py packs them. */
function productBytes({ count, pairs, target }: Products): Uint8Array {
  const cells = Math.round((Math.sqrt(8 * pairs.length + 1) - 1) / 2);
  const rows = Array.from({ length: cells }, (_, c) => pairs.subarray(c * cells - (c * (c - 1)) / 2, (c + 1) * cells - (c * (c + 1)) / 2));
  const sums = rows.map((row) => row[0]);
  const beside = (value: number): number[] => (target ? [value] : []);
  const packed = [count, ...sums, ...beside(target?.sum ?? 0)];
  rows.forEach((row, c) => {
    for (const pair of row) packed.push(pair);
    if (target) packed.push(target.byCell[c]);
  });
  if (target) packed.push(target.squares);
  const origin = [...new Array<number>(cells).fill(0), ...beside(target?.origin ?? 0)];
  return joinedBytes([Uint8Array.of(0, target ? 1 : 0), arrayBytes(Float64Array.from(origin)), arrayBytes(Float64Array.from(packed))]);
}

/** Return numbers in the smallest of the kinds that hold each of them: a byte for the kind, then the numbers. */
function arrayBytes(values: Floats): Uint8Array {
  const kinds = [Uint8Array, Int8Array, Uint16Array, Int16Array, Uint32Array, Int32Array, Float32Array, Float64Array];
  for (const [kind, Kind] of kinds.entries()) {
    const narrow = Kind.from(values);
    if (narrow.every((value, i) => Object.is(value, values[i]))) return joinedBytes([Uint8Array.of(kind), new Uint8Array(narrow.buffer)]);
  }
  throw new Error("float64 holds itself");
}

function joinedBytes(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function inBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 1 << 13) text += String.fromCharCode(...bytes.subarray(at, at + (1 << 13)));
  return btoa(text);
}

/** Return numbers as JSON: whole ones without a point, null for none. */
function numbers(values: Floats): string {
  const texts = Array.from(values, (value) => {
    if (!Number.isFinite(value)) return "null";
    const whole = Number.isInteger(value) && Math.abs(value) < EXACT && !Object.is(value, -0);
    return whole ? String(value) : reprFloat(value);
  });
  return `[${texts.join(", ")}]`;
}
