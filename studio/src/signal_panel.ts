/** Signals: what recordings look like, how they are cut into windows, and what the model says of each window. */

import { byId, counted, h, put, styled, visible } from "./dom";
import { DRAWN_AXES, GesturePad } from "./gesture_pad";
import type { Model } from "./model";
import { type Recording, windowsOf } from "./recordings";
import { clippedIn, signalFeatures, type SignalSettings } from "./signal_plan";
import type { Studio } from "./studio";

const MOST_POINTS = 1500;
const MOST_BARS = 400;
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
  const features = signalFeatures(model.kernel, plan, windows, m);
  const answers = windows.map((window, i) => {
    if (clippedIn(plan, window) > Math.floor((plan.axes * plan.length) / 8)) return null;
    return model.labels[model.answer(Float64Array.from(features.subarray(i * m, (i + 1) * m)))];
  });
  return [
    h("figure", { class: "signal" },
      h("figcaption", {}, h("strong", { id: "trial-said" }, mostly(answers)), h("span", { class: "faint" }, `${visible(name, 60)}, ${counted(windows.length, "window")}`)),
      wave(values, signal, `${name}: ${mostly(answers)}`),
      strip(answers, signal, values[0].length)),
  ];
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
