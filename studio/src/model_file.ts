/** The .sefr file, as src/sefr/model_file.py writes it. */

import { type Coder, edgesOf } from "./cells";
import type { Doubles } from "./double_double";
import type { Floats } from "./kernel";
import type { Label } from "./labels";
import type { TemperatureScaling } from "./probabilities";
import { dumps, Float, type Json, reprFloat } from "./python_text";
import { featureNames, type Recipe } from "./recipe";
import type { Refined } from "./refine";
import { sha256 } from "./sha256";
import { signalMember, type SignalPlan, type SignalSettings } from "./signal_plan";
import type { Summary } from "./summary";

/** What the package that the page was built with puts into a file: its version and the settings it knows. */
export interface About {
  version: string;
  schema: number;
  settings: Record<string, Json>;
  /** The members that say where features are cut, without any. */
  coder: Record<string, Json>;
}

const EXACT = 2 ** 53;

/** What a file holds of a model. */
export interface Content {
  summary: Summary<Label>;
  trained: { recipe: Recipe; refined: Refined | null; plan: SignalPlan | null };
  calibration: TemperatureScaling | null;
  settings: { balanced: boolean; ignoreMissing: boolean; passes: number; bins: number | null; signal: SignalSettings | null };
}

export function modelFile(about: About, { summary, trained, calibration, settings: chosen }: Content): Uint8Array<ArrayBuffer> {
  const { recipe, refined, plan } = trained;
  const settings = {
    ...about.settings,
    bins: chosen.bins,
    class_weight: chosen.balanced ? "balanced" : null,
    missing: chosen.ignoreMissing ? "ignore" : "error",
    passes: chosen.passes,
  };
  const line = (value: Json): string => dumps(value, { ascii: false });
  const { signal } = chosen;
  const columns: Record<string, Json> = { label: signal ? null : recipe.label, columns: recipe.columns, categories: recipe.categories };
  if (signal && plan) columns.signal = signalMember(plan, signal);
  const members: [string, string][] = [
    ["made_by", line(`sefr ${about.version}`)],
    ["settings", line(settings)],
    ["classes", line({ kind: kindOf(summary.classes), labels: summary.classes, closed: false })],
    ["features", line(featureNames(recipe))],
    ["bins", line(summary.coder && { ...about.coder, ...plainCoder(summary.coder) })],
    ["summary", summaryText(summary)],
    ["refined", refined ? refinedText(refined, summary.sums.head.length / summary.classes.length) : "null"],
    ["auto", "null"],
    ["calibration", calibration ? calibrationText(calibration) : "null"],
    ["columns", line(columns)],
    ["batches", "[]"],
  ];
  const text = members.map(([name, value]) => `  "${name}": ${value},\n`).join("");
  const body = `{\n  "format": "sefr model",\n  "schema": ${about.schema},\n${text}  "checksum": "sha256:`;
  const encoder = new TextEncoder();
  return encoder.encode(`${body}${sha256(encoder.encode(body))}"\n}\n`);
}

function kindOf(labels: readonly Label[]): string {
  return typeof labels[0] === "bigint" ? "int64" : typeof labels[0] === "boolean" ? "bool" : "text";
}

function plainCoder(coder: Coder): Record<string, Json> {
  const edges = Array.from(coder.offsets.subarray(0, -1), (_, j) => Array.from(edgesOf(coder, j), (edge) => new Float(edge)));
  return { missing: coder.missing, edges };
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

function summaryText(summary: Summary<Label>): string {
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
  ]);
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
