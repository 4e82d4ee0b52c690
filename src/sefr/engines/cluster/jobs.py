"""Jobs over the partitions of a table on a cluster, and how their replies become one.

Replies are bytes. Those of many partitions are joined where they are, some at a time, before they come to the
driver: each has the number of its partition, so that one that was computed twice counts once, and they are
joined in the order of these numbers, so that timing changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ..._rows.batches import Gatherer
from ..._rows.labelled import Labelled, sample_size, spread_rows
from ..._rows.matrix import Columnar, Dense, Gradient, Matrix, Sparse
from ..._summary.source import Sweep
from ..._summary.summary import Summary
from ..._system.types import Array
from ..batches import Reading
from ..columns import Summing
from ..error import EngineError
from .storage import pack_arrays, unpack_arrays

if TYPE_CHECKING:
    import pyarrow as pa

# Up to this many partitions, or bytes of replies, come to the driver one by one.
FEW_PARTITIONS = 32
FEW_BYTES = 1 << 20


class Reply(NamedTuple):
    """What one partition replies, or what several reply together.

    ``rows`` has the number of rows of each partition by its number; ``data`` is None where there are none.
    """

    rows: Mapping[int, int]
    data: bytes | None
    fault: str | None = None

    @classmethod
    def of_fault(cls, number: int, error: Exception) -> Reply:
        """Return what is wrong with a partition in words: an exception would be retried, then traced."""
        return cls({number: 0}, None, str(error))


class Joining(Protocol):
    """How the replies of several partitions become one."""

    def join(self, replies: Sequence[Reply]) -> bytes:
        """Return the data of replies, which all have some, in the order of their partitions, as one."""


class Job(Joining, Protocol):
    """What is computed of the rows of a partition."""

    @property
    def n_bytes(self) -> int:
        """How large the reply of a partition is."""

    def __call__(self, rows: Iterable[Labelled]) -> tuple[int, bytes | None]:
        """Return the number of rows and what they add up to."""


def merge_replies(replies: Iterable[Reply], engine: str) -> list[Reply]:
    """Return the replies in the order of their partitions, each once; one with a fault is an error."""
    taken: dict[int, Reply] = {}
    for reply in replies:
        if reply.fault is not None:
            raise EngineError(reply.fault)
        number = min(reply.rows)
        if taken.setdefault(number, reply) != reply:
            raise EngineError(f"{engine}: partition {number} came twice, with different rows")
    return [taken[number] for number in sorted(taken)]


def join_replies(replies: Iterable[Reply], joining: Joining, engine: str) -> Reply:
    """Return the replies of some partitions, each counted once, as one."""
    found = merge_replies(replies, engine)
    rows = {number: count for reply in found for number, count in reply.rows.items()}
    full = [reply for reply in found if reply.data is not None]
    return Reply(rows, joining.join(full) if len(full) > 1 else full[0].data if full else None)


def group_width(n_replies: int, n_bytes: int) -> int:
    """Return how many neighbouring replies to join on the cluster before they come to the driver; 1 is none.

    ``n_bytes`` is the size of all. A group has as many replies as there are groups, so that no task and no
    driver takes more than the square root of all.
    """
    if n_replies <= FEW_PARTITIONS or n_bytes <= FEW_BYTES:
        return 1
    return int(np.ceil(np.sqrt(n_replies)))


class FirstPass:
    """The first pass over a partition: its Summary, and some of its rows, evenly spread by weight."""

    def __init__(self, reading: Reading, summing: Summing, where: str = "") -> None:
        self.reading, self.summing, self.where = reading, summing, where
        self.summary: Summary | None = None
        self.gatherer = Gatherer()
        self.n_rows, self.weight = 0, 0.0

    def summarise(self, batches: Iterable[pa.RecordBatch], number: int) -> Reply:
        """Return the Summary of a partition's batches; what is wrong with them is a fault of the reply."""
        try:
            for _ in self.rows(batches, sampled=False):
                pass
            return self.reply(number)
        except EngineError as error:
            return Reply.of_fault(number, error)

    def reply(self, number: int) -> Reply:
        """Return the Summary of the rows so far, as the reply of a partition."""
        return Reply({number: self.n_rows}, None if self.summary is None else self.summary.to_bytes())

    def rows(self, batches: Iterable[pa.RecordBatch], *, sampled: bool = True) -> Iterator[Labelled]:
        """Yield the rows of batches, added up and, unless not wanted, sampled."""
        engine = self.reading.columns.engine
        for found, names, number in self.reading.rows(batches, self.where):
            try:
                part = Summary.of_rows(found, names, **self.summing._asdict())
            except ValueError as error:
                raise EngineError(f"{engine}: {self.where}batch {number}: {error}") from None
            self.summary = part if self.summary is None else self.summary + part
            self.n_rows += len(found.codes)
            if sampled:
                self.gatherer.add(found)
                self.weight += len(found.codes) if found.weights is None else float(found.weights.sum())
            yield found

    def sample(self) -> bytes | None:
        """Return some of the rows as bytes, no more than choose the steps."""
        if self.summary is None:
            return None
        most = sample_size(len(self.summary.classes), self.summary.n_features)
        return _sampled(self.gatherer, self.summary.classes, self.weight, most)


def _sampled(gatherer: Gatherer, classes: Array, weight: float, most: int) -> bytes:
    sample = gatherer.rows(classes)
    whole = sample.weights is not None
    arrays = _matrix_arrays(sample.matrix, gatherer.like or sample.matrix)
    weights = sample.weights
    if weights is None:
        weights = np.full(len(sample.codes), weight / max(1, len(sample.codes)))
    arrays |= {"codes": sample.codes, "weights": weights, "whole": np.array(whole), "targets": sample.targets}
    arrays["labels"] = np.array(json.dumps(classes.tolist()))
    return pack_arrays(_thinned(arrays, most))


