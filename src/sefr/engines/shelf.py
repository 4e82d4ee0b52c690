"""A shelf: packed rows on the disk of the machine that read them, for the passes to come.

Each partition is a file, written whole or not at all. A later pass maps it into memory, so that its rows go
through no socket and no conversion again. Who finds no file reads the rows from the table once more.
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from .._rows.cells import Coder
from .._rows.labelled import Labelled
from .._system.types import Array
from .packed import ALIGNED, Packed, padded, parts_of, unpack


class Shelf(NamedTuple):
    """The files of one training, by its name."""

    name: str

    @property
    def folder(self) -> Path:
        """Where the files are: in a folder that Spark removes when it ends, else among temporary files."""
        from pyspark import SparkFiles

        root = getattr(SparkFiles, "_root_directory", None)
        return Path(root if root and os.path.isdir(root) else tempfile.gettempdir()) / f"sefr-{self.name}"

    def put(self, number: int, rows: Iterable[Labelled]) -> None:
        """Keep the rows of a partition."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.folder, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                for found in rows:
                    _write(file, *parts_of(found))
            os.replace(name, self._file(number))
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def put_aside(self, number: int, sample: bytes) -> None:
        """Keep a few of the rows of a partition as bytes."""
        self._sample(number).write_bytes(sample)

    def aside(self, number: int) -> bytes | None:
        """Return what was put aside, None where it is not here."""
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
            if not os.fstat(file.fileno()).st_size:
                return iter(())
            memory = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return (unpack(packed, classes, coder) for packed in _read(memory))

    def clear(self) -> None:
        """Remove the files that are on this machine."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, number: int) -> Path:
        return self.folder / f"{number}.rows"

    def _sample(self, number: int) -> Path:
        return self.folder / f"{number}.sample"


def _write(file: IO[bytes], head: str, arrays: Sequence[Array]) -> None:
    data, words = list(padded(arrays)), head.encode()
    begin = f"{len(words):020d}{sum(map(len, data)):020d}".encode() + words
    file.writelines([begin, bytes(-len(begin) % ALIGNED), *data])


def _read(memory: memoryview) -> Iterator[Packed]:
    start = 0
    while start < len(memory):
        of_head, of_data = (int(bytes(memory[at : at + 20])) for at in (start, start + 20))
        head = bytes(memory[start + 40 : start + 40 + of_head]).decode()
        start += 40 + of_head + -(40 + of_head) % ALIGNED
        yield Packed(head, memory[start : start + of_data])
        start += of_data
