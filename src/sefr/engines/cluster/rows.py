"""ClusterRows: the rows of a training that stay in the partitions of a table on a cluster.

Every pass is one job: each worker computes loss and gradient of its partitions and returns them with the
partition's number. A partition that was computed twice counts once, and partitions are added in the order of
their numbers, so that timing changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol

import numpy as np
from scipy import sparse

from ..._rows.batches import Gathered
from ..._rows.cells import code_matrix
from ..._rows.cells.learn import rows_for_ferns
from ..._rows.labelled import CodedRows, Labelled, sample_size, spread_rows
from ..._rows.matrix import Columnar, Dense, Gradient, Matrix, Sparse
from ..._summary.source import RowSource, Sweep
from ..._summary.summary import Summary
from ..._system.types import Array
from ...settings import AnySettings
from ..batches import Reading
from ..columns import Columns, Summing
from ..error import EngineError, engine_errors
from .jobs import ComputeGradient, Job, Reply, merge_replies, summary_of_reply
from .storage import unpack_arrays

# The fewest rows that a partition adds to the sample.
FEWEST = 16


class Partitions(Protocol):
    """The partitions of a table on a cluster, and the jobs that they run."""

    def draw(self, columns: Columns, most: int) -> list[Reply]:
        """Return about so many rows of all, for the edges of bins."""

    def add_up(self, reading: Reading, summing: Summing) -> Reply:
        """Return the Summary of all; no row is kept."""

    def first_pass(self, reading: Reading, summing: Summing) -> Reply:
        """Keep the rows for further passes, cut into bins if they are to be; return the Summary of all."""

    def samples(self, most: Mapping[int, int]) -> list[Reply]:
        """Return some rows of each partition, at most as many as is said under its number."""

    def run(self, job: Job, reading: Reading, classes: Array) -> Reply:
        """Return the reply of all partitions to a job over the rows that were kept."""


class ClusterRows(RowSource):
    """The partitions of a table on a cluster: the Summary, a sample, and one job per further pass."""

    def __init__(self, partitions: Partitions, columns: Columns) -> None:
        self.partitions, self.columns = partitions, columns
        self.place = columns.place
        self.reading = Reading(columns)
        self.rows: dict[int, int] = {}
        self._summary: Summary | None = None
        self._sample: CodedRows | None = None
        self._drawn: Labelled | None = None

    def summarise(self, settings: AnySettings) -> Summary:
        """Let each partition add up its rows; with bins, some rows come here before, for their edges."""
        engine, cut = self.columns.engine, settings.cut
        if cut.readings:
            with engine_errors(engine, "draw rows for the edges of bins"):
                most = 1 if cut.fixed else cut.sample_rows
                found = merge_replies(self.partitions.draw(self.columns, most), engine)
            drawn = _drawn(found, self.columns)
            self.reading = Reading(self.columns, cut.learn(drawn, self.columns.categories))
            self._drawn = drawn if cut.grows and self.columns.numbers else None
        # Numbers that are learned in one pass ask for no sample: no row is kept.
        once = self.columns.numbers and settings.passes == 1
        read = self.partitions.add_up if once else self.partitions.first_pass
        first = read(self.reading, Summing(settings.missing, settings.moments))
        self._summary = summary_of_reply(first, engine)
        self.rows = {number: count for number, count in first.rows.items() if count}
        names = self._summary.feature_names
        self.names = None if names is None else np.array(names, dtype=object)
        return self._summary

    def sample(self, classes: Array) -> CodedRows:
        """Draw some rows of each partition, once, and return them."""
        summary = self._summary
        assert summary is not None  # noqa: S101  summarise comes first
        if self._sample is None:
            with engine_errors(self.columns.engine, "draw a sample of the rows"):
                most = sample_size(len(summary.classes), summary.n_features)
                found = self.partitions.samples(_shares(self.rows, most))
                replies = merge_replies(found, self.columns.engine)
            self._sample = _sample(summary, [reply.data for reply in replies if reply.data is not None])
        matrix, codes, weights = self._sample
        return Labelled(matrix, summary.classes, codes, weights).over(classes)

    def numbered(self) -> Labelled | None:
        """Return rows that were drawn for bins: those that ferns were grown on, and those held out."""
        if self._drawn is None:
            return None
        rows = rows_for_ferns(self._drawn)
        return rows._replace(matrix=code_matrix(rows.matrix, self.reading.coder))

    def gradient(self, sweep: Sweep, n_threads: int) -> Gradient:
        """Make one pass: loss and gradient of every partition, added in the order of their numbers."""
        engine, job = self.columns.engine, ComputeGradient(sweep)
        with engine_errors(engine, "make a pass over the rows"):
            reply = self.partitions.run(job, self.reading, sweep.classes)
        if {number: count for number, count in reply.rows.items() if count} != self.rows or not reply.data:
            raise EngineError(f"{engine}: the rows changed between two passes over the table")
        return job.gradient(reply.data)


def _drawn(replies: list[Reply], columns: Columns) -> Labelled:
    """Return the rows that came here, from which features are cut and interactions grown."""
    parts = [unpack_arrays(reply.data) for reply in replies if reply.data is not None]
    if not parts:
        raise EngineError(f"{columns.engine}: the table has no rows")
    labels = [np.array(json.loads(str(part["labels"])))[part["codes"]] for part in parts]
    classes, codes = np.unique(np.concatenate(labels), return_inverse=True)
    weights = np.concatenate([part["weights"] for part in parts])
    alike = bool((weights == weights[0]).all())
    targets = np.concatenate([part["targets"] for part in parts])
    return Labelled(_joined(parts), classes, codes.astype(np.int32), None if alike else weights, targets)


def _shares(rows: Mapping[int, int], most: int) -> dict[int, int]:
    """Return how many rows to take of each partition: all, or twice its share of those needed."""
    total = sum(rows.values())
    if total <= most:
        return dict(rows)
    return {number: FEWEST + 2 * most * count // total for number, count in rows.items()}


def _sample(summary: Summary, replies: list[bytes]) -> CodedRows:
    """Return the sample of all rows from those of the partitions, coded by the classes of the Summary."""
    parts = [unpack_arrays(data) for data in replies]
    codes = []
    for part in parts:
        labels = np.array(json.loads(str(part["labels"])), dtype=summary.classes.dtype)
        codes.append(Labelled(_nothing(), labels, part["codes"], None).over(summary.classes).codes)
    all_codes = np.concatenate(codes)
    weights = np.concatenate([part["weights"] for part in parts])
    matrix = _joined(parts)
    most = sample_size(len(summary.classes), summary.n_features)
    if all(part["whole"] for part in parts) and len(all_codes) <= most:
        return CodedRows(code_matrix(matrix, summary.coder), all_codes, weights)
    rows = spread_rows(len(all_codes), weights, min(most, len(all_codes)))
    taken = matrix.take(rows)
    if isinstance(matrix, Gathered) and isinstance(taken, Dense):
        taken = Gathered(taken.array, matrix.like)
    return CodedRows(code_matrix(taken, summary.coder), all_codes[rows], None)


def _nothing() -> Dense:
    return Dense(np.zeros((0, 1)))


def _joined(parts: list[dict[str, Array]]) -> Matrix:
    if any("data" in part for part in parts):
        pieces = [
            sparse.csr_matrix((part["data"], part["indices"], part["indptr"]), shape=tuple(part["shape"]))
            if "data" in part
            else sparse.csr_matrix(part["dense"])
            for part in parts
        ]
        return Sparse(sparse.vstack(pieces, format="csr"))
    dense = np.concatenate([part["dense"] for part in parts])
    kinds = parts[0]["kinds"].tolist()
    if len(kinds) > 1:
        like: Matrix = Columnar([np.zeros(1, dtype=kind) for kind in kinds], 1)
    else:
        like = Dense(np.zeros((1, dense.shape[1]), dtype=kinds[0] if kinds else np.float64))
    return Gathered(dense, like)
