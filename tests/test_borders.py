"""How far a call travels: the files of the package that it crosses on its way to the kernel and back."""

import os
import sys

import numpy as np
import pytest

import sefr
from sefr import SEFRClassifier, cross_validate

ROOT = os.path.dirname(sefr.__file__)


def borders(call):
    """Return how many calls go from one file of the package into another."""
    files, crossed = [], 0

    def watch(frame, event, _):
        nonlocal crossed
        name = frame.f_code.co_filename
        if not name.startswith(ROOT):
            return
        if event == "call":
            crossed += bool(files) and files[-1] != name
            files.append(name)
        elif event == "return":
            files.pop()

    call()  # what is imported and cached when it is first called
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return crossed


@pytest.fixture
def rows(rng):
    y = rng.integers(0, 2, 1000)
    return rng.normal(size=(1000, 10)) + y[:, None], y


def test_fit_crosses_few_files(rows):
    assert 0 < borders(lambda: SEFRClassifier().fit(*rows)) <= 15


def test_cross_validation_crosses_few_files(rows):
    assert 0 < borders(lambda: cross_validate(SEFRClassifier(), *rows, cv=3)) <= 40


def test_predict_crosses_few_files(rows):
    clf = SEFRClassifier().fit(*rows)
    assert 0 < borders(lambda: clf.predict(np.ascontiguousarray(rows[0]))) <= 10
