"""A Summary from aggregates that a lazy engine computes, through narwhals: count, sum, min and max per class.

One pass over the rows suffices for ordinary data. A feature whose plain sum is not enough is asked for again:
one with NaN, which engines treat each in their own way, with NaN turned into null; one far from zero (a
timestamp), measured from its lowest value, exactly as ``Summary.of`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from .._rows.inputs import describe_feature
from .._rows.labels import encode
from .._summary.accumulate import delicate
from .._summary.double_double import DoubleDouble
from .._summary.products import Products
from .._summary.summary import Summary
from .._system.types import Array, Floats, Label
from .columns import Columns, Summing
from .error import EngineError, engine_errors
from .product_sums import products_of_lazy
from .selection import select_columns


def summary_of_lazy(frame: Any, columns: Columns, schema: Any, summing: Summing, *, at_once: int) -> Summary:
    """Return the Summary of a narwhals LazyFrame's rows, asking for some features ``at_once``."""
    if columns.numbers:
        # Targets are columns more whose products are added up, of rows of one class.
        alike = replace(columns, features=(*columns.features, *columns.targets), targets=())
        summary = summary_of_lazy(frame, alike, schema, summing, at_once=at_once)
        try:
            return summary.with_targets(columns.targets)
        except ValueError as error:
            raise EngineError(f"{columns.engine}: {error}") from None
    query = AggregateQuery(frame, columns, schema)
    m = len(columns.features)
    answer = query.ask(range(min(m, at_once)))
    if not len(answer.rows):
        raise EngineError(f"{columns.engine}: the table has no rows")
    classes, order = distinct_labels(answer.labels, columns.label, columns.engine)
    answer = answer.ordered(order)
    for start in range(at_once, m, at_once):
        more = query.ask(range(start, min(m, start + at_once))).matched(classes, columns)
        answer.refuse_other_rows(more, columns)
        answer.append(more)
    undefined = [
        int(j)
        for j in np.flatnonzero(~np.isfinite(answer.sums).all(axis=0))
        if schema[columns.features[j]].is_float()
    ]
    if undefined:
        again = query.ask(undefined, without_nan=True)
        answer = answer.with_features(undefined, again.matched(classes, columns))
    table = Aggregates(
        columns, classes, answer.counts, answer.present, answer.gaps, answer.sums, answer.low, answer.high
    )
    table.refuse(summing.missing)
    sums = DoubleDouble(table.sums)
    inexact = columns.weight is not None or any(schema[name] == nw.Float64 for name in columns.features)
    if inexact and len(delicate := table.delicate()):
        low = table.low.min(axis=0)[delicate]
        again = query.ask(delicate.tolist(), without_nan=bool(undefined), origin=low)
        moved = again.matched(classes, columns)
        answer.refuse_other_rows(moved, columns)
        sums = table.moved(delicate, low, moved.sums)
    if summing.moments == 1:
        return table.summary(sums)
    return table.summary(sums, products_of_lazy(query, table, sums, answer.rows.sum()))


def distinct_labels(labels: Sequence[Label], column: str, engine: str) -> tuple[Array, NDArray[np.intp]]:
    """Return the labels of the groups sorted, and the order that sorts them."""
    if any(label is None or label != label for label in labels):
        raise EngineError(f"{engine}: label column {column!r} has rows without a label (null or NaN)")
    array: Array = np.array(labels)
    if array.dtype.kind == "U" and any("\0" in label for label in labels):
        array = np.array(labels, dtype=object)  # numpy's own strings end at NUL
    if array.dtype.kind == "f" and (array != np.floor(array)).any():
        raise EngineError(
            f"{engine}: label column {column!r} is continuous, not a class: {array[array % 1 != 0][0]}"
        )
    try:
        classes, codes = encode(array)
    except ValueError as error:
        raise EngineError(f"{engine}: label column {column!r}: {error}") from None
    return classes, np.argsort(codes)


