/** Features that are pixels: where each lies, and how a record or its weights look. */

import { h } from "./dom";

export interface Picture {
  rows: number;
  columns: number;
  /** The feature at each place, row by row. */
  at: number[];
}

/** Return where pixels lie if the names say that the features are some: pixel_3_5, or pixel29 of a square. */
export function pictureOf(names: readonly string[]): Picture | null {
  const places = names.map((name) => /^(?:pixel|px|p)[_ ]?(\d+)[_x](\d+)$/i.exec(name));
  if (names.length >= 9 && places.every(Boolean)) {
    const found = places.map((place) => [Number(place![1]), Number(place![2])]);
    const [top, left] = [0, 1].map((axis) => Math.min(...found.map((place) => place[axis])));
    const rows = Math.max(...found.map((place) => place[0])) - top + 1;
    const columns = Math.max(...found.map((place) => place[1])) - left + 1;
    if (rows * columns !== names.length) return null;
    const at = new Array<number>(names.length).fill(-1);
    found.forEach(([row, column], j) => (at[(row - top) * columns + column - left] = j));
    return at.includes(-1) ? null : { rows, columns, at };
  }
  const numbers = names.map((name) => /^(?:pixel|px)[_ ]?(\d+)$/i.exec(name));
  const side = Math.sqrt(names.length);
  if (names.length < 9 || !Number.isInteger(side) || !numbers.every(Boolean)) return null;
  const first = Number(numbers[0]![1]);
  if (!numbers.every((number, j) => Number(number![1]) === first + j)) return null;
  return { rows: side, columns: side, at: names.map((_, j) => j) };
}

/** Draw a record: dark where values are high. */
export function drawn(picture: Picture, values: ArrayLike<number>, high: number, label: string): HTMLCanvasElement {
  return canvas(picture, label, (j) => [ink(), Math.min(1, Math.max(0, values[j] / (high || 1)))]);
}

/** Draw weights: one colour for, the other against. */
export function drawnWeights(picture: Picture, weights: ArrayLike<number>, label: string): HTMLCanvasElement {
  let most = 1e-12;
  for (let j = 0; j < weights.length; j++) most = Math.max(most, Math.abs(weights[j]));
  return canvas(picture, label, (j) => [tint(weights[j] >= 0 ? "--for" : "--against"), Math.abs(weights[j]) / most]);
}

function canvas(picture: Picture, label: string, paint: (j: number) => [string, number]): HTMLCanvasElement {
  const element = h("canvas", { class: "pixels", width: picture.columns, height: picture.rows, role: "img", "aria-label": label });
  const context = element.getContext("2d")!;
  picture.at.forEach((j, i) => {
    const [colour, alpha] = paint(j);
    context.fillStyle = colour;
    context.globalAlpha = alpha;
    context.fillRect(i % picture.columns, Math.floor(i / picture.columns), 1, 1);
  });
  return element;
}

export function tint(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#000";
}

function ink(): string {
  return tint("--ink");
}
