/** Train: how often the answers are right, class by class, by ten folds. */

import { counted, h, percent, put, styled, visible } from "./dom";
import type { Auto } from "./auto";
import { accuracyOf, type Compared, macroF1, type Named } from "./learning";
import type { Model } from "./model";
import type { Studio } from "./studio";

const SHOWN_CLASSES = 20;

export interface ClassReport {
  rows: number;
  precision: number;
  recall: number;
  f1: number;
}

export function reportOf(confusion: readonly number[][]): ClassReport[] {
  return confusion.map((row, k) => {
    const rows = row.reduce((a, b) => a + b, 0);
    const given = confusion.reduce((sum, other) => sum + other[k], 0);
    const hits = row[k];
    return { rows, precision: given ? hits / given : 0, recall: rows ? hits / rows : 0, f1: rows + given ? (2 * hits) / (rows + given) : 0 };
  });
}

const NAMES: Record<Named, string> = { paper: "Paper: one pass", passes: "Ten passes", exact: "Exact, with curves", auto: "Auto" };
/** Below such a difference of macro F1 no other method is spoken of. */
const CLEARLY = 0.01;

export function showTrain(panel: HTMLElement, studio: Studio, model: Model): void {
  const { evaluation, note, milliseconds } = model.trained;
  const rows = model.summary.counts.head.reduce((a, b) => a + b, 0);
  const title = h("h2", { id: "train-title" }, "Trained");
  const made = model.trained.auto ? 1 : (model.trained.refined?.lossCurve.length ?? 1);
  const signal = model.trained.plan !== null;
  const how = `${named(model)}: ${counted(rows, signal ? "window" : "row")}, ${counted(model.names.length, "feature")}, ${counted(model.labels.length, "class")}${model.trained.auto ? "," : made === 1 ? ", one pass" : `, ${made} passes`} in ${milliseconds.train.toFixed(1)} ms`;
  if (!evaluation) {
    put(panel, title, h("p", { class: "lead" }, how), h("p", { class: "refusal" }, visible(note ?? "", 600)));
    return;
  }
  const { confusion } = evaluation;
  const report = reportOf(confusion);
  const accuracy = accuracyOf(confusion);
  const tested = report.reduce((sum, one) => sum + one.rows, 0);
  const commonest = Math.max(...report.map((one) => one.rows)) / tested;
  put(panel, title,
    h("p", { class: "lead" }, `${how}; ${signal ? "tested on recordings that were left out" : `tested on ${tested < rows ? `${counted(tested, "row")} of them` : `rows that were left out, in ${evaluation.folds} parts`}`}, in ${milliseconds.evaluate.toFixed(0)} ms.`),
    h("div", { class: "figures" },
      figure("Accuracy", percent(accuracy), signal ? "of windows of recordings that were left out" : "of rows that the model had not seen", "accuracy"),
      figure("Macro F1", macroF1(confusion).toFixed(3), "every class counts the same; 1 is perfect", "f1"),
      figure("Without a model", percent(commonest), "by always answering the commonest class", "base")),
    accuracy <= commonest && h("p", { class: "refusal", id: "useless" }, "The model is no better than always answering the commonest class: these columns hardly tell the classes apart."),
    !signal && comparison(studio, model),
    h("div", { class: "two" },
      h("div", {}, h("h3", {}, "Class by class"), classTable(model, report)),
      h("div", {}, h("h3", {}, "Which classes are confused"), confusionTable(model, confusion))));
}

/** The name of the method that a model is of. */
function named({ trained: { how } }: Model): string {
  if (how.auto) return NAMES.auto;
  if (how.moments === 2) return NAMES.exact;
  if (how.bins !== null) return "Curves";
  return how.passes === 1 ? NAMES.paper : "Several passes";
}

