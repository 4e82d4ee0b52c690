"""Every kind of Arrow data is rows: for fit, partial_fit, fit_batches, predict and Summary.of."""

import numpy as np
import pytest

from sefr import SEFRClassifier, Summary

pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")


class Capsule:
    """What a library that is not pyarrow hands out."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


KINDS = {
    "table": lambda table: table,
    "record batch": lambda table: table.combine_chunks().to_batches()[0],
    "reader": lambda table: table.to_reader(max_chunksize=7),
    "dataset": ds.dataset,
    "scanner": lambda table: ds.dataset(table).scanner(),
    "capsule": Capsule,
}


@pytest.fixture
def rows(rng):
    X = rng.integers(0, 9, size=(60, 2)).astype(float)
    return pa.table({"a": X[:, 0], "b": X[:, 1]}), rng.choice(["u", "v"], 60), X


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_is_rows(kind, rows):
    table, y, X = rows
    expected = SEFRClassifier().fit(X, y)
    model = SEFRClassifier().fit(kind(table), y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.predict(kind(table)).tolist() == expected.predict(X).tolist()
    np.testing.assert_array_equal(model.contributions(kind(table)), expected.contributions(X))
    assert Summary.of(kind(table), y) == Summary.of(table, y)
    batches = SEFRClassifier().fit_batches([(kind(table), y)])
    np.testing.assert_array_equal(batches.coef_, expected.coef_)
    twice = model.partial_fit(kind(table), y).forget(kind(table), y)
    np.testing.assert_array_equal(twice.coef_, expected.coef_)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(kind(table.rename_columns(["a", "c"])))


def test_rows_from_adbc(rows):
    adbc = pytest.importorskip("adbc_driver_sqlite.dbapi")
    table, y, X = rows
    with adbc.connect() as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("t", table.append_column("y", pa.array(y)))
        cursor.execute("SELECT a, b FROM t ORDER BY rowid")
        model = SEFRClassifier().fit(cursor.fetch_record_batch(), y)
        cursor.execute("SELECT * FROM t")
        whole = Summary.of_frame(cursor.fetch_record_batch(), "y")
    np.testing.assert_array_equal(model.coef_, SEFRClassifier().fit(X, y).coef_)
    assert whole == Summary.of(table, y)
