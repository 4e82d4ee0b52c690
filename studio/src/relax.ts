/** A weaker ridge penalty, where passes are left over, as src/sefr/_weights/refine/relax.py. */

import type { HeldOut } from "./held_out";
import type { Floats } from "./kernel";
import type { Objective, Search } from "./lbfgs";
import { highest, total } from "./linear";

/** Rows per weight of a score, at least. */
export const ROWS_PER_WEIGHT = 32;
/** Passes that are left, at least; and as many as were made. */
const FEWEST_LEFT = 16;
/** How much weaker the penalty is each time. */
const WEAKER = 10;

/** A penalised loss, and how far the search for its minimum has come. */
export interface Kept {
  objective: Objective;
  search: Search;
}

/** Return what is kept after passes that are left were spent on weaker penalties, as long as these lower the leave-one-out loss. */
export function relax(first: Kept, leaveOneOut: (tried: Kept) => HeldOut, curve: number[], passes: number): Kept {
  if (passes - curve.length < Math.max(curve.length, FEWEST_LEFT)) return first;
  const lossAt = (tried: Kept): number => {
    const { sample, scores } = tried.objective;
    return lossOf(leaveOneOut(tried).scores, scores, sample.codes, sample.weights);
  };
  let kept = first;
  for (let loss = lossAt(kept); curve.length < passes; ) {
    const made = curve.length;
    const objective = kept.objective.under(kept.objective.ridge / WEAKER);
    const tried = { objective, search: kept.search.under(objective) };
    tried.search.minimise(curve, passes);
    const found = lossAt(tried);
    if (curve.length === made || !(found < loss)) {
      curve.fill(kept.search.best.loss, made);
      break;
    }
    [kept, loss] = [tried, found];
  }
  return kept;
}

/** Return the mean loss of rows by their scores (S x R). */
function lossOf(z: Floats, r: number, codes: Int32Array, weights: Floats): number {
  let loss = 0;
  for (let i = 0; i < codes.length; i++) {
    if (r === 1) {
      const against = codes[i] === 1 ? -z[i] : z[i];
      loss += weights[i] * (Math.max(against, 0) + Math.log1p(Math.exp(-Math.abs(against))));
    } else {
      const own = z.subarray(i * r, (i + 1) * r);
      const most = highest(own);
      loss += weights[i] * (Math.log(total(own.map((score) => Math.exp(score - most)))) + most - own[codes[i]]);
    }
  }
  return loss;
}
