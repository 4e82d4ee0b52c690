"""A label that is a quantity: training, testing and comparing models that predict numbers."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import model_file
from .._rows.one_hot import one_hot
from .._system.lock import locked
from ..files import ColumnRecipe, Dataset, SourceError
from ..files.learning import checked, without_feature_names
from ..files.numbers import NumberRows, why_a_quantity
from ..regressor import SEFRRegressor
from . import options
from .sample import Sampled, most_compared
from .screen import Screen, grid, seconds, shown
from .stored import fitted_recipe, whole

if TYPE_CHECKING:
    from .._system.types import Fields, Rows
    from .training import Training

SHOWN_SETTINGS = ("auto", "bins", "interactions", "moments")


def reason(task: options.Task | None, table: Dataset, label: str) -> str | None:
    """Return why the label is a number to predict; None if it names classes."""
    if task is None:
        why = why_a_quantity(table, table.label_name(label))
        return None if why is None else f"{why} (--task classify makes a class of each)"
    return None if task is options.Task.classify else "--task regress"


def train(screen: Screen, training: Training, table: Dataset, path: str, why: str) -> None:
    """Train a regressor, write it and show what it has learned; ``why`` says why it is one."""
    started = time.perf_counter()
    reg, recipe = learned(screen, training, table)
    with locked(path, lambda: screen.note(f"waiting for another process that changes {path}")):
        model_file.save(model_file.with_columns(reg, recipe.member()), path)
    elapsed = time.perf_counter() - started
    _say_decisions(screen, training, why)
    n_rows = reg.summary_.n_rows
    screen.line(
        f"{path}: {n_rows:,.0f} rows, numbers of mean {reg.base_:.5g}, {reg.n_features_in_:,} features, "
        f"{seconds(elapsed)} ({n_rows / elapsed:,.0f} rows/s)"
    )
    screen.line(f"{recipe.label} scatters about its predictions by {reg.noise_:.4g}")
    show_importances(screen, reg, 5)
    if "-" not in training.data:
        explain = shlex.join([options.program(), "explain", path])
        screen.note(f"next: {training.command('evaluate')}; {explain}")
    screen.json(
        {
            "model": path,
            "task": "regress",
            "rows": whole(n_rows),
            "features": reg.n_features_in_,
            "mean": float(reg.base_),
            "noise": float(reg.noise_),
            "seconds": elapsed,
            "settings": {name: getattr(reg, name) for name in SHOWN_SETTINGS},
            "decided": {} if training.choice.survey is None else training.choice.survey.to_dict(),
            "importances": importances(reg),
        }
    )


def _say_decisions(screen: Screen, training: Training, why: str) -> None:
    """Say why the label is a number, and what was decided about the columns."""
    screen.note(f"regression: {why}")
    for said in [] if training.choice.survey is None else training.choice.survey.sentences():
        screen.note(said)


def learned(screen: Screen, training: Training, table: Dataset) -> tuple[SEFRRegressor, ColumnRecipe]:
    """Learn the rows of files, each reading of which is one pass."""
    params = training.settings.number_params()
    recipe = training.recipe(table, coded=training.settings.cuts)
    with screen.progress(table, "learning") as tick:
        rows = NumberRows(table, recipe, params["missing"], tick)
        return SEFRRegressor(**params).fit_from(rows), recipe


def importances(reg: SEFRRegressor) -> list[Fields]:
    """Return the share of each feature in moving predictions, the greatest first; of a line with weights."""
    names = reg.summary_.feature_names or [f"x{j}" for j in range(reg.n_features_in_)]
    shares = reg.feature_importances_
    is_line = reg.summary_.coder is None
    found: list[Fields] = []
    for j in np.argsort(-shares, kind="stable"):
        one: Fields = {"feature": str(names[j]), "share": float(shares[j])}
        if is_line:
            one |= {"weight": float(reg.coef_[j]), "standard_error": float(reg.coef_std_[j])}
        found.append(one)
    return found


def show_importances(screen: Screen, reg: SEFRRegressor, count: int) -> None:
    """Show how much of what moves predictions is of each feature; of a line with its weights."""
    found = importances(reg)
    line = ["weight", "standard error"] if "weight" in found[0] else []
    table = grid("feature", "share", *line, right=["share", *line])
    for one in found[:count]:
        numbers = [f"{one['share']:.1%}"] + [f"{one[name.replace(' ', '_')]:+.4g}" for name in line]
        table.add_row(shown(one["feature"]), *numbers)
    if len(found) > count:
        table.add_row(f"and {len(found) - count} more; --json has all")
    screen.print(table)


@dataclass(frozen=True)
class Errors:
    """How far predictions are from the truth."""

    r2: float
    mae: float
    rmse: float
    rows: int

    @classmethod
    def of(cls, truth: NDArray[np.float64], given: NDArray[np.float64]) -> Errors:
        """Return the coefficient of determination, the mean absolute and the root mean square error."""
        left = truth - given
        spread = float(np.square(truth - truth.mean()).sum())
        r2 = 1 - float(np.square(left).sum()) / spread if spread > 0 else float("nan")
        return cls(r2, float(np.abs(left).mean()), float(np.sqrt(np.square(left).mean())), len(truth))

    def report(self) -> Fields:
        """Return the errors for JSON, which has no NaN."""
        return {
            "rows": self.rows,
            "r2": self.r2 if np.isfinite(self.r2) else None,
            "mae": self.mae,
            "rmse": self.rmse,
        }

    def __str__(self) -> str:
        return f"R2 {self.r2:.4f}   MAE {self.mae:.5g}   RMSE {self.rmse:.5g}   {self.rows:,} rows"


def test_model(
    screen: Screen, reg: SEFRRegressor, recipe: ColumnRecipe, table: Dataset, how: str, started: float
) -> None:
    """Compare a model's predictions with the numbers of a table."""
    if recipe.label is None:
        raise SourceError("which column is the label? (--label)")
    truth: list[NDArray[np.float64]] = []
    given: list[NDArray[np.float64]] = []
    scorer = without_feature_names(reg)
    with screen.progress(table, "testing") as tick:
        for batch, matrix, targets in table.numbered(recipe, recipe.label):
            truth.append(targets)
            given.append(scorer.predict(checked(batch, matrix, recipe, reg.missing)))
            tick(len(batch))
    if not truth:
        raise SourceError(f"{table.readers[0].name}: there are no rows")
    errors = Errors.of(np.concatenate(truth), np.concatenate(given))
    elapsed = time.perf_counter() - started
    screen.line(str(errors))
    screen.note(f"{how}, {seconds(elapsed)}")
    screen.json(errors.report() | {"seconds": elapsed, "method": how})


