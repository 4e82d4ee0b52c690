"""Training by SQL: a query whose result is a Summary, and how it is read back.

The result has a row for each class and feature::

    label, feature, class_rows, missing, present, origin, total, low, high

``class_rows`` is the weight of the class, ``missing`` the number of its rows without this value, ``present``
the weight of those with it, ``total`` the sum of value - origin. All of it is one scan (for SQLite, one for
every 256 features). The query runs in the database, so only K·m rows leave it.

NaN and NULL are missing values. In SQLite a text in a column of numbers is found and refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._summary.double_double import DoubleDouble
from .._summary.summary import Summary
from .aggregates import Table, distinct_labels
from .columns import Columns
from .error import EngineError, spoken_by

FIELDS = ("label", "feature", "class_rows", "missing", "present", "origin", "total", "low", "high")
# SQLite: at most 2,000 result columns and 500 terms of a UNION.
SQLITE_FEATURES = 256


@dataclass(frozen=True)
class Query:
    """What to add up: names of a table and its columns.

    ``features`` None takes every column but label and weight, and the query finds out which they are: DuckDB
    and PostgreSQL only, slower, and PostgreSQL keeps 9 digits of a column of type real. ``booleans`` are
    features of that type, which PostgreSQL does not turn into numbers by itself. ``origins`` gives a number
    near the values of a feature that lies far from zero, such as a timestamp; its distances from it are then
    added up, which loses no bits.
    """

    table: str
    label: str
    features: Sequence[str] | None = None
    weight: str | None = None
    booleans: Sequence[str] = ()
    origins: Mapping[str, float] = field(default_factory=dict)

    def sql(self, dialect: str = "duckdb") -> str:
        """Return the query in a dialect: duckdb, postgresql or sqlite."""
        if dialect not in DIALECTS:
            raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}, not {dialect!r}")
        names = [self.label, *(self.features or []), *([self.weight] if self.weight else [])]
        if len(set(names)) < len(names):
            raise ValueError(f"a column is named twice among label, weight and features: {names}")
        if self.features is not None and not self.features:
            raise ValueError("there are no features to add up")
        return DIALECTS[dialect](self) + "\n"

    @property
    def source(self) -> str:
        """The table in quotes, unless it is more than a name: quoted already, a function, a subquery."""
        if any(c in self.table for c in "('\""):
            return self.table
        return ".".join(map(quoted, self.table.split(".")))


def quoted(name: str) -> str:
    """Return a name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


class _Terms:
    """The aggregates of one feature, whose values are float64 or NULL by now."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.weight = w = None if query.weight is None else quoted(query.weight)
        self.class_rows = (
            "count(*)"
            if w is None
            else f"CASE WHEN count({w}) = count(*) AND min({w}) >= 0 THEN sum({w}) END"
        )

    def missing(self, x: str, origin: float) -> str:
        if self.weight is None:
            return f"count(*) - count({x})"
        return f"count(CASE WHEN {self.weight} > 0 AND {x} IS NULL THEN 1 END)"

    def present(self, x: str, origin: float) -> str:
        if self.weight is None:
            return f"count({x})"
        return f"coalesce(sum(CASE WHEN {x} IS NOT NULL THEN {self.weight} END), 0)"

    def origin(self, x: str, origin: float) -> str:
        return f"{origin:.16e}"  # with an exponent it is a double; 17 digits give back every bit

    def total(self, x: str, origin: float) -> str:
        moved = f"({x} - {self.origin(x, origin)})" if origin else x
        return f"sum({moved})" if self.weight is None else f"sum({moved} * {self.weight})"

    def low(self, x: str, origin: float) -> str:
        return f"min({self._used(x)})"

    def high(self, x: str, origin: float) -> str:
        return f"max({self._used(x)})"

    def _used(self, x: str) -> str:
        return x if self.weight is None else f"CASE WHEN {self.weight} > 0 THEN {x} END"

    def fields(self, name: str) -> list[str]:
        """Return what makes the fields after class_rows, in their order."""
        x, origin = quoted(name), float(self.query.origins.get(name, 0.0))
        makers = (self.missing, self.present, self.origin, self.total, self.low, self.high)
        return [make(x, origin) for make in makers]

    def of_values(self) -> str:
        """Return the fields of a column named value, each with its name."""
        return ",\n  ".join(
            f"{made} AS {name}" for made, name in zip(self.fields("value"), FIELDS[3:], strict=True)
        )


def _columns(query: Query, number: Callable[[str], str]) -> str:
    """Return label and weight as they are, and every feature as a number, for an inner SELECT."""
    kept = [quoted(query.label), *([quoted(query.weight)] if query.weight else [])]
    return ",\n    ".join([*kept, *(f"{number(name)} AS {quoted(name)}" for name in query.features or ())])


def _lists(query: Query, start: str, end: str, cast: str = "") -> str:
    """Return a list of one value a feature for each of the fields after class_rows."""
    terms = _Terms(query)
    made = [terms.fields(name) for name in query.features or ()]
    lists = zip(FIELDS[3:], zip(*made, strict=True), strict=True)
    return ",\n    ".join(
        f"{start}{', '.join(f'{v}{cast}' for v in values)}{end} AS {name}" for name, values in lists
    )


def _boolean(name: str) -> str:
    return f"CASE WHEN {quoted(name)} THEN 1.0 WHEN NOT {quoted(name)} THEN 0.0 END"


def _duckdb(query: Query) -> str:
    def number(name: str) -> str:
        if name in query.booleans:
            return _boolean(name)
        return f"nullif(CAST({quoted(name)} AS DOUBLE), 'NaN'::DOUBLE)"

    if query.features is None:
        return _duckdb_any(query)
    return f"""\
