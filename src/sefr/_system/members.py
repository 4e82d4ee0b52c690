"""The members of a model file: JSON that is written exactly and read with nothing else let in."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import numpy as np

from .types import Fields, Floats

EXACT = 2.0**53  # integers below it are written without a decimal point


class ModelFileError(ValueError):
    """A file that is not a model, is damaged, or comes from a newer version."""


def numbers_text(array: Floats | None) -> str:
    """Return numbers as JSON: the shortest digits that read back as the same float; null for no value."""
    if array is None:
        return "null"
    if array.ndim == 2:
        return "[\n" + ",\n".join(f"      {numbers_text(row)}" for row in array) + "\n    ]"
    values: list[float | int | None] = array.tolist()
    whole = (array == np.floor(array)) & (np.abs(array) < EXACT) & ~((array == 0) & np.signbit(array))
    for j in np.flatnonzero(whole):
        values[j] = int(array[j])
    for j in np.flatnonzero(~np.isfinite(array)):
        values[j] = None
    return json.dumps(values)


def numbers_of(values: Any, name: str, shape: tuple[int, ...], unseen: float | None = None) -> Floats:
    """Return a list of numbers, or of lists of them, as an array; nothing but numbers passes."""
    if not isinstance(values, list) or len(values) != shape[0]:
        raise ModelFileError(f"{name} must be a list of {shape[0]}")
    if len(shape) == 2:
        return np.array([numbers_of(row, name, shape[1:]) for row in values])
    allowed = {int, float} if unseen is None else {int, float, type(None)}
    if not set(map(type, values)) <= allowed:
        raise ModelFileError(f"{name} must hold numbers only")
    array = np.array(values, dtype=np.float64)  # None becomes NaN, which no number in JSON is
    if np.isinf(array).any():
        raise ModelFileError(f"{name}: a number is too large")
    return array if unseen is None else np.where(np.isnan(array), unseen, array)


def members_of(member: object, expected: tuple[str, ...], name: str) -> Fields:
    found = object_of(member, name)
    if unknown := [key for key in found if key not in expected]:
        raise ModelFileError(
            f"{name} has a member that this version does not know, {unknown[0]!r}; upgrade sefr"
        )
    if absent := [key for key in expected if key not in found]:
        raise ModelFileError(f"{name} lacks {absent[0]!r}")
    return found


def object_of(member: object, name: str) -> Fields:
    if not isinstance(member, dict):
        raise ModelFileError(f"{name} must be a JSON object")
    return member


def distinct(pairs: list[tuple[str, Any]]) -> Fields:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ModelFileError("a name occurs twice in one JSON object")
    return members


def refuse_constant(text: str) -> NoReturn:
    raise ModelFileError(f"{text} is not JSON")


def line_text(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: legal in a Python string, not in UTF-8
        text = json.dumps(value)
    return text
