"""Which settings for these data? Each is cross-validated on the same folds, with what it costs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import accuracy_score, f1_score, log_loss
from sklearn.model_selection import KFold, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from ._rows.arrow import arrow_table
from ._rows.labels import encode
from ._rows.one_hot import one_hot
from ._system.text import picture_text
from ._system.threads import thread_count
from ._system.types import Array, Fields, Indices, Params, Rows
from .base import Learner
from .classifier import SEFRClassifier
from .model_file import dump
from .regressor import SEFRRegressor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What is compared if nothing else is asked for, the cheapest first. A setting that this version of the
# classifier does not know is left out. None is the base rate: always the most frequent class.
SETTINGS: Mapping[str, Params | None] = {
    "base rate": None,
    "one pass": {"passes": 1},
    "balanced": {"passes": 1, "class_weight": "balanced"},
    "second moments": {"moments": 2},
    "32 bins": {"passes": 1, "bins": 32},
    "ten passes": {"passes": 10},
    "32 bins, ten passes": {"passes": 10, "bins": 32},
    "100 interactions": {"passes": 20, "bins": 32, "interactions": 100},
    "auto": {"auto": True},
}
# What ``sefr train`` has a word for; "auto" is what it trains without one.
METHODS: Mapping[str, Params | None] = {
    "base rate": None,
    "paper": {"passes": 1},
    "exact": {"moments": 2},
    "auto": {"auto": True},
}
# The same of numbers; "mean" stands for the base rate.
NUMBER_SETTINGS: Mapping[str, Params | None] = {
    "mean": None,
    "line": {"moments": 2},
    "32 bins": {"bins": 32},
    "32 bins, 60 interactions": {"bins": 32, "interactions": 60},
    "auto": {"auto": True},
}
NUMBER_METHODS: Mapping[str, Params | None] = {"mean": None, "exact": {"moments": 2}, "auto": {"auto": True}}
MARGIN = 0.01  # macro F1, or R2, that a dearer setting must bring
# Columns beyond which second moments take too long to be one row of several: time grows with their square.
MOST_WITH_MOMENTS = 1_000
BASE_RATES = ("base rate", "mean")  # names of what learns nothing
# How long other methods may take, as a share of the time of the dearest setting; one fold is always tested.
# Time of the processor: what else the machine does has no say in which folds are tested.
SHARES = {"logistic regression": 0.3, "linear regression": 0.3, "LightGBM": 0.7}


@dataclass(frozen=True, kw_only=True)
class AnyRow:
    """What one setting costs, and its answers; what these reach, and how it is measured, is of the task."""

    name: str
    params: Params
    fit_seconds: float
    model_bytes: int
    predictions: Array = field(repr=False, compare=False)
    n_folds: int = 0
    is_other: bool = False

    estimator: ClassVar[type[SEFRClassifier | SEFRRegressor]]
    settings: ClassVar[Mapping[str, Params | None]]  # what is compared if nothing else is asked for
    methods: ClassVar[Mapping[str, Params | None]]  # what ``sefr train`` has a word for
    base_rate: ClassVar[Callable[[], Any]]  # makes what learns nothing
    truth_type: ClassVar[type | None]  # the type that y is compared in; None: as it is
    measures: ClassVar[tuple[str, ...]]  # names of what the answers reach; the first is what is compared by
    digits: ClassVar[tuple[str, ...]]  # how each of them is written
    nothing_helps: ClassVar[str]  # what it means that the base rate is as good as any setting

    @classmethod
    def of(cls, costs: Fields, found: _Tested, y: Array) -> Self:
        """Return a row of what was tested."""
        raise NotImplementedError

    @staticmethod
    def splits(y: Array, n_folds: int) -> list[tuple[Indices, Indices]]:
        """Return the rows of training and test, fold by fold."""
        raise NotImplementedError

    @staticmethod
    def others(class_weight: Any, is_sparse: bool) -> dict[str, Any]:
        """Return the methods to compare with that are installed, as a user would first try them."""
        raise NotImplementedError

    @property
    def reached(self) -> tuple[float | None, ...]:
        """What the answers reach, in the order of ``measures``."""
        raise NotImplementedError

    @property
    def best_by(self) -> float:
        """What settings are compared by."""
        return self.reached[0] or 0.0

    def cells(self) -> list[str]:
        """Return what is shown beside the name, in the order of the titles of a table."""
        spent = self.fit_seconds
        shown = [
            "" if value is None else f"{value:{digits}}"
            for value, digits in zip(self.reached, self.digits, strict=True)
        ]
        return [
            *shown,
            f"{spent:.2f} s" if spent >= 1 else f"{1000 * spent:.1f} ms",
            f"{self.model_bytes:,} B" if self.model_bytes else "",
        ]


@dataclass(frozen=True, kw_only=True)
class Row(AnyRow):
    """One setting: what it reaches and what it costs.

    Attributes
    ----------
    name, params : str, dict
        The setting; ``SEFRClassifier(**params)`` has it.
    macro_f1, accuracy, log_loss : float
        Of the answers for rows that were not in training; ``log_loss`` is None without probabilities.
    fit_seconds : float
        To train once on all rows.
    model_bytes : int
        Of the model file.
    predictions : ndarray of shape (n,)
        The answer for each row, by the model that has not seen it.
    n_folds : int
        How many folds were tested: all, but for other methods if they took too long.
    is_other : bool
        Whether it is another method than SEFR, to compare with.
    """

    macro_f1: float
    accuracy: float
    log_loss: float | None

    estimator = SEFRClassifier
    settings, methods = SETTINGS, METHODS
    base_rate = partial(DummyClassifier, strategy="prior")
    truth_type = None
    measures = ("macro F1", "accuracy", "log loss")
    digits = (".4f", ".4f", ".4f")
    nothing_helps = (
        "No setting does better than always answering the most frequent class: "
        "these features do not separate the classes."
    )

    @property
    def reached(self) -> tuple[float | None, ...]:
        """Macro F1, accuracy and log loss."""
        return self.macro_f1, self.accuracy, self.log_loss

    @classmethod
    def of(cls, costs: Fields, found: _Tested, y: Array) -> Self:
        """Return a row of what was tested."""
        truth, given, shares = y[found.tested], found.answers[found.tested], found.shares
        return cls(
            **costs,
            macro_f1=float(f1_score(truth, given, average="macro", zero_division=0)),
            accuracy=float(accuracy_score(truth, given)),
            log_loss=None if shares is None else _log_loss(truth, shares[found.tested], np.unique(y)),
        )

    @staticmethod
    def splits(y: Array, n_folds: int) -> list[tuple[Indices, Indices]]:
        """Deal the rows of each class to folds, one after the other."""
        classes, codes = encode(y)
        if len(classes) < 2:
            raise ValueError(f"y has one class only, {classes[0]!r}: two are needed")
        return list(PredefinedSplit(dealt_folds(codes, n_folds)).split())

    @staticmethod
    def others(class_weight: Any, is_sparse: bool) -> dict[str, Any]:
        """Return logistic regression, and LightGBM."""
        from sklearn.linear_model import LogisticRegression

        scaled = StandardScaler(with_mean=not is_sparse)
        linear = LogisticRegression(max_iter=1000, class_weight=class_weight)
        found = {"logistic regression": make_pipeline(_imputer(), scaled, linear)}
        if (library := lightgbm()) is not None:
            found["LightGBM"] = library.LGBMClassifier(n_jobs=1, verbose=-1, class_weight=class_weight)
        return found


@dataclass(frozen=True)
class Errors:
    """How far predictions of numbers are from the truth.

    Attributes
    ----------
    r2 : float
        Coefficient of determination; NaN if all true numbers are the same.
    mae, rmse : float
        The mean absolute and the root mean square error.
    rows : int
        How many there are.
    """

    r2: float
    mae: float
    rmse: float
    rows: int

    @classmethod
    def of(cls, truth: NDArray[np.float64], given: NDArray[np.float64]) -> Errors:
        """Compare predictions with the truth.

        Examples
        --------
        >>> Errors.of(np.array([1.0, 3.0]), np.array([1.0, 2.0]))
        Errors(r2=0.5, mae=0.5, rmse=0.7071067811865476, rows=2)
        """
        left = truth - given
        spread = float(np.square(truth - truth.mean()).sum())
        r2 = 1 - float(np.square(left).sum()) / spread if spread > 0 else float("nan")
        return cls(r2, float(np.abs(left).mean()), float(np.sqrt(np.square(left).mean())), len(truth))

    def report(self) -> Fields:
        """Return the errors for JSON, which has no NaN."""
        r2 = self.r2 if np.isfinite(self.r2) else None
        return {"rows": self.rows, "r2": r2, "mae": self.mae, "rmse": self.rmse}

    def __str__(self) -> str:
        return f"R2 {self.r2:.4f}   MAE {self.mae:.5g}   RMSE {self.rmse:.5g}   {self.rows:,} rows"


@dataclass(frozen=True, kw_only=True)
class NumberRow(AnyRow):
    """One setting for numbers: what it reaches and what it costs.

    Attributes
    ----------
    errors : Errors
        Of the predictions for rows that were not in training. The other attributes are those of ``Row``.
    """

    errors: Errors

    estimator = SEFRRegressor
    settings, methods = NUMBER_SETTINGS, NUMBER_METHODS
    base_rate = DummyRegressor
    truth_type = np.float64
    measures = ("R2", "MAE", "RMSE")
    digits = (".4f", ".5g", ".5g")
    nothing_helps = "No setting does better than always answering the mean: these features do not predict it."

    @property
    def reached(self) -> tuple[float | None, ...]:
        """R2, mean absolute and root mean square error."""
        return self.errors.r2, self.errors.mae, self.errors.rmse

    @classmethod
    def of(cls, costs: Fields, found: _Tested, y: Array) -> Self:
        """Return a row of what was tested."""
        return cls(**costs, errors=Errors.of(y[found.tested], found.answers[found.tested]))

    @staticmethod
    def splits(y: Array, n_folds: int) -> list[tuple[Indices, Indices]]:
        """Cut the rows, in a random but fixed order, into folds."""
        if len(y) < n_folds:
            raise ValueError(f"{len(y)} rows are too few for {n_folds} folds")
        return list(KFold(n_folds, shuffle=True, random_state=0).split(y))

    @staticmethod
    def others(class_weight: Any, is_sparse: bool) -> dict[str, Any]:
        """Return linear regression, and LightGBM."""
        from sklearn.linear_model import LinearRegression

        found = {"linear regression": make_pipeline(_imputer(), LinearRegression())}
        if (library := lightgbm()) is not None:
            found["LightGBM"] = library.LGBMRegressor(n_jobs=1, verbose=-1)
        return found


# By the names of tasks.
TASKS: Mapping[str, type[AnyRow]] = {row.estimator.task.name: row for row in (Row, NumberRow)}


@dataclass(frozen=True)
class Comparison(Sequence[Any]):
    """The rows of :func:`compare`, one per setting; shows itself as a table, and draws itself.

    Attributes
    ----------
    rows : tuple of Row
        In the order in which they were asked for; of numbers, of NumberRow.
    n_rows, n_folds : int
        How many rows were used, in how many folds.
    """

    rows: tuple[Any, ...]
    n_rows: int
    n_folds: int

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: Any) -> Any:
        return self.rows[at]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    @property
    def recommended(self) -> Any:
        """The first row whose macro F1 is within 0.01 of the best: a dearer setting must bring more."""
        own = [row for row in self.rows if not row.is_other]
        best = max(row.best_by for row in own)
        return next(row for row in own if row.best_by >= best - MARGIN)

    @property
    def recommendation(self) -> str:
        """The recommendation, as a sentence."""
        chosen = self.recommended
        others = [row for row in self.rows if row is not chosen and not row.is_other]
        if chosen.name in BASE_RATES:
            return str(chosen.nothing_helps)
        said = f"Use {chosen.name}: {chosen.measures[0]} {chosen.best_by:.3f}"
        if not others:
            return f"{said}."
        settings = [row for row in others if row.name not in BASE_RATES]
        next_best = max(settings, key=lambda row: row.best_by, default=others[0])
        if next_best.best_by > chosen.best_by:
            return f"{said}; {next_best.name} brings only {next_best.best_by - chosen.best_by:.3f} more."
        return f"{said} against {next_best.best_by:.3f} with {next_best.name}."

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of the columns of the table."""
        return ("setting", *self.rows[0].measures, "to train", "model")

    def __repr__(self) -> str:
        lines = [self.titles, *((row.name, *row.cells()) for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        table = [
            "  ".join(
                [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
            )
            for line in lines
        ]
        return "\n".join([*table, f"{self.n_rows:,} rows, {self.n_folds} folds. {self.recommendation}"])

    def best_estimator(self) -> Any:
        """Return an estimator with the recommended settings, not trained yet.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sefr import compare
        >>> X, y = load_iris(return_X_y=True)
        >>> compare(X, y, settings={"one pass": {}, "ten passes": {"passes": 10}}).best_estimator().fit(X, y)
        SEFRClassifier(passes=10)
        """
        best = self.recommended
        return best.estimator(**best.params)

    def _repr_html_(self) -> str:
        """Return the table for a notebook, the recommended setting in bold."""
        lines, best = [], self.recommended
        for row in self.rows:
            bold = ' style="font-weight: bold"' if row is best else ""
            numbers = "".join(f'<td style="text-align: right">{cell}</td>' for cell in row.cells())
            lines.append(f'<tr{bold}><th style="text-align: left">{escape(row.name)}</th>{numbers}</tr>')
        head = "".join(f"<th>{title}</th>" for title in self.titles)
        words = f"{self.n_rows:,} rows, {self.n_folds} folds. {escape(self.recommendation)}"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table><p>{words}</p>"

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw macro F1, or R2, as a point per setting, with the time to train beside it.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        ax : Axes
            Where it was drawn.
        """
        from ._system.colours import FOR

        if ax is None:
            import matplotlib.pyplot as plt  # an extra: only who draws needs it

            size = (6, 1.2 + 0.42 * len(self.rows))
            _figure, ax = plt.subplots(figsize=size, layout="constrained")
        places = range(len(self.rows))
        colours = ["0.7" if row.name in BASE_RATES else FOR for row in self.rows]
        reached = [row.best_by for row in self.rows]
        low = max(0.0, min(reached) - 0.05)
        ax.hlines(places, low, reached, color="0.85", linewidth=1.2, zorder=1)
        ax.scatter(reached, places, color=colours, s=40, zorder=2)
        for at, row in enumerate(self.rows):
            text = f"   {row.best_by:.3f}"
            if row.name not in BASE_RATES:
                text += f", {1000 * row.fit_seconds:.3g} ms"
            ax.text(row.best_by, at, text, va="center", fontsize=9)
        ax.set_yticks(places, [picture_text(row.name) for row in self.rows], fontsize=9)
        ax.invert_yaxis()
        span = max(reached) - low
        ax.set(
            xlim=(low, max(reached) + 0.4 * span), xlabel=f"{self.rows[0].measures[0]}, and the time to train"
        )
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        return ax


def compare(
    X: Rows,
    y: ArrayLike,
    *,
    cv: Any = 10,
    settings: Mapping[str, Params | None] | None = None,
    others: bool = False,
    task: str = "classify",
    tick: Callable[[str], None] = lambda name: None,
    **params: Any,
) -> Comparison:
    """Cross-validate several settings on the same folds and recommend one.

    Parameters
    ----------
    X : array, sparse matrix or dataframe of shape (n, m)
        The rows. Categories of a data frame are for settings with ``bins``; those without learn a column of 0
        and 1 per category instead. If a data frame has empty cells, ``missing="ignore"`` is what all settings
        share; ``missing="error"`` refuses them.
    y : array of shape (n,)
        One label, or number, per row.
    cv : int or splitter, default=10
        A number of folds, to which the rows of each class are dealt one after the other, as ``sefr evaluate``
        does, and rows of numbers in a random but fixed order; or a splitter of scikit-learn.
    settings : dict, default=None
        A name and the parameters of :class:`SEFRClassifier` for each row of the table; None instead of
        parameters is the base rate. By default the base rate, one pass, balanced classes, second moments (of
        up to 1,000 columns), 32 bins, ten passes, both of these, 100 interactions of 32 bins with twenty
        passes, and ``auto=True``. Of numbers, the parameters of :class:`SEFRRegressor`: by default the mean,
        a line, 32 bins, these with 60 interactions, and ``auto=True``.
    others : bool, default=False
        Add rows for logistic regression (of numbers, linear regression) and, if it is installed, LightGBM at
        its defaults: on as many of the folds as take about as long as the dearest setting, at least one.
    task : {"classify", "regress"}, default="classify"
        Whether y names classes or is a number to predict.
    tick : callable, default=None
        Called with the name of a row after each of its folds.
    **params
        Parameters that all settings share, for example ``missing="ignore"``.

    Returns
    -------
    table : Comparison
        One row per setting.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sefr import compare
    >>> table = compare(*load_digits(return_X_y=True))
    >>> table.recommended.name
    '100 interactions'
    """
    if task not in TASKS:
        raise ValueError(f"task must be 'classify' or 'regress', not {task!r}")
    kind = TASKS[task]
    labels = np.asarray(y, dtype=kind.truth_type)
    whole = isinstance(cv, int | np.integer)
    splits = kind.splits(labels, int(cv)) if whole else list(cv.split(X, labels))
    known = kind.estimator().get_params()
    X = arrow_table(X)
    if "missing" not in params and _has_empty_cells(X):
        params["missing"] = "ignore"
    plain = one_hot(X)
    rows, dearest = [], 0.0
    # one thread, unless more were asked for: those of BLAS wait for each other on small tables
    with threadpool_limits(thread_count(params.get("n_jobs")), user_api="blas"):
        for name, chosen in (kind.settings if settings is None else settings).items():
            started = time.process_time()
            if chosen is None:
                rows.append(_row(kind, name, kind.base_rate(), {}, plain, labels, splits, tick))
            elif set(chosen) <= set(known):
                both = params | dict(chosen)
                model = kind.estimator(**both)
                cuts = model.task.settings(**both).cut.readings
                if both.get("moments") == 2 and not cuts and _width(plain) > MOST_WITH_MOMENTS:
                    continue
                own = X if cuts else plain
                rows.append(_row(kind, name, model, both, own, labels, splits, tick))
            dearest = max(dearest, time.process_time() - started)
    if not rows:
        raise ValueError("there are no settings to compare that this version knows")
    if others:
        numbers = rows_of_numbers(plain)
        for name, model in kind.others(params.get("class_weight"), sparse.issparse(numbers)).items():
            most = SHARES[name] * dearest
            with warnings.catch_warnings(), threadpool_limits(1):  # one thread, as for settings
                warnings.simplefilter("ignore")  # such as of scikit-learn about passes or names
                rows.append(_row(kind, name, model, {}, numbers, labels, splits, tick, most_seconds=most))
    return Comparison(tuple(rows), len(labels), len(splits))


def _has_empty_cells(X: Any) -> bool:
    """Say whether X is a frame in which values are missing; of an array, NaN stays an error."""
    if not nw.dependencies.is_into_dataframe(X):
        return False
    frame = nw.from_native(X, eager_only=True)
    return any(
        column.is_null().any() or (column.dtype.is_float() and column.is_nan().any())
        for column in frame.iter_columns()
    )


def _imputer() -> Any:
    from sklearn.impute import SimpleImputer

    return SimpleImputer(keep_empty_features=True)


def lightgbm() -> Any:
    """Return LightGBM to compare with; None if it is not installed, or not all that it needs."""
    try:
        return import_module("lightgbm")
    except (ImportError, OSError):
        return None


def _width(X: Any) -> int:
    first: Any = rows_at(X, np.arange(1))
    return int(np.shape(first)[1])


def rows_of_numbers(X: Any) -> Any:
    """Return rows for other methods, without names: a sparse matrix, or an array of floats."""
    if sparse.issparse(X):
        return X.tocsr().astype(np.float64)
    if nw.dependencies.is_pyarrow_table(X):
        return np.column_stack([np.asarray(column, dtype=np.float64) for column in X.columns])
    return np.asarray(X, dtype=np.float64)


def dealt_folds(codes: Array, n_folds: int) -> NDArray[np.int64]:
    """Return the fold of each row: the rows of each class are dealt to the folds one after the other.

    Examples
    --------
    >>> dealt_folds(np.array([0, 0, 1, 0, 1]), 2)
    array([0, 1, 0, 0, 1])
    """
    if n_folds < 2:
        raise ValueError(f"two folds or more are needed, not {n_folds}")
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes)
    folds = np.empty(len(codes), dtype=np.int64)
    folds[order] = (np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)) % n_folds
    return folds


class _Tested(NamedTuple):
    """The answers for rows that were not in training."""

    answers: Array
    shares: NDArray[np.float64] | None  # probabilities of the classes, if there are any
    tested: NDArray[np.bool_]  # which rows were
    n_folds: int
    fit_seconds: float
    model_bytes: int


def _row(
    kind: type[AnyRow],
    name: str,
    model: Any,
    params: Params,
    X: Rows,
    y: Array,
    splits: list[tuple[Indices, Indices]],
    tick: Callable[[str], None],
    most_seconds: float | None = None,
) -> AnyRow:
    """Cross-validate one setting; the time and the size are those of a model of all rows.

    With ``most_seconds`` it is another method: after that time no further fold is begun, and the time to
    train is that of a fold.
    """
    found = _tested(name, model, X, y, splits, tick, most_seconds)
    costs: Fields = {
        "name": name,
        "params": dict(params),
        "fit_seconds": found.fit_seconds,
        "model_bytes": found.model_bytes,
        "predictions": found.answers,
        "n_folds": found.n_folds,
        "is_other": most_seconds is not None,
    }
    return kind.of(costs, found, y)


def _tested(
    name: str,
    model: Any,
    X: Rows,
    y: Array,
    splits: list[tuple[Indices, Indices]],
    tick: Callable[[str], None],
    most_seconds: float | None,
) -> _Tested:
    """Train on the rows outside each fold and answer for those in it.

    All rows come first, so that an error counts rows as the caller does.
    """
    fit_seconds, model_bytes = 0.0, 0
    if most_seconds is None:
        started = time.perf_counter()
        model.fit(X, y)
        fit_seconds = time.perf_counter() - started
        model_bytes = len(dump(model)) if isinstance(model, Learner) else 0
    has_shares = hasattr(model, "predict_proba")
    classes = np.unique(y) if has_shares else y[:0]
    answers, shares = y.copy(), np.zeros((len(y), len(classes)))
    tested = np.zeros(len(y), dtype=bool)
    n_folds, spent = 0, 0.0
    for train, test in splits:
        if most_seconds is not None and n_folds and spent * (n_folds + 1) / n_folds > most_seconds:
            break
        began, started = time.process_time(), time.perf_counter()
        model.fit(rows_at(X, train), y[train])
        if most_seconds is not None:
            fit_seconds = time.perf_counter() - started
        rows = rows_at(X, test)
        answers[test] = model.predict(rows)
        tested[test] = True
        try:
            if has_shares:
                shares[np.ix_(test, np.searchsorted(classes, model.classes_))] = model.predict_proba(rows)
        except ValueError:  # such as no complete row to calibrate on
            has_shares = False
        spent += time.process_time() - began
        n_folds += 1
        tick(name)
    return _Tested(answers, shares if has_shares else None, tested, n_folds, fit_seconds, model_bytes)


def rows_at(X: Rows, at: Indices) -> Rows:
    """Return some rows of any table."""
    # scikit-learn before 1.8 does not know tables of Arrow
    chosen: Rows = X.take(at) if nw.dependencies.is_pyarrow_table(X) else _safe_indexing(X, at)
    return chosen


def _log_loss(truth: Array, shares: NDArray[np.float64], classes: Array) -> float:
    clipped = np.clip(shares, 1e-15, 1)
    return float(log_loss(truth, clipped / clipped.sum(axis=1, keepdims=True), labels=classes))
