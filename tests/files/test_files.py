"""Rows from files: the same values give the same model from every format; errors say the place."""

import gzip
import io
import json
import os
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import feather, ipc, parquet

from sefr import SEFRClassifier, Summary
from sefr.files import ColumnRecipe, SourceError, csv_file, open_dataset
from sefr.files import reader as reader_module
from sefr.files.learning import Confusion, FoldAssigner, learn, without_feature_names
from sefr.files.prefetch import prefetch

NAMES = [f"x{j}" for j in range(1, 6)]


def frame_of(rng, rows=3000):
    """Columns with an offset, a tiny range, integers, many zeros and negative numbers."""
    X = np.column_stack(
        [
            101325 + rng.normal(size=rows),
            rng.normal(size=rows) * 1e-7,
            rng.integers(-5, 300, rows),
            rng.integers(0, 2, rows) * rng.normal(size=rows),
            -rng.random(rows) / 3,
        ]
    )
    return pd.DataFrame(X, columns=NAMES).assign(label=rng.integers(0, 3, rows))


def as_csv(frame, path, **options):
    frame.to_csv(path, index=False, **options)


def as_arff(frame, path):
    with open(path, "w") as file:
        file.write("% made by a test\n@RELATION test\n\n")
        file.writelines(f"@attribute {name} REAL\n" for name in NAMES)
        file.write("@attribute label {0,1,2}\n@data\n")
        frame.to_csv(file, index=False, header=False)


def as_zstd(frame, path):
    plain = io.BytesIO()
    frame.to_csv(plain, index=False)
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(plain.getvalue())


def as_stream(frame, path):
    rows = pa.Table.from_pandas(frame)
    with ipc.new_stream(str(path), rows.schema) as writer:
        writer.write_table(rows, max_chunksize=700)


def as_records(frame, path):
    np.save(path, frame.to_records(index=False))


def as_columns(frame, path):
    np.savez_compressed(path, **{name: frame[name].to_numpy() for name in frame})


def as_npz(frame, path, order="C"):
    X = np.asarray(frame[NAMES].to_numpy(), order=order)
    np.savez(path, X=X, label=frame["label"].to_numpy(), feature_names=np.array(NAMES))


def as_libsvm(frame, path):
    with open(path, "w") as file:
        file.write("# a comment\n")
        for *values, label in frame.itertuples(index=False):
            cells = " ".join(f"{j}:{value!r}" for j, value in enumerate(values, start=1) if value)
            file.write(f"{label} {cells}\n")


WRITERS = {
    "t.csv": as_csv,
    "quoted.csv": lambda f, p: as_csv(f, p, quoting=1),
    "crlf.csv": lambda f, p: as_csv(f, p, lineterminator="\r\n"),
    "semicolon.csv": lambda f, p: as_csv(f, p, sep=";"),
    "bom.csv": lambda f, p: as_csv(f, p, encoding="utf-8-sig"),
    "t.tsv": lambda f, p: as_csv(f, p, sep="\t"),
    "t.csv.gz": lambda f, p: as_csv(f, p, compression="gzip"),
    "t.csv.zst": as_zstd,
    "t.parquet": lambda f, p: f.to_parquet(p, row_group_size=1000),
    "float.parquet": lambda f, p: f.astype({"label": float}).to_parquet(p),
    "t.feather": lambda f, p: feather.write_feather(f, str(p)),
    "t.arrow": lambda f, p: feather.write_feather(f, str(p), compression="uncompressed", chunksize=900),
    "t.arrows": as_stream,
    "records.npy": as_records,
    "columns.npz": as_columns,
    "table.npz": as_npz,
    "fortran.npz": lambda f, p: as_npz(f, p, order="F"),
    "t.arff": as_arff,
    "t.libsvm": as_libsvm,
}


def learned(*paths, label="label", **options):
    rows = open_dataset([str(path) for path in paths], **options)
    return learn(rows, rows.recipe(rows.label_name(label)))


