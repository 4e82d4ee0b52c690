"""Target: y as the kernels take it; labels become codes in one pass, without sorting the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import type_of_target

from .. import _native
from .._system.types import Array, Codes, Floats
from .numbers import read_numbers

# Every whole number below it is a float64.
EXACT = 2.0**53
# The classes of rows that have numbers alone: one, of all of them.
ONE_CLASS = np.zeros(1, dtype=np.int8)
ONE_CLASS.flags.writeable = False


class Target(NamedTuple):
    """The classes, the code of each row (n,), and numbers to predict (n, k); of labels k is 0."""

    classes: Array
    codes: Codes
    numbers: Floats

    @classmethod
    def of_labels(cls, y: ArrayLike) -> Target:
        """Read y as labels."""
        classes, codes = encode(y)
        return cls(classes, codes, np.empty((len(codes), 0)))

    @classmethod
    def of_numbers(cls, y: ArrayLike) -> Target:
        """Read y as numbers, one or several per row."""
        numbers = read_numbers(y)
        return cls(ONE_CLASS, np.zeros(len(numbers), dtype=np.int32), numbers)


# How a task reads y.
ReadTarget: TypeAlias = Callable[[ArrayLike], Target]


def encode(y: ArrayLike) -> tuple[Array, Codes]:
    """Return the sorted distinct labels and, for every row, the position of its label among them.

    Raises ``ValueError`` for labels that are missing, continuous, or not one per row.

    Examples
    --------
    >>> classes, codes = encode(["wet", "dry", "wet"])
    >>> classes, codes
    (array(['dry', 'wet'], dtype='<U3'), array([1, 0, 1], dtype=int32))
    """
    labels = column(y)
    codes = np.empty(len(labels), dtype=np.int32)
    kind = labels.dtype.kind
    if kind in "iub":
        values = _native.encode_integers(np.ascontiguousarray(labels), codes)
        if values is not None:
            return np.array(values, dtype=labels.dtype), codes
        return _sorted(*np.unique(labels, return_inverse=True))
    if kind == "f":
        return _sorted(*_whole_numbers(labels))
    if kind in "US":
        return _strings(labels, codes)
    if kind == "O":
        return _objects(labels, codes)
    raise ValueError(f"Unknown label type: labels of dtype {labels.dtype}; use strings, integers or booleans")


def column(y: ArrayLike) -> Array:
    """Return ``y`` as a 1-D array; say clearly when it is not one label per row."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if type(y) is not np.ndarray and hasattr(y, "toarray"):
        raise TypeError("Sparse data was passed for y, but one label per row is needed; use y.toarray()")
    labels = np.asarray(y)
    if isinstance(y, list | tuple) and labels.dtype.kind == "f" and (np.abs(labels) >= EXACT).any():
        exact = np.array(y, dtype=object)  # whole numbers beside a float, whose type would round them
        labels = labels if labels.tolist() == exact.tolist() else exact
    if not labels.dtype.isnative:
        labels = labels.astype(labels.dtype.newbyteorder("="))
    if labels.ndim == 2 and labels.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "(n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=5,
        )
        labels = labels.ravel()
    if labels.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {labels.shape} instead.")
    return labels


def are_alike(a: Array, b: Array) -> bool:
    """Say whether two sets of labels can be told apart and ordered together."""

    def kind(labels: Array) -> str:
        if labels.dtype.kind in "iuf":
            return "number"
        if labels.dtype.kind in "UO" and (labels.size == 0 or isinstance(labels[0], str)):
            return "text"
        return labels.dtype.kind

    return kind(a) == kind(b)


def union_of_labels(a: Array, b: Array) -> Array:
    """Return the labels of both, sorted: numbers of different types are compared as numbers, exactly.

    Examples
    --------
    >>> union_of_labels(np.array([2**60, 2**60 + 1]), np.array([2**60 + 1], dtype="u8"))
    array([1152921504606846976, 1152921504606846977])
    """
    if a.dtype == b.dtype or a.dtype.kind not in "iuf":
        return np.unique(np.concatenate([a, b]))
    return _numbers(sorted({*a.tolist(), *b.tolist()}), np.result_type(a, b))


