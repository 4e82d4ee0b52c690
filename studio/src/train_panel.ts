/** Train: how often the answers are right, class by class, by ten folds. */

import { counted, h, percent, put, styled, visible } from "./dom";
import type { Model } from "./model";

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

export function accuracyOf(confusion: readonly number[][]): number {
  const rows = confusion.flat().reduce((a, b) => a + b, 0);
  return confusion.reduce((sum, row, k) => sum + row[k], 0) / rows;
}

export function showTrain(panel: HTMLElement, model: Model): void {
  const { evaluation, note, milliseconds } = model.trained;
  const rows = model.summary.counts.head.reduce((a, b) => a + b, 0);
  const title = h("h2", { id: "train-title" }, "Trained");
  const made = model.trained.refined?.lossCurve.length ?? 1;
  const signal = model.trained.plan !== null;
  const how = `${counted(rows, signal ? "window" : "row")}, ${counted(model.names.length, "feature")}, ${counted(model.labels.length, "class")}, ${made === 1 ? "one pass" : `${made} passes`} in ${milliseconds.train.toFixed(1)} ms`;
  if (!evaluation) {
    put(panel, title, h("p", { class: "lead" }, how), h("p", { class: "refusal" }, visible(note ?? "", 600)));
    return;
  }
  const { confusion } = evaluation;
  const report = reportOf(confusion);
  const accuracy = accuracyOf(confusion);
  const f1 = report.reduce((sum, one) => sum + one.f1, 0) / report.length;
  const commonest = Math.max(...report.map((one) => one.rows)) / rows;
  put(panel, title,
    h("p", { class: "lead" }, `${how}; ${signal ? "recordings that were left out" : "ten folds"} tested in ${milliseconds.evaluate.toFixed(0)} ms.`),
    h("div", { class: "figures" },
      figure("Accuracy", percent(accuracy), signal ? "of windows of recordings that were left out" : "of rows that the model had not seen", "accuracy"),
      figure("Macro F1", f1.toFixed(3), "all classes alike", "f1"),
      figure("Base rate", percent(commonest), "by saying the commonest class always", "base")),
    h("div", { class: "two" },
      h("div", {}, h("h3", {}, "Class by class"), classTable(model, report)),
      h("div", {}, h("h3", {}, "What is taken for what"), confusionTable(model, confusion))));
}

function figure(name: string, value: string, what: string, id: string): HTMLElement {
  return h("div", { class: "figure" }, h("span", { class: "name" }, name), h("span", { class: "value", id: `figure-${id}` }, value), h("span", { class: "faint" }, what));
}

function classTable(model: Model, report: readonly ClassReport[]): HTMLElement {
  const shown = report.slice(0, SHOWN_CLASSES);
  const more = report.length - shown.length;
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Class by class" },
    h("table", { id: "classes" },
      h("thead", {}, h("tr", {}, ["Class", "Rows", "Precision", "Recall", "F1"].map((name, i) => h("th", { scope: "col", class: i ? "number" : null }, name)))),
      h("tbody", {}, shown.map((one, k) => h("tr", {},
        h("th", { scope: "row" }, visible(model.labels[k], 24)),
        h("td", { class: "number" }, one.rows.toLocaleString("en-US")),
        [one.precision, one.recall, one.f1].map((value) => h("td", { class: "number" }, value.toFixed(3))))))),
    more > 0 && h("p", { class: "faint" }, `and ${counted(more, "more class")}`));
}

function confusionTable(model: Model, confusion: readonly number[][]): HTMLElement {
  const n = Math.min(confusion.length, SHOWN_CLASSES);
  const names = model.labels.slice(0, n).map((label) => visible(label, 12));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What is taken for what" },
    h("table", { id: "confusion", class: "confusion" },
      h("caption", {}, "Rows: what it is. Columns: what the model says."),
      h("thead", {}, h("tr", {}, h("td", {}), names.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, confusion.slice(0, n).map((row, truth) => {
        const total = Math.max(1, row.reduce((a, b) => a + b, 0));
        return h("tr", {}, h("th", { scope: "row" }, names[truth]), row.slice(0, n).map((count, answer) =>
          styled(h("td", { class: truth === answer ? "right" : count ? "wrong" : "none" }, count || "·"), { "--part": count / total })));
      }))));
}
