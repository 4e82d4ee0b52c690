/** The effect of a column over its range, where it is cut into bins: steps, and the rows behind each; or a bar per value. */

import { h, rounded, styled, visible } from "./dom";

const WIDTH = 280;
const HEIGHT = 110;
const ROWS = 22;
const MOST_VALUES = 12;
const SPACE = "http://www.w3.org/2000/svg";

/** What is drawn: a column, what it adds to, and the largest effect of all charts, which share a scale. */
export interface About {
  name: string;
  what: string;
  most: number;
}

export interface Curve {
  effects: Float64Array;
  edges: Float64Array;
  rows: Float64Array;
  /** What a missing value adds; null if none is missing. */
  missing: number | null;
  low: number;
  high: number;
}

export function shape(tag: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

export function signed(value: number): string {
  const size = Math.abs(value);
  return `${value >= 0 ? "+" : "−"}${size >= 100 || (size > 0 && size < 5e-4) ? rounded(size) : size.toFixed(3)}`;
}

/** Draw what a column of numbers adds. */
export function curveChart(about: About, { effects, edges, rows, missing, low, high }: Curve): HTMLElement {
  const [first, last] = [Math.min(low, edges[0] ?? low), Math.max(high, edges.at(-1) ?? high)];
  const span = last - first || 1;
  const ends = [first, ...edges, last];
  const x = (value: number): number => ((value - first) / span) * WIDTH;
  const y = (value: number): number => (HEIGHT / 2) * (1 - value / (about.most || 1)) + 1;
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT + ROWS + 4}`, class: "curve", role: "img", "aria-label": words(about, effects, edges) });
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
    h("figcaption", {}, visible(about.name, 28)), svg,
    h("p", { class: "faint ends" }, h("span", {}, rounded(low)), h("span", {}, rounded(high))),
    missing !== null && h("p", { class: "faint gone" }, `missing: ${signed(missing)}`));
}

/** Draw what each value of a column of categories adds. */
export function valuesChart(about: About, values: readonly string[], effects: Float64Array): HTMLElement {
  const order = Array.from(values.keys()).sort((a, b) => effects[b] - effects[a]);
  const shown = order.length <= MOST_VALUES ? order : [...order.slice(0, MOST_VALUES / 2), ...order.slice(-MOST_VALUES / 2)];
  const [best, worst] = [order[0], order[order.length - 1]];
  const said = `${visible(about.name)}: ${visible(values[best])} adds ${signed(effects[best])} to ${about.what}, ${visible(values[worst])} adds ${signed(effects[worst])}`;
  return h("figure", { class: "chart" },
    h("figcaption", {}, visible(about.name, 28)),
    h("div", { class: "values", role: "img", "aria-label": said }, shown.map((at) => h("div", { class: "value" },
      h("span", { class: "feature" }, visible(values[at], 24)),
      h("div", { class: "axis" }, styled(h("div", { class: `bar ${effects[at] >= 0 ? "for" : "against"}` }), { "--part": Math.min(1, Math.abs(effects[at]) / about.most) })),
      h("span", { class: "number" }, signed(effects[at]))))),
    order.length > shown.length && h("p", { class: "faint gone" }, `${shown.length} of ${order.length} values`));
}

/** Say in words what the chart shows: the bins that add most and least. */
function words({ name, what }: About, effects: Float64Array, edges: Float64Array): string {
  const bin = (b: number): string => {
    if (!edges.length) return "any value";
    const from = b ? `from ${rounded(edges[b - 1])}` : "";
    return `${from} ${b < edges.length ? `below ${rounded(edges[b])}` : ""}`.trim();
  };
  const best = effects.indexOf(Math.max(...effects));
  const worst = effects.indexOf(Math.min(...effects));
  return `${visible(name)}: ${bin(best)} adds ${signed(effects[best])} to ${what}, ${bin(worst)} adds ${signed(effects[worst])}`;
}
