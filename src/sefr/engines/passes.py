"""Further passes where the rows are: the driver holds the optimiser, the engine sweeps.

An engine in this process streams its batches anew for every pass. On a cluster every pass is one job: each
partition is swept where it is, and its loss and gradient come home under its number. A partition that was
computed twice counts once, whatever became of the worker, and they are added in the order of their numbers,
so that timing changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import narwhals as nw
import numpy as np
from scipy import sparse

from .._rows.batches import Gathered, Gatherer
from .._rows.inputs import refuse_one_class
from .._rows.labelled import CodedRows, Labelled, sample_size, spread_rows
from .._rows.matrix import Columns as ColumnMatrix
from .._rows.matrix import Dense, Gradient, LinearModel, Matrix, Sparse, Standardisation, WeightedRows
from .._summary.summary import Summary
from .._system.types import Array, Floats, Foreign
from ..classifier import SEFRClassifier
from .batches import batch_rows, feature_names_of_batch, rows_of_batch
from .columns import Columns, chosen, refuse_what_is_no_number
from .error import EngineError, spoken_by
from .frames import engine_of, open_frame
from .streams import frame_batches

if TYPE_CHECKING:
    import pyarrow as pa

# Number of the partition, its rows, and what it adds: packed arrays, None where it has no rows.
Reply = tuple[int, int, bytes | None]


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
        if table.once and clf.passes > 1:
            raise EngineError(
                f"{table.engine}: a stream can be read once, and every pass reads the rows again"
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
    """Train on batches that this process reads, anew for each pass."""
    gatherer = Gatherer()
    total: Summary | None = None

    def rows() -> Iterator[tuple[Labelled, tuple[str, ...] | None]]:
        with spoken_by(columns.engine, "read the rows"), closing(batches()) as stream:
            for number, batch in enumerate(stream):
                if not batch.num_rows:
                    continue
                try:
                    found = rows_of_batch(batch, columns)
                except ValueError as error:
                    raise EngineError(f"{columns.engine}: batch {number}: {error}") from None
                if found is not None:
                    yield found, feature_names_of_batch(batch, columns)

    for number, (found, names) in enumerate(rows()):
        try:
            part = Summary.of_rows(found, names, missing=clf.missing)
        except ValueError as error:
            raise EngineError(f"{columns.engine}: batch {number}: {error}") from None
        total = part if total is None else total + part
        gatherer.add(found)
    if total is None:
        raise EngineError(f"{columns.engine}: the table has no rows")
    refuse_one_class(total.classes, f"column {columns.label!r}")
    sample = gatherer.sample(total.classes)
    return clf.fit_from(total, lambda: (found for found, _ in rows()), sample, _names(total))


def _names(summary: Summary) -> Array | None:
    names = summary.feature_names
    return None if names is None else np.array(names, dtype=object)


class Partitions(Protocol):
    """The partitions of a table on a cluster, and what can be asked of them: one job per question."""

    def summary(self, missing: str) -> Summary:
        """Return the Summary of all rows."""

    def ask(self, question: Question) -> list[Reply]:
        """Return the answers of the partitions, some perhaps twice."""


class Question(Protocol):
    """What is asked of the batches of each partition."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> tuple[int, bytes | None]:
        """Return the number of rows and what they add up to."""


def fit_partitions(clf: SEFRClassifier, partitions: Partitions, columns: Columns) -> SEFRClassifier:
    """Train on the partitions of a table: the Summary, a sample of its rows, and one job per further pass."""
    summary = partitions.summary(clf.missing)
    refuse_one_class(summary.classes, f"column {columns.label!r}")
    with spoken_by(columns.engine, "draw a sample of the rows"):
        replies = _once(
            partitions.ask(_Sampler(columns, sample_size(len(summary.classes), summary.n_features)))
        )
    rows = {number: count for number, (count, _) in replies.items() if count}
    sample = _sample(summary, [data for _, data in replies.values() if data is not None])
    remote = _Remote(partitions, columns, summary.classes, rows)
    return clf.fit_from(summary, lambda: [remote], sample, _names(summary))  # type: ignore[list-item]


def _once(replies: Iterable[Reply]) -> dict[int, tuple[int, bytes | None]]:
    """Return the answers by the number of their partition, in its order, each once."""
    taken: dict[int, tuple[int, bytes | None]] = {}
    for number, rows, data in replies:
        taken.setdefault(number, (rows, data))
    return dict(sorted(taken.items()))


