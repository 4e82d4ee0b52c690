"""What files promise to the rest: documented limits, columns handed on, no reading of Arrow's words."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet

import sefr
from sefr import SEFRClassifier
from sefr._rows.matrix import Columnar, Sparse
from sefr.files import (
    SourceError,
    csv_file,
    dataset,
    label_column,
    libsvm_file,
    numpy_file,
    open_dataset,
    reader,
    source,
)
from sefr.files.learning import (
    checked,
    checked_rows,
    evaluate_model,
    learn,
    without_feature_names,
)

PACKAGE = Path(sefr.__file__).parent


def test_the_limits_in_the_docs_are_those_of_the_code():
    text = (PACKAGE.parents[1] / "docs" / "guide" / "files.md").read_text()
    for limit in (
        f"| columns of a file | {reader.MOST_COLUMNS:,} |",
        f"| a line of text | {source.LONGEST_LINE >> 20} MB |",
        f"| one row of npy or npz | {numpy_file.MOST_ROW_BYTES >> 20} MB |",
        f"| names in `feature_names` | {numpy_file.NAMES_BYTES >> 20} MB |",
        f"| classes | {label_column.MOST_CLASSES:,} |",
        f"| a label | {label_column.LONGEST_LABEL:,} characters |",
        f"| values of a column of categories | {dataset.MOST_TEXT_VALUES:,} |",
        f"libsvm files with more than {libsvm_file.DENSE_COLUMNS:,} columns stay sparse",
    ):
        assert limit in text


def test_columns_are_scored_as_they_lie_in_the_file(tmp_path):
    a, y = np.arange(100.0), np.arange(100) % 2
    parquet.write_table(pa.table({"a": a, "b": a.astype(np.float32), "y": y}), tmp_path / "t.parquet")
    rows = open_dataset([str(tmp_path / "t.parquet")])
    recipe = rows.recipe("y")
    batch = next(rows.batches(recipe.wanted()))
    matrix = recipe.matrix(batch.rows)
    assert isinstance(matrix, Columnar)
    for name, column in zip(("a", "b"), matrix.columns, strict=True):
        assert np.shares_memory(column, batch.rows.column(name).chunk(0).to_numpy())
    assert checked(batch, matrix, recipe, "error") is matrix
    clf = SEFRClassifier.from_summary(learn(rows, recipe))
    assert evaluate_model(rows, recipe, clf).report()["rows"] == 100
    plain = without_feature_names(clf)
    assert (plain.predict(matrix) == plain.predict(np.column_stack([a, a]))).all()


def test_all_columns_of_an_arrow_file_stay_where_they_are_mapped(tmp_path):
    columns = {f"x{j}": np.arange(100_000.0) for j in range(8)} | {"y": np.arange(100_000) % 2}
    feather.write_feather(pa.table(columns), str(tmp_path / "t.feather"), compression="uncompressed")
    rows = open_dataset([str(tmp_path / "t.feather")])
    before = pa.total_allocated_bytes()
    batch = next(rows.batches(rows.recipe("y").wanted(with_label="y")))
    assert len(batch) > 10_000
    assert pa.total_allocated_bytes() - before < 1 << 16


def test_an_npy_file_that_is_another_one_when_it_is_read_is_an_error(tmp_path):
    path = tmp_path / "t.npy"
    np.save(path, np.zeros((10, 4)))
    rows = open_dataset([str(path)])
    np.save(path, np.zeros((10, 5)))
    with pytest.raises(SourceError, match=r"row 1: the file ends here or is damaged .*changed while"):
        list(rows.batches(rows.columns))


def test_wide_libsvm_rows_stay_sparse_and_give_the_same_model(tmp_path):
    rng = np.random.default_rng(0)
    lines, X = [], np.zeros((300, 5001))
    for row in X:
        at = np.sort(rng.choice(np.arange(1, 5001), 20, replace=False))
        row[at] = rng.normal(size=20)
        cells = " ".join(f"{j}:{row[j]!r}" for j in at)
        lines.append(f"{len(lines) % 3} {cells}\n".replace("np.float64(", "").replace(")", ""))
    lines[0] = lines[0].rstrip() + " 5000:0\n" if " 5000:" not in lines[0] else lines[0]
    (tmp_path / "t.libsvm").write_text("".join(lines))
    rows = open_dataset([str(tmp_path / "t.libsvm")])
    recipe = rows.recipe("label")
    assert rows.sparse
    batch = next(rows.batches(recipe.wanted()))
    assert isinstance(recipe.matrix(batch.rows), Sparse)
    clf = SEFRClassifier.from_summary(learn(rows, recipe))
    oracle = SEFRClassifier().fit(X[:, 1:], np.arange(300) % 3)
    np.testing.assert_allclose(clf.coef_, oracle.coef_, rtol=1e-12, atol=1e-15)
    truth = evaluate_model(rows, recipe, clf).report()
    assert truth["accuracy"] == pytest.approx(oracle.score(X[:, 1:], np.arange(300) % 3))
    kept = batch.select(["x7", "x1"])
    assert (np.column_stack([kept["x7"], kept["x1"]]) == X[:, [7, 1]]).all()
    (tmp_path / "t.libsvm").write_text("".join(lines).replace(" 5000:", " 5000:inf #"))
    rows = open_dataset([str(tmp_path / "t.libsvm")])
    with pytest.raises(SourceError, match=r"t\.libsvm, line 1: the value of column 'x5000' is infinite"):
        learn(rows, rows.recipe("label"))


def test_messages_do_not_depend_on_the_words_of_arrow(tmp_path, monkeypatch):
    """The next pyarrow may say the same in other words: only the kind of its error counts."""
    bad = {
        "a,y\n1,p\n2\n": "line 3: expected 2 columns, found 1",
        "a,y\n" + "1,p\n" * 200_000 + "x,q\n": "line 200002: column 'a': 'x' is not a number",
    }
    real = arrow_csv.open_csv

    def in_other_words(*arguments, **options):
        def batches():
            try:
                yield from reader
            except pa.ArrowInvalid:
                raise pa.ArrowInvalid("Fehler") from None

        try:
            reader = real(*arguments, **options)
        except pa.ArrowInvalid:
            raise pa.ArrowInvalid("Fehler") from None
        if options["convert_options"].column_types:
            return batches()
        return reader

    monkeypatch.setattr(csv_file.arrow_csv, "open_csv", in_other_words)
    for text, message in bad.items():
        (tmp_path / "t.csv").write_text(text)
        with pytest.raises(SourceError, match=message):
            learn(rows := open_dataset([str(tmp_path / "t.csv")]), rows.recipe("y"))


def test_sparse_rows_are_not_spread_out_beyond_memory(tmp_path):
    (tmp_path / "t.libsvm").write_text("1 1:1\n0 2:1\n" * 2000 + "0 300000:1\n")
    rows = open_dataset([str(tmp_path / "t.libsvm")])
    recipe = rows.recipe("label")
    batch = next(rows.batches(recipe.wanted()))
    with pytest.raises(SourceError, match="4,001 sparse rows of 300,000 columns are too many"):
        checked_rows(batch, recipe.matrix(batch.rows), recipe, "error")
    few = recipe.matrix(batch.rows.slice(0, 2))
    assert checked_rows(batch, few, recipe, "error").sum() == 2
