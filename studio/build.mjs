// Builds the page: node build.mjs [OUTPUT]. Reproducible: what it reads is in the repository or pinned.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { gzipSync } from "fflate";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const output = process.argv[2] ?? join(root, "src/sefr/studio/studio.html");
const python = process.env.PYTHON ?? join(root, ".venv/bin/python");
const MOST_BYTES = 700_000;
const MOST_WASM = 245_000;

const run = (program, args) => execFileSync(program, args, { cwd: here, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] });
const scratch = mkdtempSync(join(tmpdir(), "sefr-studio-"));

/** The kernels and the device library as wasm. */
function wasm() {
  const file = join(scratch, "kernel.wasm");
  const quick = [
    "summarise/columns", "summarise/masked", "score/scores", "cells/count", "cells/tally", "cells/lookup",
    "refine/gradient", "refine/gradient_cells", "refine/loss",
    "refine/product", "refine/tile", "refine/mixture", "refine/steps", "cells/grow", "moments/count_pairs", "moments/ridge",
  ];
  // what the page seldom calls, and passes over bins, which are unrolled by hand, are compiled for size
  const small = ["summarise/summarise", "summarise/byte_rows", "summarise/rows", "summarise/wide_rows", "solve/solve", "answers/likelihood", "answers/parts", "answers/probabilities", "cells/coder", "cells/coding", "cells/edges", "refine/leave_one_out", "refine/long_rows", "refine/pairs", "refine/sample", "refine/search", "refine/shelf", "refine/wide_cells", "signals/signals", "moments/step_products"];
  const flags = ["-target", "wasm32-freestanding", "-nostdlib", "-std=c11", "-msimd128", "-mbulk-memory", "-ffp-contract=off", "-fno-math-errno", "-w"];
  const defines = ["-DSEFR_ONE_TARGET", "-DSEFR_FEW_DTYPES", "-DSEFR_FUSED_BY_HAND"];
  const includes = ["-Ikernel/include", "-I../native", "-I../device/twin"];
  const compile = (more) => run(python, ["-m", "ziglang", "cc", ...flags, ...defines, ...includes, ...more]);
  const objects = small.map((name) => {
    const object = join(scratch, `${name.replace("/", "_")}.o`);
    compile(["-Os", "-c", `../native/${name}.c`, "-o", object]);
    return object;
  });
  const sources = [
    ...readdirSync(join(here, "kernel")).filter((name) => name.endsWith(".c")).sort().map((name) => `kernel/${name}`),
    ...quick.map((name) => `../native/${name}.c`),
    "../device/twin/w8s32.c",
    "../device/twin/w16s32.c",
  ];
  compile(["-O2", "-Wl,--no-entry", "-Wl,--strip-all", "-Wl,--gc-sections", "-o", file, ...sources, ...objects]);
  const code = readFileSync(file);
  if (code.length > MOST_WASM) throw new Error(`the wasm has ${code.length} bytes, more than ${MOST_WASM}`);
  console.log(`wasm: ${code.length} bytes`);
  return code;
}

/** The program of the simulated Uno, and the flash and RAM that it takes by itself. */
function uno() {
  const elf = join(scratch, "uno.elf");
  const image = join(scratch, "uno.bin");
  const flags = ["-std=c99", "-Os", "-mmcu=atmega328p", "-DF_CPU=16000000UL", "-DSEFR_STACK_BYTES=0", "-ffunction-sections", "-Wl,--gc-sections"];
  run("avr-gcc", [...flags, "-I../device/src", "board/uno.c", "../device/src/sefr.c", "../device/src/sefr_avr.S", "-o", elf]);
  run("avr-objcopy", ["-O", "binary", "-j", ".text", "-j", ".data", elf, image]);
  const [text, data, bss] = run("avr-size", [elf]).toString().split("\n")[1].trim().split(/\s+/).map(Number);
  return { code: readFileSync(image), size: { flash: text + data, ram: data + bss } };
}

const packed = (bytes) => Buffer.from(gzipSync(bytes, { level: 9, mtime: 0 })).toString("base64");
const parts = JSON.parse(run(python, ["parts.py"]).toString());
const image = uno();
const assets = {
  kernel: packed(wasm()),
  image: packed(image.code),
  imageSize: image.size,
  library: packed(Buffer.from(JSON.stringify(parts.library))),
  examples: Object.fromEntries(Object.entries(parts.examples).map(([name, text]) => [name, packed(Buffer.from(text))])),
  about: parts.about,
  taken: { reserved: parts.reserved, owned: parts.owned },
};

/** Modules that exist only while building. */
function virtual(modules) {
  return {
    name: "virtual",
    setup(builder) {
      builder.onResolve({ filter: /^virtual:/ }, ({ path }) => ({ path, namespace: "virtual" }));
      builder.onLoad({ filter: /.*/, namespace: "virtual" }, ({ path }) => ({ contents: modules[path.slice(8)], loader: "js" }));
    },
  };
}

async function bundled(entry, modules) {
  const done = await build({
    absWorkingDir: here, entryPoints: [entry], bundle: true, write: false, minify: true, format: "iife", target: "es2022",
    charset: "utf8", legalComments: "none", logLevel: "warning", plugins: [virtual(modules)],
  });
  return done.outputFiles[0].text.trim();
}

const signals = `export const signals = ${JSON.stringify(parts.signals)};`;
const auto = `export const auto = ${JSON.stringify(parts.auto)};`;
const worker = await bundled("src/worker.ts", { signals, auto });
const modules = {
  signals,
  auto,
  templates: parts.templates,
  assets: Object.entries(assets).map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`).join("\n"),
  worker: `export default ${JSON.stringify(worker)};`,
};
const script = (await bundled("src/main.ts", modules)).replaceAll("</script", "<\\/script");
const style = (await build({ absWorkingDir: here, entryPoints: ["src/page.css"], bundle: true, write: false, minify: true })).outputFiles[0].text.trim();
const { FOR, AGAINST, FOR_DARK, AGAINST_DARK } = parts.colours;
const coloured = style
  .replaceAll("__FOR_DARK__", FOR_DARK).replaceAll("__AGAINST_DARK__", AGAINST_DARK)
  .replaceAll("__FOR__", FOR).replaceAll("__AGAINST__", AGAINST);
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = [
  "default-src 'none'", `script-src ${hash(script)} 'wasm-unsafe-eval'`, `style-src ${hash(coloured)}`, "worker-src blob:",
  "img-src data:", "base-uri 'none'", "form-action 'none'",
].join("; ");
const page = readFileSync(join(here, "src/page.html"), "utf8")
  .replace("__POLICY__", () => policy).replace("__STYLE__", () => coloured).replace("__SCRIPT__", () => script);
const notice = readFileSync(join(here, "NOTICE"), "utf8").trim();
const whole = page.replace("__NOTICE__", () => notice);
if (Buffer.byteLength(whole) > MOST_BYTES) throw new Error(`the page has ${Buffer.byteLength(whole)} bytes, more than ${MOST_BYTES}`);
writeFileSync(output, whole);
rmSync(scratch, { recursive: true });
console.log(`${output}: ${Buffer.byteLength(whole)} bytes`);
