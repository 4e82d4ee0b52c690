"""A model as a module for MicroPython: numbers as raw bytes of arrays, which all interpreters read alike."""

from __future__ import annotations

import math

import numpy as np

from .._system.types import Array, Fields
from .ferns import QuantisedFern
from .mapping import SATURATED
from .numbers import QuantisedLine
from .quantise import Quantised
from .tables import QuantisedTable

# Codes of array: type of a number in the file.
CODES = {"uint8": "B", "int16": "h", "int32": "i", "float": "f"}


def python_context(q: Quantised | QuantisedTable | QuantisedLine, limits: list[str] | None) -> Fields:
    """Return what the template needs beside the context of every target."""
    shared = {
        "plain_labels": [_label(label) for label in q.classes.tolist()],
        "table": isinstance(q, QuantisedTable),
        "value_code": CODES[q.input],
        "weight_code": "b" if q.weight_bits == 8 else "h",
        "limit_bytes": _limit_bytes(limits, q.input),
    }
    if isinstance(q, QuantisedTable):
        return shared | _table(q)
    return shared | (_line(q) if isinstance(q, QuantisedLine) else _linear(q))


def _label(label: object) -> str:
    """Return a literal of a label: numbers as such, all else as text of plain characters."""
    if isinstance(label, bool | int) or (isinstance(label, float) and math.isfinite(label)):
        return repr(label)
    return ascii(str(label))


def _bytes(values: Array, kind: str) -> str:
    return repr(np.ascontiguousarray(values, np.dtype(kind).newbyteorder("<")).tobytes())


def _limit_bytes(limits: list[str] | None, input: str) -> str | None:
    if limits is None:
        return None
    if input == "float":
        return _bytes(np.array([float(text.removesuffix("f")) for text in limits]), "float32")
    numbers = [int(text.removesuffix("L")) if text[0] != "(" else int(np.iinfo(input).min) for text in limits]
    return _bytes(np.array(numbers), input)


def _linear(q: Quantised) -> Fields:
    weight = f"int{q.weight_bits}"
    found: Fields = {"weight_rows": [_bytes(row, weight) for row in q.weights]}
    if q.input == "uint8":
        return found
    if q.input != "float":
        return found | {"range_code": "i", "low": _bytes(q.low, "int32"), "high": _bytes(q.high, "int32")}
    mapping = q.mapping
    return found | {
        "range_code": "i",
        "low": _bytes(mapping.low, "int32"),
        "ranges": _bytes(mapping.ranges, "int32"),
        "factors": _bytes(mapping.factors, "uint32"),
        "exponents": _bytes(np.asarray(mapping.exponents), "int16"),
        "shift": mapping.shift,
        "half": 1 << (mapping.shift - 1),
        "saturated": SATURATED,
    }


def _line(q: QuantisedLine) -> Fields:
    mapping = q.mapping
    found: Fields = {
        "low": _bytes(mapping.low, "int32"),
        "ranges": _bytes(mapping.ranges, "int32"),
        "line_weights": _bytes(q.weights, "int32"),
        "saturated": SATURATED,
    }
    return found if mapping.exponents is None else found | {"exponents": _bytes(mapping.exponents, "int16")}


def _table(q: QuantisedTable) -> Fields:
    entry, value = f"int{q.weight_bits}", "float32" if q.input == "float" else q.input
    return {
        "thresholds": [_bytes(part, value) for part in q.thresholds],
        "entries": [_bytes(part, entry) for part in q.entries],
        "missing": None if q.missing_entries is None else _bytes(q.missing_entries, entry),
        "ferns": [(_questions(fern), _bytes(fern.entries, entry)) for fern in q.ferns],
    }


def _questions(fern: QuantisedFern) -> str:
    """Return the questions as a tuple; ends of floats are exact in 32 bits, infinity has no literal."""
    parts = []
    for question in fern.questions:
        ends = [_end(question.low), "None" if question.high is None else _end(question.high)]
        parts.append(f"({question.feature}, {ends[0]}, {ends[1]}, {int(question.missing)})")
    return f"({', '.join(parts)},)"


def _end(value: float) -> str:
    if math.isinf(value):
        return f'float("{"-" if value < 0 else ""}inf")'
    return repr(int(value)) if value == int(value) else repr(value)
