"""Learning with auto=True: a line, bins and ferns, weighed on rows held out, fitted to all, and added up.

One split serves all: the rows held out end the growing of ferns and weigh the parts. Edges, cells and ferns
are found once, and the fits of all rows start at those of most of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .._rows.cells import Cells, Coder, SparseCells, cells_of
from .._rows.cells.grow import FERN_ROWS, Growing, grow_ferns, mixed
from .._rows.cells.learn import sample_of_values
from .._rows.inputs import refuse_one_class
from .._rows.labelled import Labelled, spread_rows
from .._rows.labels import find_labels
from .._rows.matrix import Columnar, Dense, Matrix, Sparse, blas_threads
from .._summary.source import MemoryRows, RowSource
from .._system.progress import Progress
from .._system.threads import thread_count
from .._system.types import Floats, Names
from .._weights.auto import LEAST_LOGIT, Auto, AutoChoice, HeldOutParts, lines_of
from .._weights.hyperplanes import Hyperplanes, Scaling, per_class, per_score
from .._weights.refine.lbfgs import Limits
from .._weights.refine.refine import (
    USUAL,
    Refined,
    Start,
    TrainingRows,
    refine,
    row_weights,
)
from .._weights.refine.thermometer import shared_by_variance
from .._weights.solve import solve
from ..settings import AnySettings
from .fitted import Fitted
from .probabilities import Calibration, TemperatureScaling

# Rows are dealt to PARTS parts, or to more of about PART_ROWS rows each. Below SMALL_ROWS rows every part is
# held out in turn; else only the first is, for a fit of the next PARTS - 1.
SMALL_ROWS, PARTS, PART_ROWS = 300, 4, 1 << 13
# The most ferns.
MOST_FERNS = 150
# Ferns are more here than in a model of ferns alone, so each is grown on fewer rows, with a smaller step.
SUBSET_ROWS, STEP = 1024, 0.15
# Passes of each part: from the start, and of a fit of all rows that starts where a fit of most rows ended.
PASSES = {"line": 24, "bins": 12, "ferns": 10}
FURTHER_PASSES = {"line": 60, "bins": 8, "ferns": 11}
# FURTHER_PASSES of ferns, of two classes and of more, if the first fit saw few of many rows: its end is then
# further from that of all rows.
FERN_PASSES_OF_MANY = (16, 24)
# If the range of a feature is so many times what the first fit saw, the line is learned anew, not further.
FAR = 1e12
# The most held-out rows that the weights of the parts are found on.
MOST_HELD = 1 << 12
# If ferns get a weight from TOO_SMALL up, their scores are too small: a penalty that allows WEAKER times the
# variance is tried.
TOO_SMALL, WEAKER = 1.3, 4.0
# A sparse matrix of more values has no ferns, whose cells would be held as a dense matrix.
MOST_SPREAD = 1 << 28


def learn_auto(source: RowSource, settings: AnySettings) -> Fitted:
    """Return what rows teach a model of ``auto=True``."""
    rows = source.in_memory(settings)
    given = rows.rows
    live = given.codes >= 0 if given.weights is None else given.weights > 0
    seen = given.classes[np.unique(given.codes[live])]
    if len(seen) < 2:
        refuse_one_class(seen, source.place)
    if len(seen) < len(given.classes):  # the other classes have no row that counts
        matrix, codes, weights = given.over(seen)
        rows = MemoryRows(Labelled(matrix, seen, codes, weights), rows.feature_names, rows.names)
    with blas_threads(1):  # the number of threads must not change a bit of the answers
        return _AutoTraining(rows, settings).learn()


@dataclass(frozen=True)
class _Part:
    """One of the models that are added up: its name and the rows as it sees them."""

    name: str
    matrix: Matrix
    feature_names: Names


class _AutoTraining:
    """The rows of a training with auto=True, and what is shared by its parts."""

    def __init__(self, source: MemoryRows, settings: AnySettings) -> None:
        self.source, self.settings = source, settings
        self.rows: Labelled = source.rows
        cells = self.rows.matrix
        self.coder: Coder = cells.coding.known_coder("bins")
        self.raw: Matrix = cells.matrix  # type: ignore[attr-defined]
        self.numeric = [j for j in range(self.coder.n_features) if j not in self.coder.categories]
        self.weights = np.ones(len(self.rows.codes)) if self.rows.weights is None else self.rows.weights
        self.live = (self.rows.codes >= 0) & (self.weights > 0)
        self.further = FURTHER_PASSES

    def learn(self) -> Fitted:
        """Return the sum of the parts."""
        total = float(self.weights.sum())
        folds = assign_folds(self.rows, self.live, max(PARTS, math.ceil(total / PART_ROWS)))
        if folds.parts > PARTS:
            self.further = FURTHER_PASSES | {"ferns": FERN_PASSES_OF_MANY[len(self.rows.classes) > 2]}
        small = total < SMALL_ROWS
        simple = self._simple_parts()
        parts, found, starts = (self._weigh_small if small else self._weigh)(simple, folds)
        weights, of_parts = found.weighed
        fits = {
            part.name: self._fit(part, self.live.astype(np.float64), start)
            for part, start, weight in zip(parts, starts, weights, strict=True)
            if weight > 0 or part is parts[-1]
        }
        names = [part.name for part in parts]
        losses = {}
        if len(found.codes):
            losses = dict(zip([*names, "sum"], of_parts.tolist(), strict=True))
        ferns = parts[-1].matrix.coding.ferns
        choice = AutoChoice(
            dict(zip(names, weights.tolist(), strict=True)),
            losses,
            len(ferns or ()),
            min(len(found.codes), len(self.rows.codes)),  # repeated rows are held out more than once
        )
        return self._sum(fits, choice)

    def _refuse_bad_values(self) -> None:
        """Raise an error for a value without a cell, which names its place among all rows: parts see some."""
        codes = np.where(self.live, self.rows.codes, np.int32(-1))
        MemoryRows(self.rows._replace(codes=codes), self.source.feature_names).summarise(self.settings)

    def _weigh(self, simple: list[_Part], folds: FoldOfRows) -> tuple[list[_Part], HeldOutParts, list[Start]]:
        """Fit parts to the rows that are not held out; return them, what they say of those, and their ends.

        If the scores of ferns are far too small, their penalty is too strong: a weaker one is tried.
        """
        held, left = folds.held(0), folds.left()
        parts = [*simple, *self._ferns(simple[-1], held, left)]
        fits = self._fits(parts, left)
        found = self._held_out(parts, fits, held)
        starts = [Start(fit.refined) for fit in fits]
        weights, losses = found.weighed
        if weights[-1] < TOO_SMALL:
            return parts, found, starts
        again = self._fit(parts[-1], left, Start(fits[-1].refined, WEAKER))
        other = self._held_out(parts, [*fits[:-1], again], held)
        if other.weighed[1][-1] < losses[-1]:
            return parts, other, [*starts[:-1], Start(again.refined, WEAKER)]
        return parts, found, starts

    def _weigh_small(
        self, simple: list[_Part], folds: FoldOfRows
    ) -> tuple[list[_Part], HeldOutParts, list[Start]]:
        """Do the same with few rows: each is held out once."""
        known = []
        for fold in range(PARTS):
            held = folds.held(fold)
            left = self.live - held
            codes = self.rows.codes[left > 0]
            if held.any() and len(codes) and codes.min() < codes.max():
                parts = [*simple, *self._ferns(simple[-1], held, left)]
                fits = self._fits(parts, left)
                known.append(self._held_out(parts, fits, held))
        parts = [*simple, *self._ferns(simple[-1], None, self.live.astype(np.float64))]
        return parts, _joined(known, len(parts), len(self.rows.classes)), [Start()] * len(parts)

    def _simple_parts(self) -> list[_Part]:
        """Return the parts without ferns: lines of features that are numbers, and bins."""
        names, bins = self.source.feature_names, self.rows.matrix
        bins.code_once()
        parts = [_Part("bins", bins, names)]
        if self.numeric:
            whole = len(self.numeric) == self.coder.n_features
            raw = self.raw if whole else _some_features(self.raw, self.numeric)
            parts.insert(0, _Part("line", raw, names if whole else None))
        return parts

    def _ferns(self, bins: _Part, held: Floats | None, left: Floats) -> list[_Part]:
        """Return the part with ferns, grown on rows that are left; none where nothing varies."""
        n_rows, n_features = self.raw.shape
        if isinstance(self.raw, Sparse) and n_rows * n_features > MOST_SPREAD:
            return []
        codes = self.rows.codes
        if held is not None:
            codes = np.where(left + held > 0, codes, np.int32(-1))
        at, weights = sample_of_values(self.rows._replace(matrix=self.raw, codes=codes), FERN_ROWS)
        sample = Labelled(bins.matrix.take(at), self.rows.classes, self.rows.codes[at], weights)
        how = Growing.of(float(self.weights.sum()), SUBSET_ROWS, STEP)
        ferns = grow_ferns(sample, self.coder, MOST_FERNS, None if held is None else held[at] == 1, how)
        if ferns is None:
            return []
        cells = Cells(self.raw, replace(self.coder, ferns=ferns))
        cells.code_once()
        return [_Part("ferns", cells, bins.feature_names)]

    def _fits(self, parts: Sequence[_Part], shares: Floats) -> list[Fitted]:
        """Return each part fitted to shares of the rows; the ferns start where the bins ended."""
        fits: list[Fitted] = []
        for part in parts:
            start = Start()
            if part.name == "ferns" and (bins := fits[-1].refined) is not None:
                wider = np.zeros((len(bins.planes.weights), part.matrix.shape[1]))
                wider[:, : bins.planes.weights.shape[1]] = bins.planes.weights
                planes = replace(bins.planes, weights=wider)
                start = Start(replace(bins, planes=planes, memory=None))
            fits.append(self._fit(part, shares, start, first=True))
        return fits

    def _fit(self, part: _Part, shares: Floats, start: Start = USUAL, *, first: bool = False) -> Fitted:
        """Return a part fitted to shares of the rows, in few passes if it starts where another fit ended."""
        settings, weights = self.settings, self.rows.weights
        if ((shares > 0) & (shares < 1)).any():
            weights = self.weights * shares
        rows = Labelled(part.matrix, self.rows.classes, self.rows.codes, weights)
        if not (counted := shares > 0).all():
            rows = rows.take(np.flatnonzero(counted))
        own = settings.changed(
            {
                "auto": False,
                "passes": (PASSES if first or start.refined is None else self.further)[part.name],
                "scale": "minmax" if settings.scale is None else settings.scale,
                "verbose": settings.verbose if part.name == "ferns" else 0,
            }
        )
        source = MemoryRows(rows, part.feature_names)
        try:
            summary = source.summarise(own)
        except ValueError:  # perhaps for a bad value
            self._refuse_bad_values()
            raise
        if first and isinstance(own.class_weight, Mapping):  # some rows may lack a class
            known = summary.classes.tolist()
            named = {label: weight for label, weight in own.class_weight.items() if label in known}
            own = own.changed({"class_weight": named})
        fitted = Fitted.solve(summary, own)
        if start.refined is not None and len(start.refined.planes.weights) != fitted.summary.n_scores:
            start = Start(None, start.variance)  # that fit saw fewer classes
        if start.refined is not None and part.name == "line":  # in the units of that fit, if they will do
            units = start.refined.planes.scaling
            if (fitted.scaling.span / FAR > units.span)[units.span > 0].any():
                start = Start(None, start.variance)
            else:
                fitted = replace(fitted, scaling=units)
        watch = Progress(own.passes) if own.verbose else None
        training = TrainingRows(source, thread_count(own.n_jobs), fitted.class_weight)
        sefr = solve(fitted.weighted, fitted.scaling, fitted.epsilon)
        limits = Limits(own.passes, watch, held_out=False, memory=True)
        return replace(fitted, refined=refine(fitted.summary, sefr, training, limits, start=start))

    def _held_out(self, parts: Sequence[_Part], fits: Sequence[Fitted], held: Floats) -> HeldOutParts:
        """Return what fits say of rows that they have not seen, of classes that they have."""
        counts = fits[0].summary.counts
        known = counts > 0
        seen = find_labels(self.rows.classes, fits[0].summary.classes[known])
        at = np.flatnonzero((held > 0) & np.isin(self.rows.codes, seen))
        weights = self.weights[at] * held[at]
        if len(at) > MOST_HELD:
            some = spread_rows(len(at), weights, MOST_HELD)
            at, weights = at[some], np.ones(MOST_HELD)
        shares = np.log(counts[known] / counts.sum())
        rarity = _log_row_weights(counts, fits[0].class_weight)[known]
        base = np.full((len(at), len(self.rows.classes)), LEAST_LOGIT)
        base[:, seen] = shares
        logits = np.zeros((len(parts), *base.shape))
        for own, part, fit in zip(logits, parts, fits, strict=True):
            scores = per_class(fit.scores(part.matrix.take(at), self.settings.missing))[:, known]
            own[:, seen] = np.clip(scores, LEAST_LOGIT, -LEAST_LOGIT) - rarity - shares
        return HeldOutParts(logits, base, self.rows.codes[at], weights)

    def _sum(self, fits: dict[str, Fitted], choice: AutoChoice) -> Fitted:
        """Return the parts as one model: their scores, each times what makes it a log probability."""
        last = list(fits.values())[-1]
        summary = last.summary
        unseen, n_cells = last.model.constant, summary.sums.shape[1]
        entries = np.zeros((len(unseen), n_cells))
        for name, fit in fits.items():
            own = fit.model.entries
            entries[:, : own.shape[1]] += choice.weights[name] * own
        rarity = _log_row_weights(summary.counts, last.class_weight)
        shares = np.log(np.maximum(summary.counts / summary.counts.sum(), 1e-300))
        constant = per_score(rarity + shares) * (1 - sum(choice.weights.values()))
        constant = np.where(np.isfinite(unseen), constant, 0.0)
        coder = summary.coding.known_coder("bins")
        entries += _shared_out(constant, entries, coder, summary.sums.sum(axis=0))
        planes = Hyperplanes(last.scaling, entries, unseen, None)
        curve = () if last.refined is None else last.refined.loss_curve
        fitted = Fitted.solve(summary, self.settings, self.source.names)
        scaling = TemperatureScaling(1.0, -rarity, np.append(float(choice.n_held_out), np.zeros(len(rarity))))
        return replace(
            fitted,
            refined=Refined(planes, np.zeros_like(entries), curve),
            calibration=Calibration(prior=scaling),
            auto=self._auto(choice, fits.get("line"), summary.n_scores),
        )

    def _auto(self, choice: AutoChoice, line: Fitted | None, n_scores: int) -> Auto:
        """Return what was chosen, with the lines times their weight."""
        m = self.coder.n_features
        if line is None:
            return Auto(choice, None, np.zeros((n_scores, m)), np.zeros(0))
        own = line.planes
        weights, midpoints = np.zeros((2, len(own.weights), m))
        low, span = np.zeros((2, m))
        weights[:, self.numeric] = choice.weights["line"] * own.weights
        midpoints[:, self.numeric] = line.midpoints
        low[self.numeric], span[self.numeric] = own.scaling.low, own.scaling.span
        lines = lines_of(Scaling(low, span), weights, midpoints)
        return Auto(choice, lines, midpoints, self._values())

    def _values(self) -> Floats:
        """Return the mean value of some of the rows in each cell of a feature; an edge where none lies."""
        coder = self.coder
        at, _ = sample_of_values(self.rows._replace(matrix=self.raw))
        found = np.zeros(coder.offsets[coder.n_features])
        for j, (first, end) in enumerate(pairwise(coder.offsets[: coder.n_features + 1])):
            edges = coder.edges[coder.starts[j] : coder.starts[j + 1]]
            if len(edges):
                found[first : end - coder.missing] = np.concatenate([edges[:1], edges])
        sums, counts = np.zeros((2, len(found)))
        taken = cells_of(self.rows.matrix.take(at), coder)
        for rows, block in taken.matrix.blocks():
            values = np.asarray(block, dtype=np.float64)
            here = np.isfinite(values)
            cells = (coder.offsets[:-1] + taken.cells[rows])[here]
            sums += np.bincount(cells, values[here], len(found))
            counts += np.bincount(cells, minlength=len(found))
        return np.divide(sums, counts, out=found, where=counts > 0)


@dataclass(frozen=True)
class FoldOfRows:
    """The part that each row is in (n,), -1 for one that does not count; ``shared`` rows are in all parts."""

    number: NDArray[np.int32]
    shared: NDArray[np.bool_]
    parts: int

    def held(self, fold: int) -> Floats:
        """Return the share of each row that a part holds out: 0, 1, or that of one part."""
        return np.where(self.shared, 1 / self.parts, (self.number == fold) * 1.0)

    def left(self) -> Floats:
        """Return the share of each row in the parts 1 to 3."""
        own = (self.number > 0) & (self.number < PARTS)
        return np.where(self.shared, (PARTS - 1) / self.parts, own * 1.0)


def assign_folds(rows: Labelled, live: NDArray[np.bool_], parts: int) -> FoldOfRows:
    """Return the parts that rows are in, of so many about equal ones in each class.

    It depends on the cells of a row, not on where it stands, and equal rows of a class are in one part, or if
    they are many shared out among all: so a row twice is a row of weight 2. A class of one or two rows has
    none in part 0.
    """
    number, shared = np.full(len(rows.codes), -1, dtype=np.int32), np.zeros(len(rows.codes), dtype=bool)
    at = np.flatnonzero(live)
    hashes, codes = _hashes(rows.matrix)[at], rows.codes[at]
    order = np.lexsort((hashes, codes))
    hashes, codes = hashes[order], codes[order]
    weights = np.ones(len(at)) if rows.weights is None else rows.weights[at][order]
    begins = np.ones(len(at), dtype=bool)
    begins[1:] = (hashes[1:] != hashes[:-1]) | (codes[1:] != codes[:-1])
    run = np.cumsum(begins) - 1
    runs = np.bincount(run, weights)
    many = runs >= parts
    of_run, left = codes[begins], np.where(many, 0.0, runs)
    totals = np.bincount(of_run, left, len(rows.classes))
    middle = np.cumsum(left) - left / 2 - (np.cumsum(totals) - totals)[of_run]
    place = np.clip(parts * middle / np.maximum(totals[of_run], 1e-300), 0, parts - 1)
    number[at[order]] = place.astype(np.int32)[run]
    shared[at[order]] = many[run]
    return FoldOfRows(number, shared, parts)


def _hashes(matrix: Matrix) -> NDArray[np.uint64]:
    """Return a number per row that depends on its cells alone, and looks like a random one.

    It is a polynomial of the cells modulo 2^64, so that what sparse rows do not store is added once for all.
    """
    prime = np.uint64(0x100000001B3)
    if isinstance(matrix, SparseCells):
        coder, x = matrix.coder, matrix.stored
        powers = np.ones(coder.n_features, dtype=np.uint64)
        powers[:-1] = np.cumprod(np.full(coder.n_features - 1, prime))[::-1]
        zero = matrix.zero_cells
        base = ((zero - coder.offsets[:-1]).astype(np.uint64) * powers).sum(dtype=np.uint64)
        feature = coder.column_of[x.indices]
        added = (x.indices - zero[feature]).astype(np.int64).view(np.uint64) * powers[feature]
        total = np.concatenate([[np.uint64(0)], np.cumsum(added, dtype=np.uint64)])
        return mixed(base + total[x.indptr[1:]] - total[x.indptr[:-1]])
    found = np.zeros(matrix.shape[0], dtype=np.uint64)
    for column in matrix.cells.T:  # type: ignore[attr-defined]
        found = found * prime + column
    return mixed(found)


def _some_features(matrix: Matrix, features: list[int]) -> Matrix:
    """Return some columns of a matrix."""
    if isinstance(matrix, Columnar):
        return Columnar([matrix.columns[j] for j in features], matrix.shape[0])
    return Dense(np.concatenate([block[:, features] for _, block in matrix.blocks()]))


def _joined(known: list[HeldOutParts], n_parts: int, n_classes: int) -> HeldOutParts:
    """Return what parts say of the rows of several folds."""
    if not known:
        none = np.zeros((0, n_classes))
        return HeldOutParts(np.zeros((n_parts, *none.shape)), none, np.zeros(0, dtype=np.int32), np.zeros(0))
    return HeldOutParts(
        np.concatenate([each.logits for each in known], axis=1),
        np.concatenate([each.base for each in known]),
        np.concatenate([each.codes for each in known]),
        np.concatenate([each.weights for each in known]),
    )


def _log_row_weights(counts: Floats, class_weight: Floats | None) -> Floats:
    """Return the logarithm of what a row of each class weighs in the loss, 0 for a class without rows."""
    found, seen = np.zeros(len(counts)), counts > 0
    found[seen] = np.log(row_weights(counts[seen], None if class_weight is None else class_weight[seen]))
    return found


def _shared_out(constant: Floats, entries: Floats, coder: Coder, rows: Floats) -> Floats:
    """Return what each cell adds so that a row gets a constant (R,): by how much columns move the score."""
    _, variance = coder.means_and_variances(entries, coder.shares(rows))
    return shared_by_variance(variance, constant)[:, coder.column_of]