def _numbers(values: list[Any], usual: np.dtype[Any]) -> Array:
    """Return numbers as an array of the usual type, or of another if that one would round them."""
    for dtype in (usual, np.dtype("i8"), np.dtype("u8")):
        with suppress(OverflowError):
            found = np.array(values, dtype=dtype)
            if found.tolist() == values:
                return found
    raise ValueError(f"labels from {min(values)!r} to {max(values)!r} have no number type in common")


def find_labels(classes: Array, labels: Array) -> NDArray[np.intp]:
    """Return the place of each label among ``classes``, which are sorted; -1 for one that is not there."""
    if labels.dtype == classes.dtype or labels.dtype.kind not in "iuf":
        at = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        return np.where(classes[at] == labels, at, -1)
    place = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([place.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def text_array(labels: list[str], n_bytes: int) -> Array:
    """Return text as an array of items of one width; refuse it if that is far above ``n_bytes``."""
    longest = max(map(len, labels), default=0)
    if 4 * longest * len(labels) > 16 * n_bytes + (1 << 20):
        raise ValueError(f"{len(labels)} labels of up to {longest} characters: too long for labels")
    return np.array(labels, dtype=str)


def _sorted(classes: Array, codes: Array) -> tuple[Array, Codes]:
    return classes, codes.astype(np.int32, copy=False)


def _whole_numbers(labels: Array) -> tuple[Array, Array]:
    if not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise ValueError(f"Input y contains NaN or infinity: row {row}.")
    if (fraction := labels != np.floor(labels)).any():
        row = int(np.flatnonzero(fraction)[0])
        raise ValueError(
            f"Unknown label type: continuous. Row {row} of y is {labels[row]}, not a class; "
            "SEFRRegressor predicts numbers."
        )
    return np.unique(labels, return_inverse=True)


def _strings(labels: Array, codes: Codes) -> tuple[Array, Codes]:
    labels = np.ascontiguousarray(labels)
    if labels.dtype.itemsize == 0:
        return labels[:1], np.zeros(len(labels), dtype=np.int32)
    first = _native.encode_bytes(labels.view(np.uint8).reshape(len(labels), labels.dtype.itemsize), codes)
    return _in_order(labels[first], codes)


def _objects(labels: Array, codes: Codes) -> tuple[Array, Codes]:
    try:
        seen = _native.encode_objects(labels, codes)
    except TypeError as error:
        raise ValueError(f"Unknown label type: {error}") from None
    if any(_missing(value) for value in seen):
        row = next(i for i, value in enumerate(labels) if _missing(value))
        raise ValueError(f"Input y contains NaN: row {row} has no label.")
    kinds = {str if isinstance(v, str) else bytes if isinstance(v, bytes) else float for v in seen}
    if len(kinds) > 1:
        names = ", ".join(sorted({type(v).__name__ for v in seen}))
        raise ValueError(f"Unknown label type: a mixture of {names}; use labels of one kind")
    if kinds <= {str, bytes}:
        distinct = np.empty(len(seen), dtype=object)
        distinct[:] = seen
        return _in_order(distinct, codes)
    numbers = np.array(seen)
    if numbers.dtype.kind in "iuf":
        numbers = _numbers(seen, numbers.dtype)
    if (kind := type_of_target(numbers)) not in {"binary", "multiclass"}:
        raise ValueError(f"Unknown label type: {kind}: {seen[0]!r}")
    return _in_order(numbers, codes)


def _missing(value: object) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True


def _in_order(distinct: Array, codes: Codes) -> tuple[Array, Codes]:
    order = np.argsort(distinct, kind="stable")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return distinct[order], rank[codes]
