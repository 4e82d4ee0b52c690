"""What is asked of the partitions of a table on a cluster, and how their answers become one.

Answers are bytes. Those of many partitions are joined where they are, some at a time, before they come home:
each stands under the number of its partition, so that one that was computed twice counts once, and they are
joined in the order of these numbers, so that timing changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from .._rows.batches import Gatherer
from .._rows.cells import Cells, Coder, SparseCells, code_matrix
from .._rows.labelled import Labelled, sample_size, spread_rows
from .._rows.matrix import Columns as ColumnMatrix
from .._rows.matrix import Dense, Gradient, LinearModel, Matrix, Sparse, Standardisation, WeightedRows
from .._summary.summary import Summary
from .._system.types import Array, Floats
from .batches import feature_names_of_batch, rows_of_batch
from .columns import Columns
from .error import EngineError
from .packed import ALIGNED, parted
from .packed import joined as joined_arrays

if TYPE_CHECKING:
    import pyarrow as pa

# Up to this many answers come home one by one.
FEW_PARTITIONS = 32


class Reply(NamedTuple):
    """What one partition answers, or what several answer together.

    ``rows`` has the number of rows of each partition by its number; ``data`` is None where there are none.
    """

    rows: Mapping[int, int]
    data: bytes | None
    fault: str | None = None


class Question(Protocol):
    """What is asked of the rows of a partition."""

    def __call__(self, rows: Iterable[Labelled]) -> tuple[int, bytes | None]:
        """Return the number of rows and what they add up to."""

    def joined(self, answers: Sequence[bytes]) -> bytes:
        """Return the answers of several partitions, in their order, as one."""


class Reading(NamedTuple):
    """How batches of Arrow become rows: which columns, and where features are cut into bins."""

    columns: Columns
    coder: Coder | None = None

    def rows(self, batches: Iterable[pa.RecordBatch], where: str = "") -> Iterator[NamedRows]:
        """Yield the rows of batches, those without any left out; what is wrong names its batch."""
        for number, batch in enumerate(batches):
            try:
                rows = rows_of_batch(batch, self.columns) if batch.num_rows else None
            except ValueError as error:
                raise EngineError(f"{self.columns.engine}: {where}batch {number}: {error}") from None
            if rows is not None:
                if self.coder is not None:
                    rows = rows._replace(matrix=code_matrix(rows.matrix, self.coder))
                yield NamedRows(rows, feature_names_of_batch(batch, self.columns), number)


class NamedRows(NamedTuple):
    """Rows, their features' names, and the number of their batch."""

    rows: Labelled
    names: tuple[str, ...] | None
    batch: int


def once(replies: Iterable[Reply], joined: Question | None = None) -> list[Reply]:
    """Return the replies in the order of their partitions, each once; with a question, joined into one."""
    taken: dict[int, Reply] = {}
    for reply in replies:
        if reply.fault is not None:
            raise EngineError(reply.fault)
        taken.setdefault(min(reply.rows), reply)
    found = [taken[number] for number in sorted(taken)]
    if joined is None or len(found) < 2:
        return found
    answers = [reply.data for reply in found if reply.data is not None]
    rows = {number: count for reply in found for number, count in reply.rows.items()}
    return [Reply(rows, joined.joined(answers) if answers else None)]


class FirstLook:
    """The first pass over a partition: its Summary, and some of its rows, evenly spread by weight."""

    def __init__(self, reading: Reading, missing: str, where: str = "") -> None:
        self.reading, self.missing, self.where = reading, missing, where
        self.summary: Summary | None = None
        self.gatherer = Gatherer()
        self.n_rows, self.weight = 0, 0.0

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Labelled]:
        """Yield the rows of batches, after a look at them."""
        engine = self.reading.columns.engine
        for found, names, number in self.reading.rows(batches, self.where):
            try:
                part = Summary.of_rows(found, names, missing=self.missing)
            except ValueError as error:
                raise EngineError(f"{engine}: {self.where}batch {number}: {error}") from None
            self.summary = part if self.summary is None else self.summary + part
            self.gatherer.add(found)
            self.n_rows += len(found.codes)
            self.weight += len(found.codes) if found.weights is None else float(found.weights.sum())
            yield found

    def sample(self) -> bytes | None:
        """Return some of the rows as bytes, no more than choose the steps."""
        if self.summary is None:
            return None
        most = sample_size(len(self.summary.classes), self.summary.n_features)
        return _sampled(self.gatherer, self.summary.classes, self.weight, most)


def _sampled(gatherer: Gatherer, classes: Array, weight: float, most: int) -> bytes:
    sample = gatherer.sample(classes)
    whole = sample.weights is not None
    arrays = _matrix_arrays(sample.matrix, gatherer.like or sample.matrix)
    weights = sample.weights
    if weights is None:
        weights = np.full(len(sample.codes), weight / max(1, len(sample.codes)))
    arrays |= {"codes": sample.codes, "weights": weights, "whole": np.array(whole)}
    arrays["labels"] = np.array(json.dumps(classes.tolist()))
    return packed(_fewer(arrays, most))


