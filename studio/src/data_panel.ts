/** Data: drop, paste or choose; columns with what they hold; which is the label and which are left out. */

import { examples } from "virtual:assets";
import { partsSaid } from "./dates";
import { counted, h, put, rounded, styled, visible } from "./dom";
import { DrawnGestures } from "./drawn_gestures";
import { filesOf, foldersOf } from "./folders";
import type { ColumnView, Given } from "./messages";
import type { Method } from "./learning";
import { NUMBER_METHODS } from "./number_panels";
import type { Role } from "./recipe";
import { showRecordings, signalFields } from "./signal_panel";
import { type Event, SIGNAL, type Studio } from "./studio";
import { sentences } from "./survey";

const EXAMPLES: Record<string, [string, string]> = {
  "digits.csv": ["Digits", "1,797 handwritten digits of 8 by 8 pixels"],
  "flowers.csv": ["Flowers", "150 irises of three species, measured in cm"],
  "gestures.csv": ["Gestures", "320 windows of an accelerometer, made by formulas"],
};
const SHOWN_COLUMNS = 12;
const METHODS: [Method, string][] = [
  ["auto", "Auto: lines, curves and interactions"], ["paper", "Paper: one pass, straight lines"], ["passes", "Ten passes: straight lines"], ["exact", "Exact: one pass, curves"], ["own", "My own passes and bins"],
];
const PASSES: [number, string][] = [[1, "1"], [3, "3"], [10, "10"], [30, "30"]];
const BINS: [number | null, string][] = [[null, "none: straight lines"], [8, "8"], [16, "16"], [32, "32: curves"], [64, "64"], [256, "256"]];

export class DataPanel {
  private readonly status = h("div", { class: "status" });
  private readonly details = h("div", { class: "details" });
  private readonly windows = h("div", { class: "windows" });
  private readonly working = h("span", {});
  private allColumns = false;

  constructor(panel: HTMLElement, private readonly studio: Studio) {
    const file = h("input", { type: "file", id: "file", accept: ".csv,.tsv,.txt,text/csv,text/tab-separated-values", onchange: () => {
      const chosen = file.files?.[0];
      if (chosen) studio.open(chosen.name, chosen);
      file.value = "";
    } });
    const folder = h("input", { type: "file", id: "folder", webkitdirectory: true, multiple: true, onchange: () => {
      openAll(studio, filesOf(folder.files));
      folder.value = "";
    } });
    const zone = h("div", { class: "drop" },
      h("label", { for: "file", class: "button primary" }, "Choose a CSV file"), file,
      h("p", {}, "or drop it here. It stays on this machine."),
      h("p", {}, "Recordings of a sensor: ", h("label", { for: "folder", class: "link" }, "choose a folder"), folder, " with a folder per label."));
    const over = (event: DragEvent): void => {
      event.preventDefault();
      zone.classList.toggle("over", event.type === "dragover");
    };
    for (const name of ["dragover", "dragleave", "drop"] as const) document.addEventListener(name, over);
    document.addEventListener("drop", (event) => {
      const held = event.dataTransfer;
      if (held) void foldersOf(held).then((found) => openAll(studio, found));
    });
    const text = h("textarea", { id: "paste", rows: 5, spellcheck: "false", placeholder: "height,width,kind\n5.1,3.5,a\n6.2,2.9,b" });
    const paste = h("details", { class: "paste" }, h("summary", {}, "Paste a table instead"),
      h("label", { for: "paste" }, "Rows of CSV or TSV, names first"), text,
      h("button", { type: "button", onclick: () => studio.open("pasted.csv", new Blob([text.value])) }, "Use this"));
    const choices = Object.keys(examples).map((name) => {
      const [title, what] = EXAMPLES[name] ?? [name, ""];
      return h("button", { type: "button", class: "example", "data-example": name, onclick: () => void studio.openExample(name) },
        h("strong", {}, title), h("span", {}, what));
    });
    put(panel,
      h("div", { class: "hero" },
        h("h1", { id: "data-title" }, "A model from your table"),
        h("p", { class: "lead" }, "Drop a table. See at once what can be predicted from it, why, and how it runs on an Arduino. Then download the model.")),
      h("div", { class: "sources" }, h("div", {}, zone, paste, new DrawnGestures(studio).element),
        h("div", { class: "examples", role: "group", "aria-label": "Examples" }, h("p", { class: "kicker" }, "Or try one of these"), choices)),
      this.status, this.details);
  }

