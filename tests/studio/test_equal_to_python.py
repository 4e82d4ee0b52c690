"""What the page trains and writes is what the package trains and writes from the same file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from steps import EXAMPLES, choose, give, saved, train, unzipped, without_calibration

from sefr import load, save
from sefr.classifier import SEFRClassifier
from sefr.device.export import export
from sefr.files import open_dataset
from sefr.files.learning import evaluate_folds, learn_folds


def folds_of(path, label, *, categories=(), missing="error", **params):
    """Return the confusion matrix of ten folds from one pass."""
    table = open_dataset([str(path)], reread=True)
    recipe = table.recipe(label, categories=categories)
    folds = learn_folds(table, recipe, 10, missing=missing, tick=lambda rows: None)
    models = []
    for k in range(10):
        others = [fold for j, fold in enumerate(folds) if j != k]
        models.append(SEFRClassifier.from_summary(sum(others[1:], others[0]), missing=missing, **params))
    return evaluate_folds(table, recipe, models).matrix()


def trained(path, label, **params):
    """Return the model that ``sefr train`` writes from a file, and the confusion matrix of ten folds."""
    return train(path, label, **params), folds_of(path, label, **params)


def shown_confusion(page):
    cells = page.eval_on_selector_all(
        "#confusion tbody tr",
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(c => c.textContent))",
    )
    return [[0 if cell == "·" else int(cell) for cell in row] for row in cells]


def assert_same_probabilities(theirs, own):
    """Temperature and offsets are found by Newton's method, which rounds: to 1e-9."""
    found, expected = (clf.fitted_.probability_scaling for clf in (theirs, own))
    assert (found is None) == (expected is None)
    if expected is not None:
        scores = np.random.default_rng(1).normal(size=(50, own.fitted_.summary.n_scores))
        scores /= max(expected.inverse, 1e-3)
        np.testing.assert_allclose(
            found.probabilities(scores), expected.probabilities(scores), rtol=0, atol=1e-9
        )


def assert_same_model(page, clf, confusion, tmp_path):
    name, content = saved(page, "save-model")
    own = tmp_path / "own.sefr"
    save(clf, own)
    assert without_calibration(content) == without_calibration(own.read_bytes())
    theirs = tmp_path / name
    theirs.write_bytes(content)
    other = load(theirs)
    np.testing.assert_array_equal(other.coef_, clf.coef_)
    np.testing.assert_array_equal(other.intercept_, clf.intercept_)
    assert_same_probabilities(other, clf)
    if confusion is not None:
        assert shown_confusion(page) == confusion.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_give_the_same_model_and_the_same_code(page, tmp_path, example, example_files):
    choose(page, example)
    path = example_files[example]
    label = path.read_text().splitlines()[0].split(",")[-1]
    clf, confusion = trained(path, label)
    assert_same_model(page, clf, confusion, tmp_path)
    for bits in ("8", "16"):
        page.select_option("#weight-bits", bits)
        assert_same_code(page, clf, example, tmp_path / bits, f"int{bits}")


def refused(call):
    """Return what a call says when it refuses, None when it does not."""
    try:
        call()
    except ValueError as error:
        return str(error)
    return None


def assert_same_code(page, clf, name, folder, weights):
    header = export(clf, "c", folder / "c", name=name, weights=weights)
    assert saved(page, "save-header") == (header.name, header.read_bytes())
    for learn_there in (False, True):
        page.set_checked("#sketch-learns", learn_there)
        options = {"name": name, "weights": weights, "learn": learn_there}
        place = folder / str(learn_there)
        said = refused(lambda place=place, options=options: export(clf, "arduino", place, **options))
        if said is not None:
            page.click("#save-sketch")
            assert page.inner_text("#carried") == said
            continue
        sketch = place / header.stem
        archive, content = saved(page, "save-sketch")
        assert archive == f"{sketch.name}.zip"
        own = {
            str(file.relative_to(sketch.parent)): file.read_bytes()
            for file in sketch.rglob("*")
            if file.is_file()
        }
        assert unzipped(content) == own
    page.set_checked("#sketch-learns", False)


