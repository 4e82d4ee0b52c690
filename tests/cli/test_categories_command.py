"""Columns of text with bins: one feature with a bin per value, from the first command to the last."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder

from sefr import SEFRClassifier, compare, load
from sefr.comparison import METHODS
from sefr.files import dataset
from sefr.model_file import columns_of, save, with_columns

from .driver import assert_one_line

ASKED = ("--label", "kind", "--categories", "colour,shape", "--bins", "8")
COLOURS = ["blue", "dark blue", "green", "red"]
WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "feather": lambda frame, path: frame.to_feather(path),
}


@pytest.fixture
def goods(rng):
    """Return rows of which the colour, with the size, tells the kind."""
    n = 700
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n).round(3),
            "colour": rng.choice(COLOURS, n),
            "price": rng.integers(1, 50, n),
            "shape": rng.choice(["round", "square", "1"], n),
        }
    )
    score = frame["colour"].map({"red": 2.0, "blue": -2.0}).fillna(0.0) + frame["size"]
    frame["kind"] = np.where(score + rng.normal(0, 0.5, n) > 0, "sold", "kept")
    return frame


def as_categories(frame, *names):
    return frame.assign(**{name: pd.Categorical(frame[name]) for name in names or ("colour", "shape")})


def fitted(frame, **params):
    return SEFRClassifier(**params).fit(as_categories(frame.drop(columns="kind")), frame["kind"])


def with_gaps(frame):
    frame = frame.copy()
    frame.loc[::9, "colour"] = None
    frame.loc[::11, "size"] = np.nan
    return frame


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("options", [(), ("--interactions", "6"), ("--scale", "-10:60")])
def test_train_writes_the_model_of_a_frame_with_categories(sefr, goods, ending, options):
    WRITERS[ending](goods, f"goods.{ending}")
    code, _, err = sefr("train", f"goods.{ending}", *ASKED, *options)
    assert code == 0, err
    params = {"--interactions": {"interactions": 6}, "--scale": {"scale": (-10, 60)}}
    clf = load("model.sefr")
    same = fitted(goods, bins=8, **(params[options[0]] if options else {}))
    assert clf.summary_ == same.summary_
    assert clf.summary_.feature_names == ("size", "colour", "price", "shape")
    assert clf.edges_[1] == tuple(COLOURS)
    assert clf.interactions_ == same.interactions_
    X = as_categories(goods.drop(columns="kind"))
    np.testing.assert_array_equal(clf.decision_function(X), same.decision_function(X))
    np.testing.assert_allclose(clf.predict_proba(X), same.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("passes", [2, 6])
@pytest.mark.parametrize("rows", [None, 128])
def test_further_passes_and_batches_are_those_of_the_frame(sefr, goods, passes, rows, monkeypatch):
    if rows:
        monkeypatch.setattr(dataset, "batch_rows", lambda columns: rows)
    frame = with_gaps(goods)
    frame.to_csv("goods.csv", index=False)
    code, _, err = sefr("train", "goods.csv", *ASKED, "--missing", "ignore", "--passes", passes)
    assert code == 0, err
    clf, same = load("model.sefr"), fitted(frame, bins=8, missing="ignore", passes=passes)
    assert clf.summary_ == same.summary_
    X = as_categories(frame.drop(columns="kind"))
    np.testing.assert_allclose(clf.decision_function(X), same.decision_function(X), rtol=1e-6, atol=1e-9)


def test_auto_has_a_bin_per_value(sefr, goods):
    goods["kind"] = np.where(goods["price"].between(15, 35) ^ (goods["colour"] == "red"), "sold", "kept")
    goods.to_csv("goods.csv", index=False)
    code, _, err = sefr("train", "goods.csv", "-l", "kind", "--categories", "colour,shape", "--auto")
    assert code == 0, err
    clf = load("model.sefr")
    same = fitted(goods, auto=True)
    assert clf.summary_ == same.summary_
    assert columns_of(clf)["coded"]
    X = as_categories(goods.drop(columns="kind"))
    np.testing.assert_allclose(clf.decision_function(X), same.decision_function(X), rtol=1e-9)


def test_evaluate_shows_each_setting_with_the_columns_it_learns(sefr, goods):
    goods.to_csv("goods.csv", index=False)
    words = ("evaluate", "goods.csv", "--label", "kind", "--categories", "colour,shape", "--folds", "4")
    code, out, err = sefr(*words, "--json")
    assert code == 0, err
    told = {row["name"]: row for row in json.loads(out)["settings"]}
    X, y = goods.drop(columns="kind"), goods["kind"]
    encoder = OneHotEncoder(sparse_output=False).set_output(transform="pandas")
    texts = ["colour", "shape"]
    spread = pd.concat([X.drop(columns=texts), encoder.fit_transform(X[texts])], axis=1)
    linear = compare(spread, y, cv=4, settings=METHODS)
    binned = compare(as_categories(X), y, cv=4, settings=METHODS)
    for mine, other in zip(linear, binned, strict=True):
        row = other if mine.name == "auto" else mine
        assert told[row.name]["macro_f1"] == pytest.approx(row.macro_f1), row.name
    assert linear[3].log_loss != binned[3].log_loss  # so that the comparison above tells something


def test_evaluate_of_one_setting_and_of_a_test_file(sefr, goods):
    goods[:500].to_csv("train.csv", index=False)
    goods[500:].assign(colour=lambda x: x["colour"].replace("green", "violet")).to_csv(
        "test.csv", index=False
    )
    code, out, err = sefr("evaluate", "train.csv", *ASKED, "--passes", "1,4", "--folds", "4", "--json")
    assert code == 0, err
    X, y = as_categories(goods.drop(columns="kind")), goods["kind"]
    shown = compare(X[:500], y[:500], cv=4, bins=8, settings={"one": {}, "four": {"passes": 4}})
    for told, row in zip(json.loads(out)["settings"], shown, strict=True):
        assert told["macro_f1"] == pytest.approx(row.macro_f1)
    code, out, err = sefr("evaluate", "train.csv", *ASKED, "--test", "test.csv", "--json")
    assert code == 0, err
    clf = SEFRClassifier(bins=8).fit(as_categories(goods[:500].drop(columns="kind")), y[:500])
    answers = clf.predict(as_categories(pd.read_csv("test.csv").drop(columns="kind")))
    assert json.loads(out)["accuracy"] == pytest.approx((answers == y[500:].to_numpy()).mean())
    sefr("train", "train.csv", *ASKED)
    code, out, err = sefr("evaluate", "test.csv", "--model", "model.sefr", "--json")
    assert json.loads(out)["accuracy"] == pytest.approx((answers == y[500:].to_numpy()).mean()), err


def test_an_unknown_value_has_a_bin_and_an_empty_cell_another(sefr, goods):
    with_gaps(goods).to_csv("goods.csv", index=False)
    assert_one_line(
        *sefr("train", "goods.csv", *ASKED, "--strict"),
        r"line 2: the value of column '(size|colour)' is missing \(--missing ignore gives it a bin\)",
    )
    sefr("train", "goods.csv", *ASKED, "--missing", "ignore")
    Path("new.csv").write_text(
        "shape,price,colour,size\nround,5,violet,1\nround,5,,1\n,5,red,1\nround,5,red,1\n"
    )
    code, out, err = sefr("predict", "model.sefr", "new.csv", "--scores", "-o", "out.csv")
    assert (code, out) == (0, "")
    assert "'colour' has values without a bin of their own, for example 'violet': they share one" in " ".join(
        err.split()
    )
    new = as_categories(pd.read_csv("new.csv")[["size", "colour", "price", "shape"]])
    expected = fitted(with_gaps(goods), bins=8, missing="ignore").decision_function(new)
    np.testing.assert_array_equal(pd.read_csv("out.csv")["score"], expected)
    assert len(set(expected)) == 4
    goods.to_csv("whole.csv", index=False)
    sefr("train", "whole.csv", *ASKED)
    assert_one_line(
        *sefr("predict", "model.sefr", "new.csv"), r"new.csv, line 3: the value of column 'colour' is missing"
    )


def test_check_compares_the_bins_that_rows_lie_in(sefr, goods):
    goods.to_csv("goods.csv", index=False)
    sefr("train", "goods.csv", *ASKED)
    code, _, err = sefr("predict", "model.sefr", "goods.csv", "--check", "-o", "out.csv")
    assert code == 0
    assert "warning" not in err
    goods.assign(colour="red").to_csv("red.csv", index=False)
    _, _, err = sefr("predict", "model.sefr", "red.csv", "--check", "-o", "out.csv")
    assert "'colour' is distributed otherwise over its bins: PSI" in " ".join(err.split())
    assert "'size' is" not in err


def test_update_forget_merge_and_drift(sefr, goods):
    first, more = goods[:400], goods[400:].assign(colour=goods["colour"][400:].replace("green", "violet"))
    first.to_csv("first.csv", index=False)
    more.to_csv("more.csv", index=False)
    sefr("train", "first.csv", *ASKED, "--scale", "-10:60")
    before = load("model.sefr").summary_
    code, _, err = sefr("update", "model.sefr", "more.csv")
    assert code == 0, err
    clf = fitted(first, bins=8, scale=(-10, 60))
    clf.partial_fit(as_categories(more.drop(columns="kind")), more["kind"])
    assert load("model.sefr").summary_ == clf.summary_
    assert sefr("forget", "model.sefr", "more.csv")[0] == 0
    assert load("model.sefr").summary_ == before
    for rows, name in ((goods[400:], "same"), (more, "other")):
        rows.to_csv(f"{name}.csv", index=False)
        sefr("train", f"{name}.csv", *ASKED, "--scale", "-10:60", "-o", f"{name}.sefr")
    assert sefr("merge", "model.sefr", "same.sefr", "-o", "both.sefr")[0] == 0
    assert load("both.sefr").summary_ == fitted(goods, bins=8, scale=(-10, 60)).summary_
    assert_one_line(*sefr("merge", "model.sefr", "other.sefr", "-o", "x.sefr"), "different categories")
    assert sefr("drift", "model.sefr", "same.sefr")[0] == 0


def test_explain_names_the_categories(sefr, goods):
    goods.to_csv("goods.csv", index=False)
    sefr("train", "goods.csv", *ASKED, "--missing", "ignore")
    Path("new.csv").write_text("size,colour,price,shape\n1,violet,5,round\n1,,5,round\n1,dark blue,5,1\n")
    code, out, err = sefr("explain", "model.sefr", "--rows", "new.csv", "-o", "report.html", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert {item["feature"] for item in told["strongest"][0]["features"]} <= {
        "size",
        "colour",
        "price",
        "shape",
    }
    values = [{part["name"]: part["value"] for part in record["parts"]} for record in told["records"]]
    assert [own["colour"] for own in values] == ["any other value", "missing", "dark blue"]
    assert [own["shape"] for own in values] == ["round", "round", "1"]
    assert [own["size"] for own in values] == ["1", "1", "1"]
    new = as_categories(pd.read_csv("new.csv", dtype={"shape": str}))
    scores = fitted(goods, bins=8, missing="ignore").decision_function(new)
    assert [record["score"] for record in told["records"]] == pytest.approx(list(scores))
    page = Path("report.html").read_text()
    for value in (*COLOURS, "any other value"):
        assert re.search(rf"<title>{value}: [+-][0-9.]+, [0-9]+ rows</title>", page), value


def test_export_says_which_number_is_which_category(sefr, goods):
    onnxruntime = pytest.importorskip("onnxruntime")
    goods.to_csv("goods.csv", index=False)
    sefr("train", "goods.csv", *ASKED)
    for target in ("c", "arduino", "generated"):
        code, _, err = sefr("export", "model.sefr", "--to", target, "-o", target)
        assert code == 0, err
        assert any("dark blue" in path.read_text() for path in Path(target).rglob("*.h")), target
    code, _, err = sefr("export", "model.sefr", "--to", "onnx", "-o", "model.onnx")
    assert code == 0, err
    session = onnxruntime.InferenceSession("model.onnx")
    known = json.loads(session.get_modelmeta().custom_metadata_map["categories"])
    X = goods.drop(columns="kind")
    codes = X.assign(colour=X["colour"].map(known["1"].index), shape=X["shape"].map(known["3"].index))
    (labels,) = session.run(["label"], {"X": codes.to_numpy(dtype=float)})
    np.testing.assert_array_equal(labels, load("model.sefr").predict(as_categories(X)))


@pytest.mark.needs("avr", "arm")
def test_simulate_gives_the_board_the_numbers_of_categories(sefr, goods):
    goods.assign(colour=goods["colour"].replace("green", "violet")).to_csv("new.csv", index=False)
    goods.to_csv("goods.csv", index=False)
    sefr("train", "goods.csv", *ASKED)
    code, out, err = sefr("simulate", "model.sefr", "new.csv", "--rows", "40", "--weights", "int16", "--json")
    assert code == 0, err
    assert json.loads(out)["agreement"] > 0.95
    code, out, err = sefr(
        "simulate", "model.sefr", "new.csv", "--board", "cortex-m0", "--rows", "40", "--json"
    )
    assert code == 0, err
    assert json.loads(out)["agreement"] > 0.95


def test_sql_asks_for_the_values(sefr, goods):
    duckdb = pytest.importorskip("duckdb")
    frame = with_gaps(goods)
    frame.to_csv("goods.csv", index=False)
    sefr("train", "goods.csv", *ASKED, "--missing", "ignore", "--interactions", "4")
    frame.assign(colour=frame["colour"].replace("green", "violet")).to_csv("new.csv", index=False)
    code, out, err = sefr("sql", "--predict", "model.sefr", "--table", "new.csv")
    assert code == 0, err
    found = duckdb.sql(out.rstrip().rstrip(";")).df()
    new = as_categories(pd.read_csv("new.csv", dtype={"shape": str}).drop(columns="kind"))
    expected = load("model.sefr").decision_function(new)
    np.testing.assert_allclose(found["score"], expected, rtol=1e-9, atol=1e-12)


def test_sparse_rows_have_no_categories(sefr):
    Path("wide.libsvm").write_text("".join(f"{i % 2} 3:{1 + i % 2} {70000 + i}:1.5\n" for i in range(20)))
    for more in ((), ("--bins", "4")):
        assert_one_line(
            *sefr("train", "wide.libsvm", "--label", "label", "--categories", "x3", *more),
            "wide.libsvm: column 'x3' of sparse rows cannot be categories",
        )


def test_of_many_values_the_frequent_have_a_bin(sefr, rng):
    often = np.minimum(rng.geometric(0.01, 6000), 400)
    frame = pd.DataFrame({"colour": [f"c{k:03}" for k in often], "shape": "round", "size": rng.random(6000)})
    frame["kind"] = np.where(often % 3 == 0, "sold", "kept")
    assert frame["colour"].nunique() > 254
    frame.to_csv("goods.csv", index=False)
    code, _, err = sefr("train", "goods.csv", *ASKED)
    assert code == 0, err
    clf, same = load("model.sefr"), fitted(frame, bins=8)
    assert len(clf.edges_[0]) == 254
    assert clf.summary_ == same.summary_


def test_a_model_file_says_what_its_categories_are(sefr, goods):
    goods.to_csv("goods.csv", index=False)
    sefr("train", "goods.csv", *ASKED)
    clf = load("model.sefr")
    columns = dict(columns_of(clf))
    assert columns["coded"] is True
    sefr(
        "train", "goods.csv", "--label", "kind", "--categories", "colour,shape", "--paper", "-o", "plain.sefr"
    )
    assert "coded" not in columns_of(load("plain.sefr"))  # as files were before there was this member
    assert load("plain.sefr").summary_.feature_names[1] == "colour=blue"
    for change, words in (
        ({"coded": 1}, "table of columns does not hold together"),
        ({"coded": False}, "table of columns does not fit its features"),
        ({"categories": columns["categories"] | {"colour": ["a", "b"]}}, "does not fit its features"),
        ({"columns": ["colour", "size", "price", "shape"]}, "does not fit its features"),
    ):
        save(with_columns(clf, columns | change), "bad.sefr")
        assert_one_line(*sefr("predict", "bad.sefr", "goods.csv"), words)


@pytest.mark.parametrize("names", [["red", "blue"], [3, 1]])
def test_a_model_of_a_frame_reads_files(sefr, goods, names):
    colours = goods["colour"].map({"red": names[0]}).fillna(names[1])
    colours = pd.Categorical(colours if isinstance(names[0], str) else colours.astype(int))
    frame = goods[["size"]].assign(colour=colours)
    clf = SEFRClassifier(bins=8).fit(frame, goods["kind"])
    save(clf, "model.sefr")
    frame.assign(kind=goods["kind"]).to_csv("goods.csv", index=False)
    code, _, err = sefr("predict", "model.sefr", "goods.csv", "--scores", "-o", "out.csv")
    assert code == 0, err
    np.testing.assert_array_equal(pd.read_csv("out.csv")["score"], clf.decision_function(frame))
    code, _, err = sefr("update", "model.sefr", "goods.csv", "--label", "kind")
    assert code == 0, err
    assert load("model.sefr").summary_ == clf.summary_ + clf.summary_


@pytest.mark.parametrize(
    ("values", "named", "words"),
    [
        ([0.5, 1.5], True, "the categories of column 'colour' are neither text nor whole numbers"),
        ([1, "1"], True, "are neither text nor whole numbers"),
        (["a", "b"], False, "column 1 of the model has categories, and no name to find it by"),
    ],
)
def test_categories_that_a_file_does_not_tell_are_one_line(sefr, goods, values, named, words):
    colours = pd.Categorical.from_codes((goods["colour"] == "red").astype(int), values)
    frame = goods[["size"]].assign(colour=colours)
    frame.columns = ["size", "colour"] if named else [0, 1]
    save(SEFRClassifier(bins=8).fit(frame, goods["kind"]), "model.sefr")
    goods[["size", "colour"]].to_csv("goods.csv", index=False)
    assert_one_line(*sefr("predict", "model.sefr", "goods.csv"), words)
