"""Scores of a few training rows as if the model had not seen them: what probabilities are fitted to.

They are leave-one-out scores by approximation, found without training again. No row is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._rows.cells import Coder
from .._rows.coding import Uncut
from .._rows.labelled import CodedRows, Labelled, spread_rows
from .._rows.matrix import Matrix, every_run
from .._summary.double_double import Totals
from .._summary.summary import Summary
from .._system.types import Fields, Floats, Indices
from .._system.value import Value
from .hyperplanes import Hyperplanes, Scaling, constant_of, leave_out_missing, per_class
from .solve import means, solve

MOST_HELD_OUT = 1024
# Limits of the sample that is scored after one pass, so that it costs little beside the pass. Rows:
SCORED_ROWS = 256
FEWEST_SCORED = 64
# Multiplications: so many, and one per SCORED_PART values that the pass reads.
SCORED_PRODUCTS = 1 << 20
SCORED_PART = 16
# Values of the sample: as many as that part of the pass, but from FEW_CELLS to MOST_CELLS.
FEW_CELLS, MOST_CELLS = 1 << 17, 1 << 18
# The leverage of a row takes as many multiplications as the square of its columns.
LEVERAGE_PRODUCTS = 1 << 28
# Of rows too wide for that, some features stand for all, at least so many: better than a few whole rows.
FEWEST_FEATURES = 256
# A class is rare below this part of its even share of the rows; RARE_ROWS rows of it are then sampled apart.
RARE_PART, RARE_ROWS = 1 / 8, 48
# The variance of values in [a, b] is at most (mean - a)(b - mean), a third of it if they are spread evenly.
EVEN = 1 / 3
# Two means with a lower sum give no weight: eq. 5 would divide by about its epsilon.
LEAST_MEAN = 1e-7
# A row had a say in which ferns were grown, too: to leave it out, so many rows are taken from their cells.
FERN_SAY = 2.0


class SeenBy(Protocol):
    """What has learned rows and says, once probabilities are asked for, how they would score if not."""

    def unseen(self, seen: HeldOut) -> HeldOut: ...


class SeenBySefr(NamedTuple):
    """The Summary that has learned the rows, and how it was scaled."""

    summary: Summary
    scaling: Scaling

    def unseen(self, seen: HeldOut) -> HeldOut:
        """Return the scores as if the rows had been left out."""
        return unseen_by_sefr(seen, self.summary, self.scaling)


@dataclass(frozen=True)
class HeldOut(Value):
    """Scores (S, R) of some rows with their codes and weights; where ``evidence`` is given, a row counts so.

    ``weights`` say how many rows of the data a row stands for, ``evidence`` how many were looked at; None
    stands for the weights themselves. ``seen_by`` is what has learned the rows, None where the scores are
    leave-one-out scores already.
    """

    scores: Floats
    codes: NDArray[np.int32]
    weights: Floats
    evidence: Floats | None = None
    seen_by: SeenBy | None = None

    @cached_property
    def unseen(self) -> HeldOut:
        """The same with leave-one-out scores."""
        return self if self.seen_by is None else self.seen_by.unseen(self)

    def joined(self, before: HeldOut | None) -> HeldOut:
        """Return both; of more than ``MOST_HELD_OUT``, the latest of each class."""
        if before is None or before.scores.shape[1] != self.scores.shape[1]:
            return self
        parts = (before.unseen, self.unseen)
        evidence = [part.weights if part.evidence is None else part.evidence for part in parts]
        both = HeldOut(
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.weights for part in parts]),
            np.concatenate(evidence),
        )
        if len(both.codes) <= MOST_HELD_OUT:
            return both
        order = np.argsort(both.codes, kind="stable")
        counts = np.bincount(both.codes)
        left = np.repeat(np.cumsum(counts), counts) - np.arange(len(order))  # 1 for the latest of a class
        return both.some(np.sort(order[left <= max(1, MOST_HELD_OUT // int(np.count_nonzero(counts)))]))

    def __getstate__(self) -> Fields:
        """Return what copies and files hold: not what passes know of rows, which is more than the scores."""
        small = self.seen_by is None or isinstance(self.seen_by, SeenBySefr)
        return Value.__getstate__(self if small else self.unseen)

    def some(self, rows: NDArray[np.intp]) -> HeldOut:
        """Return some of the rows."""
        evidence = None if self.evidence is None else self.evidence[rows]
        return HeldOut(self.scores[rows], self.codes[rows], self.weights[rows], evidence)

    def over(self, at: NDArray[np.intp], n_classes: int) -> HeldOut:
        """Return the same for more classes, the old ones at ``at``; a new one, never seen, scores -inf."""
        if n_classes == len(at):
            return self
        scores = np.full((len(self.codes), n_classes), -np.inf)
        scores[:, at] = per_class(self.unseen.scores)
        return HeldOut(scores, np.asarray(at, dtype=np.int32)[self.codes], self.weights, self.evidence)


class SolvedModel(Protocol):
    """A Summary, what is solved from it and how; ``weighted`` has the class weights multiplied in."""

    @property
    def summary(self) -> Summary: ...
    @property
    def weighted(self) -> Summary: ...
    @property
    def scaling(self) -> Scaling: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def planes(self) -> Hyperplanes: ...
    @property
    def midpoints(self) -> Floats: ...


def held_out_scores(rows: Labelled, model: SolvedModel) -> HeldOut:
    """Return the scores of a few of the rows behind a Summary, coded by its classes.

    Of wide rows some features are scored, by a model of these features alone, and the scores are multiplied
    by how many times as many there are. Solving for all features would make a fit of wide rows take half as
    long again.
    """
    matrix, summary = rows.matrix, model.summary
    total = matrix.shape[0] if rows.weights is None else float(rows.weights.sum())
    most, step = _share(total, matrix.shape[1], summary.n_scores, whole=matrix.whole)
    same = rows.classes is summary.classes
    coded = CodedRows(rows.matrix, rows.codes, rows.weights) if same else rows.over(summary.classes)
    some, weights, evidence = _sample(coded, total, most, summary.counts)
    if step > 1:
        scores = _scores_by_some_features(matrix, some, step, model)
    else:
        scores = model.planes.raw_scores(matrix, rows=some)
    if summary.present is not None:
        _leave_out_missing(model, matrix, some, scores)
    return HeldOut(scores, coded.codes[some], weights, evidence, SeenBySefr(summary, model.scaling))


def _leave_out_missing(model: SolvedModel, matrix: Matrix, some: Indices, scores: Floats) -> None:
    """Score some rows that have missing values from the features that they have, into ``scores``."""
    if np.isnan(gone := scores.sum(axis=1)).any():
        constant = constant_of(model.planes)
        leave_out_missing(model.planes, model.midpoints, matrix.take(some), scores, np.isnan(gone), constant)


class Unseen(Protocol):
    """What says how the scores of rows that it has learned would be if it had not."""

    def unseen(self, scores: Floats, x: Floats, codes: NDArray[np.int32], weights: Floats) -> Floats: ...


def held_out_by_discriminant(rows: Labelled, discriminant: Unseen, model: SolvedModel) -> HeldOut:
    """Return leave-one-out scores of a few of the rows behind a Summary of second moments."""
    matrix, summary = rows.matrix, model.summary
    total = matrix.shape[0] if rows.weights is None else float(rows.weights.sum())
    most = int(np.clip(LEVERAGE_PRODUCTS // max(1, matrix.shape[1]) ** 2, SCORED_ROWS, MOST_HELD_OUT))
    coded = rows.over(summary.classes)
    some, weights, evidence = _sample(coded, total, most, summary.counts)
    x, codes = matrix.block(some), coded.codes[some]
    # a row of weight 3 stands for three rows, of which one is left out
    own = np.ones(len(some)) if rows.weights is None else np.minimum(rows.weights[some], 1.0)
    scores = model.planes.raw_scores(matrix, rows=some)
    _leave_out_missing(model, matrix, some, scores)
    return HeldOut(discriminant.unseen(scores, x, codes, own), codes, weights, evidence)


def _sample(
    rows: CodedRows, total: float, most: int, counts: Floats
) -> tuple[Indices, Floats, Floats | None]:
    """Return about ``most`` rows, evenly spread by weight, with their weights and their evidence."""
    n_rows = rows.matrix.shape[0]
    if max(total, n_rows) <= most:
        if rows.weights is None:
            return np.arange(n_rows), np.ones(n_rows), None
        some = np.flatnonzero(rows.weights)
        return some, rows.weights[some], None
    some, weights = spread_rows(n_rows, rows.weights, most), np.ones(most)
    own = counts.tolist()  # few: quicker added up here
    bound = RARE_PART * sum(own) / len(own)
    if min(own) >= bound:
        return some, weights, None
    rare = (counts > 0) & (counts < bound)
    if not rare.any():
        return some, weights, None
    some = some[~rare[rows.codes[some]]]
    parts, shares = [some], [np.full(len(some), counts[~rare].sum() / max(1, len(some)))]
    within = rare[rows.codes] if rows.weights is None else rare[rows.codes] & (rows.weights > 0)
    within = np.flatnonzero(within)
    for k in np.flatnonzero(rare):
        own = within[rows.codes[within] == k]
        if len(own) > RARE_ROWS:
            own = own[spread_rows(len(own), None if rows.weights is None else rows.weights[own], RARE_ROWS)]
        parts.append(own)
        shares.append(np.full(len(own), counts[k] / max(1, len(own))))
    share = np.concatenate(shares)
    return np.concatenate(parts), share * (len(share) / share.sum()), np.ones(len(share))


def _share(n_rows: float, n_features: int, n_planes: int, *, whole: bool) -> tuple[int, int]:
    """Return how many rows are scored, by every how many-th run of their features."""
    if whole:
        return SCORED_ROWS, 1
    part = int(min(n_rows * n_features / SCORED_PART, 1e15))
    cells = min(max(FEW_CELLS, min(MOST_CELLS, part)), (SCORED_PRODUCTS + part) // n_planes)
    most = min(SCORED_ROWS, max(FEWEST_SCORED, cells // FEWEST_FEATURES))
    step = n_features // max(FEWEST_FEATURES, cells // most)
    if step > 1:
        return most, step
    return min(SCORED_ROWS, max(FEWEST_SCORED, cells // n_features)), 1


def _scores_by_some_features(matrix: Matrix, some: Indices, step: int, model: SolvedModel) -> Floats:
    scaling = Scaling(every_run(model.scaling.low, step), every_run(model.scaling.span, step))
    part = solve(_some_features(model.weighted, step), scaling, model.epsilon)
    return part.raw_scores(matrix.take_runs(some, step)) * (matrix.shape[1] / len(scaling.low))


def _some_features(summary: Summary, step: int) -> Summary:
    """Return the Summary of every ``step``-th run of the features."""

    def some(part: Floats) -> Floats:
        return every_run(part, step)

    counts, sums, present = summary.totals
    totals = Totals(counts, sums.each(some), None if present is None else present.each(some))
    low, high = some(summary.low), some(summary.high)
    return Summary.from_doubles(summary.classes, totals, (low, high), None, Uncut(len(low)))


def unseen_by_sefr(seen: HeldOut, summary: Summary, scaling: Scaling) -> HeldOut:
    """Return SEFR's scores of rows it has learned as if it had not: less what a row of their class does."""
    scores, codes = seen.scores.copy(), seen.codes
    known, at = np.unique(codes, return_inverse=True)
    if summary.coder is None:
        favours = np.zeros((len(known), len(summary.counts)))
        favours[np.arange(len(known)), known] = _favour(summary, scaling)[known]
    else:
        favours = _favour_in_cells(summary, summary.coder, known)
    if scores.shape[1] == 1:
        own = favours[at, codes]
        scores[:, 0] -= np.where(codes == 1, own, -own)
    else:
        scores -= favours[at]
    return HeldOut(scores, codes, seen.weights, seen.evidence)


