"""Contributions with names, for those who look at them."""

from __future__ import annotations

from typing import Any

from .._system.installation import install_line
from .._system.types import Floats
from .fitted import Fitted


def names_of_sets(fitted: Fitted) -> list[str]:
    """Return a name per feature, and per set of features that interact."""
    sets = fitted.model.feature_sets
    learned = fitted.summary.feature_names
    names = [f"x{j}" for j in range(fitted.summary.n_features)] if learned is None else list(learned)
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
