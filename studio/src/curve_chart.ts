/** The effect of a feature over its range, where features are cut into bins: steps, and the rows behind each. */

import { h, rounded, visible } from "./dom";
import type { Model } from "./model";
import { signed } from "./understand_panel";

const WIDTH = 280;
const HEIGHT = 110;
const ROWS = 22;
const SPACE = "http://www.w3.org/2000/svg";

function shape(tag: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** Draw what a feature adds to the score of a class; all charts of a class share `most`, the largest effect. */
export function curveChart(model: Model, j: number, k: number, most: number): HTMLElement {
  const { effects, edges, rows, missing } = model.curve(j, k);
  const { low, high } = model.trained.ranges;
  const [first, last] = [Math.min(low[j], edges[0] ?? low[j]), Math.max(high[j], edges.at(-1) ?? high[j])];
  const span = last - first || 1;
  const ends = [first, ...edges, last];
  const x = (value: number): number => ((value - first) / span) * WIDTH;
  const y = (value: number): number => (HEIGHT / 2) * (1 - value / (most || 1)) + 1;
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT + ROWS + 4}`, class: "curve", role: "img", "aria-label": words(model, j, k, effects, edges) });
  const largest = Math.max(1, ...rows);
  rows.forEach((n, b) => {
    const tall = (n / largest) * ROWS;
    svg.append(shape("rect", { class: "rows", x: x(ends[b]), y: HEIGHT + 4 + ROWS - tall, width: Math.max(0.5, x(ends[b + 1]) - x(ends[b]) - 0.5), height: tall }));
  });
  svg.append(shape("line", { class: "zero", x1: 0, x2: WIDTH, y1: y(0), y2: y(0) }));
  effects.forEach((effect, b) => {
    svg.append(shape("rect", {
      class: effect >= 0 ? "for" : "against", x: x(ends[b]), width: Math.max(0.5, x(ends[b + 1]) - x(ends[b])), y: Math.min(y(0), y(effect)), height: Math.abs(y(effect) - y(0)),
    }));
  });
  const path = effects.reduce((text, effect, b) => `${text}${b ? "V" : "M0 "}${y(effect)}H${x(ends[b + 1])}`, "");
  svg.append(shape("path", { class: "line", d: path }));
  return h("figure", { class: "chart" },
    h("figcaption", {}, visible(model.names[j], 28)), svg,
    h("p", { class: "faint ends" }, h("span", {}, rounded(low[j])), missing !== null && h("span", {}, `missing ${signed(missing)}`), h("span", {}, rounded(high[j]))));
}

/** Say in words what the chart shows: the bins that speak most for and against. */
function words(model: Model, j: number, k: number, effects: Float64Array, edges: Float64Array): string {
  const bin = (b: number): string => {
    if (!edges.length) return "any value";
    const from = b ? `from ${rounded(edges[b - 1])}` : "";
    return `${from} ${b < edges.length ? `below ${rounded(edges[b])}` : ""}`.trim();
  };
  const best = effects.indexOf(Math.max(...effects));
  const worst = effects.indexOf(Math.min(...effects));
  const name = visible(model.names[j]);
  return `${name}: ${bin(best)} adds ${signed(effects[best])} to ${visible(model.labels[k])}, ${bin(worst)} adds ${signed(effects[worst])}`;
}
