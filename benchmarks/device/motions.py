"""Windows on a real signal: BasicMotions, a smart watch's accelerometer and gyroscope in four activities.

The data are in the PyPI package aeon (``pip install --no-deps aeon``; the data set is of the UEA archive):
80 recordings of 100 samples, 10 per second, 6 axes; half of them to train, half to test, as published. Values
become hundredths. Writes benchmarks/device/motions.csv.
"""

import csv
import importlib.util
from pathlib import Path

import numpy as np

from sefr import SEFRClassifier
from sefr.device import Twin, simulate, windows

HERE = Path(__file__).parent
LENGTHS = ((25, 25), (50, 25), (100, 100))


def folder():
    """Return where the data lie, without importing aeon."""
    spec = importlib.util.find_spec("aeon")
    if spec is None or spec.origin is None:
        raise SystemExit("BasicMotions is in the PyPI package aeon: pip install --no-deps aeon")
    return Path(spec.origin).parent / "datasets" / "data" / "BasicMotions"


def recordings(part):
    """Return signals (recordings, samples, axes) in hundredths, and their activities."""
    lines = (folder() / f"BasicMotions_{part}.ts").read_text().splitlines()
    rows = [line.split(":") for line in lines if line and not line.startswith(("#", "@"))]
    signals = np.array([[axis.split(",") for axis in row[:-1]] for row in rows], float).transpose(0, 2, 1)
    return np.clip(np.rint(100 * signals), -32768, 32767).astype(int), np.array([row[-1] for row in rows])


def records(part, length, hop):
    """Return windows of every recording, and the activity of each."""
    signals, activities = recordings(part)
    rows = [windows(signal, length, hop) for signal in signals]
    return np.concatenate(rows), np.repeat(activities, [len(row) for row in rows])


def measured(length, hop):
    """Return accuracy on the host and on the board, and what the Uno takes to classify a window."""
    X, y = records("TRAIN", length, hop)
    X_test, y_test = records("TEST", length, hop)
    clf = SEFRClassifier().fit(X, y)
    loss = Twin(clf, input="int32").loss(X_test, y_test)
    run = simulate(clf, X_test[:20], "uno", input="int32")
    return {
        "length": length,
        "hop": hop,
        "features": X.shape[1],
        "test windows": len(y_test),
        "accuracy host": round(loss.host, 4),
        "accuracy board": round(loss.board, 4),
        "cycles to classify": round(run.per_record),
        "flash": run.flash,
        "sram": run.sram,
    }


def main():
    rows = [measured(length, hop) for length, hop in LENGTHS]
    with (HERE / "motions.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    for row in rows:
        print(row)


if __name__ == "__main__":
    main()