def _favour(summary: Summary, scaling: Scaling) -> Floats:
    """Return how much too high the score of its own class is for a row of each class (K,).

    The mean a of N rows moves by (x - a) / N, and w = (a - b) / (a + b) with it by 2 b / (a + b)^2 of that,
    so the row's own score is too high by the variance times that, added up over the features.
    """
    counts = summary.counts
    own = means(summary, scaling)
    rest = own[::-1] if len(counts) == 2 else means(summary, scaling, rest=True)
    own, rest = (np.where(np.isnan(part), 0.0, part) for part in (own, rest))
    both = own + rest
    steep = np.divide(2 * rest, both**2, out=np.zeros_like(both), where=both > LEAST_MEAN)
    ends = scaling.apply(np.array([summary.low, summary.high]))  # 0 and 1 where they were learned
    ends[:, summary.low > summary.high] = 0  # no value was ever there
    spread = EVEN * np.clip((own - ends[0]) * (ends[1] - own), 0, None)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(counts > 1, (steep * spread).sum(axis=1) / (counts - 1), 0.0)


def _favour_in_cells(summary: Summary, coder: Coder, known: NDArray[np.int32]) -> Floats:
    """Return how much too high each score is for a row of some classes (U, K): mostly below 0 for the others.

    A cell may have few rows, so that the weight of one that has a row less is found anew: it is
    (a - b) / (a + b), with a and b the shares of a class and of the others that lie in the cell.
    """
    counts, cells = summary.counts[:, None], summary.sums
    others, other_cells = counts.sum() - counts, cells.sum(axis=0) - cells

    def weight(own: Floats, of: Floats, rest: Floats, of_rest: Floats) -> Floats:
        a, b = (np.maximum(part, 0) / np.maximum(total, 1.0) for part, total in ((own, of), (rest, of_rest)))
        return np.divide(a - b, a + b, out=np.zeros_like(a), where=a + b > LEAST_MEAN)

    now = weight(cells, counts, other_cells, others)
    without_own = now - weight(cells - 1, counts - 1, other_cells, others)
    without_other = now - weight(cells, counts, other_cells - 1, others - 1)
    share = cells[known] / np.maximum(counts[known], 1.0)
    share[:, coder.offsets[coder.n_features] :] *= FERN_SAY
    favours = np.asarray(share @ without_other.T)
    favours[np.arange(len(known)), known] = (share * without_own[known]).sum(axis=1)
    favours[summary.counts[known] <= 1] = 0
    return favours