  show(event: Event): void {
    const { studio } = this;
    const { table, refusal } = studio;
    if (event === "opening") {
      put(this.details);
      if (!studio.fileName) return;
      const bar = styled(h("div", { class: "progress", role: "progressbar", "aria-label": `Reading ${visible(studio.fileName)}`, "aria-valuenow": Math.round(100 * studio.progress), "aria-valuemin": 0, "aria-valuemax": 100 }), { "--part": studio.progress });
      put(this.status, h("p", {}, `Reading ${visible(studio.fileName)}`), bar);
      return;
    }
    if (event === "training") put(this.working);
    put(this.status,
      event === "training" && h("p", { class: "faint working" }, this.working, "Training, and testing on rows that are left out …"),
      refusal && h("p", { class: "refusal", role: "alert" }, visible(refusal.message, 2000)),
      table && h("p", { class: "opened" }, h("strong", {}, visible(table.name)), ` ${counted(table.rows, "row")}, ${counted(table.columns.length, "column")}, read in ${table.milliseconds.toFixed(0)} ms`));
    if (event === "opened") {
      this.allColumns = false;
      this.status.scrollIntoView({ block: "start" });
    }
    if (event === "opened" || event === "training" || (event === "trained" && !studio.settings?.signal)) this.showColumns();
    if (event === "trained" || event === "refused") showRecordings(this.windows, studio);
  }

  /** Say which of several methods is tested. */
  showTesting(): void {
    const { testing } = this.studio;
    if (testing) put(this.working, `Method ${testing.number} of ${testing.of}. `);
  }

