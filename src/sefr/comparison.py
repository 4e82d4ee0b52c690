"""Which settings for these data? Each is cross-validated on the same folds, with what it costs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, f1_score, log_loss
from sklearn.model_selection import PredefinedSplit
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from ._rows.arrow import arrow_table
from ._rows.labels import encode
from ._rows.one_hot import one_hot
from ._system.text import picture_text
from ._system.types import Array, Foreign, Indices, Params, Rows
from .classifier import SEFRClassifier
from .model_file import dump

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What is compared where nothing else is asked for, the cheapest first. A setting that this version of the
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
}
# What ``sefr train`` has a word for; "auto" is what it trains without one.
METHODS: Mapping[str, Params | None] = {
    "base rate": None,
    "paper": {"passes": 1},
    "exact": {"moments": 2},
    "auto": {"auto": True},
}
MARGIN = 0.01  # macro F1 that a dearer setting must bring
# Columns beyond which second moments take too long to be one row of several: time grows with their square.
MOST_WITH_MOMENTS = 1_000
# How long other methods may take, as a share of the time of the dearest setting; one fold is always tested.
SHARES = {"logistic regression": 0.3, "LightGBM": 0.7}


@dataclass(frozen=True)
class Row:
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

    name: str
    params: Params
    macro_f1: float
    accuracy: float
    log_loss: float | None
    fit_seconds: float
    model_bytes: int
    predictions: Array = field(repr=False, compare=False)
    n_folds: int = 0
    is_other: bool = False


@dataclass(frozen=True)
class Comparison(Sequence[Row]):
    """The rows of :func:`compare`, one per setting; shows itself as a table, and draws itself.

    Attributes
    ----------
    rows : tuple of Row
        In the order in which they were asked for.
    n_rows, n_folds : int
        How many rows were used, in how many folds.
    """

    rows: tuple[Row, ...]
    n_rows: int
    n_folds: int

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: Foreign) -> Foreign:
        return self.rows[at]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def recommended(self) -> Row:
        """The first row whose macro F1 is within 0.01 of the best: a dearer setting must bring more."""
        own = [row for row in self.rows if not row.is_other]
        best = max(row.macro_f1 for row in own)
        return next(row for row in own if row.macro_f1 >= best - MARGIN)

    @property
    def recommendation(self) -> str:
        """The recommendation, as a sentence."""
        chosen = self.recommended
        others = [row for row in self.rows if row is not chosen and not row.is_other]
        if chosen.name == "base rate":
            return (
                "No setting does better than always answering the most frequent class: "
                "these features do not separate the classes."
            )
        if not others:
            return f"Use {chosen.name}: macro F1 {chosen.macro_f1:.3f}."
        next_best = max((row for row in others if row.name != "base rate"), key=_f1, default=others[0])
        if next_best.macro_f1 > chosen.macro_f1:
            gain = f"{next_best.macro_f1 - chosen.macro_f1:.3f}"
            reached = f"macro F1 {chosen.macro_f1:.3f}"
            return f"Use {chosen.name}: {reached}; {next_best.name} brings only {gain} more."
        return (
            f"Use {chosen.name}: macro F1 {chosen.macro_f1:.3f} against {next_best.macro_f1:.3f} "
            f"with {next_best.name}."
        )

    def __repr__(self) -> str:
        lines = [("setting", "macro F1", "accuracy", "log loss", "to train", "model")]
        for row in self.rows:
            loss = "" if row.log_loss is None else f"{row.log_loss:.4f}"
            lines.append(
                (
                    row.name,
                    f"{row.macro_f1:.4f}",
                    f"{row.accuracy:.4f}",
                    loss,
                    f"{1000 * row.fit_seconds:.1f} ms",
                    f"{row.model_bytes:,} B",
                )
            )
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        table = [
            "  ".join(
                [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
            )
            for line in lines
        ]
        return "\n".join([*table, f"{self.n_rows:,} rows, {self.n_folds} folds. {self.recommendation}"])

    def best_estimator(self) -> SEFRClassifier:
        """Return a classifier with the recommended settings, not trained yet.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sefr import compare
        >>> X, y = load_iris(return_X_y=True)
        >>> compare(X, y, settings={"one pass": {}, "ten passes": {"passes": 10}}).best_estimator().fit(X, y)
        SEFRClassifier(passes=10)
        """
        return SEFRClassifier(**({} if self.recommended.name == "base rate" else self.recommended.params))

    def _repr_html_(self) -> str:
        """Return the table for a notebook, the recommended setting in bold."""
        lines = []
        for row in self.rows:
            loss = "" if row.log_loss is None else f"{row.log_loss:.4f}"
            cells = [f"{row.macro_f1:.4f}", f"{row.accuracy:.4f}", loss, f"{1000 * row.fit_seconds:.1f} ms"]
            cells.append(f"{row.model_bytes:,} B" if row.model_bytes else "")
            bold = ' style="font-weight: bold"' if row is self.recommended else ""
            numbers = "".join(f'<td style="text-align: right">{cell}</td>' for cell in cells)
            lines.append(f'<tr{bold}><th style="text-align: left">{escape(row.name)}</th>{numbers}</tr>')
        titles = ("setting", "macro F1", "accuracy", "log loss", "to train", "model")
        head = "".join(f"<th>{title}</th>" for title in titles)
        words = f"{self.n_rows:,} rows, {self.n_folds} folds. {escape(self.recommendation)}"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table><p>{words}</p>"

    def plot(self, ax: Axes | None = None) -> Foreign:
        """Draw macro F1 as a point per setting, with the time to train beside it.

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
        colours = ["0.7" if row.name == "base rate" else FOR for row in self.rows]
        reached = [row.macro_f1 for row in self.rows]
        low = max(0.0, min(reached) - 0.05)
        ax.hlines(places, low, reached, color="0.85", linewidth=1.2, zorder=1)
        ax.scatter(reached, places, color=colours, s=40, zorder=2)
        for at, row in enumerate(self.rows):
            text = f"   {row.macro_f1:.3f}"
            if row.name != "base rate":
                text += f", {1000 * row.fit_seconds:.3g} ms"
            ax.text(row.macro_f1, at, text, va="center", fontsize=9)
        ax.set_yticks(places, [picture_text(row.name) for row in self.rows], fontsize=9)
        ax.invert_yaxis()
        span = max(reached) - low
        ax.set(xlim=(low, max(reached) + 0.4 * span), xlabel="macro F1, and the time to train")
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        return ax


