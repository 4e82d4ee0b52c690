/** Gestures drawn on the page as recordings: train on them, or carry them away as the folders that the command takes. */

import { counted, h, offer, put, visible } from "./dom";
import { DRAWN_AXES, DRAWN_RANGE, GesturePad } from "./gesture_pad";
import type { SignalSettings } from "./signal_plan";
import type { Studio } from "./studio";
import { zip } from "./zip";

const DRAWN: SignalSettings = { rate: 50, length: 32, hop: 16, range: DRAWN_RANGE };

interface Drawn {
  label: string;
  text: string;
}

export class DrawnGestures {
  readonly element: HTMLElement;
  private readonly drawn: Drawn[] = [];
  private readonly list = h("p", { class: "faint", id: "gestures-drawn", "aria-live": "polite" });
  private readonly name = h("input", { type: "text", id: "gesture-name", value: "circle", maxlength: 60, spellcheck: "false" });
  private readonly train = h("button", { type: "button", id: "train-drawn", class: "primary", disabled: true, onclick: () => this.open() }, "Train on these");
  private readonly save = h("button", { type: "button", id: "save-drawn", disabled: true, onclick: () => offer("recordings.zip", zip(this.files()), "application/zip") }, "Save recordings");
  private readonly undo = h("button", { type: "button", id: "undo-drawn", disabled: true, onclick: () => {
    this.drawn.pop();
    this.show();
  } }, "Undo");

  constructor(private readonly studio: Studio) {
    const pad = new GesturePad("gesture-pad", "Draw a gesture", DRAWN.rate, (values) => this.add(values));
    this.element = h("details", { class: "paste gestures" }, h("summary", {}, "Draw gestures instead"),
      h("p", { class: "faint" }, `Name a gesture, draw it some times, for a second each; then another. Where the pointer is, ${DRAWN.rate} times per second, is a signal of two axes, as from a joystick.`),
      h("div", { class: "drawing" }, pad.element,
        h("div", { class: "reply" },
          h("label", { for: "gesture-name" }, "This gesture is called"), this.name, this.list,
          h("div", { class: "buttons" }, this.train, this.save, this.undo))));
    this.show();
  }

  private add(values: readonly Float64Array[]): void {
    const label = this.name.value.trim().replace(/[\\/]|^\./g, "_") || "gesture";
    const [xs, ys] = values;
    if (xs.length < DRAWN.length) {
      put(this.list, `That took ${counted(xs.length, "sample")}, and a window needs ${DRAWN.length}: draw for longer.`);
      return;
    }
    const rows = Array.from(xs, (x, i) => `${x},${ys[i]}\n`);
    this.drawn.push({ label, text: `${DRAWN_AXES.join()}\n${rows.join("")}` });
    this.show();
  }

  private show(): void {
    const counts = new Map<string, number>();
    for (const { label } of this.drawn) counts.set(label, (counts.get(label) ?? 0) + 1);
    const told = [...counts].map(([label, n]) => `${visible(label, 24)}: ${n}`).join(", ");
    put(this.list, told || "Nothing drawn yet.");
    this.train.disabled = counts.size < 2;
    this.save.disabled = this.undo.disabled = !this.drawn.length;
  }

  /** Return a folder per label with a file per recording. */
  private files(): Map<string, Uint8Array<ArrayBuffer>> {
    const encoder = new TextEncoder();
    return new Map(this.named().map(({ name, text }) => [`recordings/${name}`, encoder.encode(text)]));
  }

  private open(): void {
    this.studio.openRecordings("gestures", this.named().map(({ name, label, text }) => ({ name, label, data: new Blob([text]) })), DRAWN);
  }

  private named(): (Drawn & { name: string })[] {
    const counts = new Map<string, number>();
    return this.drawn.map(({ label, text }) => {
      const n = (counts.get(label) ?? 0) + 1;
      counts.set(label, n);
      return { label, text, name: `${label}/${String(n).padStart(3, "0")}.csv` };
    });
  }
}
