"""The methods of the benchmark: which program, with which settings, and what code a computer wrote for it."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier


@dataclass(frozen=True)
class Method:
    """A program of ``learners``; ``writes`` fits a model on a computer and makes files of it."""

    program: str
    learns: bool = True
    defines: tuple[str, ...] = ()
    writes: Callable[[np.ndarray, np.ndarray], tuple[object, dict[str, str]]] | None = None


def _fitted(estimator, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X, y)


def _tree():
    return DecisionTreeClassifier(max_leaf_nodes=32, random_state=0)


def _forest():
    return RandomForestClassifier(10, max_leaf_nodes=16, random_state=0)


def _emlearn_trees(make):
    def write(X, y):
        import emlearn

        fitted = _fitted(make(), X, y)
        code = emlearn.convert(fitted, method="inline", dtype="uint8_t")
        return fitted, {"model.h": code.save(name="model", format="c", inference=["inline"])}

    return write


def _micromlgen(make):
    def write(X, y):
        import micromlgen

        fitted = _fitted(make(), X.astype(float), y)
        code = micromlgen.port(fitted, classname="Written")
        return fitted, {"model.h": code, "cstdarg": "#include <stdarg.h>\n"}

    return write


MICROMLGEN = ("MODEL=Written",)
BOARDS = ("uno", "cortex-m0", "cortex-m4", "riscv32")
METHODS = {
    "sefr": Method("sefr.c"),
    "sefr, corrected in one more pass": Method("correct.c"),
    "sefr, second moments": Method("moments.c"),
    "paper, two passes, float": Method("paper.c"),
    "nearest centroid": Method("centroid.c"),
    "perceptron, one pass": Method("perceptron.c", defines=("PASSES=1",)),
    "perceptron, ten passes": Method("perceptron.c", defines=("PASSES=10",)),
    "emlearn, tree": Method("emlearn_tree.c", False, writes=_emlearn_trees(_tree)),
    "emlearn, forest of 10": Method("emlearn_tree.c", False, writes=_emlearn_trees(_forest)),
    "micromlgen, tree": Method("micromlgen.cpp", False, MICROMLGEN, _micromlgen(_tree)),
    "micromlgen, forest of 10": Method("micromlgen.cpp", False, MICROMLGEN, _micromlgen(_forest)),
    "micromlgen, logistic regression": Method(
        "micromlgen.cpp", False, MICROMLGEN, _micromlgen(lambda: LogisticRegression(max_iter=1000))
    ),
}