def _f1(row: Row) -> float:
    return row.macro_f1


def compare(
    X: Rows,
    y: ArrayLike,
    *,
    cv: Foreign = 10,
    settings: Mapping[str, Params | None] | None = None,
    others: bool = False,
    tick: Callable[[str], None] = lambda name: None,
    **params: Foreign,
) -> Comparison:
    """Cross-validate several settings on the same folds and recommend one.

    Parameters
    ----------
    X : array, sparse matrix or dataframe of shape (n, m)
        The rows. Categories of a data frame are for settings with ``bins``; those without learn a column of 0
        and 1 per category instead.
    y : array of shape (n,)
        One label per row.
    cv : int or splitter, default=10
        A number of folds, to which the rows of each class are dealt one after the other, as ``sefr evaluate``
        does; or a splitter of scikit-learn.
    settings : dict, default=None
        A name and the parameters of :class:`SEFRClassifier` for each row of the table; None instead of
        parameters is the base rate. By default the base rate, one pass, balanced classes, second moments (of
        up to 1,000 columns), 32 bins, ten passes, both of these, and 100 interactions of 32 bins with twenty
        passes.
    others : bool, default=False
        Add rows for logistic regression and, if it is installed, LightGBM at its defaults: on as many of the
        folds as take about as long as the dearest setting, at least one.
    tick : callable, default=None
        Called with the name of a row after each of its folds.
    **params
        Parameters that all settings share, such as ``missing="ignore"``.

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
    '32 bins, ten passes'
    """
    labels = np.asarray(y)
    classes, codes = encode(labels)
    if len(classes) < 2:
        raise ValueError(f"y has one class only, {classes[0]!r}: two are needed")
    if isinstance(cv, (int, np.integer)):
        folds = dealt_folds(codes, int(cv))
        splits = list(PredefinedSplit(folds).split())
    else:
        splits = list(cv.split(X, labels))
    known = SEFRClassifier().get_params()
    X = arrow_table(X)
    plain = one_hot(X)
    rows, dearest = [], 0.0
    for name, chosen in (SETTINGS if settings is None else settings).items():
        started = time.perf_counter()
        if chosen is None:
            rows.append(_row(name, DummyClassifier(strategy="prior"), {}, plain, labels, splits, tick))
        elif set(chosen) <= set(known):
            both = params | dict(chosen)
            cuts = both.get("bins") is not None or both.get("auto")
            if both.get("moments") == 2 and not cuts and _width(plain) > MOST_WITH_MOMENTS:
                continue
            own = X if cuts else plain
            rows.append(_row(name, SEFRClassifier(**both), both, own, labels, splits, tick))
        dearest = max(dearest, time.perf_counter() - started)
    if not rows:
        raise ValueError("there are no settings to compare that this version knows")
    if others:
        numbers = rows_of_numbers(plain)
        for name, model in _other_methods(params.get("class_weight"), sparse.issparse(numbers)).items():
            most = SHARES[name] * dearest
            with warnings.catch_warnings(), threadpool_limits(1):  # one thread, as for settings
                warnings.simplefilter("ignore")  # such as of scikit-learn about passes or names
                rows.append(_row(name, model, {}, numbers, labels, splits, tick, most_seconds=most))
    return Comparison(tuple(rows), len(labels), len(splits))


