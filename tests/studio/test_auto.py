"""auto in the page: what it grows, weighs and adds up is what SEFRClassifier(auto=True) does."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from steps import choose, give, method, saved
from test_equal_to_python import shown_confusion
from test_exact import lines_without_label, page_model
from test_real_tables import penguins, titanic

from sefr import SEFRClassifier
from sefr.files import ColumnRecipe, open_dataset
from sefr.model_file import columns_of


def iris(rng):
    """Few rows, so that each is held out once; two rows of a class of their own."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    kind = np.array(["a", "b", "c"], dtype=object)[y]
    kind[[3, 60]] = "odd"
    return X, kind


def wine_with_gaps(rng):
    """Missing values."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X.mask(rng.random(X.shape) < 0.1), np.array(["a", "b", "c"])[y]


def equal_rows(rng):
    """Two classes, and few different rows: these are shared out among the parts."""
    n = 900
    X = pd.DataFrame({"a": rng.integers(0, 3, n), "b": rng.integers(0, 4, n), "c": rng.integers(0, 2, n)})
    return X.astype(float), np.where((X.a > 0) ^ (X.b > 1) ^ (rng.random(n) < 0.1), "yes", "no")


def many_rows(rng):
    """More rows than choose the steps: lines are added up in float32."""
    n = 5000
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))
    return X, np.where(X.a * X.b + X.c + rng.normal(size=n) > 0, "p", "q")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "balanced", "close"),
    [
        (iris, False, 1e-9),
        (wine_with_gaps, True, 1e-9),
        (equal_rows, False, 1e-9),
        (many_rows, False, 1e-4),
    ],
)
def test_auto_is_that_of_python(open_page, tmp_path, made, balanced, close):
    X, y = made(np.random.default_rng(5))
    path = tmp_path / "table.csv"
    X.assign(kind=y).to_csv(path, index=False)
    page = open_page(words="#label=kind&class_weight=balanced" if balanced else "#label=kind")
    assert give(page, path) is None
    page.wait_for_selector("#save-model")
    found, _ = page_model(page, tmp_path)
    missing = "ignore" if X.isna().any().any() else "error"
    clf = SEFRClassifier(auto=True, class_weight="balanced" if balanced else None, missing=missing).fit(X, y)
    assert found.get_params() == clf.get_params()
    assert found.interactions_ == clf.interactions_
    assert found.summary_ == clf.summary_
    assert found.auto_.n_held_out == clf.auto_.n_held_out
    for part in ("weights", "log_loss"):
        assert getattr(found.auto_, part) == pytest.approx(getattr(clf.auto_, part), abs=close)
    np.testing.assert_allclose(found.predict_proba(X), clf.predict_proba(X), atol=close, rtol=0)
    scores = clf.decision_function(X)
    np.testing.assert_allclose(found.decision_function(X), scores, atol=close * np.abs(scores).max(), rtol=0)
    np.testing.assert_allclose(
        found.contributions(X), clf.contributions(X), atol=close * np.abs(scores).max(), rtol=0
    )


def test_folds_of_auto_are_trained_without_their_rows(open_page):
    page = open_page()
    choose(page, "flowers")
    X, y = load_iris(return_X_y=True)
    fold = np.empty(len(y), dtype=int)
    for k in range(3):
        fold[y == k] = np.arange((y == k).sum()) % 10
    counts = np.zeros((3, 3), dtype=int)
    for f in range(10):
        clf = SEFRClassifier(auto=True).fit(X[fold != f], y[fold != f])
        np.add.at(counts, (y[fold == f], clf.predict(X[fold == f])), 1)
    assert shown_confusion(page) == counts.tolist()


def test_auto_is_the_default_and_the_others_are_shown_beside_it(open_page, tmp_path):
    path, _label, _more = penguins(tmp_path, np.random.default_rng(3))
    page = open_page()
    assert give(page, path) is None
    page.wait_for_selector("#save-model")
    assert page.input_value("#method") == "auto"
    lines = page.locator("#compared tbody tr").all_inner_texts()
    assert [line.split("\t")[0].split(" used")[0] for line in lines] == [
        "Paper: one pass",
        "Ten passes",
        "Exact, with curves",
        "Auto",
    ]
    assert ["used" in line for line in lines] == [False, False, False, True]
    scores = [float(line.split("\t")[-1]) for line in lines]
    assert scores[3] > scores[0]
    assert re.search(r"Auto: \d+\.\d → \d+\.\d %", page.inner_text("#gain"))
    assert page.locator("#better").count() == (max(scores) > scores[3] + 0.01)
    assert page.inner_text("#figure-accuracy") == lines[3].split("\t")[-2]
    found, _ = page_model(page, tmp_path)
    assert f"{found.auto_.n_ferns} interaction" in page.inner_text("#chosen")
    method(page, "paper")
    assert page.inner_text("#figure-accuracy") == lines[0].split("\t")[-2]
    page.click("#compare")
    page.wait_for_selector("#compared")
    assert page.inner_text("#figure-accuracy") == lines[3].split("\t")[-2]


def test_what_would_help_is_said_and_done(open_page, tmp_path):
    """A class that is a line of many features, and few rows: ten passes are better than what auto adds up."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(80, 12)), columns=[f"f{j}" for j in range(12)])
    kind = np.where(X.sum(axis=1) > 0, "high", "low")
    path = tmp_path / "sum.csv"
    X.assign(kind=kind).to_csv(path, index=False)
    page = open_page()
    assert give(page, path) is None
    page.wait_for_selector("#save-model")
    scores = [float(line.split("\t")[-1]) for line in page.locator("#compared tbody tr").all_inner_texts()]
    best = int(np.argmax(scores))
    assert scores[best] > scores[3] + 0.01
    assert f"→ {scores[best]:.3f}" in page.inner_text("#better")
    page.evaluate("() => { document.querySelector('#carry').replaceChildren(); }")
    page.click("#use-better")
    page.wait_for_selector("#save-model")
    assert page.input_value("#method") == ("paper", "passes", "exact")[best]
    assert float(page.inner_text("#figure-f1")) == pytest.approx(scores[best], abs=1e-9)


