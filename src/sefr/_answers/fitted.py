"""Fitted: what a trained model knows, as one immutable value. Every verb makes the next one or raises."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np

from .._rows.cells import code_matrix
from .._rows.inputs import complain_of_bad_cell
from .._rows.labelled import Labelled
from .._rows.labels import find_labels
from .._rows.matrix import Matrix
from .._summary.summary import Summary
from .._system.types import Array, Floats, Settings
from .._system.value import Value
from .._weights.held_out import held_out_scores
from .._weights.hyperplanes import Hyperplanes, Scaling, leave_out_missing
from .._weights.refine.refine import Refined
from .._weights.solve import solve, weights_and_midpoints
from .probabilities import Calibration, TemperatureScaling

NOTHING = Calibration()


@dataclass(frozen=True)
class Fitted(Value):
    """A Summary and what follows from it.

    ``scaling`` and ``epsilon`` are what the weights are solved with, ``class_weight`` (K,) what each class's
    rows count beside the Summary (None: as they are), ``refined`` what further passes found, ``closed``
    whether another class is an error, ``columns`` how the columns of a file become the features, and
    ``names`` the features' names where the rows had any. ``batches`` are the names of batches that were
    learned once and must not be learned again.
    """

    summary: Summary
    scaling: Scaling
    epsilon: float
    class_weight: Floats | None = None
    refined: Refined | None = None
    calibration: Calibration = NOTHING
    closed: bool = False
    columns: Settings | None = None
    names: Array | None = None
    batches: tuple[str, ...] = ()

    @cached_property
    def weighted(self) -> Summary:
        """The Summary with the class weights multiplied in."""
        return self.summary if self.class_weight is None else self.summary.reweighted(self.class_weight)

    @cached_property
    def planes(self) -> Hyperplanes:
        """The hyperplanes, solved when they are first asked for."""
        if self.refined is not None:
            return self.refined.planes
        return solve(self.weighted, self.scaling, self.epsilon)

    @cached_property
    def table(self) -> Floats | None:
        """What each cell adds to each score (R, cells), where features are cut into bins; else None.

        The sum of w (x' - t) over the cells of a feature is w of the cell that it is in, less w·t: its entry.
        A score is the sum of one entry per feature.
        """
        coder = self.summary.coder
        if coder is None:
            return None
        weights = self.planes.weights
        shares = np.add.reduceat(weights * self.midpoints, coder.offsets[:-1], axis=1)
        return np.asarray(weights - shares[:, coder.column_of])

    @cached_property
    def unseen_bias(self) -> Floats:
        """What goes with ``table``: 0, and -inf for a class that was never seen."""
        return np.where(np.isfinite(self.planes.bias), 0.0, self.planes.bias)

    @cached_property
    def midpoints(self) -> Floats:
        """Where each scaled feature speaks for no class: a score is the sum of w (x' - t), t (R, m)."""
        if self.refined is not None:
            return self.refined.midpoints
        return weights_and_midpoints(self.weighted, self.scaling, self.epsilon)[1]

    def scores(self, matrix: Matrix, missing: str, n_threads: int = 1) -> Floats:
        """Return the scores (n, R); a value that cannot be scored is an error that names its place."""
        if self.table is not None:
            return self._scores_of_cells(matrix, n_threads)
        planes = self.planes
        scores = planes.raw_scores(matrix, n_threads)
        seen = 0 if isfinite(planes.bias[0]) else int(np.argmax(np.isfinite(planes.bias)))
        if not isfinite(scores[:, seen].sum()):
            complain_of_bad_cell(matrix, self.names, missing=missing)
            leave_out_missing(planes, self.midpoints, matrix, scores, np.isnan(scores[:, seen]))
        return scores

    def _scores_of_cells(self, matrix: Matrix, n_threads: int) -> Floats:
        coder, table, bias = self.summary.coder, self.table, self.unseen_bias
        assert coder is not None  # noqa: S101  the caller has looked
        assert table is not None  # noqa: S101
        scores = code_matrix(matrix, coder).scores(table, bias, n_threads=n_threads)
        seen = int(np.argmax(np.isfinite(bias)))
        if not isfinite(scores[:, seen].sum()):
            complain_of_bad_cell(matrix, self.names, missing="ignore" if coder.missing else "error")
        return scores

    def answers(self, scores: Floats) -> Array:
        """Return the labels that scores (n, R) stand for: the highest, or the sign where there is one."""
        codes = (scores.ravel() > 0).view(np.int8) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(self.summary.classes[codes])

    @cached_property
    def probability_scaling(self) -> TemperatureScaling | None:
        """What turns scores into probabilities, fitted when first asked for; None where no row tells."""
        return self.calibration.scaling(self.summary.counts)

    def with_calibration(self, calibration: Calibration) -> Fitted:
        """Return the same with another calibration; what was solved, which it does not enter, is kept."""
        new = object.__new__(Fitted)
        new.__dict__.update(self.__dict__, calibration=calibration)
        new.__dict__.pop("probability_scaling", None)
        return new

    def calibrated_with(self, rows: Labelled, before: Calibration) -> Fitted:
        """Return the same that also knows the scores of a few of the rows that were learned."""
        if self.refined is None:
            new = held_out_scores(rows, self)
        elif self.refined.held_out is None:
            return self.with_calibration(before)
        else:
            new = self.refined.held_out
        return self.with_calibration(Calibration(new) if before == NOTHING else before.with_sample(new))

    def calibration_over(self, classes: Array) -> Calibration:
        """Return the calibration for classes that these are among."""
        return self.calibration.over(find_labels(classes, self.summary.classes), len(classes))
