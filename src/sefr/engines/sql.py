"""Training by SQL: a query whose result is a Summary, and how it is read back.

The result has one row per class and feature::

    label, feature, place, class_rows, missing, present, origin, total, low, high

``place`` is the feature's number, ``class_rows`` the weight of the class, ``missing`` the number of its rows
without this value, ``present`` the weight of those with it, ``total`` the sum of value - origin.

With ``moments=2`` there is one column more, ``other``, empty in these rows, and one row per class and pair of
features: ``feature``, ``other``, and about the origins of the first rows ``total`` the sum of the products,
``missing`` and ``present`` the weight of the rows that lack both or have both, ``low`` the sum of the feature
over rows that lack only the other, ``high`` the sum of the other over rows that lack only the feature.

A query with a ``target`` has one column more, ``target``, which names the feature that is to be predicted.
A query with a group has one column more, ``model``, and its result is one Summary per group. The order of the
rows means nothing. One scan adds up a block of features: 256 in DuckDB, 300 in PostgreSQL, 128 in SQLite. The
query runs in the database, so only K·m rows leave it, or K·m·(m + 3) / 2.

NaN and NULL are missing values. In SQLite a text in a column of numbers is found and refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._summary.double_double import DoubleDouble
from .._summary.summary import Summary
from .._system.types import Floats, Label
from .aggregates import Aggregates, distinct_labels
from .columns import Columns
from .dialects import CARRIED, DIALECTS, FIELDS, WRITERS, ansi, carried, source_of, unlike_names
from .error import EngineError, engine_errors
from .product_sums import PairSums


@dataclass(frozen=True)
class Query:
    """What to add up: names of a table and its columns.

    ``features`` None takes every column but label and weight, and the query finds out which they are: DuckDB
    and PostgreSQL only, slower, and PostgreSQL keeps 9 digits of a column of type real. ``booleans`` are
    features of that type, which PostgreSQL does not turn into numbers by itself. ``origins`` gives a number
    near the values of a feature that lies far from zero, such as a timestamp; its distances from it are then
    added up, which loses no bits; with ``moments`` 2 the query finds such numbers itself. ``group`` is a
    column of which every value gets a model of its own. ``moments`` 2 adds up the products of any two
    features too, which are named then. ``label`` None takes all rows together, for regression: what is to be
    predicted is one of the features then, which ``target`` names in the result.
    """

    table: str
    label: str | None
    features: Sequence[str] | None = None
    weight: str | None = None
    booleans: Sequence[str] = ()
    origins: Mapping[str, float] = field(default_factory=dict)
    group: str | None = None
    moments: int = 1
    target: str | None = None

    def sql(self, dialect: str = "duckdb") -> str:
        """Return the query in a dialect: duckdb, postgresql, sqlite, ansi, or one that sqlglot writes."""
        if dialect not in (*DIALECTS, *CARRIED):
            raise ValueError(f"dialect must be one of {', '.join((*DIALECTS, *CARRIED))}, not {dialect!r}")
        others = (self.label, self.weight, self.group)
        names = [*(self.features or []), *(name for name in others if name is not None)]
        if len(set(names)) < len(names):
            raise ValueError(f"a column is named twice among label, weight and features: {names}")
        if self.features is not None and not self.features:
            raise ValueError("there are no features to add up")
        if self.label is None and self.moments != 2:
            raise ValueError("a query without a label is for regression, which needs moments=2")
        if self.target is not None and (self.label is not None or self.target not in (self.features or ())):
            raise ValueError("a target is one of the features of a query without a label")
        if self.moments not in (1, 2):
            raise ValueError(f"moments must be 1 or 2, not {self.moments!r}")
        if self.moments == 2 and self.features is None:
            raise ValueError("products of features need these by name: name the features, or the database")
        return (WRITERS[dialect](self) if dialect in DIALECTS else carried(ansi(self), dialect)) + "\n"

    def own(self, name: str) -> str:
        """Return a name of the query's own, with a beginning that no name of the user's has."""
        return self._beginning + name

    @cached_property
    def _beginning(self) -> str:
        others = (self.label or "", self.weight or "", self.group or "")
        return unlike_names((self.table, *others, *(self.features or ())))

    @property
    def source(self) -> str:
        """The table as the query names it."""
        return source_of(self.table)


def summary_of_result(
    result: Any, *, missing: str = "error", target: str | Sequence[str] | None = None
) -> Summary:
    """Return the Summary in the result of a query; see ``Summary.of_query``."""
    engine, names, rows = _rows(result)
    if "model" in names:
        raise EngineError(f"{engine}: the result has a Summary per group: read it with summaries_of_result")
    rows = list(rows)
    target = target or _named_target(engine, names, rows)
    return _of_target(engine, _summary(engine, *_cells(engine, names, rows), missing), target)


def summaries_of_result(
    result: Any, *, missing: str = "error", target: str | Sequence[str] | None = None
) -> dict[Any, Summary]:
    """Return the Summaries in the result of a query with a group, by the values of its column.

    With ``target``, the name of a feature to be predicted from the others, or a list of such names, they are
    for regression.
    """
    engine, names, rows = _rows(result)
    if "model" not in names:
        raise EngineError(f"{engine}: the result has no column 'model'; its columns are {names}")
    at = names.index("model")
    groups: dict[Any, list[Sequence[Any]]] = {}
    for row in rows:
        groups.setdefault(row[at], []).append(row)
    if not groups:
        raise EngineError(f"{engine}: the table has no rows")
    found = {}
    for group, some in groups.items():
        place, target = f"{engine}: model {group!r}", target or _named_target(engine, names, some)
        found[group] = _of_target(place, _summary(place, *_cells(engine, names, some), missing), target)
    return found


def _named_target(engine: str, names: list[str], rows: list[Sequence[Any]]) -> str | None:
    """Return the feature to be predicted that a result names; None if it names none."""
    if "target" not in names:
        return None
    found = {row[names.index("target")] for row in rows}
    if len(found) > 1 or not all(isinstance(name, str) for name in found):
        raise EngineError(f"{engine}: column 'target' must name one feature in every row")
    return found.pop() if found else None


def _of_target(place: str, summary: Summary, target: str | Sequence[str] | None) -> Summary:
    """Return the Summary that predicts one feature or more from the others; without a target, the same."""
    if target is None:
        return summary
    try:
        return summary.with_targets([target] if isinstance(target, str) else target)
    except ValueError as error:
        raise EngineError(f"{place}: {error}") from None


def _cells(
    engine: str, names: list[str], rows: Iterable[Sequence[Any]]
) -> tuple[list[list[Any]], list[tuple[str, list[Any]]] | None]:
    """Return the fields of the rows of features, and of pairs with the other's name; None without these."""
    if absent := [name for name in FIELDS if name not in names]:
        raise EngineError(f"{engine}: the result has no column {absent[0]!r}; its columns are {names}")
    at = [names.index(name) for name in FIELDS]
    if "other" not in names:
        return [[row[i] for i in at] for row in rows], None
    other, singles, pairs = names.index("other"), [], []
    for row in rows:
        fields = [row[i] for i in at]
        if row[other] in (None, ""):
            singles.append(fields)
        else:
            pairs.append((str(row[other]), fields))
    return singles, pairs


