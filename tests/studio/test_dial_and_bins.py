"""Bins and further passes in the page: bins to the bit, passes to 1e-9, folds fitted as in Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from steps import choose, give, saved, train, turn, without_calibration
from test_equal_to_python import assert_same_code, assert_same_probabilities, random_table, shown_confusion

from sefr import SEFRClassifier, load, save
from sefr.files import open_dataset
from sefr.files.learning import without_feature_names

# Sums in float32 are the same to the bit where the processor multiplies and adds with one rounding (AVX2).
try:
    from numpy._core._multiarray_umath import __cpu_features__ as cpu
except ImportError:  # numpy 1
    from numpy.core._multiarray_umath import __cpu_features__ as cpu
CLOSE = 1e-9 if cpu.get("FMA3") else 1e-4

EXAMPLES = [("flowers", 8), ("digits", 16), ("gestures", 32)]


def label_of(path):
    return path.read_text().splitlines()[0].split(",")[-1]


def page_model(page, folder):
    name, content = saved(page, "save-model")
    path = folder / name
    path.write_bytes(content)
    return load(path), content


def rows_of(path, label):
    table = open_dataset([str(path)], reread=True)
    recipe = table.recipe(label)
    batches = list(table.labelled(recipe, label))
    X = np.concatenate(
        [np.concatenate([block for _, block in matrix.blocks()]) for _, matrix, _, _ in batches]
    )
    y = np.concatenate([classes[codes] for _, _, classes, codes in batches])
    return X, y


def confusion_of_folds(path, label, folder, **params):
    """Ten models, each trained as from a file without the rows of its fold, which are dealt out in turn."""
    X, y = rows_of(path, label)
    fold = np.empty(len(y), dtype=int)
    for k in np.unique(y):
        fold[y == k] = np.arange((y == k).sum()) % 10
    head, *lines = path.read_text().splitlines()
    classes = np.unique(y)
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    for f in range(10):
        part = folder / "part.csv"
        part.write_text(
            "\n".join([head, *(line for line, at in zip(lines, fold, strict=True) if at != f)]) + "\n"
        )
        answers = without_feature_names(train(part, label, **params)).predict(X[fold == f])
        np.add.at(
            counts, (np.searchsorted(classes, y[fold == f]), np.searchsorted(classes, answers.astype(str))), 1
        )
    return counts


def assert_close(found, expected):
    """Compare what further passes found, each array in units of its largest entry."""
    for name in ("weights", "bias"):
        own, theirs = (np.asarray(getattr(clf.fitted_.refined.planes, name)) for clf in (expected, found))
        assert np.abs(theirs - own).max() <= CLOSE * max(1, np.abs(own).max()), name
    curves = [np.array(clf.fitted_.refined.loss_curve) for clf in (found, expected)]
    np.testing.assert_allclose(*curves, rtol=CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize(("example", "bins"), EXAMPLES)
def test_bins_give_the_same_model_to_the_bit(page, tmp_path, example_files, example, bins):
    path = example_files[example]
    label = label_of(path)
    choose(page, example)
    turn(page, bins=bins)
    found, content = page_model(page, tmp_path)
    clf = train(path, label, bins=bins)
    save(clf, tmp_path / "own.sefr")
    assert without_calibration(content) == without_calibration((tmp_path / "own.sefr").read_bytes())
    np.testing.assert_array_equal(found.fitted_.model.entries, clf.fitted_.model.entries)
    assert_same_probabilities(found, clf)
    if example != "digits":  # ten trainings in Python each
        assert shown_confusion(page) == confusion_of_folds(path, label, tmp_path, bins=bins).tolist()


@pytest.mark.slow
@pytest.mark.parametrize(("example", "bins"), [*EXAMPLES, *((name, None) for name, _ in EXAMPLES)])
def test_passes_come_as_near_as_rounding_lets_them(page, tmp_path, example_files, example, bins):
    path = example_files[example]
    label = label_of(path)
    choose(page, example)
    turn(page, bins=bins)
    turn(page, passes=10, bins=bins)
    found, _ = page_model(page, tmp_path)
    clf = train(path, label, passes=10, bins=bins)
    assert found.get_params() == clf.get_params()
    assert_close(found, clf)
    assert_same_probabilities(found, clf)
    assert "10 passes" in page.inner_text("#train .lead")
    if example != "digits":
        assert (
            shown_confusion(page) == confusion_of_folds(path, label, tmp_path, passes=10, bins=bins).tolist()
        )
    if bins is None:
        assert_same_code(page, found, example, tmp_path / "code", "int8")
    else:
        page.click("#save-header")
        assert "the page writes no C of a model with bins" in page.inner_text("#carried")
    assert page.locator("#save-model").count() == 1


@pytest.mark.slow
def test_passes_that_are_left_weaken_the_penalty_as_in_python(page, tmp_path, example_files):
    path = example_files["flowers"]
    choose(page, "flowers")
    turn(page, passes=30)
    found, _ = page_model(page, tmp_path)
    clf = train(path, label_of(path), passes=30)
    assert clf.loss_curve_[-1] < 0.5 * train(path, label_of(path), passes=15).loss_curve_[-1]
    assert_close(found, clf)
    assert_same_probabilities(found, clf)


@pytest.mark.slow
def test_sparse_rows_with_rare_features_are_sampled_as_in_python(page, tmp_path):
    """More rows than choose the steps of rows that are not sparse."""
    rng = np.random.default_rng(0)
    often = np.where(np.arange(30) < 6, 0.1, 0.01)
    X = rng.integers(1, 9, (3000, 30)) * (rng.random((3000, 30)) < often)
    X[0] = 9
    score = X @ rng.laplace(size=30)
    kind = np.where(score + rng.logistic(size=3000) > score.mean(), "a", "b")
    path = tmp_path / "table.csv"
    pd.DataFrame(X, columns=[f"word{j}" for j in range(30)]).assign(kind=kind).to_csv(path, index=False)
    give(page, path)
    page.select_option("#label", "kind")
    page.wait_for_selector("#figure-accuracy")
    page.wait_for_selector("body:not(.busy)")
    turn(page, passes=10)
    found, _ = page_model(page, tmp_path)
    clf = train(path, "kind", passes=10)
    assert_close(found, clf)
    assert_same_probabilities(found, clf)


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 3, 5, 7])
def test_random_tables_give_the_same_bins_and_nearly_the_same_passes(page, tmp_path, number):
    """With missing values, categories, truth values, two classes and more, and balanced classes."""
    text, hot, missing = random_table(np.random.default_rng(number), number)
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    give(page, path)
    page.select_option("#label", "kind")
    params = {"missing": "ignore"} if missing else {}
    if number == 2:
        params["class_weight"] = "balanced"
        page.check("#balanced")
    page.wait_for_selector("#figure-accuracy")
    page.wait_for_selector("body:not(.busy)")
    for bins in (16, None):
        turn(page, bins=bins)
        if bins is not None:
            _, content = page_model(page, tmp_path)
            save(train(path, "kind", categories=hot, bins=bins, **params), tmp_path / "own.sefr")
            assert without_calibration(content) == without_calibration((tmp_path / "own.sefr").read_bytes())
        turn(page, bins=bins, passes=3)
        found, _ = page_model(page, tmp_path)
        clf = train(path, "kind", categories=hot, passes=3, bins=bins, **params)
        assert_close(found, clf)
        assert_same_probabilities(found, clf)
        turn(page, bins=bins)


def test_curves_are_shown_and_follow_the_class(page):
    choose(page, "flowers")
    assert page.locator("#curves").count() == 0
    turn(page, bins=8)
    assert page.locator("#curves svg").count() == 4
    said = page.locator("#curves svg").first.get_attribute("aria-label")
    assert "adds" in said
    page.select_option("#looks-class", "2")
    assert page.locator("#curves svg").first.get_attribute("aria-label") != said
    before = page.inner_text("#contributions")
    page.locator(".slider input").first.focus()
    for _ in range(60):
        page.keyboard.press("ArrowRight")
    assert page.inner_text("#contributions") != before


def test_a_model_of_further_passes_says_that_it_cannot_learn_on(page):
    choose(page, "digits")
    turn(page, passes=3)
    assert page.locator("#teach-0").is_disabled()
    assert "A model of several passes cannot learn further records" in page.inner_text("#teaches-not")
    page.click("#learn-board")
    refused = page.wait_for_selector("#learn-board + .ran .refusal").inner_text()
    assert "A model of several passes cannot learn further records" in refused
    page.click("#run-board")
    assert int(page.wait_for_selector("#board-answers").inner_text().split()[0]) >= 17


def test_a_link_carries_the_dial_and_refuses_what_is_no_number(open_page):
    page = open_page(words="#example=flowers&label=species&passes=7&bins=12")
    page.wait_for_selector("#save-model")
    assert (page.input_value("#passes"), page.input_value("#bins")) == ("7", "12")
    page.click("#copy-link")
    assert "passes=7&bins=12" in page.evaluate("location.hash")
    for words in ("passes=0&bins=1", "passes=1e9&bins=999", "passes=<b>&bins=-2"):
        page = open_page(words=f"#example=flowers&label=species&{words}")
        page.wait_for_selector("#save-model")
        assert (page.input_value("#passes"), page.input_value("#bins")) == ("1", "")


def test_probabilities_are_shown_and_are_those_of_the_file(page, tmp_path):
    choose(page, "flowers")
    page.wait_for_selector("#save-model")
    clf, _ = page_model(page, tmp_path)
    page.click("text=Typical row")
    shown = dict(
        page.eval_on_selector_all(
            "#what-if .score",
            "rows => rows.map(row => [row.children[0].textContent, row.children[2].textContent])",
        )
    )
    summary = clf.summary_
    mean = pd.DataFrame([summary.sums.sum(axis=0) / summary.n_rows], columns=clf.feature_names_in_)
    expected = dict(zip(clf.classes_.tolist(), clf.predict_proba(mean)[0], strict=True))
    assert {name: f"{100 * p:.1f} %" for name, p in expected.items()} == shown


def test_teaching_goes_on_with_bins_and_is_taken_back_exactly(page):
    choose(page, "digits")
    turn(page, bins=8)
    untouched = saved(page, "save-model")[1]
    page.focus("#pad")
    page.keyboard.press("Space")
    for _ in range(6):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    page.click("#teach-1")
    assert saved(page, "save-model")[1] != untouched
    page.click("#undo")
    assert saved(page, "save-model")[1] == untouched


def test_a_setting_beyond_the_package_is_not_offered(page):
    choose(page, "flowers")
    for name in ("passes", "bins"):
        offered = page.eval_on_selector_all(f"#{name} option", "all => all.map(option => option.value)")
        for value in offered:
            SEFRClassifier(**{name: int(value) if value else None}).check_params()
