/** A serial line to a board that speaks the language of exported sketches, simulated or real. */

export interface Line {
  /** Send text and return the next line that begins with one of the words. */
  ask(text: string, words: readonly string[]): Promise<string>;
  close(): Promise<void>;
}

export class BoardError extends Error {}

/** What a board answers. */
export class Client {
  constructor(private readonly line: Line) {}

  async about(): Promise<{ id: number; features: number; classes: number; input: string }> {
    const [, id, features, classes, input] = (await this.line.ask("?", ["sefr"])).split(" ");
    return { id: parseInt(id, 16), features: Number(features), classes: Number(classes), input };
  }

  async classify(values: ArrayLike<number>): Promise<number> {
    const [word, number] = (await this.line.ask(`c ${Array.from(values).join(",")}\n`, ["answer", "status"])).split(" ");
    if (word !== "answer" || !/^\d+$/.test(number)) throw new BoardError(`the board answered ${word} ${number}`);
    return Number(number);
  }

  async learn(values: ArrayLike<number>, label: number): Promise<void> {
    await this.done(`t${label} ${Array.from(values).join(",")}\n`);
  }

  async solve(): Promise<void> {
    await this.done("s");
  }

  async state(): Promise<Uint8Array> {
    const text = (await this.line.ask("x", ["state"])).split(" ")[1] ?? "";
    if (!/^([0-9A-Fa-f]{2})+$/.test(text)) throw new BoardError("the board sent a state that is not hexadecimal");
    return Uint8Array.from(text.match(/../g)!, (pair) => parseInt(pair, 16));
  }

  /** Make a sketch quiet, so that its answers do not come between. */
  async hush(): Promise<void> {
    await this.line.ask("q?", ["sefr"]);
  }

  close(): Promise<void> {
    return this.line.close();
  }

  private async done(text: string): Promise<void> {
    const [, number] = (await this.line.ask(text, ["status"])).split(" ");
    if (number !== "0") throw new BoardError(STATUS[Number(number)] ?? `the board answered status ${number}`);
  }
}

const STATUS: Record<number, string> = {
  1: "the board does not know this class",
  2: "the board has seen too few classes to answer",
  5: "the model does not fit the board",
};
