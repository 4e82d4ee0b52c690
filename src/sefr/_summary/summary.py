"""A Summary: all that training remembers of the rows it has seen.

For each class the number of rows and the sum of every feature; for each feature its lowest and highest value.
It is never larger than that, whatever the number of rows, and it holds no row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._rows.inputs import describe_feature, feature_names_of, labelled, matrix_of
from .._rows.matrix import Codes, Matrix, every_run
from .._system.threads import thread_count
from .accumulate import added_up
from .bytes_format import packed, unpacked
from .double_double import Twofold

Floats = NDArray[np.float64]

# The part of a count that rounding may leave over when rows are taken away.
COUNT_SLACK = 1e-9


class Summary:
    """Counts and sums per class, extremes per feature. Summaries add.

    ``a + b`` is the Summary of the rows of both, ``a - b`` takes the rows of ``b`` back (the extremes stay:
    they do not subtract), ``a * factor`` makes every row count ``factor`` times. The operands may know
    different classes. Sums of integers are exact below 2**53; other sums carry a second float where the
    first is not enough. A Summary never changes.

    Examples
    --------
    >>> a = Summary.of([[1, 8], [3, 6]], ["dry", "wet"])
    >>> b = Summary.of([[5, 7]], ["wet"])
    >>> (a + b).sums
    array([[ 1.,  8.],
           [ 8., 13.]])
    >>> (a + b) - b == a + 0 * b
    True
    """

    __slots__ = ("_classes", "_counts", "_feature_names", "_high", "_low", "_present", "_sums")

    _classes: NDArray[Any]
    _counts: Floats
    _sums: Twofold
    _present: Floats | None
    _low: Floats
    _high: Floats
    _feature_names: tuple[str, ...] | None

    def __init__(self) -> None:
        raise TypeError("a Summary is made by Summary.of(X, y) or Summary.from_parts(...)")

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        missing: str = "error",
        n_jobs: int | None = None,
    ) -> Summary:
        """Summarise rows in one pass.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows. NaN is an error, or with ``missing="ignore"`` a value that is not there.
        y : array of shape (n,)
            Labels of any kind.
        sample_weight : array of shape (n,), default=None
            How often each row counts. Weight 2 equals the row twice, weight 0 the row absent.
        missing : {"error", "ignore"}
            What NaN means.
        n_jobs : int, default=None
            Threads; None is one, -1 all. The result is the same to the bit.
        """
        rows = labelled(matrix_of(X), y, sample_weight)
        return cls.of_matrix(*rows, feature_names_of(X), missing=missing, n_threads=thread_count(n_jobs))

    @classmethod
    def of_matrix(
        cls,
        matrix: Matrix,
        classes: NDArray[Any],
        codes: Codes,
        weights: Floats | None = None,
        feature_names: Sequence[str] | None = None,
        *,
        missing: str = "error",
        n_threads: int = 1,
    ) -> Summary:
        """Summarise a matrix whose labels are coded: what ``of`` does once it knows what it was given."""
        (summary,) = cls.of_folds(
            matrix, classes, codes, weights, 1, feature_names, missing=missing, n_threads=n_threads
        )
        return summary.without_empty_classes() if weights is not None else summary

    @classmethod
    def of_folds(
        cls,
        matrix: Matrix,
        classes: NDArray[Any],
        codes: Codes,
        weights: Floats | None,
        n_folds: int,
        feature_names: Sequence[str] | None = None,
        *,
        missing: str = "error",
        n_threads: int = 1,
    ) -> list[Summary]:
        """Summarise each fold in one pass; code f * K + k is class k of fold f, a negative one no fold."""
        n_classes = len(classes)
        raw, sums = added_up(matrix, codes, weights, n_classes, n_folds, feature_names, missing, n_threads)
        return [
            cls._from(
                classes,
                raw.counts[rows],
                sums.rows(rows),
                None if raw.present is None else raw.present[rows],
                raw.low[fold],
                raw.high[fold],
                feature_names,
            )
            for fold in range(n_folds)
            for rows in [slice(fold * n_classes, (fold + 1) * n_classes)]
        ]

    @classmethod
    def from_parts(
        cls,
        *,
        classes: Any,
        counts: Any,
        sums: Any,
        low: Any,
        high: Any,
        tails: Any = None,
        present: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> Summary:
        """Build a Summary from what it consists of, such as a board or a database sends.

        ``classes`` (K,) sorted and distinct; ``counts`` (K,); ``sums`` (K, m); ``low`` and ``high`` (m,),
        +inf and -inf for a feature never seen; ``tails`` (K, m), what the sums lost to rounding, or None;
        ``present`` (K, m), the count of values that were not missing, or None.
        """
        classes = np.asarray(classes)
        arrays = _checked_parts(
            classes, feature_names, counts=counts, sums=sums, low=low, high=high, tails=tails, present=present
        )
        return cls._from(
            classes,
            arrays["counts"],
            Twofold(arrays["sums"], arrays.get("tails")),
            arrays.get("present"),
            arrays["low"],
            arrays["high"],
            feature_names,
        )

    @classmethod
    def of_frame(
        cls,
        frame: Any,
        label: str = "y",
        features: Sequence[str] | None = None,
        weight: str | None = None,
        *,
        missing: str = "error",
    ) -> Summary:
        """Summarise a data frame where it is: eager or lazy, on this machine, in a database or on a cluster.

        Any frame narwhals knows: pandas, Polars, pyarrow, DuckDB, Ibis, Dask, PySpark. A lazy one is added
        up by its engine, and only the Summary comes back; see :mod:`sefr.engines.frames`.

        Parameters
        ----------
        frame : data frame
            The rows.
        label : str, default="y"
            The column of labels.
        features : list of str, default=None
            The columns to learn from; None is all but label and weight.
        weight : str, default=None
            The column that says how often each row counts.
        missing : {"error", "ignore"}
            What NaN and null mean.
        """
        from ..engines.frames import summary_of_frame

        return summary_of_frame(frame, label, features, weight, missing=missing)

    @classmethod
    def of_query(cls, result: Any, *, missing: str = "error") -> Summary:
        """Read a Summary back from the result of the query that ``sefr sql`` prints.

        Parameters
        ----------
        result : DB-API cursor, DuckDB relation, or data frame
            What the query gave, with its column names; also read back from a CSV file.
        missing : {"error", "ignore"}
            What NULL and NaN mean.
        """
        from ..engines.sql import summary_of_result

        return summary_of_result(result, missing=missing)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Summary:
        """Read what ``to_bytes`` wrote; anything else, also in part or damaged, raises ``ValueError``."""
        return cls.from_parts(**unpacked(data))

    def to_bytes(self) -> bytes:
        """Return this Summary as bytes, versioned and checksummed: see :mod:`sefr._summary.bytes_format`.

        >>> s = Summary.of([[1, 8], [3, 6]], ["dry", "wet"])
        >>> len(s.to_bytes()), Summary.from_bytes(s.to_bytes()) == s
        (38, True)
        """
        return packed(self)

    @classmethod
    def _from(
        cls,
        classes: NDArray[Any],
        counts: Floats,
        sums: Twofold,
        present: Floats | None,
        low: Floats,
        high: Floats,
        feature_names: Sequence[str] | None,
    ) -> Summary:
        self = object.__new__(cls)
        self._classes = classes
        self._counts = counts
        self._sums = sums
        self._present = present
        self._low = low
        self._high = high
        self._feature_names = None if feature_names is None else tuple(feature_names)
        for array in (classes, counts, *sums, present, low, high):
            if array is not None:
                array.flags.writeable = False
        return self

    @property
    def classes(self) -> NDArray[Any]:
        """The labels, sorted, shape (K,)."""
        return self._classes

    @property
    def counts(self) -> Floats:
        """Rows of each class, by weight, shape (K,)."""
        return self._counts

    @property
    def sums(self) -> Floats:
        """Sum of every feature in each class, shape (K, m)."""
        return self._sums.head

    @property
    def tails(self) -> Floats | None:
        """What ``sums`` lost to rounding, shape (K, m); None if nothing."""
        return self._sums.tail

    @property
    def twofold_sums(self) -> Twofold:
        """Sums and tails together."""
        return self._sums

    @property
    def present(self) -> Floats | None:
        """Values that were not missing, by weight, shape (K, m); None if none was missing."""
        return self._present

    @property
    def low(self) -> Floats:
        """Lowest value of every feature, shape (m,)."""
        return self._low

    @property
    def high(self) -> Floats:
        """Highest value of every feature, shape (m,)."""
        return self._high

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features, where the rows had any."""
        return self._feature_names

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self._low)

    @property
    def n_rows(self) -> float:
        """Number of rows, by weight."""
        return float(self._counts.sum())

    def over(self, classes: NDArray[Any]) -> Summary:
        """Return this Summary with the classes given, a superset of its own."""
        if np.array_equal(classes, self._classes):
            return self
        at = np.searchsorted(classes, self._classes)
        return self._each(classes, lambda part: _spread(part, at, len(classes)))

    def __add__(self, other: object) -> Summary:
        if isinstance(other, int) and other == 0:  # sum() starts from 0
            return self
        if not isinstance(other, Summary):
            return NotImplemented
        a, b = self._aligned(other, "add")
        return self._from(
            a._classes,
            a._counts + b._counts,
            a._sums + b._sums,
            _both(a, b, np.add),
            np.minimum(a._low, b._low),
            np.maximum(a._high, b._high),
            a._feature_names or b._feature_names,
        )

    __radd__ = __add__

    def __sub__(self, other: object) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        a, b = self._aligned(other, "take away")
        counts = a._counts - b._counts
        slack = COUNT_SLACK * a._counts
        if (short := counts < -slack).any():
            k = int(np.argmax(short))
            raise ValueError(
                f"cannot take away {b._counts[k]:g} rows of class {a._classes[k]}: "
                f"only {a._counts[k]:g} were learned"
            )
        counts[counts <= slack] = 0
        present = _both(a, b, np.subtract)
        if present is not None:
            if (present < -slack[:, None]).any():
                k, j = np.argwhere(present < -slack[:, None])[0]
                raise ValueError(
                    f"cannot take away more values of {self._name(j)}, class {a._classes[k]}, "
                    "than were learned"
                )
            present[present <= slack[:, None]] = 0
        sums = a._sums - b._sums
        gone = (counts == 0)[:, None] if present is None else present == 0
        sums = sums.each(lambda part: np.where(gone, 0.0, part))
        return self._from(
            a._classes, counts, sums, present, a._low, a._high, a._feature_names or b._feature_names
        )

    def __mul__(self, factor: object) -> Summary:
        if not isinstance(factor, int | float | np.integer | np.floating) or isinstance(factor, bool):
            return NotImplemented
        factor = float(factor)
        if not 0 <= factor < np.inf:
            raise ValueError(f"a Summary can be multiplied by a number from 0 up, not by {factor!r}")
        return self._from(
            self._classes,
            self._counts * factor,
            self._sums * factor,
            None if self._present is None else self._present * factor,
            self._low,
            self._high,
            self._feature_names,
        )

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Summary):
            return NotImplemented
        if self._classes.dtype.kind != other._classes.dtype.kind and not _alike(
            self._classes, other._classes
        ):
            return False
        return all(
            mine is theirs or np.array_equal(_filled(mine), _filled(theirs))
            for mine, theirs in zip(self._parts(), other._parts(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def _parts(self) -> tuple[Any, ...]:
        present = self._present
        if present is not None and (present == self._counts[:, None]).all():
            present = None
        return (self._classes, self._counts, *self._sums, present, self._low, self._high, self._feature_names)

    def __repr__(self) -> str:
        return f"<Summary: {self.n_rows:g} rows, {self.n_features} features, {len(self._classes)} classes>"

    def __getstate__(self) -> dict[str, Any]:
        """Return plain parts, for pickle and for skops."""
        return {
            "classes": self._classes,
            "counts": self._counts,
            "head": self._sums.head,
            "tail": self._sums.tail,
            "present": self._present,
            "low": self._low,
            "high": self._high,
            "feature_names": self._feature_names,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        parts = dict(state)
        sums = Twofold(parts.pop("head"), parts.pop("tail"))
        other = self._from(sums=sums, **parts)
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))

    def _name(self, feature: int) -> str:
        return describe_feature(feature, self._feature_names)

    def without_empty_classes(self) -> Summary:
        """Return this Summary without the classes that have no rows."""
        seen = np.flatnonzero(self._counts > 0)
        if len(seen) == len(self._counts):
            return self
        return self._each(self._classes[seen], lambda part: part[seen])

    def every_run(self, step: int) -> Summary:
        """Return the Summary of some of the features: see :func:`sefr._rows.matrix.every_run`."""
        low, high = every_run(self._low, step), every_run(self._high, step)
        sums = self._sums.each(lambda part: every_run(part, step))
        present = None if self._present is None else every_run(self._present, step)
        return self._from(self._classes, self._counts, sums, present, low, high, None)

    def _each(self, classes: NDArray[Any], change: Callable[[Floats], Floats]) -> Summary:
        """Return a Summary of other classes, from these parts, each changed along its first axis."""
        return self._from(
            classes,
            change(self._counts),
            self._sums.each(change),
            None if self._present is None else change(self._present),
            self._low,
            self._high,
            self._feature_names,
        )

    def _aligned(self, other: Summary, verb: str) -> tuple[Summary, Summary]:
        if self.n_features != other.n_features:
            raise ValueError(
                f"cannot {verb} Summaries of {self.n_features} and {other.n_features} features: "
                "they must be the same"
            )
        mine, theirs = self._feature_names, other._feature_names
        if mine is not None and theirs is not None and mine != theirs:
            j = next(j for j in range(self.n_features) if mine[j] != theirs[j])
            raise ValueError(f"cannot {verb} Summaries of other features: {mine[j]!r} meets {theirs[j]!r}")
        if np.array_equal(self._classes, other._classes):
            return self, other
        if not _alike(self._classes, other._classes):
            raise ValueError(
                f"cannot {verb} Summaries with labels of different kinds: "
                f"{self._classes[0]!r} ({self._classes.dtype}) and "
                f"{other._classes[0]!r} ({other._classes.dtype})"
            )
        classes = np.unique(np.concatenate([self._classes, other._classes]))
        return self.over(classes), other.over(classes)


def _filled(part: Any) -> Any:
    return np.float64(0) if part is None else part


def _alike(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Say whether two sets of labels can be told apart and ordered together."""

    def kind(labels: NDArray[Any]) -> str:
        if labels.dtype.kind in "iuf":
            return "number"
        if labels.dtype.kind in "UO" and (labels.size == 0 or isinstance(labels[0], str)):
            return "text"
        return labels.dtype.kind

    return kind(a) == kind(b)


def _spread(part: Floats, at: NDArray[np.intp], n_classes: int) -> Floats:
    wide = np.zeros((n_classes, *part.shape[1:]))
    wide[at] = part
    return wide


def _both(a: Summary, b: Summary, operation: Any) -> Floats | None:
    if a._present is None and b._present is None:
        return None
    full = [s._counts[:, None] if s._present is None else s._present for s in (a, b)]
    result = operation(*full)
    return np.array(np.broadcast_to(result, (len(a._counts), a.n_features)))


def _checked_parts(
    classes: NDArray[Any], feature_names: Sequence[str] | None, **parts: Any
) -> dict[str, Floats]:
    """Return the parts as new float64 arrays, without those that are None; say what is wrong with them."""
    arrays = {name: np.array(part, dtype=np.float64) for name, part in parts.items() if part is not None}
    n_classes, n_features = len(classes), arrays["low"].size
    shapes = {"counts": (n_classes,), "low": (n_features,), "high": (n_features,)}
    for name, array in arrays.items():
        expected = shapes.get(name, (n_classes, n_features))
        if array.shape != expected:
            raise ValueError(f"{name} has shape {array.shape}, expected {expected}")
        if name not in {"low", "high"} and not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite")
    if classes.ndim != 1 or (len(classes) > 1 and not (classes[1:] > classes[:-1]).all()):
        raise ValueError("classes must be sorted and distinct")
    for name in ("counts", "present"):
        if name in arrays and (arrays[name] < 0).any():
            raise ValueError(f"{name} must not be negative")
    if np.isnan(arrays["low"]).any() or np.isnan(arrays["high"]).any():
        raise ValueError("low and high must not be NaN")
    if feature_names is not None and len(feature_names) != len(arrays["low"]):
        raise ValueError(f"{len(feature_names)} feature_names for {len(arrays['low'])} features")
    return arrays
