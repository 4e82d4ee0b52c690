"""Linear regression as one query: a row per group with the intercept and a coefficient per feature.

The database reads the rows twice: for the means, and for the sums of products about them, so that values far
from zero lose no digits. The normal equations are then solved in the query, by elimination, a step per
feature, each a common table expression of one row per group. Rows without a label or a feature are left out,
as regr_slope and its like do.

With ``ridge`` the sum of squares is minimised plus that number times the sum of the squared coefficients, the
intercept free: scikit-learn's ``Ridge(alpha)``. Without it, a feature that those before it determine has no
coefficient (NULL), and counts as 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from .dialects import DIALECTS, boolean_number, number, quoted, source_of, unlike_names

# The most features: DuckDB then takes some seconds to plan the query; for twice as many, a minute.
MOST_FEATURES = 32
# A feature of which the features before it leave less than this share of its variance is determined by them.
DETERMINED = 1e-10
SOLVED = ("duckdb", "postgresql", "sqlite")


@dataclass(frozen=True)
class RegressionQuery:
    """What to regress: ``label`` on ``features``, of all rows or per value of ``group``.

    The result has the column of the group, ``rows``, ``intercept``, the last two after ``prefix``, and a
    column per feature under its name.
    """

    table: str
    label: str
    features: Sequence[str]
    weight: str | None = None
    booleans: Sequence[str] = ()
    group: str | None = None
    ridge: float = 0.0
    prefix: str = ""

    def sql(self, dialect: str = "duckdb") -> str:
        """Return the query in a dialect: duckdb, postgresql or sqlite."""
        if dialect not in SOLVED:
            raise ValueError(f"coefficients are computed in {', '.join(SOLVED)}, not in {dialect}")
        names = [
            *self.features,
            *(name for name in (self.label, self.weight, self.group) if name is not None),
        ]
        if len(set(names)) < len(names):
            raise ValueError(f"a column is named twice among label, weight and features: {names}")
        if not 0 < len(self.features) <= MOST_FEATURES:
            raise ValueError(
                f"{len(self.features):,} features, but a query solves 1 to {MOST_FEATURES}: --task regress "
                "prints the query of the sums, which sefr train --from-query solves"
            )
        if not 0 <= self.ridge < float("inf"):
            raise ValueError(f"the ridge penalty must be a number from 0 up, not {self.ridge!r}")
        made = [quoted(self.prefix + name) for name in ("rows", "intercept")]
        taken = {quoted(name).lower() for name in (*self.features, self.group) if name is not None}
        if clash := [name for name in made if name.lower() in taken]:
            raise ValueError(f"a column is called {clash[0]} itself: a prefix sets the new names apart")
        parts = [self._rows(dialect), self._means(), self._sums(), *self._eliminated(), *self._solved()]
        steps = ",\n".join(parts)
        return f"WITH {steps}\n{self._result(made)};\n"

    @cached_property
    def _beginning(self) -> str:
        names = (self.table, self.label, self.weight or "", self.group or "", *self.features)
        return unlike_names(names)

    def _own(self, name: str) -> str:
        return self._beginning + name

    @property
    def _m(self) -> int:
        return len(self.features)

    def _entry(self, i: int, j: int) -> str:
        """Return the name of an entry of the matrix, whose last column is the label's."""
        return self._own(f"a{i}_{j}")

    def _part(self, name: str, columns: Sequence[str], rest: str) -> str:
        listed = ",\n    ".join(columns)
        return f"{self._own(name)} AS MATERIALIZED (\n  SELECT\n    {listed}\n  {rest}\n)"

    @property
    def _kept(self) -> list[str]:
        """What every step hands on: group, rows and means."""
        return [self._own("group"), self._own("n"), *(self._own(f"m{j}") for j in range(self._m + 1))]

    def _entries(self, start: int, end: int) -> list[str]:
        """Return the names of the entries of some rows of the matrix, of which the upper half is kept."""
        return [self._entry(i, j) for i in range(start, end) for j in range(i, self._m + 1)]

    def _rows(self, dialect: str) -> str:
        how = DIALECTS[dialect]
        columns = [f"{'0' if self.group is None else quoted(self.group)} AS {self._own('group')}"]
        weight = "1" if self.weight is None else how.double(quoted(self.weight))
        columns.append(f"{weight} AS {self._own('w')}")
        for j, name in enumerate((*self.features, self.label)):
            x = quoted(name)
            value = boolean_number(x) if how.truth and name in self.booleans else how.double(x)
            columns.append(f"{value} AS {self._own(f'f{j}')}")
        return self._part("rows", columns, f"FROM {source_of(self.table)}")

    def _means(self) -> str:
        w, own = self._own("w"), [self._own(f"f{j}") for j in range(self._m + 1)]
        over = f"OVER (PARTITION BY {self._own('group')})"
        means = [
            f"sum({x} * {w}) {over} / sum({w}) {over} AS {self._own(f'm{j}')}" for j, x in enumerate(own)
        ]
        whole = " AND ".join(f"{x} IS NOT NULL" for x in own)
        rest = f"FROM {self._own('rows')}\n  WHERE {whole} AND {w} > 0"
        return self._part("means", [self._own("group"), w, *own, *means], rest)

    def _sums(self) -> str:
        w, group = self._own("w"), self._own("group")
        away = [f"({self._own(f'f{j}')} - {self._own(f'm{j}')})" for j in range(self._m + 1)]
        columns = [group, f"count(*) AS {self._own('n')}"]
        columns += [f"max({name}) AS {name}" for name in self._kept[2:]]
        penalty = f" + {number(self.ridge)}" if self.ridge else ""
        for j in range(self._m):
            square = f"sum({w} * {away[j]} * {away[j]}){penalty}"
            columns.append(f"{f'nullif({square}, 0)' if j == 0 else square} AS {self._entry(j, j)}")
            columns += [
                f"sum({w} * {away[j]} * {away[k]}) AS {self._entry(j, k)}" for k in range(j + 1, self._m + 1)
            ]
        columns += [f"sum({w} * {away[j]} * {away[j]}){penalty} AS {self._square(j)}" for j in range(self._m)]
        return self._part("sums", columns, f"FROM {self._own('means')}\n  GROUP BY {group}")

    def _square(self, j: int) -> str:
        return self._own(f"d{j}")

    def _eliminated(self) -> Iterator[str]:
        """Yield a step per feature: what its row explains is subtracted from the rows below it.

        The pivot of the next row becomes NULL if those before determine it, and then takes no part.
        """
        before = "sums"
        for k in range(self._m - 1):
            columns = [*self._kept, *self._entries(0, k + 1)]
            for i in range(k + 1, self._m):
                for j in range(i, self._m + 1):
                    explained = f"{self._entry(k, i)} * {self._entry(k, j)} / {self._entry(k, k)}"
                    left = f"{self._entry(i, j)} - coalesce({explained}, 0)"
                    if i == j == k + 1:
                        least = f"{number(DETERMINED)} * {self._square(i)}"
                        left = f"CASE WHEN {left} > {least} THEN {left} END"
                    columns.append(f"{left} AS {self._entry(i, j)}")
            columns += [self._square(j) for j in range(k + 2, self._m)]
            yield self._part(f"step{k}", columns, f"FROM {self._own(before)}")
            before = f"step{k}"

    def _solved(self) -> Iterator[str]:
        """Yield a step per feature, from the last on: its coefficient by those after it."""
        m = self._m
        before = f"step{m - 2}" if m > 1 else "sums"
        for k in reversed(range(m)):
            later = [f" - {self._entry(k, j)} * coalesce({self._own(f'c{j}')}, 0)" for j in range(k + 1, m)]
            value = f"({self._entry(k, m)}{''.join(later)}) / {self._entry(k, k)}"
            columns = [*self._kept, *(self._own(f"c{j}") for j in range(k + 1, m)), *self._entries(0, k)]
            columns.append(f"{value} AS {self._own(f'c{k}')}")
            yield self._part(f"back{k}", columns, f"FROM {self._own(before)}")
            before = f"back{k}"

    def _result(self, made: list[str]) -> str:
        group, m = self._own("group"), self._m
        terms = [f" - {self._own(f'm{j}')} * coalesce({self._own(f'c{j}')}, 0)" for j in range(m)]
        columns = [] if self.group is None else [f"{group} AS {quoted(self.group)}"]
        columns += [f"{self._own('n')} AS {made[0]}", f"{self._own(f'm{m}')}{''.join(terms)} AS {made[1]}"]
        columns += [f"{self._own(f'c{j}')} AS {quoted(name)}" for j, name in enumerate(self.features)]
        order = "" if self.group is None else f"\nORDER BY {group}"
        listed = ",\n  ".join(columns)
        return f"SELECT\n  {listed}\nFROM {self._own('back0')}{order}"
