"""How many threads are used: what ``n_jobs`` means, and when it is not asked."""

import joblib
import numpy as np
import pytest

from sefr import SEFRClassifier, SEFRRegressor
from sefr._system import threads


def test_few_values_are_not_worth_counting_processors(monkeypatch):
    def refuse(n_jobs):
        raise AssertionError("joblib was asked")

    monkeypatch.setattr(threads, "effective_n_jobs", refuse)
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    clf = SEFRClassifier(n_jobs=-1).fit(X, y)
    clf.predict(X)
    clf.decision_function(X)
    SEFRRegressor(n_jobs=-1).fit(X, y).predict(X)
    threads._count_once.cache_clear()
    with pytest.raises(AssertionError, match="joblib was asked"):
        threads.thread_count(-1, threads.FEW_VALUES)


def test_second_moments_of_few_values_are_many_products(monkeypatch):
    asked = []
    monkeypatch.setattr(threads, "_count", lambda n_jobs: asked.append(n_jobs) or 1)
    X = np.random.default_rng(0).normal(size=(60, 100))
    y = np.arange(60) % 2
    SEFRClassifier(n_jobs=-1).fit(X, y)
    assert not asked
    SEFRClassifier(n_jobs=-1, moments=2).fit(X, y)
    assert asked


def test_processors_are_counted_once_but_not_within_workers_of_joblib(monkeypatch):
    asked = []

    def count(n_jobs):
        asked.append(n_jobs)
        return 3

    threads._count_once.cache_clear()
    monkeypatch.setattr(threads, "effective_n_jobs", count)
    assert [threads.thread_count(-1), threads.thread_count(-1)] == [3, 3]
    assert len(asked) == 1
    with joblib.parallel_config(backend="threading"):
        threads.thread_count(-1), threads.thread_count(-1)
    assert len(asked) == 3
    threads._count_once.cache_clear()


def test_what_is_no_number_of_threads_is_refused_for_few_values_too():
    with pytest.raises(ValueError, match="n_jobs == 0"):
        threads.thread_count(0, 1)


def test_windows_has_one_thread_and_says_so(monkeypatch, recwarn):
    monkeypatch.setattr(threads, "ONE_THREAD", True)
    assert threads.thread_count(None) == threads.thread_count(1) == 1
    assert not recwarn
    with pytest.warns(UserWarning, match="n_jobs=4: on Windows sefr has one thread"):
        assert threads.thread_count(4) == 1
