"""What sefr train trains: --auto unless something else is said, and what then is refused, and how."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from cli.driver import assert_one_line, fitted
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from sefr import load
from sefr.cli import train

SPECIES = ("--label", "species")


def scores(path, frame):
    return load(path).decision_function(frame.drop(columns="species"))


def test_the_default_is_the_model_of_auto_and_says_so(sefr, iris):
    code, out, err = sefr("train", "iris.csv", *SPECIES)
    assert code == 0, err
    first = err.splitlines()[0]
    assert first.startswith("--auto: lines, curves and interactions")
    assert "For update, merge and forget, train with --exact" in first
    clf, same = load("model.sefr"), fitted(iris, "species", auto=True)
    assert clf.auto is True
    assert re.search(r"^auto: .*\d x interactions \(\d+\); log loss 0\.\d+ of 150 rows", out, re.MULTILINE)
    np.testing.assert_allclose(scores("model.sefr", iris), same.decision_function(iris.iloc[:, :4]))
    assert clf.auto_.weights == pytest.approx(dict(same.auto_.weights))
    assert sefr("train", "iris.csv", *SPECIES, "--auto", "-o", "again.sefr")[0] == 0
    assert Path("again.sefr").read_bytes() == Path("model.sefr").read_bytes()


def test_json_has_what_was_chosen(sefr, iris):
    told = json.loads(sefr("train", "iris.csv", *SPECIES, "--json")[1])
    chosen = load("model.sefr").auto_
    assert told["settings"]["auto"] is True
    assert told["auto"]["weights"] == dict(chosen.weights)
    assert told["auto"]["held_out_rows"] == chosen.n_held_out
    assert json.loads(sefr("train", "iris.csv", *SPECIES, "--paper", "--json")[1])["auto"] is None


@pytest.mark.parametrize(
    ("words", "params"),
    [
        (["--paper"], {}),
        (["--exact"], {"moments": 2}),
        (["--exact", "--bins", "4"], {"moments": 2, "bins": 4}),
        (["--passes", "1"], {}),
        (["--moments", "1"], {}),
        (["--bins", "4"], {"bins": 4}),
        (["--passes", "3"], {"passes": 3}),
        (["--class-weight", "balanced"], {"auto": True, "class_weight": "balanced"}),
    ],
)
def test_a_word_or_a_dial_replaces_auto(sefr, iris, words, params):
    code, _, err = sefr("train", "iris.csv", *SPECIES, *words)
    assert code == 0, err
    same = fitted(iris, "species", **params)
    found = load("model.sefr")
    assert found.get_params() == same.get_params()
    np.testing.assert_allclose(
        scores("model.sefr", iris), same.decision_function(iris.iloc[:, :4]), rtol=1e-6
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--paper", "--exact"], "--paper and --exact exclude each other"),
        (["--auto", "--bins", "8"], "leave out --bins, or --auto"),
        (["--paper", "--passes", "3"], "leave out --passes, or --paper"),
        (["--exact", "--passes", "3"], "leave out --passes or --exact"),
        (["--exact", "--moments", "1"], "--exact is --moments 2"),
        (["--engine", "duckdb", "--bins", "8"], "--engine duckdb adds up one pass"),
        (["--interactions", "5"], "--interactions needs --bins"),
    ],
)
@pytest.mark.usefixtures("iris")
def test_words_that_exclude_each_other_are_wrong_usage(sefr, words, message):
    code, _, err = sefr("train", "iris.csv", *SPECIES, *words)
    assert code == 2
    assert message in re.sub(r"[\s│]+", " ", err)
    assert not Path("model.sefr").exists()


@pytest.mark.parametrize(("trained", "what"), [([], "--auto"), (["--passes", "3"], "--passes 3")])
def test_a_verb_that_a_model_refuses_names_the_command_to_train_with(sefr, iris, trained, what):
    iris.rename(columns={"species": "kind of it"}).to_csv("t.csv", index=False)
    assert sefr("train", "t.csv", "--label", "kind of it", *trained)[0] == 0
    before = Path("model.sefr").read_bytes()
    command = "sefr train DATA --label 'kind of it' --exact"
    for words, cannot in (
        (("update", "model.sefr", "t.csv"), "learn more rows"),
        (("forget", "model.sefr", "t.csv"), "forget rows"),
        (("merge", "model.sefr", "model.sefr", "-o", "x.sefr"), "be merged"),
    ):
        message = f"a model of {what} cannot {cannot}: train it again on all rows with {command}"
        assert_one_line(*sefr(*words), re.escape(message))
    assert Path("model.sefr").read_bytes() == before
    assert not Path("x.sefr").exists()
    # and that command makes one that can
    for name in ("a.sefr", "b.sefr"):
        assert sefr("train", "t.csv", "--label", "kind of it", "--exact", "-o", name)[0] == 0
    assert sefr("update", "a.sefr", "t.csv")[0] == 0
    assert sefr("merge", "a.sefr", "b.sefr", "-o", "c.sefr")[0] == 0
    assert sefr("forget", "c.sefr", "t.csv")[0] == 0
    assert load("c.sefr").summary_.n_rows == 300


@pytest.mark.parametrize("trained", [[], ["--exact"], ["--passes", "3"]])
@pytest.mark.usefixtures("iris")
def test_a_board_that_learns_on_needs_the_model_of_the_paper(sefr, trained):
    sefr("train", "iris.csv", *SPECIES, *trained)
    words = ("export", "model.sefr", "--to", "arduino", "--learn", "-o", "sketch")
    assert_one_line(*sefr(*words), "train it with sefr train DATA --label species --paper")
    assert sefr("train", "iris.csv", *SPECIES, "--paper")[0] == 0
    code, _, err = sefr(*words)
    assert code == 0, err


def test_drift_of_two_models_of_auto_says_what_to_do(sefr, iris):
    for name, frame in (("last", iris[::2]), ("this", iris[1::2])):
        frame.to_csv(f"{name}.csv", index=False)
        assert sefr("train", f"{name}.csv", *SPECIES, "-o", f"{name}.sefr", "-q")[0] == 0
    assert_one_line(*sefr("drift", "last.sefr", "this.sefr"), "train both with --exact, or .*--check")
    code, _, err = sefr("predict", "last.sefr", "this.csv", "--check", "-o", "out.csv")
    assert code == 0, err


def test_rows_that_do_not_fit_in_memory_are_trained_otherwise(sefr, iris, monkeypatch):
    monkeypatch.setattr(train, "MOST_HELD_VALUES", 599)
    code, _, err = sefr("train", "iris.csv", *SPECIES)
    assert code == 0, err
    assert err.startswith("--bins 32 --interactions 100 --passes 20: more than ")
    clf = load("model.sefr")
    assert (clf.auto, clf.bins, clf.interactions, clf.passes) == (False, 32, 100, 20)
    Path("model.sefr").unlink()
    assert_one_line(*sefr("train", "iris.csv", *SPECIES, "--auto"), "too many to hold in memory, as --auto")
    assert not Path("model.sefr").exists()
    monkeypatch.setattr(train, "MOST_HELD_VALUES", 600)
    assert sefr("train", "iris.csv", *SPECIES)[0] == 0
    assert load("model.sefr").auto is True


def test_sparse_rows_that_do_not_fit_are_trained_without_bins(sefr, monkeypatch):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 80)
    X = rng.random((80, 5000)) * (rng.random((80, 5000)) < 0.01)
    X[:, 0] += y
    dump_svmlight_file(sparse.csr_array(X), y, "t.libsvm")
    monkeypatch.setattr(train, "MOST_HELD_VALUES", 1000)
    code, _, err = sefr("train", "t.libsvm", "--label", "label")
    assert code == 0, err
    assert err.startswith("--passes 20: more than ")
    assert (load("model.sefr").passes, load("model.sefr").bins) == (20, None)


def test_sums_alone_are_the_paper_s(sefr, iris):
    pytest.importorskip("duckdb")
    iris.to_parquet("iris.parquet")
    code, _, err = sefr("train", "iris.parquet", *SPECIES, "--engine", "duckdb")
    assert code == 0, err
    assert err.splitlines()[0].startswith("--paper: DuckDB adds up one pass")
    assert load("model.sefr").get_params() == fitted(iris, "species").get_params()
    code, _, err = sefr("train", "iris.parquet", *SPECIES, "--engine", "duckdb", "--exact")
    assert code == 0, err
    expected = fitted(iris, "species", moments=2).decision_function(iris.iloc[:, :4])
    np.testing.assert_allclose(scores("model.sefr", iris), expected, rtol=1e-6)


@pytest.mark.parametrize("words", [[], ["--exact"], ["--bins", "4", "--passes", "2"]])
def test_evaluate_with_a_test_file_trains_as_train_does(sefr, iris, words):
    iris[::2].to_csv("train.csv", index=False)
    iris[1::2].to_csv("test.csv", index=False)
    code, out, err = sefr("evaluate", "train.csv", *SPECIES, *words, "--test", "test.csv", "--json")
    assert code == 0, err
    assert sefr("train", "train.csv", *SPECIES, *words)[0] == 0
    assert json.loads(out)["accuracy"] == load("model.sefr").score(
        iris.iloc[1::2, :4], iris["species"].iloc[1::2]
    )


def test_evaluate_one_setting(sefr, iris):
    for words, name in ((["--auto"], "auto"), (["--bins", "4", "--exact"], "4 bins, exact")):
        told = json.loads(sefr("evaluate", "iris.csv", *SPECIES, *words, "--folds", "3", "--json")[1])
        assert told["recommended"] == name
        assert told["command"] == " ".join(["sefr train iris.csv --label species", *words])