SELECT label, unnest([{", ".join(map(_text, query.features))}]) AS feature, class_rows,
  {", ".join(f"unnest({name}) AS {name}" for name in FIELDS[3:])}
FROM (
  SELECT {quoted(query.label)} AS label, {_Terms(query).class_rows} AS class_rows,
    {_lists(query, "[", "]")}
  FROM (SELECT
    {_columns(query, number)}
    FROM {query.source})
  GROUP BY {quoted(query.label)}
)
ORDER BY label;"""


def _duckdb_any(query: Query) -> str:
    kept = ", ".join(quoted(name) for name in [query.label, *([query.weight] if query.weight else [])])
    terms = _Terms(query)
    return f"""\
WITH places AS (
  SELECT column_name AS feature, row_number() OVER () AS place FROM (DESCRIBE SELECT * FROM {query.source})
), cells AS (
  FROM (SELECT {kept}, nullif(CAST(COLUMNS(* EXCLUDE ({kept})) AS DOUBLE), 'NaN'::DOUBLE) FROM {query.source})
  UNPIVOT INCLUDE NULLS (value FOR feature IN (COLUMNS(* EXCLUDE ({kept}))))
)
SELECT {quoted(query.label)} AS label, feature, {terms.class_rows} AS class_rows,
  {terms.of_values()}
FROM cells JOIN places USING (feature)
GROUP BY {quoted(query.label)}, feature, place
ORDER BY label, place;"""


def _postgresql(query: Query) -> str:
    def number(name: str) -> str:
        return _boolean(name) if name in query.booleans else f"nullif({quoted(name)}::float8, 'NaN')"

    if query.features is None:
        return _postgresql_any(query)
    return f"""\
SELECT label, cell.feature, class_rows, {", ".join(f"cell.{name}" for name in FIELDS[3:])}
FROM (
  SELECT {quoted(query.label)} AS label, {_Terms(query).class_rows} AS class_rows,
    {_lists(query, "ARRAY[", "]", "::float8")}
  FROM (SELECT
    {_columns(query, number)}
    FROM {query.source}) AS numbers
  GROUP BY {quoted(query.label)}
) AS class,
LATERAL unnest(ARRAY[{", ".join(map(_text, query.features))}], {
        ", ".join(f"class.{name}" for name in FIELDS[3:])
    }) WITH ORDINALITY AS cell(feature, {", ".join(FIELDS[3:])}, place)
ORDER BY label, cell.place;"""


def _postgresql_any(query: Query) -> str:
    kept = [query.label, *([query.weight] if query.weight else [])]
    terms = _Terms(query)
    columns = ", ".join(f"whole.{quoted(name)}" for name in kept)
    return f"""\
-- JSON keeps 9 digits of a column of type real: name the features where that matters.
SELECT {quoted(query.label)} AS label, feature, {terms.class_rows} AS class_rows,
  {terms.of_values()}
