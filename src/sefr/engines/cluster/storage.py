"""Rows as bytes, in memory or in files, in the form that the kernels read: what is kept between passes.

A batch of rows is a header and one block of memory: nothing is decoded in a later pass. Rows that are cut
into bins are kept as the numbers of their cells, one byte per value. On the disk of the machine that read
them each partition is a file, written whole or not at all. A later pass maps it into memory, so that its
rows go through no socket and no conversion again. Who finds no file reads the rows from the table once more.
"""

from __future__ import annotations

import json
import mmap
import os
import pickle
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._rows.cells import Cells, Coder, SparseCells, code_matrix
from ..._rows.coding import coding_of
from ..._rows.labelled import Labelled
from ..._rows.matrix import Columnar, Dense, Matrix, Sparse
from ..._system.types import Array, Floats

# Every array begins at a multiple of this, as the kernels and Arrow like it.
ALIGNED = 64


class PackedRows(NamedTuple):
    """A batch of rows as bytes: what its arrays are, and the arrays one after the other."""

    head: str
    data: bytes | memoryview


def pack_rows(rows: Labelled) -> PackedRows:
    """Return rows as bytes; of those that are cut into bins, only the cells are kept."""
    head, arrays = arrays_of_rows(rows)
    return PackedRows(head, join_arrays(arrays))


def arrays_of_rows(rows: Labelled) -> tuple[str, list[Array]]:
    """Return what the bytes of rows consist of: the header and the arrays."""
    kind, arrays = _arrays(rows.matrix)
    arrays = [*arrays, rows.codes, *([] if rows.weights is None else [rows.weights])]
    head = {
        "kind": kind,
        "labels": rows.classes.tolist(),
        "weighted": rows.weights is not None,
        "shape": list(rows.matrix.uncut.shape),
        "arrays": [(array.dtype.str, list(array.shape)) for array in arrays],
    }
    return json.dumps(head), arrays


def unpack_rows(packed: PackedRows, classes: Array, coder: Coder | None = None) -> Labelled:
    """Return the rows of bytes; their labels, of which ``classes`` has all, are of the type of these."""
    head = json.loads(packed.head)
    arrays = split_arrays(packed.data, head["arrays"])
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
    if isinstance(matrix, Columnar):
        return "columns", [np.asarray(column) for column in matrix.columns]
    if isinstance(matrix, Dense):
        return "dense", [matrix.array]
    return "dense", [np.concatenate([block for _, block in matrix.blocks()])]


def _matrix(kind: str, arrays: list[Array], shape: Sequence[int], coder: Coder | None) -> Matrix:
    if kind == "cells":
        cells = Cells(Dense(arrays[0]), coding_of(coder, shape[1]).known_coder("cells"))
        cells.__dict__["cells"] = arrays[0]  # coded already; the values are not here
        return cells
    if kind == "sparse":
        data, indices, indptr = arrays
        matrix: Matrix = Sparse(sparse.csr_matrix((data, indices, indptr), shape=tuple(shape)))
        return code_matrix(matrix, coder)
    return Columnar(arrays, shape[0]) if kind == "columns" else Dense(arrays[0])


def serialise(value: object) -> bytes:
    """Return settings and jobs as bytes, to be sent to workers.

    A cluster's own messages give arrays back wherever they lie in the message; the kernels want theirs
    aligned. In protocol 4 an array is copied out of the bytes into memory of its own.
    """
    import cloudpickle  # which Dask itself sends functions with

    return bytes(cloudpickle.dumps(value, protocol=4))


def deserialise(data: bytes) -> Any:
    """Return what ``serialise`` was given."""
    return pickle.loads(data)  # noqa: S301  from the driver, which sends the code to run as well


def join_arrays(arrays: Sequence[Array]) -> bytes:
    """Return arrays as one block of bytes, each padded to a whole number of lines of memory."""
    return b"".join(padded(arrays))


def padded(arrays: Sequence[Array]) -> Iterator[memoryview | bytes]:
    """Yield what such a block consists of, without a copy."""
    for array in arrays:
        own = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        yield own.data
        yield bytes(-len(own) % ALIGNED)


