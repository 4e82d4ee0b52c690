"""The methods: how each takes its rows, what more effort means for it, and the probabilities it gives.

Rows are brought into the form that a method reads fastest before the clock starts. What cannot be installed
is named by its error and left out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .sets import Shape, Table

MOST = 1 << 62  # stored values: no limit


class Task(NamedTuple):
    """What is to be learned, and with how many threads."""

    table: Table
    shape: Shape
    threads: int


class Method(NamedTuple):
    """A method: ``prepare`` makes what ``fit`` reads, ``fit`` takes it and an effort, ``chance`` a model.

    ``chance`` returns the probability of label 1 of the rows held out.
    """

    name: str
    package: str
    efforts: tuple[float, ...]
    what: str  # what an effort is
    prepare: Callable[[Task], Any]
    fit: Callable[[Any, float], Any]
    chance: Callable[[Any, Table], Any]
    most: int = MOST  # stored values; above, it is not measured, for the reason in ``why``
    why: str = ""
    dense_only: bool = False


ITERATIONS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
PASSES = (2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0)


def _rows(task: Task) -> tuple[Any, Any, Task]:
    return task.table.X, task.table.y, task


def _doubles(task: Task) -> tuple[Any, Any, Task]:
    return task.table.X.astype(np.float64), task.table.y, task


def _by_estimator(model: Any, table: Table) -> Any:
    return model.predict_proba(table.X_new)[:, 1]


def _by_line(model: tuple[Any, float], table: Table) -> Any:
    weights, intercept = model
    return 1 / (1 + np.exp(-(table.X_new @ weights + intercept)))


def _sefr() -> list[Method]:
    from sefr import SEFRClassifier

    def fit(made: Any, effort: float, **settings: Any) -> Any:
        X, y, task = made
        return SEFRClassifier(n_jobs=task.threads, **settings).fit(X, y)

    def moments(made: Any, effort: float) -> Any:
        return fit(made, effort, moments=2)

    def passes(made: Any, effort: float) -> Any:
        return fit(made, effort, passes=int(effort))

    own = "sefr-learn"
    limit = "its solution takes the cube of the features"
    return [
        Method("sefr, the paper", own, (1.0,), "passes", _rows, fit, _by_estimator),
        Method(
            "sefr, second moments",
            own,
            (1.0,),
            "passes",
            _rows,
            moments,
            _by_estimator,
            MOST,
            limit,
            dense_only=True,
        ),
        Method("sefr, passes", own, PASSES, "passes", _rows, passes, _by_estimator),
    ]


def _scikit_learn() -> list[Method]:
    from sklearn.linear_model import LogisticRegression, SGDClassifier

    def logistic(solver: str) -> Callable[[Any, float], Any]:
        def fit(made: Any, effort: float) -> Any:
            X, y, task = made
            model = LogisticRegression(C=task.shape.cost, solver=solver, max_iter=int(effort), tol=1e-9)
            return model.fit(X, y)

        return fit

    def descent(made: Any, effort: float) -> Any:
        X, y, task = made
        alpha = 1 / (task.shape.cost * task.shape.rows)
        model = SGDClassifier(
            loss="log_loss", alpha=alpha, max_iter=int(effort), tol=None, average=True, random_state=0
        )
        return model.fit(X, y)

    own, steps = "scikit-learn", (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
    epochs = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
    name = "scikit-learn,"
    return [
        Method(f"{name} lbfgs", own, ITERATIONS, "iterations", _rows, logistic("lbfgs"), _by_estimator),
        Method(
            f"{name} newton-cholesky",
            own,
            steps,
            "iterations",
            _rows,
            logistic("newton-cholesky"),
            _by_estimator,
            MOST,
            "its Hessian of all pairs of features",
            dense_only=True,
        ),
        Method(f"{name} SGD, averaged", own, epochs, "epochs", _rows, descent, _by_estimator),
    ]


def _intelex() -> list[Method]:
    import daal4py
    from sklearnex.linear_model import LogisticRegression

    def fit(made: Any, effort: float) -> Any:
        X, y, task = made
        daal4py.daalinit(task.threads)
        return LogisticRegression(C=task.shape.cost, max_iter=int(effort), tol=1e-9).fit(X, y)

    name = "scikit-learn-intelex"
    return [Method(name, name, ITERATIONS, "iterations", _rows, fit, _by_estimator)]


def _snapml() -> list[Method]:
    from snapml import LogisticRegression

    def fit(made: Any, effort: float) -> Any:
        X, y, task = made
        model = LogisticRegression(
            max_iter=int(effort),
            regularizer=1 / task.shape.cost,
            n_jobs=task.threads,
            fit_intercept=True,
            tol=0.0,
            random_state=0,
        )
        return model.fit(X, y)

    epochs = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    return [Method("Snap ML", "snapml", epochs, "epochs", _rows, fit, _by_estimator)]


def _liblinear() -> list[Method]:
    from liblinear.liblinearutil import parameter, problem, train

    def prepare(task: Task) -> Any:
        X = task.table.X
        # Its own form of rows, 16 bytes per value; label 1 is the first that it meets by turning the order.
        return problem(task.table.y * 2.0 - 1, sparse.csr_matrix(X.astype(np.float64)), 1.0), task

    def by_solver(solver: int) -> Callable[[Any, float], Any]:
        def fit(made: Any, effort: float) -> Any:
            rows, task = made
            model = train(rows, parameter(f"-s {solver} -c {task.shape.cost} -e {effort} -B 1 -q"))
            weights, bias = model.get_decfun(label_idx=0)
            turned = 1.0 if model.get_labels()[0] == 1 else -1.0
            return turned * np.array(weights), turned * bias

        return fit

    own, tolerances = "liblinear-official", (1.0, 0.1, 0.01, 0.001)
    most, why = 20_000_000, "its rows would take more than 320 MB"
    return [
        Method(
            f"LIBLINEAR, {name}",
            own,
            tolerances,
            "tolerance",
            prepare,
            by_solver(solver),
            _by_line,
            most,
            why,
        )
        for name, solver in (("primal", 0), ("dual", 7))
    ]


def _vowpal_wabbit() -> list[Method]:
    from vowpalwabbit.pyvw import Workspace

    constant = 11650396  # the feature of the intercept

    def prepare(task: Task) -> Any:
        """Write the rows as its text, which it turns into its own binary form here."""
        folder = Path(tempfile.mkdtemp(prefix="sefr-linear-"))
        X, y = task.table.X, task.table.y
        with (folder / "rows.txt").open("w") as file:
            if sparse.issparse(X):
                for i in range(len(y)):
                    own = slice(X.indptr[i], X.indptr[i + 1])
                    pairs = zip(X.indices[own].tolist(), X.data[own].tolist(), strict=True)
                    file.write(f"{2 * y[i] - 1} | " + " ".join(f"{j}:{x:.6g}" for j, x in pairs) + "\n")
            else:
                form = "%d | " + " ".join(f"{j}:%.6g" for j in range(X.shape[1])) + "\n"
                for i in range(len(y)):
                    file.write(form % (2 * y[i] - 1, *X[i].tolist()))
        Workspace(_arguments(folder, 1)).finish()
        return folder, task

    def _arguments(folder: Path, passes: int) -> str:
        files = f"-d {folder / 'rows.txt'} --cache_file {folder / 'rows.cache'}"
        return f"{files} --passes {passes} --holdout_off --loss_function logistic -b 18 --quiet"

    def fit(made: Any, effort: float) -> Any:
        folder, task = made
        found = Workspace(_arguments(folder, int(effort)))
        weights = np.array([found.get_weight(j) for j in range(task.shape.features)])
        intercept = found.get_weight(constant & ((1 << 18) - 1))
        found.finish()
        return weights, intercept

    epochs, why = (1.0, 2.0, 4.0, 8.0, 16.0), "its rows go through a text file"
    name = "Vowpal Wabbit"
    return [Method(name, "vowpalwabbit", epochs, "passes", prepare, fit, _by_line, 10_000_000, why)]


def _glum() -> list[Method]:
    from glum import GeneralizedLinearRegressor

    def by_solver(solver: str) -> Callable[[Any, float], Any]:
        def fit(made: Any, effort: float) -> Any:
            X, y, task = made
            model = GeneralizedLinearRegressor(
                family="binomial",
                alpha=1 / (task.shape.cost * task.shape.rows),
                l1_ratio=0,
                solver=solver,
                max_iter=int(effort),
                gradient_tol=1e-9,
            )
            return model.fit(X, y)

        return fit

    def chance(model: Any, table: Table) -> Any:
        return model.predict(table.X_new)

    steps, why = (1.0, 2.0, 3.0, 4.0, 6.0), "its Hessian of all pairs of features"
    return [
        Method(
            "glum, irls", "glum", steps, "iterations", _rows, by_solver("irls-ls"), chance, MOST, why, True
        ),
        Method("glum, lbfgs", "glum", ITERATIONS, "iterations", _rows, by_solver("lbfgs"), chance),
    ]


def _mlpack() -> list[Method]:
    from mlpack import logistic_regression_probabilities, logistic_regression_train

    def fit(made: Any, effort: float) -> Any:
        X, y, task = made
        found = logistic_regression_train(
            training=X,
            labels=y,
            max_iterations=int(effort),
            lambda_=1 / task.shape.cost,
            tolerance=1e-12,
            copy_all_inputs=True,  # without, version 4.8 ends the interpreter
        )
        return found["output_model"]

    def chance(model: Any, table: Table) -> Any:
        test = table.X_new.astype(np.float64)
        found = logistic_regression_probabilities(input_model=model, test=test, copy_all_inputs=True)
        return found["probabilities"][:, 1]

    why = "it takes no sparse rows"
    return [
        Method(
            "mlpack", "mlpack", ITERATIONS, "iterations", _doubles, fit, chance, MOST, why, dense_only=True
        )
    ]


MAKERS = {
    "sefr": _sefr,
    "scikit-learn": _scikit_learn,
    "scikit-learn-intelex": _intelex,
    "Snap ML": _snapml,
    "LIBLINEAR": _liblinear,
    "Vowpal Wabbit": _vowpal_wabbit,
    "glum": _glum,
    "mlpack": _mlpack,
}


def methods() -> tuple[list[Method], dict[str, str]]:
    """Return the methods that are installed, and why each other one is not."""
    found: list[Method] = []
    missing: dict[str, str] = {}
    for name, make in MAKERS.items():
        try:
            found += make()
        except ImportError as error:
            missing[name] = str(error)
    return found, missing


def versions(found: list[Method]) -> dict[str, str]:
    """Return the versions of the packages."""
    return {package: version(package) for package in sorted({method.package for method in found})}
