"""Every equation of the paper, worked by hand on four records."""

import numpy as np
import pytest

from sefr import reference

# Two features, already in [0, 1]; the first two records are negative.
D = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [0.75, 0.25]])
POSITIVE = np.array([False, False, True, True])


def test_equations_2_to_9_by_hand():
    # eq. 3: mu+ = (0.875, 0.125); eq. 4: mu- = (0.25, 0.75)
    # eq. 5, epsilon 0: w = (0.625 / 1.125, -0.625 / 0.875) = (5/9, -5/7)
    # eq. 6: e = (-5/7, 5/18 - 5/14, 5/9, 5/12 - 5/28)
    # eq. 7: tau+ = 5/9 * 7/8 - 5/7 * 1/8; eq. 8: tau- = 5/9 * 1/4 - 5/7 * 3/4
    # eq. 9, equal counts: b = -(tau+ + tau-) / 2
    w, b = reference.hyperplane(D, POSITIVE, epsilon=0.0)
    assert w == pytest.approx([5 / 9, -5 / 7], rel=1e-15)
    tau_pos = 5 / 9 * 7 / 8 - 5 / 7 / 8
    tau_neg = 5 / 9 / 4 - 5 / 7 * 3 / 4
    assert b == pytest.approx(-(tau_pos + tau_neg) / 2, rel=1e-15)


def test_equation_5_epsilon_keeps_an_absent_feature_at_zero():
    w, _ = reference.hyperplane(np.array([[0.0], [0.0]]), np.array([False, True]), epsilon=1e-7)
    assert w.tolist() == [0.0]


def test_equation_9_weighs_each_mean_by_the_other_class():
    # Three negatives at 0, one positive at 1: w = 1 / (1 + epsilon), tau+ = w, tau- = 0, so b = -w * 3 / 4.
    w, b = reference.hyperplane(np.array([[0.0], [0.0], [0.0], [1.0]]), np.array([False] * 3 + [True]), 1e-7)
    assert w[0] == 1 / (1 + 1e-7)
    assert b == pytest.approx(-0.75 * w[0], rel=1e-15)


def test_equation_1_a_score_of_exactly_zero_is_negative():
    # One record a class, one feature: the boundary lies at the middle, 0.5 of the scaled range.
    model = reference.fit([[10.0], [30.0]], ["no", "yes"], epsilon=0.0)
    assert model.scores([[20.0]])[0, 0] == 0.0
    assert model.predict([[20.0], [20.1], [19.9]]).tolist() == ["no", "yes", "no"]


def test_scaling_takes_a_constant_feature_as_zero():
    model = reference.fit([[7.0, 1.0], [7.0, 2.0]], [0, 1])
    assert model.scaled([[7.0, 1.5]]).tolist() == [[0.0, 0.5]]
    assert model.weights[0, 0] == 0.0


def test_multiclass_has_the_class_as_negative_and_answers_with_the_lowest_score():
    X = np.eye(3)
    model = reference.fit(X, ["a", "b", "c"], epsilon=0.0)
    # Classifier a: mu- = (1, 0, 0), mu+ = (0, 1/2, 1/2), so w = (-1, 1, 1).
    assert model.weights.tolist() == [[-1, 1, 1], [1, -1, 1], [1, 1, -1]]
    assert model.predict(X).tolist() == ["a", "b", "c"]
    assert model.scores(X).argmin(axis=1).tolist() == [0, 1, 2]


def test_multiclass_tie_goes_to_the_first_class():
    model = reference.fit(np.eye(3), [2, 5, 9])
    assert model.predict(np.zeros((1, 3))).tolist() == [2]


def test_known_ranges_and_no_scaling():
    known = reference.fit([[0.0], [512.0]], [0, 1], scale=(0, 1024))
    assert known.scaled([[512.0]]).tolist() == [[0.5]]
    raw = reference.fit([[0.0], [512.0]], [0, 1], scale=None)
    assert raw.scaled([[512.0]]).tolist() == [[512.0]]
