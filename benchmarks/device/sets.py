"""The data of the benchmark of learning on a board: records of bytes, to train and to test."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from .motions import records

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Split:
    """Rows to train on and rows to test with, as bytes; labels 0, 1, ..."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def uno_sample():
    """Return the authors' sample as their board saw it: 256 stored in a byte became 0."""
    folder = Path(os.environ.get("SEFR_DATA", HERE.parents[2] / "shared" / "datasets"))
    data = np.load(folder / "gisette_uno_120x119.npz")
    return data["X"].astype(np.uint8), data["y"].astype(np.uint8)


def gisette():
    """Six times 100 of the 120 rows to train and the other 20 to test: each row is tested once."""
    X, y = uno_sample()
    for fold in range(6):
        test = np.arange(len(y)) // 20 == fold
        yield Split(X[~test, :100], y[~test], X[test, :100], y[test])


def digits():
    """300 images of 8 x 8 to train, which fit the flash of an Uno, and the next 300 to test."""
    X, y = load_digits(return_X_y=True)
    X, y = np.rint(X * (255 / 16)).astype(np.uint8), y.astype(np.uint8)
    yield Split(X[:300], y[:300], X[300:600], y[300:600])


def motions():
    """Windows of 25 samples of BasicMotions: 160 to train, 160 to test, bytes by the ranges of the former."""
    (X, names), (X_test, names_test) = (records(part, 25, 25) for part in ("TRAIN", "TEST"))
    low, high = X.min(axis=0), X.max(axis=0)
    as_bytes = [
        np.clip(np.rint(255 * (part - low) / np.maximum(high - low, 1)), 0, 255).astype(np.uint8)
        for part in (X, X_test)
    ]
    classes, y = np.unique(names, return_inverse=True)
    y_test = np.searchsorted(classes, names_test)
    order = np.random.default_rng(0).permutation(len(y))  # as a perceptron wants them; to sums it is all one
    yield Split(as_bytes[0][order], y[order].astype(np.uint8), as_bytes[1], y_test.astype(np.uint8))


SETS = {"Uno sample": gisette, "digits": digits, "motions": motions}
