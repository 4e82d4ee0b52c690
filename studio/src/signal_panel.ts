/** Signals: what recordings look like, how they are cut into windows, and what the model says of each window. */

import { byId, counted, h, put, styled, visible } from "./dom";
import { DRAWN_AXES, GesturePad } from "./gesture_pad";
import type { Model } from "./model";
import { type Recording, windowsOf } from "./recordings";
import { evidenceOf } from "./signal_evidence";
import { clippedIn, signalFeatures, type SignalPlan, type SignalSettings } from "./signal_plan";
import type { Studio } from "./studio";
import { signed } from "./curve_chart";
import { byKind, effect } from "./understand_panel";

const MOST_POINTS = 1500;
const MOST_BARS = 400;
const MOST_KINDS = 8;
const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, BAND] = [1000, 100, 14];

/** The fields that say how samples become windows. */
export function signalFields(studio: Studio, signal: SignalSettings): HTMLElement[] {
  const number = (id: string, text: string, value: number, change: (value: number) => Partial<SignalSettings>): HTMLElement => {
    const input = h("input", { type: "number", id, value, min: 1, step: "any", onchange: () => studio.set({ signal: { ...signal, ...change(Number(input.value)) } }) });
    return h("div", { class: "field" }, h("label", { for: id }, text), input);
  };
  const range = h("input", { type: "text", id: "signal-range", value: signal.range?.join(":") ?? "", placeholder: "as recorded", onchange: () => {
    const sides = range.value.trim() ? range.value.split(":").map(Number) : null;
    studio.set({ signal: { ...signal, range: sides ? [sides[0], sides[1] ?? NaN] : null } });
  } });
  return [
    number("signal-rate", "Samples per second", signal.rate, (rate) => ({ rate })),
    number("signal-length", "Samples in a window", signal.length, (length) => ({ length })),
    number("signal-hop", "From one window to the next", signal.hop, (hop) => ({ hop })),
    h("div", { class: "field" }, h("label", { for: "signal-range" }, "Ends of the sensor, low:high"), range),
  ];
}

/** Show some recordings of each label with their windows. */
export function showRecordings(to: HTMLElement, studio: Studio): void {
  const { recordings: view, settings } = studio;
  if (!view || !settings?.signal) {
    put(to);
    return;
  }
  const { signal } = settings;
  put(to,
    h("p", { id: "cut" }, `${counted(view.count, "recording")} cut into ${counted(view.windows, "window")} of ${signal.length} samples; ${view.axes.length === 1 ? "one axis" : `axes ${view.axes.map((name) => visible(name, 16)).join(", ")}`}. A bar below the signal is a window.`),
    view.notes.length > 0 && h("ul", { class: "notes" }, view.notes.map((note) => h("li", { class: "refusal" }, visible(note, 400)))),
    h("div", { class: "signals" }, view.recordings.map((recording) => h("figure", { class: "signal" },
      h("figcaption", {}, h("strong", {}, visible(recording.label, 24)), h("span", { class: "faint" }, visible(recording.name, 60))),
      wave(recording.values, signal, `${recording.label}: ${recording.values[0].length} samples`)))));
}

/** Try: a recording from a file, one that was learned, or a drawn one, answered window by window. */
export function trySignal(studio: Studio, model: Model): HTMLElement {
  const { recordings: view, settings } = studio;
  const out = h("div", { class: "trial", id: "trial", "aria-live": "polite" });
  const file = h("input", { type: "file", id: "try-file", class: "unseen", accept: ".csv,.tsv,.txt,text/csv", onchange: () => {
    const chosen = file.files?.[0];
    if (chosen) studio.tryRecording(chosen.name, chosen);
    file.value = "";
  } });
  const known = view?.recordings ?? [];
  const show = (recording: Recording): void => put(out, ...answered(model, settings!.signal!, recording.name, recording.values));
  const choice = h("select", { id: "try-known", onchange: () => show(known[Number(choice.value)]) },
    known.map((recording, i) => h("option", { value: i }, `${visible(recording.label, 24)}: ${visible(recording.name, 40)}`)));
  const drawn = view?.axes.join() === DRAWN_AXES.join();
  const pad = drawn && new GesturePad("try-pad", "Draw a gesture to try", settings!.signal!.rate, (values) =>
    put(out, ...answered(model, settings!.signal!, "drawn", values)));
  if (known.length) show(known[0]);
  return h("div", { class: "block", id: "try" },
    h("h3", {}, "Try"),
    h("p", { class: "faint" }, "A CSV of the same axes, without a label; or one of the recordings above, which the model has learned."),
    h("div", { class: "buttons" }, h("label", { for: "try-file", class: "button" }, "Choose a recording"), file, h("label", { for: "try-known" }, "or"), choice),
    pad && h("div", { class: "gestures" }, pad.element),
    out);
}