def assert_same(a, b):
    assert a == b
    for name in ("sums", "tails", "low", "high"):
        mine, theirs = getattr(a, name), getattr(b, name)
        assert mine is theirs is None or mine.tobytes() == theirs.tobytes(), name
    assert a.classes.dtype == b.classes.dtype


@pytest.fixture
def small_batches(monkeypatch):
    """Make batches so small that a test has several."""
    monkeypatch.setattr(reader_module, "BATCH_ROWS", 512)


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_model_to_the_bit(tmp_path, rng, name):
    frame = frame_of(rng)
    frame.to_parquet(tmp_path / "oracle.parquet")
    oracle = learned(tmp_path / "oracle.parquet")
    WRITERS[name](frame, tmp_path / name)
    assert_same(learned(tmp_path / name), oracle)


@pytest.mark.usefixtures("small_batches")
def test_float32_gives_the_model_of_the_same_values_in_float64(tmp_path, rng):
    values = {"a": rng.normal(size=2000), "b": 1e6 + rng.random(2000), "c": rng.integers(0, 9, 2000)}
    narrow = pd.DataFrame(values).astype("float32").assign(label=np.arange(2000) % 3)
    narrow.to_parquet(tmp_path / "narrow.parquet")
    narrow.astype({"a": "f8", "b": "f8", "c": "f8"}).to_parquet(tmp_path / "wide.parquet")
    assert_same(learned(tmp_path / "narrow.parquet"), learned(tmp_path / "wide.parquet"))


@pytest.mark.usefixtures("small_batches")
def test_the_model_is_that_of_fit(tmp_path, rng):
    frame = frame_of(rng)
    frame.to_csv(tmp_path / "t.csv", index=False)
    clf = SEFRClassifier().fit(frame[NAMES], frame["label"])
    summary = learned(tmp_path / "t.csv")
    np.testing.assert_allclose(summary.sums, clf.summary_.sums, rtol=1e-12)
    np.testing.assert_array_equal(summary.counts, clf.summary_.counts)
    mine = SEFRClassifier.from_summary(summary)
    np.testing.assert_allclose(mine.feature_scores_, clf.feature_scores_, rtol=0, atol=1e-13)
    assert (mine.predict(frame[NAMES]) == clf.predict(frame[NAMES])).all()


@pytest.mark.usefixtures("small_batches")
def test_rows_spread_over_files_of_different_formats_and_orders_of_columns(tmp_path, rng):
    frame = frame_of(rng)
    frame.to_parquet(tmp_path / "all.parquet")
    folder = tmp_path / "parts"
    folder.mkdir()
    frame[:1000].to_csv(folder / "a.csv", index=False)
    frame[1000:1003][["label", *reversed(NAMES)]].to_csv(folder / "b.csv", index=False)
    frame[1003:2500].to_parquet(folder / "c.parquet")
    frame[2500:].to_csv(folder / "d.tsv.gz", index=False, sep="\t")
    (folder / "readme.md").write_text("not data")
    oracle = learned(tmp_path / "all.parquet")
    assert_same(learned(folder), oracle)
    files = sorted(str(p) for p in folder.iterdir() if p.suffix != ".md")
    assert_same(learned(*files), oracle)
    assert learned(folder / "*.csv").n_rows == 1003


def test_narrow_integers_booleans_and_decimals_are_numbers(tmp_path):
    values = {
        "u": pa.array([1, 2, 3, 250], pa.uint8()),
        "i": pa.array([-1, 2, 3, 4], pa.int64()),
        "b": pa.array([True, False, True, True]),
        "f": pa.array([0.5, 1, 2, 4], pa.float32()),
        "d": pa.array([1, 2, 3, 4]).cast(pa.decimal128(25, 2)),
        "y": pa.array(["a", "b", "a", "b"]).dictionary_encode(),
    }
    rows = pa.table(values)
    parquet.write_table(rows, tmp_path / "t.parquet")
    arrow_csv.write_csv(rows.set_column(5, "y", pa.array(["a", "b", "a", "b"])), tmp_path / "t.csv")
    summary = learned(tmp_path / "t.parquet", label="y")
    assert summary.sums.tolist() == [[4, 2, 2, 2.5, 4], [252, 6, 1, 5, 6]]
    assert_same(learned(tmp_path / "t.csv", label="y"), summary)


