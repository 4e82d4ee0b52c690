"""A third task costs what differs in it: amounts, whose logarithm is predicted, go through every room."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.model_selection import cross_validate as sklearn_cross_validate

from sefr import ContributionsDisplay, CurvesDisplay, SEFRRegressor, comparison, cross_validate, model_file
from sefr._answers.fitted_numbers import FittedNumbers
from sefr._answers.task import REGRESS
from sefr._rows.inputs import labelled
from sefr._rows.labels import Target
from sefr._rows.matrix import Dense
from sefr._summary.summary import Summary
from sefr.comparison import NumberRow
from sefr.model_file import dump, parse
from sefr.report import explained, report


def amounts(y):
    """Read y as amounts."""
    target = Target.of_numbers(y)
    if (target.numbers <= 0).any():
        raise ValueError(f"amounts are above 0, but row {int(np.argmin(target.numbers[:, 0] > 0))} has none")
    return target._replace(numbers=np.log(target.numbers))


class FittedAmounts(FittedNumbers):
    def answers(self, scores):
        return np.exp(super().answers(scores))


class SEFRAmounts(SEFRRegressor):
    task = replace(REGRESS, name="amounts", nouns="amounts", read=amounts, fitted=FittedAmounts)


class AmountRow(NumberRow):
    estimator = SEFRAmounts


@pytest.fixture
def rows():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 4))
    return X, np.exp(1 + X @ [0.5, -1, 0.2, 0] + np.sin(3 * X[:, 0]) + rng.normal(0, 0.1, 300))


@pytest.fixture(params=[{}, {"bins": 8}, {"auto": True}, {"moments": 1, "passes": 5}], ids=str)
def params(request):
    return request.param


def trained(rows, params):
    """Return a model of amounts, and one of their logarithms."""
    X, y = rows
    return SEFRAmounts(**params).fit(X, y), SEFRRegressor(**params).fit(X, np.log(y))


def test_it_answers_and_knows_how_sure_it_is(rows, params):
    own, plain = trained(rows, params)
    np.testing.assert_array_equal(own.predict(rows[0]), np.exp(plain.predict(rows[0])))
    for ours, theirs in zip(
        own.predict(rows[0], interval=0.9), plain.predict(rows[0], interval=0.9), strict=True
    ):
        np.testing.assert_array_equal(ours, np.exp(theirs))
    assert own.score(*rows) > 0.5


def test_all_ways_of_learning_are_there(rows):
    X, y = rows
    whole = SEFRAmounts().fit(X, y)
    part = SEFRAmounts().fit(X[:200], y[:200])
    rest = SEFRAmounts().fit(X[200:], y[200:])
    for same in (
        SEFRAmounts().fit_batches([(X[:100], y[:100]), (X[100:], y[100:])]),
        SEFRAmounts().partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:]),
        part.merge(rest),
        SEFRAmounts().fit(np.vstack([X, X[:50]]), np.append(y, y[:50])).forget(X[:50], y[:50]),
        SEFRAmounts.from_summary(whole.summary_),
    ):
        assert isinstance(same.fitted_, FittedAmounts)
        np.testing.assert_allclose(same.predict(X), whole.predict(X), rtol=1e-6)
    assert isinstance(whole.decay(0.5).fitted_, FittedAmounts)


def test_what_is_wrong_is_said_in_its_words(rows):
    X, y = rows
    with pytest.raises(ValueError, match="amounts are above 0, but row 3 has none"):
        SEFRAmounts().fit(X, np.where(np.arange(300) == 3, 0, y))
    with pytest.raises(TypeError, match="merge takes another SEFRAmounts, a Summary, or rows with"):
        SEFRAmounts().fit(X, y).merge(SEFRRegressor().fit(X, y))


def test_a_file_keeps_it(rows, params, monkeypatch):
    """Which estimator a Summary of numbers is of, the model file asks the estimators that it has."""
    own, _ = trained(rows, params)
    monkeypatch.setattr(model_file, "ESTIMATORS", (SEFRAmounts,))
    again = parse(dump(own))
    assert type(again) is SEFRAmounts
    np.testing.assert_array_equal(again.predict(rows[0]), own.predict(rows[0]))


def test_it_is_cross_validated_in_one_pass_and_compared(rows, monkeypatch):
    X, y = rows
    monkeypatch.setattr("sefr.validation.SEFRRegressor", SEFRAmounts)  # for which one pass is known to do
    ours = cross_validate(SEFRAmounts(), X, y, cv=KFold(4))["test_score"]
    monkeypatch.undo()
    theirs = sklearn_cross_validate(SEFRAmounts(), X, y, cv=KFold(4))["test_score"]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    monkeypatch.setattr(comparison, "TASKS", comparison.TASKS | {"amounts": AmountRow})
    table = comparison.compare(X, y, cv=3, task="amounts")
    assert table.recommended.best_by > 0.8
    assert type(table.best_estimator()) is SEFRAmounts


def test_it_is_drawn_and_explained(rows):
    X, y = rows
    curved = SEFRAmounts(bins=6).fit(X, y)
    assert CurvesDisplay.from_estimator(curved).added_to == "prediction"
    display = ContributionsDisplay.from_estimator(curved, X[:1])
    assert np.exp(display.score + curved.base_) == pytest.approx(curved.predict(X[:1])[0])
    plt.close("all")
    records = explained(curved, X[:3], places=["a", "b", "c"])
    np.testing.assert_allclose([record["answer"] for record in records], curved.predict(X[:3]))
    assert "R² on the rows learned" in report(curved, title="amounts", records=records)


def test_rows_may_have_classes_and_numbers():
    """Sums of each class, and products of two targets with all features: one target holds both."""
    rng = np.random.default_rng(1)
    X, labels, numbers = rng.normal(size=(40, 3)), rng.integers(3, size=40), rng.normal(size=(40, 2))

    def both(y):
        return Target.of_labels(y)._replace(numbers=numbers)

    rows = labelled(Dense(X), labels, None, both)
    for moments in (1, 2):
        parts = [Summary.of_rows(rows.take(at), moments=moments) for at in np.split(np.arange(40), [15])]
        whole = parts[0] + parts[1]
        np.testing.assert_allclose(whole.sums[1], X[labels == 1].sum(axis=0))
        products = whole.products.about(np.zeros(5))
        np.testing.assert_allclose(products.towards_targets(), X.T @ numbers, atol=1e-12)
        assert Summary.from_bytes(whole.to_bytes()) == whole
        np.testing.assert_allclose((whole - parts[0]).sums, parts[1].sums, atol=1e-12)
