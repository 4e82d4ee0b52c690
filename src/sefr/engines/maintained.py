"""A Summary that a database keeps up to date by itself: a table beside the rows, changed by triggers.

PostgreSQL only. Every INSERT, UPDATE, DELETE and TRUNCATE of the table adds up the rows that it changed, once
per statement, and adds or takes away their sums. ``Summary.of_query`` reads the table as it reads the query's
result. Rows without a label are left out until they get one. As everywhere, lowest and highest values do not
subtract: they stay until a class has no rows. Sums of whole numbers stay exact; others gather rounding, one
unit in the last place per change at most.
"""

from __future__ import annotations

from dataclasses import replace

from .dialects import WRITERS, literal, quoted
from .sql import Query

ADDED = ("class_rows", "missing", "present", "total")


def maintenance_sql(query: Query, kept: str | None = None) -> str:
    """Return the commands that make the table ``kept`` and the triggers that maintain it.

    Parameters
    ----------
    query : Query
        The table, its label and its features, by name; without a weight and a group.
    kept : str, default=None
        The name of the new table; the table's own with ``_sefr`` after it.
    """
    if query.features is None:
        raise ValueError("a Summary that is maintained needs its features by name")
    if query.weight is not None or query.group is not None:
        raise ValueError("a Summary that is maintained takes no weight and no group")
    if query.source == query.table:
        raise ValueError(f"triggers belong to a table, by its name, not to {query.table!r}")
    query.sql("postgresql")  # for what it refuses
    table, label = query.source, quoted(query.label)
    own = quoted(kept or f"{query.table.rpartition('.')[2]}_sefr")
    learn, forget, clear = (quoted(f"{own[1:-1]}_{verb}") for verb in ("learn", "forget", "clear"))
    added = ",\n    ".join(
        f"{name} = coalesce(kept.{name}, 0) + coalesce(excluded.{name}, 0)" for name in ADDED
    )
    taken = ",\n    ".join(f"{name} = coalesce(kept.{name}, 0) - coalesce(gone.{name}, 0)" for name in ADDED)

    def sums(rows: str) -> str:
        some = f"(SELECT * FROM {rows} WHERE {label} IS NOT NULL) AS labelled"
        return WRITERS["postgresql"](replace(query, table=some)).rstrip().rstrip(";")

    learning = f"""
BEGIN
  INSERT INTO {own} AS kept
  SELECT * FROM (
{sums("sefr_new")}
  ) AS learned
  ON CONFLICT (label, place) DO UPDATE SET
    {added},
    low = least(kept.low, excluded.low),
    high = greatest(kept.high, excluded.high);
  RETURN NULL;
END
"""
    forgetting = f"""
BEGIN
  UPDATE {own} AS kept SET
    {taken}
  FROM (
{sums("sefr_old")}
  ) AS gone
  WHERE kept.label = gone.label AND kept.place = gone.place;
  DELETE FROM {own} WHERE class_rows = 0;
  RETURN NULL;
END
"""
    clearing = f"""
BEGIN
  DELETE FROM {own};
  RETURN NULL;
END
"""
    functions = "\n".join(
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS {literal(body)};"
        for name, body in ((learn, learning), (forget, forgetting), (clear, clearing))
    )
    return f"""\
BEGIN;
LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE;
CREATE TABLE {own} AS
{sums(table)};
ALTER TABLE {own} ADD PRIMARY KEY (label, place);
{functions}
CREATE TRIGGER sefr_insert AFTER INSERT ON {table}
  REFERENCING NEW TABLE AS sefr_new FOR EACH STATEMENT EXECUTE FUNCTION {learn}();
CREATE TRIGGER sefr_delete AFTER DELETE ON {table}
  REFERENCING OLD TABLE AS sefr_old FOR EACH STATEMENT EXECUTE FUNCTION {forget}();
CREATE TRIGGER sefr_update_1 AFTER UPDATE ON {table}
  REFERENCING OLD TABLE AS sefr_old FOR EACH STATEMENT EXECUTE FUNCTION {forget}();
CREATE TRIGGER sefr_update_2 AFTER UPDATE ON {table}
  REFERENCING NEW TABLE AS sefr_new FOR EACH STATEMENT EXECUTE FUNCTION {learn}();
CREATE TRIGGER sefr_truncate AFTER TRUNCATE ON {table}
  FOR EACH STATEMENT EXECUTE FUNCTION {clear}();
COMMIT;
"""
