"""Threads that share a model: an answer is that of one moment, and nothing that is learned is lost."""

import gc
import pickle
import subprocess
import sys
import threading
from copy import copy, deepcopy
from itertools import product
from typing import ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from sefr import SEFRClassifier
from sefr._system import turns
from sefr.device import Twin, quantise
from sefr.displays import effects, strongest_features
from sefr.engines.scoring_model import ScoringModel
from sefr.model_file import dump
from sefr.report import explained

ITEMS = load_iris()
NAMES = list("abcd")
X, Y = pd.DataFrame(ITEMS.data, columns=NAMES), ITEMS.target


class Swapping(SEFRClassifier):
    """A model that another thread changes after so many looks at what it knows."""

    changes: ClassVar[dict] = {}  # by the id of the model: a copy is nobody else's

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name == "_fitted" and (change := Swapping.changes.get(id(self))):
            change["looks"] -= 1
            if change["looks"] == 0:
                self.__dict__["_fitted"] = change["then"]
        return found


def onnx(clf):
    pytest.importorskip("onnx")
    from sefr.onnx_model import to_onnx

    return to_onnx(clf)


ANSWERS = {
    "predict": lambda clf: clf.predict(X),
    "predict of an array": lambda clf: clf.predict(X[:1]),
    "predict_proba": lambda clf: clf.predict_proba(X),
    "predict_log_proba": lambda clf: clf.predict_log_proba(X),
    "decision_function": lambda clf: clf.decision_function(X),
    "contributions": lambda clf: clf.contributions(X),
    "drift": lambda clf: clf.drift(X),
    "score": lambda clf: clf.score(X, Y % 2),
    "effects": effects,
    "strengths": lambda clf: clf.fitted_.strengths(),
    "strongest features": lambda clf: strongest_features(clf, 3),
    "explained": lambda clf: explained(clf, X[:3], places=["here"] * 3),
    "plan": lambda clf: ScoringModel.of(clf, probabilities=True),
    "model file": dump,
    "pickle": lambda clf: deepcopy(clf).predict(X),
    "integers": lambda clf: quantise(clf, input="float"),
    "twin": lambda clf: Twin(clf, input="float").loss(X, Y),
    "onnx": onnx,
    **{
        name: lambda clf, name=name: getattr(clf, name)
        for name in (
            *("summary_", "classes_", "n_features_in_", "feature_names_in_", "n_passes_", "loss_curve_"),
            *("feature_sets_", "coef_", "intercept_", "feature_scores_", "curves_", "edges_"),
        )
    },
}
KINDS = {"one pass": {}, "passes": {"passes": 3}, "bins": {"bins": 4}}


def said(answer, clf):
    try:
        return pickle.dumps(answer(clf))
    except AttributeError as error:
        return str(error).replace("Swapping", "SEFRClassifier")


