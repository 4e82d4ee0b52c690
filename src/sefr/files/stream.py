"""Bytes of a file or of standard input: decompressed, counted, and with a look at how they begin."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from typing import IO, Any

import pyarrow as pa

from .part import SourceError

COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
CHUNK = 1 << 18


class _Counted(io.RawIOBase):
    """A file that knows how much of it was read."""

    def __init__(self, raw: IO[bytes]) -> None:
        self.raw = raw
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n: int = self.raw.readinto(buffer)  # type: ignore[attr-defined]
        self.count += n
        return n

    def close(self) -> None:
        if self.raw is not sys.stdin.buffer:
            self.raw.close()
        super().close()


class Stream(io.RawIOBase):
    """The content of a file, "-" for standard input; gzip, zstd and bz2 decompressed.

    ``head(n)`` looks ahead without taking anything away.
    """

    def __init__(self, path: str) -> None:
        self.name = name_of(path)
        raw = _opened(path)
        status = os.fstat(raw.fileno())
        self.size = status.st_size if os.path.isfile(path) else None
        self._counted = _Counted(raw)
        buffered = io.BufferedReader(self._counted, CHUNK)
        start = buffered.peek(4)[:4]
        compression = next((name for magic, name in COMPRESSIONS.items() if start.startswith(magic)), None)
        self._inner: Any = pa.CompressedInputStream(buffered, compression) if compression else buffered
        self._head = b""
        self._at = 0
        self.quotes = 0  # double quotes handed out: an odd number means that one may not be closed

    @property
    def position(self) -> int:
        """Bytes of the file read so far, before decompression."""
        return self._counted.count

    def readable(self) -> bool:
        """Return True."""
        return True

    def head(self, length: int) -> bytes:
        """Return the next ``length`` bytes, or all there are, and leave them to be read again."""
        if self._at:
            self._head = self._head[self._at :]
            self._at = 0
        while len(self._head) < length:
            more = self._take(length - len(self._head))
            if not more:
                break
            self._head += more
        return self._head[:length]

    def skip(self, length: int) -> None:
        """Leave out bytes that ``head`` has shown."""
        self._at += length

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; return the number of bytes."""
        wanted = len(buffer)
        data = self._head[self._at : self._at + wanted] if self._at < len(self._head) else self._take(wanted)
        self._at += len(data) if self._at < len(self._head) else 0
        if self._at and self._at >= len(self._head):
            self._head, self._at = b"", 0
        buffer[: len(data)] = data
        self.quotes += data.count(b'"')
        return len(data)

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._inner.close()
            self._counted.close()
        super().close()

    def _take(self, length: int) -> bytes:
        try:
            return bytes(self._inner.read(length))
        except OSError as error:
            if error.errno is None:  # Arrow's: the compressed data is damaged or cut
                raise SourceError(
                    f"{self.name}: {_lower(str(error))}: the file is damaged or incomplete"
                ) from None
            raise


def name_of(path: str) -> str:
    """Return what messages call a file."""
    return "standard input" if path == "-" else path


def spooled(path: str) -> str:
    """Return a temporary copy of standard input, for what must be read twice or out of order."""
    handle, copy = tempfile.mkstemp(prefix="sefr-input-")
    try:
        with os.fdopen(handle, "wb") as file:
            shutil.copyfileobj(_opened(path), file, CHUNK)
    except BaseException:
        os.unlink(copy)
        raise
    return copy


def _opened(path: str) -> IO[bytes]:
    if path == "-":
        return sys.stdin.buffer
    try:
        return open(path, "rb", buffering=0)
    except OSError as error:
        raise SourceError(f"{path}: {_lower(error.strerror or str(error))}") from None


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
