/** The .sefr file, as src/sefr/model_file.py writes it. */

import type { Doubles } from "./double_double";
import type { Floats } from "./kernel";
import type { Label } from "./labels";
import { dumps, type Json, reprFloat } from "./python_text";
import { featureNames, type Recipe } from "./recipe";
import { sha256 } from "./sha256";
import type { Summary } from "./summary";

/** What the package that the page was built with puts into a file: its version and the settings it knows. */
export interface About {
  version: string;
  schema: number;
  settings: Record<string, Json>;
}

const EXACT = 2 ** 53;

export function modelFile(
  about: About, summary: Summary<Label>, recipe: Recipe, chosen: { balanced: boolean; ignoreMissing: boolean },
): Uint8Array<ArrayBuffer> {
  const settings = {
    ...about.settings,
    class_weight: chosen.balanced ? "balanced" : null,
    missing: chosen.ignoreMissing ? "ignore" : "error",
  };
  const line = (value: Json): string => dumps(value, { ascii: false });
  const columns = { label: recipe.label, columns: recipe.columns, categories: recipe.categories };
  const members: [string, string][] = [
    ["made_by", line(`sefr ${about.version}`)],
    ["settings", line(settings)],
    ["classes", line({ kind: kindOf(summary.classes), labels: summary.classes, closed: false })],
    ["features", line(featureNames(recipe))],
    ["bins", "null"],
    ["summary", summaryText(summary)],
    ["refined", "null"],
    ["calibration", "null"],
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

function summaryText(summary: Summary<Label>): string {
  const m = summary.low.length;
  const table = (part: Floats | null | undefined): string => {
    if (!part) return "null";
    const rows = summary.classes.map((_, k) => `      ${numbers(part.subarray(k * m, (k + 1) * m))}`);
    return `[\n${rows.join(",\n")}\n    ]`;
  };
  const tail = (part: Doubles | null): Floats | null => part && part.tail;
  const { counts } = summary;
  const parts: [string, string][] = [
    ["counts", numbers(counts.head)],
    ["low", numbers(summary.low)],
    ["high", numbers(summary.high)],
    ["sums", table(summary.sums.head)],
    ["tails", table(summary.sums.tail)],
    ["present", table(summary.present?.head)],
    ["count_tails", counts.tail ? numbers(counts.tail) : "null"],
    ["present_tails", table(tail(summary.present))],
  ];
  return `{\n${parts.map(([name, value]) => `    "${name}": ${value}`).join(",\n")}\n  }`;
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