FROM (
  SELECT {columns}, feature, place,
    nullif((CASE word WHEN 'true' THEN '1' WHEN 'false' THEN '0' ELSE word END)::float8, 'NaN') AS value
  FROM {query.source} AS whole,
  LATERAL json_each_text(row_to_json(whole)) WITH ORDINALITY AS cell(feature, word, place)
  WHERE feature NOT IN ({", ".join(map(_text, kept))})
) AS cells
GROUP BY {quoted(query.label)}, feature, place
ORDER BY label, place;"""


def _sqlite(query: Query) -> str:
    if query.features is None:
        raise ValueError(
            "SQLite cannot list a table's columns inside a query: name the features, or the database"
        )
    parts, ends = [], []
    for start in range(0, len(query.features), SQLITE_FEATURES):
        block = query.features[start : start + SQLITE_FEATURES]
        parts += [_sqlite_wide(query, block, start), _sqlite_long(block, start)]
        ends.append(f"SELECT * FROM long_{start}")
    return "WITH " + ",\n".join(parts) + "\n" + "\nUNION ALL ".join(ends) + ";"


def _sqlite_wide(query: Query, block: Sequence[str], start: int) -> str:
    terms = _Terms(query)
    made = [
        f"{value} AS {name}_{j}"
        for j, feature in enumerate(block)
        for name, value in zip(FIELDS[3:], terms.fields(feature), strict=True)
    ]
    columns = ",\n    ".join([f"{quoted(query.label)} AS label", f"{terms.class_rows} AS class_rows", *made])

    def number(name: str) -> str:
        x = quoted(name)
        return f"CASE typeof({x}) WHEN 'integer' THEN CAST({x} AS REAL) ELSE {x} END"

    numbers = _columns(query, number)
    inner = f"(SELECT\n    {numbers}\n    FROM {query.source})"
    return f"wide_{start} AS (\n  SELECT {columns}\n  FROM {inner}\n  GROUP BY {quoted(query.label)}\n)"


def _sqlite_long(block: Sequence[str], start: int) -> str:
    lines = [
        f"SELECT label, {_text(feature)} AS feature, class_rows, "
        + ", ".join(f"{name}_{j} AS {name}" for name in FIELDS[3:])
        + f" FROM wide_{start}"
        for j, feature in enumerate(block)
    ]
    return f"long_{start} AS (\n  " + "\n  UNION ALL ".join(lines) + "\n)"


DIALECTS: dict[str, Callable[[Query], str]] = {
    "duckdb": _duckdb,
    "postgresql": _postgresql,
    "sqlite": _sqlite,
}


def summary_of_result(result: Any, *, missing: str = "error") -> Summary:
    """Return the Summary in the result of a query; see ``Summary.of_query``."""
    engine, names, rows = _rows(result)
    if absent := [name for name in FIELDS if name not in names]:
        raise EngineError(f"{engine}: the result has no column {absent[0]!r}; its columns are {names}")
    at = [names.index(name) for name in FIELDS]
    cells = [[row[i] for i in at] for row in rows]
    if not cells:
        raise EngineError(f"{engine}: the table has no rows")
    features = list(dict.fromkeys(str(cell[1]) for cell in cells))
    labels = list(dict.fromkeys(cell[0] for cell in cells))
    columns = Columns(engine, "label", tuple(features), None)
    if len(cells) != len(features) * len(labels) or len({(c[0], c[1]) for c in cells}) != len(cells):
        raise EngineError(
            f"{engine}: the result has {len(cells)} rows, not one for each of {len(labels)} classes and "
            f"{len(features)} features"
        )
    classes, order = distinct_labels(labels, "label", engine)
    place = {labels[i]: k for k, i in enumerate(order)}
    counts = np.zeros(len(classes))
    parts = np.zeros((6, len(classes), len(features)))
    column = {name: j for j, name in enumerate(features)}
    for label, feature, class_rows, *values in cells:
        k, j = place[label], column[str(feature)]
        if class_rows is None or not float(class_rows) < np.inf:
            raise EngineError(f"{engine}: the weights of class {label!r} must be finite and not negative")
        counts[k] = float(class_rows)
        parts[:, k, j] = _numbers(values, str(feature), engine)
    gaps, present, origin, total, low, high = parts
    table = Table(columns, classes, counts, present, gaps, total, low, high)
    table.refuse(missing)
    sums = DoubleDouble(present) * origin + DoubleDouble(total) if origin.any() else DoubleDouble(total)
    table.sums = sums.head
    _warn_of_lost_bits(table, origin)
    return table.summary(sums)


def _numbers(values: Sequence[Any], feature: str, engine: str) -> list[float]:
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


def _warn_of_lost_bits(table: Table, origin: Any) -> None:
    near = [j for j in table.delicate() if not origin[:, j].any() and not _whole(table, j)]
    if near:
        name, low = table.columns.features[near[0]], table.low[:, near[0]].min()
        warnings.warn(
            f"{table.columns.engine}: column {name!r} lies far from zero, so its plain sum keeps fewer than "
            f"44 of 53 bits of what the weights are made from; ask again with its origin: {name}={low:.17g}",
            stacklevel=4,
        )


def _whole(table: Table, feature: int) -> bool:
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
    with spoken_by(engine, "read the result of the query"):
        if isinstance(getattr(result, "description", None), Sequence) and hasattr(result, "fetchall"):
            return engine, [str(column[0]) for column in result.description], result.fetchall()
        import narwhals as nw

        frame = nw.from_native(result).lazy().collect()
        return (
            str(frame.implementation),
            frame.columns,
            [tuple(None if value != value else value for value in row) for row in frame.iter_rows()],
        )
