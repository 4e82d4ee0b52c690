"""Types that annotations share: what a caller may pass, and the arrays that are passed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]
# A label: text, a number, a boolean.
Label: TypeAlias = Any
Expression: TypeAlias = Any
Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int32]
Indices: TypeAlias = NDArray[np.int64]
# What JSON calls an object, and keyword arguments.
Fields: TypeAlias = dict[str, Any]
Names: TypeAlias = tuple[str, ...] | None
Weights: TypeAlias = ArrayLike | None
Params: TypeAlias = Mapping[str, Any]
Scale: TypeAlias = str | tuple[ArrayLike, ArrayLike] | None
ClassWeight: TypeAlias = str | Mapping[Any, float] | None
# A number, or the edges or categories of every feature.
Bins: TypeAlias = int | Sequence[Any] | None
Interactions: TypeAlias = int | Sequence[Sequence[tuple[int, int]]] | None


class Estimator(Protocol):
    """A classifier in the manner of scikit-learn."""

    def fit(self, X: Array, y: Array) -> Any: ...

    def predict(self, X: Array) -> Any: ...


class Shaped(Protocol):
    """A sparse array of SciPy's, and whatever else has rows and columns."""

    @property
    def shape(self) -> tuple[int, ...]: ...


class Frame(Protocol):
    """A dataframe, relation or query of any library that narwhals knows."""

    @property
    def columns(self) -> Any: ...


class ArrowTable(Protocol):
    """A table or record batch of Arrow's."""

    @property
    def column_names(self) -> list[str]: ...


Rows: TypeAlias = ArrayLike | Shaped | Frame | ArrowTable