class _Remote:
    """All rows of a table on a cluster, as one batch that is swept there."""

    def __init__(
        self, partitions: Partitions, columns: Columns, classes: Array, rows: dict[int, int]
    ) -> None:
        self.partitions, self.columns, self.classes, self.rows = partitions, columns, classes, rows

    def over(self, classes: Array) -> CodedRows:
        """Return the rows coded by the classes of the Summary; the coding is done where they are."""
        return CodedRows(self, np.zeros(1, dtype=np.int32), None)  # type: ignore[arg-type]

    def gradient(
        self, rows: WeightedRows, standard: Standardisation, model: LinearModel, n_threads: int = 1
    ) -> Gradient:
        """Make one pass: loss and gradient of every partition, added in the order of their numbers."""
        engine = self.columns.engine
        question = _Sweeper(self.columns, self.classes, rows.class_weights, standard, model)
        with spoken_by(engine, "make a pass over the rows"):
            replies = _once(self.partitions.ask(question))
        if {number: rows for number, (rows, _) in replies.items() if rows} != self.rows:
            raise EngineError(f"{engine}: the rows changed between two passes over the table")
        parts = [_unpacked(data) for _, data in replies.values() if data is not None]
        loss, coef, intercept = (sum(part[name] for part in parts) for name in Gradient._fields)
        return Gradient(float(loss), np.asarray(coef), np.asarray(intercept))


class _Sweeper(NamedTuple):
    """Asks a partition for its share of the loss and of the gradient."""

    columns: Columns
    classes: Array
    class_weights: Floats
    standard: Standardisation
    model: LinearModel

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> tuple[int, bytes | None]:
        total: Gradient | None = None
        n_rows = 0
        for batch in batches:
            n_rows += batch.num_rows
            rows = rows_of_batch(batch, self.columns) if batch.num_rows else None
            if rows is None:
                continue
            matrix, codes, weights = rows.over(self.classes)
            # one thread: a worker has one core per task
            part = matrix.gradient(
                WeightedRows(codes, weights, self.class_weights), self.standard, self.model
            )
            total = part if total is None else total + part
        if total is None:
            return n_rows, None
        return n_rows, _packed({name: np.asarray(value) for name, value in total._asdict().items()})


class _Sampler(NamedTuple):
    """Asks a partition for some of its rows, evenly spread by weight."""

    columns: Columns
    most: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> tuple[int, bytes | None]:
        gatherer = Gatherer()
        n_rows, total = 0, 0.0
        labels: Array | None = None
        for batch in batches:
            n_rows += batch.num_rows
            rows = rows_of_batch(batch, self.columns) if batch.num_rows else None
            if rows is None:
                continue
            total += batch.num_rows if rows.weights is None else float(rows.weights.sum())
            labels = rows.classes if labels is None else np.union1d(labels, rows.classes)
            gatherer.add(rows)
        if labels is None:
            return n_rows, None
        sample = gatherer.sample(labels)
        at = np.arange(len(sample.codes))
        whole = sample.weights is not None
        if len(at) > self.most:
            at, whole = spread_rows(len(at), sample.weights, self.most), False
        weights = np.full(len(at), total / len(at)) if not whole else sample.weights[at]  # type: ignore[index]
        like = gatherer.like if gatherer.like is not None else sample.matrix
        arrays = _matrix_arrays(sample.matrix.take(at), like)
        arrays |= {"codes": sample.codes[at], "weights": weights, "whole": np.array(whole)}
        arrays["labels"] = np.array(json.dumps(labels.tolist()))
        return n_rows, _packed(arrays)


def _matrix_arrays(matrix: Matrix, like: Matrix) -> dict[str, Array]:
    if isinstance(matrix, Sparse):
        rows = matrix.by_rows
        shape = np.array(rows.shape)
        return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": shape}
    dense = np.concatenate([block for _, block in matrix.blocks()])
    kinds = [str(c.dtype) for c in like.columns] if isinstance(like, ColumnMatrix) else []
    if isinstance(like, Dense):
        kinds = [str(like.array.dtype)]
    return {"dense": dense, "kinds": np.array(kinds, dtype=str)}


def _packed(arrays: dict[str, Array]) -> bytes:
    file = BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def _unpacked(data: bytes) -> dict[str, Array]:
    with np.load(BytesIO(data), allow_pickle=False) as arrays:
        return dict(arrays)


def _sample(summary: Summary, replies: list[bytes]) -> CodedRows:
    """Return the sample of all rows from those of the partitions, coded by the classes of the Summary."""
    parts = [_unpacked(data) for data in replies]
    codes = []
    for part in parts:
        labels = np.array(json.loads(str(part["labels"])), dtype=summary.classes.dtype)
        codes.append(Labelled(_nothing(), labels, part["codes"], None).over(summary.classes).codes)
    all_codes = np.concatenate(codes)
    weights = np.concatenate([part["weights"] for part in parts])
    matrix = _joined(parts)
    most = sample_size(len(summary.classes), summary.n_features)
    if all(part["whole"] for part in parts) and len(all_codes) <= most:
        return CodedRows(matrix, all_codes, weights)
    rows = spread_rows(len(all_codes), weights, min(most, len(all_codes)))
    taken = matrix.take(rows)
    if isinstance(matrix, Gathered) and isinstance(taken, Dense):
        taken = Gathered(taken.array, matrix.like)
    return CodedRows(taken, all_codes[rows], None)


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
