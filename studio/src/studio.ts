/** What the page knows, and the way from a file to a model: the worker reads and trains, the panels show. */

import { about, examples, image, imageSize, kernel as kernelCode, library, taken } from "virtual:assets";
import workerSource from "virtual:worker";
import { MOST_BINS } from "./cells";
import { byId } from "./dom";
import type { Source } from "./export";
import { Kernel } from "./kernel";
import type { Method, Settings } from "./learning";
import type { Given, Reply, Request, TableView } from "./messages";
import { Model } from "./model";
import { NumberModel } from "./number_model";
import { type Role, ROLES } from "./recipe";
import type { RecordingsView } from "./recordings";
import type { SignalSettings } from "./signal_plan";
import type { Image } from "./simulated_uno";

export const MOST_PASSES = 1000;
const METHODS: readonly Method[] = ["auto", "paper", "passes", "exact", "own"];

export type Event = "opening" | "opened" | "training" | "testing" | "trained" | "changed" | "refused" | "tried";

/** What is taken for granted of a signal until the reader says otherwise. */
export const SIGNAL: SignalSettings = { rate: 50, length: 64, hop: 32, range: null };

const LIKELY = /^(?:class|label|target|y|species|outcome|digit|category|result|diagnosis|type|survived|churn)$/i;

export class Studio {
  table: TableView | null = null;
  model: Model | null = null;
  /** The model if the label is a quantity. */
  numbers: NumberModel | null = null;
  settings: Settings | null = null;
  /** What is wrong, in the words of the command. */
  refusal: { message: string; about: "data" | "training" | "trial" } | null = null;
  /** What was cut into windows, if rows are samples of a signal. */
  recordings: RecordingsView | null = null;
  /** A recording that is tried, axis by axis, or why it cannot be. */
  trial: { name: string; values: Float64Array[] | null; refusal: string } | null = null;
  progress = 0;
  /** Which of several methods is tested. */
  testing: { number: number; of: number } | null = null;
  example: string | null = null;
  fileName = "";
  private firstSignal = SIGNAL;
  /** What was chosen last stays when another file is opened. */
  private method: Method = "auto";
  private wanted: URLSearchParams | null = null;
  private latest = 0;
  private readonly listeners: ((event: Event) => void)[] = [];

  private constructor(private readonly kernel: Kernel, private readonly worker: Worker, readonly uno: Image, readonly source: Source) {
    worker.onmessage = ({ data }: MessageEvent<Reply>) => this.hear(data);
  }

