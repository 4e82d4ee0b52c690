"""A consumer of a log, as of Kafka's: rows come at least once, and each is learned exactly once.

The log numbers its rows: an offset per row. Delivery is at least once: after a crash the broker sends again
whatever was not committed, so rows arrive twice. The consumer needs no transaction: it stores the next offset
in the same file as what it has learned, in one write that happens whole or not at all, and skips what is
below it.

This example kills its consumer with SIGKILL again and again, at any moment, and starts it anew, until the log
is read. What was learned then equals one pass over the log without any accident, to the bit.

    python examples/streams/consumer.py
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sefr import SEFRClassifier, Summary, load, save
from sefr.model_file import batches_of, with_batches

ROWS, COMMIT = 4_000, 50  # rows of the log; rows between two commits to the broker


def write_log(path: Path) -> None:
    """Write the log that the broker serves: a JSON record per line."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        for values in rng.integers(0, 1000, size=(ROWS, 4)).tolist():
            label = "up" if values[0] + values[1] > values[2] + rng.integers(0, 900) else "down"
            file.write(json.dumps({"x": values, "y": label}) + "\n")


class Broker:
    """The part of a broker that matters here: rows from the committed offset on, and late commits."""

    def __init__(self, log: Path, committed: Path) -> None:
        self.log, self.committed = log, committed

    def poll(self, most: int = 20) -> Iterator[list[tuple[int, dict]]]:
        """Yield batches of (offset, record) from the last commit on: rows that were learned come again."""
        start = int(self.committed.read_text()) if self.committed.exists() else 0
        lines = self.log.read_text().splitlines()
        for at in range(start, len(lines), most):
            yield [(offset, json.loads(lines[offset])) for offset in range(at, min(at + most, len(lines)))]

    def commit(self, offset: int) -> None:
        """Remember an offset."""
        part = self.committed.with_suffix(".part")
        part.write_text(str(offset))
        part.replace(self.committed)


def offset_of(model: SEFRClassifier) -> int:
    """Return the first offset that a model has not learned: it is stored in the model's file."""
    return int(batches_of(model)[0].removeprefix("offset ")) if batches_of(model) else 0


def consume(broker: Broker, path: Path) -> None:
    """Learn what comes, skip what was learned, store both in one write."""
    model = load(path) if path.exists() else None
    known = 0 if model is None else offset_of(model)
    since = 0
    for batch in broker.poll():
        new = [(offset, record) for offset, record in batch if offset >= known]
        if not new:
            continue
        summary = Summary.of([record["x"] for _, record in new], [record["y"] for _, record in new])
        summary = summary.over(np.array(["down", "up"]))
        total = summary if model is None else model.summary_ + summary
        known = new[-1][0] + 1
        model = with_batches(SEFRClassifier.from_summary(total), [f"offset {known}"])
        save(model, path)  # what was learned and the offset, whole or not at all
        since += len(new)
        if since >= COMMIT:  # late on purpose: a crash before it makes rows come twice
            broker.commit(known)
            since = 0
    broker.commit(known)


def main() -> None:
    """Kill the consumer until the log is read, then compare."""
    if len(sys.argv) == 2:
        folder = Path(sys.argv[1])
        consume(Broker(folder / "log", folder / "committed"), folder / "model.sefr")
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_log(folder / "log")
        rng, kills = np.random.default_rng(1), 0
        while True:
            consumer = subprocess.Popen([sys.executable, __file__, temporary])  # noqa: S603
            if kills < 3:  # let it learn a while, then strike at any moment
                while not _grown(folder / "model.sefr", kills) and consumer.poll() is None:
                    time.sleep(0.01)
                time.sleep(rng.uniform(0, 0.05))
                consumer.send_signal(signal.SIGKILL)
            if consumer.wait() == 0:
                break
            kills += 1
            model = load(folder / "model.sefr")
            late = offset_of(model) - int((folder / "committed").read_text() or 0)
            print(f"killed at offset {offset_of(model)}; the broker will send {late} rows again")
        model = load(folder / "model.sefr")
        records = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    whole = Summary.of([record["x"] for record in records], [record["y"] for record in records])
    same = model.summary_ == whole
    verdict = "the same" if same else "ANOTHER"
    print(f"{model.summary_.n_rows:.0f} rows learned of {ROWS}; one pass without accident: {verdict}")
    if not same:
        sys.exit("rows were lost or learned twice")


def _grown(path: Path, kills: int) -> bool:
    """Say whether the consumer has learned enough since its last death to be worth killing."""
    return path.exists() and offset_of(load(path)) > (kills + 1) * ROWS // 5


if __name__ == "__main__":
    main()