/** Show the recording that was tried, or why it cannot be. */
export function showTrial(studio: Studio): void {
  const { trial, model, settings } = studio;
  if (!trial || !model || !settings?.signal) return;
  put(byId("trial"), ...(trial.values ? answered(model, settings.signal, trial.name, trial.values) : [h("p", { class: "refusal", role: "alert" }, visible(trial.refusal, 600))]));
}

/** A recording, and below each window's newest samples the answer; as a board gives it, "don't know" included. */
function answered(model: Model, signal: SignalSettings, name: string, values: readonly Float64Array[]): HTMLElement[] {
  const plan = model.trained.plan!;
  const windows = windowsOf(values, signal.length, signal.hop);
  if (!windows.length) {
    return [h("p", { class: "refusal", role: "alert" }, `${visible(name)} has ${counted(values[0].length, "sample")}, and a window ${signal.length}`)];
  }
  const m = model.names.length;
  const all = signalFeatures(model.kernel, plan, windows, m);
  const features = windows.map((_, i) => Float64Array.from(all.subarray(i * m, (i + 1) * m)));
  const answers = windows.map((window, i) => {
    if (clippedIn(plan, window) > Math.floor((plan.axes * plan.length) / 8)) return null;
    return model.labels[model.answer(features[i])];
  });
  return [
    h("figure", { class: "signal" },
      h("figcaption", {}, h("strong", { id: "trial-said" }, mostly(answers)), h("span", { class: "faint" }, `${visible(name, 60)}, ${counted(windows.length, "window")}`)),
      wave(values, signal, `${name}: ${mostly(answers)}`),
      strip(answers, signal, values[0].length)),
    where(model, plan, windows, features, answers, signal.hop),
  ];
}

/** One window of a recording: which of its samples speak for the answer, and which shapes. A slider chooses it. */
function where(
  model: Model, plan: SignalPlan, windows: readonly Float64Array[], features: readonly Float64Array[], answers: readonly (string | null)[], hop: number,
): HTMLElement {
  const head = h("p", { id: "where-said", "aria-live": "polite" });
  const out = h("div", { id: "where-shown" });
  const show = (i: number): void => {
    const place = `Window ${i + 1} of ${windows.length}, samples ${i * hop + 1} to ${i * hop + plan.length}: `;
    if (answers[i] === null) {
      put(head, `${place}don't know, since too many samples lie at the ends of the range.`);
      put(out);
      return;
    }
    const k = model.answer(features[i]);
    const evidence = evidenceOf(model, plan, windows[i], features[i], k);
    const [kinds, parts] = byKind(model.names, model.contributions(features[i], k));
    const order = Array.from(parts.keys()).sort((a, b) => Math.abs(parts[b]) - Math.abs(parts[a])).slice(0, MOST_KINDS);
    put(head, place, h("strong", {}, visible(model.labels[k], 24)), `, score ${signed(parts.reduce((a, b) => a + b, 0))}`);
    put(out,
      evidenceFigure(plan, windows[i], evidence, model.labels[k]),
      h("div", { class: "effects wide" }, order.map((j) => effect(kinds[j], parts[j], Math.abs(parts[order[0]])))));
  };
  const slider = h("input", { type: "range", id: "where-window", min: 1, max: windows.length, step: 1, value: 1, oninput: () => show(Number(slider.value) - 1) });
  if (model.planes.table) put(out, h("p", { class: "faint" }, "With bins a feature has no one weight. Train without bins to see this."));
  else show(0);
  return h("div", { class: "where", id: "where" },
    h("h4", {}, "Where in the window"),
    h("p", { class: "key" }, h("span", {}, h("span", { class: "swatch for" }), "counts for the answer"), h("span", {}, h("span", { class: "swatch against" }), "counts against it")),
    !model.planes.table && windows.length > 1 && h("div", { class: "field" }, h("label", { for: "where-window" }, "Window"), slider),
    head, out);
}