def run_on_batches(job: Job, reading: Reading, batches: Iterable[pa.RecordBatch], number: int) -> Reply:
    """Return the reply of a partition to a job over the rows of its batches."""
    try:
        n_rows, data = job(found.rows for found in reading.rows(batches, f"partition {number}, "))
        return Reply({number: n_rows}, data)
    except EngineError as error:
        return Reply.of_fault(number, error)


class DrawRows(NamedTuple):
    """Draws rows of a partition, at most so many: their quantiles are the edges of bins."""

    most: int

    @property
    def n_bytes(self) -> int:
        """Not known, and not needed: they are not joined."""
        return 0

    def __call__(self, rows: Iterable[Labelled]) -> tuple[int, bytes | None]:
        """Return the number of rows and those drawn."""
        gatherer, n_rows, weight, labels = Gatherer(self.most), 0, 0.0, None
        for found in rows:
            n_rows += len(found.codes)
            weight += len(found.codes) if found.weights is None else float(found.weights.sum())
            labels = found.classes if labels is None else np.union1d(labels, found.classes)
            gatherer.add(found)
        return n_rows, None if labels is None else _sampled(gatherer, labels, weight, self.most)

    def join(self, replies: Sequence[Reply]) -> bytes:
        """Rows are few enough to come to the driver one by one."""
        raise NotImplementedError


class AddSummaries(NamedTuple):
    """Adds the Summaries that the first pass makes."""

    engine: str

    def join(self, replies: Sequence[Reply]) -> bytes:
        """Return the Summary of several partitions."""
        total: Summary | None = None
        for reply in replies:
            part = Summary.from_bytes(reply.data or b"")
            try:
                total = part if total is None else total + part
            except ValueError as error:
                raise EngineError(f"{self.engine}: partition {min(reply.rows)}: {error}") from None
        return b"" if total is None else total.to_bytes()


def summary_of_reply(reply: Reply, engine: str) -> Summary:
    """Return the Summary of all rows; no rows are an error."""
    if reply.data is None:
        raise EngineError(f"{engine}: the table has no rows")
    return Summary.from_bytes(reply.data)


class ComputeGradient(NamedTuple):
    """Computes the share of a partition in the loss and its gradient."""

    sweep: Sweep

    @property
    def n_bytes(self) -> int:
        """How large the reply of a partition is."""
        return 8 * (1 + self.sweep.model.coef.size + self.sweep.model.intercept.size)

    def __call__(self, rows: Iterable[Labelled]) -> tuple[int, bytes | None]:
        """Return the number of rows, and their loss and gradient as bytes."""
        total: Gradient | None = None
        n_rows = 0
        for found in rows:
            n_rows += len(found.codes)
            part = self.sweep.over(found.over(self.sweep.classes))  # a worker has one core per task
            total = part if total is None else total + part
        return n_rows, None if total is None else self._flat(total)

    def join(self, replies: Sequence[Reply]) -> bytes:
        """Return the loss and gradient of several partitions."""
        total = np.frombuffer(replies[0].data or b"").copy()
        for reply in replies[1:]:
            total += np.frombuffer(reply.data or b"")
        return total.tobytes()

    def _flat(self, found: Gradient) -> bytes:
        return np.concatenate([[found.loss], found.coef.ravel(), found.intercept]).tobytes()

    def gradient(self, data: bytes) -> Gradient:
        """Return loss and gradient from the reply of all partitions."""
        flat, shape = np.frombuffer(data), self.sweep.model.coef.shape
        size = shape[0] * shape[1]
        return Gradient(float(flat[0]), flat[1 : size + 1].reshape(shape), flat[size + 1 :])


def _matrix_arrays(matrix: Matrix, like: Matrix) -> dict[str, Array]:
    if matrix is not matrix.uncut:  # the values, which the driver cuts as they were cut here
        return _matrix_arrays(matrix.uncut, matrix.uncut)
    if isinstance(matrix, Sparse):
        rows = matrix.by_rows
        shape = np.array(rows.shape)
        return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": shape}
    blocks = [block for _, block in matrix.blocks()]
    dense = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    kinds = [str(c.dtype) for c in like.columns] if isinstance(like, Columnar) else []
    if isinstance(like, Dense):
        kinds = [str(like.array.dtype)]
    return {"dense": dense, "kinds": np.array(kinds, dtype=str)}


def thin_sample(data: bytes, most: int) -> bytes:
    """Return at most so many of sampled rows, evenly spread by weight."""
    arrays = unpack_arrays(data)
    return data if len(arrays["codes"]) <= most else pack_arrays(_thinned(arrays, most))


def _thinned(arrays: dict[str, Array], most: int) -> dict[str, Array]:
    count = len(arrays["codes"])
    if count <= most:
        return arrays
    at = spread_rows(count, arrays["weights"], most)
    total = float(arrays["weights"].sum())
    chosen = {"codes": arrays["codes"][at], "weights": np.full(most, total / most), "whole": np.array(False)}
    arrays = arrays | chosen | {"targets": arrays["targets"][at]}
    if "dense" in arrays:
        arrays["dense"] = arrays["dense"][at]
    else:
        from scipy import sparse

        triple = (arrays["data"], arrays["indices"], arrays["indptr"])
        rows = sparse.csr_matrix(triple, shape=tuple(arrays["shape"]))[at]
        arrays |= {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
        arrays["shape"] = np.array(rows.shape)
    return arrays
