"""Pictures and pages of models with bins, and the command that makes them."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sefr import CurvesDisplay, SEFRClassifier, SEFRRegressor, compare, load
from sefr.cli import app
from sefr.displays import effects, strongest_features
from sefr.report import report


def model(passes=1):
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {"bent": rng.normal(size=300), "colour": pd.Categorical(rng.choice(["<b>", "$x$"], 300))}
    )
    y = np.where(np.abs(X["bent"]) > 0.8, "out", "in")
    return SEFRClassifier(bins=8, passes=passes).fit(X, y), X, y


def test_curves_are_drawn_with_their_support():
    pytest.importorskip("matplotlib")
    clf, _, _ = model()
    display = CurvesDisplay.from_estimator(clf)
    assert [axis.get_title() for axis in display.axes_] == ["bent", "colour"]
    (line,) = [patch for patch in display.axes_[0].patches if hasattr(patch, "get_data")]
    np.testing.assert_array_equal(line.get_data().values, clf.curves_[0].effects[0])
    assert display.axes_[1].get_xticklabels()[-1].get_text() == "other"
    with pytest.raises(AttributeError, match="made with bins=None"):
        CurvesDisplay.from_estimator(SEFRClassifier().fit([[1.0], [2.0]], [0, 1]))


def test_effects_are_what_the_classes_differ_by():
    clf, X, y = model()
    parts = clf.contributions(X)
    expected = parts[y == "out"].mean(axis=0) - parts[y == "in"].mean(axis=0)
    np.testing.assert_allclose(effects(clf)[0], expected, atol=1e-12)
    assert strongest_features(clf, 1)[0]["features"][0]["feature"] == "bent"
    assert clf.fitted_.strengths().shape == (1, 2)


def test_the_page_has_a_curve_per_feature_and_no_foreign_markup():
    clf, _, _ = model(passes=4)
    page = report(clf, title="bins")
    assert page.count('<svg class="curve"') == 2
    assert page.count("<title>") == 1 + 8 + 3
    assert "&lt;b&gt;: " in page
    assert "<b>: " not in page
    assert "any other value: " in page


def test_the_comparison_shows_bins():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    table = compare(X, np.abs(X[:, 0]) > 0.7, cv=4)
    names = [row.name for row in table]
    bins = ["32 bins", "ten passes", "32 bins, ten passes", "100 interactions"]
    assert names[3:] == ["second moments", *bins, "auto"]
    assert table.recommended.params["bins"] == 32
    assert table.recommended.macro_f1 > 0.85


def test_the_command_cuts_bins_learns_on_and_explains(tmp_path):
    _, X, y = model()
    rows = pd.DataFrame({"bent": X["bent"], "colour": X["colour"].astype(str), "y": y})
    rows[:200].to_csv(tmp_path / "a.csv", index=False)
    rows[200:].to_csv(tmp_path / "b.csv", index=False)
    runner, path = CliRunner(), str(tmp_path / "m.sefr")

    def run(*words, code=0):
        done = runner.invoke(app, [str(word) for word in words])
        assert done.exit_code == code, done.output
        return done

    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    run("train", a, "--label", "y", "--categories", "all", "--bins", 8, "-o", path, "--quiet")
    edges = load(path).edges_
    plain = SEFRClassifier(bins=8).fit(rows[["bent"]][:200].to_numpy(), y[:200])
    np.testing.assert_array_equal(edges[0], plain.edges_[0])
    assert load(path).summary_.n_rows == 200
    before = load(path).summary_
    run("update", path, b, "--quiet")
    assert load(path).summary_.n_rows == 300
    run("forget", path, b, "--quiet")
    assert load(path).summary_ == before
    told = json.loads(run("evaluate", b, "--model", path, "--json").stdout)
    assert told["accuracy"] > 0.85
    told = json.loads(run("evaluate", a, "--label", "y", "--drop", "colour", "--bins", 8, "--json").stdout)
    assert told["settings"][0]["params"] == {"passes": 1, "bins": 8}
    run("train", a, b, "--label", "y", "--drop", "colour", "--bins", 8, "--passes", 5, "-o", path, "-q")
    assert load(path).n_passes_ > 1
    assert load(path).score(rows[["bent"]], y) > 0.9
    run("explain", path, "-o", tmp_path / "m.html", "-q")
    assert '<svg class="curve"' in (tmp_path / "m.html").read_text()
    for words in (["--auto"], ["--engine", "duckdb"]):
        assert "--bins" in run("train", a, "--label", "y", "--bins", 8, *words, code=2).output
    run("train", a, "--label", "y", "--bins", 1, code=2)
    run("train", a, "--label", "y", "--drop", "colour", "--auto", "-o", path, "-q")
    assert load(path).auto is True


@pytest.mark.parametrize("params", [{"bins": 8, "interactions": 5}, {"auto": True}])
@pytest.mark.parametrize("estimator", [SEFRClassifier, SEFRRegressor])
def test_curves_of_a_model_with_interactions_are_those_of_its_features(estimator, params):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(500, 3)), columns=["a", "b", "c"])
    model = estimator(**params).fit(X, (X["a"] * X["b"] > 0).astype(int))
    assert len(model.feature_sets_) > 3
    shown = CurvesDisplay.from_estimator(model)
    assert sorted(axis.get_title() for axis in shown.axes_) == ["a", "b", "c"]
    what = "prediction" if estimator is SEFRRegressor else "score"
    assert shown.axes_[0].get_ylabel() == f"added to the {what}"
    plt.close(shown.figure_)
