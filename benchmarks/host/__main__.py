"""``python -m benchmarks.host``: measure everything, show progress, write CSV and Markdown."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from . import columns, files, folds, growth, history, passes, peers, report, shapes, small, threads

SECTIONS = {
    "shapes": shapes,
    "columns": columns,
    "passes": passes,
    "peers": peers,
    "folds": folds,
    "files": files,
    "growth": growth,
    "small": small,
    "threads": threads,
}


def main() -> None:
    """Run the sections that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.host", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=SECTIONS,
        default=list(SECTIONS),
        help="which sections to run; the others stay as they are",
    )
    parser.add_argument(
        "--one-thread",
        action="store_true",
        help="for a machine that has other work: figures of several threads stay as they are",
    )
    parser.add_argument(
        "--avx2", action="store_true", help="the package was built for AVX2 alone, as by make bench-avx2"
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="folder for the results")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    start = time.perf_counter()
    for name in options.only:
        for row in shapes.measure(1) if options.one_thread and name == "shapes" else SECTIONS[name].measure():
            rows.append(row)
            print(f"{time.perf_counter() - start:6.0f} s  {_line(row)}", flush=True)
        report.write_csv(
            rows, options.out / "results.csv", [name], one_thread=options.one_thread, avx2=options.avx2
        )
    history.append(options.out / "results.csv", options.out / "history.csv")
    print(report.markdown(rows))
    print(f"wrote {options.out / 'results.csv'}")


def _line(row: dict[str, Any]) -> str:
    return "  ".join(f"{k} {v:.3g}" if isinstance(v, float) else str(v) for k, v in row.items())


if __name__ == "__main__":
    main()
