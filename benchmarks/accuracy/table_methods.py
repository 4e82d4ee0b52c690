"""What is measured on the twelve tables: each method at its defaults, in one thread."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sefr import SEFRClassifier

BINS = 32
INTERACTIONS = 100
PASSES = (1, 10, 20)
TEN_MINUTES = 600.0


class Method(NamedTuple):
    """A method; ``categories``: whether it takes a frame with categories, rather than columns of 0 and 1.

    ``most_folds`` is for slow ones, and so are ``most_seconds``: a table is given up if a fold takes longer.
    """

    name: str
    make: Callable[[], Any]
    categories: bool = False
    most_folds: int | None = None
    most_seconds: float | None = None


class Thermometer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Bins written out: a column per edge, 1 where the value is at or above it."""

    def fit(self, X: NDArray[np.float64], y: object = None) -> Thermometer:
        """Find the edges: quantiles, or all values where they are few."""
        part = np.arange(1, BINS) / BINS
        self.edges_ = [np.unique(np.quantile(x, part, method="inverted_cdf")) for x in X.T]
        return self

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float32]:
        """Write the columns."""
        columns = [x[:, None] >= edges for x, edges in zip(X.T, self.edges_, strict=True)]
        return np.hstack(columns).astype(np.float32)


def methods() -> list[Method]:
    """Return every method that is installed, SEFR first."""
    ours = [Method(f"SEFR, {_passes(n)}", partial(SEFRClassifier, passes=n, n_jobs=1)) for n in PASSES]
    binned = [
        Method(
            f"SEFR, {BINS} bins, {_passes(n)}",
            partial(SEFRClassifier, bins=BINS, passes=n, n_jobs=1),
            categories=True,
        )
        for n in PASSES
    ]
    crossed = [
        Method(
            f"SEFR, {BINS} bins, {INTERACTIONS} interactions, {_passes(n)}",
            partial(SEFRClassifier, bins=BINS, interactions=INTERACTIONS, passes=n, n_jobs=1),
            categories=True,
        )
        for n in (1, 20)
    ]
    explicit = Method(
        f"SEFR, {BINS - 1} columns of 0 and 1 per feature, 1 pass",
        lambda: make_pipeline(Thermometer(), SEFRClassifier(n_jobs=1)),
    )
    linear = [
        Method(
            "LogisticRegression", lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        ),
        Method("LinearSVC", lambda: make_pipeline(StandardScaler(), LinearSVC())),
    ]
    return [*ours, *binned, *crossed, explicit, *linear, *_trees()]


def _passes(n: int) -> str:
    return "1 pass" if n == 1 else f"{n} passes"


def _trees() -> list[Method]:
    found = [
        Method("HistGradientBoosting", HistGradientBoostingClassifier, categories=True),
        Method("random forest", lambda: RandomForestClassifier(n_jobs=1, random_state=0)),
    ]
    with suppress(ImportError):
        from xgboost import XGBClassifier

        found.insert(
            0, Method("XGBoost", lambda: XGBClassifier(n_jobs=1, enable_categorical=True), categories=True)
        )
    with suppress(ImportError):
        from lightgbm import LGBMClassifier

        found.insert(0, Method("LightGBM", lambda: LGBMClassifier(n_jobs=1, verbose=-1), categories=True))
    with suppress(ImportError):
        from catboost import CatBoostClassifier

        quiet = {"thread_count": 1, "verbose": 0, "allow_writing_files": False}
        found.append(Method("CatBoost", lambda: CatBoostClassifier(**quiet), most_folds=1))
    with suppress(ImportError):
        from interpret.glassbox import ExplainableBoostingClassifier

        found.append(
            Method(
                "EBM",
                lambda: ExplainableBoostingClassifier(n_jobs=1),
                categories=True,
                most_folds=1,
                most_seconds=TEN_MINUTES,
            )
        )
    return found
