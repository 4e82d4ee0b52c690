/** A pad on which a gesture is drawn: where the hand is, so often per second, as codes of a 10-bit converter. */

import { h } from "./dom";
import { tint } from "./picture";

const SIDE = 280;
const STEP = 14;
export const DRAWN_AXES = ["x", "y"] as const;
/** A joystick on two analog inputs of a board has these codes. */
export const DRAWN_RANGE = [0, 1023] as const;

interface Point {
  time: number;
  x: number;
  y: number;
}

export class GesturePad {
  readonly element: HTMLCanvasElement;
  private points: Point[] = [];
  private down = false;
  private cursor: [number, number] = [SIDE / 2, SIDE / 2];

  /** `done` gets what was drawn, axis by axis, when the hand is lifted. */
  constructor(id: string, label: string, private readonly rate: number, private readonly done: (values: Float64Array[]) => void) {
    this.element = h("canvas", { id, class: "pad", width: SIDE, height: SIDE, tabindex: "0", role: "img", "aria-label": `${label}. With keys: space to begin and to end, arrows to move.` });
    const { element } = this;
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      event.preventDefault();
      element.focus();
      this.begin(...this.place(event));
    });
    element.addEventListener("pointermove", (event) => {
      // a browser may tell several moves at once
      if (this.down) for (const one of event.getCoalescedEvents?.() ?? [event]) this.move(...this.place(one));
    });
    for (const name of ["pointerup", "pointercancel"] as const) element.addEventListener(name, () => this.end());
    element.addEventListener("keydown", (event) => this.key(event));
    element.addEventListener("blur", () => this.end());
  }

  private key(event: KeyboardEvent): void {
    const moves: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const move = moves[event.key];
    if (event.key === " ") {
      if (this.down) this.end();
      else this.begin(...this.cursor);
    } else if (move) {
      this.cursor = [this.cursor[0] + STEP * move[0], this.cursor[1] + STEP * move[1]].map((x) => Math.min(Math.max(x, 0), SIDE)) as [number, number];
      if (this.down) this.move(...this.cursor);
    } else return;
    event.preventDefault();
  }

  private place(event: PointerEvent): [number, number] {
    const box = this.element.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * SIDE, ((event.clientY - box.top) / box.height) * SIDE];
  }

  private begin(x: number, y: number): void {
    this.down = true;
    this.points = [];
    this.element.getContext("2d")!.clearRect(0, 0, SIDE, SIDE);
    this.move(x, y);
  }

  private move(x: number, y: number): void {
    const last = this.points.at(-1);
    this.points.push({ time: performance.now(), x, y });
    const context = this.element.getContext("2d")!;
    context.lineWidth = 4;
    context.lineCap = "round";
    context.strokeStyle = tint("--ink");
    context.beginPath();
    context.moveTo(last?.x ?? x, last?.y ?? y);
    context.lineTo(x + 0.1, y);
    context.stroke();
  }

  private end(): void {
    if (!this.down) return;
    this.down = false;
    const last = this.points.at(-1)!;
    this.points.push({ ...last, time: performance.now() });
    this.done(sampled(this.points, this.rate));
  }
}

/** Return where the hand was at even times: straight between the moves that the browser told. */
function sampled(points: readonly Point[], rate: number): Float64Array[] {
  const start = points[0].time;
  const n = Math.max(1, Math.floor(((points.at(-1)!.time - start) * rate) / 1000));
  const code = (place: number): number => Math.min(Math.max(Math.round((place / SIDE) * DRAWN_RANGE[1]), DRAWN_RANGE[0]), DRAWN_RANGE[1]);
  const [xs, ys] = [new Float64Array(n), new Float64Array(n)];
  for (let i = 0, at = 0; i < n; i++) {
    const time = start + (1000 * i) / rate;
    while (at + 2 < points.length && points[at + 1].time <= time) at++;
    const [a, b] = [points[at], points[at + 1] ?? points[at]];
    const part = b.time > a.time ? Math.min(1, (time - a.time) / (b.time - a.time)) : 0;
    xs[i] = code(a.x + part * (b.x - a.x));
    ys[i] = code(SIDE - (a.y + part * (b.y - a.y)));
  }
  return [xs, ys];
}