def _summary(
    engine: str,
    cells: list[list[Any]],
    pairs: list[tuple[str, list[Any]]] | None,
    missing: str,
) -> Summary:
    if not cells:
        raise EngineError(f"{engine}: the table has no rows")
    places = {str(feature): int(place) for _, feature, place, *_ in cells}
    features = sorted(places, key=places.__getitem__)
    labels = list(dict.fromkeys(cell[0] for cell in cells))
    columns = Columns(engine, "label", tuple(features), None)
    if len(cells) != len(features) * len(labels) or len({(c[0], str(c[1])) for c in cells}) != len(cells):
        raise EngineError(
            f"{engine}: the result has {len(cells)} rows, not one for each of {len(labels)} classes and "
            f"{len(features)} features"
        )
    classes, order = distinct_labels(labels, "label", engine)
    place = {labels[i]: k for k, i in enumerate(order)}
    counts = np.zeros(len(classes))
    parts = np.zeros((6, len(classes), len(features)))
    column = {name: j for j, name in enumerate(features)}
    for label, feature, _, class_rows, *values in cells:
        k, j = place[label], column[str(feature)]
        if class_rows is None or not float(class_rows) < np.inf:
            raise EngineError(f"{engine}: the weights of class {label!r} must be finite and not negative")
        counts[k] = float(class_rows)
        parts[:, k, j] = _numbers(values, str(feature), engine)
    gaps, present, origin, total, low, high = parts
    table = Aggregates(columns, classes, counts, present, gaps, total, low, high)
    table.refuse(missing)
    sums = DoubleDouble(present) * origin + DoubleDouble(total) if origin.any() else DoubleDouble(total)
    _warn_of_lost_bits(replace(table, sums=sums.head), origin)
    if pairs is None:
        return table.summary(sums)
    found = _pair_sums(engine, features, len(classes), pairs)
    return table.summary(sums, found.products(table, sums, _one_per_feature(origin)))


