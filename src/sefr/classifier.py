"""SEFRClassifier: the door for users of scikit-learn. It checks and delegates; it does no arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from ._answers.answers import Answers
from ._answers.probabilities import HeldOut, joined, some_scores
from ._rows.batches import Gatherer, restartable, unpack_batch
from ._rows.inputs import feature_names_of, labelled, refuse_one_class
from ._rows.labelled import Labelled, Table, sample_of
from ._rows.labels import encode
from ._summary.summary import Summary
from ._system.progress import Progress
from ._system.threads import thread_count
from ._weights.refine.lbfgs import Limits
from ._weights.refine.refine import Earlier, Refined, TrainingRows, refine
from ._weights.solve import solve


class SEFRClassifier(Answers):
    """The SEFR classifier: linear, explainable, trained in one pass.

    Training adds up the features of each class (a :class:`Summary`) and derives the weights from the sums, so
    its cost is that of reading the data once. What was learned can be added to, merged and taken back.

    Parameters
    ----------
    scale : "minmax", (low, high) or None, default="minmax"
        How features are brought to [0, 1]. "minmax" learns the lowest and highest value of each. A pair gives
        known ranges (a sensor's 0..1023), numbers or one value a feature; training values outside are an
        error. None takes values as they are; a negative one is an error.
    epsilon : float, default=1e-7
        Keeps eq. 5 of the paper from dividing by zero.
    missing : {"error", "ignore"}, default="error"
        What NaN means: an error, or a value that votes for no class.
    n_jobs : int, default=None
        Threads for training and prediction; None is one, -1 all. Results are the same to the bit.
    passes : int, default=1
        The dial between energy and accuracy: how often training may read the rows. 1 is the paper. With more,
        each further pass weighs the rows by how wrong the model still is about them; about 10 reach the
        accuracy of a linear SVM. The model stays linear. Training stops early when a pass no longer helps.
    verbose : int, default=0
        1 shows the passes as they are made.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, sorted. With two, a positive score is ``classes_[1]``, and exactly 0 is ``classes_[0]``.
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
        scale: Any = "minmax",
        epsilon: float = 1e-7,
        missing: str = "error",
        n_jobs: int | None = None,
        passes: int = 1,
        verbose: int = 0,
    ) -> None:
        self.scale = scale
        self.epsilon = epsilon
        self.missing = missing
        self.n_jobs = n_jobs
        self.passes = passes
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows; what was learned before is forgotten.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows, read in place: floats, integers or booleans in any order of memory, CSR or CSC.
        y : array of shape (n,)
            A label a row: strings, integers, booleans, categories.
        sample_weight : array of shape (n,), default=None
            How often each row counts.

        Returns
        -------
        self : SEFRClassifier
            The trained model.
        """
        summary, table = self._summarise(X, y, sample_weight, reset=True)
        refuse_one_class(summary.classes, "y", "; partial_fit with classes=[...] can start from one")
        refined = self._refine(summary, table) if self.passes > 1 else None
        self._closed = False
        self._learned(summary, X, refined)
        self._remember_scores(table)
        return self

    def fit_batches(self, batches: Any) -> Self:
        """Learn from rows that do not fit in memory; what was learned before is forgotten.

        Parameters
        ----------
        batches : callable or collection
            Yields ``(X, y)`` or ``(X, y, sample_weight)``, as for ``fit``. It is started anew for every pass
            and must bring the same rows in the same order: a function that opens a file, a list.

        Returns
        -------
        self : SEFRClassifier
            The trained model. After one pass it equals ``fit`` on all rows; after more it differs by the
            sample of rows that chooses the steps.
        """
        self._check_params()
        start, gatherer = restartable(batches), Gatherer()
        total: Summary | None = None
        first = None
        for number, batch in enumerate(start()):
            summary, rows = self._summarise(*unpack_batch(batch, number), reset=True)
            first = batch[0] if total is None else first
            total = summary if total is None else total + summary
            gatherer.add(rows)
        if total is None:
            raise ValueError("there are no batches to learn from")
        refuse_one_class(total.classes, "all batches together")

        def labelled() -> Iterator[Labelled]:
            for number, batch in enumerate(start()):
                yield self._labelled(*unpack_batch(batch, number), reset=True)

        return self._learned_in_passes(total, labelled, gatherer.sample(total.classes), first)

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
        self._check_params()
        if self.passes > 1:
            raise ValueError(
                f"passes={self.passes}: an engine adds up one pass; use passes=1 here, or fit or fit_batches"
            )
        summary = Summary.of_frame(frame, label, features, weight, missing=self.missing)
        refuse_one_class(summary.classes, f"column {label!r}")
        self._learned(summary)
        self._closed = False
        self.feature_names_in_ = np.array(summary.feature_names, dtype=object)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
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
        first = not hasattr(self, "summary_")
        summary, table = self._summarise(X, y, sample_weight, reset=first)
        closed = getattr(self, "_closed", False) and not first
        if classes is not None:
            known = encode(classes)[0]
            if closed and not np.array_equal(known, self.classes_):
                raise ValueError(
                    f"classes={list(known)} differ from those of an earlier call: {list(self.classes_)}"
                )
            closed = True
        elif closed:
            known = self.classes_
        if closed:
            summary = self._within(summary, known)
        total = summary if first else self.summary_ + summary
        if classes is not None:
            total = self._within(total, known)
        if len(total.classes) < 2:
            raise ValueError(
                f"the first rows have one class only, {total.classes[0]!r}; "
                "name all labels with classes=[...]"
            )
        refined = self._refine(total, table, None if first else self) if self.passes > 1 else None
        self._closed = closed
        before = None if first else self._held_out_over(total.classes)
        self._learned(total, X if first else None, refined)
        self._remember_scores(table, before)
        return self

    def merge(self, other: SEFRClassifier | Summary) -> Self:
        """Add what another model or Summary has learned: equal to having fitted the rows of both.

        Not after further passes (``passes > 1``): refined weights come from rows, and these are not at hand.

        Parameters
        ----------
        other : SEFRClassifier or Summary
            Of the same features. Its classes may differ.

        Returns
        -------
        self : SEFRClassifier
            The model, unchanged if an error was raised.
        """
        check_is_fitted(self)
        self._refuse_without_rows("merge")
        if isinstance(other, SEFRClassifier):
            check_is_fitted(other)
            other._refuse_without_rows("be merged")
            classes = (self.summary_ + other.summary_).classes
            both = joined(self._held_out_over(classes), other._held_out_over(classes))
            other = other.summary_
        else:
            both = self._held_out
        if not isinstance(other, Summary):
            raise TypeError(
                f"a SEFRClassifier merges with another or with a Summary, not with {type(other).__name__}"
            )
        if getattr(self, "_closed", False):
            other = self._within(other, self.classes_)
        return self._learned(self.summary_ + other, held_out=both)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows back: equal to never having seen them.

        With ``scale="minmax"`` the lowest and highest values stay those of all rows ever seen. Not after
        further passes (``passes > 1``): refined weights would still know the rows.

        Parameters
        ----------
        X, y, sample_weight
            Rows that were learned before, as for ``fit``.

        Returns
        -------
        self : SEFRClassifier
            The model, unchanged if an error was raised.
        """
        check_is_fitted(self)
        self._refuse_without_rows("forget")
        summary, _ = self._summarise(X, y, sample_weight, reset=False)
        unknown = [label for label in summary.classes if label not in self.classes_]
        if unknown:
            raise ValueError(f"cannot forget rows of class {unknown[0]!r}: none was learned")
        return self._learned(self.summary_ - summary, held_out=self._held_out)

    def decay(self, factor: float) -> Self:
        """Make all rows learned so far count ``factor`` times, 0 < factor <= 1, beside those to come.

        Returns
        -------
        self : SEFRClassifier
            The model; its answers do not change until it learns more.
        """
        check_is_fitted(self)
        if not isinstance(factor, Real) or not 0 < factor <= 1:
            raise ValueError(f"decay takes a factor above 0 and up to 1, not {factor!r}")
        return self._learned(self.summary_ * float(factor), refined=self._refined, held_out=self._held_out)

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
        self._check_params()
        if self.passes > 1:
            raise ValueError(
                f"passes={self.passes}: a Summary has no rows to make further passes over; "
                "use passes=1, or fit"
            )
        self._closed = False
        return self._learned(summary)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "ignore"
        tags.input_tags.positive_only = self.scale is None
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "summary_")

    def _check_params(self) -> None:
        if isinstance(self.scale, str) and self.scale != "minmax":
            raise ValueError(f"scale must be 'minmax', None or a pair (low, high), not {self.scale!r}")
        if not isinstance(self.epsilon, Real) or not 0 <= self.epsilon < np.inf:
            raise ValueError(f"epsilon must be a number from 0 up, not {self.epsilon!r}")
        if self.missing not in ("error", "ignore"):
            raise ValueError(f"missing must be 'error' or 'ignore', not {self.missing!r}")
        if not isinstance(self.passes, Integral) or isinstance(self.passes, bool) or self.passes < 1:
            raise ValueError(f"passes must be a whole number from 1 up, not {self.passes!r}")
        if self.n_jobs is not None and not isinstance(self.n_jobs, Integral):
            raise ValueError(f"n_jobs must be None or an integer, not {self.n_jobs!r}")

    def _summarise(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Summary, Labelled]:
        self._check_params()
        rows = self._labelled(X, y, sample_weight, reset=reset)
        n_threads = thread_count(self.n_jobs)
        return Summary.of_matrix(*rows, feature_names_of(X), missing=self.missing, n_threads=n_threads), rows

    def _labelled(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Labelled:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        return labelled(self._matrix(X, reset=reset), y, sample_weight)

    def _learned_in_passes(
        self, summary: Summary, rows: Callable[[], Iterable[Labelled]], sampled: Table, first: Any = None
    ) -> Self:
        """Take a Summary, the first pass, and make the others over batches of its rows."""
        classes = summary.classes
        refined = None
        if self.passes > 1:
            refined = self._refine_tables(summary, lambda: (part.over(classes) for part in rows()), sampled)
        self._closed = False
        self._learned(summary, first, refined)
        self._remember_scores(Labelled(sampled.matrix, classes, sampled.codes, sampled.weights))
        return self

    def _refine(
        self, summary: Summary, rows: Labelled, before: SEFRClassifier | None = None
    ) -> Refined | None:
        """Make further passes over rows that the Summary contains; ``before`` knows the others."""
        table = rows.over(summary.classes)
        return self._refine_tables(summary, lambda: [table], sample_of(table, len(summary.classes)), before)

    def _refine_tables(
        self,
        summary: Summary,
        tables: Callable[[], Iterable[Table]],
        sampled: Table,
        before: SEFRClassifier | None = None,
    ) -> Refined | None:
        earlier = None
        if before is not None and before._refined is not None:
            earlier = Earlier(before._refined, before.classes_, before.summary_.n_rows)
        return refine(
            summary,
            solve(summary, self.scale, self.epsilon),
            TrainingRows(tables, sampled, thread_count(self.n_jobs)),
            Limits(int(self.passes), Progress(int(self.passes)) if self.verbose else None),
            earlier,
        )

    def _remember_scores(self, rows: Labelled, before: HeldOut | None = None) -> None:
        """Keep the scores of a few rows that were just learned, and of those before, for probabilities."""
        if self._refined is None:
            new: HeldOut | None = some_scores(rows, self.summary_, self._planes, self.epsilon)
        else:
            new = self._refined.held_out
        self._held_out = joined(before, new)

    def _held_out_over(self, classes: NDArray[Any]) -> HeldOut | None:
        """Return the scores kept so far, coded by more classes."""
        if self._held_out is None:
            return None
        return self._held_out.over(np.searchsorted(classes, self.classes_), len(classes))

    def _refuse_without_rows(self, verb: str) -> None:
        if self._refined is not None or self.passes > 1:
            raise ValueError(
                f"a model of passes={self.passes} cannot {verb}: its weights were refined on rows that are "
                "no longer at hand. Fit again, or use SEFRClassifier.from_summary(summary_) with passes=1"
            )

    def _within(self, summary: Summary, classes: NDArray[Any]) -> Summary:
        """Return the Summary over exactly ``classes``."""
        unknown = [label for label in summary.classes if label not in classes]
        if unknown:
            raise ValueError(f"unknown class {unknown[0]!r}: classes was given as {list(classes)}")
        return summary.over(classes)

    def _learned(
        self,
        summary: Summary,
        X: Any = None,
        refined: Refined | None = None,
        held_out: HeldOut | None = None,
    ) -> Self:
        """Take a Summary and what follows from it, or was refined from it, all or nothing."""
        planes = solve(summary, self.scale, self.epsilon) if refined is None else refined.planes
        if type(X) is np.ndarray:  # what validate_data would do, without asking 30 us long what X might be
            self.__dict__.pop("feature_names_in_", None)
        elif X is not None:
            validate_data(self, X, reset=True, skip_check_array=True)
        elif not hasattr(self, "n_features_in_") and summary.feature_names is not None:
            self.feature_names_in_ = np.array(summary.feature_names, dtype=object)
        self.n_features_in_ = summary.n_features
        self.summary_ = summary
        self.classes_ = summary.classes
        self._planes = planes
        self._refined = refined
        self._calibration = None
        self._held_out = held_out
        return self
