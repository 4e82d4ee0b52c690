"""The methods that are compared, with their default settings; features in [0, 1] for linear ones.

LogisticRegression is measured with standardised features too, which suit it better on some sets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

from sefr import SEFRClassifier

PASSES = (1, 2, 3, 5, 10, 20)


def methods() -> dict[str, Callable[[], Any]]:
    """Return a maker for every method that is installed, SEFR first."""
    found: dict[str, Callable[[], Any]] = {
        f"SEFR passes={passes}": lambda passes=passes: SEFRClassifier(passes=passes) for passes in PASSES
    }
    found["LinearSVC"] = lambda: make_pipeline(MinMaxScaler(), LinearSVC())
    found["SVC linear"] = lambda: make_pipeline(MinMaxScaler(), SVC(kernel="linear"))
    found["LogisticRegression"] = lambda: make_pipeline(MinMaxScaler(), LogisticRegression(max_iter=1000))
    found["LogisticRegression, standardised"] = lambda: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=1000)
    )
    found["GaussianNB"] = lambda: make_pipeline(MinMaxScaler(), GaussianNB())
    found |= _boosters()
    return found


def _boosters() -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {}
    try:
        from lightgbm import LGBMClassifier

        found["LightGBM"] = lambda: LGBMClassifier(n_jobs=1, verbose=-1)
    except ImportError:
        pass
    try:
        from xgboost import XGBClassifier

        found["XGBoost"] = lambda: XGBClassifier(n_jobs=1)
    except ImportError:
        pass
    try:
        from catboost import CatBoostClassifier

        found["CatBoost"] = lambda: CatBoostClassifier(thread_count=1, verbose=0, allow_writing_files=False)
    except ImportError:
        pass
    try:
        from linearboost import LinearBoostClassifier

        found["linearboost"] = lambda: LinearBoostClassifier()
    except ImportError:
        pass
    return found