def _one_per_feature(origin: Floats) -> Floats:
    """Return the origin of each feature; that of a class without any value is 0."""
    largest = np.abs(origin).argmax(axis=0)
    return np.asarray(origin[largest, np.arange(origin.shape[1])])


def _pair_sums(
    engine: str, features: list[str], n_classes: int, pairs: list[tuple[str, list[Any]]]
) -> PairSums:
    """Return the sums of pairs of features, over all classes."""
    m, place = len(features), {name: j for j, name in enumerate(features)}
    found = PairSums(m)
    if len(pairs) != n_classes * m * (m + 1) // 2 or any(
        place.get(str(cell[1]), m) > place.get(other, -1) for other, cell in pairs
    ):
        raise EngineError(
            f"{engine}: the result has {len(pairs)} rows of pairs, not one for each of {n_classes} classes "
            f"and {m * (m + 1) // 2} pairs of features"
        )
    for other, (_, feature, _, _, *values) in pairs:
        i, j = place[str(feature)], place[other]
        numbers = [0.0 if value is None else float(value) for value in values]
        found.neither[i, j] += numbers[0]
        found.both[i, j] += numbers[3]
        found.first[i, j] += numbers[4]
        found.second[i, j] += numbers[5]
    return found


def _numbers(values: Sequence[Label], feature: str, engine: str) -> list[float]:
    """Return missing, present, origin, total, low, high; no value at all is no sum and no extreme."""
    numbers = []
    for value, empty in zip(values, (0.0, 0.0, 0.0, 0.0, np.inf, -np.inf), strict=True):
        if isinstance(value, str | bytes):  # SQLite keeps text in a column of numbers
            raise EngineError(f"{engine}: column {feature!r} holds {value!r}, not a number")
        numbers.append(empty if value is None else float(value))
    missing, present = numbers[:2]
    if present == 0 and missing >= 0:
        numbers[2:] = [0.0, 0.0, np.inf, -np.inf]
    return numbers


def _warn_of_lost_bits(table: Aggregates, origin: Any) -> None:
    near = [j for j in table.delicate() if not origin[:, j].any() and not _whole(table, j)]
    if near:
        name, low = table.columns.features[near[0]], table.low[:, near[0]].min()
        warnings.warn(
            f"{table.columns.engine}: column {name!r} lies far from zero, so its plain sum keeps fewer than "
            f"44 of 53 bits of what the weights are made from; ask again with its origin: {name}={low:.17g}",
            stacklevel=4,
        )


def _whole(table: Aggregates, feature: int) -> bool:
    """Say whether a sum lost nothing, as far as can be told: whole numbers below 2**53."""
    sums = table.sums[:, feature]
    ends = np.concatenate([table.low[:, feature], table.high[:, feature]])
    ends = ends[np.isfinite(ends)]
    return bool(
        (ends == np.floor(ends)).all() and (sums == np.floor(sums)).all() and (np.abs(sums) < 2.0**53).all()
    )


def _rows(result: Any) -> tuple[str, list[str], Iterable[Sequence[Any]]]:
    """Return the engine's name, the names of the columns and the rows of whatever holds a result."""
    engine = type(result).__module__.split(".")[0].lstrip("_")
    with engine_errors(engine, "read the result of the query"):
        if isinstance(getattr(result, "description", None), Sequence) and hasattr(result, "fetchall"):
            return engine, [str(column[0]) for column in result.description], result.fetchall()
        import narwhals as nw

        frame = nw.from_native(result).lazy().collect()
        return (
            str(frame.implementation),
            frame.columns,
            [tuple(None if value != value else value for value in row) for row in frame.iter_rows()],
        )
