"""A model of a Summary has the bins, interactions and missing values of that Summary, or is refused."""

import numpy as np
import pytest

from sefr import SEFRClassifier, SEFRRegressor, Summary

EDGES = [np.array([0.5, 1.0]), np.array([0.0]), np.array([-1.0, 2.0])]


@pytest.fixture
def rows(rng):
    return rng.normal(size=(400, 3)), rng.integers(0, 2, 400)


def test_bins_of_a_summary_of_values_are_refused(rows):
    for moments in (1, 2):
        summary = Summary.of(*rows, moments=moments)
        for bins in (8, EDGES):
            with pytest.raises(ValueError, match="bins: this Summary has sums of values, not of bins"):
                SEFRClassifier.from_summary(summary, bins=bins)
    numbers = SEFRRegressor().fit(*rows).summary_
    with pytest.raises(ValueError, match="bins: this Summary has sums of values, not of bins"):
        SEFRRegressor.from_summary(numbers, bins=8)


@pytest.mark.parametrize(
    ("made", "asked", "feature"),
    [
        ({"bins": 8}, {"bins": 4}, 0),
        ({"bins": EDGES}, {"bins": 2}, 0),
        ({"bins": EDGES}, {"bins": [*EDGES[:2], np.array([-1.0, 3.0])]}, 2),
        ({"bins": 8}, {"bins": EDGES}, 0),
        ({"bins": 8, "scale": (-9, 9)}, {"bins": 8, "scale": (-9, 10)}, 0),
        ({"bins": 8}, {"bins": 8, "scale": (-9, 9)}, 0),
    ],
)
def test_other_bins_are_refused(rows, made, asked, feature):
    summary = SEFRClassifier(**made).fit(*rows).summary_
    with pytest.raises(ValueError, match=f"bins: this Summary cuts column {feature} at other edges than"):
        SEFRClassifier.from_summary(summary, **asked)


def test_interactions_that_a_summary_does_not_have_are_refused(rows):
    summary = SEFRClassifier(bins=8).fit(*rows).summary_
    with pytest.raises(ValueError, match="interactions: this Summary has 0 of them"):
        SEFRClassifier.from_summary(summary, bins=8, interactions=5)
    grown = SEFRClassifier(bins=8, interactions=5).fit(*rows).summary_
    n_ferns = len(grown.coder.ferns.sizes)
    with pytest.raises(ValueError, match=f"interactions: this Summary has {n_ferns} of them"):
        SEFRClassifier.from_summary(grown, bins=8, interactions=n_ferns - 1)


def test_a_bin_for_missing_values_that_is_not_there_is_refused(rows):
    """NaN was taken for the lowest bin."""
    summary = SEFRClassifier(bins=8).fit(*rows).summary_
    with pytest.raises(ValueError, match="missing='ignore': this Summary has no bin for missing values"):
        SEFRClassifier.from_summary(summary, bins=8, missing="ignore")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"bins": 8},
        {"bins": 255, "missing": "ignore"},
        {"bins": 256},
        {"bins": 8, "scale": (-9, 9)},
        {"bins": 8, "scale": (-9, 9), "missing": "ignore"},
        {"bins": EDGES, "interactions": 5},
        {"bins": 8, "moments": 2, "interactions": 5},
        {"scale": (-9, 9), "missing": "ignore"},
    ],
)
def test_the_settings_that_a_summary_was_made_with_are_taken(rows, settings):
    X, y = rows
    clf = SEFRClassifier(**settings).fit(X, y)
    again = SEFRClassifier.from_summary(clf.summary_, **clf.get_params())
    assert (again.decision_function(X) == clf.decision_function(X)).all()
    without = {name: value for name, value in settings.items() if name not in ("bins", "interactions")}
    plain = SEFRClassifier.from_summary(clf.summary_, **without)
    assert (plain.predict(X) == clf.predict(X)).all()
