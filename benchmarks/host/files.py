"""Training from a file against decoding the file alone, in memory and as ``sefr train`` reads it.

The decoder runs alone and inside the training in turns; the least CPU time of each
counts. Both run on one thread and leave what they made to the same allocator. ``at_most`` is the figure if
training took no more than reading what was decoded once more, by the read loop of ``limit.py``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from sefr import SEFRClassifier
from sefr.files import open_dataset
from sefr.files.learning import learn

from .clock import interleaved, least, least_ratio
from .limit import read_once

N, M = 500_000, 50
TURNS = 9


def measure() -> Iterator[dict[str, Any]]:
    """Yield decode speed over decode-and-train speed for each format and way."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 1000, (N, M)).astype(np.float32) / 8
    y = rng.integers(0, 2, N)
    rows = pa.table({f"x{j}": X[:, j] for j in range(M)})
    labelled = rows.append_column("y", pa.array(y))
    with tempfile.TemporaryDirectory(prefix="sefr-bench-") as name:
        folder = Path(name)
        pyarrow.parquet.write_table(rows, folder / "rows.parquet")
        pyarrow.feather.write_feather(rows, folder / "rows.feather", compression="uncompressed")
        pyarrow.csv.write_csv(rows.slice(0, N // 10), folder / "rows.csv")
        np.save(folder / "rows.npy", X)
        yield from _in_memory(folder, y)
        pyarrow.parquet.write_table(labelled, folder / "labelled.parquet")
        pyarrow.csv.write_csv(labelled.slice(0, N // 10), folder / "labelled.csv")
        yield from _in_batches(folder)


def _in_memory(folder: Path, y: Any) -> Iterator[dict[str, Any]]:
    """Read the whole file as one table, then ``fit``."""
    decoders: dict[str, Callable[[], Any]] = {
        "Parquet": lambda: pyarrow.parquet.read_table(folder / "rows.parquet", use_threads=False),
        "Feather": lambda: pyarrow.feather.read_table(folder / "rows.feather", memory_map=False),
        "CSV": lambda: pyarrow.csv.read_csv(
            folder / "rows.csv", read_options=pyarrow.csv.ReadOptions(use_threads=False)
        ),
        "npy": lambda: np.load(folder / "rows.npy"),
    }
    for kind, decode in decoders.items():
        labels = y[: len(decode())]

        def train(decode: Callable[[], Any] = decode, labels: Any = labels) -> None:
            SEFRClassifier().fit(decode(), labels)

        def read(decode: Callable[[], Any] = decode) -> None:
            for part in _parts(decode()):
                read_once(part)

        yield _compared(f"{kind}, fit", len(labels), decode, train, read)


def _parts(decoded: Any) -> Iterator[Any]:
    """Yield the arrays that decoded rows lie in."""
    if isinstance(decoded, np.ndarray):
        yield decoded
        return
    for column in decoded.columns:
        for chunk in column.chunks:
            yield chunk.to_numpy()


def _in_batches(folder: Path) -> Iterator[dict[str, Any]]:
    """Read batch by batch, as the command does; the decoder alone makes the same batches.

    Not Feather: there is nothing to decode, and a batch that nobody reads is never fetched.
    """
    for kind in ("Parquet", "CSV"):
        path = str(folder / f"labelled.{kind.lower()}")

        def decode(path: str = path) -> int:
            table = open_dataset([path])
            wanted = table.recipe("y").wanted(with_label="y")
            return sum(batch.num_rows for batch in table.readers[0].batches(wanted))

        def train(path: str = path) -> None:
            table = open_dataset([path])
            learn(table, table.recipe("y"))

        yield _compared(f"{kind}, sefr train", decode(), decode, train)


def _compared(
    name: str,
    n: int,
    decode: Callable[[], Any],
    train: Callable[[], Any],
    read: Callable[[], Any] | None = None,
) -> dict[str, Any]:
    train()
    functions = {"decode": decode, "train": train} | ({"read": read} if read is not None else {})
    times = interleaved(functions, TURNS, seconds=9.0, clock=time.process_time)
    return {
        "section": "files",
        "name": name,
        "shape": f"{n}x{M}",
        "of_decode_speed": least_ratio(times, "decode", "train"),
        **({"at_most": least_ratio(times, "decode", "read")} if read is not None else {}),
        "decode_ms": least(times, "decode") * 1e3,
        "train_ms": least(times, "train") * 1e3,
    }