class Edges(NamedTuple):
    """Asks a partition for rows whose quantiles are the edges of bins."""

    most: int

    def __call__(self, rows: Iterable[Labelled]) -> tuple[int, bytes | None]:
        """Return the number of rows and the answer."""
        gatherer, n_rows, weight, labels = Gatherer(self.most), 0, 0.0, None
        for found in rows:
            n_rows += len(found.codes)
            weight += len(found.codes) if found.weights is None else float(found.weights.sum())
            labels = found.classes if labels is None else np.union1d(labels, found.classes)
            gatherer.add(found)
        return n_rows, None if labels is None else _sampled(gatherer, labels, weight, self.most)

    def joined(self, answers: Sequence[bytes]) -> bytes:
        """Return the answers of several partitions as one."""
        raise NotImplementedError  # they are few enough to come home one by one


class Totals(NamedTuple):
    """Joins Summaries."""

    engine: str

    def __call__(self, rows: Iterable[Labelled]) -> tuple[int, bytes | None]:
        """Return the number of rows and the answer."""
        raise NotImplementedError  # the first look makes them

    def joined(self, answers: Sequence[bytes]) -> bytes:
        """Return the answers of several partitions as one."""
        total = Summary.from_bytes(answers[0])
        for data in answers[1:]:
            try:
                total = total + Summary.from_bytes(data)
            except ValueError as error:
                raise EngineError(f"{self.engine}: {error}") from None
        return total.to_bytes()


class Sweep(NamedTuple):
    """Asks a partition for its share of the loss and of the gradient."""

    classes: Array
    class_weights: Floats
    standard: Standardisation
    model: LinearModel

    def __call__(self, rows: Iterable[Labelled]) -> tuple[int, bytes | None]:
        """Return the number of rows and the answer."""
        total: Gradient | None = None
        n_rows = 0
        for found in rows:
            n_rows += len(found.codes)
            matrix, codes, weights = found.over(self.classes)
            weighted = WeightedRows(codes, weights, self.class_weights)
            part = matrix.gradient(weighted, self.standard, self.model)  # a worker has one core per task
            total = part if total is None else total + part
        return n_rows, None if total is None else self._flat(total)

    def joined(self, answers: Sequence[bytes]) -> bytes:
        """Return the answers of several partitions as one."""
        total = np.frombuffer(answers[0]).copy()
        for data in answers[1:]:
            total += np.frombuffer(data)
        return total.tobytes()

    def _flat(self, found: Gradient) -> bytes:
        return np.concatenate([[found.loss], found.coef.ravel(), found.intercept]).tobytes()

    def gradient(self, data: bytes) -> Gradient:
        """Return loss and gradient from the answer of all partitions."""
        flat, size = np.frombuffer(data), self.model.coef.size
        return Gradient(float(flat[0]), flat[1 : size + 1].reshape(self.model.coef.shape), flat[size + 1 :])


def _matrix_arrays(matrix: Matrix, like: Matrix) -> dict[str, Array]:
    if isinstance(matrix, Cells | SparseCells):  # the values, which the driver cuts as they were cut here
        return _matrix_arrays(matrix.matrix, matrix.matrix)
    if isinstance(matrix, Sparse):
        rows = matrix.by_rows
        shape = np.array(rows.shape)
        return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": shape}
    blocks = [block for _, block in matrix.blocks()]
    dense = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    kinds = [str(c.dtype) for c in like.columns] if isinstance(like, ColumnMatrix) else []
    if isinstance(like, Dense):
        kinds = [str(like.array.dtype)]
    return {"dense": dense, "kinds": np.array(kinds, dtype=str)}


def fewer(data: bytes, most: int) -> bytes:
    """Return at most so many of sampled rows, evenly spread by weight."""
    arrays = unpacked(data)
    return data if len(arrays["codes"]) <= most else packed(_fewer(arrays, most))


def _fewer(arrays: dict[str, Array], most: int) -> dict[str, Array]:
    count = len(arrays["codes"])
    if count <= most:
        return arrays
    at = spread_rows(count, arrays["weights"], most)
    total = float(arrays["weights"].sum())
    chosen = {"codes": arrays["codes"][at], "weights": np.full(most, total / most), "whole": np.array(False)}
    arrays = arrays | chosen
    if "dense" in arrays:
        arrays["dense"] = arrays["dense"][at]
    else:
        from scipy import sparse

        triple = (arrays["data"], arrays["indices"], arrays["indptr"])
        rows = sparse.csr_matrix(triple, shape=tuple(arrays["shape"]))[at]
        arrays |= {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
        arrays["shape"] = np.array(rows.shape)
    return arrays


def packed(arrays: dict[str, Array]) -> bytes:
    """Return named arrays as bytes; dense rows in half of them where that loses nothing."""
    if "dense" in arrays:
        arrays = arrays | {"dense": _halved(arrays["dense"])}
    kinds = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    head = json.dumps(kinds).encode()
    size = len(head).to_bytes(8, "little")
    return b"".join([size, head, bytes(-(8 + len(head)) % ALIGNED), joined_arrays(list(arrays.values()))])


def unpacked(data: bytes) -> dict[str, Array]:
    """Return what ``packed`` was given."""
    end = 8 + int.from_bytes(data[:8], "little")
    kinds = json.loads(data[8:end])
    found = parted(memoryview(data)[end + -end % ALIGNED :], list(kinds.values()))
    arrays = dict(zip(kinds, found, strict=True))
    if "dense" in arrays:
        arrays["dense"] = arrays["dense"].astype(np.float64, copy=False)
    return arrays


def _halved(values: Floats) -> Array:
    with np.errstate(over="ignore"):
        small = values.astype(np.float32)
        return small if ((small == values) | np.isnan(values)).all() else values
