"""SEFRClassifier: the door for users of scikit-learn. It checks and delegates; it does no arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ._answers.answers import Answers
from ._answers.fitted import NOTHING, Fitted
from ._answers.probabilities import Calibration
from ._answers.settings import check_settings
from ._rows.batches import Gatherer, restartable, unpack_batch
from ._rows.cells import Coder, Cut
from ._rows.inputs import arrow_table, coder_of_batches, feature_names_in, read_rows, refuse_one_class
from ._rows.labelled import CodedRows, Labelled, sample_of
from ._rows.labels import encode, find_labels
from ._summary.readers import READERS
from ._summary.summary import Summary
from ._system.progress import Progress
from ._system.threads import thread_count
from ._system.types import Array, Bins, ClassWeight, Interactions, Names, Rows, Scale, Weights
from ._weights.class_weight import class_weights
from ._weights.refine.lbfgs import Limits
from ._weights.refine.refine import Earlier, Refined, TrainingRows, refine
from ._weights.solve import scaling_of, solve


class SEFRClassifier(Answers):
    """The SEFR classifier: linear, explainable, trained in one pass.

    Training adds up the features of each class (a :class:`Summary`) and derives the weights from the sums, so
    its cost is that of reading the data once. What was learned can be added to, merged and taken back.

    Parameters
    ----------
    scale : "minmax", (low, high) or None, default="minmax"
        How features are brought to [0, 1]. "minmax" learns the lowest and highest value of each. A pair gives
        known ranges (a sensor's 0..1023), numbers or one value per feature; training values outside are an
        error. None takes values as they are; a negative one is an error.
    epsilon : float, default=1e-7
        Keeps eq. 5 of the paper from dividing by zero.
    missing : {"error", "ignore"}, default="error"
        What NaN means: an error, or a value that is left out of sums and scores.
    class_weight : None, "balanced" or dict, default=None
        How often the rows of each class count: None as they come (the paper), "balanced" as if all classes
        had the same number of rows, or ``{label: weight}``, 1 for a label that is not named. It is applied
        where the Summary is solved, so it costs nothing and ``from_summary`` can change it. It moves the
        threshold between the class means (eq. 9), never beyond them.
    bins : None, int or list, default=None
        Cut features into bins, so that the effect of each may be any curve. A number, 2 to 256, such as 32,
        is the most bins of a feature: of equal width where ``scale`` gives known ranges, so that any two
        models add, else at quantiles of the rows first learned. A list has the edges of every feature:
        ``edges_`` of another model. Categories have a bin each, and ``missing="ignore"`` values one.
    interactions : None, int or list, default=None
        With ``bins``: up to so many ferns, such as 60, whose cells several features choose together. They are
        grown on the rows first learned, as long as they tell something about rows that are held out; a list
        is ``interactions_`` of another model, which goes with its edges.
    n_jobs : int, default=None
        Threads for training and prediction; None is one, -1 all. Results are the same to the bit.
    passes : int, default=1
        How often training may read the rows: more passes, more accuracy, more time. 1 is the paper. Each
        further pass weighs the rows by how wrong the model still is about them; about 10 reach the accuracy
        of a linear SVM, 100 more where features correlate. Training stops when a pass no longer helps.
    verbose : int, default=0
        1 shows the passes as they are made.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, sorted. With two, a positive score is ``classes_[1]``, and exactly 0 is ``classes_[0]``.
    edges_, curves_, interactions_, feature_sets_ : list
        With ``bins``: where each feature is cut, its effect over its bins, the comparisons of ferns, and what
        scores are sums over. ``coef_``, ``intercept_`` and ``feature_scores_`` are then not there.
    coef_, intercept_ : ndarray of shape (1, m) and (1,), or (K, m) and (K,) for more than two classes
        Weights for the features as they come, scaling folded in. The higher score is the class.
    feature_scores_ : ndarray of shape (1, m) or (K, m)
        The paper's weights, in [-1, 1], for scaled features: +1 speaks for the class, -1 against it. After
        further passes, the weights of scaled features in units of the largest.
    n_passes_ : int
        How often the rows were read.
    loss_curve_ : list of float
        The mean training loss after each pass; the first is that of the base rates alone, which is all that
        one pass can tell. From the second on it never rises.
    summary_ : Summary
        All that was learned; the weights follow from it.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (m,)
        Names of the features, where the rows had any.
    fitted_ : Fitted
        All of the above as one value that never changes: what a verb replaces as a whole.

    Notes
    -----
    For more than two classes the paper makes class k the negative side of classifier k and answers with the
    lowest score; signs are turned here so that the highest wins, as everywhere in scikit-learn. A class
    named in ``classes`` that was not seen yet scores -inf.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sefr import SEFRClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = SEFRClassifier().fit(X[::2], y[::2])
    >>> round(clf.score(X[1::2], y[1::2]), 2)
    0.92
    >>> clf.partial_fit(X[1::2], y[1::2]).summary_
    <Summary: 150 rows, 4 features, 3 classes>
    """

    def __init__(
        self,
        *,
        scale: Scale = "minmax",
        epsilon: float = 1e-7,
        missing: str = "error",
        class_weight: ClassWeight = None,
        bins: Bins = None,
        interactions: Interactions = None,
        n_jobs: int | None = None,
        passes: int = 1,
        verbose: int = 0,
    ) -> None:
        self.scale = scale
        self.epsilon = epsilon
        self.missing = missing
        self.class_weight = class_weight
        self.bins = bins
        self.interactions = interactions
        self.n_jobs = n_jobs
        self.passes = passes
        self.verbose = verbose

    def fit(self, X: Rows, y: ArrayLike, sample_weight: Weights = None) -> Self:
        """Learn from rows; what was learned before is forgotten.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows, read in place: floats, integers or booleans in any order of memory, CSR or CSC.
        y : array of shape (n,)
            One label per row: strings, integers, booleans, categories.
        sample_weight : array of shape (n,), default=None
            How often each row counts.

        Returns
        -------
        self : SEFRClassifier
            The trained model.
        """
        X = X if (plain := type(X) is np.ndarray) else arrow_table(X)
        summary, rows = self._summarise(X, y, sample_weight)
        if len(summary.classes) < 2:
            refuse_one_class(summary.classes, "y", "; partial_fit with classes=[...] can start from one")
        names = None if summary.feature_names is None else np.array(summary.feature_names, dtype=object)
        if names is None and not plain:
            names = feature_names_in(X)
        self._fitted = self._learned(summary, rows, names)
        return self

    def fit_batches(self, batches: Any) -> Self:
        """Learn from rows that do not fit in memory; what was learned before is forgotten.

        Parameters
        ----------
        batches : callable or collection
            Yields ``(X, y)`` or ``(X, y, sample_weight)``. It is started anew for every pass, with ``bins``
            once more before, and must bring the same rows in the same order: a function that opens a file.

        Returns
        -------
        self : SEFRClassifier
            The trained model. After one pass it equals ``fit`` on all rows; after more it differs by the
            sample of rows that chooses the steps.
        """
        self.check_params()
        start, gatherer = restartable(batches), Gatherer()
        unpacked = (unpack_batch(batch, number) for number, batch in enumerate(start()))
        total, names, coder = None, None, coder_of_batches(unpacked, self._cut)
        for number, batch in enumerate(start()):
            summary, rows = self._summarise(*(parts := unpack_batch(batch, number)), coder)
            names = feature_names_in(parts[0]) if total is None else names
            total = summary if total is None else total + summary
            gatherer.add(rows)
        if total is None:
            raise ValueError("there are no batches to learn from")
        refuse_one_class(total.classes, "all batches together")

        def labelled_batches() -> Iterator[Labelled]:
            for number, batch in enumerate(start()):
                yield self._read(*unpack_batch(batch, number), coder)[0]

        return self.fit_from(total, labelled_batches, gatherer.sample(total.classes), names)

    def fit_from(
        self,
        summary: Summary,
        batches: Callable[[], Iterable[Labelled]],
        sample: CodedRows,
        names: Array | None = None,
    ) -> Self:
        """Learn from a Summary, which is the first pass, and make the others over batches of its rows.

        What was learned before is forgotten. For readers of rows: files and engines.

        Parameters
        ----------
        summary, batches, sample, names
            The Summary of all rows; a callable that yields them, labelled, anew for every pass; some of them,
            coded by the classes of the Summary; and the features' names, where the rows have any.
        """
        self.check_params()
        classes = summary.classes
        fitted = self._solved(summary, names)
        if self.passes > 1:
            refined = self._refine(fitted, lambda: (part.over(classes) for part in batches()), sample)
            fitted = replace(fitted, refined=refined)
        rows = Labelled(sample.matrix, classes, sample.codes, sample.weights)
        self._fitted = fitted.calibrated_with(rows, NOTHING)
        return self

    def fit_frame(
        self, frame: Any, label: str = "y", features: Sequence[str] | None = None, weight: str | None = None
    ) -> Self:
        """Learn from a data frame where it is, eager or lazy; what was learned before is forgotten.

        Parameters
        ----------
        frame : data frame
            Any frame narwhals knows: pandas, Polars, pyarrow, DuckDB, Ibis, Dask, PySpark.
        label, features, weight
            Names of columns, as for :meth:`Summary.of_frame`.

        Returns
        -------
        self : SEFRClassifier
            The trained model, unchanged if an error was raised.
        """
        self.check_params()
        if self.passes > 1 or self.bins is not None:  # the engine makes the passes, and calls fit_from
            return cast(Self, READERS["passes"](self, frame, label, features, weight))
        summary = Summary.of_frame(frame, label, features, weight, missing=self.missing)
        refuse_one_class(summary.classes, f"column {label!r}")
        names = summary.feature_names
        self._fitted = self._solved(summary, None if names is None else np.array(names, dtype=object))
        return self

    def partial_fit(self, X: Rows, y: ArrayLike, classes: Any = None, sample_weight: Weights = None) -> Self:
        """Learn from further rows: equal to having fitted all rows at once.

        With ``passes > 1`` the refined weights so far are the start for the new rows, of which alone the
        further passes are made, and hold on as strongly as the rows behind them would. That is near a fit of
        all rows, not equal to it.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``.
        classes : array of shape (K,), default=None
            All labels that will ever come; another one is then an error. Without it, classes are added as
            they come, and the first call must bring two.

        Returns
        -------
        self : SEFRClassifier
            The model, unchanged if an error was raised.
        """
        before = self._fitted if self.__sklearn_is_fitted__() else None
        summary, rows = self._summarise(X := arrow_table(X), y, sample_weight, before)
        closed = before is not None and before.closed
        if classes is not None:
            known = encode(classes)[0]
            if closed and not np.array_equal(known, self.classes_):
                earlier = list(self.classes_)
                raise ValueError(f"classes={list(known)} differ from those of an earlier call: {earlier}")
            summary = summary.within(known)
        elif closed:
            summary = summary.within(self.classes_)
        total = summary if before is None else before.summary + summary
        if classes is not None:
            total = total.within(known)
        if len(total.classes) < 2:
            only = f"the first rows have one class only, {total.classes[0]!r}"
            raise ValueError(f"{only}; name all labels with classes=[...]")
        names = feature_names_in(X) if before is None else before.names
        fitted = self._learned(total, rows, names, before)
        self._fitted = replace(fitted, closed=closed or classes is not None)
        return self

    def merge(self, other: Any, y: ArrayLike | None = None, sample_weight: Weights = None) -> Self:
        """Add what another model or Summary has learned, or rows: equal to having fitted the rows of both.

        Not after further passes (``passes > 1``): refined weights come from rows, and these are not at hand.

        Parameters
        ----------
        other : SEFRClassifier, Summary, or array of shape (n, m)
            Of the same features. Its classes may differ.
        y, sample_weight
            As for ``fit``, where ``other`` are rows.

        Returns
        -------
        self : SEFRClassifier
            The model, unchanged if an error was raised.
        """
        if y is not None:
            check_is_fitted(self)
            self._refuse_without_rows("merge")
            return self.partial_fit(other, y, sample_weight=sample_weight)
        fitted, summary = self._both("merge", other)
        if fitted.closed:
            summary = summary.within(self.classes_)
        total = fitted.summary + summary
        calibration = fitted.calibration_over(total.classes)
        if isinstance(other, SEFRClassifier):
            calibration = calibration.joined(other.fitted_.calibration_over(total.classes))
        self._fitted = self._solved(total, fitted.names, fitted, calibration)
        return self

    def forget(self, other: Any, y: ArrayLike | None = None, sample_weight: Weights = None) -> Self:
        """Take rows back, or all rows of another model or Summary: equal to never having seen them.

        With ``scale="minmax"`` the lowest and highest values stay those of all rows ever seen. Not after
        further passes (``passes > 1``): refined weights would still know the rows.

        Parameters
        ----------
        other : array of shape (n, m), SEFRClassifier or Summary
            Rows that were learned before, or what has learned them.
        y, sample_weight
            As for ``fit``, where ``other`` are rows.

        Returns
        -------
        self : SEFRClassifier
            The model, unchanged if an error was raised.
        """
        fitted, summary = self._both("forget", other, y, sample_weight)
        unknown = find_labels(fitted.summary.classes, summary.classes) < 0
        if unknown.any():
            raise ValueError(f"cannot forget rows of class {summary.classes[unknown][0]}: none was learned")
        self._fitted = self._solved(fitted.summary - summary, fitted.names, fitted, fitted.calibration)
        return self

    def decay(self, factor: float) -> Self:
        """Make all rows learned so far count ``factor`` times, 0 < factor <= 1, beside those to come.

        Answers and probabilities do not change until the model learns more.
        """
        fitted = self.fitted_
        if not isinstance(factor, Real) or not 0 < factor <= 1:
            raise ValueError(f"decay takes a factor above 0 and up to 1, not {factor!r}")
        self._fitted = replace(fitted, summary=fitted.summary * float(factor))
        return self

    @classmethod
    def from_summary(cls, summary: Summary, **params: Any) -> Self:
        """Build a trained model from a Summary, wherever it was added up.

        Parameters
        ----------
        summary : Summary
            Of at least two classes.
        **params
            As for the constructor.
        """
        if not isinstance(summary, Summary):
            raise TypeError(f"from_summary takes a Summary, not {type(summary).__name__}")
        refuse_one_class(summary.classes, "this Summary")
        self = cls(**params)
        self.check_params()
        if self.passes > 1:
            raise ValueError(
                f"passes={self.passes}: a Summary has no rows to make further passes over; "
                "use passes=1, or fit"
            )
        names = summary.feature_names
        self._fitted = self._solved(summary, None if names is None else np.array(names, dtype=object))
        return self

    @classmethod
    def from_fitted(cls, fitted: Fitted, **params: Any) -> Self:
        """Build a trained model from all that another one knows.

        Parameters
        ----------
        fitted : Fitted
            The ``fitted_`` of a model.
        **params
            As for the constructor; the weights stay those of ``fitted``.
        """
        self = cls(**params)
        self.check_params()
        self._fitted = fitted
        return self

    def check_params(self) -> None:
        """Raise an error that names the first setting that has no meaning."""
        check_settings(vars(self))

    def _summarise(
        self, X: Rows, y: ArrayLike, sample_weight: Weights, by: Fitted | Coder | None = None
    ) -> tuple[Summary, Labelled]:
        """Return the Summary of rows, and the rows; of the features, and cut, as what was learned."""
        self.check_params()
        rows, names = self._read(X, y, sample_weight, by.summary.coder if isinstance(by, Fitted) else by)
        if isinstance(by, Fitted):
            self._check_features(X, rows.matrix)
        n_threads = 1 if self.n_jobs is None else thread_count(self.n_jobs)
        return Summary.of_rows(rows, names, missing=self.missing, n_threads=n_threads), rows

    def _read(
        self, X: Rows, y: ArrayLike, sample_weight: Weights, coder: Coder | None = None
    ) -> tuple[Labelled, Names]:
        """Return labelled rows and their features' names; cut by ``coder``, or as the settings say."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        return read_rows(X, y, sample_weight, coder or self._cut)

    @property
    def _cut(self) -> Cut | None:
        return None if self.bins is None else Cut(self.bins, self.scale, self.missing, self.interactions)

    def _both(
        self, verb: str, other: Any, y: ArrayLike | None = None, sample_weight: Weights = None
    ) -> tuple[Fitted, Summary]:
        """Return what this model knows, and the Summary of the model, the Summary or the rows given."""
        fitted = self.fitted_
        self._refuse_without_rows(verb)
        if isinstance(other, SEFRClassifier):
            other._refuse_without_rows(f"be {'forgotten' if verb == 'forget' else 'merged'}")
            return fitted, other.fitted_.summary
        if isinstance(other, Summary):
            return fitted, other
        if y is None:
            kind = type(other).__name__
            raise TypeError(
                f"{verb} takes another SEFRClassifier, a Summary, or rows with their labels, not {kind}"
            )
        return fitted, self._summarise(arrow_table(other), y, sample_weight, fitted)[0]

    def _refuse_without_rows(self, verb: str) -> None:
        if self.fitted_.refined is not None or self.passes > 1:
            raise ValueError(
                f"a model of passes={self.passes} cannot {verb}: its weights were refined on rows that are "
                "no longer at hand. Fit again, or use SEFRClassifier.from_summary(summary_) with passes=1"
            )

    def _solved(
        self,
        summary: Summary,
        names: Array | None,
        before: Fitted | None = None,
        known: Calibration = NOTHING,
    ) -> Fitted:
        """Return what follows from a Summary under the settings of this model."""
        weights = None if self.class_weight is None else class_weights(self.class_weight, summary)
        scaling = scaling_of(summary, self.scale)
        new = Fitted(summary, scaling, float(self.epsilon), weights, None, known, names=names)
        if before is None:
            return new
        return replace(new, closed=before.closed, columns=before.columns, batches=before.batches)

    def _learned(
        self, summary: Summary, rows: Labelled, names: Array | None, before: Fitted | None = None
    ) -> Fitted:
        """Return what is known after rows of the Summary were learned; ``before`` knows the others."""
        fitted = self._solved(summary, names, before)
        if self.passes > 1:
            table = rows.over(summary.classes)
            sample = sample_of(table, len(summary.classes))
            fitted = replace(fitted, refined=self._refine(fitted, lambda: [table], sample, before))
        earlier = NOTHING if before is None else before.calibration_over(summary.classes)
        return fitted.calibrated_with(rows, earlier)

    def _refine(
        self,
        fitted: Fitted,
        tables: Callable[[], Iterable[CodedRows]],
        sample: CodedRows,
        before: Fitted | None = None,
    ) -> Refined | None:
        """Make further passes over rows that the Summary contains; ``before`` knows the others."""
        earlier = None
        if before is not None and before.refined is not None:
            earlier = Earlier(before.refined, before.summary.classes, before.summary.n_rows)
        return refine(
            fitted.summary,
            solve(fitted.weighted, fitted.scaling, fitted.epsilon),
            TrainingRows(tables, sample, thread_count(self.n_jobs), fitted.class_weight),
            Limits(int(self.passes), Progress(int(self.passes)) if self.verbose else None),
            earlier,
        )
