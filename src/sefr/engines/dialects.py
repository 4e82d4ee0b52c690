"""The SQL of each dialect that adds up a table: what ``Query.sql`` returns.

Every query renames the table's columns first (the label is ``sefr_label``, feature 7 is ``sefr_f7``), so that
no name of the user's can be taken for one of the query's; where the user has names that begin so, the query's
begin otherwise. It then adds up blocks of features, as many at once as the database plans well, and turns
each block's one row per class into one row per class and feature. With second moments, blocks of pairs of
features follow, made and written in the same way; products of values far from zero would lose their digits,
so the rows are read once before, for an origin of each feature that was given none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .sql import Query

# What is known of one class and feature: see ``sefr.engines.sql``.
VALUES = ("missing", "present", "origin", "total", "low", "high")
# Below this SQLite's reader of numbers is not exact.
SMALLEST_OF_SQLITE = 1e-250
FIELDS = ("label", "feature", "place", "class_rows", *VALUES)


def quoted(name: str) -> str:
    """Return a name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def source_of(table: str) -> str:
    """Return a table in quotes, unless it is more than a name: quoted already, a function, a subquery."""
    return table if any(c in table for c in "('\"") else ".".join(map(quoted, table.split(".")))


def unlike_names(names: Iterable[str]) -> str:
    """Return how a query's own names begin, so that none of the user's can be taken for one of them."""
    theirs, beginning = "\n".join(names).casefold(), "sefr_"
    while beginning in theirs:
        beginning += "_"
    return beginning


def literal(value: str) -> str:
    """Return text in single quotes."""
    return "'" + value.replace("'", "''") + "'"


def number(value: float, dialect: str = "") -> str:
    """Return a number with an exponent, which makes it a double; 17 digits give back every bit.

    SQLite reads some of those below 1e-270 wrong in the last bit: there they are quotients of larger ones.
    """
    if dialect == "sqlite" and 0 < abs(value) < SMALLEST_OF_SQLITE:
        return f"({value * 2.0**600:.16e} / {2.0**300:.16e} / {2.0**300:.16e})"
    return f"{value:.16e}"


def boolean_number(x: str) -> str:
    """Return a boolean as 1 and 0."""
    return f"CASE WHEN {x} THEN 1.0 WHEN NOT {x} THEN 0.0 END"


@dataclass(frozen=True)
class Dialect:
    """How a database spells what the queries need, and how many features it adds up at once."""

    double: Callable[[str], str]  # a column as a double, NaN as NULL
    block: int
    truth: bool = True  # whether booleans are a type of their own


DIALECTS = {
    "duckdb": Dialect(lambda x: f"nullif(CAST({x} AS DOUBLE), 'NaN'::DOUBLE)", 256),
    # 1,664 values per row of a plan, of which a feature takes five.
    "postgresql": Dialect(lambda x: f"nullif({x}::float8, 'NaN')", 300),
    # 2,000 columns per SELECT, of which a feature takes six.
    "sqlite": Dialect(
        lambda x: f"CASE typeof({x}) WHEN 'integer' THEN CAST({x} AS REAL) ELSE {x} END", 128, truth=False
    ),
    "ansi": Dialect(lambda x: f"CAST({x} AS DOUBLE)", 128),
}


