"""Further passes where the rows are: the driver holds the optimiser, the engine sweeps.

An engine in this process streams its batches anew for every pass. On a cluster every pass is one job: each
partition is swept where it is, and its loss and gradient come home under its number. A partition that was
computed twice counts once, whatever became of the worker, and they are added in the order of their numbers,
so that timing changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Protocol

import narwhals as nw
import numpy as np
from scipy import sparse

from .._rows.batches import Gathered, Gatherer
from .._rows.cells import Coder, Cut, code_matrix, learn_coder
from .._rows.cells.batches import learn_coder_of_batches
from .._rows.inputs import refuse_one_class
from .._rows.labelled import CodedRows, Labelled, sample_size, spread_rows
from .._rows.matrix import Columns as ColumnMatrix
from .._rows.matrix import Dense, Gradient, LinearModel, Matrix, Sparse, Standardisation, WeightedRows
from .._summary.summary import Summary
from .._system.types import Array, Foreign
from ..classifier import SEFRClassifier
from .batches import batch_rows
from .columns import Columns, chosen, refuse_what_is_no_number
from .error import EngineError, spoken_by
from .frames import engine_of, open_frame
from .packed import Packed, pack, unpack
from .questions import NamedRows, Question, Reading, Reply, Sweep, once, unpacked
from .streams import frame_batches

# Rows that edges of bins are taken from, and the fewest that a partition adds to the sample.
EDGE_ROWS = 1 << 13
FEWEST = 16
# Cells that this process keeps between passes, one byte each; beyond that the engine streams the rows again.
KEPT_BYTES = 1 << 28


def fit_frame(
    clf: SEFRClassifier,
    frame: Foreign,
    label: str = "y",
    features: Sequence[str] | None = None,
    weight: str | None = None,
) -> SEFRClassifier:
    """Train a classifier, with all its passes, on a frame where it is; return it.

    Parameters
    ----------
    clf : SEFRClassifier
        With the settings to train with; what it learned before is forgotten.
    frame, label, features, weight
        As for :meth:`Summary.of_frame`; each pass reads the frame again, so a reader that can be read once
        will not do.
    """
    clf.check_params()
    table = open_frame(frame)
    if not isinstance(table, nw.DataFrame | nw.LazyFrame):
        if table.once and (clf.passes > 1 or clf.bins is not None):
            raise EngineError(
                f"{table.engine}: a stream can be read once, and every pass reads the rows again, with bins "
                "once more before"
            )
        columns = chosen(table.engine, table.schema.names, label, features, weight)
        rows = batch_rows(len(columns.features))
        return _fit_batches(clf, columns, lambda: table.batches(columns.all, rows))
    engine = engine_of(table)
    with spoken_by(engine, "read the columns of the table"):
        schema = table.collect_schema()
    columns = chosen(engine, schema.names(), label, features, weight)
    kind = table.implementation
    if kind.is_pyspark() or kind.is_pyspark_connect():
        from .spark_rows import SparkRows

        with SparkRows(frame, columns) as partitions:
            return fit_partitions(clf, partitions, columns)
    refuse_what_is_no_number(columns, schema)
    if kind.is_dask():
        from .dask import DaskRows

        return fit_partitions(clf, DaskRows(frame, columns), columns)
    rows = batch_rows(len(columns.features))

    def batches() -> Foreign:
        return frame_batches(table, columns.all, rows, ordered=True)

    return _fit_batches(clf, columns, batches)


def _fit_batches(clf: SEFRClassifier, columns: Columns, batches: Callable[[], Any]) -> SEFRClassifier:
    """Train on batches that this process reads, anew for each pass; with bins, cells that fit are kept."""
    cut, coder = _cut(clf, columns.engine), None

    def rows() -> Iterator[NamedRows]:
        with spoken_by(columns.engine, "read the rows"), closing(batches()) as stream:
            yield from Reading(columns, coder).rows(stream)

    if cut is not None:
        coder = learn_coder_of_batches(((found, {}) for found, _, _ in rows()), cut)
    gatherer, total = Gatherer(), None
    kept = _Kept()
    for found, names, number in rows():
        try:
            part = Summary.of_rows(found, names, missing=clf.missing)
        except ValueError as error:
            raise EngineError(f"{columns.engine}: batch {number}: {error}") from None
        total = part if total is None else total + part
        gatherer.add(found)
        if cut is not None and clf.passes > 1:
            kept.add(found)
    if total is None:
        raise EngineError(f"{columns.engine}: the table has no rows")
    refuse_one_class(total.classes, f"column {columns.label!r}")
    sample, classes = gatherer.sample(total.classes), total.classes

    def all_rows() -> Iterator[Labelled]:
        if kept.batches:
            return (unpack(batch, classes, coder) for batch in kept.batches)
        return (found for found, _, _ in rows())

    return clf.fit_from(total, all_rows, sample, _names(total))


class _Kept:
    """The cells of all batches, one byte per value, or none of them where they are too many."""

    def __init__(self) -> None:
        self.batches: list[Packed] = []
        self.left = KEPT_BYTES

    def add(self, rows: Labelled) -> None:
        """Keep the cells of a batch, if those before were kept."""
        if self.left > 0:
            self.batches.append(pack(rows))
            self.left -= len(self.batches[-1].data)
        if self.left <= 0:
            self.batches.clear()


def _names(summary: Summary) -> Array | None:
    names = summary.feature_names
    return None if names is None else np.array(names, dtype=object)


class Partitions(Protocol):
    """The partitions of a table on a cluster, and what can be asked of them: one job per question."""

    def edges(self, columns: Columns, most: int) -> list[Reply]:
        """Return about so many rows of all, for the edges of bins."""

    def first(self, reading: Reading, missing: str) -> Reply:
        """Keep the rows for further passes, cut into bins if they are to be; return the Summary of all."""

    def samples(self, most: Mapping[int, int]) -> list[Reply]:
        """Return some rows of each partition, at most as many as is said under its number."""

    def ask(self, question: Question, reading: Reading, classes: Array) -> Reply:
        """Return the answer of all partitions to a question about the rows that were kept."""


def fit_partitions(clf: SEFRClassifier, partitions: Partitions, columns: Columns) -> SEFRClassifier:
    """Train on the partitions of a table: the Summary, a sample of its rows, and one job per further pass."""
    cut, engine = _cut(clf, columns.engine), columns.engine
    coder = None
    if cut is not None:
        with spoken_by(engine, "draw rows for the edges of bins"):
            found = once(partitions.edges(columns, 1 if cut.fixed else EDGE_ROWS))
        coder = _coder(found, cut, engine)
    reading = Reading(columns, coder)
    first = partitions.first(reading, clf.missing)
    if first.data is None:
        raise EngineError(f"{engine}: the table has no rows")
    summary = Summary.from_bytes(first.data)
    refuse_one_class(summary.classes, f"column {columns.label!r}")
    rows = {number: count for number, count in first.rows.items() if count}
    with spoken_by(engine, "draw a sample of the rows"):
        most = sample_size(len(summary.classes), summary.n_features)
        replies = once(partitions.samples(_shares(rows, most)))
    sample = _sample(summary, [reply.data for reply in replies if reply.data is not None])
    remote = _Remote(partitions, reading, summary.classes, rows)
    return clf.fit_from(summary, lambda: [remote], sample, _names(summary))  # type: ignore[list-item]


def _cut(clf: SEFRClassifier, engine: str) -> Cut | None:
    """Return how features are to be cut; None if they are not."""
    if clf.interactions is not None:
        raise EngineError(f"{engine}: interactions need rows in this process: use fit or fit_batches")
    cut = Cut.of(clf.bins, clf.scale, clf.missing)
    if cut is not None and cut.given:
        raise EngineError(
            f"{engine}: bins has categories, and a column of text cannot be learned from here: use fit or "
            "fit_batches with rows in this process"
        )
    return cut


def _coder(replies: list[Reply], cut: Cut, engine: str) -> Coder:
    """Return where features are cut, from rows that came home."""
    parts = [unpacked(reply.data) for reply in replies if reply.data is not None]
    if not parts:
        raise EngineError(f"{engine}: the table has no rows")
    weights = np.concatenate([part["weights"] for part in parts])
    codes = np.zeros(len(weights), dtype=np.int32)
    alike = bool((weights == weights[0]).all())
    matrix = _joined(parts)
    return learn_coder(Labelled(matrix, np.zeros(1), codes, None if alike else weights), cut, {})


def _shares(rows: Mapping[int, int], most: int) -> dict[int, int]:
    """Return how many rows to take of each partition: all, or twice its share of those needed."""
    total = sum(rows.values())
    if total <= most:
        return dict(rows)
    return {number: FEWEST + 2 * most * count // total for number, count in rows.items()}


class _Remote:
    """All rows of a table on a cluster, as one batch that is swept there."""

    def __init__(
        self, partitions: Partitions, reading: Reading, classes: Array, rows: dict[int, int]
    ) -> None:
        self.partitions, self.reading, self.classes, self.rows = partitions, reading, classes, rows

    def over(self, classes: Array) -> CodedRows:
        """Return the rows coded by the classes of the Summary; the coding is done where they are."""
        return CodedRows(self, np.zeros(1, dtype=np.int32), None)  # type: ignore[arg-type]

    def gradient(
        self, rows: WeightedRows, standard: Standardisation, model: LinearModel, n_threads: int = 1
    ) -> Gradient:
        """Make one pass: loss and gradient of every partition, added in the order of their numbers."""
        engine = self.reading.columns.engine
        question = Sweep(self.classes, rows.class_weights, standard, model)
        with spoken_by(engine, "make a pass over the rows"):
            reply = self.partitions.ask(question, self.reading, self.classes)
        if {number: count for number, count in reply.rows.items() if count} != self.rows or not reply.data:
            raise EngineError(f"{engine}: the rows changed between two passes over the table")
        return question.gradient(reply.data)


def _sample(summary: Summary, replies: list[bytes]) -> CodedRows:
    """Return the sample of all rows from those of the partitions, coded by the classes of the Summary."""
    parts = [unpacked(data) for data in replies]
    codes = []
    for part in parts:
        labels = np.array(json.loads(str(part["labels"])), dtype=summary.classes.dtype)
        codes.append(Labelled(_nothing(), labels, part["codes"], None).over(summary.classes).codes)
    all_codes = np.concatenate(codes)
    weights = np.concatenate([part["weights"] for part in parts])
    matrix = _joined(parts)
    most = sample_size(len(summary.classes), summary.n_features)
    if all(part["whole"] for part in parts) and len(all_codes) <= most:
        return CodedRows(_cut_as(matrix, summary.coder), all_codes, weights)
    rows = spread_rows(len(all_codes), weights, min(most, len(all_codes)))
    taken = matrix.take(rows)
    if isinstance(matrix, Gathered) and isinstance(taken, Dense):
        taken = Gathered(taken.array, matrix.like)
    return CodedRows(_cut_as(taken, summary.coder), all_codes[rows], None)


def _cut_as(matrix: Matrix, coder: Coder | None) -> Matrix:
    return matrix if coder is None else code_matrix(matrix, coder)


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
        like: Matrix = ColumnMatrix([np.zeros(1, dtype=kind) for kind in kinds], 1)
    else:
        like = Dense(np.zeros((1, dense.shape[1]), dtype=kinds[0] if kinds else np.float64))
    return Gathered(dense, like)
