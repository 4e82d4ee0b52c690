"""What a regressor answers: numbers, how sure it is of them, and why."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal, cast, overload

import numpy as np
from sklearn.base import RegressorMixin

from .._system.types import Array, Floats, Rows
from .._weights.regression import RegressionModel
from .answers import Answers
from .fitted_numbers import FittedNumbers, NumberChoice


class NumberAnswers(RegressorMixin, Answers):  # type: ignore[misc]
    """What a regressor answers; see ``SEFRRegressor``."""

    _fitted: FittedNumbers

    @property
    def fitted_(self) -> FittedNumbers:
        """All that the model knows, as one value that never changes."""
        return cast(FittedNumbers, super().fitted_)

    @property
    def _known(self) -> FittedNumbers:
        return cast(FittedNumbers, super()._known)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = True
        return tags

    @overload
    def predict(self, X: Rows) -> Floats: ...

    @overload
    def predict(self, X: Rows, *, interval: float) -> tuple[Floats, Floats, Floats]: ...

    @overload
    def predict(self, X: Rows, *, return_std: Literal[True]) -> tuple[Floats, Floats]: ...

    def predict(self, X: Rows, *, interval: float | None = None, return_std: bool = False) -> Any:
        """Return a number for every row, (n,), or (n, K) for several outputs.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n, m)
            The rows.
        interval : float, default=None
            A share, for example 0.9: return predictions, low and high as well, between which this share of
            new y is expected.
        return_std : bool, default=False
            Return predictions and the standard deviation of a new y about each.

        Notes
        -----
        Deviations come from the sums alone: what is left of y, and more for rows unlike those learned
        (leverage). They take y to scatter about its prediction alike everywhere and normally; a few large
        errors among many small ones make intervals of 50 % too wide, and those of 95 % a little too narrow.

        With ``interactions`` or ``auto=True``, deviations are multiplied by what rows that interactions were
        not chosen on have told when the model was first fitted: the residuals of a quarter of up to 4,096
        rows, in deviations. Intervals are then as wide as these were large, normal or not. They remain as
        interactions do, whatever is learned, merged or forgotten later, and are stored in the model file. A
        model of fewer than 128 rows, of ``interactions`` that were given, or of a Summary has none.
        """
        fitted = self.fitted_
        if interval is not None and return_std:
            raise ValueError("predict takes interval or return_std, not both")
        if interval is not None and (not isinstance(interval, Real) or not 0 < interval < 1):
            raise ValueError(f"interval must be a share between 0 and 1, for example 0.9, not {interval!r}")
        matrix = self._matrix(X, fitted)
        scores = fitted.scores(matrix, self.missing, self._threads_for(matrix))
        if interval is not None:
            half = fitted.half_widths(matrix, float(interval))
            return tuple(map(fitted.answers, (scores, scores - half, scores + half)))
        if return_std:
            return fitted.answers(scores), fitted.per_output(fitted.deviations(matrix))
        return fitted.answers(scores)

    @property
    def base_(self) -> Any:
        """What ``contributions`` are added to: the mean of y, a number, or (K,) for several outputs."""
        return self._one_or_all(self._known.constant)

    @property
    def coef_(self) -> Floats:
        """The weights of the features as they come: (m,), or (K, m) for several outputs."""
        return np.asarray(self._one_or_all(self._known.model.planes("coef_").coef))

    @property
    def intercept_(self) -> Any:
        """What goes with ``coef_``: a number, or (K,) for several outputs."""
        return self._one_or_all(self._known.model.planes("intercept_").intercept)

    @property
    def coef_std_(self) -> Floats:
        """The standard errors of ``coef_``."""
        self._known.model.planes("coef_std_")  # or there are no weights to err
        return np.asarray(self._one_or_all(self._sure("coef_std_").known_solution().standard_errors()))

    @property
    def auto_(self) -> NumberChoice:
        """What ``auto=True`` chose: how many ferns, and how much of y each part explains, from the sums."""
        fitted = self._known
        if not fitted.settings.auto:
            raise AttributeError("this model was made with auto=False: it chose nothing")
        return fitted.choice

    @property
    def noise_(self) -> Any:
        """The standard deviation of y about its predictions: a number, or (K,) for several outputs."""
        noise = self._known.regression.noise
        if noise is None:
            raise AttributeError(
                "with moments=1 it is not known how far y lies from its predictions: noise_ needs moments=2"
            )
        return self._one_or_all(np.sqrt(noise))

    @property
    def ridge_(self) -> Any:
        """The penalty that was found, per row: a number, or (K,) for several outputs."""
        ridge = self._known.regression.ridge
        if ridge is None:
            raise AttributeError("moments=1 has no penalty: ridge_ needs moments=2")
        return self._one_or_all(ridge)

    def _sure(self, name: str) -> RegressionModel:
        regression = self._known.regression
        if regression.solution is None:
            raise AttributeError(f"{name} follows from the products of features: it needs moments=2")
        return regression

    @staticmethod
    def _one_or_all(values: Array) -> Any:
        return values[0] if len(values) == 1 else values
