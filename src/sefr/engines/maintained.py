"""A Summary that a database keeps up to date by itself: a view beside the rows, fed by triggers.

PostgreSQL only. Every INSERT, UPDATE and DELETE of the table adds up the rows that it changed, once per
statement, and writes the sums, of rows that went with a minus, as new rows of a table of changes. Nothing
is updated in place, so writers never wait for each other, in whatever order they touch the classes. A view
adds the changes up, and ``Summary.of_query`` reads it as it reads the query's result. One statement in
``FOLDED`` replaces the changes so far by their sums, so that the table stays small.

The functions name their tables with the schema that the table has when they are made, and look nothing up
by the caller's ``search_path``. They run with the rights of who made them: who may write to the table needs
no others. Rows without a label are left out until they get one. As everywhere, lowest and highest values do
not subtract. Sums of whole numbers stay exact; others gather rounding, one unit in the last place per
change at most. With second moments every change has a row per class and pair of features too, so that a
statement costs as much as the query does over its rows, and writes m (m + 3) / 2 rows per class.
"""

from __future__ import annotations

from dataclasses import replace

from .dialects import FIELDS, WRITERS, literal, quoted
from .sql import Query

ADDED = ("class_rows", "missing", "present", "total")
# One statement in so many folds the changes, on average.
FOLDED = 100
# PostgreSQL cuts names of more bytes; ours are the table's and at most 14 bytes more.
LONGEST_NAME = 63 - 14


def maintenance_sql(query: Query, kept: str | None = None) -> str:
    """Return the commands that make the view ``kept`` and the triggers that maintain it.

    Parameters
    ----------
    query : Query
        The table, its label and its features, by name; without a weight and a group.
    kept : str, default=None
        The name of the new view; the table's own with ``_sefr`` after it. The names of the table of changes
        and of the functions begin with it.
    """
    if query.features is None:
        raise ValueError("a Summary that is maintained needs its features by name")
    if query.label is None:
        raise ValueError("a Summary that is maintained needs a label: rows are left out until they have one")
    if query.weight is not None or query.group is not None:
        raise ValueError("a Summary that is maintained takes no weight and no group")
    if query.source == query.table:
        raise ValueError(f"triggers belong to a table, by its name, not to {query.table!r}")
    query.sql("postgresql")  # for what it refuses
    query = replace(query, origins=dict.fromkeys(query.features, 0.0) | dict(query.origins))  # for good
    name = kept or f"{_cut(query.table.rpartition('.')[2])}_sefr"
    home, outer, inner = query.own("home"), f"${query.own('do')}$", f"${query.own('commands')}$"
    # The schema that the table is in is found out where the commands run, and put wherever they say home.
    return f"""\
BEGIN;
DO {outer}
BEGIN
  EXECUTE replace({inner}{_Commands(query, name, home).all()}{inner}, {literal(home)}, (
    SELECT quote_ident(nspname) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE pg_class.oid = {literal(query.source)}::regclass));
END
{outer};
COMMIT;
"""


def _cut(name: str) -> str:
    return name.encode()[:LONGEST_NAME].decode(errors="ignore")


