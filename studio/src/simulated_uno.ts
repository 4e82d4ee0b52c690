/** An Arduino Uno in the page: avr8js runs an image of the device library, cycle by cycle. */

import { AVRUSART, avrInstruction, CPU, usart0Config } from "avr8js";
import { BoardError, Client, type Line } from "./line";
import type { Quantised } from "./quantise";

export const CLOCK = 16e6;
export const UNO_FLASH = 32256; // 32 KB without the boot loader
export const UNO_RAM = 2048;
const MODEL_AT = 0x4000;
const GPIOR0 = 0x3e;
const RXC = 0x80;
const RAM_START = 0x100;
const UNTOUCHED = 0xa5;
/** Milliseconds that the page lets the board run before it looks after its reader. */
const SLICE = 12;
const STUCK = 400e6; // cycles without an answer

export type Mode = "fixed" | "learns" | "lean";

export interface Image {
  code: Uint8Array;
  size: { flash: number; ram: number };
}

export class SimulatedUno implements Line {
  /** Cycles of what was measured, in order: classify, learn, solve. */
  readonly measured: number[] = [];
  private readonly cpu: CPU;
  private readonly usart: AVRUSART;
  private readonly memory = new Uint8Array(UNO_FLASH + 512);
  private readonly used: number;
  private toSend: number[] = [];
  private begun = 0;
  private overhead = -1;
  private text = "";
  private readonly lines: string[] = [];

  constructor(private readonly image: Image, private readonly model: Uint8Array) {
    if (image.code.length > MODEL_AT) throw new BoardError("the image reaches into the place of the model");
    if (MODEL_AT + model.length > UNO_FLASH) {
      throw new BoardError(`the weights take ${model.length} bytes: too many for the flash of an Uno`);
    }
    this.memory.set(image.code);
    this.memory.set(model, MODEL_AT);
    this.cpu = new CPU(new Uint16Array(this.memory.buffer), UNO_RAM);
    this.cpu.data.fill(UNTOUCHED, RAM_START);
    this.usart = new AVRUSART(this.cpu, usart0Config, CLOCK);
    this.usart.onByteTransmit = (byte) => this.receive(byte);
    this.cpu.writeHooks[GPIOR0] = (value) => {
      if (value === 1) this.begun = this.cpu.cycles;
      else if (this.overhead < 0) this.overhead = this.cpu.cycles - this.begun;
      else this.measured.push(this.cpu.cycles - this.begun - this.overhead);
      return false;
    };
    this.used = RAM_START + image.size.ram;
  }

  static client(image: Image, q: Quantised, mode: Mode, id = 0): { uno: SimulatedUno; client: Client } {
    const uno = new SimulatedUno(image, modelBytes(q, mode, id));
    return { uno, client: new Client(uno) };
  }

  get cycles(): number {
    return this.cpu.cycles;
  }

  /** Bytes of flash: the program and the model. */
  get flash(): number {
    return this.image.size.flash + this.model.length;
  }

  /** The deepest that the stack went so far, in bytes. */
  get stack(): number {
    let at = this.used;
    while (at < this.cpu.data.length && this.cpu.data[at] === UNTOUCHED) at++;
    return this.cpu.data.length - at;
  }

  async ask(text: string, words: readonly string[]): Promise<string> {
    this.toSend.push(...new TextEncoder().encode(text));
    const limit = this.cpu.cycles + STUCK;
    for (;;) {
      const until = performance.now() + SLICE;
      while (performance.now() < until) {
        for (let i = 0; i < 2000 && !this.lines.length; i++) this.step();
        const line = this.lines.shift();
        if (line && words.includes(line.split(" ")[0])) return line;
        if (line?.startsWith("status")) throw new BoardError(`the board answered ${line}`);
      }
      if (this.cpu.cycles > limit) throw new BoardError("the board does not answer");
      await new Promise((resume) => setTimeout(resume));
    }
  }

  async close(): Promise<void> {}

  private step(): void {
    const { cpu } = this;
    avrInstruction(cpu);
    cpu.tick();
    // the next byte goes out when the program has taken the one before
    if (this.toSend.length && !this.usart.rxBusy && !(cpu.data[usart0Config.UCSRA] & RXC) && this.usart.writeByte(this.toSend[0])) {
      this.toSend.shift();
    }
  }

  private receive(byte: number): void {
    if (byte !== 10) {
      this.text += String.fromCharCode(byte);
      return;
    }
    this.lines.push(this.text);
    this.text = "";
  }
}

/** Bytes of RAM that the arrays of a model take on the board, with a record. */
export function modelRam(q: Quantised, mode: Mode): number {
  const [m, k] = [q.low.length, q.classes.length];
  const rows = k === 2 ? 1 : k;
  if (mode === "fixed") return m;
  const arrays = m * k * 2 + k * 2 + rows * 4;
  return m + arrays + (mode === "learns" ? m * rows + (q.ranges ? 2 * m : 0) : 0);
}

/** What board/uno.c reads at MODEL_AT. */
export function modelBytes(q: Quantised, mode: Mode, id: number): Uint8Array {
  const [m, k] = [q.low.length, q.classes.length];
  const rows = q.bias.length;
  const fixed = mode === "fixed";
  const bytes = new Uint8Array(8 + (fixed ? 4 * rows + rows * m : 0));
  const view = new DataView(bytes.buffer);
  view.setUint16(0, m, true);
  bytes[2] = k;
  bytes[3] = fixed ? 0 : mode === "lean" ? 3 : 1 + (q.ranges ? 4 : 0);
  view.setUint32(4, id, true);
  if (fixed) {
    q.bias.forEach((bias, r) => view.setInt32(8 + 4 * r, Number(bias), true));
    bytes.set(new Uint8Array(q.weights.buffer), 8 + 4 * rows);
  }
  return bytes;
}
