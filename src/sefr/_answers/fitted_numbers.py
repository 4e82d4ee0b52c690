"""FittedNumbers: what a trained regressor knows."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._rows.matrix import Matrix
from .._summary.source import RowSource
from .._summary.summary import Summary
from .._system.progress import Progress
from .._system.threads import thread_count
from .._system.types import Array, Fields, Floats, Label
from .._system.value import Value
from .._weights.hyperplanes import Hyperplanes
from .._weights.marginal import marginal_regression_of
from .._weights.moments import explained_by_parts
from .._weights.refine.lbfgs import Limits
from .._weights.refine.numbers import RefinedNumbers, refine_numbers
from .._weights.regression import RegressionModel, refuse_constant_targets, regression_of, targets_of
from .._weights.residuals import Residuals, held_out_residuals, students
from .fitted import NOTHING, Fitted
from .probabilities import Calibration


@dataclass(frozen=True)
class NumberChoice(Value):
    """What ``auto=True`` chose: the number of ferns, and R2 of each part by itself, and of their sum.

    ``r2`` has "lines", "curves" (with the lines) and "sum" (with the ferns): the part of the variance of y
    that is explained, means over the outputs. It is found from the sums, not from rows held out: what so many
    columns explain by chance is taken off, but ferns were grown on some of these rows, so that "sum" is
    rather too high.
    """

    n_ferns: int
    r2: Mapping[str, float]

    @property
    def panels(self) -> tuple[tuple[str, Mapping[str, float]], ...]:
        """What a picture of it shows, in words: a title, and a value per part."""
        return (("R2, from the sums", self.r2),)


@dataclass(frozen=True)
class FittedNumbers(Fitted):
    """A Summary of numbers and what follows from it: the scores of a row are its predictions.

    ``residuals`` are those of rows that ferns were not grown on; None if no ferns were grown, or on few rows.
    """

    residuals: Residuals | None = None

    score_name = "prediction"

    @classmethod
    def check(cls, summary: Summary, place: str, hint: str = "") -> None:
        """Raise an error for a Summary of classes, or of one value of y."""
        refuse_constant_targets(summary, place)

    def _carried(self) -> Fields:
        return super()._carried() | {"residuals": self.residuals}

    def calibrated_with(self, source: RowSource, before: Calibration = NOTHING) -> FittedNumbers:
        """Return the same: numbers have no probabilities."""
        return self

    @property
    def n_outputs(self) -> int:
        """How many numbers are predicted for a row."""
        return targets_of(self.summary).n_targets

    @cached_property
    def regression(self) -> RegressionModel:
        """What is solved from the sums, when it is first asked for, or what further passes found."""
        summary = self.summary
        if isinstance(self.refined, RefinedNumbers):
            return self.refined.regression(self.mean)
        if self.settings.moments == 1:
            return marginal_regression_of(summary.first_moments())
        return regression_of(summary)

    @property
    def mean(self) -> Floats:
        """The means of y (R,)."""
        own = targets_of(self.summary)
        return np.asarray(own.origin[own.n_features :] + own.sums[-own.n_targets :] / own.count)

    def with_passes(self, source: RowSource) -> FittedNumbers:
        """Return the same after further passes over the rows of its Summary, if the settings ask for any."""
        passes = int(self.settings.passes)
        if passes == 1:
            return self
        watch = Progress(passes) if self.settings.verbose else None
        n_threads = thread_count(self.settings.n_jobs)
        found = refine_numbers(self.summary.first_moments(), source, Limits(passes, watch), n_threads)
        return replace(self, refined=found)

    def with_residuals(self, source: RowSource) -> FittedNumbers:
        """Return the same that knows how far its predictions of rows held out are from y, if it grew ferns.

        What was solved is kept.
        """
        if not self.settings.cut.grows or self.summary.coding.ferns is None:
            return self
        rows = source.numbered() if self.regression.noise is not None else None
        if rows is None:
            return self
        return self.keeping(residuals=held_out_residuals(rows, self.regression))

    @property
    def loss_of_one_pass(self) -> float:
        """None: the sums of one pass are solved."""
        raise AttributeError("this model was made in one pass: only passes > 1 has a loss_curve_")

    def effects(self) -> Floats:
        """Raise an error: numbers have no class to differ from."""
        raise TypeError("effects are those of a classifier: a regressor has coef_ or curves_")

    def effect_sizes(self) -> Floats:
        """Return how far the part of each set of features spreads over the rows (R, sets)."""
        return self.model.spreads(self.summary)

    @property
    def subjects(self) -> list[Label]:
        """The outputs, in words."""
        return ["prediction"] if self.n_outputs == 1 else [f"output {r}" for r in range(self.n_outputs)]

    def score_of(self, label: Label) -> int:
        """Return the number of an output, which is its label."""
        return operator.index(label)

    def score_of_answer(self, answer: Label) -> int:
        """Return the first output."""
        return 0

    def sum_of_parts(self, score: int) -> Label:
        """Return what the parts of an output add up to."""
        return f"{self.subjects[score]} less the mean, {float(self.constant[score]):g}"

    @cached_property
    def choice(self) -> NumberChoice:
        """What ``auto=True`` chose."""
        coder, own = self.summary.coding.known_coder("bins"), self.regression.known_solution()
        parts = explained_by_parts(targets_of(self.summary), coder, own.noise)
        n_ferns = 0 if coder.ferns is None else len(coder.ferns)
        return NumberChoice(n_ferns, {name: float(np.mean(part)) for name, part in parts.items()})

    @cached_property
    def planes(self) -> Hyperplanes:
        """The hyperplanes, one per output."""
        return self.regression.planes

    @cached_property
    def midpoints(self) -> Floats:
        """The means of the scaled features (R, m), where their parts of a prediction are 0."""
        return self.regression.midpoints

    @cached_property
    def constant(self) -> Floats:
        """The means of y (R,), to which the parts of features are added."""
        return self.regression.mean

    def answers(self, scores: Floats) -> Array:
        """Return the predictions that scores (n, R) stand for."""
        return self.per_output(scores)

    def per_output(self, values: Floats) -> Floats:
        """Return values (n, R) as (n,) if there is one output."""
        return values[:, 0] if values.shape[1] == 1 else values

    def deviations(self, matrix: Matrix) -> Floats:
        """Return the standard deviation of a new y about each prediction (n, R)."""
        of_sums = self._deviations_of_sums(matrix)
        return of_sums if self.residuals is None else of_sums * self.residuals.spread

    def half_widths(self, matrix: Matrix, share: float) -> Floats:
        """Return how far to either side of each prediction this share of new y lies (n, R)."""
        of_sums, count = self._deviations_of_sums(matrix), targets_of(self.summary).count
        if self.residuals is None:
            return of_sums * students(share, count)
        return of_sums * self.residuals.quantile(share, count)

    def _deviations_of_sums(self, matrix: Matrix) -> Floats:
        return np.sqrt(self.regression.variances(self.summary.coding.coded(matrix)))
