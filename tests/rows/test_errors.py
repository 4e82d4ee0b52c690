"""Bad input gets one clear error and changes nothing."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from sefr import SEFRClassifier, Summary

X = np.array([[0.0, 5.0], [1.0, 6.0], [2.0, 7.0], [3.0, 9.0]])
Y = np.array([0, 1, 0, 1])


@pytest.fixture
def clf():
    return SEFRClassifier().fit(X, Y)


def with_value(value, row=2, column=1):
    bad = X.copy()
    bad[row, column] = value
    return bad


def assert_refused(clf, message, call, error=ValueError):
    """The call raises and the model answers, and is, as before."""
    before = pickle.dumps(clf)
    with pytest.raises(error, match=message):
        call()
    assert pickle.dumps(clf) == before


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "dress", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array, pd.DataFrame]
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nan_and_infinity_are_named_by_row_and_column(clf, value, dress, dtype):
    bad = dress(with_value(value).astype(dtype))
    name = "NaN" if np.isnan(value) else "infinity"
    message = rf"Input X contains {name}: row 2, column 1"
    assert_refused(clf, message, lambda: clf.fit(bad, Y))
    assert_refused(clf, message, lambda: clf.partial_fit(bad, Y))
    assert_refused(clf, message, lambda: clf.forget(bad, Y))
    assert_refused(clf, message, lambda: clf.predict(bad))
    assert_refused(clf, message, lambda: clf.contributions(bad))


def test_the_column_of_a_dataframe_is_named():
    frame = pd.DataFrame(with_value(np.nan), columns=["age", "dose"])
    with pytest.raises(ValueError, match=r"row 2, column 1 \('dose'\).*missing='ignore'"):
        SEFRClassifier().fit(frame, Y)


def test_infinity_is_an_error_even_where_nan_is_not():
    clf = SEFRClassifier(missing="ignore").fit(with_value(np.nan), Y)
    assert_refused(clf, "infinity: row 2, column 1", lambda: clf.partial_fit(with_value(np.inf), Y))
    assert_refused(clf, "infinity: row 2, column 1", lambda: clf.predict(with_value(np.inf)))


def test_a_bad_value_in_a_row_of_weight_zero_is_no_error():
    weight = [1, 1, 0, 1]
    clf = SEFRClassifier().fit(with_value(np.nan), Y, sample_weight=weight)
    assert clf.summary_ == SEFRClassifier().fit(X[[0, 1, 3]], Y[[0, 1, 3]]).summary_


def test_values_too_large_to_sum():
    with pytest.raises(ValueError, match="column 1 are too large to be summed"):
        SEFRClassifier().fit([[0.0, 1.7e308]] * 4, Y)
    with pytest.raises(ValueError, match="range of column 0 is wider"):
        SEFRClassifier().fit([[-1.7e308], [1.7e308]], [0, 1])


def test_negative_values_without_scaling():
    with pytest.raises(ValueError, match=r"[Nn]egative values.*column 1 has values from -1 to"):
        SEFRClassifier(scale=None).fit(with_value(-1.0), Y)


def test_values_outside_a_known_range():
    clf = SEFRClassifier(scale=(0, 10)).fit(X, Y)
    assert_refused(
        clf, "from 0 to 10, but column 1 has values from 5 to 11", lambda: clf.partial_fit(with_value(11), Y)
    )
    assert_refused(
        clf, "column 0 has values from -2 to 3", lambda: clf.partial_fit(with_value(-2, column=0), Y)
    )


def test_one_class_only():
    with pytest.raises(ValueError, match=r"two classes, but y has one class only: .*7"):
        SEFRClassifier().fit(X, [7, 7, 7, 7])
    with pytest.raises(ValueError, match=r"one class only.*classes="):
        SEFRClassifier().partial_fit(X, [7, 7, 7, 7])
    with pytest.raises(ValueError, match="one class only"):
        SEFRClassifier.from_summary(Summary.of(X, [7, 7, 7, 7]))


def test_no_rows(clf):
    assert_refused(clf, "0 sample", lambda: clf.fit(X[:0], Y[:0]))
    assert_refused(clf, "0 sample", lambda: clf.partial_fit(X[:0], Y[:0]))
    assert_refused(clf, "0 sample", lambda: clf.predict(X[:0]))
    assert_refused(clf, "0 feature", lambda: clf.fit(X[:, :0], Y))


def test_rows_and_labels_of_different_number(clf):
    assert_refused(clf, r"inconsistent numbers of samples: \[4, 3\]", lambda: clf.fit(X, Y[:3]))


def test_wrong_number_of_features(clf):
    wide = np.hstack([X, X])
    for call in (clf.predict, clf.decision_function, clf.contributions):
        assert_refused(
            clf, "X has 4 features, but SEFRClassifier is expecting 2", lambda call=call: call(wide)
        )
    assert_refused(clf, "X has 4 features", lambda: clf.partial_fit(wide, Y))
    assert_refused(clf, "X has 4 features", lambda: clf.forget(wide, Y))
    other = SEFRClassifier().fit(wide, Y)
    assert_refused(clf, "2 and 4 features", lambda: clf.merge(other))


def test_other_feature_names():
    frame = pd.DataFrame(X, columns=["a", "b"])
    clf = SEFRClassifier().fit(frame, Y)
    renamed = pd.DataFrame(X, columns=["a", "c"])
    swapped = frame[["b", "a"]]
    assert_refused(clf, "feature names", lambda: clf.predict(renamed))
    assert_refused(clf, "same order", lambda: clf.predict(swapped))
    assert_refused(clf, "feature names", lambda: clf.partial_fit(renamed, Y))
    assert_refused(clf, "'b' meets 'c'", lambda: clf.merge(SEFRClassifier().fit(renamed, Y)))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.5, 1.0, 0.0, 1.0], "Unknown label type: continuous. Row 0 of y is 0.5"),
        ([0, 1, np.nan, 1], "y contains NaN or infinity: row 2"),
        (["a", None, "b", "a"], "y contains NaN: row 1"),
        (np.array(["a", 1, "b", 2], dtype=object), "mixture of int, str"),
        ([[0, 1], [1, 0], [0, 1], [1, 1]], "1d array"),
        (None, "requires y to be passed"),
        (np.array([[1], [2]], dtype="datetime64[D]").ravel().repeat(2), "Unknown label type"),
        (pd.Series(["a", pd.NA, "b", "a"], dtype="string"), "y contains NaN: row 1"),
    ],
)
def test_labels_that_are_none(clf, y, message):
    assert_refused(clf, message, lambda: clf.fit(X, y))


def test_text_in_x_is_named():
    frame = pd.DataFrame({"age": [1, 2, 3, 4], "town": list("abcd")})
    with pytest.raises(ValueError, match=r"not numbers: 'town' \(String\)"):
        SEFRClassifier().fit(frame, Y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, -1, 1, 1], "not negative; row 1 has -1"),
        ([1, np.nan, 1, 1], "finite.*row 1"),
        ([0, 0, 0, 0], "zero for every row"),
        ([1, 1, 1], "3 values for 4 rows"),
        ([[1], [1], [1], [1]], "1D"),
    ],
)
def test_weights_that_are_none(clf, weight, message):
    assert_refused(clf, message, lambda: clf.fit(X, Y, sample_weight=weight))
    assert_refused(clf, message, lambda: clf.partial_fit(X, Y, sample_weight=weight))


def test_an_unknown_class_when_classes_was_given():
    clf = SEFRClassifier().partial_fit(X, Y, classes=[0, 1])
    assert_refused(clf, "unknown class .*5", lambda: clf.partial_fit(X, [0, 1, 5, 1]))
    assert_refused(
        clf, "differ from those of an earlier call", lambda: clf.partial_fit(X, Y, classes=[0, 1, 2])
    )
    assert_refused(clf, "unknown class", lambda: clf.merge(SEFRClassifier().fit(X, Y + 1)))
    with pytest.raises(ValueError, match="unknown class"):
        SEFRClassifier().partial_fit(X, Y, classes=[0, 2])


def test_forgetting_what_was_never_learned(clf):
    assert_refused(clf, "class .*9.*: none was learned", lambda: clf.forget(X, [0, 1, 9, 1]))
    twice = np.vstack([X, X])
    assert_refused(clf, "4 rows of class .*0.*: only 2 were learned", lambda: clf.forget(twice, np.r_[Y, Y]))
    assert_refused(clf, "none was learned", lambda: clf.forget(X[:2], [5, 5]))


def test_merging_what_is_no_model(clf):
    assert_refused(clf, "not int", lambda: clf.merge(3), TypeError)
    assert_refused(clf, "labels of different kinds", lambda: clf.merge(SEFRClassifier().fit(X, list("abab"))))
    with pytest.raises(NotFittedError):
        clf.merge(SEFRClassifier())


@pytest.mark.parametrize("factor", [0, -1, 1.5, np.nan, "half"])
def test_decay_out_of_range(clf, factor):
    assert_refused(clf, "decay takes a factor", lambda: clf.decay(factor))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"scale": "standard"}, "scale must be"),
        ({"scale": 3}, "scale must be"),
        ({"scale": (1, 2, 3)}, "scale must be"),
        ({"scale": (5, 5)}, "low must be below high; feature 0 has 5 and 5"),
        ({"scale": (0, np.inf)}, "high must be finite"),
        ({"scale": ([0, 0, 0], 1)}, "low has 3 values for 2 features"),
        ({"epsilon": -1e-9}, "epsilon must be"),
        ({"epsilon": np.nan}, "epsilon must be"),
        ({"missing": "drop"}, "missing must be"),
        ({"n_jobs": 0}, "n_jobs == 0"),
        ({"n_jobs": 1.5}, "n_jobs must be"),
    ],
)
def test_parameters_out_of_range(params, message):
    with pytest.raises(ValueError, match=message):
        SEFRClassifier(**params).fit(X, Y)


def test_not_fitted():
    for call in (
        SEFRClassifier().predict,
        SEFRClassifier().contributions,
        lambda X: SEFRClassifier().decay(0.5),
    ):
        with pytest.raises(NotFittedError):
            call(X)
