/** Modules that build.mjs makes. */

declare module "virtual:templates" {
  export function render(name: string, context: Record<string, unknown>): string;
}

declare module "virtual:assets" {
  /** Compressed (gzip) and in base64. */
  export const kernel: string;
  export const image: string;
  export const library: string;
  export const examples: Record<string, string>;
  export const about: import("./model_file").About;
  export const taken: import("./names").Taken;
  /** The bytes of flash and RAM that the image of the board takes by itself. */
  export const imageSize: { flash: number; ram: number };
}

declare module "virtual:signals" {
  /** Of src/sefr/signals/kernels.py. */
  export const signals: {
    taps: readonly (readonly [number, number, number])[];
    /** A word for what each kernel answers to. */
    shapes: readonly string[];
    laplace: readonly number[];
    golden: number;
    eighths: number;
    whole: readonly string[];
    perSegment: readonly string[];
  };
}

declare module "virtual:auto" {
  /** Of src/sefr/_answers/auto.py, src/sefr/_weights/auto.py, src/sefr/_rows/cells and src/sefr/settings.py. */
  export const auto: {
    bins: number;
    smallRows: number;
    parts: number;
    partRows: number;
    mostFerns: number;
    fernRows: number;
    subsetRows: number;
    mostSubsets: number;
    step: number;
    passes: Record<"line" | "bins" | "ferns", number>;
    furtherPasses: Record<"line" | "bins" | "ferns", number>;
    fernPassesOfMany: readonly [number, number];
    far: number;
    mostHeld: number;
    tooSmall: number;
    weaker: number;
    leastLogit: number;
    depth: number;
    tried: number;
    bounds: number;
    sampleRows: number;
    /** Of numbers to predict: the cells of all features, about, the interactions, and how these are grown. */
    numberCells: number;
    numberFerns: number;
    numberFernRows: number;
    numberDepth: number;
    numberStep: number;
    sweeps: number;
    shy: number;
  };
}

declare module "virtual:worker" {
  /** The source of the worker. */
  export default source;
  const source: string;
}