def with_a_test_file(screen: Screen, training: Training, table: Dataset, why: str, test: str) -> None:
    """Train on some files, as ``sefr train`` does, and test on another."""
    started = time.perf_counter()
    reg, recipe = learned(screen, training, table)
    other = training.reading.open([test], like=recipe)
    other.skip_unlabelled = table.skip_unlabelled
    recipe = fitted_recipe(other, reg, recipe, recipe.label, screen)
    _say_decisions(screen, training, why)
    how = f"trained on {', '.join(training.data)}, tested on {test}"
    test_model(screen, reg, recipe, other, how, started)


@dataclass(frozen=True)
class NumberRow:
    """One method: how far off it is for rows that it has not seen, and what it costs."""

    name: str
    errors: Errors
    fit_seconds: float
    model_bytes: int


def by_folds(screen: Screen, training: Training, table: Dataset, why: str, n_folds: int) -> None:
    """Cross-validate what ``sefr train`` would train, beside the mean and linear regression."""
    started = time.perf_counter()
    X, y, seen = _rows(screen, training, table)
    if len(y) < n_folds:
        raise SourceError(f"{table.readers[0].name}: {len(y)} rows are too few for {n_folds} folds")
    methods = _methods(training)
    with screen.steps(n_folds * len(methods)) as tick:
        try:
            rows = [
                _row(name, *method, (X, one_hot(X)), y, n_folds, tick) for name, method in methods.items()
            ]
        except ValueError as error:
            raise SourceError(f"{table.readers[0].name}: {error}") from None
    elapsed = time.perf_counter() - started
    how = f"{n_folds} folds of {', '.join(training.data)}"
    if seen > len(y):
        how += f", on a sample of {len(y):,} of {seen:,} rows"
    _say_decisions(screen, training, why)
    _show(screen, rows)
    screen.note(f"{how}, {seconds(elapsed)}")
    command = training.command("train")
    if "-" not in training.data:
        screen.note(f"next: {command}")
    told = [
        {"name": row.name, "fit_seconds": row.fit_seconds, "model_bytes": row.model_bytes}
        | row.errors.report()
        for row in rows
    ]
    best = rows[-1].errors.report()  # what sefr train takes
    screen.json(
        best | {"task": "regress", "settings": told, "command": command, "seconds": elapsed, "method": how}
    )


