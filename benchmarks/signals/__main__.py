"""Accuracy and time on sets of signals, beside MiniRocket, raw samples and seven statistics per axis.

A head is what learns from the features. RidgeClassifierCV on standardised features is that of aeon's
MiniRocketClassifier. Times are of the processor, in one thread of one run; those of a transform are of the
test part, the best of five.

    python -m benchmarks.signals [unseen] [--only TRANSFORM ...] [--heads HEAD ...]

Writes benchmarks/signals/results.csv; with the word ``unseen``, unseen.csv of the sets that nothing was
chosen on, where a transform is timed once. ``--only`` and ``--heads`` measure some, and keep the other rows.
"""

import argparse
import csv
import json
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from aeon.transformations.collection.convolution_based import MiniRocket
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.machine import commit, machine
from benchmarks.signals.learned import LearnedThresholds
from benchmarks.signals.sets import each, each_unseen
from sefr import SEFRClassifier
from sefr.device import windows
from sefr.signals import SignalFeatures

HERE = Path(__file__).parent
WIDE = {"dilations": 6, "thresholds": 4}
SECOND = "SEFR, second moments"
MOST_PRODUCTS = 2_500  # features with second moments: products of 9,996 take 800 MB and minutes to solve


class Raw:
    """The samples themselves."""

    def fit(self, X):
        """Nothing to learn."""
        return self

    def transform(self, X):
        """Return them, axis by axis."""
        return X.reshape(len(X), -1)


class Windows:
    """Seven statistics per axis (sefr.device.windows) of a whole recording, as whole numbers of 12 bits."""

    def fit(self, X):
        """Take the largest value as 11 bits and a sign."""
        self.step = np.abs(X).max() / 2047
        return self

    def transform(self, X):
        """Return the statistics."""
        codes = np.clip(np.rint(X / self.step), -32768, 32767).astype(int)
        # a recording may be longer than a window of a board: of four parts then
        parts = -(-codes.shape[2] // 1024)
        cut = [slice(k * codes.shape[2] // parts, (k + 1) * codes.shape[2] // parts) for k in range(parts)]
        rows = [[windows(x[:, c].T, c.stop - c.start)[0] for c in cut] for x in codes]
        return np.array(rows).reshape(len(X), -1)


class Rocket:
    """MiniRocket as aeon's MiniRocketClassifier has it."""

    def __init__(self, kernels):
        self.kernels = kernels

    def fit(self, X):
        """Learn the quantiles."""
        self.own = MiniRocket(n_kernels=self.kernels, random_state=0).fit(X.astype(np.float32))
        return self

    def transform(self, X):
        """Return the features."""
        return self.own.transform(X.astype(np.float32))


TRANSFORMS = {
    "MiniRocket of aeon, 10,000": lambda: Rocket(10_000),
    "MiniRocket of aeon, 2,100": lambda: Rocket(2_100),
    "MiniRocket of aeon, 336": lambda: Rocket(336),
    "SignalFeatures, 6 dilations, 4 thresholds": lambda: SignalFeatures(**WIDE),
    "SignalFeatures": SignalFeatures,
    "SignalFeatures, 2 dilations": lambda: SignalFeatures(dilations=2),
    "SignalFeatures, no statistics": lambda: SignalFeatures(statistics=False),
    "learned thresholds": LearnedThresholds,
    "learned thresholds, 6 dilations, 4 thresholds": lambda: LearnedThresholds(**WIDE),
    "raw samples": Raw,
    "seven statistics per axis": Windows,
}
HEADS = {
    "ridge": lambda: make_pipeline(
        StandardScaler(with_mean=False), RidgeClassifierCV(alphas=np.logspace(-3, 3, 10))
    ),
    SECOND: lambda: SEFRClassifier(moments=2),
    "SEFR, one pass": SEFRClassifier,
    "SEFR, ten passes": lambda: SEFRClassifier(passes=10),
}


def clocked(call, times):
    """Return the result and the shortest of some times, in seconds of the processor."""
    spent = []
    for _ in range(times):
        started = time.process_time()
        result = call()
        spent.append(time.process_time() - started)
    return result, min(spent)


UNSEEN = (
    "MiniRocket of aeon, 10,000",
    "SignalFeatures, 6 dilations, 4 thresholds",
    "SignalFeatures",
    "SignalFeatures, no statistics",
    "learned thresholds",
    "learned thresholds, 6 dilations, 4 thresholds",
    "raw samples",
)


def measured(transforms, heads, times, name, X, y, X_test, y_test):
    """Yield a row per transform and head; a transform is timed so many times."""
    for what in transforms:
        make = TRANSFORMS[what]
        transform = make().fit(X)
        transform.transform(X[:2])  # numba compiles
        F = transform.transform(X)
        F_test, spent = clocked(lambda transform=transform: transform.transform(X_test), times)
        for head in heads:
            of = HEADS[head]
            if head == SECOND and F.shape[1] > MOST_PRODUCTS:
                continue
            clf, fit_time = clocked(lambda of=of, F=F: of().fit(F, y), 1)
            yield {
                "set": name,
                "train": len(y),
                "test": len(y_test),
                "axes": X.shape[1],
                "length": X.shape[2],
                "classes": len(np.unique(y)),
                "transform": what,
                "features": F.shape[1],
                "head": head,
                "accuracy": round(clf.score(F_test, y_test), 4),
                "transform ms": round(1000 * spent, 3),
                "fit ms": round(1000 * fit_time, 2),
            }


def read_options():
    """Return what the command asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.signals")
    parser.add_argument("sets", nargs="?", choices=["unseen"])
    parser.add_argument("--only", nargs="+", choices=list(TRANSFORMS), metavar="TRANSFORM")
    parser.add_argument("--heads", nargs="+", choices=list(HEADS), metavar="HEAD", default=list(HEADS))
    return parser.parse_args()


def kept_rows(path, transforms, heads):
    """Return the rows of a file that are not measured again."""
    if not path.exists():
        return []
    with path.open() as file:
        return [
            row
            for row in csv.DictReader(file)
            if row["transform"] in TRANSFORMS
            and (row["transform"] not in transforms or row["head"] not in heads)
        ]


def write(path, rows):
    """Write rows in the order of sets, transforms and heads."""
    names = list(dict.fromkeys(row["set"] for row in rows))
    order = [names, list(TRANSFORMS), list(HEADS)]
    rows.sort(
        key=lambda row: [o.index(row[k]) for o, k in zip(order, ("set", "transform", "head"), strict=True)]
    )
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    """Measure all, or what the command names, and write as it goes."""
    warnings.simplefilter("ignore")
    options = read_options()
    unseen = options.sets == "unseen"
    transforms = options.only or (UNSEEN if unseen else list(TRANSFORMS))
    used = (
        "aeon",
        "numba",
        "numpy",
        "scikit-learn",
        *(("pyts", "seglearn", "sktime", "tslearn") if unseen else ()),
    )
    about = {"machine": machine(), "commit": commit(), **{name: version(name) for name in used}}
    (HERE / ("unseen.json" if unseen else "run.json")).write_text(json.dumps(about, indent=1) + "\n")
    path = HERE / ("unseen.csv" if unseen else "results.csv")
    rows = kept_rows(path, transforms, options.heads)
    for one in each_unseen() if unseen else each():
        rows += measured(transforms, options.heads, 1 if unseen else 5, *one)
        write(path, rows)
        print(one[0], flush=True)


if __name__ == "__main__":
    main()
