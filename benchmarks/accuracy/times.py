"""How many times longer LightGBM takes to fit than SEFR with bins, side by side on each of the twelve tables.

    python -m benchmarks.accuracy.times

Writes ``times.csv`` beside this file: CPU times in one thread, of the training rows of the first fold. The
fits take turns, so that a machine with other work disturbs all of them alike; a ratio is the median
over the turns. A fit that is short is repeated within its turn, as ``timeit`` does; what a single fit takes
that follows LightGBM's, whose code and data the caches then hold, stands beside it. It needs LightGBM.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from threadpoolctl import threadpool_limits

from ..host.clock import interleaved, ratio, typical
from ..machine import commit, machine
from ..tables import write_lines
from .table_methods import BINS, INTERACTIONS, Method, methods
from .tables import TABLES, folds, load, rows_of

HERE = Path(__file__).parent
TURNS, SECONDS = 9, 20.0
# CPU seconds that each method has in a turn, at least.
LEAST = 0.02
OURS = {
    "one_pass": f"SEFR, {BINS} bins, 1 pass",
    "twenty_passes": f"SEFR, {BINS} bins, 20 passes",
    "interactions": f"SEFR, {BINS} bins, {INTERACTIONS} interactions, 20 passes",
}


def fit_of(method: Method, name: str) -> Callable[[], object]:
    """Return a fit of one method on one table."""
    table = load(name)
    train, _ = folds(table.y)[0]
    X = rows_of(table.frame if method.categories else table.columns, train)
    return lambda: method.make().fit(X, table.y[train])


def line(name: str, known: dict[str, Method]) -> dict[str, str]:
    """Return the times and ratios of one table."""
    fits = {key: fit_of(known[method], name) for key, method in {**OURS, "lightgbm": "LightGBM"}.items()}
    for key in OURS:
        fits[key]()  # once before: what is made ready at the first call is no part of a fit
    with threadpool_limits(1):
        times = interleaved(fits, TURNS, seconds=SECONDS, clock=time.process_time, least=LEAST)
        single = interleaved(fits, TURNS, seconds=SECONDS, clock=time.process_time)
    return {
        "table": name,
        "turns": str(len(times["lightgbm"])),
        **{f"{key}_ms": f"{1e3 * typical(times, key):.4g}" for key in fits},
        **{f"lightgbm_over_{key}": f"{ratio(times, 'lightgbm', key):.3g}" for key in OURS},
        **{f"single_{key}_ms": f"{1e3 * typical(single, key):.4g}" for key in fits},
        **{f"lightgbm_over_single_{key}": f"{ratio(single, 'lightgbm', key):.3g}" for key in OURS},
        "machine": machine(),
        "commit": commit(),
    }


def main() -> None:
    """Measure and write."""
    warnings.filterwarnings("ignore")
    rows = []
    for found in map(partial(line, known={method.name: method for method in methods()}), TABLES):
        rows.append(found)
        print(*list(found.values())[:-2], flush=True)
        write_lines(HERE / "times.csv", rows)


if __name__ == "__main__":
    main()
