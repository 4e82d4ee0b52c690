"""A Summary that PostgreSQL maintains, under several writers at once."""

import threading
import time

import numpy as np
import pytest

from sefr import Summary
from sefr.engines import maintained
from sefr.engines.dialects import quoted
from sefr.engines.maintained import maintenance_sql
from sefr.engines.sql import Query

psycopg = pytest.importorskip("psycopg")

SCHEMA = 'it\'s a."shop"'
NAMES = ["a", "^b$", "sefr_f0", "$sefr_body$", "o'c"]


@pytest.fixture
def connect(postgres):
    """Return a function that opens a connection, which waits at most some seconds for a lock."""
    opened = []

    def another(path=None, **settings):
        made = psycopg.connect(host=postgres.info.host, user="sefr", dbname="postgres", **settings)
        made.autocommit = True
        made.execute("SET lock_timeout = '5s'")
        if path is not None:
            made.execute(f"SET search_path = {path}")
        made.autocommit = settings.get("autocommit", False)
        opened.append(made)
        return made

    yield another
    for made in opened:
        made.close()


@pytest.fixture
def home(postgres, connect):
    """Return a schema with a table whose Summary is maintained; both were made by their search_path."""
    postgres.execute(f"DROP SCHEMA IF EXISTS {quoted(SCHEMA)} CASCADE")
    postgres.execute(f"CREATE SCHEMA {quoted(SCHEMA)}")
    maker = connect(f"{quoted(SCHEMA)}, public", autocommit=True)
    columns = ", ".join(f"{quoted(name)} float8" for name in NAMES)
    maker.execute(f"CREATE TABLE visits (label text, {columns})")
    maker.execute(maintenance_sql(Query("visits", "label", NAMES)))
    yield quoted(SCHEMA)
    postgres.execute(f"DROP SCHEMA {quoted(SCHEMA)} CASCADE")


def insert(connection, home, label, value):
    row = ", ".join(f"{value + j}" for j in range(len(NAMES)))
    connection.execute(f"INSERT INTO {home}.visits VALUES ('{label}', {row})")


def check(connection, home):
    """Compare what is kept with the rows that are there; return the counts of the classes."""
    kept = Summary.of_query(connection.execute(f"SELECT * FROM {home}.visits_sefr"))
    fresh = Summary.of_query(connection.execute(Query(f"{home}.visits", "label", NAMES).sql("postgresql")))
    assert kept.feature_names == tuple(NAMES)
    for part in ("classes", "counts", "sums"):
        np.testing.assert_array_equal(getattr(kept, part), getattr(fresh, part))
    return fresh.counts.tolist()


def test_two_transactions_in_opposite_order(postgres, connect, home):
    """Neither waits for the other, and none is a deadlock."""
    one, two = connect(), connect()
    for first, second in (("x", "y"), ("y", "x")):
        insert(one, home, first, 1)
        insert(two, home, second, 2)
        insert(one, home, second, 3)
        insert(two, home, first, 4)
    one.execute(f"UPDATE {home}.visits SET label = 'y' WHERE label = 'x' AND a = 1")
    two.execute(f"DELETE FROM {home}.visits WHERE label = 'y' AND a = 2")
    one.commit()
    two.commit()
    assert check(postgres, home) == [3, 4]


def test_another_search_path(postgres, connect, home):
    """Whatever the writer's path is, and whatever lies on it under the names of ours."""
    odd = connect("pg_temp, pg_catalog", autocommit=True)
    odd.execute("CREATE TEMP TABLE visits_sefr_changes (label text)")
    odd.execute("CREATE TEMP TABLE visits (label text)")
    odd.execute("CREATE FUNCTION pg_temp.sum(float8) RETURNS float8 LANGUAGE sql AS 'SELECT 7.0::float8'")
    for i in range(4):
        insert(odd, home, "xy"[i % 2], i)
    odd.execute(f"UPDATE {home}.visits SET a = a + 1")
    odd.execute(f"DELETE FROM {home}.visits WHERE a = 1")
    odd.execute(f"SELECT {home}.visits_sefr_fold()")
    assert check(postgres, home) == [1, 2]
    odd.execute(f"TRUNCATE {home}.visits")
    assert postgres.execute(f"SELECT count(*) FROM {home}.visits_sefr").fetchone() == (0,)


def test_who_may_write_to_the_table_needs_no_other_right(postgres, connect, home):
    postgres.execute("DROP ROLE IF EXISTS sefr_writer")
    postgres.execute("CREATE ROLE sefr_writer")
    try:
        postgres.execute(f"GRANT USAGE ON SCHEMA {home} TO sefr_writer")
        postgres.execute(f"GRANT INSERT ON {home}.visits TO sefr_writer")
        writer = connect(autocommit=True)
        writer.execute("SET ROLE sefr_writer")
        insert(writer, home, "x", 1)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            writer.execute(f"INSERT INTO {home}.visits_sefr_changes DEFAULT VALUES")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            writer.execute(f"SELECT {home}.visits_sefr_fold()")
        insert(postgres, home, "y", 2)
        assert check(postgres, home) == [1, 1]
    finally:
        postgres.execute("DROP OWNED BY sefr_writer")
        postgres.execute("DROP ROLE sefr_writer")


