"""The SQL of each dialect that adds up a table: what ``Query.sql`` returns.

Every query renames the table's columns first (the label is ``sefr_label``, feature 7 is ``f7``), so that no
name of the user's can be taken for one of the query's. It then adds up blocks of features, as many at once as
the database plans well, and turns each block's one row per class into one row per class and feature.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .sql import Query

# What is known of one class and feature: see ``sefr.engines.sql``.
VALUES = ("missing", "present", "origin", "total", "low", "high")
FIELDS = ("label", "feature", "place", "class_rows", *VALUES)

LABEL, WEIGHT, GROUP = "sefr_label", "sefr_weight", "sefr_group"


def quoted(name: str) -> str:
    """Return a name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    """Return text in single quotes."""
    return "'" + value.replace("'", "''") + "'"


def number(value: float) -> str:
    """Return a number with an exponent, which makes it a double; 17 digits give back every bit."""
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


class Aggregates:
    """The aggregates of one feature, whose values are doubles or NULL by now."""

    def __init__(self, query: Query) -> None:
        self.weight = w = None if query.weight is None else WEIGHT
        self.class_rows = (
            "count(*)"
            if w is None
            else f"CASE WHEN count({w}) = count(*) AND min({w}) >= 0 THEN sum({w}) END"
        )

    def of(self, x: str, origin: float) -> list[str]:
        """Return what makes ``VALUES`` of a column."""
        moved = f"({x} - {number(origin)})" if origin else x
        w = self.weight
        if w is None:
            counts = [f"count(*) - count({x})", f"count({x})"]
            return [*counts, number(origin), f"sum({moved})", f"min({x})", f"max({x})"]
        used = f"CASE WHEN {w} > 0 THEN {x} END"
        return [
            f"count(CASE WHEN {w} > 0 AND {x} IS NULL THEN 1 END)",
            f"coalesce(sum(CASE WHEN {x} IS NOT NULL THEN {w} END), 0)",
            number(origin),
            f"sum({moved} * {w})",
            f"min({used})",
            f"max({used})",
        ]


@dataclass(frozen=True)
class Block:
    """Some of the features that a query adds up: those from place ``start`` on."""

    query: Query
    dialect: Dialect
    start: int
    names: Sequence[str]

    @property
    def keys(self) -> list[str]:
        """The columns that rows are grouped by, as they are called here."""
        return [LABEL] if self.query.group is None else [GROUP, LABEL]

    def renamed(self) -> str:
        """Return a SELECT of the columns under names of our own, features as doubles."""
        query = self.query
        kept = [f"{quoted(query.label)} AS {LABEL}"]
        if query.group is not None:
            kept.append(f"{quoted(query.group)} AS {GROUP}")
        if query.weight is not None:
            kept.append(f"{quoted(query.weight)} AS {WEIGHT}")
        for j, name in enumerate(self.names):
            x = quoted(name)
            boolean = self.dialect.truth and name in query.booleans
            kept.append(f"{boolean_number(x) if boolean else self.dialect.double(x)} AS f{j}")
        listed = ",\n      ".join(kept)
        return f"SELECT\n      {listed}\n    FROM {query.source}"

    def values(self) -> list[list[str]]:
        """Return the aggregates that make ``VALUES``, per feature."""
        terms = Aggregates(self.query)
        return [
            terms.of(f"f{j}", float(self.query.origins.get(name, 0.0))) for j, name in enumerate(self.names)
        ]

    def outer_keys(self) -> str:
        """Return the keys under the names that the result has."""
        own = {LABEL: "label", GROUP: "model"}
        return ", ".join(f"{key} AS {own[key]}" for key in self.keys)

    def listed(self, start: str, end: str, cast: str = "") -> str:
        """Return a SELECT of one row per class, with a list of one value per feature for each of VALUES."""
        lists = zip(VALUES, zip(*self.values(), strict=True), strict=True)
        columns = ",\n    ".join(
            f"{start}{', '.join(f'{value}{cast}' for value in values)}{end} AS {name}"
            for name, values in lists
        )
        return f"""\
SELECT {self.outer_keys()}, {Aggregates(self.query).class_rows} AS class_rows,
    {columns}
  FROM (
    {self.renamed()}
  ) AS numbers
  GROUP BY {", ".join(self.keys)}"""

    def wide(self) -> str:
        """Return a SELECT of one row per class, with six columns per feature."""
        made = [
            f"{value} AS {name}_{j}"
            for j, values in enumerate(self.values())
            for name, value in zip(VALUES, values, strict=True)
        ]
        columns = ",\n    ".join(
            [self.outer_keys(), f"{Aggregates(self.query).class_rows} AS class_rows", *made]
        )
        return f"""\
SELECT {columns}
  FROM (
    {self.renamed()}
  ) AS numbers
  GROUP BY {", ".join(self.keys)}"""


def blocks(query: Query, dialect: Dialect) -> Iterator[Block]:
    """Yield the features in blocks that the database plans well."""
    names = query.features or ()
    for start in range(0, len(names), dialect.block):
        yield Block(query, dialect, start, names[start : start + dialect.block])


def _result(query: Query) -> tuple[str, str]:
    """Return the keys of the result, and how it is ordered."""
    keys = "label" if query.group is None else "model, label"
    return keys, f"ORDER BY {keys}, place"


def duckdb(query: Query) -> str:
    """Return lists of values per class, unnested."""
    if query.features is None:
        return _duckdb_any(query)
    keys, order = _result(query)
    parts = [
        f"""\
SELECT {keys}, unnest([{", ".join(map(literal, block.names))}]) AS feature,
  unnest(range({block.start}, {block.start + len(block.names)})) AS place, class_rows,
  {", ".join(f"unnest({name}) AS {name}" for name in VALUES)}
FROM (
  {block.listed("[", "]")}
)"""
        for block in blocks(query, DIALECTS["duckdb"])
    ]
    return _joined(parts, order)