/** The axes of a window, each over a ground that says what its samples add to the score. */
function evidenceFigure(plan: SignalPlan, window: Float64Array, evidence: readonly Float64Array[], label: string): HTMLElement {
  const most = Math.max(1e-12, ...evidence.map((axis) => Math.max(...axis.map(Math.abs))));
  return h("div", { class: "evidence" }, plan.names.map((name, axis) => {
    const values = window.subarray(axis * plan.length, (axis + 1) * plan.length);
    const strongest = evidence[axis].reduce((best, value, p) => (Math.abs(value) > Math.abs(evidence[axis][best]) ? p : best), 0);
    const side = evidence[axis][strongest] >= 0 ? "for" : "against";
    const words = `${visible(name, 16)}: strongest ${side} ${visible(label, 24)} at sample ${strongest + 1}`;
    const svg = part("svg", { class: "wave", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": words });
    const step = WIDTH / plan.length;
    evidence[axis].forEach((value, p) => svg.append(part("rect", {
      class: value >= 0 ? "for" : "against", x: p * step, width: step, y: 0, height: HEIGHT, "fill-opacity": ((0.85 * Math.abs(value)) / most).toFixed(4), "data-evidence": value,
    })));
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const y = (value: number): number => 8 + (HEIGHT - 16) * (1 - (high > low ? (value - low) / (high - low) : 0.5));
    svg.append(part("polyline", { points: Array.from(values, (value, p) => `${((p + 0.5) * step).toFixed(1)},${y(value).toFixed(1)}`).join(" ") }));
    return h("figure", {}, h("figcaption", { class: "faint" }, visible(name, 16)), svg);
  }));
}

/** The answer of most windows. */
function mostly(answers: readonly (string | null)[]): string {
  const counts = new Map<string | null, number>();
  for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  const [best] = [...counts].sort((a, b) => b[1] - a[1])[0];
  return best === null ? "don't know: samples lie at the ends of the range" : visible(best, 24);
}

/** Neighbouring windows of one answer are one piece; the first also has the samples before it was complete. */
function strip(answers: readonly (string | null)[], { length, hop }: SignalSettings, samples: number): HTMLElement {
  const pieces: { from: number; to: number; answer: string | null }[] = [];
  answers.forEach((answer, i) => {
    const to = i + 1 === answers.length ? samples : length + i * hop;
    const last = pieces.at(-1);
    if (last && last.answer === answer) last.to = to;
    else pieces.push({ from: last?.to ?? 0, to, answer });
  });
  return h("div", { class: "strip" }, pieces.map(({ from, to, answer }) =>
    styled(h("span", { class: answer === null ? "unsure" : null }, answer === null ? "don't know" : visible(answer, 24)), { "--from": from / samples, "--part": (to - from) / samples })));
}

/** The axes of a recording as lines, and its windows as bars below. */
function wave(values: readonly Float64Array[], { length, hop }: SignalSettings, label: string): SVGElement {
  const n = values[0].length;
  const svg = part("svg", { class: "wave", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": visible(label, 100) });
  let [low, high] = [Infinity, -Infinity];
  for (const axis of values) for (const value of axis) [low, high] = [Math.min(low, value), Math.max(high, value)];
  const step = Math.max(1, Math.ceil(n / MOST_POINTS));
  const y = (value: number): number => 5 + (HEIGHT - BAND - 12) * (1 - (high > low ? (value - low) / (high - low) : 0.5));
  values.forEach((axis, i) => {
    const points: string[] = [];
    for (let at = 0; at < n; at += step) points.push(`${((at / Math.max(1, n - 1)) * WIDTH).toFixed(1)},${y(axis[at]).toFixed(1)}`);
    svg.append(part("polyline", { class: `axis-${i % 6}`, points: points.join(" ") }));
  });
  const lanes = Math.min(4, Math.ceil(length / hop));
  for (let i = 0; i * hop + length <= n && i < MOST_BARS; i++) {
    const height = BAND / lanes;
    svg.append(part("rect", { x: (WIDTH * i * hop) / n + 1, width: (WIDTH * length) / n - 2, y: HEIGHT - BAND - 2 + (i % lanes) * height, height: height * 0.7 }));
  }
  return svg;
}

function part(tag: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}