def _other_methods(class_weight: Foreign, is_sparse: bool) -> dict[str, Foreign]:
    """Return the methods to compare with that are installed, as a user would first try them."""
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    methods = {
        "logistic regression": make_pipeline(
            SimpleImputer(keep_empty_features=True),
            StandardScaler(with_mean=not is_sparse),
            LogisticRegression(max_iter=1000, class_weight=class_weight),
        )
    }
    if (library := lightgbm()) is not None:
        methods["LightGBM"] = library.LGBMClassifier(n_jobs=1, verbose=-1, class_weight=class_weight)
    return methods


def lightgbm() -> Foreign:
    """Return LightGBM to compare with; None if it is not installed, or not all that it needs."""
    try:
        return import_module("lightgbm")
    except (ImportError, OSError):
        return None


def _width(X: Foreign) -> int:
    first: Foreign = rows_at(X, np.arange(1))
    return int(np.shape(first)[1])


def rows_of_numbers(X: Foreign) -> Foreign:
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


def _row(
    name: str,
    model: Foreign,
    params: Params,
    X: Rows,
    y: Array,
    splits: list[tuple[Indices, Indices]],
    tick: Callable[[str], None],
    most_seconds: float | None = None,
) -> Row:
    """Cross-validate one setting; the time and the size are those of a model of all rows.

    With ``most_seconds`` it is another method: after that time no further fold is begun, and the time to
    train is that of a fold.
    """
    classes = np.unique(y)
    answers, shares = y.copy(), np.zeros((len(y), len(classes)))
    tested = np.zeros(len(y), dtype=bool)
    has_shares, n_folds, spent = True, 0, 0.0
    for train, test in splits:
        if most_seconds is not None and n_folds and spent * (n_folds + 1) / n_folds > most_seconds:
            break
        started = time.perf_counter()
        model.fit(rows_at(X, train), y[train])
        fit_seconds = time.perf_counter() - started
        rows = rows_at(X, test)
        answers[test] = model.predict(rows)
        tested[test] = True
        try:
            shares[np.ix_(test, np.searchsorted(classes, model.classes_))] = model.predict_proba(rows)
        except ValueError:  # such as no complete row to calibrate on
            has_shares = False
        spent += time.perf_counter() - started
        n_folds += 1
        tick(name)
    if most_seconds is None:
        started = time.perf_counter()
        model.fit(X, y)
        fit_seconds = time.perf_counter() - started
    truth, given = y[tested], answers[tested]
    return Row(
        name,
        dict(params),
        float(f1_score(truth, given, average="macro", zero_division=0)),
        float(accuracy_score(truth, given)),
        _log_loss(truth, shares[tested], classes) if has_shares else None,
        fit_seconds,
        len(dump(model)) if isinstance(model, SEFRClassifier) else 0,
        answers,
        n_folds,
        most_seconds is not None,
    )


def rows_at(X: Rows, at: Indices) -> Rows:
    """Return some rows of any table."""
    # scikit-learn before 1.8 does not know tables of Arrow
    chosen: Rows = X.take(at) if nw.dependencies.is_pyarrow_table(X) else _safe_indexing(X, at)
    return chosen


def _log_loss(truth: Array, shares: NDArray[np.float64], classes: Array) -> float:
    clipped = np.clip(shares, 1e-15, 1)
    return float(log_loss(truth, clipped / clipped.sum(axis=1, keepdims=True), labels=classes))