def test_writers_do_not_wait_for_each_other(postgres, connect, home, monkeypatch):
    """Four writers of slow transactions, each with both classes, while the changes are folded."""
    postgres.execute(f"DROP VIEW {home}.visits_sefr")
    postgres.execute(f"DROP TABLE {home}.visits CASCADE")
    for verb in ("learn", "forget", "clear", "fold"):
        postgres.execute(f"DROP FUNCTION {home}.visits_sefr_{verb}")
    postgres.execute(f"DROP TABLE {home}.visits_sefr_changes")
    monkeypatch.setattr(maintained, "FOLDED", 3)
    columns = ", ".join(f"{quoted(name)} float8" for name in NAMES)
    maker = connect(home, autocommit=True)
    maker.execute(f"CREATE TABLE visits (label text, {columns})")
    maker.execute(maintenance_sql(Query("visits", "label", NAMES)))
    waited, failures, turns, pause = [], [], 10, 0.1

    def write(number):
        connection = connect()
        try:
            for turn in range(turns):
                for label in "xy" if number % 2 else "yx":
                    start = time.perf_counter()
                    insert(connection, home, label, turn)
                    waited.append(time.perf_counter() - start)
                time.sleep(pause)
                connection.commit()
        except psycopg.Error as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        postgres.execute(f"SELECT {home}.visits_sefr_fold()")
        time.sleep(0.02)
    assert not failures
    assert check(postgres, home) == [40, 40]
    # A writer that waited for another would wait for the rest of its pause.
    assert np.median(waited) < pause / 2
    postgres.execute(f"SELECT {home}.visits_sefr_fold()")
    assert postgres.execute(f"SELECT count(*) FROM {home}.visits_sefr_changes").fetchone() == (
        2 * len(NAMES),
    )


def test_a_transaction_that_sees_an_old_state_is_not_broken_by_folding(postgres, connect, home):
    insert(postgres, home, "x", 1)
    insert(postgres, home, "y", 1)
    old = connect()
    old.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    assert old.execute(f"SELECT count(*) FROM {home}.visits").fetchone() == (2,)
    insert(postgres, home, "x", 5)
    postgres.execute(f"SELECT {home}.visits_sefr_fold()")
    for i in range(10):
        insert(old, home, "x", i)
    old.commit()
    assert check(postgres, home) == [12, 1]


def test_names_that_are_long(postgres):
    name = "é" * 31
    postgres.execute(f"DROP TABLE IF EXISTS {quoted(name)} CASCADE")
    postgres.execute(f"CREATE TABLE {quoted(name)} (y int, a float8)")
    made = maintenance_sql(Query(name, "y", ["a"]))
    try:
        postgres.execute(made)
        postgres.execute(f"INSERT INTO {quoted(name)} VALUES (0, 1), (1, 2)")
        (view,) = postgres.execute("SELECT viewname FROM pg_views WHERE viewname LIKE 'éé%'").fetchone()
        assert Summary.of_query(postgres.execute(f"SELECT * FROM {quoted(view)}")).sums.tolist() == [[1], [2]]
    finally:
        postgres.execute(f"DROP TABLE {quoted(name)} CASCADE")


def test_products_of_features_are_maintained_too(postgres, connect, home):
    """With values that are missing, and after rows were changed and taken away."""
    names = ["a", "b", "c"]
    query = Query(f"{home}.beside", "label", names, origins={"a": 5.0}, moments=2)
    postgres.execute(f"CREATE TABLE {home}.beside (label text, a float8, b float8, c float8)")
    postgres.execute("SET search_path = " + home)
    rng = np.random.default_rng(8)

    def write(rows):
        cells = [["NULL" if i % 7 == j else f"{v}" for j, v in enumerate(row)] for i, row in enumerate(rows)]
        values = ", ".join(f"('{'xyz'[i % 3]}', {', '.join(row)})" for i, row in enumerate(cells))
        postgres.execute(f"INSERT INTO {home}.beside VALUES {values}")

    def both():
        asked = (f"SELECT * FROM {home}.beside_sefr", query.sql("postgresql"))
        return [Summary.of_query(postgres.execute(sql), missing="ignore") for sql in asked]

    try:
        write(rng.integers(0, 9, (20, 3)))
        postgres.execute(maintenance_sql(Query("beside", "label", names, origins={"a": 5.0}, moments=2)))
        write(rng.integers(-9, 20, (30, 3)))
        postgres.execute(f"UPDATE {home}.beside SET b = b + 1, a = NULL WHERE c > 5")
        postgres.execute(f"DELETE FROM {home}.beside WHERE c < 0 OR label = 'z'")
        for _ in range(2):
            kept, fresh = both()
            assert kept.moments == 2
            assert kept.classes.tolist() == ["x", "y"]
            assert kept.products == fresh.products
            np.testing.assert_array_equal(kept.sums, fresh.sums)
            postgres.execute(f"SELECT {home}.beside_sefr_fold()")
    finally:
        postgres.execute("RESET search_path")