/** The ways of training beside each other, and what the best of them brings. */
function comparison(studio: Studio, model: Model): HTMLElement {
  const { compared, how } = model.trained;
  if (!compared) {
    return h("div", { class: "block" }, h("button", { type: "button", id: "compare", onclick: () => studio.set({ method: "auto" }) }, "Compare the methods"),
      h("span", { class: "faint note" }, "Tests the paper, ten passes, the exact method and auto on the same rows, and takes auto."));
  }
  const used: Named = how.auto ? "auto" : how.moments === 2 ? "exact" : how.passes > 1 ? "passes" : "paper";
  const line = ({ method, accuracy, f1 }: Compared): HTMLElement => h("tr", { class: method === used ? "used" : null },
    h("th", { scope: "row" }, NAMES[method], method === used && h("span", { class: "faint" }, " used")),
    h("td", {}, styled(h("div", { class: "track" }, h("i", {})), { "--part": accuracy })),
    h("td", { class: "number" }, percent(accuracy)), h("td", { class: "number" }, f1.toFixed(3)));
  const [paper, own] = [compared[0], compared.find(({ method }) => method === used)!];
  const better = compared.filter(({ f1 }) => f1 > own.f1 + CLEARLY).sort((one, other) => other.f1 - one.f1)[0];
  const gain = own.accuracy > paper.accuracy
    ? `${NAMES[used]}: ${(100 * paper.accuracy).toFixed(1)} → ${percent(own.accuracy)} against the paper's single pass.`
    : `${NAMES[used]} is right no more often than the paper's single pass: ${percent(own.accuracy)}, and ${percent(paper.accuracy)}.`;
  return h("div", { class: "block" }, h("h3", {}, "Methods compared"),
    h("p", { id: "gain" }, gain),
    better && h("p", { id: "better" }, `Better on these rows: ${NAMES[better.method]}, macro F1 ${own.f1.toFixed(3)} → ${better.f1.toFixed(3)}. `,
      h("button", { type: "button", id: "use-better", onclick: () => studio.set({ method: better.method }) }, "Use it")),
    used !== "auto" && h("p", { class: "faint", id: "no-auto" }, "The table is too large for auto in this page: sefr train has no such limit."),
    model.trained.auto && chosen(model.trained.auto),
    h("table", { id: "compared" },
      h("thead", {}, h("tr", {}, ["Method", "", "Accuracy", "Macro F1"].map((name, i) => h("th", { scope: "col", class: i > 1 ? "number" : null }, name)))),
      h("tbody", {}, compared.map(line))));
}

/** What auto is made of. */
function chosen({ choice }: Auto): HTMLElement {
  const names = { line: "lines", bins: "curves", ferns: `${counted(choice.ferns, "interaction")}` };
  const parts = Array.from(choice.weights, ([name, weight]) => ({ name: names[name], weight })).filter(({ weight }) => weight > 0);
  return h("p", { class: "faint", id: "chosen" },
    `Auto adds up ${parts.map(({ name, weight }) => `${name} times ${weight.toFixed(2)}`).join(", ")}: weights found on ${counted(choice.heldOut, "row")} that its parts had not seen.`);
}

function figure(name: string, value: string, what: string, id: string): HTMLElement {
  return h("div", { class: "figure" }, h("span", { class: "name" }, name), h("span", { class: "value", id: `figure-${id}` }, value), h("span", { class: "faint" }, what));
}

function classTable(model: Model, report: readonly ClassReport[]): HTMLElement {
  const line = (one: ClassReport, k: number): HTMLElement => h("tr", {},
    h("th", { scope: "row" }, visible(model.labels[k], 24)),
    h("td", { class: "number" }, one.rows.toLocaleString("en-US")),
    [one.precision, one.recall, one.f1].map((value) => h("td", { class: "number" }, value.toFixed(3))));
  const body = h("tbody", {}, report.slice(0, SHOWN_CLASSES).map(line));
  const all = h("button", { type: "button", onclick: () => {
    put(body, report.map(line));
    all.remove();
  } }, `Show all ${counted(report.length, "class")}`);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Class by class" },
    h("table", { id: "classes" },
      h("thead", {}, h("tr", {}, ["Class", "Rows", "Precision", "Recall", "F1"].map((name, i) => h("th", { scope: "col", class: i ? "number" : null }, name)))),
      body),
    report.length > SHOWN_CLASSES && all);
}

function confusionTable(model: Model, confusion: readonly number[][]): HTMLElement {
  const n = Math.min(confusion.length, SHOWN_CLASSES);
  const names = model.labels.slice(0, n).map((label) => visible(label, 12));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Which classes are confused" },
    h("table", { id: "confusion", class: "confusion" },
      h("caption", {}, "Rows: what it is. Columns: what the model says."),
      h("thead", {}, h("tr", {}, h("td", {}), names.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, confusion.slice(0, n).map((row, truth) => {
        const total = Math.max(1, row.reduce((a, b) => a + b, 0));
        return h("tr", {}, h("th", { scope: "row" }, names[truth]), row.slice(0, n).map((count, answer) =>
          styled(h("td", { class: truth === answer ? "right" : count ? "wrong" : "none" }, count || "·"), { "--part": count / total })));
      }))));
}
