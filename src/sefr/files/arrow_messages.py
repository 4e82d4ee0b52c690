"""How much the record batches of an Arrow file claim to hold, before anything is decompressed.

A compressed buffer begins with its size afterwards, and Arrow makes room for that before it looks at the
rest. The layout is that of Arrow's columnar format ("Serialization and Interprocess Communication"), whose
tables are FlatBuffers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

MAGIC = b"ARROW1"
CONTINUATION = 0xFFFFFFFF
DICTIONARY_BATCH, RECORD_BATCH = 2, 3


class Message(NamedTuple):
    """The bytes of a message's body, and what they claim to be when they are decompressed."""

    body: int
    claimed: int


def messages(content: bytes) -> Iterator[Message]:
    """Yield the batches of a file or stream, those of dictionaries too; ValueError for what is neither."""
    try:
        for at in _footer_blocks(content) if content[:6] == MAGIC else _stream_blocks(content):
            yield _message(content, at)
    except struct.error as error:
        raise ValueError(f"not a message of Arrow: {error}") from None


def _stream_blocks(content: bytes) -> Iterator[int]:
    at = 0
    while at + 8 <= len(content):
        start, length = _metadata(content, at)
        if not length:
            return
        yield at
        at = start + length + _body_length(content, start)


def _footer_blocks(content: bytes) -> Iterator[int]:
    end = len(content) - len(MAGIC) - 4
    footer = end - _number(content, "<i", end)
    table = footer + _number(content, "<I", footer)
    for slot in (2, 3):  # dictionaries, record batches
        for block in _vector(content, table, slot, 24):
            yield _number(content, "<q", block)


def _message(content: bytes, at: int) -> Message:
    start, length = _metadata(content, at)
    table = start + _number(content, "<I", start)
    kind, header = _field(content, table, 1), _follow(content, table, 2)
    body, size = start + length, _body_length(content, start)
    which = None if kind is None or header is None else _number(content, "<B", kind)
    if header is None or which not in (DICTIONARY_BATCH, RECORD_BATCH):
        return Message(size, 0)
    batch = _follow(content, header, 1) if which == DICTIONARY_BATCH else header
    if batch is None or _field(content, batch, 3) is None:  # not compressed
        return Message(size, size)
    claimed = 0
    for buffer in _vector(content, batch, 2, 16):
        offset, stored = (_number(content, "<q", buffer + place) for place in (0, 8))
        if stored >= 8:
            said = _number(content, "<q", body + offset)
            claimed += stored - 8 if said == -1 else max(0, said)  # -1: kept as it is
    return Message(size, claimed)


def _metadata(content: bytes, at: int) -> tuple[int, int]:
    """Return where the metadata of a message begins, and its length, 0 at the end of a stream."""
    first = _number(content, "<I", at)
    if first != CONTINUATION:  # as before Arrow 0.15
        return at + 4, first
    return at + 8, _number(content, "<I", at + 4)


def _body_length(content: bytes, start: int) -> int:
    place = _field(content, start + _number(content, "<I", start), 3)
    length = 0 if place is None else _number(content, "<q", place)
    if length < 0:
        raise ValueError("not a message of Arrow: a body of less than nothing")
    return length


def _field(content: bytes, table: int, slot: int) -> int | None:
    """Return where a field of a table is; None if it has its default."""
    layout = table - _number(content, "<i", table)
    entry = 4 + 2 * slot
    if entry + 2 > _number(content, "<H", layout):
        return None
    offset = _number(content, "<H", layout + entry)
    return table + offset if offset else None


def _follow(content: bytes, table: int, slot: int) -> int | None:
    """Return where the table or vector is that a field refers to."""
    place = _field(content, table, slot)
    return None if place is None else place + _number(content, "<I", place)


def _vector(content: bytes, table: int, slot: int, size: int) -> Iterator[int]:
    """Yield where each structure of a vector begins."""
    place = _follow(content, table, slot)
    if place is not None:
        for number in range(_number(content, "<I", place)):
            yield place + 4 + size * number


def _number(content: bytes, kind: str, at: int) -> int:
    if at < 0:
        raise ValueError("not a message of Arrow: an offset before the beginning")
    return int(struct.unpack_from(kind, content, at)[0])