class AggregateRows:
    """What an engine says of some features, one row per class."""

    def __init__(self, labels: list[Label], rows: Floats, counts: Floats, features: Sequence[Floats]) -> None:
        self.labels = labels
        self.rows = rows  # rows of weight above 0
        self.counts = counts  # rows by weight
        self.gaps, self.present, self.sums, self.low, self.high = features

    def ordered(self, order: NDArray[np.intp]) -> AggregateRows:
        """Return the classes in another order."""
        features = [part[order] for part in (self.gaps, self.present, self.sums, self.low, self.high)]
        return AggregateRows([self.labels[i] for i in order], self.rows[order], self.counts[order], features)

    def matched(self, classes: Array, columns: Columns) -> AggregateRows:
        """Return the answer in the order of the classes that an earlier one had."""
        again, order = distinct_labels(self.labels, columns.label, columns.engine)
        if not np.array_equal(again, classes):
            raise EngineError(f"{columns.engine}: the rows changed between two passes over the table")
        return self.ordered(order)

    def refuse_other_rows(self, other: AggregateRows, columns: Columns) -> None:
        """Raise an error where another pass saw other rows: the table is being written to, or random."""
        if not np.array_equal(self.rows, other.rows):
            raise EngineError(f"{columns.engine}: the rows changed between two passes over the table")

    def append(self, other: AggregateRows) -> None:
        """Take over further features."""
        for name in ("gaps", "present", "sums", "low", "high"):
            setattr(self, name, np.concatenate([getattr(self, name), getattr(other, name)], axis=1))

    def with_features(self, features: Sequence[int], other: AggregateRows) -> AggregateRows:
        """Return this answer with another's in the place of some features."""
        for name in ("gaps", "present", "sums", "low", "high"):
            getattr(self, name)[:, features] = getattr(other, name)
        return self


