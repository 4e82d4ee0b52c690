/** A real board over Web Serial, where the browser has it. */

import { BoardError, type Line } from "./line";

interface Port {
  open(options: { baudRate: number }): Promise<void>;
  close(): Promise<void>;
  readable: ReadableStream<Uint8Array>;
  writable: WritableStream<Uint8Array>;
}

interface Serial {
  requestPort(): Promise<Port>;
}

const BAUD = 115200;
const WAIT = 5000;
const RESET = 2200; // an Uno starts anew when its line is opened

export function hasSerial(): boolean {
  return "serial" in navigator;
}

export class SerialLine implements Line {
  private text = "";
  private readonly decoder = new TextDecoder();

  private constructor(
    private readonly port: Port,
    private readonly reader: ReadableStreamDefaultReader<Uint8Array>,
    private readonly writer: WritableStreamDefaultWriter<Uint8Array>,
  ) {}

  /** Ask the reader for a port and open it. */
  static async open(): Promise<SerialLine> {
    const { serial } = navigator as unknown as { serial: Serial };
    const port = await serial.requestPort();
    await port.open({ baudRate: BAUD });
    await new Promise((resume) => setTimeout(resume, RESET));
    return new SerialLine(port, port.readable.getReader(), port.writable.getWriter());
  }

  async ask(text: string, words: readonly string[]): Promise<string> {
    await this.writer.write(new TextEncoder().encode(text));
    const until = Date.now() + WAIT;
    for (;;) {
      const end = this.text.indexOf("\n");
      if (end >= 0) {
        const line = this.text.slice(0, end).trimEnd();
        this.text = this.text.slice(end + 1);
        if (words.includes(line.split(" ")[0])) return line;
        continue;
      }
      const left = until - Date.now();
      const late = new Promise<null>((resolve) => setTimeout(resolve, Math.max(left, 0), null));
      const got = await Promise.race([this.reader.read(), late]);
      if (!got || got.done) throw new BoardError("the board does not answer: is a sketch of sefr export on it?");
      this.text += this.decoder.decode(got.value, { stream: true });
    }
  }

  async close(): Promise<void> {
    this.reader.releaseLock();
    this.writer.releaseLock();
    await this.port.close();
  }
}