def test_labels_become_what_they_are(tmp_path):
    def classes(*labels):
        path = tmp_path / "t.csv"
        path.write_text("x,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
        return learned(path, label="y").classes

    assert classes("10", "9", "10").tolist() == [9, 10]
    assert classes("1.0", "2.0").tolist() == [1, 2]
    assert classes("true", "False").tolist() == [False, True]
    assert classes("01", "1").tolist() == ["01", "1"]
    assert classes("a", "1").tolist() == ["1", "a"]
    assert classes('"a,b"', '"c\nd"').tolist() == ["a,b", "c\nd"]
    assert classes(str(2**63), "1").tolist() == ["1", str(2**63)]


def test_categories_become_features_in_the_order_of_the_columns(tmp_path):
    (tmp_path / "t.csv").write_text("colour,size,y\nred,1,a\nblue,2,b\nred,3,b\n,4,a\n")
    rows = open_dataset([str(tmp_path / "t.csv")])
    recipe = rows.recipe("y", categories=["colour"])
    assert recipe.feature_names == ("colour=blue", "colour=red", "size")
    summary = learn(rows, recipe, missing="ignore")
    assert summary.sums.tolist() == [[0, 1, 5], [1, 1, 5]]
    assert summary.present.tolist() == [[1, 1, 2], [2, 2, 2]]
    assert rows.recipe("y", categories=["all"]) == recipe


def test_coded_categories_are_one_feature_of_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("colour,size,y\nred,1,a\nblue,2,b\nred,3,b\n,4,a\n")
    rows = open_dataset([str(tmp_path / "t.csv")])
    recipe = rows.recipe("y", categories=["colour"], coded=True)
    assert recipe.feature_names == ("colour", "size")
    assert recipe.coded_features == {0: ("blue", "red")}
    assert rows.recipe("y", categories=["colour"]).coded_features == {}
    assert ColumnRecipe.from_member(json.loads(json.dumps(recipe.member()))) == recipe
    (tmp_path / "u.csv").write_text("size,colour,y\n1,violet,a\n2,,a\n3,red,b\n4,blue,b\n")
    (batch,) = open_dataset([str(tmp_path / "u.csv")]).batches(recipe.wanted())
    np.testing.assert_array_equal(recipe.matrix(batch.rows).block(slice(None))[:, 0], [2, np.nan, 1, 0])


def test_missing_cells_are_left_out_in_every_format(tmp_path):
    frame = pd.DataFrame({"a": [1.0, np.nan, 3, 4], "b": [1.0, 2, 3, np.nan], "y": [0, 1, 0, 1]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", **frame)
    (tmp_path / "q.csv").write_text(frame.to_csv(index=False, na_rep="?"))
    oracle = Summary.of(frame[["a", "b"]], frame["y"], missing="ignore")
    for name in ("t.csv", "t.parquet", "t.npz", "q.csv"):
        rows = open_dataset([str(tmp_path / name)])
        assert learn(rows, rows.recipe("y"), missing="ignore") == oracle
        with pytest.raises(SourceError, match=rf"{name}, (line 3|row 2): the value of column 'a' is missing"):
            learn(rows, rows.recipe("y"))


HEADER = "a,b,y\n"
BAD_CSV = {
    "ragged": (HEADER + "1,2,p\n3,4\n", "line 3: expected 3 columns, found 2"),
    "too long": (HEADER + "1,2,p\n3,4,q,5\n", "line 3: expected 3 columns, found 4"),
    "ragged after a quoted newline": (HEADER + '1,2,"p\nq"\n\n3,4\n', "line 5: expected 3 columns, found 2"),
    "ends in mid-row": (HEADER + "1,2,p\n3,4,q\n5", "line 4: expected 3 columns, found 1"),
    "quote not closed": (HEADER + '1,2,p\n3,4,"q\n5,6,p\n', "after line 2: a quote is not closed"),
    "quote not closed, more lines": (HEADER + '"1,2,p\n3,4,q\n5,6,p\n', "quote"),
    "empty": ("", "the file is empty"),
    "blank": ("\n\n", "the file is empty"),
    "no rows": (HEADER, "column names but no rows"),
    "name twice": ("a,a,y\n1,2,p\n", "line 1: two columns are called 'a': columns 1 and 2"),
    "name empty": ("a,,y\n1,2,p\n", "line 1: column 2 has no name"),
    "no label": ("a,b,z\n1,2,p\n", "no column 'y'; its columns are 'a', 'b', 'z'"),
    "label in capitals": ("a,b,Y\n1,2,p\n", "no column 'y': did you mean 'Y'?"),
    "wrong delimiter": ("a:b:y\n1:2:p\n", "no column 'y'"),
    "label empty": (HEADER + "1,2,p\n3,4,\n", "line 3: there is no label in column 'y'"),
    "label constant": (HEADER + "1,2,p\n3,4,p\n", "column 'y' is 'p' in every row"),
    "label continuous": (HEADER + "1,2,1\n3,4,2.5\n", "line 3: column 'y' has 2.5, a fraction"),
    "label is a name": (
        HEADER + "".join(f"{i},2,n{i}\n" for i in range(50)),
        "50 different labels in 50 rows",
    ),
    "text": (HEADER + "1,2,p\n3,red,q\n", "text where numbers are needed: column 'b' .'red' in line 3"),
    "date": (HEADER + "1,2020-01-01,p\n3,2020-01-02,q\n", "not numbers: column 'b'"),
    "infinity": (HEADER + "1,2,p\n3,inf,q\n", "line 3: the value of column 'b' is infinite"),
    "missing": (HEADER + "1,2,p\n,4,q\n", "line 3: the value of column 'a' is missing"),
    "too large": (HEADER + "1e308,2,p\n1.7e308,4,p\n1,2,q\n", "column 0 .'a'. are too large"),
    "only a label": ("y\np\nq\n", "no column is left for the features"),
}


@pytest.mark.parametrize(("text", "message"), BAD_CSV.values(), ids=BAD_CSV)
def test_a_bad_csv_is_refused_with_its_place(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(text.encode())
    with pytest.raises(SourceError, match=message) as refused:
        learned(path, label="y")
    assert "bad.csv" in str(refused.value)


def test_a_lone_quote_inside_a_value_is_a_character(tmp_path):
    (tmp_path / "t.csv").write_text('a,y\n1,5" pipe\n2,plain\n')
    assert learned(tmp_path / "t.csv", label="y").classes.tolist() == ['5" pipe', "plain"]


def test_bytes_that_are_no_text_are_refused_with_their_place(tmp_path):
    def refused(content, message):
        path = tmp_path / "bad.csv"
        path.write_bytes(content)
        with pytest.raises(SourceError, match=message):
            learned(path, label="y")

    refused(b"a,y\n1,p\n2,\xff\n", "line 3: column 'y': the text is not UTF-8")
    refused(b"a\xff,y\n1,p\n", "line 1: the text is not UTF-8")
    refused("a,y\n1,p\n".encode("utf-16"), "UTF-16")
    refused(b"a,y\n1,p\n\0\0\0", "line 3: there is a NUL byte")
    refused(gzip.compress(b"a,y\n1,p\n2,q\n" * 100)[:-9], "damaged or incomplete")


def test_a_late_word_among_numbers_is_refused_with_its_line(tmp_path):
    path = tmp_path / "late.csv"
    lines = [f"{i},{i % 7},{'pq'[i % 2]}\n" for i in range(200_000)]
    lines[150_000] = "1,oops,p\n"
    path.write_text(HEADER + "".join(lines))
    with pytest.raises(SourceError, match=r"late\.csv, line 150002: column 'b': 'oops' is not a number"):
        learned(path, label="y")


def test_integers_in_the_first_block_may_be_fractions_later(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("a,y\n" + "".join(f"{i},{'pq'[i % 2]}\n" for i in range(150_000)) + "0.5,p\n")
    assert learned(path, label="y").counts.sum() == 150_001


@pytest.mark.parametrize(
    "name", [name for name in WRITERS if not name.endswith((".csv", ".tsv", ".arff", ".libsvm"))]
)
def test_a_cut_binary_file_is_refused(tmp_path, rng, name):
    path = tmp_path / name
    WRITERS[name](frame_of(rng), path)
    content = path.read_bytes()
    for part in (0.02, 0.5, 0.97):
        path.write_bytes(content[: int(len(content) * part)])
        with pytest.raises(SourceError, match=name.replace(".", r"\.")):
            learned(path)


BAD_LIBSVM = {"not numbers": "a b c\n", "late": "1 1:2\n0 1:3\n1 x:3\n", "empty": "", "no values": "1\n0\n"}


@pytest.mark.parametrize("text", BAD_LIBSVM.values(), ids=BAD_LIBSVM)
def test_bad_libsvm_is_refused(tmp_path, text):
    path = tmp_path / "t.libsvm"
    path.write_text(text)
    with pytest.raises(SourceError, match=r"t\.libsvm(, line 3: not libsvm|, line 1: not libsvm|: )"):
        learned(path)


BAD_ARFF = {
    "no data": ("@attribute a real\n", "no @data"),
    "no rows": ("@attribute a real\n@data\n", "no rows"),
    "unknown type": ("@attribute a complex\n@data\n1\n", "line 1: unknown type"),
    "stray text": ("@relation r\nhello\n", "line 2: neither"),
    "sparse": ("@attribute a real\n@attribute y {p,q}\n@data\n{0 1, 1 p}\n", "line 4: sparse ARFF"),
    "ragged": ("@attribute a real\n@attribute y {p,q}\n@data\n1,p\n2\n", "line 5: expected 2 columns"),
}


@pytest.mark.parametrize(("text", "message"), BAD_ARFF.values(), ids=BAD_ARFF)
def test_bad_arff_is_refused(tmp_path, text, message):
    path = tmp_path / "t.arff"
    path.write_text(text)
    with pytest.raises(SourceError, match=message):
        learned(path, label="y")


def test_arff_with_quotes_spaces_and_question_marks(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text(
        "@RELATION 'a b'\n@ATTRIBUTE 'petal width' NUMERIC\n@ATTRIBUTE n {0,1}\n"
        "@ATTRIBUTE y {'big one',small}\n@DATA\n1.5, 0, 'big one'\n?, 1, small\n2.5, 1, small\n"
    )
    rows = open_dataset([str(path)])
    summary = learn(rows, rows.recipe("y"), missing="ignore")
    assert summary.classes.tolist() == ["big one", "small"]
    assert summary.feature_names == ("petal width", "n")
    assert summary.sums.tolist() == [[1.5, 0], [2.5, 2]]


def test_objects_in_npy_are_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.abort, ()

    np.save(tmp_path / "t.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(SourceError, match="Python objects"):
        open_dataset([str(tmp_path / "t.npy")])


def test_npy_labels_by_position(tmp_path, rng):
    X = rng.integers(0, 9, (50, 3)).astype(float)
    X[:, 2] = rng.integers(0, 2, 50)
    np.save(tmp_path / "t.npy", X)
    assert learned(tmp_path / "t.npy", label="-1") == learned(tmp_path / "t.npy", label="x2")
    with pytest.raises(SourceError, match="no column '3'"):
        learned(tmp_path / "t.npy", label="3")


def test_csv_without_names(tmp_path):
    (tmp_path / "t.csv").write_text("1,2,p\n3,4,q\n")
    assert learned(tmp_path / "t.csv", label="-1", header=False).sums.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("path", ["nowhere.csv", "nothing*.csv", "."])
def test_what_is_not_there_is_said(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match=r"no such file|no file matches|no data file"):
        open_dataset([path])


@pytest.mark.slow
def test_wide_rows_are_read(tmp_path, rng):
    X = rng.integers(0, 9, (6, 30_000))
    frame = pd.DataFrame(X, columns=[f"feature {j}" for j in range(30_000)]).assign(label=[0, 1, 0, 1, 0, 1])
    frame.to_csv(tmp_path / "wide.csv", index=False)
    assert learned(tmp_path / "wide.csv") == Summary.of(frame.drop(columns="label"), frame["label"])


def test_folds_get_each_class_evenly_and_alike_in_any_batches(rng):
    classes, codes = np.array(["a", "b", "c"]), rng.integers(0, 3, 1000).astype(np.int32)
    whole = FoldAssigner(7).assign(classes, codes)
    assigner = FoldAssigner(7)
    parts = np.concatenate([assigner.assign(classes, codes[i : i + 13]) for i in range(0, 1000, 13)])
    assert (whole == parts).all()
    for code in range(3):
        assert np.ptp(np.bincount(whole[codes == code], minlength=7)) <= 1


def test_the_figures_are_those_of_scikit_learn(rng):
    from sklearn.metrics import accuracy_score, classification_report, confusion_matrix

    truth, answers = rng.integers(0, 4, 500), rng.integers(0, 4, 500)
    confusion = Confusion()
    confusion.add(truth[:200], answers[:200])
    confusion.add(truth[200:], answers[200:])
    report, oracle = confusion.report(), classification_report(truth, answers, output_dict=True)
    assert report["accuracy"] == pytest.approx(accuracy_score(truth, answers))
    assert report["macro_f1"] == pytest.approx(oracle["macro avg"]["f1-score"])
    assert (confusion.matrix() == confusion_matrix(truth, answers)).all()
    for line in report["classes"]:
        assert line["recall"] == pytest.approx(oracle[str(line["label"])]["recall"])


def test_a_model_without_names_answers_alike_also_after_further_passes(rng):
    frame = frame_of(rng, 200)
    for passes in (1, 4):
        clf = SEFRClassifier(passes=passes).fit(frame[NAMES], frame["label"])
        scores = without_feature_names(clf).decision_function(frame[NAMES].to_numpy())
        np.testing.assert_allclose(scores, clf.decision_function(frame[NAMES]), rtol=1e-12, atol=1e-12)
        assert hasattr(clf, "feature_names_in_")


def test_pyarrow_equality_is_what_the_categories_rely_on():
    assert pc.equal(pa.array(["a", None]), "a").to_pylist() == [True, None]
    assert sys.byteorder == "little"


def test_the_next_batch_is_prefetched_and_an_error_comes_in_its_place():
    made = []

    def batches():
        for number in range(1, 4):
            made.append(number)
            yield number
        raise SourceError("damaged")

    numbers = prefetch(batches())
    for number in (1, 2, 3):
        assert next(numbers) == number
        time.sleep(0.2)  # long enough for the next one
        assert made == list(range(1, min(number + 1, 3) + 1))
    with pytest.raises(SourceError, match="damaged"):
        next(numbers)


def test_what_is_not_wanted_any_more_is_not_made():
    made = []
    numbers = prefetch(made.append(number) or number for number in range(1, 1000))
    assert next(numbers) == 1
    numbers.close()
    assert len(made) <= 3


def test_the_columns_of_a_wide_csv_are_what_they_are_in_a_narrow_one(tmp_path):
    """Wide files are asked in parts whether all are numbers; text, truth and dates among them are seen."""
    kinds = {"n": "1.5", "i": "7", "t": "word", "b": "true", "d": "2024-05-01", "e": "", "m": "NA", "q": "?"}
    header = [f"{name}{j}" for j in range(200) for name in kinds]
    row = [value for _ in range(200) for value in kinds.values()]
    assert len(header) > csv_file.FEW_COLUMNS
    for name, columns in (("wide", len(header)), ("narrow", len(kinds))):
        lines = [",".join(header[:columns]), *[",".join(row[:columns])] * 3]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    wide, narrow = (open_dataset([str(tmp_path / f"{name}.csv")]).columns for name in ("wide", "narrow"))
    assert list(wide) == header
    assert {name: wide[f"{name}199"] for name in kinds} == {name: narrow[f"{name}0"] for name in kinds}
    assert narrow["t0"] == "text"
