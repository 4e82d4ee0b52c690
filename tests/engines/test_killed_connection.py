"""A connection to PostgreSQL that is killed: an error, and no half of anything."""

import threading
import time

import numpy as np
import pytest

from sefr import SEFRClassifier, Summary
from sefr.engines.maintained import maintenance_sql
from sefr.engines.sql import Query

pytestmark = pytest.mark.needs("postgresql")

psycopg = pytest.importorskip("psycopg")

QUERY = Query("readings", "label", ["a", "b"])


@pytest.fixture
def readings(postgres):
    """A table whose Summary is maintained by triggers; return a function that opens another connection."""
    postgres.execute("DROP TABLE IF EXISTS readings, readings_sefr_changes CASCADE")
    for verb in ("learn", "forget", "clear", "fold"):
        postgres.execute(f"DROP FUNCTION IF EXISTS readings_sefr_{verb} CASCADE")
    postgres.execute("CREATE TABLE readings (label text, a float8, b float8)")
    postgres.execute(
        "INSERT INTO readings SELECT chr(120 + i % 2), i % 7, i % 5 FROM generate_series(1, 1000) i"
    )
    postgres.execute(maintenance_sql(QUERY))
    return lambda: psycopg.connect(host=postgres.info.host, user="sefr", dbname="postgres")


def kill_when_busy(postgres, other, words):
    """Kill a connection once it is at work on a statement with these words."""

    def watch():
        busy = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND state = 'active' AND query LIKE %s"
        for _ in range(600):
            if postgres.execute(busy, (other.info.backend_pid, f"%{words}%")).fetchone()[0]:
                time.sleep(0.2)
                postgres.execute("SELECT pg_terminate_backend(%s)", (other.info.backend_pid,))
                return
            time.sleep(0.05)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_a_query_that_is_killed_is_an_error_and_leaves_the_model_as_it_was(postgres, readings):
    clf = SEFRClassifier.from_summary(Summary.of_query(postgres.execute(QUERY.sql("postgresql"))))
    before = clf.summary_
    slow = QUERY.sql("postgresql").replace(
        'FROM "readings"', 'FROM (SELECT *, pg_sleep(0.1) FROM readings) AS "readings"'
    )
    assert "pg_sleep" in slow
    other = readings()
    thread = kill_when_busy(postgres, other, "pg_sleep")
    with pytest.raises(psycopg.OperationalError):
        clf.merge(Summary.of_query(other.execute(slow)))
    thread.join()
    assert clf.summary_ is before


def test_rows_of_a_killed_transaction_are_in_no_summary(postgres, readings):
    """The triggers run in the transaction of the rows: both stay, or neither."""

    def kept():
        return Summary.of_query(postgres.execute("SELECT * FROM readings_sefr"))

    before = kept()
    other = readings()
    other.execute("INSERT INTO readings SELECT 'x', i, i FROM generate_series(1, 500) i")
    thread = kill_when_busy(postgres, other, "pg_sleep")
    with pytest.raises(psycopg.OperationalError):
        other.execute(
            "INSERT INTO readings SELECT 'y', i, (pg_sleep(0.1) IS NULL)::int FROM generate_series(1, 900) i"
        )
    thread.join()
    assert postgres.execute("SELECT count(*) FROM readings").fetchone() == (1000,)
    assert kept() == before
    np.testing.assert_array_equal(before.counts, [500, 500])