def postgresql(query: Query) -> str:
    """Return arrays of values per class, unnested."""
    if query.features is None:
        return _postgresql_any(query)
    keys, order = _result(query)
    parts = [
        f"""\
SELECT {keys}, cell.feature, cell.place + {block.start - 1} AS place, class_rows,
  {", ".join(f"cell.{name}" for name in VALUES)}
FROM (
  {block.listed("ARRAY[", "]", "::float8")}
) AS class,
LATERAL unnest(ARRAY[{", ".join(map(literal, block.names))}],
  {", ".join(f"class.{name}" for name in VALUES)})
  WITH ORDINALITY AS cell(feature, {", ".join(VALUES)}, place)"""
        for block in blocks(query, DIALECTS["postgresql"])
    ]
    return _joined(parts, order)


def sqlite(query: Query) -> str:
    """Return one row per class and block, joined with the block's features; each picks its values."""

    def features(block: Block) -> str:
        names = literal(json.dumps(list(block.names), ensure_ascii=False))
        return f"(SELECT value AS feature, key AS place FROM json_each({names})) AS cell"

    return _long(query, DIALECTS["sqlite"], features)


def ansi(query: Query) -> str:
    """Return the same in words that sqlglot carries to other databases; NaN there is the user's to remove."""

    def features(block: Block) -> str:
        rows = [f"SELECT {literal(name)} AS feature, {j} AS place" for j, name in enumerate(block.names)]
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
            f"SELECT {keys}, cell.feature AS feature, cell.place + {block.start} AS place, class_rows,\n"
            f"  {listed}\nFROM (\n  {block.wide()}\n) AS wide CROSS JOIN {features(block)}"
        )
    return _joined(parts, order)


def _union(parts: Sequence[str]) -> str:
    return "\nUNION ALL\n".join(parts)


def _joined(parts: list[str], order: str) -> str:
    if len(parts) == 1:
        return f"{parts[0]}\n{order};"
    return f"SELECT * FROM (\n{_union(parts)}\n) AS cells\n{order};"


def _kept(query: Query) -> list[str]:
    return [
        query.label,
        *([query.weight] if query.weight is not None else []),
        *([query.group] if query.group is not None else []),
    ]


def _renamed_kept(query: Query, table: str = "") -> str:
    own = [
        LABEL,
        *([WEIGHT] if query.weight is not None else []),
        *([GROUP] if query.group is not None else []),
    ]
    return ", ".join(
        f"{table}{quoted(name)} AS {alias}" for name, alias in zip(_kept(query), own, strict=True)
    )


def _of_values(query: Query) -> str:
    """Return the fields of a column named sefr_value, each with its name."""
    made = Aggregates(query).of("sefr_value", 0.0)
    return ",\n  ".join(f"{value} AS {name}" for value, name in zip(made, VALUES, strict=True))


def _of_cells(query: Query) -> tuple[str, str, str]:
    """Return the SELECT, GROUP BY and ORDER BY of a table of cells."""
    keys = [LABEL] if query.group is None else [GROUP, LABEL]
    own = {LABEL: "label", GROUP: "model"}
    named = ", ".join(f"{key} AS {own[key]}" for key in keys)
    select = (
        f"SELECT {named}, sefr_feature AS feature, sefr_place AS place, "
        f"{Aggregates(query).class_rows} AS class_rows,\n  {_of_values(query)}"
    )
    return select, f"GROUP BY {', '.join(keys)}, sefr_feature, sefr_place", _result(query)[1]


def _duckdb_any(query: Query) -> str:
    kept = ", ".join(map(quoted, _kept(query)))
    own = _renamed_kept(query)
    aliases = ", ".join(part.rsplit(" AS ", 1)[1] for part in own.split(", "))
    select, group, order = _of_cells(query)
    return f"""\
WITH sefr_places AS (
  SELECT column_name AS sefr_feature, row_number() OVER () AS sefr_place
  FROM (DESCRIBE SELECT * EXCLUDE ({kept}) FROM {query.source})
), sefr_cells AS (
  FROM (
    SELECT {own}, nullif(CAST(COLUMNS(* EXCLUDE ({kept})) AS DOUBLE), 'NaN'::DOUBLE) FROM {query.source}
  ) UNPIVOT INCLUDE NULLS (sefr_value FOR sefr_feature IN (COLUMNS(* EXCLUDE ({aliases}))))
)
{select}
FROM sefr_cells JOIN sefr_places USING (sefr_feature)
{group}
{order};"""


def _postgresql_any(query: Query) -> str:
    select, group, order = _of_cells(query)
    word = "sefr_cell.sefr_word"
    return f"""\
-- JSON keeps 9 digits of a column of type real: name the features where that matters.
{select}
FROM (
  SELECT {_renamed_kept(query, "sefr_row.")}, sefr_cell.sefr_feature, sefr_cell.sefr_place,
    nullif((CASE {word} WHEN 'true' THEN '1' WHEN 'false' THEN '0' ELSE {word} END)::float8, 'NaN')
      AS sefr_value
  FROM {query.source} AS sefr_row,
  LATERAL json_each_text(row_to_json(sefr_row)) WITH ORDINALITY
    AS sefr_cell(sefr_feature, sefr_word, sefr_place)
  WHERE sefr_cell.sefr_feature NOT IN ({", ".join(map(literal, _kept(query)))})
) AS sefr_cells
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
