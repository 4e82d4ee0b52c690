"""The methods of the paper's tables, each on one core and otherwise with its library's defaults.

Three settings are the paper's: 50 iterations for CatBoost, a linear kernel for the SVM, and one class against
the rest for its multiclass rows: that is not printed, but only so do they come out (docs/paper.md). What else
is set keeps a library quiet and on one thread. ``sefr`` is this library; ``sefr_two_pass`` is the paper's
algorithm as the equations have it, with c trainings for c classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Self

from sefr._system.types import Array, Estimator


@dataclass(frozen=True)
class Method:
    """A classifier of the tables. ``paper`` is the row of the published tables it stands beside."""

    name: str
    title: str
    make: Callable[[int], Estimator]
    packages: tuple[str, ...]
    paper: str
    quick: bool = True

    @property
    def installed(self) -> bool:
        """Whether one of its packages is installed."""
        return any(_version(package) for package in self.packages)


class TwoPass:
    """The paper's equations in two passes, on data that is already in [0, 1]."""

    def fit(self, X: Array, y: Array) -> Self:
        """Train once for two classes, once a class for more."""
        from sefr import reference

        self.model_ = reference.fit(X, y, scale=None)
        return self

    def predict(self, X: Array) -> Array:
        """Return the class of every record."""
        return self.model_.predict(X)


def _lightgbm(seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=seed)


def _xgboost(seed: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, random_state=seed)


def _catboost(seed: int) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=50, thread_count=1, verbose=False, allow_writing_files=False, random_state=seed
    )


def _decision_tree(seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=seed)


def _random_forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_jobs=1, random_state=seed)


def _naive_bayes(seed: int) -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB()


def _svm(seed: int) -> Any:
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import SVC

    return OneVsRestClassifier(SVC(kernel="linear"))


def _sefr(seed: int) -> Any:
    from sefr import SEFRClassifier

    return SEFRClassifier()


def _two_pass(seed: int) -> Any:
    return TwoPass()


_SKLEARN = ("scikit-learn",)
_OURS = ("sefr-learn",)

_ALL = (
    Method("lightgbm", "LightGBM", _lightgbm, ("lightgbm",), "lightgbm", quick=False),
    Method("xgboost", "XGBoost", _xgboost, ("xgboost-cpu", "xgboost"), "xgboost", quick=False),
    Method("catboost", "CatBoost", _catboost, ("catboost",), "catboost", quick=False),
    Method("decision_tree", "Decision Tree", _decision_tree, _SKLEARN, "decision_tree", quick=False),
    Method("random_forest", "Random Forest", _random_forest, _SKLEARN, "random_forest", quick=False),
    Method("naive_bayes", "Naive Bayes", _naive_bayes, _SKLEARN, "naive_bayes"),
    Method("svm", "SVM", _svm, _SKLEARN, "svm", quick=False),
    Method("sefr", "SEFR", _sefr, _OURS, "sefr"),
    Method("sefr_two_pass", "SEFR, two passes", _two_pass, _OURS, "sefr"),
)

METHODS = {method.name: method for method in _ALL}


def versions() -> dict[str, str]:
    """Return the version of every package that takes part and is installed."""
    names = dict.fromkeys(package for method in _ALL for package in method.packages)
    found = {name: _version(name) for name in (*names, "numpy", "scipy")}
    return {name: number for name, number in found.items() if number}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