def split_arrays(data: bytes | memoryview, kinds: Sequence[tuple[str, Sequence[int]]]) -> list[Array]:
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


def pack_arrays(arrays: dict[str, Array]) -> bytes:
    """Return named arrays as bytes; dense rows in half of them where that loses nothing."""
    if "dense" in arrays:
        arrays = arrays | {"dense": _halved(arrays["dense"])}
    kinds = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    head = json.dumps(kinds).encode()
    size = len(head).to_bytes(8, "little")
    return b"".join([size, head, bytes(-(8 + len(head)) % ALIGNED), join_arrays(list(arrays.values()))])


def unpack_arrays(data: bytes) -> dict[str, Array]:
    """Return what ``pack_arrays`` was given."""
    end = 8 + int.from_bytes(data[:8], "little")
    kinds = json.loads(data[8:end])
    found = split_arrays(memoryview(data)[end + -end % ALIGNED :], list(kinds.values()))
    arrays = dict(zip(kinds, found, strict=True))
    if "dense" in arrays:
        arrays["dense"] = arrays["dense"].astype(np.float64, copy=False)
    return arrays


def _halved(values: Floats) -> Array:
    with np.errstate(over="ignore"):
        small = values.astype(np.float32)
        return small if ((small == values) | np.isnan(values)).all() else values


class RowFiles(NamedTuple):
    """The files of one training, by its name."""

    name: str

    @property
    def folder(self) -> Path:
        """Where the files are: in a folder that Spark removes when it ends, else among temporary files."""
        from pyspark import SparkFiles

        root = getattr(SparkFiles, "_root_directory", None)
        return Path(root if root and os.path.isdir(root) else tempfile.gettempdir()) / f"sefr-{self.name}"

    def write(self, number: int, rows: Iterable[Labelled]) -> None:
        """Keep the rows of a partition."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.folder, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                for found in rows:
                    write_rows(file, found)
            os.replace(name, self._file(number))
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def write_sample(self, number: int, sample: bytes) -> None:
        """Keep a few of the rows of a partition as bytes."""
        self._sample(number).write_bytes(sample)

    def sample(self, number: int) -> bytes | None:
        """Return the few rows of a partition, None where they are not here."""
        try:
            return self._sample(number).read_bytes()
        except FileNotFoundError:
            return None

    def rows(self, number: int, classes: Array, coder: Coder | None) -> Iterator[Labelled] | None:
        """Return the rows of a partition, None where they are not here."""
        try:
            file = self._file(number).open("rb")
        except FileNotFoundError:
            return None
        with file:
            return read_rows(file, classes, coder)

    def clear(self) -> None:
        """Remove the files that are on this machine."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, number: int) -> Path:
        return self.folder / f"{number}.rows"

    def _sample(self, number: int) -> Path:
        return self.folder / f"{number}.sample"


def write_rows(file: IO[bytes], rows: Labelled) -> None:
    """Add rows, packed, to the end of a file."""
    head, arrays = arrays_of_rows(rows)
    data, words = list(padded(arrays)), head.encode()
    begin = f"{len(words):020d}{sum(map(len, data)):020d}".encode() + words
    file.writelines([begin, bytes(-len(begin) % ALIGNED), *data])


def read_rows(file: IO[bytes], classes: Array, coder: Coder | None) -> Iterator[Labelled]:
    """Return the rows of a file, mapped into memory; it may be closed then."""
    if not os.fstat(file.fileno()).st_size:
        return iter(())
    memory = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return (unpack_rows(packed, classes, coder) for packed in _read(memory))


def _read(memory: memoryview) -> Iterator[PackedRows]:
    start = 0
    while start < len(memory):
        of_head, of_data = (int(bytes(memory[at : at + 20])) for at in (start, start + 20))
        head = bytes(memory[start + 40 : start + 40 + of_head]).decode()
        start += 40 + of_head + -(40 + of_head) % ALIGNED
        yield PackedRows(head, memory[start : start + of_data])
        start += of_data
