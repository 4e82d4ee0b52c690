"""The data: the paper's five sets at hand and scikit-learn's four."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "datasets"
PAPER = ("sonar", "semeion", "waveform_5000", "cnae_9", "basehock")
SCIKIT_LEARN = ("digits", "breast_cancer", "wine", "iris")


def load(name: str) -> tuple[Any, Any]:
    """Return X, dense, and y as 0, 1, ..."""
    if name in SCIKIT_LEARN:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return X, y
    data = np.load(Path(os.environ.get("SEFR_DATA", BESIDE)) / f"{name}.npz")
    y = np.unique(data["y"], return_inverse=True)[1]
    if "X" in data:
        return data["X"].astype(np.float64), y
    X = np.zeros(tuple(data["shape"]))
    rows = np.repeat(np.arange(len(y)), np.diff(data["indptr"]))
    X[rows, data["indices"]] = data["data"]
    return X, y