def _rows(screen: Screen, training: Training, table: Dataset) -> tuple[Rows, NDArray[np.float64], int]:
    """Return rows in memory, or a sample where they are too many; their numbers; and how many there are."""
    recipe = training.recipe(table, coded=True)
    sampled = Sampled(table, recipe, most_compared(recipe))
    missing = training.settings.number_params()["missing"]
    with screen.progress(table, "reading") as tick:
        for _ in NumberRows(sampled, recipe, missing, tick).read(None):
            pass
    X, y = sampled.rows()
    return X, np.asarray(y, dtype=np.float64), sampled.seen


Method = tuple[
    Callable[[], Any], bool
]  # what makes the estimator, and whether it takes categories as they are


def _methods(training: Training) -> dict[str, Method]:
    """Return what is compared; the last is what was asked for, or what ``sefr train`` takes by itself."""
    from sklearn.dummy import DummyRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline

    from ..comparison import lightgbm

    settings = training.settings
    params = settings.number_params()
    methods: dict[str, Method] = {
        "mean": (DummyRegressor, False),
        "linear regression": (
            lambda: make_pipeline(SimpleImputer(keep_empty_features=True), LinearRegression()),
            False,
        ),
    }
    if settings.is_auto:
        if (library := lightgbm()) is not None:
            methods["LightGBM"] = (lambda: library.LGBMRegressor(n_jobs=1, verbose=-1), False)
        line = params | {"auto": False}
        methods["exact"] = (lambda: SEFRRegressor(**line), False)
    dials = {"bins": params["bins"], "interactions": params["interactions"]}
    named = ", ".join(f"{value} {name}" for name, value in dials.items() if value is not None)
    name = "auto" if settings.is_auto else named or "exact"
    methods[name] = (lambda: SEFRRegressor(**params), settings.cuts)
    return methods


def _row(
    name: str,
    make: Callable[[], Any],
    takes_categories: bool,
    both: tuple[Rows, Rows],
    y: NDArray[np.float64],
    n_folds: int,
    tick: Callable[[str], None],
) -> NumberRow:
    """Cross-validate one method on folds of rows in a random but fixed order."""
    from sklearn.model_selection import KFold

    from ..comparison import rows_at, rows_of_numbers  # scikit-learn's metrics, only where they are used

    X = both[0] if takes_categories else rows_of_numbers(both[1])
    given = np.zeros(len(y))
    for train_rows, test_rows in KFold(n_folds, shuffle=True, random_state=0).split(y):
        model = make().fit(rows_at(X, train_rows), y[train_rows])
        given[test_rows] = model.predict(rows_at(X, test_rows))
        tick(name)
    started = time.perf_counter()
    model = make().fit(X, y)
    spent = time.perf_counter() - started
    size = len(model_file.dump(model)) if isinstance(model, SEFRRegressor) else 0
    return NumberRow(name, Errors.of(y, given), spent, size)


def _show(screen: Screen, rows: list[NumberRow]) -> None:
    """Show a line per method; the last is what ``sefr train`` makes of the same options."""
    right = ["R2", "MAE", "RMSE", "to train", "model"]
    table = grid("method", *right, right=right)
    for row in rows:
        style = "bold" if row is rows[-1] else ""
        errors = row.errors
        spent = row.fit_seconds
        table.add_row(
            shown(row.name, style=style),
            f"{errors.r2:.4f}",
            f"{errors.mae:.5g}",
            f"{errors.rmse:.5g}",
            seconds(spent) if spent >= 0.0095 else f"{1000 * spent:.1f} ms",
            f"{row.model_bytes:,} B" if row.model_bytes else "",
        )
    screen.print(table)
    screen.print()
    screen.line(f"{rows[-1].name}: {rows[-1].errors}")
