"""A table of cells as C: what the templates ``cells.j2`` are filled with.

``sefr_table.h`` says how blocks are laid out. They have 2^depth cells, the last one repeated, so that a
search takes depth steps.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .._system.types import Array, Fields
from .fern_code import MOST, CellNumbers, FernCode
from .names import c_text, literal
from .tables import QuantisedTable

Bytes = NDArray[np.uint8]

SHOWN = 64  # thresholds of a feature in a comment; of categories all, since a record has their numbers
NARROW_SUM = 257  # features whose bytes add up to at most 16 bits
# What a raw value is compared as, and how it becomes that.
COMPARED = {
    "uint8": ("uint8_t", "%s"),
    "int16": ("int16_t", "%s"),
    "int32": ("uint32_t", "((uint32_t)%s ^ 0x80000000UL)"),
    "float": ("uint32_t", "sefr_float_key(%s)"),
}


def table_context(q: QuantisedTable, name: str, *, branches: bool) -> Fields:
    """Return what ``cells.j2`` needs beside the names; with ``branches`` for thresholds in the code."""
    depths = [int(len(own) - 1).bit_length() for own in (entries[0] for entries in q.entries)]
    mixed = len(set(depths)) > 1
    blocks = [] if branches else [block_of(q, j, depth, mixed=mixed) for j, depth in enumerate(depths)]
    ferns = FernCode.of(q, list(_numbers(q, None if branches else depths)))
    half = 1 << (q.weight_bits - 1)
    stored = len(q.ferns) if branches else q.n_entries  # entries whose half of the range the bias takes off
    biases = [literal(bias - half * stored, wide=False) for bias in q.bias]
    key_type, key_of = COMPARED[q.input]
    one = len(biases) == 1
    fields = {
        "features": q.n_features,
        "value": f"SEFR_{q.input.upper()}",
        "rows": len(biases),
        "entry_bytes": q.weight_bits // 8,
        "depth": max(depths),
        "depths": sum(1 << depth for depth in set(depths)) if mixed else 0,
        "missing": int(q.takes_missing),
        "blocks": f"{name}_blocks" if blocks else 0,
        "bias": biases[0] if one else 0,
        "biases": 0 if one else f"{name}_biases",
        "ferns": len(q.ferns),
        "questions": ferns.questions,
        "feature_bytes": ferns.feature_bytes,
        "bounded": int(ferns.bounded),
        "fern_blocks": f"{name}_fern_blocks" if q.ferns else 0,
    }
    return {
        "blocks": list(zip(_notes(q), blocks, strict=False)),
        "notes": list(_notes(q)),
        "ferns": ferns,
        "fern_notes": list(_fern_notes(q)),
        "table_bytes": sum(map(len, blocks)) + sum(map(len, ferns.blocks)),
        "table": ", ".join(map(str, fields.values())),
        "stored_biases": biases,
        "missing": q.takes_missing,
        "trees": list(_trees(q)) if branches else [],
        "all_entries": [_all_entries(q, j) for j in range(q.n_features)] if branches else [],
        "key_type": key_type,
        "key_of": key_of,
        "code_sum": "int16_t" if q.weight_bits == 8 and q.n_entries <= NARROW_SUM else "int32_t",
    }


def block_of(q: QuantisedTable, feature: int, depth: int, *, mixed: bool) -> Bytes:
    """Return the block of a feature: its depth where they differ, its tree, then what is missing."""
    entries, thresholds = q.entries[feature], stored_thresholds(q.thresholds[feature], q.input)
    padded = np.minimum(np.arange(1 << depth), entries.shape[1] - 1)
    cells = [_entry_bytes(entries[:, cell], q.weight_bits).tobytes() for cell in padded]
    steps = [thresholds[cell - 1].tobytes() for cell in padded[1:]]
    if q.input == "float":  # no float reaches this: the numbers of cells have no gap
        steps[len(thresholds) :] = [b"\xff" * 4] * (len(steps) - len(thresholds))
    block = bytes([depth]) * mixed + _tree(cells, steps)
    if q.missing_entries is not None:
        block += _entry_bytes(q.missing_entries[feature], q.weight_bits).tobytes()
    return np.frombuffer(block, np.uint8)


def _tree(cells: list[bytes], steps: list[bytes]) -> bytes:
    """Return the tree of cells with the thresholds between them."""
    if len(cells) == 1:
        return cells[0]
    middle = len(cells) // 2
    below, others = _tree(cells[:middle], steps[: middle - 1]), _tree(cells[middle:], steps[middle:])
    step = steps[middle - 1]
    return step[-2:] + below + step[:-2] + others


def _numbers(q: QuantisedTable, depths: list[int] | None) -> Iterator[CellNumbers]:
    """Yield the numbers that searches of these depths find, or branches (None)."""
    for j, thresholds in enumerate(q.thresholds):
        last, missing = len(thresholds), len(thresholds) + 1
        if depths is not None:
            last, missing = last if q.input == "float" else (1 << depths[j]) - 1, MOST
        yield CellNumbers(thresholds, last, missing if q.takes_missing else None)


def stored_thresholds(thresholds: Array, kind: str) -> Array:
    """Return thresholds as the board compares them, little endian; of 32 bits without a sign."""
    if kind == "float":
        return float_keys(thresholds).astype("<u4")
    if kind == "int32":
        return (thresholds.astype(np.int64) + (1 << 31)).astype("<u4")
    return thresholds.astype({"uint8": "u1", "int16": "<i2"}[kind])


def float_keys(values: Array) -> NDArray[np.uint32]:
    """Return whole numbers in the order of the floats; both zeros have that of -0, which is the lower."""
    zero_is_negative = np.where(values == 0, np.float32(-0.0), values.astype(np.float32))
    bits = np.ascontiguousarray(zero_is_negative, np.float32).view(np.uint32)
    return np.where(bits >> 31 == 1, ~bits, bits | np.uint32(1 << 31)).astype(np.uint32)


def _all_entries(q: QuantisedTable, feature: int) -> Array:
    """Return the entries of a feature cell by cell, class by class; those of a missing value are last."""
    entries = q.entries[feature]
    if q.missing_entries is not None:
        entries = np.column_stack([entries, q.missing_entries[feature]])
    return entries.T.ravel()


def _entry_bytes(entries: Array, weight_bits: int) -> Bytes:
    half, kind = (128, "u1") if weight_bits == 8 else (32768, "<u2")
    return np.frombuffer((entries + half).astype(kind).tobytes(), np.uint8)


def _notes(q: QuantisedTable) -> Iterator[str]:
    """Say of each feature where it is cut, or which number stands for which category."""
    for j, thresholds in enumerate(q.thresholds):
        name = f"{j}" if q.feature_names is None else f"{j} {c_text(q.feature_names[j])}"
        if j in q.categories:
            own = list(q.categories[j])
            said = [f"{code} {c_text(value)}" for code, value in enumerate(own)]
            yield f"{name}: {', '.join(said)}, {len(own)} any other"
            continue
        shown = [f"{value:.9g}" for value in thresholds[:SHOWN].tolist()]
        more = ", ..." if len(thresholds) > SHOWN else ""
        yield f"{name}: cut at {', '.join(shown)}{more}" if shown else f"{name}: not cut"


def _fern_notes(q: QuantisedTable) -> Iterator[str]:
    """Say what each fern asks."""
    for number, fern in enumerate(q.ferns):
        asked = []
        for question in fern.questions:
            j = question.feature
            name = f"feature {j}" if q.feature_names is None else c_text(q.feature_names[j])
            if question.high is not None and question.low > question.high:
                asked.append(f"{name}: {'missing' if question.missing else 'never'}")
            elif j in q.categories and question.high is not None:
                asked.append(f"{name} is {c_text(q.categories[j][int(np.floor(question.high))])}")
            else:
                asked.append(f"{name} >= {question.low:.9g}")
        yield f"fern {number}: {', '.join(asked)}"


def _trees(q: QuantisedTable) -> Iterator[str]:
    """Yield, per feature, an expression of C that is its entry or, with ferns, the number of its cell."""
    for thresholds, entries in zip(q.thresholds, q.entries, strict=True):
        leaves = list(range(entries.shape[1])) if q.ferns else entries[0].tolist()
        yield _branches(_literals(thresholds, q.input), leaves)


def _branches(literals: list[str], leaves: list[int]) -> str:
    if len(leaves) == 1:
        return str(leaves[0])
    middle = len(leaves) // 2
    below = _branches(literals[: middle - 1], leaves[:middle])
    above = _branches(literals[middle:], leaves[middle:])
    return f"(value < {literals[middle - 1]} ? {below} : {above})"


def _literals(thresholds: Array, kind: str) -> list[str]:
    if kind in ("int32", "float"):
        return [f"{value}UL" for value in stored_thresholds(thresholds, kind).tolist()]
    values = thresholds.astype(np.int64).tolist()
    return [str(value) if value > -32768 else "(-32767 - 1)" for value in values]
