/** Where auto cuts rows whose label is a number: bins and ferns, as src/sefr/_rows/cells learns them. */

import { auto as how } from "virtual:auto";
import { type Coder, learnCoder, unevenRows, withFerns } from "./cells";
import type { Floats, Kernel } from "./kernel";
import { total } from "./linear";

/** Return the cells of features (by columns), and ferns grown for what these leave over of the targets. */
export function learnNumberCells(kernel: Kernel, columns: readonly Floats[], targets: Floats, ignoreMissing: boolean): Coder {
  const bins = Math.min(Math.max(Math.floor(how.numberCells / columns.length), 2), how.bins);
  const coder = learnCoder(kernel, { columns: [...columns], weights: null }, bins, ignoreMissing, true);
  const at = unevenRows(targets.length, columns.length, how.numberFernRows);
  const some = (values: Floats): Floats => (at ? Float64Array.from(at, (row) => values[row]) : values);
  const own = some(targets);
  const cells = kernel.codeCells(columns.map(some), own.length, coder);
  const ferns = kernel.growFerns(cells, coder.offsets, {
    codes: new Int32Array(own.length), classes: 1, targets: leftOver(cells, coder, own), held: null,
    most: how.numberFerns, depth: how.numberDepth, tried: how.tried, bounds: how.bounds, subsets: 1, step: how.numberStep,
  });
  return withFerns(coder, ferns);
}

/** Return what the cells of features, each by itself, leave of targets, in units of its spread: by backfitting. */
function leftOver(cells: Uint8Array, { offsets, columnOf, starts }: Coder, targets: Floats): Floats {
  const [n, m] = [targets.length, starts.length - 1];
  const mean = total(targets) / n;
  const left = targets.map((value) => value - mean);
  const rows = new Float64Array(columnOf.length).fill(how.shy);
  for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) rows[offsets[j] + cells[i * m + j]]++;
  const effects = new Float64Array(columnOf.length);
  for (let sweep = 0; sweep < how.sweeps; sweep++) {
    for (let j = 0; j < m; j++) {
      const [first, end] = [offsets[j], offsets[j + 1]];
      const sums = new Float64Array(end - first);
      for (let i = 0; i < n; i++) sums[cells[i * m + j]] += left[i] += effects[first + cells[i * m + j]];
      for (let c = first; c < end; c++) effects[c] = sums[c - first] / rows[c];
      for (let i = 0; i < n; i++) left[i] -= effects[first + cells[i * m + j]];
    }
  }
  const spread = Math.sqrt(total(left.map((value) => value * value)) / n);
  return spread > 0 ? left.map((value) => value / spread) : left;
}