class AggregateTerms:
    """The aggregates of one feature, whose values are doubles or NULL by now."""

    def __init__(self, query: Query) -> None:
        self.weight = w = None if query.weight is None else query.own("weight")
        self.class_rows = (
            "count(*)"
            if w is None
            else f"CASE WHEN count({w}) = count(*) AND min({w}) >= 0 THEN sum({w}) END"
        )

    def of(self, x: str, origin: str | None = None) -> list[str]:
        """Return what makes ``VALUES`` of a column; ``origin`` is the same in all rows of a group."""
        moved = _away(x, origin)
        near = number(0.0) if origin is None else f"max({origin})"
        w = self.weight
        if w is None:
            counts = [f"count(*) - count({x})", f"count({x})"]
            return [*counts, near, f"sum({moved})", f"min({x})", f"max({x})"]
        used = f"CASE WHEN {w} > 0 THEN {x} END"
        return [
            f"count(CASE WHEN {w} > 0 AND {x} IS NULL THEN 1 END)",
            f"coalesce(sum(CASE WHEN {x} IS NOT NULL THEN {w} END), 0)",
            near,
            f"sum({moved} * {w})",
            f"min({used})",
            f"max({used})",
        ]

    def of_pair(self, x: str, y: str, origins: tuple[str | None, str | None]) -> list[str]:
        """Return what makes ``VALUES`` of two columns: see ``sefr.engines.sql``."""
        a, b = map(_away, (x, y), origins)
        w = self.weight
        times = "" if w is None else f" * {w}"
        one = "1" if w is None else w
        return [
            f"coalesce(sum(CASE WHEN {x} IS NULL AND {y} IS NULL THEN {one} END), 0)",
            f"coalesce(sum(CASE WHEN {x} IS NOT NULL AND {y} IS NOT NULL THEN {one} END), 0)",
            number(0.0),
            f"sum({a} * {b}{times})",
            f"sum(CASE WHEN {y} IS NULL THEN {a}{times} END)",
            f"sum(CASE WHEN {x} IS NULL THEN {b}{times} END)",
        ]


def _away(x: str, origin: str | None) -> str:
    """Return the distance of a value from an origin."""
    return x if origin is None else f"({x} - {origin})"


@dataclass(frozen=True)
class Block:
    """Some of the features that a query adds up, those from place ``start`` on; or pairs with ``others``."""

    query: Query
    dialect: Dialect
    start: int
    names: Sequence[str]
    others: Sequence[str] | None = None

    @cached_property
    def columns(self) -> dict[str, str]:
        """The features that are needed, each with its name in the query."""
        needed = dict.fromkeys([*self.names, *(self.others or ())])
        return {name: self.query.own(f"f{j}") for j, name in enumerate(needed)}

    def renamed(self) -> str:
        """Return a SELECT of the columns under names of our own, features as doubles."""
        query = self.query
        kept = [f"{quoted(name)} AS {own}" for name, own in _kept(query).items()]
        if query.label is None:  # all rows are of one class
            kept.append(f"0 AS {query.own('label')}")
        kept += [f"{_double(query, self.dialect, name)} AS {own}" for name, own in self.columns.items()]
        rows = query.source
        if places := _sought(query):
            near = {name: query.own(f"near{places[name]}") for name in self.columns if name in places}
            origins, group = query.own("origins"), query.own("near_group")
            if query.group is None:
                rows += f" CROSS JOIN {origins}"
            else:  # NULL, which is a group too, equals nothing
                rows += f" LEFT JOIN {origins} ON {quoted(query.group)} = {group}"
                null = f"FROM {origins} WHERE {group} IS NULL"
                near = {name: f"coalesce({own}, (SELECT {own} {null}))" for name, own in near.items()}
            kept += [f"{own} AS {self._origin(name)}" for name, own in near.items()]
        listed = ",\n      ".join(kept)
        return f"SELECT\n      {listed}\n    FROM {rows}"

    def _origin(self, name: str) -> str | None:
        """Return the origin of a feature: a number that was given, a column, or None for 0."""
        if name in _sought(self.query):
            return self.columns[name] + "_origin"
        given = float(self.query.origins.get(name, 0.0))
        return number(given) if given else None

    def values(self) -> list[list[str]]:
        """Return the aggregates that make ``VALUES``, per feature or pair."""
        terms, columns = AggregateTerms(self.query), self.columns
        origins = {name: self._origin(name) for name in columns}
        if self.others is None:
            return [terms.of(columns[name], origins[name]) for name in self.names]
        return [
            terms.of_pair(columns[a], columns[b], (origins[a], origins[b]))
            for a, b in zip(self.names, self.others, strict=True)
        ]

    @property
    def other_names(self) -> Sequence[str] | None:
        """What the column ``other`` of the result has: None if the result has no such column."""
        if self.query.moments == 1:
            return None
        return self.others or [""] * len(self.names)

    def listed(self, start: str, end: str, cast: str = "") -> str:
        """Return a SELECT of one row per class, with a list of one value per feature for each of VALUES."""
        lists = zip(VALUES, zip(*self.values(), strict=True), strict=True)
        return self._grouped(
            f"{start}{', '.join(f'{value}{cast}' for value in values)}{end} AS {name}"
            for name, values in lists
        )

    def wide(self) -> str:
        """Return a SELECT of one row per class, with six columns per feature."""
        return self._grouped(
            f"{value} AS {name}_{j}"
            for j, values in enumerate(self.values())
            for name, value in zip(VALUES, values, strict=True)
        )

    def _grouped(self, aggregates: Iterable[str]) -> str:
        """Return a SELECT of one row per class: its keys, its rows and these aggregates."""
        columns = ",\n    ".join(aggregates)
        return f"""\
SELECT {_named_keys(self.query)}, {AggregateTerms(self.query).class_rows} AS class_rows,
    {columns}
  FROM (
    {self.renamed()}
  ) AS numbers
  GROUP BY {", ".join(_keys(self.query))}"""


