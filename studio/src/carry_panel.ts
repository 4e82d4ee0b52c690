/** Download: the model, the C header, the sketch, and a link with the settings. */

import { about } from "virtual:assets";
import { h, offer, put } from "./dom";
import { header, sketch } from "./export";
import { NotHeld } from "./mapping";
import type { Model } from "./model";
import { modelFile } from "./model_file";
import { NotForBoards } from "./quantise";
import type { Studio } from "./studio";
import { zip } from "./zip";

export function showCarry(panel: HTMLElement, studio: Studio, model: Model): void {
  const said = h("p", { class: "said", "aria-live": "polite", id: "carried" });
  const learns = h("input", { type: "checkbox", id: "sketch-learns" });
  const bits = h("select", { id: "weight-bits" }, h("option", { value: 8 }, "8 bits per weight"), h("option", { value: 16 }, "16 bits per weight"));
  const weightBits = (): 8 | 16 => (bits.value === "16" ? 16 : 8);
  const card = (id: string, title: string, what: string, run: () => string, more: (Node | null)[] = []): HTMLElement => h("div", { class: "away" },
    h("h3", {}, title), h("p", { class: "faint" }, what), more,
    h("button", { type: "button", id, onclick: () => {
      try {
        put(said, run());
        said.classList.remove("refusal");
      } catch (error) {
        if (!(error instanceof NotForBoards) && !(error instanceof NotHeld)) throw error;
        put(said, error.message);
        said.classList.add("refusal");
      }
    } }, "Download"));
  const saved = (name: string, content: Uint8Array<ArrayBuffer>, type: string): string => {
    offer(name, content, type);
    return `${name}: ${content.length.toLocaleString("en-US")} bytes`;
  };
  const encoder = new TextEncoder();
  const curved = model.planes.table !== null;
  put(panel,
    h("h2", { id: "carry-title" }, "Download"),
    h("p", { class: "lead" }, "The same files that the command writes: sefr train and sefr export."),
    h("div", { class: "aways" },
      card("save-model", "Model", `A .sefr file for Python and the command: sefr predict, ${model.fixed ? "explain, export" : "update, merge"}.`, () =>
        saved(`${model.stem}.sefr`, modelFile(about, model), "application/json")),
      card("save-header", "C header", curved ? "Of a model with curves sefr export writes it, from the .sefr file." : "One file that classifies, with no library and no floats where values are whole.", () => {
        const made = header(model.inIntegers(weightBits()), model.stem, studio.source);
        return saved(made.name, encoder.encode(made.text), "text/x-c");
      }),
      card("save-sketch", "Arduino sketch", curved ? "Of a model with curves sefr export writes it, from the .sefr file." : "A folder with the library, zipped: open it in the Arduino IDE.", () => {
        const files = sketch(model.inIntegers(weightBits()), model.stem, studio.source, learns.checked, { ...model.settings, plan: model.trained.plan });
        return saved(`${[...files.keys()][0].split("/")[0]}.zip`, zip(files), "application/zip");
      }, [h("label", { class: "tick", for: "sketch-learns" }, learns, "goes on learning on the board")]),
      h("div", { class: "away" }, h("h3", {}, "Link"), h("p", { class: "faint" }, "The settings of this page, never the data."),
        h("button", { type: "button", id: "copy-link", onclick: () => {
          put(said, studio.copyLink());
        } }, "Copy"))),
    h("div", { class: "field" }, h("label", { for: "weight-bits" }, "Weights in C"), bits), said);
}
