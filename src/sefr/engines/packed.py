"""Rows packed into bytes, so that a cluster keeps them between passes in the form that the kernels read.

A batch of rows is a header and one block of memory: nothing is decoded in a later pass. Rows that are cut
into bins are packed as the numbers of their cells, one byte per value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._rows.cells import Cells, Coder, SparseCells, code_matrix
from .._rows.labelled import Labelled
from .._rows.matrix import Columns as ColumnMatrix
from .._rows.matrix import Dense, Matrix, Sparse
from .._system.types import Array

# Every array begins at a multiple of this, as the kernels and Arrow like it.
ALIGNED = 64


class Packed(NamedTuple):
    """A batch of rows as bytes: what its arrays are, and the arrays one after the other."""

    head: str
    data: bytes | memoryview


def pack(rows: Labelled) -> Packed:
    """Return rows as bytes; of those that are cut into bins, only the cells are kept."""
    head, arrays = parts_of(rows)
    return Packed(head, joined(arrays))


def parts_of(rows: Labelled) -> tuple[str, list[Array]]:
    """Return what the bytes of rows consist of: the header and the arrays."""
    kind, arrays = _arrays(rows.matrix)
    arrays = [*arrays, rows.codes, *([] if rows.weights is None else [rows.weights])]
    head = {
        "kind": kind,
        "labels": rows.classes.tolist(),
        "weighted": rows.weights is not None,
        "shape": list(rows.matrix.shape),
        "arrays": [(array.dtype.str, list(array.shape)) for array in arrays],
    }
    return json.dumps(head), arrays


def unpack(packed: Packed, classes: Array, coder: Coder | None = None) -> Labelled:
    """Return the rows of bytes; their labels, of which ``classes`` has all, are of the type of these."""
    head = json.loads(packed.head)
    arrays = parted(packed.data, head["arrays"])
    weights = arrays.pop() if head["weighted"] else None
    codes = arrays.pop()
    matrix = _matrix(head["kind"], arrays, head["shape"], coder)
    return Labelled(matrix, np.array(head["labels"], dtype=classes.dtype), codes, weights)


def _arrays(matrix: Matrix) -> tuple[str, list[Array]]:
    if isinstance(matrix, Cells):
        return "cells", [matrix.cells]
    if isinstance(matrix, SparseCells):
        return _arrays(matrix.matrix)
    if isinstance(matrix, Sparse):
        rows = matrix.by_rows
        return "sparse", [rows.data, rows.indices, rows.indptr]
    if isinstance(matrix, ColumnMatrix):
        return "columns", [np.asarray(column) for column in matrix.columns]
    if isinstance(matrix, Dense):
        return "dense", [matrix.array]
    return "dense", [np.concatenate([block for _, block in matrix.blocks()])]


def _matrix(kind: str, arrays: list[Array], shape: Sequence[int], coder: Coder | None) -> Matrix:
    if kind == "cells" and coder is not None:
        cells = Cells(Dense(arrays[0]), coder)
        cells.__dict__["cells"] = arrays[0]  # coded already; the values are not here
        return cells
    if kind == "sparse":
        data, indices, indptr = arrays
        n_columns = coder.n_features if coder is not None else shape[1]
        matrix: Matrix = Sparse(sparse.csr_matrix((data, indices, indptr), shape=(shape[0], n_columns)))
        return matrix if coder is None else code_matrix(matrix, coder)
    return ColumnMatrix(arrays, shape[0]) if kind == "columns" else Dense(arrays[0])


def joined(arrays: Sequence[Array]) -> bytes:
    """Return arrays as one block of bytes, each padded to a whole number of lines of memory."""
    return b"".join(padded(arrays))


def padded(arrays: Sequence[Array]) -> Iterator[memoryview | bytes]:
    """Yield what such a block consists of, without a copy."""
    for array in arrays:
        own = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        yield own.data
        yield bytes(-len(own) % ALIGNED)


def parted(data: bytes | memoryview, kinds: Sequence[tuple[str, Sequence[int]]]) -> list[Array]:
    """Return the arrays of a block of bytes, in place where it lies well."""
    block = np.frombuffer(data, dtype=np.uint8)
    if block.ctypes.data % 8:
        block = block.copy()
    arrays, start = [], 0
    for kind, shape in kinds:
        dtype = np.dtype(kind)
        size = dtype.itemsize * int(np.prod(shape))
        arrays.append(block[start : start + size].view(dtype).reshape(shape))
        start += size + -size % ALIGNED
    return arrays
