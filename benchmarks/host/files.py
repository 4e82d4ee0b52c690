"""Training from a file against decoding the file alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from sefr import SEFRClassifier

from .clock import interleaved, ratio, typical


def measure() -> Iterator[dict[str, Any]]:
    """Yield decode speed over decode-and-train speed for each format."""
    n, m = 500_000, 50
    rng = np.random.default_rng(0)
    X = rng.integers(0, 1000, (n, m)).astype(np.float32) / 8
    y = rng.integers(0, 2, n)
    frame = pa.table({f"x{j}": X[:, j] for j in range(m)})
    with tempfile.TemporaryDirectory(prefix="sefr-bench-") as name:
        folder = Path(name)
        pyarrow.parquet.write_table(frame, folder / "rows.parquet")
        pyarrow.feather.write_feather(frame, folder / "rows.feather", compression="uncompressed")
        pyarrow.csv.write_csv(frame.slice(0, n // 10), folder / "rows.csv")
        np.save(folder / "rows.npy", X)
        decoders = {
            "Parquet": lambda: pyarrow.parquet.read_table(folder / "rows.parquet", use_threads=False),
            "Feather": lambda: pyarrow.feather.read_table(folder / "rows.feather", memory_map=False),
            "CSV": lambda: pyarrow.csv.read_csv(
                folder / "rows.csv", read_options=pyarrow.csv.ReadOptions(use_threads=False)
            ),
            "npy": lambda: np.load(folder / "rows.npy"),
        }
        for kind, decode in decoders.items():
            labels = y[: len(decode())]
            times = interleaved(
                {
                    "decode": decode,
                    "train": lambda decode=decode, labels=labels: SEFRClassifier().fit(decode(), labels),
                },
                7,
                seconds=6.0,
            )
            yield {
                "section": "files",
                "name": kind,
                "shape": f"{len(labels)}x{m}",
                "of_decode_speed": ratio(times, "decode", "train"),
                "decode_ms": typical(times, "decode") * 1e3,
                "train_ms": typical(times, "train") * 1e3,
            }
