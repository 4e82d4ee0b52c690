"""Labels are compared as what they are, in every format and verb."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from sefr import SEFRClassifier
from sefr.files import SourceError, open_dataset
from sefr.files.learning import evaluate_model, learn, learn_folds

BIG = 2**53


def as_csv(labels, path):
    path.write_text("a,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))


def as_arff(labels, path):
    rows = "".join(f"{i},{label}\n" for i, label in enumerate(labels))
    path.write_text(f"@attribute a real\n@attribute y string\n@data\n{rows}")


def as_libsvm(labels, path):
    path.write_text("".join(f"{label} 1:{i}\n" for i, label in enumerate(labels)))


def as_parquet(labels, path):
    parquet.write_table(pa.table({"a": pa.array(range(len(labels))), "y": pa.array(labels)}), path)


def as_decimals(labels, path):
    y = pa.array(labels).cast(pa.decimal128(25, 2))
    parquet.write_table(pa.table({"a": pa.array(range(len(labels))), "y": y}), path)


def as_npz(labels, path):
    np.savez(path, X=np.arange(len(labels))[:, None], y=np.array(labels))


def as_feather(labels, path):
    y = pa.array(labels).dictionary_encode()
    feather.write_feather(pa.table({"a": pa.array(range(len(labels))), "y": y}), str(path))


FORMATS = {
    "t.csv": as_csv,
    "t.arff": as_arff,
    "t.libsvm": as_libsvm,
    "t.parquet": as_parquet,
    "decimals.parquet": as_decimals,
    "t.npz": as_npz,
    "t.feather": as_feather,
}


def opened(path):
    rows = open_dataset([str(path)])
    return rows, rows.recipe("label" if path.suffix == ".libsvm" else "y")


@pytest.mark.parametrize("name", FORMATS)
def test_whole_numbers_are_exact_beyond_float64(tmp_path, name):
    labels = [BIG, BIG + 1, BIG + 2] * 4
    FORMATS[name](labels, tmp_path / name)
    rows, recipe = opened(tmp_path / name)
    summary = learn(rows, recipe)
    assert summary.classes.tolist() == [BIG, BIG + 1, BIG + 2]
    assert summary.counts.tolist() == [4, 4, 4]
    more = learn(rows, recipe, known=summary.classes)
    assert (summary + more).classes.tolist() == [BIG, BIG + 1, BIG + 2]
    folds = learn_folds(rows, recipe, 2, missing="error", tick=lambda rows: None)
    assert all(fold.counts.tolist() == [2, 2, 2] for fold in folds)
    confusion = evaluate_model(rows, recipe, SEFRClassifier.from_summary(summary))
    assert confusion.labels == [BIG, BIG + 1, BIG + 2]


def test_files_of_different_number_types_share_exact_labels(tmp_path):
    folder = tmp_path / "mixed"
    folder.mkdir()
    kinds = [pa.int64(), pa.uint64(), pa.decimal128(20, 0)]
    for number, kind in enumerate(kinds):
        y = pa.array([BIG, BIG + 1, BIG + 2]).cast(kind)
        parquet.write_table(pa.table({"a": [1.0, 2.0, 3.0], "y": y}), folder / f"{number}.parquet")
    rows = open_dataset([str(folder)])
    assert learn(rows, rows.recipe("y")).counts.tolist() == [3, 3, 3]
    as_csv([BIG, BIG + 1, BIG + 2], folder / "z.csv")
    rows = open_dataset([str(folder)])
    summary = learn(rows, rows.recipe("y"))
    assert summary.classes.tolist() == [BIG, BIG + 1, BIG + 2]
    assert summary.counts.tolist() == [4, 4, 4]


NOT_LIKE_INTEGERS = ["1.7", "1_0", "inf", "-inf", "1e300", "0x1", "one", "9" * 30, str(2**63)]


@pytest.mark.parametrize("name", ["t.csv", "t.arff"])
@pytest.mark.parametrize("label", NOT_LIKE_INTEGERS)
def test_a_model_of_integers_takes_integers_only(tmp_path, name, label):
    FORMATS[name](["0", "1", label], tmp_path / name)
    rows, recipe = opened(tmp_path / name)
    for known in (np.array([0, 1]), np.array([0.0, 1.0])):
        if label == str(2**63) and known.dtype.kind == "f":  # a power of two, which float64 holds
            continue
        with pytest.raises(SourceError, match=r"t\.(csv, line 4|arff, line 6): column 'y' has the label"):
            learn(rows, recipe, known=known)


def test_whole_numbers_in_other_forms_are_integers(tmp_path):
    as_csv(["0", "1.0", "+1", "1e0", "01"], tmp_path / "t.csv")
    rows, recipe = opened(tmp_path / "t.csv")
    assert learn(rows, recipe, known=np.array([0, 1])).counts.tolist() == [1, 4]


@pytest.mark.parametrize("value", [1.7, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("known", [None, np.array([0, 1])])
def test_fractions_and_infinities_of_typed_formats_are_refused(tmp_path, value, known):
    as_parquet([0.0, 1.0, value], tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", a=np.arange(3), y=np.array([0.0, 1.0, value]))
    for name in ("t.parquet", "t.npz"):
        rows, recipe = opened(tmp_path / name)
        with pytest.raises(SourceError, match=r"row 3: column 'y' has"):
            learn(rows, recipe, known=known)


def test_an_integer_beyond_int64_is_text_or_refused(tmp_path):
    as_csv([str(2**64), "1", "1"], tmp_path / "t.csv")
    assert learn(*opened(tmp_path / "t.csv")).classes.tolist() == ["1", str(2**64)]
    as_parquet(pa.array([2**63 + 1, 1, 1], pa.uint64()), tmp_path / "t.parquet")
    with pytest.raises(SourceError, match="row 1: column 'y' has"):
        learn(*opened(tmp_path / "t.parquet"))


def test_underscores_and_words_are_text(tmp_path):
    as_csv(["1_0", "2", "2"], tmp_path / "t.csv")
    assert learn(*opened(tmp_path / "t.csv")).classes.tolist() == ["1_0", "2"]
    as_csv(["inf", "2", "2"], tmp_path / "t.csv")
    assert learn(*opened(tmp_path / "t.csv")).classes.tolist() == ["2", "inf"]


def test_text_and_numbers_are_not_mixed_up(tmp_path):
    as_parquet([0, 1, 1], tmp_path / "t.parquet")
    with pytest.raises(SourceError, match="column 'y' has the label 0, but the model's are like '0'"):
        learn(*opened(tmp_path / "t.parquet"), known=np.array(["0", "1"]))
    as_parquet(["0", "1", "1"], tmp_path / "t.parquet")
    with pytest.raises(SourceError, match="column 'y' has the label '0', but the model's are like"):
        learn(*opened(tmp_path / "t.parquet"), known=np.array([0, 1]))
    as_parquet([False, True], tmp_path / "t.parquet")
    with pytest.raises(SourceError, match="column 'y' has the label False"):
        learn(*opened(tmp_path / "t.parquet"), known=np.array([0, 1]))
    assert learn(*opened(tmp_path / "t.parquet"), known=np.array([False, True])).counts.tolist() == [1, 1]


def test_a_nul_character_makes_no_label(tmp_path):
    """numpy drops a NUL at the end of a text, so that two labels would become one."""
    as_parquet(["p", "p\0", "q"], tmp_path / "t.parquet")
    with pytest.raises(SourceError, match="row 2: column 'y' has a label with a NUL"):
        learn(*opened(tmp_path / "t.parquet"))


@pytest.mark.parametrize("name", ["t.csv", "t.arff", "t.libsvm"])
def test_a_nul_byte_anywhere_in_text_is_refused_with_its_line(tmp_path, name):
    labels = ["1", "2"] * 75_000
    FORMATS[name](labels, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    at = content.rindex(b"\n", 0, -1) + 1
    (tmp_path / name).write_bytes(content[:at] + b"\0" + content[at:])
    assert at > 1 << 19
    line = r", line 150\d\d\d" if "libsvm" not in name else ""
    with pytest.raises(SourceError, match=rf"t\.\w+{line}: there is a NUL byte"):
        learn(*opened(tmp_path / name))


def test_pandas_integers_with_gaps_keep_their_labels(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2, 3], "y": pd.array([BIG + 1, BIG + 2, BIG + 1], dtype="Int64")})
    frame.to_parquet(tmp_path / "t.parquet")
    assert learn(*opened(tmp_path / "t.parquet")).classes.tolist() == [BIG + 1, BIG + 2]


def test_rows_without_a_label_can_be_left_out_and_places_stay_right(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,p\n2,\n3,q\n4,p\ninf,q\n")
    rows, recipe = opened(tmp_path / "t.csv")
    rows.skip_unlabelled = True
    with pytest.raises(SourceError, match="line 6: the value of column 'a' is infinite"):
        learn(rows, recipe)
    (tmp_path / "t.csv").write_text("a,y\n1,p\n2,\n3,q\n4,p\n")
    rows, recipe = opened(tmp_path / "t.csv")
    rows.skip_unlabelled = True
    assert learn(rows, recipe).counts.tolist() == [2, 1]