def _double(query: Query, dialect: Dialect, name: str) -> str:
    """Return a feature as a double."""
    x = quoted(name)
    return boolean_number(x) if dialect.truth and name in query.booleans else dialect.double(x)


def _sought(query: Query) -> dict[str, int]:
    """Return the features whose origins the query finds itself, with their places."""
    if query.moments == 1:
        return {}
    return {name: j for j, name in enumerate(query.features or ()) if name not in query.origins}


def _origins(query: Query, dialect: Dialect) -> str:
    """Return the WITH of the origins, a row per group: the lowest value if all lie far from zero, else 0.

    It is a value of the feature, so that whole numbers stay whole.
    """
    if not (places := _sought(query)):
        return ""
    group = [] if query.group is None else [f"{quoted(query.group)} AS {query.own('near_group')}"]
    made = [
        f"CASE WHEN abs(avg({x})) > max({x}) - min({x}) THEN min({x}) ELSE {number(0.0)} END "
        f"AS {query.own(f'near{j}')}"
        for name, j in places.items()
        for x in [_double(query, dialect, name)]
    ]
    listed = ",\n    ".join([*group, *made])
    by = "" if query.group is None else f"\n  GROUP BY {quoted(query.group)}"
    return f"WITH {query.own('origins')} AS (\n  SELECT\n    {listed}\n  FROM {query.source}{by}\n)\n"


def blocks(query: Query, dialect: Dialect) -> Iterator[Block]:
    """Yield the features in blocks that the database plans well."""
    names = query.features or ()
    for start in range(0, len(names), dialect.block):
        yield Block(query, dialect, start, names[start : start + dialect.block])
    if query.moments == 2:
        pairs = list(combinations_with_replacement(names, 2))
        size = dialect.block * 4 // 5  # a pair takes one value more than a feature
        for start in range(0, len(pairs), size):
            some = pairs[start : start + size]
            yield Block(query, dialect, start, [a for a, _ in some], [b for _, b in some])


def _result(query: Query) -> tuple[str, str]:
    """Return the keys of the result, and how it is ordered."""
    keys = ", ".join(_result_keys(query))
    order = f"ORDER BY {keys}, {'other, ' if query.moments == 2 else ''}place"
    return keys if query.target is None else f"{literal(query.target)} AS target, {keys}", order


def duckdb(query: Query) -> str:
    """Return lists of values per class, unnested."""
    if query.features is None:
        return _duckdb_any(query)
    keys, order = _result(query)
    parts = [
        f"""\
SELECT {keys}, unnest([{", ".join(map(literal, block.names))}]) AS feature,{_other_list(block)}
  unnest(range({block.start}, {block.start + len(block.names)})) AS place, class_rows,
  {", ".join(f"unnest({name}) AS {name}" for name in VALUES)}
FROM (
  {block.listed("[", "]")}
)"""
        for block in blocks(query, DIALECTS["duckdb"])
    ]
    return _origins(query, DIALECTS["duckdb"]) + _joined(parts, order)


