"""Second moments in the page: the sums are those of Python, and so are the answers."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from steps import choose, give, method, saved, train, without_calibration
from test_dial_and_bins import confusion_of_folds, label_of
from test_equal_to_python import assert_same_probabilities, shown_confusion
from test_real_tables import penguins, titanic

from sefr import load, save
from sefr.files import ColumnRecipe, open_dataset
from sefr.model_file import columns_of

BINS = {"flowers": 32, "digits": 8, "gestures": 32}


def page_model(page, folder):
    name, content = saved(page, "save-model")
    path = folder / name
    path.write_bytes(content)
    return load(path), content


@pytest.mark.slow
@pytest.mark.parametrize("example", ["flowers", "digits"])
def test_exact_gives_the_same_sums_and_answers(page, tmp_path, example_files, example):
    path = example_files[example]
    choose(page, example)
    method(page, "exact")
    found, content = page_model(page, tmp_path)
    clf = train(path, label_of(path), bins=BINS[example], moments=2)
    save(clf, tmp_path / "own.sefr")
    assert without_calibration(content) == without_calibration((tmp_path / "own.sefr").read_bytes())
    # leave-one-out scores of the page's own solver are behind these: LAPACK solves the package's
    assert_same_probabilities(found, clf)
    if example == "flowers":
        expected = confusion_of_folds(path, label_of(path), tmp_path, bins=BINS[example], moments=2)
        assert shown_confusion(page) == expected.tolist()


@pytest.mark.parametrize("made", [titanic, penguins])
def test_exact_of_real_tables_has_the_answers_of_the_package(page, tmp_path, made):
    """Categories, dates, missing values and columns that are left out."""
    path, label, _more = made(tmp_path, np.random.default_rng(3))
    assert give(page, path) is None
    method(page, "exact")
    found, _ = page_model(page, tmp_path)
    again = type(found).from_summary(found.summary_, **found.get_params())
    assert (found.moments, found.bins, found.missing) == (2, 32, "ignore")
    recipe = ColumnRecipe.from_member(columns_of(found))
    table = open_dataset([str(path)], reread=True, dates=recipe.dates)
    table.skip_unlabelled = True
    ((_, matrix, classes, codes),) = list(table.labelled(recipe, label))
    X = pd.DataFrame(
        np.concatenate([block for _, block in matrix.blocks()]), columns=list(recipe.feature_names)
    )
    assert (again.predict(X) == classes[codes]).mean() > 0.7
    # what the page says of its rows, one after the other, is what the package says
    for _ in range(6):
        said = page.inner_text("#what-if-answer")
        line = int(re.search(r"line (\d+)", said)[1])
        row = X.iloc[[line - 2 - sum(gone < line for gone in lines_without_label(path, label))]]
        answer = found.predict(row)[0]
        assert said.endswith(f"the answer is {answer}")
        likely = dict(zip(found.classes_, found.predict_proba(row)[0], strict=True))
        shown = {
            name: float(percent.split()[0]) / 100
            for name, percent in zip(
                page.locator("#likely .score > span:first-child").all_inner_texts(),
                page.locator("#likely .likely").all_inner_texts(),
                strict=True,
            )
        }
        assert list(shown.values()) == sorted(shown.values(), reverse=True)
        assert shown == pytest.approx(likely, abs=6e-4)
        page.click("text=Next row")


def lines_without_label(path, label):
    frame = pd.read_csv(path)
    return [int(at) + 2 for at in np.flatnonzero(frame[label].isna())]


def test_an_exact_model_is_taught_and_forgets_exactly(page, tmp_path):
    choose(page, "digits")
    method(page, "exact")
    before, untouched = page_model(page, tmp_path)
    page.focus("#pad")
    for key in ("ArrowUp", "Space", "ArrowDown", "ArrowDown", "ArrowDown", "Space"):
        page.keyboard.press(key)
    page.click("#teach-0")
    after, _ = page_model(page, tmp_path)
    assert after.summary_.counts[0] == before.summary_.counts[0] + 1
    taught = after.summary_ - before.summary_
    pixels = taught.sums[0]
    assert taught.products.count == 1
    np.testing.assert_array_equal(taught.products.matrix(), np.outer(pixels, pixels))  # of one row
    page.click("#undo")
    assert page_model(page, tmp_path)[1] == untouched


def test_categories_exclude_each_other(page, tmp_path):
    path, _label, _more = penguins(tmp_path, np.random.default_rng(3))
    assert give(page, path) is None
    menu = page.locator("#what-if .menu", has_text="island").locator("select")
    for island in ("Biscoe", "Dream"):
        menu.select_option(label=island)
        parts = page.inner_text("#contributions")
        assert f"island = {island}" in parts
        assert parts.count("island") == 1


def test_a_label_with_a_row_per_class_is_refused(page, tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{i},{i % 3},{name}" for i, name in enumerate("abcdefghijkaa")]
    path.write_text("\n".join(["a,b,kind", *rows]) + "\n")
    said = give(page, path)
    assert "11 different labels, and 10 of them in one row only" in said
    assert page.locator("#board").is_hidden()