@pytest.mark.parametrize("params", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_that_of_one_moment(answer, params):
    models = [SEFRClassifier(**params).fit(X[rows], Y[rows]) for rows in (Y < 3, Y < 2)]
    expected = [said(answer, model) for model in models]
    for first, looks in product((0, 1), (1, 2, 3, 4)):
        clf = Swapping.from_fitted(models[first].fitted_)
        Swapping.changes[id(clf)] = {"looks": looks, "then": models[1 - first].fitted_}
        try:
            found = said(answer, clf)
        finally:
            Swapping.changes.clear()
        assert found in expected, looks


class Slow:
    """Labels that make whoever reads them wait, and say that they are being read."""

    def __init__(self, labels):
        self.labels, self.reached, self.go_on = labels, threading.Event(), threading.Event()

    def __array__(self, dtype=None, copy=None):
        self.reached.set()
        assert self.go_on.wait(30)
        return np.asarray(self.labels, dtype=dtype)


ROWS = ITEMS.data
SLOW = {
    "fit": (lambda clf, y: clf.fit(ROWS, y), 150 + 7),
    "partial_fit": (lambda clf, y: clf.partial_fit(ROWS, y), 150 + 150 + 7),
    "merge": (lambda clf, y: clf.merge(ROWS, y), 150 + 150 + 7),
    "forget": (lambda clf, y: clf.forget(ROWS[:50], y), 150 - 50 + 7),
    "calibrate": (lambda clf, y: clf.calibrate(ROWS, y), 150 + 7),
    "fit_batches": (lambda clf, y: clf.fit_batches([(ROWS, y)]), 150 + 7),
}


@pytest.mark.parametrize(("verb", "expected"), SLOW.values(), ids=SLOW)
def test_what_is_learned_while_another_thread_learns_is_not_lost(verb, expected):
    clf = SEFRClassifier(scale=(0, 10)).fit(ROWS, Y)
    slow = Slow(Y[:50] if expected == 107 else Y)
    one = threading.Thread(target=verb, args=(clf, slow))
    other = threading.Thread(target=clf.partial_fit, args=(ROWS[:7], Y[:7]))
    one.start()
    assert slow.reached.wait(30)
    other.start()
    other.join(0.2)  # it would be done by now
    clf.predict(ROWS)  # answers do not wait
    slow.go_on.set()
    one.join(30)
    other.join(30)
    assert clf.summary_.n_rows == expected


@pytest.mark.parametrize("params", [{}, {"passes": 2}], ids=["one pass", "passes"])
def test_four_threads_learn_all_rows(rng, params):
    clf = SEFRClassifier(scale=(-9, 9), **params)
    features, labels = np.clip(rng.normal(size=(2000, 5)), -9, 9), np.arange(2000) % 2
    start = threading.Barrier(5)

    def learn():
        start.wait()
        for _ in range(20):
            clf.partial_fit(features, labels)

    threads = [threading.Thread(target=learn) for _ in range(4)]
    for thread in threads:
        thread.start()
    start.wait()
    for thread in threads:
        thread.join()
    assert clf.summary_.n_rows == 4 * 20 * 2000


def test_answers_beside_a_thread_that_learns_are_those_before_or_after():
    clf = SEFRClassifier()
    two, three = SEFRClassifier().fit(ROWS[Y < 2], Y[Y < 2]), SEFRClassifier().fit(ROWS, Y)
    known = {model.predict_proba(ROWS).tobytes() for model in (two, three)}
    clf.fit(ROWS, Y)
    done = threading.Event()

    def learn():
        while not done.is_set():
            clf.fit(ROWS[Y < 2], Y[Y < 2])
            clf.fit(ROWS, Y)

    thread = threading.Thread(target=learn)
    thread.start()
    try:
        assert {clf.predict_proba(ROWS).tobytes() for _ in range(300)} <= known
    finally:
        done.set()
        thread.join()


def test_copies_have_a_lock_of_their_own_and_none_in_them():
    clf = SEFRClassifier().fit(ROWS, Y)
    with turns.lock_of(clf):
        for other in (copy(clf), deepcopy(clf), clone(clf), pickle.loads(pickle.dumps(clf))):  # noqa: S301
            thread = threading.Thread(target=other.fit, args=(ROWS, Y))
            thread.start()
            thread.join(30)
            assert not thread.is_alive()
            assert turns.lock_of(other) is not turns.lock_of(clf)
    scores = joblib.Parallel(n_jobs=2)(joblib.delayed(clone(clf).fit)(ROWS, Y) for _ in range(2))
    assert all((other.predict(ROWS) == clf.predict(ROWS)).all() for other in scores)


def test_a_lock_goes_with_its_model():
    gc.collect()
    before = len(turns._locks)
    clf = SEFRClassifier().fit(ROWS, Y)
    assert len(turns._locks) == before + 1
    del clf
    gc.collect()
    assert len(turns._locks) == before


FORK = """
import os, sys, threading, warnings
warnings.simplefilter("ignore")
from sefr import SEFRClassifier
from sefr._system.turns import lock_of
clf = SEFRClassifier().fit([[0.0], [1.0]], [0, 1])
held, done = threading.Event(), threading.Event()
def hold():
    with lock_of(clf):
        held.set()
        done.wait()
thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    clf.partial_fit([[0.0]], [0])
    os._exit(7 if clf.summary_.n_rows == 3 else 1)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
done.set()
thread.join()
sys.exit(code)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_a_forked_child_does_not_wait_for_a_thread_that_it_does_not_have():
    assert subprocess.run([sys.executable, "-c", FORK], timeout=60, check=False).returncode == 7
