"""Memory of an Arrow dataset of 2 million rows of 300 features: what this process holds while it is read.

    python benchmarks/scale/memory.py FOLDER

Writes ``memory.csv`` beside this file: the largest resident set of a process of its own per line, and its
CPU seconds. The rows are float64 in four Parquet files of row groups of 100,000 (4.8 GB, made in FOLDER
once).
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

sys.path.append(str(Path(__file__).parents[2]))
from benchmarks.machine import commit, machine

FILES, ROWS, FEATURES, GROUP = 4, 500_000, 300, 100_000
RESULTS = Path(__file__).with_name("memory.csv")
FIELDS = ("rows", "features", "what", "megabytes", "seconds", "machine", "commit")


def made(folder: Path) -> Path:
    """Write the files that are not there yet; return their folder."""
    folder = folder / "dataset"
    folder.mkdir(parents=True, exist_ok=True)
    names = [*(f"c{j}" for j in range(FEATURES)), "y"]
    for number in range(FILES):
        path = folder / f"rows-{number}.parquet"
        if path.exists():
            continue
        rng, part = np.random.default_rng(number), folder.parent / "part"
        with pq.ParquetWriter(part, pa.schema([(name, pa.float64()) for name in names])) as out:
            for _ in range(ROWS // GROUP):
                X = rng.random((FEATURES, GROUP))
                y = (X[:20].sum(axis=0) > 10).astype(float)
                out.write_table(pa.table([*X, y], names=names), row_group_size=GROUP)
        part.replace(path)
    return folder


def nothing(rows: Any) -> None:
    """Only open the dataset, with all that is imported for it."""
    from sefr import SEFRClassifier  # noqa: F401

    rows.schema  # noqa: B018


def read(rows: Any) -> None:
    """Read all batches by pyarrow's own settings, and drop them."""
    for batch in rows.to_batches():
        del batch


def one_pass(rows: Any) -> None:
    """Add the rows up."""
    from sefr import Summary

    assert Summary.of_frame(rows, "y").n_rows == FILES * ROWS  # noqa: S101


def bins(rows: Any) -> None:
    """Train with bins in ten passes, whose cells are kept."""
    from sefr import SEFRClassifier

    SEFRClassifier(bins=32, passes=10).fit_frame(rows, "y")


WORK = {
    "imports": nothing,
    "read and dropped, by pyarrow's settings": read,
    "Summary.of_frame": one_pass,
    "fit_frame(bins=32, passes=10)": bins,
}


def measured(folder: Path, what: str) -> dict[str, float]:
    """Return the peak of a process that does one piece of work, and its seconds."""
    done = subprocess.run(
        [sys.executable, __file__, str(folder), what], check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout)


def main() -> None:
    """Measure all in processes of their own; or, in such a process, do the work."""
    folder = made(Path(sys.argv[1]))
    if len(sys.argv) > 2:
        WORK[sys.argv[2]](ds.dataset(folder))
        # Of this program alone: what getrusage says includes the process that started it.
        status = Path("/proc/self/status").read_text()
        peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
        print(json.dumps({"megabytes": round(peak / 1e6), "seconds": round(time.process_time(), 1)}))
        return
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for what in WORK:
            row = {"rows": FILES * ROWS, "features": FEATURES, "what": what}
            writer.writerow(row | measured(folder.parent, what) | {"machine": machine(), "commit": commit()})
    print(RESULTS.read_text())


if __name__ == "__main__":
    main()
