"""How often training calls from one file of the package into another: what a reader has to follow."""

import sys
from pathlib import Path

import sefr
from sefr import SEFRClassifier

ROOT = str(Path(sefr.__file__).parent)
# One pass may take 15 and ten passes 40 (tests of the classifier hold the one pass).
FURTHER_PASSES = 25


def calls_into_another_file(work):
    """Return every call of a function of the package from a function of another of its files."""
    calls = []

    def watch(frame, event, _):
        if event != "call" or not frame.f_code.co_filename.startswith(ROOT):
            return
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(ROOT):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != frame.f_code.co_filename:
            calls.append((caller.f_code.co_filename, frame.f_code.co_filename, frame.f_code.co_name))

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def test_further_passes_stay_in_few_files(rng):
    y = rng.integers(0, 2, 1000)
    X = rng.normal(size=(1000, 10)) + y[:, None]
    one, ten = (SEFRClassifier(passes=passes).fit(X, y) for passes in (1, 10))
    assert ten.n_passes_ > 5
    first = calls_into_another_file(lambda: one.fit(X, y))
    calls = calls_into_another_file(lambda: ten.fit(X, y))
    assert 5 < len(first) < len(calls)
    assert len(calls) - len(first) <= FURTHER_PASSES, "\n".join(map(str, calls))