def _other_list(block: Block) -> str:
    names = block.other_names
    return "" if names is None else f"\n  unnest([{', '.join(map(literal, names))}]) AS other,"


def postgresql(query: Query) -> str:
    """Return arrays of values per class, unnested."""
    if query.features is None:
        return _postgresql_any(query)
    keys, order = _result(query)
    parts = [
        f"""\
SELECT {keys}, cell.feature, {"cell.other, " if block.other_names else ""}
  cell.place + {block.start - 1} AS place, class_rows, {", ".join(f"cell.{name}" for name in VALUES)}
FROM (
  {block.listed("ARRAY[", "]", "::float8")}
) AS class,
LATERAL unnest({_texts(block.names)}, {_texts(block.other_names) + ", " if block.other_names else ""}
  {", ".join(f"class.{name}" for name in VALUES)})
  WITH ORDINALITY AS cell(feature, {"other, " if block.other_names else ""}{", ".join(VALUES)}, place)"""
        for block in blocks(query, DIALECTS["postgresql"])
    ]
    return _origins(query, DIALECTS["postgresql"]) + _joined(parts, order)


def _texts(names: Sequence[str]) -> str:
    return f"ARRAY[{', '.join(map(literal, names))}]"


def sqlite(query: Query) -> str:
    """Return one row per class and block, joined with the block's features; each picks its values."""

    def features(block: Block) -> str:
        names = literal(json.dumps(list(block.names), ensure_ascii=False))
        if block.other_names is None:
            return f"(SELECT value AS feature, key AS place FROM json_each({names})) AS cell"
        others = literal(json.dumps(list(block.other_names), ensure_ascii=False))
        return (
            f"(SELECT own.value AS feature, beside.value AS other, own.key AS place FROM json_each({names}) "
            f"AS own JOIN json_each({others}) AS beside ON own.key = beside.key) AS cell"
        )

    return _long(query, DIALECTS["sqlite"], features)


def ansi(query: Query) -> str:
    """Return the same in words that sqlglot carries to other databases; NaN there is the user's to remove."""

    def features(block: Block) -> str:
        rows = [f"SELECT {literal(name)} AS feature, {j} AS place" for j, name in enumerate(block.names)]
        if block.other_names is not None:
            pairs = zip(rows, block.other_names, strict=True)
            rows = [f"{row}, {literal(other)} AS other" for row, other in pairs]
        return "(\n  " + "\n  UNION ALL ".join(rows) + "\n) AS cell"

    return _long(query, DIALECTS["ansi"], features)


def _long(query: Query, dialect: Dialect, features: Callable[[Block], str]) -> str:
    if query.features is None:
        raise ValueError(
            "this dialect cannot list a table's columns inside a query: name the features, or the database"
        )
    keys, order = _result(query)
    parts = []
    for block in blocks(query, dialect):
        picked = [
            f"CASE cell.place {' '.join(f'WHEN {j} THEN {value}_{j}' for j in range(len(block.names)))} END"
            f" AS {value}"
            for value in VALUES
        ]
        listed = ",\n  ".join(picked)
        parts.append(
            f"SELECT {keys}, cell.feature AS feature, {'cell.other AS other, ' if block.other_names else ''}"
            f"cell.place + {block.start} AS place, class_rows,\n"
            f"  {listed}\nFROM (\n  {block.wide()}\n) AS wide CROSS JOIN {features(block)}"
        )
    return _origins(query, dialect) + _joined(parts, order)


def _joined(parts: list[str], order: str) -> str:
    if len(parts) == 1:
        return f"{parts[0]}\n{order};"
    every = "\nUNION ALL\n".join(parts)
    return f"SELECT * FROM (\n{every}\n) AS cells\n{order};"


def _kept(query: Query) -> dict[str, str]:
    """Return the columns that are no features, each with the name that it gets."""
    roles = {"label": query.label, "weight": query.weight, "group": query.group}
    return {name: query.own(role) for role, name in roles.items() if name is not None}


