"""Contributions with names, for those who look at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._system.installation import install_line
from .._system.types import Floats
from .fitted import Fitted


def names_of_features(fitted: Fitted) -> list[str]:
    """Return a name per feature: those learned, or x0, x1, ..."""
    learned = fitted.summary.feature_names
    return [f"x{j}" for j in range(fitted.summary.n_features)] if learned is None else list(learned)


def names_of_sets(fitted: Fitted, feature_names: Sequence[str] | None = None) -> list[str]:
    """Return a name per feature, given or learned, and per set of features that interact."""
    sets, n_features = fitted.model.feature_sets, fitted.summary.n_features
    names = names_of_features(fitted) if feature_names is None else [str(name) for name in feature_names]
    if len(names) == len(sets):
        return names
    if len(names) != n_features:
        raise ValueError(f"{len(names)} feature names for {n_features} features")
    return [" × ".join(names[j] for j in members) for members in sets]


def contributions_frame(fitted: Fitted, parts: Floats, index: Any = None) -> Any:
    """Return parts (n, R, m) as a frame of pandas: a column per feature, or per class and feature."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(f"as_frame=True needs pandas: {install_line('river')}") from None
    names = names_of_sets(fitted)
    index = index if isinstance(index, pd.Index) else None
    if parts.shape[1] == 1:
        return pd.DataFrame(parts[:, 0, :], columns=names, index=index)
    columns = pd.MultiIndex.from_product([fitted.summary.classes.tolist(), names], names=["class", "feature"])
    return pd.DataFrame(parts.reshape(len(parts), -1), columns=columns, index=index)
