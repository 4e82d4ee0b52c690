"""Samples as they come give the windows that a whole recording gives."""

import tracemalloc

import numpy as np
import pytest

from sefr import SEFRClassifier
from sefr.signals import SignalFeatures, SignalStream, cut


@pytest.mark.parametrize("hop", [1, 3, 16, 20, 50])
@pytest.mark.parametrize("axes", [1, 2])
def test_a_stream_equals_the_recording(hop, axes, rng):
    signal = rng.integers(0, 1024, (300, axes))
    features = SignalFeatures(16, axes, dilations=1, kernels=7, range=(0, 1023)).fit()
    whole = features.transform(cut(signal, 16, hop))
    stream, at, parts = SignalStream(features, hop), 0, []
    for n in rng.integers(0, 40, 100).tolist():
        parts.append(stream.add(signal[at : at + n]))
        at += n
    assert at >= len(signal)
    assert (np.concatenate(parts) == whole).all()
    assert len(whole) == (300 - 16) // hop + 1


def test_a_gap_resets(rng):
    features = SignalFeatures(8, range=(0, 9)).fit()
    stream = SignalStream(features)
    stream.add(range(7))
    stream.reset()
    assert len(stream.add([1])) == 0
    assert len(stream.add(range(7))) == 1
    with pytest.raises(ValueError, match="sample 1, axis 0 is nan: reset the stream at a gap"):
        stream.add([1, np.nan])
    with pytest.raises(ValueError, match=r"expected \(n, 1\)"):
        stream.add([[1, 2]])
    with pytest.raises(ValueError, match="hop must be 1 or more"):
        SignalStream(features, 0)


def test_bad_recordings_are_refused():
    assert cut([1, 2, 3], 4).shape == (0, 1, 4)
    with pytest.raises(ValueError, match="a recording has the shape"):
        cut([[[1]]], 4)
    with pytest.raises(ValueError, match="length and hop"):
        cut([1, 2], 0)


@pytest.mark.parametrize("moments", [1, 2])
def test_recordings_are_learned_one_at_a_time(moments, rng):
    """What does not fit in memory: one recording after the other equals all windows at once."""
    features = SignalFeatures(32, dilations=2, range=(-2000, 2000)).fit()
    waves = {"slow": 0.2, "fast": 1.5}
    recordings = [
        (np.rint(1500 * np.sin(speed * np.arange(400)) + rng.normal(0, 50, 400)), name)
        for name, speed in waves.items()
        for _ in range(5)
    ]

    def batches():
        for signal, name in recordings:
            F = features.transform(cut(signal, 32, 8))
            yield F, np.repeat(name, len(F))

    clf = SEFRClassifier(moments=moments).fit_batches(batches)
    X, y = (np.concatenate(parts) for parts in zip(*batches(), strict=True))
    whole = SEFRClassifier(moments=moments).fit(X, y)
    assert clf.summary_ == whole.summary_
    # products are about the first rows' means, which differ: what is solved from them is rounded elsewhere
    allowed = 0 if moments == 1 else 1e-9 * np.abs(whole.coef_).max()
    assert np.abs(clf.coef_ - whole.coef_).max() <= allowed
    assert clf.score(X, y) == 1


def long_recordings(count, seen):
    """Yield recordings of 20,000 samples and two axes with their labels, each made when it is asked for."""
    for number in range(count):
        rng = np.random.default_rng(number)
        label, speed = (("slow", 0.2), ("fast", 1.5))[number % 2]
        angle = speed * np.arange(20_000)[:, None] + rng.uniform(0, 6, 2)
        signal = np.rint(1500 * np.sin(angle) + rng.normal(0, 50, angle.shape))
        seen.append(signal.nbytes)
        yield signal, label


def traced_peak(count, settings):
    """Return a model of so many recordings, the memory that its training held, and their size, in bytes."""
    features = SignalFeatures(64, 2, dilations=2, range=(-2000, 2000)).fit()
    seen = []

    def batches():
        for signal, name in long_recordings(count, seen):
            F = features.transform(cut(signal, 64, 32))
            yield F, np.repeat(name, len(F))

    tracemalloc.start()
    try:
        clf = SEFRClassifier(**settings).fit_batches(batches)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(seen) >= count * settings.get("passes", 1)
    return clf, peak, sum(seen[:count])


@pytest.mark.parametrize(("settings", "share"), [({}, 0.5), ({"passes": 2}, 0.5), ({"moments": 2}, 1)])
def test_memory_does_not_grow_with_the_recordings(settings, share):
    """Sixty recordings take as much memory as twelve, and less than they are large: X'X at most."""
    few, first, _ = traced_peak(12, settings)
    clf, peak, size = traced_peak(60, settings)
    assert clf.summary_.n_rows == 60 * 624 == 5 * few.summary_.n_rows
    assert peak < 1.25 * first
    assert peak < share * size