def test_answers_of_auto_are_those_of_its_file(open_page, tmp_path):
    """Categories, missing values, columns that are left out; the parts of an answer add up to its score."""
    path, label, _more = titanic(tmp_path, np.random.default_rng(3))
    page = open_page()
    assert give(page, path) is None
    page.wait_for_selector("#save-model")
    found, _ = page_model(page, tmp_path)
    assert (found.auto, found.missing) == (True, "ignore")
    table = open_dataset([str(path)], reread=True)
    table.skip_unlabelled = True
    recipe = ColumnRecipe.from_member(columns_of(found))
    ((_, matrix, _classes, _codes),) = list(table.labelled(recipe, label))
    X = pd.DataFrame(
        np.concatenate([block for _, block in matrix.blocks()]), columns=list(recipe.feature_names)
    )
    gone = lines_without_label(path, label)
    for _ in range(6):
        said = page.inner_text("#what-if-answer")
        line = int(re.search(r"line (\d+)", said)[1])
        row = X.iloc[[line - 2 - sum(at < line for at in gone)]]
        answer = found.predict(row)[0]
        assert said.endswith(f"the answer is {answer}")
        parts = page.locator("#contributions .effect").all_inner_texts()
        shown = {part.split("\n")[0]: number(part.split("\n")[-1]) for part in parts}
        sign = 1 if answer == found.classes_[1] else -1
        score = sign * found.decision_function(row)[0]
        assert sum(shown.values()) == pytest.approx(score, abs=5e-4 * len(shown))
        together = found.contributions(row)[0][X.shape[1] :].sum()
        assert shown["several columns together"] == pytest.approx(sign * together, abs=6e-4)
        likely = found.predict_proba(row)[0].max()
        assert page.locator("#likely .likely").first.inner_text() == f"{100 * likely:.1f} %"
        page.click("text=Next row")


def number(text):
    return float(text.replace("−", "-"))


def test_a_model_of_auto_says_what_it_cannot_do(open_page):
    page = open_page()
    choose(page, "digits")
    page.wait_for_selector("#save-model")
    assert "A model of the auto method cannot learn further records" in page.inner_text("#teaches-not")
    assert "sefr export" in page.inner_text("#board")
    name, _content = saved(page, "save-model")
    assert name == "digits.sefr"
    page.click("#save-header")
    assert "sefr export" in page.inner_text("#carried")
