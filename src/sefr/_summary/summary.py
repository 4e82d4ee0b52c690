"""A Summary: all that training remembers of the rows it has seen.

For each class the number of rows and the sum of every feature; for each feature its lowest and highest value;
with second moments, for each pair of features the sum of their products. It is never larger than that,
whatever the number of rows, and it holds no row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._rows.batches import unpack_batch
from .._rows.cells import Categories, Coder, Cut
from .._rows.coding import Coding, Uncut, coding_of
from .._rows.inputs import describe_feature, read_rows
from .._rows.labelled import Labelled
from .._rows.labels import ONE_CLASS, are_alike, find_labels
from .._system.threads import thread_count
from .._system.types import Array, Bins, Fields, Floats, Indices, Interactions, Rows
from .accumulate import accumulate, multiply
from .alignment import aligned, checked_sums, count_slack
from .bytes_format import packed, unpacked
from .double_double import DoubleDouble, Totals, full, spread
from .drift import USUAL, DriftReport, Thresholds, drift
from .marginals import Marginals, marginals_of
from .parts import check_limits, checked_parts
from .products import Products, check_products

if TYPE_CHECKING:
    from .private import PrivateSummary


def score_count(n_classes: int) -> int:
    """Return how many scores a row has: one for two classes, else one per class."""
    return 1 if n_classes == 2 else n_classes


class Summary:
    """Counts and sums per class, extremes per feature. Summaries add.

    ``a + b`` is the Summary of the rows of both, ``a - b`` takes the rows of ``b`` back (the extremes stay:
    they do not subtract), ``a * factor`` makes every row count ``factor`` times. The operands may know
    different classes. Sums of integers are exact below 2**53; other sums and counts carry a second float
    (double-double) where the first is not enough. A Summary never changes.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        The labels, sorted.
    counts : ndarray of shape (K,)
        Rows of each class, by weight.
    sums : ndarray of shape (K, m)
        Sum of every feature in each class.
    present : ndarray of shape (K, m), or None
        Values that were not missing, by weight; None if none was missing.
    low, high : ndarray of shape (m,)
        Lowest and highest value of every feature.
    feature_names : tuple of str, or None
        Names of the features, where the rows had any.
    n_features, n_scores : int
        Number of features, and of scores that a row has: one for two classes, else one per class.
    coder : Coder, or None
        With bins, where features are cut: rows are then counted per cell, which is a feature and a bin of
        it, ``sums`` has a column per cell, and ``low`` and ``high`` are 0 and 1.
    coding : Uncut or Coder
        What the columns of ``sums`` are: features as they come, or the cells of the coder.
    products : Products, or None
        With ``moments=2``, the sums of products of any two features; of numbers to predict, with
        ``moments=1``, those of each feature by itself (``Marginals``).
    moments, n_targets : int
        2 if there are products of any two features, else 1; how many numbers are to be predicted, 0 for
        classes.
    tails, count_tails, present_tails : ndarray, or None
        What ``sums``, ``counts`` and ``present`` lost to rounding.

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

    __slots__ = (
        *("classes", "coding", "count_tails", "counts", "feature_names", "high", "low", "n_features"),
        *("moments", "n_scores", "n_targets", "present", "present_tails", "products", "sums", "tails"),
    )

    classes: Array
    counts: Floats
    count_tails: Floats | None
    sums: Floats
    tails: Floats | None
    present: Floats | None
    present_tails: Floats | None
    low: Floats
    high: Floats
    feature_names: tuple[str, ...] | None
    coding: Coding
    products: Products | None
    n_features: int
    n_scores: int
    moments: int
    n_targets: int

    def __init__(self) -> None:
        raise TypeError("a Summary is made by Summary.of(X, y) or Summary.from_parts(...)")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Summary never changes: {name} cannot be set")

    __delattr__ = __setattr__  # type: ignore[assignment]

    @classmethod
    def of(
        cls,
        X: Rows,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        missing: str = "error",
        bins: Bins = None,
        interactions: Interactions = None,
        moments: int = 1,
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
        bins, interactions : None, int or list, default=None
            How features are cut into bins, as for ``SEFRClassifier`` with ``scale="minmax"``.
        moments : {1, 2}
            2 adds up the products of any two features, or cells, too.
        n_jobs : int, default=None
            Threads; None is one, -1 all. The result is the same to the bit.
        """
        rows, names = read_rows(X, y, sample_weight, Cut.of(bins, "minmax", missing, interactions, moments))
        return cls.of_rows(rows, names, missing=missing, moments=moments, n_threads=thread_count(n_jobs))

    @classmethod
    def of_rows(
        cls,
        rows: Labelled,
        feature_names: Sequence[str] | None = None,
        *,
        missing: str = "error",
        moments: int = 1,
        n_threads: int = 1,
    ) -> Summary:
        """Summarise rows whose labels are coded: what ``of`` does once it knows what it was given."""
        raw, sums = accumulate(rows, 1, feature_names, missing=missing, n_threads=n_threads)
        present = None if raw.present is None else DoubleDouble(raw.present)
        totals, ends = Totals(DoubleDouble(raw.counts), sums, present), (raw.low[0], raw.high[0])
        products = multiply(rows, missing=missing, moments=moments, n_threads=n_threads)
        summary = cls.from_doubles(rows.classes, totals, ends, feature_names, rows.matrix.coding, products)
        return summary if rows.weights is None else summary.without_empty_classes()

    @classmethod
    def of_folds(
        cls,
        rows: Labelled,
        n_folds: int,
        feature_names: Sequence[str] | None = None,
        *,
        missing: str = "error",
        moments: int = 1,
        n_threads: int = 1,
    ) -> list[Summary]:
        """Summarise each fold in one pass; code f * K + k is class k of fold f, a negative one no fold."""
        raw, sums = accumulate(rows, n_folds, feature_names, missing=missing, n_threads=n_threads)
        n_classes = len(rows.classes)

        return [
            cls.from_doubles(
                rows.classes,
                Totals(
                    DoubleDouble(raw.counts[some]),
                    DoubleDouble(sums.head[some], None if sums.tail is None else sums.tail[some]),
                    None if raw.present is None else DoubleDouble(raw.present[some]),
                ),
                (raw.low[fold], raw.high[fold]),
                feature_names,
                rows.matrix.coding,
                multiply(rows, own, missing=missing, moments=moments, n_threads=n_threads),
            )
            for fold in range(n_folds)
            for own in [range(fold * n_classes, (fold + 1) * n_classes)]
            for some in [slice(own.start, own.stop)]
        ]

    @classmethod
    def from_parts(
        cls,
        *,
        classes: Any,
        feature_names: Sequence[str] | None = None,
        coder: Coder | None = None,
        products: Products | None = None,
        **parts: Any,
    ) -> Summary:
        """Build a Summary from its parts, for example those that a board or a database sends.

        Parameters
        ----------
        classes : array of shape (K,)
            Sorted and distinct.
        feature_names : list of str, default=None
            The names of the m features.
        coder : Coder, default=None
            Where the features are cut into bins; ``sums`` then has a column per cell.
        products : Products, default=None
            With second moments, the sums of products.
        **parts
            ``counts`` (K,); ``sums`` (K, m); ``low`` and ``high`` (m,), +inf and -inf for a feature never
            seen, and not for cells. Where needed: ``present`` (K, m), the count of values that were not
            missing; ``tails``, ``count_tails`` and ``present_tails``, what the others lost to rounding.
        """
        labels, arrays, coding = checked_parts(classes, feature_names, parts, coder)
        counts = DoubleDouble(arrays["counts"], arrays.get("count_tails"))
        sums = DoubleDouble(arrays["sums"], arrays.get("tails"))
        present = None
        if "present" in arrays:
            present = DoubleDouble(arrays["present"], arrays.get("present_tails"))
        ends = (arrays["low"], arrays["high"])
        if products is not None:
            check_products(products, counts.head, sums.head.shape[1])
        return cls.from_doubles(labels, Totals(counts, sums, present), ends, feature_names, coding, products)

    @classmethod
    def of_frame(
        cls,
        frame: Any,
        label: str | Sequence[str] = "y",
        features: Sequence[str] | None = None,
        weight: str | None = None,
        *,
        missing: str = "error",
        moments: int = 1,
        numbers: bool = False,
    ) -> Summary:
        """Summarise a data frame where it is: eager or lazy, on this machine, in a database or on a cluster.

        Any frame narwhals knows: pandas, Polars, pyarrow, DuckDB, Ibis, Dask, PySpark. A lazy one is added
        up by its engine, and only the Summary comes back; see :mod:`sefr.engines.frames`.

        Parameters
        ----------
        frame : data frame
            The rows.
        label, features, weight : str, list of str, str
            The columns of labels, of what to learn from (None is all others), and of weights (None: all 1).
            With ``numbers``, ``label`` may be a list of columns, all of which are predicted.
        missing : {"error", "ignore"}
            What NaN and null mean.
        moments : {1, 2}
            As for ``of``.
        numbers : bool, default=False
            Whether the labels are numbers to be predicted, by a ``SEFRRegressor``; ``moments`` is then 2.
        """
        from ..engines.frames import summary_of_frame

        return summary_of_frame(
            frame, label, features, weight, missing=missing, moments=moments, numbers=numbers
        )

    @classmethod
    def of_batches(
        cls, batches: Any, *, missing: str = "error", moments: int = 1, n_jobs: int | None = None
    ) -> Summary:
        """Summarise batches ``(X, y)`` or ``(X, y, sample_weight)``, each read once; the rest as ``of``."""
        parts = (unpack_batch(batch, number) for number, batch in enumerate(batches))
        total = sum(cls.of(*part, missing=missing, moments=moments, n_jobs=n_jobs) for part in parts)
        if not isinstance(total, Summary):
            raise ValueError("there are no batches to summarise")
        return total

    @classmethod
    def of_query(
        cls, result: Any, *, missing: str = "error", target: str | Sequence[str] | None = None
    ) -> Summary:
        """Read a Summary back from the result of the query that ``sefr sql`` prints.

        Parameters
        ----------
        result : DB-API cursor, DuckDB relation, or data frame
            What the query gave, with its column names; also read back from a CSV file.
        missing : {"error", "ignore"}
            What NULL and NaN mean.
        target : str or list of str, default=None
            With ``moments=2``, the feature, or features, that a ``SEFRRegressor`` is to predict from the
            others; None takes the one that the result names, if ``sefr sql --task regress`` made it.
        """
        from ..engines.sql import summary_of_result

        return summary_of_result(result, missing=missing, target=target)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Summary:
        """Read what ``to_bytes`` wrote; anything else, also in part or damaged, raises ``ValueError``."""
        from .private import summary_of

        return summary_of(**unpacked(data))

    def to_bytes(self) -> bytes:
        """Return this Summary as bytes, versioned and checksummed: see ``sefr/_summary/bytes_format.py``.

        >>> s = Summary.of([[1, 8], [3, 6]], ["dry", "wet"])
        >>> len(s.to_bytes()), Summary.from_bytes(s.to_bytes()) == s
        (38, True)
        """
        return packed(self)

    def compare(self, other: Summary, thresholds: Thresholds = USUAL) -> DriftReport:
        """Return what has changed from these rows to those of ``other``, and whether it is drift."""
        return drift(*aligned(self, other, "compare"), thresholds)

    def private(
        self,
        epsilon: float,
        delta: float,
        ranges: Any,
        rows_per_person: int = 1,
        most_rows: int = 1 << 20,
    ) -> PrivateSummary:
        """Return a noisy copy that may be published: see :func:`sefr._summary.private.release`."""
        from .private import release

        return release(self, epsilon, delta, ranges, rows_per_person, most_rows)

    @classmethod
    def from_doubles(
        cls,
        classes: Array,
        totals: Totals,
        ends: tuple[Floats, Floats],
        feature_names: Sequence[str] | None,
        coding: Coding,
        products: Products | None = None,
    ) -> Summary:
        """Make a Summary of parts that are known to be right; their arrays become read-only."""
        (counts, sums, present), (low, high) = totals, ends
        self = object.__new__(cls)
        put = object.__setattr__
        put(self, "classes", classes)
        put(self, "counts", counts.head)
        put(self, "count_tails", counts.tail)
        put(self, "sums", sums.head)
        put(self, "tails", sums.tail)
        put(self, "present", None if present is None else present.head)
        put(self, "present_tails", None if present is None else present.tail)
        put(self, "low", low)
        put(self, "high", high)
        put(self, "feature_names", None if feature_names is None else tuple(feature_names))
        self._complete(coding, products)
        for array in (classes, *counts, *sums, *(present or ()), low, high):
            if array is not None:
                array.flags.writeable = False
        return self

    def _complete(self, coding: Coding, products: Products | None) -> None:
        """Add what columns are, their products, and what follows from all parts."""
        put = object.__setattr__
        put(self, "coding", coding)
        put(self, "products", products)
        put(self, "n_features", coding.n_features)
        put(self, "n_scores", score_count(len(self.classes)))
        put(self, "moments", 1 if products is None else products.moments)
        put(self, "n_targets", 0 if products is None else products.n_targets)

    @property
    def double_counts(self) -> DoubleDouble:
        """Counts and their tails together."""
        return DoubleDouble(self.counts, self.count_tails)

    @property
    def double_sums(self) -> DoubleDouble:
        """Sums and tails together."""
        return DoubleDouble(self.sums, self.tails)

    @property
    def double_present(self) -> DoubleDouble | None:
        """Values present and their tails together; None if none was missing."""
        return None if self.present is None else DoubleDouble(self.present, self.present_tails)

    @property
    def totals(self) -> Totals:
        """Counts, sums and values present, with their tails."""
        return Totals(self.double_counts, self.double_sums, self.double_present)

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The lowest and the highest value of each feature."""
        return self.low, self.high

    @property
    def ranges(self) -> Floats:
        """The highest less the lowest value of each feature, 0 for one never seen."""
        return np.maximum(self.high - self.low, 0.0)

    @property
    def value_counts(self) -> DoubleDouble:
        """How many values stand behind each sum: (K, m), or (K, 1) if none was missing."""
        return self.double_present or self.double_counts.each(lambda part: part[:, None])

    @property
    def coder(self) -> Coder | None:
        """With bins, where features are cut; else None."""
        return self.coding.coder

    @property
    def categories(self) -> Mapping[int, Categories]:
        """The categories of features that have some, by their numbers."""
        return self.coding.categories

    def near_products(self) -> Products:
        """Return the products about an origin near the means of what may lie far from zero."""
        if self.products is None:
            raise ValueError("this Summary has no products")
        return self.products.near(movable=self.coding.movable)

    @property
    def n_rows(self) -> float:
        """Number of rows, by weight."""
        return float(self.counts.sum())

    def first_moments(self) -> Summary:
        """Return this Summary without the products of features."""
        if self.moments == 1:
            return self
        kept = marginals_of(self.products) if self.products is not None and self.n_targets else None
        return self.from_doubles(self.classes, self.totals, self.ends, self.feature_names, self.coding, kept)

    def over(self, classes: Array) -> Summary:
        """Return this Summary with the classes given, a superset of its own."""
        if np.array_equal(classes, self.classes):
            return self
        at = find_labels(classes, self.classes)
        return self._each(classes, lambda part: spread(part, at, len(classes)))

    def within(self, classes: Array) -> Summary:
        """Return this Summary over exactly the classes given; another class is an error."""
        unknown = find_labels(classes, self.classes) < 0
        if unknown.any():
            label = self.classes[unknown][0]
            raise ValueError(f"unknown class {label!r}: classes was given as {list(classes)}")
        return self.over(classes)

    def relabelled(self, classes: Array) -> Summary:
        """Return this Summary with other names for its classes, given in their present order."""
        order = np.argsort(classes, kind="stable")
        return self._each(classes[order], lambda part: part[order])

    def with_targets(self, targets: Sequence[str]) -> Summary:
        """Return the Summary of numbers that predicts some features from the others: for ``SEFRRegressor``.

        The rows of all classes count alike. Second moments are needed, and every row must have the targets.

        Parameters
        ----------
        targets : list of str
            The names of the features to predict, at least one; another one must be left.

        Examples
        --------
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"hour": [1, 2, 3, 4], "rain": [0, 2, 1, 0], "load": [3, 2, 7, 9]})
        >>> s = Summary.of(rows, [0, 0, 0, 0], moments=2)
        >>> s.with_targets(["load"]).feature_names
        ('hour', 'rain')
        """
        names = self.feature_names or ()
        fault = "targets are chosen among features of a Summary of moments=2, without bins"
        self.coding.refuse_cells(fault)
        if self.products is None or self.n_targets:
            raise ValueError(fault)
        for name in targets:
            if name not in names:
                raise ValueError(f"there is no feature {name!r} to predict; there are {', '.join(names)}")
        places = [names.index(name) for name in targets]
        if not 0 < len(set(places)) == len(places) < len(names):
            raise ValueError("at least one feature is predicted, once, from at least one other")
        present = self.counts[:, None] if self.present is None else self.present[:, places]
        lacking = (self.counts[:, None] - present).sum(axis=0)
        if lacking.any():
            at = int(np.argmax(lacking != 0))
            raise ValueError(f"{lacking[at]:g} rows have no {targets[at]!r}, which is to be predicted")
        own = np.setdiff1d(np.arange(len(names)), places)
        return self._of_numbers(own, self.products.with_targets(places))

    def _of_numbers(self, own: Indices, products: Products) -> Summary:
        """Return some of the features, of all classes together, with other products."""

        def some(part: DoubleDouble) -> DoubleDouble:
            return part.added().each(lambda each: np.ascontiguousarray(each[:, own]))

        counts, sums, present = self.totals
        if present is not None:
            present = some(present)
            present = None if (present.head == counts.added().head).all() else present
        totals = Totals(counts.added(), some(sums), present)
        names = [(self.feature_names or ())[j] for j in own]
        return self.from_doubles(
            ONE_CLASS, totals, (self.low[own], self.high[own]), names, Uncut(len(own)), products
        )

    def reweighted(self, weights: Floats) -> Summary:
        """Return the first moments of the rows, those of each class counting ``weights`` (K,) times.

        Products are of all classes together, so that they cannot be weighted class by class.
        """
        present = self.double_present
        with np.errstate(over="ignore"):
            counts, sums = self.double_counts * weights, self.double_sums * weights[:, None]
        check_limits(counts.head, sums.head)
        return self.from_doubles(
            self.classes,
            Totals(counts, sums, None if present is None else present * weights[:, None]),
            self.ends,
            self.feature_names,
            self.coding,
        )

    def __add__(self, other: object) -> Summary:
        if isinstance(other, int) and other == 0:  # sum() starts from 0
            return self
        if not isinstance(other, Summary):
            return NotImplemented
        a, b = aligned(self, other, "add")
        present = None
        if a.present is not None or b.present is not None:
            present = (a.value_counts + b.value_counts).each(lambda part: full(part, a.sums.shape))
        with np.errstate(over="ignore", invalid="ignore"):
            counts, sums = a.double_counts + b.double_counts, a.double_sums + b.double_sums
        check_limits(counts.head, sums.head)
        return self.from_doubles(
            a.classes,
            Totals(counts, sums, present),
            (np.minimum(a.low, b.low), np.maximum(a.high, b.high)),
            a.feature_names or b.feature_names,
            a.coding,
            None if a.products is None or b.products is None else a.products + b.products,
        )

    __radd__ = __add__

    def __sub__(self, other: object) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        a, b = aligned(self, other, "take away")
        counts = a.double_counts - b.double_counts
        slack = count_slack(a.double_counts, b.double_counts, a.counts)
        if (short := counts.head < -slack).any():
            k = int(np.argmax(short))
            few = f"only {a.counts[k]:g} were learned"
            raise ValueError(f"cannot take away {b.counts[k]:g} rows of class {a.classes[k]}: {few}")
        counts = counts.zero_where(counts.head <= slack)
        present = None
        gone = (counts.head == 0)[:, None]
        if a.present is not None or b.present is not None:
            slack = count_slack(a.value_counts, b.value_counts, a.counts[:, None])
            present = (a.value_counts - b.value_counts).each(lambda part: full(part, a.sums.shape))
            if (present.head < -slack).any():
                k, j = np.argwhere(present.head < -slack)[0]
                what = f"{describe_feature(int(j), self.feature_names)}, class {a.classes[k]}"
                raise ValueError(f"cannot take away more values of {what}, than were learned")
            present = present.zero_where(present.head <= slack)
            gone = present.head == 0
        sums = (a.double_sums - b.double_sums).zero_where(np.broadcast_to(gone, a.sums.shape))
        sums = checked_sums(a, b, sums, (present or counts.each(lambda part: part[:, None])).head)
        products = None
        if a.products is not None and b.products is not None:
            products = (a.products - b.products).left(gone=not counts.head.any())
        return self.from_doubles(
            a.classes,
            Totals(counts, sums, present),
            a.ends,
            a.feature_names or b.feature_names,
            a.coding,
            products,
        )

    def __mul__(self, factor: object) -> Summary:
        if not isinstance(factor, int | float | np.integer | np.floating) or isinstance(factor, bool):
            return NotImplemented
        factor = float(factor)
        if not 0 <= factor < np.inf:
            raise ValueError(f"a Summary can be multiplied by a number from 0 up, not by {factor!r}")
        less = self.reweighted(np.full(len(self.classes), factor))
        if self.products is None:
            return less
        products = self.products * factor
        return self.from_doubles(
            less.classes, less.totals, less.ends, less.feature_names, less.coding, products
        )

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Summary):
            return NotImplemented
        if self.classes.dtype.kind != other.classes.dtype.kind and not are_alike(self.classes, other.classes):
            return False
        if self.coder != other.coder:
            return False
        pairs = zip(self._compared(), other._compared(), strict=True)
        return all(a is b or np.array_equal(a, b) for a, b in pairs) and self.products == other.products

    __hash__ = None  # type: ignore[assignment]

    def _compared(self) -> tuple[Any, ...]:
        present, tails = self.present, self.present_tails
        if present is not None and (present == self.counts[:, None]).all():
            present = tails = None
        parts = (self.classes, self.counts, self.count_tails, self.sums, self.tails, present, tails)
        return (*(0.0 if part is None else part for part in parts), self.low, self.high, self.feature_names)

    def __repr__(self) -> str:
        what = f"{self.n_targets} targets" if self.n_targets else f"{len(self.classes)} classes"
        return f"<Summary: {self.n_rows:g} rows, {self.n_features} features, {what}>"

    def __getstate__(self) -> Fields:
        """Return plain parts, for pickle and for skops."""
        derived = {"coding", "moments", "n_features", "n_scores", "n_targets", "products"}
        state = {name: getattr(self, name) for name in self.__slots__ if name not in derived}
        products = None if self.products is None else self.products.to_plain()
        return state | {"coder": self.coder, "products": products}

    def __setstate__(self, state: Fields) -> None:
        parts = dict(state)
        coder, products = parts.pop("coder", None), parts.pop("products", None)  # there were none once
        for name, value in parts.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)
        if products is not None:
            kind = Marginals if products.get("moments", 2) == 1 else Products
            products = kind.from_plain(products)
        self._complete(coding_of(coder, len(self.low)), products)

    def without_empty_classes(self) -> Summary:
        """Return this Summary without the classes that have no rows."""
        seen = np.flatnonzero(self.counts > 0)
        if len(seen) == len(self.counts):
            return self
        return self._each(self.classes[seen], lambda part: part[seen])

    def _each(self, classes: Array, change: Callable[[Floats], Floats]) -> Summary:
        """Return a Summary of other classes, from these parts, each changed along its first axis."""
        totals = self.totals.each(change)
        return self.from_doubles(classes, totals, self.ends, self.feature_names, self.coding, self.products)