  static async begin(): Promise<Studio> {
    const code = await unpacked(kernelCode);
    const worker = new Worker(URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" })));
    worker.postMessage({ kind: "begin", kernel: code } satisfies Request);
    const files = JSON.parse(new TextDecoder().decode(await unpacked(library))) as Record<string, string>;
    const uno = { code: await unpacked(image), size: imageSize };
    return new Studio(await Kernel.from(code), worker, uno, { version: about.version, taken, library: files });
  }

  listen(listener: (event: Event) => void): void {
    this.listeners.push(listener);
  }

  tell(event: Event): void {
    for (const listener of this.listeners) listener(event);
  }

  /** Read a file, or text that was pasted. */
  open(name: string, data: Blob, example: string | null = null): void {
    this.read(name, [{ name, label: null, data }], example);
  }

  /** Read recordings, each with its label. */
  openRecordings(name: string, files: readonly Given[], signal: SignalSettings = SIGNAL): void {
    this.firstSignal = signal;
    this.read(name, files, null);
  }

  /** Read a recording without a label, to be answered window by window. */
  tryRecording(name: string, data: Blob): void {
    this.ask({ kind: "try", id: this.latest, file: { name, label: null, data } });
  }

  private read(name: string, files: readonly Given[], example: string | null): void {
    this.table = this.model = this.numbers = this.settings = this.refusal = this.recordings = this.trial = null;
    this.progress = 0;
    this.example = example;
    this.fileName = name;
    this.ask({ kind: "open", id: ++this.latest, files });
    this.tell("opening");
  }

  async openExample(name: string): Promise<void> {
    this.open(name, new Blob([await unpacked(examples[name])]), name.replace(/\.csv$/, ""));
  }

  /** Remember settings from a link until there is a table that has its columns. */
  want(settings: URLSearchParams): void {
    this.wanted = settings;
    this.method = METHODS.find((known) => known === settings.get("method")) ?? this.method;
  }

  set(change: Partial<Settings>): void {
    if (!this.settings) return;
    this.settings = { ...this.settings, ...change };
    this.method = this.settings.method;
    this.train();
  }

  /** The settings as a link: never the data. */
  link(): string {
    const { settings } = this;
    const words = new URLSearchParams();
    if (settings) {
      if (this.example) words.set("example", this.example);
      words.set("label", settings.label);
      for (const [name, role] of settings.roles) words.append(role, name);
      words.set("method", settings.method);
      if (settings.task) words.set("task", settings.task);
      if (settings.method === "own" || settings.signal) {
        if (settings.passes > 1) words.set("passes", String(settings.passes));
        if (settings.bins !== null) words.set("bins", String(settings.bins));
      }
      if (settings.balanced) words.set("class_weight", "balanced");
      const { signal } = settings;
      if (signal) {
        words.set("rate", String(signal.rate));
        words.set("window", `${signal.length}:${signal.hop}`);
        if (signal.range) words.set("range", signal.range.join(":"));
      }
    }
    return `${location.href.split("#")[0]}#${words}`;
  }

  /** Put the link into the address bar and, where the browser allows it, copy it; return the words for it. */
  copyLink(): string {
    const link = this.link();
    history.replaceState(null, "", link);
    void navigator.clipboard?.writeText(link).catch(() => undefined);
    return "The link is in the address bar and, where the browser allows it, copied.";
  }

  say(text: string): void {
    byId("said").textContent = text;
  }

  private train(): void {
    this.refusal = this.testing = null;
    this.ask({ kind: "train", id: ++this.latest, settings: this.settings! });
    this.tell("training");
  }

  private ask(request: Request): void {
    this.worker.postMessage(request);
  }

  private hear(reply: Reply): void {
    if (reply.id !== this.latest) return;
    if (reply.kind === "progress") {
      this.progress = reply.part;
      this.tell("opening");
    } else if (reply.kind === "testing") {
      this.testing = reply;
      this.tell("testing");
    } else if (reply.kind === "opened") {
      this.table = reply.table;
      this.settings = this.firstSettings(reply.table);
      this.tell("opened");
      this.train();
    } else if (reply.kind === "tried") {
      this.trial = { name: reply.name, values: reply.values, refusal: "" };
      this.tell("tried");
    } else if (reply.kind === "trained") {
      this.recordings = reply.recordings;
      this.trial = this.numbers = null;
      this.model = new Model(this.kernel, reply.trained, reply.sample, this.settings!, this.fileName);
      this.tell("trained");
    } else if (reply.kind === "numbers") {
      this.model = this.recordings = this.trial = null;
      this.numbers = new NumberModel(reply.trained, reply.sample, this.fileName);
      this.tell("trained");
    } else if (reply.about === "trial") {
      this.trial = { name: "", values: null, refusal: reply.message };
      this.say(reply.message);
      this.tell("tried");
    } else {
      this.model = this.numbers = this.recordings = null;
      this.refusal = { message: reply.message, about: reply.about };
      this.say(reply.message);
      this.tell("refused");
    }
  }

  /** A label that is likely one, and what a link asks for. */
  private firstSettings(table: TableView): Settings {
    const names = table.columns.map((column) => column.name);
    const named = table.columns.filter((column) => LIKELY.test(column.name)).at(-1);
    const text = table.columns.filter((column) => column.kind === "text" && !column.decision.order && (column.distinct ?? 1e9) <= table.rows / 2).at(-1);
    const { wanted } = this;
    const method = METHODS.find((known) => known === wanted?.get("method")) ?? (wanted?.has("passes") || wanted?.has("bins") ? "own" : this.method);
    const asked = wanted?.get("label");
    const roles = new Map<string, Role>();
    for (const role of ROLES) {
      for (const name of wanted?.getAll(role) ?? []) {
        const column = table.columns.find((one) => one.name === name);
        if (column && (role !== "dates" || column.decision.order)) roles.set(name, role);
      }
    }
    this.wanted = null;
    return {
      label: table.recordings ?? (asked && names.includes(asked) ? asked : (named ?? text ?? table.columns.at(-1)!).name),
      roles,
      method,
      task: (["classes", "number"] as const).find((task) => task === wanted?.get("task")) ?? null,
      balanced: wanted?.get("class_weight") === "balanced",
      passes: wholeNumber(wanted?.get("passes"), 1, MOST_PASSES) ?? 1,
      bins: wholeNumber(wanted?.get("bins"), 2, MOST_BINS),
      signal: signalOf(wanted) ?? (table.recordings === null ? null : this.firstSignal),
    };
  }
}

/** Return what a link says of a signal, null if nothing that holds together. */
function signalOf(words: URLSearchParams | null): SignalSettings | null {
  const rate = Number(words?.get("rate"));
  const [length, hop] = (words?.get("window") ?? "").split(":").map(Number);
  const range = words?.get("range")?.split(":").map(Number) ?? null;
  if (!(rate > 0) || !(length > 1) || !(hop > 0)) return null;
  return { rate, length, hop, range: range?.length === 2 && range.every(Number.isFinite) ? [range[0], range[1]] : null };
}

/** Return a whole number of a link, null for anything else. */
function wholeNumber(text: string | null | undefined, least: number, most: number): number | null {
  if (!text || !/^[0-9]{1,4}$/.test(text)) return null;
  const value = Number(text);
  return value >= least && value <= most ? value : null;
}

/** Return bytes that were compressed (gzip) and written in base64. */
export async function unpacked(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
