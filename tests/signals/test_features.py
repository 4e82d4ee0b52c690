"""Features of windows: the kernel equals the definition, and bad input is told in a sentence."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from sefr import SEFRClassifier, _native
from sefr._system.members import ModelFileError
from sefr.signals import SignalFeatures, reference
from sefr.signals.kernels import LAPLACE, TAPS, chosen_kernels, fixed_thresholds
from sefr.signals.plan import FURTHEST, SignalPlan
from sefr.signals.sampling import Sampling


def by_definition(plan, windows):
    return [
        reference.features(
            window, plan.dilations, plan.kernels, plan.levels.tolist(), plan.segments, plan.ranges
        )
        for window in np.asarray(windows).tolist()
    ]


def hostile(rng, n, axes, length):
    """Noise of 16 bits, steps between the extremes, constants, a wave, small noise."""
    kinds = [
        rng.integers(-32768, 32768, (n, axes, length)),
        rng.choice([-32768, 32767], (n, axes, length)),
        np.broadcast_to(rng.choice([-32768, 0, 32767, -1], (n, axes, 1)), (n, axes, length)),
        (9000 * np.sin(np.arange(length) / 5)).astype(int) + rng.integers(-30, 31, (n, axes, length)),
        rng.integers(510, 514, (n, axes, length)),
    ]
    return np.concatenate(kinds)


SHAPES = [
    (1, 2, {"dilations": 1}),
    (1, 9, {}),
    (1, 24, {"thresholds": 3}),
    (2, 33, {"kernels": 14, "segments": 5}),
    (3, 64, {"dilations": (1, 3, 7), "kernels": 28}),
    (1, 100, {"statistics": False}),
    (12, 25, {"thresholds": 2, "kernels": 1}),
    (1, 257, {"dilations": (32,), "range": (-100, 1000)}),
]


@pytest.mark.parametrize(("axes", "length", "settings"), SHAPES)
def test_the_kernel_equals_the_definition(axes, length, settings, rng):
    windows = hostile(rng, 2, axes, length)
    features = SignalFeatures(length, axes, **settings).fit(windows)
    found = features.transform(windows)
    assert found.dtype == np.uint8
    assert found.shape == (len(windows), len(features.get_feature_names_out()))
    assert found.tolist() == by_definition(features.plan_, features.samples(windows))


@given(data=st.data())
def test_any_window_equals_the_definition(data):
    length = data.draw(st.integers(2, 40))
    ends = st.sampled_from([-32768, -1, 0, 1, 2047, 2048, 32767])
    window = data.draw(st.lists(st.integers(-32768, 32767) | ends, min_size=length, max_size=length))
    plan = SignalFeatures(length, range=(-32768, 32767)).fit().plan_
    found = plan.features_of(np.array([[window]], np.int16))
    assert found.tolist() == by_definition(plan, [[window]])


@pytest.mark.parametrize(("least", "most"), [(-32768, 32767), (-FURTHEST, FURTHEST)])
def test_the_longest_window_overflows_nowhere(least, most):
    """The extremes in turn: the largest steps, deviations and counts that 4096 samples can have."""
    window = np.tile([least, most], 2048)[None, None]
    features = SignalFeatures(4096, dilations=(1, 511), kernels=2, range=(least, most), resolution=1)
    plan = features.fit().plan_
    assert plan.wide == (most == FURTHEST)
    assert plan.features_of(window).tolist() == by_definition(plan, window)


def test_windows_of_28_bits_equal_the_definition(rng):
    ends = np.array([-FURTHEST, -32769, 0, 32768, FURTHEST])
    windows = np.concatenate(
        [
            rng.integers(-FURTHEST, FURTHEST, (3, 2, 60), endpoint=True),
            rng.choice(ends, (3, 2, 60)),
            rng.integers(-FURTHEST, 3 - FURTHEST, (3, 2, 60)),
        ]
    )
    features = SignalFeatures(60, 2, thresholds=3, resolution=1, range=(-FURTHEST, FURTHEST)).fit()
    assert features.samples(windows).dtype == np.int32
    assert features.transform(windows).tolist() == by_definition(features.plan_, windows)


def test_quiet_windows_beside_loud_ones_keep_their_shape(rng):
    """Made here: triangles and sines, some a million times louder than others."""
    time = np.arange(80) / 4 + rng.uniform(0, 7, (200, 1))
    kind = np.arange(200) % 2
    waves = np.where(kind[:, None], np.sin(time), np.arcsin(np.sin(time)) / 1.5)
    loudness = 10.0 ** rng.uniform(-4, 2, (200, 1))
    X = waves * loudness
    features = SignalFeatures().fit(X)
    assert features.plan_.wide
    assert features.plan_.resolution == (1e-6,)
    F = features.transform(X)
    assert SEFRClassifier(moments=2).fit(F[:100], kind[:100]).score(F[100:], kind[100:]) > 0.95
    # what a board may need is 16 bits: a sensor whose ends are known, or values that one step tells apart
    assert not SignalFeatures(range=(-100, 100)).fit(X).plan_.wide
    assert not SignalFeatures(resolution=0.01).fit(X).plan_.wide
    assert not SignalFeatures().fit(np.rint(X)).plan_.wide
    assert not SignalFeatures().fit(np.vstack([X[loudness[:, 0] > 1], np.zeros((9, 80))])).plan_.wide


def test_a_sensor_has_16_bits():
    plan = SignalFeatures(16, range=(-100, 100), resolution=1e-4).fit().plan_
    with pytest.raises(ValueError, match=r"samples have 16 bits, and with a resolution of 0\.0001"):
        Sampling(plan, 8, 50)


def test_threads_change_no_bit(rng):
    windows = hostile(rng, 20, 2, 50)
    one = SignalFeatures().fit_transform(windows)
    assert (SignalFeatures(n_jobs=3).fit_transform(windows) == one).all()


def test_an_offset_changes_no_count_and_a_doubling_none_either(rng):
    windows = rng.integers(-1000, 1000, (5, 1, 60))
    features = SignalFeatures(range=(-32768, 32767)).fit(windows)
    counts = slice(0, features.plan_.counts)
    plain = features.transform(windows)[:, counts]
    assert (features.transform(windows + 12345)[:, counts] == plain).all()
    # within 11 bits the doubled window is the same after one halving
    wide = rng.integers(0, 1024, (5, 1, 60)) * 2
    wide[:, :, 0], wide[:, :, 1] = 0, 2046
    assert (features.transform(2 * wide)[:, counts] == features.transform(wide)[:, counts]).all()


def test_a_shape_raises_its_own_count():
    names = SignalFeatures(64, range=(-512, 511)).fit().get_feature_names_out().tolist()
    edge = np.full(64, -400)
    edge[32:] = 400
    found = SignalFeatures(64, range=(-512, 511)).fit().transform([edge, edge[::-1]])
    for word, higher in (("rising", 0), ("falling", 1)):
        j = next(i for i, name in enumerate(names) if name.startswith(f"x: {word} edge"))
        level = float(names[j].split()[-2])
        assert level >= 0
        assert found[higher, j] > found[1 - higher, j]


def test_names_are_words_and_all_different():
    features = SignalFeatures(
        64, 3, thresholds=40, kernels=2, axis_names=["hip", "knee", "toe"], range=(0, 9)
    )
    names = features.fit().get_feature_names_out()
    assert len(set(names)) == len(names) == features.plan_.n_features
    assert any(name.startswith("knee: ") and " of 9 samples, high at " in name for name in names)
    assert "toe: roughness of part 8 of 8" in names
    with pytest.raises(ValueError, match="axis_names must be 3 different names"):
        SignalFeatures(64, 3, axis_names=["a", "a", "b"], range=(0, 9)).fit()


def test_kernels_and_thresholds_cover_all():
    assert len(TAPS) == 84
    assert sorted(k for group in range(6) for k in chosen_kernels(group, 14)) == list(range(84))
    levels = fixed_thresholds(64)
    assert set(levels.tolist()) == set(LAPLACE)
    assert abs(levels.mean()) < 4


def test_values_become_samples_by_the_resolution():
    X = [[0.98, -1.5, 0.004, 2.0]]
    features = SignalFeatures(dilations=1).fit(X)
    assert features.plan_.resolution == (1e-4,)
    assert features.samples(X).tolist() == [[[9800, -15000, 40, 20000]]]
    assert features.samples([[9.0, -9.0, 0, 0]]).tolist() == [[[32767, -32768, 0, 0]]]
    whole = SignalFeatures(dilations=1).fit([[1, 2, 3, 32767]])
    assert whole.plan_.resolution == (1.0,)
    assert SignalFeatures(dilations=1).fit([[1, 2, 3, 32768]]).plan_.resolution == (10.0,)
    each = SignalFeatures(resolution=(1, 0.5), range=((0, -1), (10, 1)), length=8, axes=2).fit()
    assert each.plan_.ranges == ((0, 10), (-2, 2))


def test_saturated_samples_are_counted():
    features = SignalFeatures(8, range=(0, 1023)).fit()
    assert features.clipped([[0, 1, 2, 1022, 1023, 1023, 1024, 5]]).tolist() == [4]
    learned = SignalFeatures().fit([[5, 9, 7, 6]])
    assert learned.clipped([[5, 9, 7, 6], [5, 10, 4, 6]]).tolist() == [0, 2]


BAD = [
    ([[1, 2, 3, np.nan]], {}, "window 0, axis 0, sample 3 is NaN"),
    ([[1, 2, np.inf, 3]], {}, "window 0, axis 0, sample 2 is infinity"),
    ([[1, 2, 3], [1, 2]], {}, r"window 1 has shape \(2,\), and window 0 has \(3,\)"),
    ([[[1, 2, 3], [1, 2]]], {}, "axes of a window have different lengths"),
    (np.zeros((2, 2, 2, 2)), {}, r"must have the shape \(n, length\)"),
    ([[1], [2]], {}, "2 samples or more"),
    (np.zeros((1, 4097)), {}, "length must be a whole number from 2 to 4096, not 4097"),
    ([[1, 2, 3, 4]], {"length": 5}, "length is 5, and X with shape"),
    ([[1, 2, 3, 4]], {"axes": 2}, "axes is 2, and X with shape"),
    ([[1, 2, 3, 4]], {"dilations": (2,)}, "a dilation of 2 needs windows of 17 samples, and these have 4"),
    ([[1, 2, 3, 4]], {"dilations": ()}, "dilations must be different numbers"),
    ([[1, 2, 3, 4]], {"dilations": 0}, "dilations must be a whole number"),
    ([[1, 2, 3, 4]], {"kernels": 5}, "kernels must be a divisor of 84"),
    ([[1, 2, 3, 4]], {"thresholds": 0}, "thresholds must be a whole number"),
    ([[1, 2, 3, 4]], {"segments": 0}, "segments must be a whole number"),
    ([[1, 2, 3, 4]], {"range": (5, 5)}, "range must go up"),
    ([[1, 2, 3, 4]], {"range": (0, 32768)}, "lie within -32768 to 32767 steps"),
    ([[1, 2, 3, 4]], {"range": (0, 1 << 27), "resolution": 1}, "lie within -134217727 to 134217727 steps"),
    ([[1, 2, 3, 4]], {"range": 5}, r"range must be \(low, high\)"),
    ([[1, 2, 3, 4]], {"resolution": 0}, "resolution must be above 0"),
    ([[1, 2, 3, 4]], {"resolution": (1, 2)}, r"one per axis \(1\)"),
    (None, {"length": 8}, "without X, length and range must be given"),
    (None, {"length": 1, "range": (0, 1)}, "length must be a whole number from 2 to 4096, not 1"),
]


@pytest.mark.parametrize(("X", "settings", "message"), BAD)
def test_bad_input_is_told_in_a_sentence(X, settings, message):
    with pytest.raises(ValueError, match=message):
        SignalFeatures(**settings).fit(X)


def test_windows_of_another_shape_are_refused(rng):
    features = SignalFeatures().fit(rng.integers(0, 9, (4, 3, 20)))
    with pytest.raises(
        ValueError, match="1 axis of 20 samples, and SignalFeatures was fitted with 3 axes of 20"
    ):
        features.transform(np.zeros((2, 1, 20)))
    with pytest.raises(ValueError, match=r"expected \(n, 3, 20\)"):
        features.transform(np.zeros((2, 20)))


def test_a_plan_goes_to_json_and_back():
    plan = SignalFeatures(32, 2, range=((0, -5), (1023, 5))).fit().plan_
    text = json.dumps(plan.plain())
    assert SignalPlan.from_plain(json.loads(text)) == plan
    for name, value in (
        ("length", 1),
        ("length", "32"),
        ("kernels", 5),
        ("kernels", 0),
        ("thresholds", 1 << 30),
        ("dilations", [32]),
        ("dilations", []),
        ("ranges", [[5, 5], [0, 1]]),
        ("resolution", [1, 0]),
        ("resolution", [1, float("inf")]),
        ("axis_names", ["x"]),
        ("axis_names", ["x", 1]),
        ("segments", 17),
        ("axes", True),
    ):
        with pytest.raises(ModelFileError, match="signal"):
            SignalPlan.from_plain(json.loads(text) | {name: value})
    with pytest.raises(ModelFileError, match="does not know"):
        SignalPlan.from_plain(json.loads(text) | {"more": 1})


def test_the_kernel_refuses_what_would_leave_its_buffers():
    def call(**changed):
        arguments = {
            "windows": np.zeros((1, 1, 16), np.int32),
            "dilations": np.array([1], np.int32),
            "kernels": 84,
            "thresholds": 1,
            "levels": np.zeros(84, np.int8),
            "segments": 0,
            "lowest": np.array([0], np.int32),
            "highest": np.array([1], np.int32),
            "features": np.zeros((1, 84), np.uint8),
            "n_threads": 1,
        }
        _native.signal_features(**arguments | changed)

    call()
    five = {"kernels": 5, "levels": np.zeros(5, np.int8), "features": np.zeros((1, 5), np.uint8)}
    for changed, message in (
        ({"dilations": np.array([16], np.int32)}, "a dilation must be at least 1 and below the length"),
        ({"dilations": np.array([0], np.int32)}, "a dilation must be at least 1 and below the length"),
        (five, "kernels must divide 84"),
        ({"levels": np.zeros(83, np.int8)}, "levels has length 83, not 84"),
        ({"features": np.zeros((1, 85), np.uint8)}, "features has shape"),
        ({"segments": 9}, "segments"),
        ({"lowest": np.array([1], np.int32)}, "a range must go up and lie within 28 bits"),
        ({"highest": np.array([1 << 27], np.int32)}, "a range must go up and lie within 28 bits"),
        ({"lowest": np.array([-1 << 27], np.int32)}, "a range must go up and lie within 28 bits"),
        ({"windows": np.zeros((1, 1, 1), np.int32)}, "windows have 1 samples, not 2 to 4096"),
        ({"windows": np.zeros((1, 16), np.int32)}, "windows has 2 dimensions, not 3"),
    ):
        with pytest.raises(ValueError, match=message):
            call(**changed)


@parametrize_with_checks([SignalFeatures(), SignalFeatures(dilations=1, statistics=False, n_jobs=2)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_clone_pickle_and_pandas(rng):
    pytest.importorskip("pandas")
    X = rng.integers(0, 100, (6, 2, 20))
    features = SignalFeatures(dilations=1).fit(X)
    assert clone(features).get_params() == features.get_params()
    assert (pickle.loads(pickle.dumps(features)).transform(X) == features.transform(X)).all()  # noqa: S301
    frame = features.set_output(transform="pandas").transform(X)
    assert frame.columns[0].startswith("x: falling edge of 9 samples")


def test_shapes_that_differ_only_in_shape_are_told_apart(rng):
    """Made here: sines, square waves and sawtooths of one level and spread, at random phases."""
    time = np.arange(64) / 8 + rng.uniform(0, 7, (300, 1))
    kind = np.arange(300) % 3
    waves = [np.sin(time), np.sign(np.sin(time)) / 2**0.5, (time / np.pi % 2 - 1) * 1.5**0.5]
    X = np.choose(kind[:, None], waves) * 3000 + rng.normal(0, 200, time.shape)
    F = SignalFeatures(statistics=False, range=(-9000, 9000)).fit_transform(np.rint(X))
    assert SEFRClassifier().fit(F[:150], kind[:150]).score(F[150:], kind[150:]) > 0.9
