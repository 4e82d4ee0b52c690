"""Fitted: what a trained model knows, as one immutable value. Every verb makes the next one or raises."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from .. import _native
from .._rows.inputs import labelled, refuse_one_class
from .._rows.labels import find_labels
from .._rows.matrix import Matrix
from .._summary.source import RowSource
from .._summary.summary import Summary
from .._system.types import Array, Fields, Floats, Label, Params
from .._system.value import Value
from .._weights.auto import Auto
from .._weights.class_weight import class_weights
from .._weights.discriminant import Discriminant, discriminant_of
from .._weights.held_out import held_out_by_discriminant, held_out_scores
from .._weights.hyperplanes import Hyperplanes, Scaling, constant_of
from .._weights.refine.refine import Refined, base_loss
from .._weights.solve import scaling_of, solve, weights_and_midpoints
from ..settings import AnySettings
from .additive import AdditiveModel, CellTable, LineModel, TableModel
from .probabilities import Calibration, TemperatureScaling

NOTHING = Calibration()
NO_PRODUCTS = (
    "moments=2 needs the products of features, and this Summary has first moments only: use moments=1, or "
    "summarise the rows with moments=2"
)


@dataclass(frozen=True)
class Fitted(Value):
    """A Summary and what follows from it under some settings; made by ``Fitted.solve`` and nowhere else.

    ``scaling`` is how features are brought to [0, 1], ``class_weight`` (K,) how much the rows of each class
    count beside the Summary (None: as they are), ``refined`` what further passes found, ``closed`` whether
    another class is an error, ``columns`` how the columns of a file become the features, and ``names`` the
    features' names if the rows had any. ``batches`` are the names of batches that were learned once and must
    not be learned again. ``auto`` is what ``auto=True`` chose, and the lines beside the cells.
    """

    summary: Summary
    settings: AnySettings
    scaling: Scaling
    class_weight: Floats | None = None
    refined: Refined | None = None
    calibration: Calibration = NOTHING
    closed: bool = False
    columns: Params | None = None
    names: Array | None = None
    batches: tuple[str, ...] = ()
    auto: Auto | None = None

    score_name: ClassVar[str] = "score"  # what the parts of features add up to

    @classmethod
    def solve(
        cls,
        summary: Summary,
        settings: AnySettings,
        names: Array | None = None,
        before: Fitted | None = None,
        place: str = "this Summary",
        hint: str = "",
    ) -> Self:
        """Return what follows from a Summary under some settings.

        ``before`` is what the model knew. For errors, ``place`` says where the rows are, and ``hint`` what to
        do if they are too few.
        """
        cls.check(summary, place, hint)
        if settings.moments > summary.moments:
            raise ValueError(NO_PRODUCTS)
        weight = settings.class_weight
        new = cls.made(
            summary=summary,
            settings=settings,
            scaling=scaling_of(summary, settings.scale),
            class_weight=None if weight is None else class_weights(weight, summary),
            names=names,
        )
        return new if before is None else replace(new, **before._carried())

    @classmethod
    def check(cls, summary: Summary, place: str, hint: str = "") -> None:
        """Raise an error for a Summary that no model can be made of."""
        if summary.n_targets:
            raise ValueError("this Summary is of numbers: SEFRRegressor.from_summary takes it")
        if len(summary.classes) < 2:
            refuse_one_class(summary.classes, place, hint)

    def _carried(self) -> Fields:
        """Return what a model keeps when its Summary becomes another."""
        return {
            "closed": self.closed,
            "columns": self.columns,
            "names": self.names,
            "batches": self.batches,
        }

    @property
    def epsilon(self) -> float:
        """What keeps eq. 5 from dividing by zero."""
        return float(self.settings.epsilon)

    @cached_property
    def weighted(self) -> Summary:
        """The Summary with the class weights multiplied in."""
        return self.summary if self.class_weight is None else self.summary.reweighted(self.class_weight)

    @property
    def is_paper(self) -> bool:
        """Whether the weights are those of the paper: no further passes, no second moments."""
        return self.refined is None and self.auto is None and self.settings.moments == 1

    @cached_property
    def discriminant(self) -> Discriminant | None:
        """With second moments, what is solved from them when it is first asked for; else None."""
        if self.settings.moments == 1:
            return None
        return discriminant_of(self.summary, self.scaling, self.class_weight)

    @cached_property
    def planes(self) -> Hyperplanes:
        """The hyperplanes, solved when they are first asked for."""
        if self.refined is not None:
            return self.refined.planes
        if self.discriminant is not None:
            return self.discriminant.planes
        return solve(self.weighted, self.scaling, self.epsilon)

    @cached_property
    def model(self) -> AdditiveModel:
        """What answers: a sum of terms, solved when it is first asked for."""
        planes, coder = self.planes, self.summary.coder
        low = self.summary.low
        if coder is None:
            return LineModel(lambda: self.midpoints, low, self.constant, planes)
        # The sum of w (x' - t) over the cells of a feature is w of the cell that it is in, less w·t.
        shares = np.add.reduceat(planes.weights * self.midpoints, coder.offsets[:-1], axis=1)
        entries = np.asarray(planes.weights - shares[:, coder.column_of])
        auto = self.auto
        if auto is None or auto.lines is None:
            return TableModel(lambda: self.midpoints, low, self.constant, CellTable(coder, entries))
        cells = CellTable(coder, entries, auto.values)
        return TableModel(lambda: auto.midpoints, low, self.constant, cells, auto.lines)

    @cached_property
    def constant(self) -> Floats:
        """What no feature says (R,): see ``AdditiveModel``."""
        return constant_of(self.planes)

    @cached_property
    def midpoints(self) -> Floats:
        """Where each scaled feature speaks for no class: a score is the sum of w (x' - t), t (R, m)."""
        if self.refined is not None:
            return self.refined.midpoints
        if self.discriminant is not None:
            return self.discriminant.midpoints
        return weights_and_midpoints(self.weighted, self.scaling, self.epsilon)[1]

    def summarise(self, matrix: Matrix, missing: str) -> Summary:
        """Return the Summary of rows without labels, in the bins of the model if it has some."""
        rows = labelled(self.summary.coding.coded(matrix), np.zeros(matrix.shape[0], dtype=np.int8))
        return Summary.of_rows(rows, self.summary.feature_names, missing=missing)

    def scores(self, matrix: Matrix, missing: str, n_threads: int = 1) -> Floats:
        """Return the scores (n, R); a value that cannot be scored is an error that names its place."""
        return self.model.scores(matrix, self.names, missing, n_threads)

    def answers(self, scores: Floats) -> Array:
        """Return the labels that scores (n, R) stand for."""
        labels = np.empty(len(scores), dtype=self.summary.classes.dtype)
        self.write_labels(scores, labels)
        return labels

    def write_labels(self, scores: Floats, labels: Array) -> None:
        """Write the label of each row: that of the highest score, or by the sign if there is one score."""
        classes = self.summary.classes
        if classes.dtype.kind in "iuf" and classes.dtype.itemsize == 8:
            _native.choose(scores, classes.view(np.uint64), labels.view(np.uint64))
        else:
            codes = np.empty(len(scores), dtype=np.int64)
            _native.choose(scores, np.arange(len(classes), dtype=np.uint64), codes.view(np.uint64))
            classes.take(codes, out=labels, mode="clip")  # "raise" takes twice as long

    @cached_property
    def probability_scaling(self) -> TemperatureScaling | None:
        """What turns scores into probabilities, fitted when first asked for; None if no row tells."""
        return self.calibration.scaling(self.summary.counts)

    def known_probabilities(self) -> TemperatureScaling:
        """Return what turns scores into probabilities; an error if no row tells."""
        if self.probability_scaling is None:
            raise ValueError(
                "probabilities need rows to be fitted to, and this model comes from a Summary, which holds "
                "none: call calibrate(X, y) first"
            )
        return self.probability_scaling

    @property
    def loss_of_one_pass(self) -> float:
        """The loss that a model of one pass is known to improve on: that of the base rates."""
        return base_loss(self.summary.counts, self.class_weight)

    def effects(self) -> Floats:
        """Return what each feature does to each score on average: see ``AdditiveModel``."""
        return self.model.effects(self.summary)

    def effect_sizes(self) -> Floats:
        """Return how far each set of features moves each score (R, sets)."""
        return np.abs(self.effects())

    def strengths(self) -> Floats:
        """Return the weight of each scaled feature, or the entry of its strongest bin."""
        return self.model.strengths(self.summary, is_paper=self.is_paper)

    @property
    def labels(self) -> list[Label]:
        """The labels that are answered, sorted; none of numbers."""
        return list(self.summary.classes.tolist())

    @property
    def subjects(self) -> list[Label]:
        """The labels that positive scores favour: the second of two, else all."""
        labels = self.labels
        return labels[1:] if len(labels) == 2 else labels

    def score_of(self, label: Label) -> int:
        """Return the number of the score that speaks for a label, or against it."""
        known = self.labels
        if label not in known:
            raise ValueError(f"label must be one of {known}, not {label!r}")
        return 0 if len(known) == 2 else known.index(label)

    def score_of_answer(self, answer: Label) -> int:
        """Return the number of the score that explains an answer."""
        return self.score_of(answer)

    def sum_of_parts(self, score: int) -> Label:
        """Return what the parts of a score add up to speak for."""
        return self.subjects[score]

    def with_calibration(self, calibration: Calibration) -> Self:
        """Return the same with another calibration."""
        new = self.keeping(calibration=calibration)
        new.__dict__.pop("probability_scaling", None)
        return new

    def calibrated_with(self, source: RowSource, before: Calibration = NOTHING) -> Fitted:
        """Return the same that also knows the scores of a few of the rows that were learned."""
        if self.discriminant is not None:
            new = held_out_by_discriminant(source.scored(self.summary.classes), self.discriminant, self)
        elif self.refined is None:
            new = held_out_scores(source.scored(self.summary.classes), self)
        elif self.refined.held_out is None:
            return self.with_calibration(before)
        else:
            new = self.refined.held_out
        return self.with_calibration(Calibration(new) if before is NOTHING else before.with_sample(new))

    def calibration_over(self, classes: Array) -> Calibration:
        """Return the calibration for classes that these are among."""
        return self.calibration.over(find_labels(classes, self.summary.classes), len(classes))
