"""What a board remembers, as bytes: read into a Summary, or written for a board.

The format is that of sefr.h.
"""

from __future__ import annotations

import functools
import operator
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._rows.cells import Coder
from .._summary.summary import Summary, score_count
from .._system.types import Array, Label

MAGIC = b"SEFR"
VERSION = 2
HEAD = struct.Struct("<4sBBBBII")  # magic, version, bits of a sum, classes, flags, features, sequence number
ID = struct.Struct("<I")  # of the model, after the head from version 2 on
# The flags; with weights, those and the bias follow the ranges; what the model started from (base) is last.
WITH_RANGES, WITH_INT8, WITH_INT16, WITH_BASE = 1, 2, 4, 32
BINS = (8, 16)  # flags too: sums of 8 bits are counts of cells, so many per feature
MAX_RECORDS = {8: 254, 16: 256, 32: 1 << 24}


class StateError(ValueError):
    """The bytes hold no state, or one that is damaged or of another version.

    Examples
    --------
    >>> from sefr.device import StateError, read_state
    >>> try:
    ...     read_state(b"not a state")
    ... except StateError as error:
    ...     print(type(error).__name__)
    StateError
    """


def read_state(
    data: bytes,
    *,
    classes: Sequence[Label] | Array | None = None,
    low: ArrayLike = 0.0,
    high: ArrayLike = 255.0,
    feature_names: Sequence[str] | None = None,
    base: bytes | None = None,
) -> Summary:
    """Turn what a board saved or sent into a Summary.

    Parameters
    ----------
    data : bytes
        A state as ``sefr_send`` wrote it, or an image of a storage with the two slots of ``sefr_save``; the
        newest
        good state counts.
    classes : sequence of labels, default=None
        What the board's classes 0, 1, ... mean, in sorted order. None: the numbers themselves.
    low, high : number or one for each feature
        The raw values that byte 0 and byte 255 stand for. By default the bytes are the values; sums are then
        exact,
        so adding the Summaries of many boards equals training on all their records.
    feature_names : sequence of str, default=None
        Names of the features.
    base : bytes, default=None
        The state that the board started from (``base.state`` of a sketch exported to learn): it is taken off,
        so that only what the board itself learned remains. A board that started from another is refused.

    Notes
    -----
    What the base counted for comes off exactly as long as no class was halved on the board: with 16-bit sums,
    until a class has 256 records.

    A board with bins (``SEFR_BINS``) counts cells: the Summary then has a coder, whose edges are those of the
    board in raw units, and ``SEFRClassifier.from_summary`` makes a model with bins of it.

    Where the board learned the ranges, they are the Summary's low and high; else those are the ``low`` and
    ``high`` given, so that a model with ``scale=(0, 255)`` or "minmax" agrees with the board.

    Examples
    --------
    >>> from sefr import Summary
    >>> from sefr.device import read_state, write_state
    >>> sent = write_state(Summary.of([[200, 3], [20, 60]], [1, 0]))
    >>> read_state(sent, classes=["shaken", "still"])
    <Summary: 2 rows, 2 features, 2 classes>
    """
    newest = _newest(data)
    counts, sums, ranges = newest.counts, newest.sums, newest.ranges
    if base is not None:
        counts, sums = _without(newest, base)
    labels = np.arange(len(counts)) if classes is None else np.asarray(classes)
    if len(labels) != len(counts):
        raise StateError(f"the state has {len(counts)} classes, but {len(labels)} labels were given")
    m = sums.shape[1] // (newest.bins or 1)
    lowest, highest = (np.broadcast_to(np.asarray(side, np.float64), (m,)) for side in (low, high))
    unit = (highest - lowest) / 255.0
    if newest.bins:
        steps = np.arange(256 // newest.bins, 256, 256 // newest.bins)
        coder = Coder.of(
            [bottom + step * steps for bottom, step in zip(lowest, unit, strict=True)], missing=False
        )
        return Summary.from_parts(
            classes=labels, counts=counts, sums=sums, feature_names=feature_names, coder=coder
        )
    if ranges is not None:
        seen = ranges[0] <= ranges[1]
        bottom = np.where(seen, lowest + unit * ranges[0], np.inf)
        top = np.where(seen, lowest + unit * ranges[1], -np.inf)
    else:
        bottom, top = lowest, highest
    try:
        return Summary.from_parts(
            classes=labels,
            counts=counts,
            sums=counts[:, None] * lowest + sums * unit,
            low=bottom,
            high=top,
            feature_names=feature_names,
        )
    except ValueError as error:
        raise StateError(f"no records could have left this state: {error}") from None


def write_state(
    summary: Summary,
    *,
    sum_bits: int = 16,
    ranges: bool = False,
    low: ArrayLike = 0.0,
    high: ArrayLike = 255.0,
    sequence: int = 0,
    model_id: int = 0,
    base_id: int = 0,
) -> bytes:
    """Turn a Summary into the state of a board, the inverse of ``read_state``.

    Counts and sums must be whole numbers that fit: 256 records per class with 16-bit sums, 2**24 in all with
    32-bit sums, 254 per class with the bins of a board. ``summary * factor`` makes older records count less;
    sums that are then not whole are rounded down. ``base_id``: what the board started from (``base_id_of``).

    Examples
    --------
    >>> from sefr import Summary
    >>> from sefr.device import read_state, write_state
    >>> learned = Summary.of([[200, 3], [20, 60]], [1, 0])
    >>> read_state(write_state(learned)).sums.tolist()
    [[20.0, 60.0], [200.0, 3.0]]
    """
    if sum_bits not in (16, 32):
        raise ValueError(f"sum_bits must be 16 or 32, not {sum_bits!r}")
    if summary.coder is not None:
        return _write_cells(summary, summary.coder, low, high, (sequence, model_id, base_id))
    lowest, highest = (
        np.broadcast_to(np.asarray(side, np.float64), (summary.n_features,)) for side in (low, high)
    )
    span = highest - lowest
    counts = np.floor(summary.counts + 0.5)
    sums = (summary.sums - summary.counts[:, None] * lowest) * np.divide(
        255.0, span, out=np.zeros(len(span)), where=span > 0
    )
    sums = np.clip(np.floor(sums + 1e-9 * (1 + sums)), 0, 255 * counts[:, None])
    most = counts.max(initial=0) if sum_bits == 16 else counts.sum()
    if most > MAX_RECORDS[sum_bits]:
        what = "of a class" if sum_bits == 16 else "in all"
        raise ValueError(
            f"{most:.0f} records {what} do not fit {sum_bits}-bit sums, which hold {MAX_RECORDS[sum_bits]}; "
            f"make them count less (summary * {MAX_RECORDS[sum_bits] / most:.3g}) or take 32-bit sums"
        )
    extremes = np.stack([summary.low, summary.high]) if ranges else np.empty((0, summary.n_features))
    if ranges:
        seen = summary.low <= summary.high
        extremes = np.where(seen, extremes, [[255.0], [0.0]])
        if ((extremes < 0) | (extremes > 255) | (extremes != np.floor(extremes))).any():
            raise ValueError("learned ranges must be bytes: low and high whole numbers from 0 to 255")
    seen_ranges = extremes.astype(np.uint8) if ranges else None
    return pack_state(State(counts, sums, seen_ranges, sequence, model_id, base=base_id), sum_bits)


def _write_cells(
    summary: Summary, coder: Coder, low: ArrayLike, high: ArrayLike, ids: tuple[int, int, int]
) -> bytes:
    m = coder.n_features
    bins = coder.n_cells // m
    empty = pack_state(State(np.zeros(2), np.zeros((2, max(coder.n_cells, 1))), bins=bins), 8)
    if bins not in BINS or read_state(empty, low=low, high=high).coder != coder:
        raise ValueError(
            "a board cuts a byte into 8 or 16 bins of equal width, and this Summary is cut elsewhere: train "
            "with the edges of a board's Summary (bins=other.edges_)"
        )
    counts = np.floor(summary.counts + 0.5)
    sums = np.clip(np.floor(summary.sums + 1e-9), 0, counts[:, None])
    if counts.max(initial=0) > MAX_RECORDS[8]:
        raise ValueError(
            f"{counts.max():.0f} records of a class do not fit cells of 8 bits, which hold {MAX_RECORDS[8]}; "
            f"make them count less (summary * {MAX_RECORDS[8] / counts.max():.3g})"
        )
    sequence, model_id, base_id = ids
    return pack_state(State(counts, sums, None, sequence, model_id, bins, base_id), 8)


@dataclass(frozen=True)
class State:
    """What a state holds: counts (K,), sums (K, m) and ranges (2, m); with bins, counts of cells as sums."""

    counts: Array
    sums: Array
    ranges: NDArray[np.uint8] | None = None
    sequence: int = 0
    id: int = 0
    bins: int = 0
    base: int = 0

    @property
    def most(self) -> int:
        """The most that a record adds to a sum."""
        return 1 if self.bins else 255


def pack_state(state: State, sum_bits: int) -> bytes:
    """Lay a state out as bytes, its sums in 8, 16 or 32 bits."""
    counts, sums, ranges = state.counts, state.sums, state.ranges
    flags = int(ranges is not None) | state.bins | (WITH_BASE if state.base else 0)
    body = (
        HEAD.pack(MAGIC, VERSION, sum_bits, len(counts), flags, sums.shape[1], state.sequence)
        + ID.pack(state.id)
        + counts.astype("<u4").tobytes()
        + sums.astype(f"<u{sum_bits // 8}").tobytes()
        + (b"" if ranges is None else ranges.tobytes())
        + (ID.pack(state.base) if state.base else b"")
    )
    return sealed(body)


def sealed(body: bytes) -> bytes:
    """Return the bytes of a state with their checksum."""
    return body + struct.pack("<I", zlib.crc32(body))


def head_of(data: bytes, head: struct.Struct, magic: bytes, version: int, kind: str) -> tuple[Any, ...]:
    """Return what the head of a state says after its magic and its version, which are checked."""
    if data[:4] != magic or len(data) < head.size:
        raise StateError(f"these bytes are no state of {kind}")
    _, found, *fields = head.unpack_from(data)
    if found != version:
        raise StateError(f"the state has version {found}; this version of sefr reads {version}")
    return tuple(fields)


def refuse_damage(data: bytes) -> None:
    """Raise an error for a state that was not ``sealed`` so."""
    if sealed(data[:-4]) != data:
        raise StateError("the checksum does not match: bytes were lost or changed on the way")


def merge_states(states: Iterable[bytes], *, base: bytes | None = None, **meaning: Any) -> Summary:
    """Return what all boards learned together, the base that they started from counted once.

    Parameters
    ----------
    states : iterable of bytes
        As for ``read_state``, one per board.
    base : bytes, default=None
        What every board started from; None: from nothing.
    meaning
        ``classes``, ``low``, ``high`` and ``feature_names`` of ``read_state``.

    Examples
    --------
    >>> from sefr import Summary
    >>> from sefr.device import merge_states, write_state
    >>> kitchen = write_state(Summary.of([[200, 3], [20, 60]], [1, 0]))
    >>> hall = write_state(Summary.of([[180, 5], [30, 90]], [1, 0]))
    >>> merge_states([kitchen, hall])
    <Summary: 4 rows, 2 features, 2 classes>
    """
    parts = [read_state(state, base=base, **meaning) for state in states]
    if base is not None:
        parts.append(read_state(base, **meaning))
    if not parts:
        raise StateError("there is no state to merge")
    return functools.reduce(operator.add, parts)


def id_of(data: bytes) -> int:
    """Return the id of the model that a state belongs to; 0 for states of version 1."""
    return _newest(data).id


def base_id_of(data: bytes) -> int:
    """Return the id of what a board started from; 0: from nothing."""
    return _newest(data).base


def _newest(data: bytes) -> State:
    found = [_parse(data, at) for at in _places(data)]
    good = [state for state in found if isinstance(state, State)]
    if not good:
        reasons = [str(reason) for reason in found]
        raise StateError("; ".join(dict.fromkeys(reasons)) or f"no state in {len(data)} bytes")
    return max(good, key=_newness(good[0].sequence))


def _without(state: State, base: bytes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    started = _parse(base, 0)
    if not isinstance(started, State):
        raise StateError(f"base: {started}")
    if state.id != started.id or state.sums.shape != started.sums.shape or state.bins != started.bins:
        raise StateError(
            f"the state belongs to model {state.id:08x}, the base is of {started.id:08x}: the "
            "board started from something else"
        )
    if state.base != started.base:
        raise StateError(
            f"the board started from base {state.base:08x}, not from {started.base:08x}: take base.state of "
            "the sketch that it first ran"
        )
    counts, sums = state.counts - started.counts, state.sums - started.sums
    if (counts < 0).any() or (sums < 0).any() or (sums > state.most * counts[:, None]).any():
        raise StateError(
            "the board holds less than its base: a class was full and halved, or records were forgotten, so "
            "that what it learned can no longer be told from the base"
        )
    return counts, sums


def _places(data: bytes) -> list[int]:
    places, at = [], data.find(MAGIC)
    while at >= 0:
        places.append(at)
        at = data.find(MAGIC, at + 1)
    return places


def _newness(first: int) -> Any:
    """Order states by sequence number, which wraps around: the distance from the first one, with its sign."""
    return lambda state: ((state.sequence - first + (1 << 31)) % (1 << 32)) - (1 << 31)


def _parse(data: bytes, at: int) -> State | StateError:
    if len(data) - at < HEAD.size:
        return StateError(f"the state at byte {at} is cut off in its head")
    _, version, bits, n_classes, flags, m, sequence = HEAD.unpack_from(data, at)
    if not 1 <= version <= VERSION:
        return StateError(f"the state at byte {at} has version {version}, this reads up to {VERSION}")
    weights, bins = flags & (WITH_INT8 | WITH_INT16), flags & sum(BINS)
    if (
        bits not in MAX_RECORDS
        or n_classes < 2
        or m < 1
        or flags & ~(sum(BINS) | WITH_RANGES | WITH_INT8 | WITH_INT16 | WITH_BASE)
        or weights == 6
        or (bits == 8) != (bins in BINS)
        or m % (bins or 1)
        or (version == 1 and flags & (WITH_BASE | WITH_INT8 | WITH_INT16))
    ):
        return StateError(f"the state at byte {at} is damaged: its head makes no sense")
    has_ranges, rows, width = flags & WITH_RANGES, score_count(n_classes), weights // 2
    head = HEAD.size + (ID.size if version > 1 else 0)
    base_bytes = ID.size if flags & WITH_BASE else 0
    sizes = (4 * n_classes, n_classes * m * bits // 8, 2 * m * has_ranges, rows * width * (m + 4), base_bytes)
    end = at + head + sum(sizes)
    if len(data) < end + 4:
        return StateError(
            f"the state at byte {at} is cut off: {end + 4 - at} bytes expected, {len(data) - at} there"
        )
    if zlib.crc32(data[at:end]) != int.from_bytes(data[end : end + 4], "little"):
        return StateError(f"the state at byte {at} is damaged: its checksum does not match")
    number = ID.unpack_from(data, at + HEAD.size)[0] if version > 1 else 0
    at += head
    counts = np.frombuffer(data, "<u4", n_classes, at).astype(np.float64)
    sums = np.frombuffer(data, f"<u{bits // 8}", n_classes * m, at + sizes[0]).reshape(n_classes, m)
    ranges = np.frombuffer(data, np.uint8, sizes[2], at + sizes[0] + sizes[1]).reshape(-1, m)
    base = ID.unpack_from(data, end - ID.size)[0] if base_bytes else 0
    state = State(
        counts, sums.astype(np.float64), ranges if has_ranges else None, sequence, number, bins, base
    )
    if (state.sums > state.most * counts[:, None]).any():
        return StateError(f"the state is damaged: a sum exceeds {state.most} per record")
    return state
