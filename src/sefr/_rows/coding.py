"""Coding: what the columns are that rows are added up in. Features as they come, or the cells of a coder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from .._system.types import Array, Floats

if TYPE_CHECKING:
    from .cells.categories import Categories
    from .cells.coder import Coder
    from .cells.ferns import Ferns
    from .matrix import Matrix


class Coding(Protocol):
    """What sums and weights need to know of columns, whatever these are: an ``Uncut`` or a ``Coder``."""

    # Whether columns hold values of any size: these are scaled, and far from zero their products need another
    # origin. Cells are 0 and 1.
    movable: ClassVar[bool]
    # What to do if there are too many columns for the products of any two.
    remedy: ClassVar[str]

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def width(self) -> int:
        """Number of columns that are added up."""

    @property
    def categories(self) -> Mapping[int, Categories]:
        """The categories of features that have some, by their numbers."""

    @property
    def ferns(self) -> Ferns | None:
        """What looks at several features together, if anything does."""

    @property
    def coder(self) -> Coder | None:
        """Where features are cut; None if they are not."""

    def known_coder(self, what: str) -> Coder:
        """Return where features are cut, which ``what`` is of; AttributeError if they are not."""

    def refuse_cells(self, fault: str) -> None:
        """Raise an error, which is ``fault``, if columns are cells."""

    def coded(self, matrix: Matrix) -> Matrix:
        """Return rows with these columns."""

    def known_ends(self) -> dict[str, Floats]:
        """Return ``low`` and ``high`` of the columns if they are known without rows; else nothing."""

    def check_counts(self, counts: Floats, sums: Floats, present: Floats | None, rounding: float) -> None:
        """Raise an error for sums (K, width) that no rows of so many per class (K,) have in such columns."""

    def product_columns(self, *, missing: bool) -> int:
        """Return how many columns are multiplied; ``missing`` values have columns of their own, or a cell."""

    def difference_in_words(self, other: Coding, names: Sequence[str] | None) -> str:
        """Return what Summaries of these and of other columns are, and what to do about it."""


BINS_AND_NONE = "a Summary with bins and one without: one counts rows, the other adds values"


class Uncut:
    """Features as they come: one column per feature."""

    __slots__ = ("n_features",)

    movable: ClassVar[bool] = True
    remedy: ClassVar[str] = "use moments=1"
    categories: ClassVar[Mapping[int, Categories]] = {}
    ferns = None
    coder = None

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features

    @property
    def width(self) -> int:
        """Number of columns: that of features."""
        return self.n_features

    def known_coder(self, what: str) -> Coder:
        """Raise an error."""
        raise AttributeError(f"this model has no {what}: it was made with bins=None")

    def refuse_cells(self, fault: str) -> None:
        """Accept features as they come."""

    def coded(self, matrix: Matrix) -> Matrix:
        """Return the rows as they are."""
        return matrix

    def known_ends(self) -> dict[str, Floats]:
        """Return nothing: the rows say where values end."""
        return {}

    def check_counts(self, counts: Floats, sums: Floats, present: Floats | None, rounding: float) -> None:
        """Accept any sums: values have no other rule than their ends."""

    def product_columns(self, *, missing: bool) -> int:
        """Return the number of features, twice with ``missing`` values."""
        return self.n_features * (2 if missing else 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Uncut) and other.n_features == self.n_features

    __hash__ = None  # type: ignore[assignment]

    def difference_in_words(self, other: Coding, names: Sequence[str] | None) -> str:
        """Return how cells differ from these."""
        return BINS_AND_NONE


def coding_of(coder: Coder | None, n_columns: int) -> Coding:
    """Return what so many columns are: the cells of a coder, or without one features as they come."""
    return Uncut(n_columns) if coder is None else coder


def describe_feature(feature: int, names: Sequence[str] | Array | None) -> str:
    """Return "column 3" or "column 3 ('age')"."""
    return f"column {feature}" if names is None else f"column {feature} ({names[feature]!r})"
