"""Edges, categories and ferns as lists and dictionaries of plain values, as JSON holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np

from ..._system.types import Fields
from .categories import Categories
from .coder import Coder, given_coder
from .ferns import Comparison, check_interactions, given_ferns


def plain_parts(parts: Sequence[Any]) -> list[Any]:
    """Return the edges of each feature as a list, or its categories as ``{"categories": [...]}``."""
    return [
        {"categories": plain_values(part)}
        if isinstance(part, Categories)
        else np.asarray(part, dtype=np.float64).tolist()
        for part in parts
    ]


def plain_values(values: Sequence[Any]) -> list[Any]:
    """Return categories as JSON holds them: infinity, which it does not know, as ``{"float": "inf"}``."""
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    value = str(value) if isinstance(value, str) else value
    if type(value) not in (str, int, float, bool):
        raise TypeError(f"a category of type {type(value).__name__} cannot be saved; use text or numbers")
    return {"float": str(value)} if type(value) is float and not isfinite(value) else value


def values_of(plain: Any) -> list[Any]:
    """Return what ``plain_values`` was made of; ``ValueError`` for anything else."""
    if not isinstance(plain, list):
        raise ValueError("categories must be a list")
    return [_value(entry) for entry in plain]


def _value(entry: Any) -> Any:
    for infinity in (np.inf, -np.inf):
        if entry == {"float": str(infinity)}:
            return infinity
    if type(entry) not in (str, int, float, bool):
        raise ValueError("a category is neither text nor a number")
    return entry


def parts_of(plain: Any) -> list[Any]:
    """Return what ``plain_parts`` was made of; ``ValueError`` for anything else."""
    if not isinstance(plain, list):
        raise ValueError("bins must be a list with an entry per feature")
    return [_part(entry, j) for j, entry in enumerate(plain)]


def _part(entry: Any, feature: int) -> Any:
    if isinstance(entry, dict):
        try:
            return Categories(values_of(entry.get("categories") if len(entry) == 1 else None))
        except ValueError:
            raise ValueError(f"bins: feature {feature} has no list of categories") from None
    if not isinstance(entry, list) or not all(type(edge) in (int, float) for edge in entry):
        raise ValueError(f"bins: feature {feature} has no list of edges")
    return np.array(entry, dtype=np.float64)


def plain_coder(coder: Coder) -> Fields:
    """Return a coder as a dictionary."""
    ferns = None if coder.ferns is None else plain_interactions(coder.ferns.parts)
    return {"missing": coder.missing, "edges": plain_parts(coder.parts), "interactions": ferns}


def coder_of(plain: Any, n_features: int) -> Coder:
    """Return the coder that ``plain_coder`` was made of; ``ValueError`` for anything else."""
    if (
        not isinstance(plain, dict)
        or set(plain) != {"missing", "edges", "interactions"}
        or type(plain["missing"]) is not bool
    ):
        raise ValueError("bins must have edges, interactions, and whether missing values have a bin")
    coder = given_coder(parts_of(plain["edges"]), n_features, missing=plain["missing"])
    interactions = plain["interactions"]
    if interactions is None:
        return coder
    if not isinstance(interactions, list) or not interactions:
        raise ValueError("interactions must be null or a list")
    check_interactions(interactions, coder)
    return replace(coder, ferns=given_ferns(interactions, np.diff(coder.offsets)))


def plain_interactions(parts: Sequence[Sequence[Comparison]]) -> list[list[list[int]]]:
    """Return the comparisons of ferns as lists."""
    return [[[int(feature), int(number)] for feature, number in part] for part in parts]