class AggregateQuery:
    """Asks an engine for aggregates of features, each a float64 before it is added up."""

    def __init__(self, frame: Any, columns: Columns, schema: Any) -> None:
        self.frame = frame
        self.columns = columns
        self.schema = schema

    def ask(
        self, features: Sequence[int], *, without_nan: bool = False, origin: Floats | None = None
    ) -> AggregateRows:
        """Return the aggregates of some features per class; with ``origin``, of their distances from it."""
        label, weight = self.columns.label, self.columns.weight
        one_class = label in self.columns.features  # which is to be predicted
        names = [*([] if one_class else [label]), *([] if weight is None else [weight])]
        own = [*([] if one_class else ["label"]), *([] if weight is None else ["w"])]
        names += [self.columns.features[j] for j in features]
        own += [f"f{i}" for i in range(len(features))]
        values = [
            self._value(f"f{i}", self.schema[self.columns.features[j]], without_nan).alias(f"f{i}")
            for i, j in enumerate(features)
        ]
        if origin is not None:
            values = [
                (value - float(low)).alias(f"f{i}")
                for i, (value, low) in enumerate(zip(values, origin, strict=True))
            ]
        key = nw.col("label")
        if one_class:
            key = nw.lit(0).alias("label")
        elif self.schema[label] in (nw.Categorical, nw.Enum):
            key = key.cast(nw.String)
        with engine_errors(self.columns.engine, "add up the rows"):
            table = select_columns(self.frame, names, own)
            if weight is None:
                table = table.select(key, *values)
                aggregates = _plain(len(features))
            else:
                table = self._weighted(table, key, values)
                aggregates = _weighted(len(features))
            result = _collected(table.group_by("label").agg(*aggregates))
        return self._read(result, len(features))

    def add_up(
        self,
        features: Sequence[int],
        origin: Floats,
        sums: Callable[[dict[int, Any], Any], Iterable[Any]],
        *,
        without_nan: bool,
    ) -> dict[str, Any]:
        """Return sums over all rows of some features, each less its origin, and how many rows there are.

        ``sums`` makes them of the features, by their places, and of the weight, None if there is none.
        """
        weight = self.columns.weight
        names = [*([] if weight is None else [weight]), *(self.columns.features[j] for j in features)]
        own = [*([] if weight is None else ["w"]), *(f"f{j}" for j in features)]
        values = [
            self._value(f"f{j}", self.schema[self.columns.features[j]], without_nan) - float(origin[j])
            for j in features
        ]
        named = [value.alias(f"f{j}") for value, j in zip(values, features, strict=True)]
        with engine_errors(self.columns.engine, "add up the products of features"):
            table = select_columns(self.frame, names, own)
            if weight is not None:
                named.append(nw.col("w").cast(nw.Float64))
                table = table.filter(nw.col("w") > 0)
            made = sums({j: nw.col(f"f{j}") for j in features}, None if weight is None else nw.col("w"))
            result = _collected(table.select(*named).select(nw.len().alias("rows"), *made))
        return {name: result[name].to_list()[0] for name in result.columns}

    def _value(self, name: str, kind: Any, without_nan: bool) -> Any:
        if kind == nw.Boolean:
            # Not a cast of the column: DuckDB would push it into its CSV reader, which then fails on "true".
            # Whole numbers first: to PostgreSQL 1.0 is a decimal, which Ibis takes for a double already.
            yes = nw.col(name)
            number = nw.when(yes).then(nw.lit(1)).otherwise(nw.when(~yes).then(nw.lit(0)))
            return number.cast(nw.Float64)
        value = nw.col(name).cast(nw.Float64)
        if without_nan and kind.is_float():
            return nw.when(~value.is_nan()).then(value)
        return value

    def _weighted(self, table: Any, key: Any, values: list[Label]) -> Any:
        table = table.select(key, nw.col("w").cast(nw.Float64), *values)
        counted = [nw.when(nw.col("w") > 0).then(nw.col(f"f{i}")).alias(f"f{i}") for i in range(len(values))]
        table = table.select("label", "w", *counted)
        products = [
            part
            for i in range(len(values))
            for part in (
                (nw.col(f"f{i}") * nw.col("w")).alias(f"p{i}"),
                nw.when(~nw.col(f"f{i}").is_null()).then(nw.col("w")).alias(f"v{i}"),
            )
        ]
        used = nw.when(nw.col("w") > 0).then(nw.lit(1)).cast(nw.Float64).alias("used")
        return table.with_columns(used, *products)

    def _read(self, result: Any, n: int) -> AggregateRows:
        def column(name: str, empty: float) -> Floats:
            return np.array(
                [empty if v is None else float(v) for v in result[name].to_list()], dtype=np.float64
            )

        def block(prefix: str, empty: float) -> Floats:
            k = result.shape[0]
            return (
                np.stack([column(f"{prefix}{i}", empty) for i in range(n)], axis=1) if k else np.empty((0, n))
            )

        labels = result["label"].to_list()
        rows = column("rows", 0.0)
        present = block("n", 0.0)
        if self.columns.weight is None:
            counts, gaps, weights = rows, rows[:, None] - present, present
        else:
            counts, gaps, weights = column("w", 0.0), rows[:, None] - present, block("v", 0.0)
            self._check_weights(labels, column("all", 0.0), column("wn", 0.0), column("wl", 0.0), counts)
        return AggregateRows(
            labels, rows, counts, [gaps, weights, block("s", 0.0), block("l", np.inf), block("h", -np.inf)]
        )

    def _check_weights(
        self, labels: list[Label], rows: Floats, filled: Floats, low: Floats, counts: Floats
    ) -> None:
        bad = (filled < rows) | (low < 0) | ~np.isfinite(counts)
        if bad.any():
            raise EngineError(
                f"{self.columns.engine}: weight column {self.columns.weight!r} must be finite and not "
                f"negative; rows of class {labels[int(np.argmax(bad))]!r} are not"
            )