class _Commands:
    """The commands, with ``home`` where the schema goes."""

    def __init__(self, query: Query, name: str, home: str) -> None:
        self.query, self.name, self.home = query, name, home
        self.table = f"{home}.{quoted(query.table.rpartition('.')[2])}"
        self.changes = self._own("_changes")
        self.pairs = query.moments == 2
        self.fields = FIELDS if not self.pairs else (*FIELDS[:2], "other", *FIELDS[2:])

    def _own(self, end: str) -> str:
        return f"{self.home}.{quoted(self.name + end)}"

    def all(self) -> str:
        """Return all commands."""
        return f"""
LOCK TABLE {self.table} IN SHARE ROW EXCLUSIVE MODE;
CREATE TABLE {self.changes} AS
{self._sums(self.table)};
CREATE VIEW {self._own("")} AS
{self._folded(self.changes)};
{self._fold()}
{self._function("_learn", self._written("sefr_new", "+"))}
{self._function("_forget", self._written("sefr_old", "-"))}
{self._function("_clear", f"TRUNCATE {self.changes};")}
{self._trigger("_insert", "INSERT", "NEW TABLE AS sefr_new", "_learn")}
{self._trigger("_delete", "DELETE", "OLD TABLE AS sefr_old", "_forget")}
{self._trigger("_update_old", "UPDATE", "OLD TABLE AS sefr_old", "_forget")}
{self._trigger("_update_new", "UPDATE", "NEW TABLE AS sefr_new", "_learn")}
{self._trigger("_truncate", "TRUNCATE", "", "_clear")}
"""

    def _sums(self, rows: str) -> str:
        label = quoted(self.query.label or "")
        some = f"(SELECT * FROM {rows} WHERE {label} IS NOT NULL) AS labelled"
        return WRITERS["postgresql"](replace(self.query, table=some)).rstrip().rstrip(";")

    def _folded(self, changes: str) -> str:
        """Return the SELECT that adds changes up; a class without rows is none."""
        keys = ", ".join(name for name in self.fields if name not in (*ADDED, "low", "high"))
        sums = ", ".join(f"sum({name})::{self._type(name)} AS {name}" for name in ADDED)
        low, high = "min(low)", "max(high)"
        if self.pairs:  # of a pair they are sums
            low, high = (
                f"CASE other WHEN '' THEN {end} ELSE sum({name}) END"
                for name, end in (("low", low), ("high", high))
            )
        return f"""\
SELECT {keys}, {sums}, {low} AS low, {high} AS high
FROM {changes} GROUP BY {keys} HAVING sum(class_rows) > 0"""

    def _type(self, name: str) -> str:
        return "bigint" if name == "class_rows" else "float8"

    def _written(self, rows: str, sign: str) -> str:
        """Return the commands that write what rows add up to as changes."""
        fields = [f"{sign}{name}" if name in ADDED else name for name in self.fields]
        if sign == "-":
            gone = "CASE WHEN other <> '' THEN -{} END" if self.pairs else "NULL::float8"
            fields = [gone.format(name) if name in ("low", "high") else name for name in fields]
        return f"""\
INSERT INTO {self.changes} ({", ".join(self.fields)}) SELECT {", ".join(fields)} FROM (
{self._sums(rows)}
  ) AS changed;
  -- In another isolation level a change that somebody else has folded would be an error.
  IF random() < {1 / FOLDED} AND current_setting('transaction_isolation') = 'read committed' THEN
    PERFORM {self._own("_fold")}();
  END IF;"""

    def _fold(self) -> str:
        """Return the function that replaces the changes that are committed by their sums, one at a time."""
        body = f"""
BEGIN
  BEGIN  -- a lock that lets rows be written and read; who finds it taken leaves the work to its holder
    LOCK TABLE {self.changes} IN SHARE UPDATE EXCLUSIVE MODE NOWAIT;
  EXCEPTION WHEN lock_not_available THEN
    RETURN;
  END;
  WITH gone AS (DELETE FROM {self.changes} RETURNING *)
  INSERT INTO {self.changes} ({", ".join(self.fields)})
  SELECT {", ".join(self.fields)} FROM (
{self._folded("gone")}
  ) AS folded;
END
"""
        return self._made("_fold", "void", body)

    def _function(self, end: str, commands: str) -> str:
        return self._made(end, "trigger", f"\nBEGIN\n  {commands}\n  RETURN NULL;\nEND\n")

    def _made(self, end: str, kind: str, body: str) -> str:
        name, tag = self._own(end), f"${self.query.own('body')}$"
        return f"""\
CREATE FUNCTION {name}() RETURNS {kind} LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS {tag}{body}{tag};
REVOKE ALL ON FUNCTION {name}() FROM PUBLIC;"""

    def _trigger(self, end: str, event: str, rows: str, function: str) -> str:
        referencing = f"REFERENCING {rows} " if rows else ""
        return f"""\
CREATE TRIGGER {quoted(self.name + end)} AFTER {event} ON {self.table}
  {referencing}FOR EACH STATEMENT EXECUTE FUNCTION {self._own(function)}();"""