  private showColumns(): void {
    const { studio } = this;
    const { table, settings } = studio;
    if (!table || !settings) return;
    const focused = (document.activeElement as HTMLElement | null)?.id;
    const label = h("select", { id: "label", onchange: () => studio.set({ label: label.value, task: null }) },
      table.columns.map((column) => h("option", { value: column.name, selected: column.name === settings.label }, visible(column.name))));
    const tick = (id: string, text: string, on: boolean, change: (checked: boolean) => void): HTMLElement => {
      const box = h("input", { type: "checkbox", id, checked: on, onchange: () => change(box.checked) });
      return h("label", { class: "tick", for: id }, box, text);
    };
    const features = table.columns.filter((column) => column.name !== settings.label);
    const shown = this.allColumns ? features : features.slice(0, SHOWN_COLUMNS);
    const meaning = h("select", { id: "rows-are", onchange: () => studio.set({ signal: meaning.value === "samples" ? SIGNAL : null }) },
      h("option", { value: "records" }, "records"), h("option", { value: "samples", selected: settings.signal !== null }, "samples of a signal"));
    const told = h("div", { class: "field" }, h("label", { for: "label" }, "Column to predict"), label);
    const column = table.columns.find(({ name }) => name === settings.label)!;
    const predicted = settings.task ?? (studio.numbers ? "number" : "classes");
    const task = h("select", { id: "task", onchange: () => studio.set({ task: task.value as "classes" | "number" }) },
      h("option", { value: "classes", selected: predicted === "classes" }, "one of its values"), h("option", { value: "number", selected: predicted === "number" }, "a number"));
    const predictAs = column.kind === "number" && h("div", { class: "field" }, h("label", { for: "task" }, "Predict"), task);
    const rowsAre = h("div", { class: "field" }, h("label", { for: "rows-are" }, "Rows are"), meaning);
    if (settings.signal) {
      put(this.details,
        h("div", { class: "settings" },
          table.recordings === null && [told, rowsAre],
          dial("passes", "Passes", PASSES, settings.passes, (passes) => studio.set({ passes: passes ?? 1 })),
          signalFields(studio, settings.signal)),
        this.windows);
      if (focused) document.getElementById(focused)?.focus();
      return;
    }
    put(this.details,
      h("div", { class: "settings" },
        told, predictAs, rowsAre,
        predicted === "classes" && dial("method", "Method", METHODS, settings.method, (method) => studio.set({ method })),
        predicted === "number" && dial("method", "Method", NUMBER_METHODS, settings.method === "exact" ? "exact" : "auto", (method) => studio.set({ method })),
        predicted === "classes" && settings.method === "own" && [
          dial("passes", "Passes over the rows", PASSES, settings.passes, (passes) => studio.set({ passes: passes ?? 1 })),
          dial("bins", "Bins per column", BINS, settings.bins, (bins) => studio.set({ bins })),
        ],
        predicted === "classes" && tick("balanced", "Rare classes count as much as common ones", settings.balanced, (balanced) => studio.set({ balanced }))),
      h("ul", { class: "decided", id: "decided" }, sentences(table.columns, settings.label, settings.roles, table.encoding).map((said) => h("li", {}, visible(said, 600)))),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Columns" },
        h("table", { class: "columns" },
          h("thead", {}, h("tr", {}, ["Column", "Holds", "Distribution", "Missing", "Use"].map((name) => h("th", { scope: "col" }, name)))),
          h("tbody", {}, shown.map((column, i) => this.columnRow(column, i))))),
      features.length > shown.length && h("button", { type: "button", id: "all-columns", onclick: () => {
        this.allColumns = true;
        this.showColumns();
      } }, `Show all ${features.length} columns`));
    if (focused) document.getElementById(focused)?.focus();
  }

  private columnRow(column: ColumnView, i: number): HTMLElement {
    const { studio } = this;
    const { roles } = studio.settings!;
    const role = roles.get(column.name) ?? column.decision.role;
    const { why, order, dates } = column.decision;
    const choices: [Role, string][] = [["number", "as a number"], ["categories", "as categories"], ["out", "leave out"]];
    if (order) choices.unshift(["dates", `as ${partsSaid(order)}`]);
    const select = h("select", { id: `role-${i}`, "aria-label": `Use of ${visible(column.name)}`, onchange: () => {
      studio.set({ roles: new Map(roles).set(column.name, select.value as Role) });
    } }, choices.map(([value, text]) => h("option", { value, selected: value === role }, text)));
    const kind = dates ? "dates" : column.kind === "number" ? (column.boolean ? "true or false" : "numbers") : column.kind === "text" ? "text" : "times";
    const distinct = column.distinct === null ? "many values" : counted(column.distinct, "value");
    return h("tr", { class: role === "out" ? "out" : null },
      h("th", { scope: "row" }, visible(column.name, 32)),
      h("td", { class: "holds" }, kind, h("span", { class: "faint" }, ` ${distinct}`)),
      h("td", { class: "spread" }, distribution(column)),
      h("td", { class: "number gone" }, column.missing ? column.missing.toLocaleString("en-US") : "–"),
      h("td", { class: "use" }, select, why && role === "out" && h("span", { class: "faint note" }, visible(why, 80))));
  }
}

/** Open one file as a table, or several as recordings with the labels of their folders. */
function openAll(studio: Studio, files: readonly Given[]): void {
  if (!files.length) return;
  const [first] = files;
  if (files.length === 1 && first.label === null) studio.open(first.name, first.data);
  else studio.openRecordings("recordings", files.map((file) => ({ ...file, label: file.label ?? "" })));
}

/** A choice; one that a link asks for is added. */
function dial<T extends number | string | null>(id: string, name: string, choices: readonly [T, string][], now: T, change: (value: T) => void): HTMLElement {
  const all = choices.some(([value]) => value === now) ? choices : [...choices, [now, String(now)] as [T, string]];
  const select = h("select", { id, onchange: () => change(all[select.selectedIndex][0]) },
    all.map(([value, text]) => h("option", { value: value ?? "", selected: value === now }, text)));
  return h("div", { class: "field" }, h("label", { for: id }, name), select);
}

function distribution(column: ColumnView): HTMLElement {
  if (column.range) {
    const most = Math.max(1, ...column.bars);
    const [low, high] = column.range;
    return h("div", { class: "bars", role: "img", "aria-label": `from ${rounded(low)} to ${rounded(high)}` },
      h("span", { class: "faint end" }, rounded(low)),
      h("div", {}, column.bars.map((bar) => styled(h("i", {}), { "--part": bar / most }))),
      h("span", { class: "faint end" }, rounded(high)));
  }
  const shown = column.common.map(([text, n]) => `${visible(text, 16)} (${n.toLocaleString("en-US")})`);
  return h("span", { class: "faint" }, shown.join(", "));
}