def _keys(query: Query) -> list[str]:
    """Return the columns that rows are grouped by, as they are called in the query."""
    return [*([] if query.group is None else [query.own("group")]), query.own("label")]


def _named_keys(query: Query) -> str:
    """Return these columns under the names that the result has."""
    return ", ".join(f"{key} AS {name}" for key, name in zip(_keys(query), _result_keys(query), strict=True))


def _result_keys(query: Query) -> list[str]:
    return ["label"] if query.group is None else ["model", "label"]


def _of_values(query: Query) -> str:
    """Return the fields of the column of values, each with its name."""
    made = AggregateTerms(query).of(query.own("value"))
    return ",\n  ".join(f"{value} AS {name}" for value, name in zip(made, VALUES, strict=True))


def _of_cells(query: Query) -> tuple[str, str, str]:
    """Return the SELECT, GROUP BY and ORDER BY of a table of cells."""
    cell = [query.own("feature"), query.own("place")]
    select = (
        f"SELECT {_named_keys(query)}, {cell[0]} AS feature, {cell[1]} AS place, "
        f"{AggregateTerms(query).class_rows} AS class_rows,\n  {_of_values(query)}"
    )
    return select, f"GROUP BY {', '.join([*_keys(query), *cell])}", _result(query)[1]


def _duckdb_any(query: Query) -> str:
    # The columns keep their own names until they are values: those of the features are not known here.
    kept = ", ".join(map(quoted, _kept(query)))
    renamed = ", ".join(f"{quoted(name)} AS {own}" for name, own in _kept(query).items())
    feature, place, value, places, cells = map(query.own, ("feature", "place", "value", "places", "cells"))
    select, group, order = _of_cells(query)
    return f"""\
WITH {places} AS (
  SELECT column_name AS {feature}, row_number() OVER () AS {place}
  FROM (DESCRIBE SELECT * EXCLUDE ({kept}) FROM {query.source})
), {cells} AS (
  SELECT {renamed}, {feature}, {value} FROM (
    SELECT {kept}, nullif(CAST(COLUMNS(* EXCLUDE ({kept})) AS DOUBLE), 'NaN'::DOUBLE) FROM {query.source}
  ) UNPIVOT INCLUDE NULLS ({value} FOR {feature} IN (COLUMNS(* EXCLUDE ({kept}))))
)
{select}
FROM {cells} JOIN {places} USING ({feature})
{group}
{order};"""


def _postgresql_any(query: Query) -> str:
    select, group, order = _of_cells(query)
    row, cell, word, feature, place = map(query.own, ("row", "cell", "word", "feature", "place"))
    renamed = ", ".join(f"{row}.{quoted(name)} AS {own}" for name, own in _kept(query).items())
    text = f"{cell}.{word}"
    return f"""\
-- JSON keeps 9 digits of a column of type real: name the features where that matters.
{select}
FROM (
  SELECT {renamed}, {cell}.{feature}, {cell}.{place},
    nullif((CASE {text} WHEN 'true' THEN '1' WHEN 'false' THEN '0' ELSE {text} END)::float8, 'NaN')
      AS {query.own("value")}
  FROM {query.source} AS {row},
  LATERAL json_each_text(row_to_json({row}.*)) WITH ORDINALITY AS {cell}({feature}, {word}, {place})
  WHERE {cell}.{feature} NOT IN ({", ".join(map(literal, _kept(query)))})
) AS {query.own("cells")}
{group}
{order};"""


def carried(query: str, dialect: str) -> str:
    """Return an ansi query in the words of another database."""
    import sqlglot

    return str(sqlglot.transpile(query, write=dialect, pretty=True)[0]) + ";"


# Whose SQL sqlglot makes of ``ansi``.
CARRIED = ("bigquery", "clickhouse", "databricks", "mysql", "redshift", "snowflake", "spark", "trino")
WRITERS: dict[str, Callable[[Query], str]] = {
    "duckdb": duckdb,
    "postgresql": postgresql,
    "sqlite": sqlite,
    "ansi": ansi,
}