def random_table(rng, number):
    """Return a CSV with offsets, constants, truth values, categories and, in every second, missing values."""
    n, m, n_classes = int(rng.choice([40, 400, 20_000])), int(rng.integers(1, 14)), int(rng.integers(2, 9))
    labels = [
        [str(k) for k in range(9)],
        list("bdaczé😀\uffeeh"),
        ["no", "yes", "x10", "x2", "10.0", *"pqrs"],
    ][number % 3]
    y = np.arange(n) % n_classes
    rng.shuffle(y)
    X = rng.normal(size=(n, m)) + y[:, None] * rng.normal(size=m)
    cells = []
    for j, kind in enumerate(rng.integers(0, 7, m)):
        column = X[:, j]
        if kind == 0:
            cells.append(["true" if value > 0 else "false" for value in column])
        elif kind == 1:
            cells.append(
                ["red" if value > 1 else "green" if value > 0 else 'it\'s, "blue"' for value in column]
            )
        elif kind == 2:
            cells.append([repr(float(value)) for value in column + 10.0 ** rng.integers(3, 12)])
        elif kind == 3:
            cells.append([str(int(10 * value)) for value in column])
        else:
            cells.append([repr(float(value)) for value in column])
    names = [f"f{j}" for j in range(m)]
    hot = [name for name, column in zip(names, cells, strict=True) if {"red", "green"} & set(column)]
    missing = number % 2 == 1
    if missing:
        for _ in range(n * m // 30 + 1):
            cells[rng.integers(m)][rng.integers(n)] = rng.choice(["", "NA", "?"])
    rows = [[*row, labels[k]] for *row, k in zip(*cells, y, strict=True)]
    quoted = [",".join('"' + v.replace('"', '""') + '"' if "," in v else v for v in row) for row in rows]
    return "\n".join([",".join([*names, "kind"]), *quoted]) + "\n", hot, missing


@pytest.mark.slow
@pytest.mark.parametrize("number", range(8))
def test_random_tables_give_the_same_model_and_the_same_code(page, tmp_path, number):
    text, hot, missing = random_table(np.random.default_rng(number), number)
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    balanced = number % 4 == 2
    give(page, path)
    page.select_option("#label", "kind")
    if balanced:
        page.check("#balanced")
    page.wait_for_selector("#figure-accuracy")
    page.wait_for_selector("body:not(.busy)")
    params = {"missing": "ignore"} if missing else {}
    params |= {"class_weight": "balanced"} if balanced else {}
    clf, confusion = trained(path, "kind", categories=hot, **params)
    assert_same_model(page, clf, confusion, tmp_path)
    said = refused(lambda: export(clf, "c", tmp_path / "tried"))
    if said is not None:
        page.click("#save-header")
        assert page.inner_text("#carried") == said
        return
    assert_same_code(page, clf, "table", tmp_path / "code", "int8")


def test_the_settings_in_a_file_are_those_of_the_package(page, tmp_path):
    choose(page, "flowers")
    page.check("#balanced")
    page.wait_for_selector("body:not(.busy)")
    settings = json.loads(saved(page, "save-model")[1])["settings"]
    assert settings == SEFRClassifier(class_weight="balanced").get_params()


# What every object of JavaScript has, and names that such an object would put in another order.
NUMBERS = ("constructor", "toString", "hasOwnProperty", "10", "2")
TEXTS = ("__proto__", "valueOf", "7")


def test_columns_called_as_what_objects_have_are_columns_like_others(page, tmp_path):
    rng = np.random.default_rng(5)
    rows = [",".join([*NUMBERS, *TEXTS, "kind"])]
    for i in range(60):
        numbers = (rng.normal(size=len(NUMBERS)) + i % 2).round(3)
        texts = rng.choice(["toString", "__proto__", "constructor"], len(TEXTS))
        rows.append(",".join([*map(str, numbers), *texts, ("prototype", "__proto__")[i % 2]]))
    path = tmp_path / "objects.csv"
    path.write_text("\n".join(rows) + "\n")
    assert give(page, path) is None
    for name in TEXTS:
        page.evaluate("() => { document.querySelector('#carry').replaceChildren(); }")
        page.select_option(f"select[aria-label='Use of {name}']", "categories")
        page.wait_for_selector("#save-model")
    clf, confusion = trained(path, "kind", categories=TEXTS)
    assert_same_model(page, clf, confusion, tmp_path)
    _name, content = saved(page, "save-sketch")
    assert all(name.startswith("objects/") for name in unzipped(content))
    page.click("#copy-link")
    wanted = page.evaluate("() => new URLSearchParams(location.hash.slice(1)).getAll('categories')")
    assert wanted == list(TEXTS)
