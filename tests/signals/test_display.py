"""Evidence per sample adds up to the score, lies where the shape is, and can be drawn."""

import matplotlib
import numpy as np
import pytest

from sefr import SEFRClassifier
from sefr.signals import SignalDisplay, SignalFeatures
from sefr.signals.convolution import each_convolution
from sefr.signals.kernels import TAPS
from sefr.signals.reference import convolution, normalise, spread

matplotlib.use("Agg")


def bumps(rng, n, places):
    """Noise of one level, with a bump of 9 samples at a place, or none (-1)."""
    X = rng.normal(0, 30, (n, 80))
    for x, place in zip(X, places, strict=True):
        if place >= 0:
            x[place : place + 9] += [100, 300, 500, 600, 650, 600, 500, 300, 100]
    return np.rint(X)


@pytest.mark.parametrize(("axes", "statistics"), [(1, True), (2, True), (2, False)])
@pytest.mark.parametrize("classes", [2, 3])
def test_evidence_adds_up_to_the_score(axes, statistics, classes, rng):
    X = rng.integers(-3000, 3000, (30, axes, 40))
    y = np.arange(30) % classes
    features = SignalFeatures(statistics=statistics, thresholds=2).fit(X)
    F = features.transform(X)
    for clf in (SEFRClassifier().fit(F, y), SEFRClassifier(passes=3).fit(F, y)):
        display = SignalDisplay.from_estimator(features, clf, X, row=7, label=y[7])
        scores = np.ravel(clf.decision_function(F[7:8]))
        assert display.score == pytest.approx(scores[0 if classes == 2 else y[7]], abs=1e-9)
        assert display.evidence.sum() == pytest.approx(display.score, abs=1e-9)
        assert display.evidence.shape == (axes, 40)
        matplotlib.pyplot.close(display.figure_)


def test_convolutions_are_those_of_the_definition(rng):
    X = rng.integers(-32768, 32767, (4, 2, 33))
    X[1] //= 400
    features = SignalFeatures(kernels=14).fit(X)
    plan, samples = features.plan_, features.samples(X)
    found = zip(plan.convolutions, each_convolution(plan, samples), strict=True)
    for (axis, dilation, kernel), (convolved, spreads) in found:
        for n in range(len(X)):
            u = normalise(samples[n, axis].tolist())
            assert convolved[n].tolist() == convolution(u, dilation, TAPS[kernel])
            assert spreads[n] == spread(u, dilation)


def test_evidence_for_a_bump_lies_at_the_bump(rng):
    places = np.where(np.arange(200) % 2, rng.integers(5, 65, 200), -1)
    X = bumps(rng, 200, places)
    y = np.where(places >= 0, "bump", "a flat line")
    features = SignalFeatures(80, statistics=False, range=(-1000, 1000)).fit()
    clf = SEFRClassifier().fit(features.transform(X), y)
    assert clf.score(features.transform(X), y) > 0.95
    inside, outside = [], []
    for row in np.flatnonzero(places >= 0)[:20]:
        display = SignalDisplay.from_estimator(features, clf, X, row=int(row))
        evidence, at = display.evidence[0], places[row]
        inside.append(evidence[at - 2 : at + 11].mean())
        outside.append(np.delete(evidence, slice(at - 2, at + 11)).mean())
        matplotlib.pyplot.close(display.figure_)
    assert np.mean(inside) > np.mean(outside)
    assert np.mean(inside) > 0


def test_the_picture_names_label_axes_and_shapes(rng):
    X = rng.integers(0, 1000, (12, 2, 30))
    features = SignalFeatures(axis_names=["hip", "kn$ee"]).fit(X)
    clf = SEFRClassifier().fit(features.transform(X), np.arange(12) % 2)
    display = SignalDisplay.from_estimator(features, clf, X)
    assert [axis.get_ylabel() for axis in display.axes_[:2]] == ["hip", r"kn\$ee"]
    assert display.axes_[0].get_title().startswith("score for 1: ")
    bars = [text.get_text() for text in display.axes_[2].get_yticklabels()]
    assert len(bars) == 9
    assert bars[-1].endswith("others")
    display.figure_.canvas.draw()
    matplotlib.pyplot.close(display.figure_)


@pytest.mark.parametrize("settings", [{"bins": 8}, {"auto": True}], ids=str)
def test_bins_are_refused(rng, settings):
    X = rng.integers(0, 1000, (12, 30))
    features = SignalFeatures(dilations=1).fit(X)
    clf = SEFRClassifier(**settings).fit(features.transform(X), np.arange(12) % 2)
    with pytest.raises(ValueError, match="needs a model without bins"):
        SignalDisplay.from_estimator(features, clf, X)


def test_an_unknown_label_is_told(rng):
    X = rng.integers(0, 1000, (12, 30))
    features = SignalFeatures(dilations=1).fit(X)
    clf = SEFRClassifier().fit(features.transform(X), np.arange(12) % 3)
    with pytest.raises(ValueError, match=r"label must be one of \[0, 1, 2\], not 7"):
        SignalDisplay.from_estimator(features, clf, X, label=7)