def _plain(n: int) -> list[Any]:
    return [nw.len().alias("rows")] + [
        part
        for i in range(n)
        for f in [nw.col(f"f{i}")]
        for part in (
            f.count().alias(f"n{i}"),
            f.sum().alias(f"s{i}"),
            f.min().alias(f"l{i}"),
            f.max().alias(f"h{i}"),
        )
    ]


def _weighted(n: int) -> list[Any]:
    w = nw.col("w")
    parts = [
        nw.len().alias("all"),
        nw.col("used").count().alias("rows"),
        w.count().alias("wn"),
        w.min().alias("wl"),
        w.sum().alias("w"),
    ]
    for i in range(n):
        f = nw.col(f"f{i}")
        parts += [
            f.count().alias(f"n{i}"),
            nw.col(f"v{i}").sum().alias(f"v{i}"),
            nw.col(f"p{i}").sum().alias(f"s{i}"),
        ]
        parts += [f.min().alias(f"l{i}"), f.max().alias(f"h{i}")]
    return parts


def _collected(result: Any) -> Any:
    if result.implementation.is_polars():
        return result.collect(engine="streaming")
    return result.collect()


@dataclass(frozen=True)
class Aggregates:
    """Aggregates of every class (row) and feature (column), checked, on their way to a Summary."""

    columns: Columns
    classes: Array
    counts: Floats
    present: Floats
    gaps: Floats
    sums: Floats
    low: Floats
    high: Floats

    def refuse(self, missing: str) -> None:
        """Raise an error for what ``Summary.of`` would not take either."""
        if not self.counts.any():
            raise EngineError(
                f"{self.columns.engine}: weight is zero for every row: there is nothing to learn from"
            )
        if missing == "error" and (bad := self.gaps.any(axis=0)).any():
            j = int(np.argmax(bad))
            raise EngineError(
                f"{self.columns.engine}: Input X contains NaN or null: {self.gaps[:, j].sum():g} values of "
                f"{self._name(j)}. missing='ignore' leaves such values out."
            )
        self._refuse_features((self.low == -np.inf) | (self.high == np.inf), "Input X contains infinity: {}.")
        self._refuse_features(
            ~np.isfinite(self.sums), "the values of {} are too large to be summed in float64"
        )

    def _refuse_features(self, cells: Any, words: str) -> None:
        if (bad := cells.any(axis=0)).any():
            raise EngineError(f"{self.columns.engine}: {words.format(self._name(int(np.argmax(bad))))}")

    def _name(self, feature: int) -> str:
        return describe_feature(feature, self.columns.features)

    def delicate(self) -> NDArray[np.intp]:
        """Return the features whose plain sum keeps too few bits: ``Summary.of`` asks the same."""
        total, low = self.present.sum(axis=0), self.low.min(axis=0)
        return np.flatnonzero(delicate(low, self.sums.sum(axis=0), total))

    def moved(self, features: NDArray[np.intp], origin: Floats, distances: Floats) -> DoubleDouble:
        """Return the sums, those of some features from their distances to an origin."""
        careful = DoubleDouble(np.ascontiguousarray(self.present[:, features])) * origin + DoubleDouble(
            distances
        )
        head, tail = self.sums.copy(), np.zeros_like(self.sums)
        head[:, features] = careful.head
        if careful.tail is not None:
            tail[:, features] = careful.tail
        return DoubleDouble(head, tail if tail.any() else None)

    def summary(self, sums: DoubleDouble, products: Products | None = None) -> Summary:
        """Return the Summary."""
        whole = not self.gaps.any()
        return Summary.from_parts(
            classes=self.classes,
            counts=self.counts,
            sums=sums.head,
            tails=sums.tail,
            present=None if whole else self.present,
            low=self.low.min(axis=0),
            high=self.high.max(axis=0),
            feature_names=self.columns.features,
            products=products,
        ).without_empty_classes()
