/** Draw a record: the answer follows the pen, and what it is can be taught on the spot and taken back. */

import { h, put, visible } from "./dom";
import type { Model } from "./model";
import { drawn, tint } from "./picture";
import type { Studio } from "./studio";

const SIDE = 280;
const PEN = 26;
const MOST_TAUGHT = 26;
/** Bits across one pixel: the digits were scanned as 32 x 32 bits, of which 4 x 4 were counted. */
const BITS = 4;

/** What is drawn stays while a model changes. */
const strokes: [number, number][][] = [];

export function drawPanel(studio: Studio, model: Model): HTMLElement {
  const picture = model.picture!;
  const high = model.highest;
  const canvas = h("canvas", { class: "pad", width: SIDE, height: SIDE, tabindex: "0", role: "img", "aria-label": "Draw here. With the keyboard: arrow keys move, space draws.", id: "pad" });
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  const answer = h("p", { class: "answer big", id: "drawn-answer", "aria-live": "polite" });
  const seen = h("div", { class: "seen" });
  const taught = h("p", { class: "faint", id: "taught" });
  let values = new Float64Array(model.names.length);
  let cursor: [number, number] = [SIDE / 2, SIDE / 2];
  let down = false;
  let keyboard = false;

  const paint = (): void => {
    context.clearRect(0, 0, SIDE, SIDE);
    context.lineWidth = PEN;
    context.lineCap = context.lineJoin = "round";
    context.strokeStyle = tint("--ink");
    for (const stroke of strokes) {
      context.beginPath();
      stroke.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
      if (stroke.length === 1) context.lineTo(stroke[0][0] + 0.1, stroke[0][1]);
      context.stroke();
    }
    values = scanned(context, picture.rows, picture.columns, high, picture.at);
    follow();
    if (keyboard && document.activeElement === canvas) {
      context.strokeStyle = tint("--against");
      context.lineWidth = 2;
      context.strokeRect(cursor[0] - 7, cursor[1] - 7, 14, 14);
    }
  };
  const follow = (): void => {
    const empty = !strokes.length;
    if (empty) put(answer, h("span", { class: "faint" }, "Draw one of ", model.labels.slice(0, 12).map((label) => visible(label, 8)).join(", ")));
    else put(answer, "This is ", h("strong", {}, visible(model.labels[model.answer(values)], 24)));
    put(seen, !empty && drawn(picture, values, high, "What the model sees"));
    const changes = model.before.length;
    taught.textContent = changes ? `${changes} ${changes === 1 ? "change" : "changes"} since the file; last: ${visible(model.before[changes - 1].what)}` : "";
  };
  const point = (event: PointerEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * SIDE, ((event.clientY - box.top) / box.height) * SIDE];
  };
  canvas.addEventListener("pointerdown", (event) => {
    down = true;
    keyboard = false;
    canvas.setPointerCapture(event.pointerId);
    strokes.push([point(event)]);
    paint();
    event.preventDefault();
    canvas.focus();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!down) return;
    strokes.at(-1)!.push(point(event));
    paint();
  });
  for (const name of ["pointerup", "pointercancel"] as const) canvas.addEventListener(name, () => (down = false));
  let pen = false;
  canvas.addEventListener("keydown", (event) => {
    const moves: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const move = moves[event.key];
    if (event.key === " ") {
      pen = !pen;
      if (pen) strokes.push([cursor]);
    } else if (move) {
      cursor = [cursor[0] + 14 * move[0], cursor[1] + 14 * move[1]].map((x) => Math.min(Math.max(x, 0), SIDE)) as [number, number];
      if (pen) strokes.at(-1)!.push(cursor);
    } else return;
    event.preventDefault();
    keyboard = true;
    paint();
  });
  canvas.addEventListener("focus", () => {
    keyboard = canvas.matches(":focus-visible");
    paint();
  });
  canvas.addEventListener("blur", () => {
    pen = false;
    paint();
  });
  const teach = (k: number): void => {
    if (!strokes.length) return;
    model.teach(values, k);
    studio.say(`Learned as ${model.labels[k]}`);
    again(`teach-${k}`);
  };
  const again = (id: string): void => {
    studio.tell("changed");
    document.getElementById(id)?.focus({ preventScroll: true });
  };
  const block = h("div", { class: "block draw" },
    h("h3", {}, "Draw one"),
    h("div", { class: "drawing" }, canvas,
      h("div", { class: "reply" }, answer, seen,
        h("div", { class: "buttons" },
          h("button", { type: "button", id: "clear", onclick: () => {
            strokes.length = 0;
            paint();
          } }, "Clear"),
          h("button", { type: "button", id: "undo", disabled: !model.before.length, onclick: () => {
            model.undo();
            studio.say("Taken back");
            again("undo");
          } }, "Undo")),
        h("div", { class: "buttons teach", role: "group", "aria-label": "Teach what it is" }, h("span", {}, "No, this is"),
          model.labels.slice(0, MOST_TAUGHT).map((label, k) => h("button", { type: "button", id: `teach-${k}`, "aria-label": `This is ${visible(label, 24)}`, disabled: model.fixed !== null, onclick: () => teach(k) }, visible(label, 12)))),
        model.fixed && h("p", { class: "faint", id: "teaches-not" }, model.fixed),
        taught)));
  paint();
  return block;
}

/** Return what was drawn as the digits were scanned: fitted into the frame, bits counted per pixel. */
function scanned(context: CanvasRenderingContext2D, rows: number, columns: number, high: number, at: readonly number[]): Float64Array<ArrayBuffer> {
  const values = new Float64Array(rows * columns);
  const { data } = context.getImageData(0, 0, SIDE, SIDE);
  let [left, top, right, bottom] = [SIDE, SIDE, -1, -1];
  for (let y = 0; y < SIDE; y++) {
    for (let x = 0; x < SIDE; x++) {
      if (data[4 * (y * SIDE + x) + 3] < 128) continue;
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    }
  }
  if (right < 0) return values;
  const [width, height] = [BITS * columns, BITS * rows];
  const scale = Math.max((bottom - top + 1) / height, (right - left + 1) / width);
  const [middleX, middleY] = [(left + right + 1) / 2, (top + bottom + 1) / 2];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const fromX = Math.floor(middleX + (x + 0.5 - width / 2) * scale);
      const fromY = Math.floor(middleY + (y + 0.5 - height / 2) * scale);
      if (fromX < 0 || fromY < 0 || fromX >= SIDE || fromY >= SIDE || data[4 * (fromY * SIDE + fromX) + 3] < 128) continue;
      values[at[Math.floor(y / BITS) * columns + Math.floor(x / BITS)]] += high / BITS ** 2;
    }
  }
  return values.map((value) => Math.round(value));
}
