"""A Summary as bytes: small enough to send, safe to receive.

Little-endian throughout::

    8   "SEFRsum" and the version: 1, or 2 with products
    .   K, then m: counts of classes and features (LEB128)
    1   flags: 1 tails, 2 present, 4 feature names, 8 count tails, 16 present tails, 32 cells, 64 ferns, 128
        noise
    .   classes: a kind, then numbers of that kind, or K strings (LEB128 length, bytes)
    .   with cells: 1 where missing values have cells, else 0; the number of edges of each feature; the edges
        (a kind, then numbers); how many features have categories; for each its number, how many it has, and
        these, as classes, or as one string, JSON, if they are of several kinds.
        Sums and tails then have a number per cell, and low and high are left out
    .   with ferns, which come with cells: how many there are; for each the number of its comparisons, and
        feature and bin of each
    .   counts (K), sums (K·m), tails (K·m), present (K·m), low (m), high (m), count tails (K), present tails
        (K·m): each a kind, then the numbers; those without a flag are always there
    .   feature names: m strings
    .   noise: a string, JSON, of a private Summary: see ``sefr/_summary/private.py``
    .   in version 2, products: 1 with tails, 2 with columns of what is missing, 4 without products of two
        features, added up; how many targets; the origin, the sums, and their tails: see
        ``sefr/_summary/products.py`` and ``marginals.py``
    4   CRC-32 of everything before it

A kind is one byte, an index into ``KINDS``. Each array takes the smallest kind that holds every value
exactly, so sums of small integers need 2 bytes each instead of 8. The same Summary always gives the same
bytes. The checksum finds damage, not forgery: sign or encrypt them where someone may want to change them.
"""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._rows.cells import Categories, Coder
from .._rows.cells.coder import given_coder
from .._rows.cells.ferns import MOST_COMPARISONS, MOST_FERNS, Ferns, check_interactions, given_ferns
from .._rows.cells.plain import plain_values, values_of
from .._rows.coding import Coding, Uncut
from .._rows.labels import text_array
from .._system.members import refuse_constant
from .._system.types import Array, Fields
from .marginals import Marginals
from .products import Products

if TYPE_CHECKING:
    from .summary import Summary

MAGIC = b"SEFRsum"
VERSION, WITH_PRODUCTS = 1, 2
TAILS, PRESENT, NAMES, COUNT_TAILS, PRESENT_TAILS, CELLS, FERNS, NOISE = 1, 2, 4, 8, 16, 32, 64, 128

# Positions are part of the format: append only.
KINDS = [
    "u1",
    "i1",
    "u2",
    "i2",
    "u4",
    "i4",
    "f4",
    "f8",
    "u8",
    "i8",
    "b1",
    "text",
    "text objects",
    "bytes",
    "bytes objects",
    "values",
]
# From small to large; 8-byte integers hold nothing that a float64 of the same size does not.
ARRAY_KINDS = KINDS[:8]


def packed(summary: Summary) -> bytes:
    """Return the Summary as bytes."""
    from .private import noise_of

    names, noise = summary.feature_names, noise_of(summary)
    cut, edges = _packed_coder(summary.coder)
    flags = (
        cut
        | TAILS * (summary.tails is not None)
        | PRESENT * (summary.present is not None)
        | NAMES * (names is not None)
        | COUNT_TAILS * (summary.count_tails is not None)
        | PRESENT_TAILS * (summary.present_tails is not None)
        | NOISE * (noise is not None)
    )
    parts = [
        MAGIC,
        bytes([VERSION if summary.products is None else WITH_PRODUCTS]),
        _length(len(summary.classes)),
        _length(summary.n_features),
        bytes([flags]),
        _packed_labels(summary.classes),
        *edges,
    ]
    known = summary.coding.known_ends()
    names_of = ("counts", "sums", "tails", "present", "low", "high", "count_tails", "present_tails")
    arrays = (getattr(summary, name) for name in names_of if name not in known)
    parts += [_packed_array(array) for array in arrays if array is not None]
    parts += [_packed_string(name.encode()) for name in names or ()]
    parts += [] if noise is None else [_packed_string(json.dumps(noise, sort_keys=True).encode())]
    parts += [] if summary.products is None else [packed_products(summary.products)]
    body = b"".join(parts)
    return body + zlib.crc32(body).to_bytes(4, "little")


def unpacked(data: bytes | bytearray | memoryview) -> Fields:
    """Return the parts of a Summary; raise ``ValueError`` for anything but the whole bytes of one."""
    data = bytes(data)
    if len(data) < len(MAGIC) + 5 or not data.startswith(MAGIC):
        raise ValueError("not a Summary: the bytes do not start as those of one do")
    if (version := data[len(MAGIC)]) not in (VERSION, WITH_PRODUCTS):
        raise ValueError(
            f"this Summary has format version {version}; this sefr reads up to version {WITH_PRODUCTS}"
        )
    if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise ValueError("the bytes of this Summary are damaged: the checksum does not agree")
    reader = _ByteReader(data[len(MAGIC) + 1 : -4])
    n_classes, n_features = reader.length(), reader.length()
    flags = reader.take(1)[0]
    if flags & FERNS and not flags & CELLS:
        raise ValueError("the bytes of this Summary have ferns but no cells")
    parts: Fields = {"classes": reader.labels(n_classes)}
    coding = reader.coding(flags, n_features)
    cells = (n_classes, coding.width)
    parts["coder"] = coding.coder
    parts["counts"] = reader.array((n_classes,))
    parts["sums"] = reader.array(cells)
    parts["tails"] = reader.array(cells) if flags & TAILS else None
    parts["present"] = reader.array(cells) if flags & PRESENT else None
    known = coding.known_ends()
    parts |= {name: reader.array((n_features,)) for name in ("low", "high") if name not in known}
    parts["count_tails"] = reader.array((n_classes,)) if flags & COUNT_TAILS else None
    parts["present_tails"] = reader.array(cells) if flags & PRESENT_TAILS else None
    parts["feature_names"] = reader.texts(n_features) if flags & NAMES else None
    parts["noise"] = reader.json("mark of noise") if flags & NOISE else None
    parts["products"] = reader.products(cells[1]) if version == WITH_PRODUCTS else None
    reader.end()
    return parts


def packed_products(products: Products) -> bytes:
    """Return products as bytes: a part of those of a Summary."""
    parts = products.to_plain()
    tails = parts["tails"]
    return b"".join(
        [
            bytes([(tails is not None) + 2 * parts["missing"] + 4 * (products.moments == 1)]),
            _length(parts["n_targets"]),
            _packed_array(parts["origin"]),
            _packed_array(parts["packed"]),
            b"" if tails is None else _packed_array(tails),
        ]
    )


def unpacked_products(data: bytes, n_columns: int) -> Products:
    """Return the products of so many columns; raise ``ValueError`` for anything but their bytes."""
    reader = _ByteReader(data)
    found = reader.products(n_columns)
    reader.end()
    return found


def _length(n: int) -> bytes:
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def _packed_string(raw: bytes) -> bytes:
    return _length(len(raw)) + raw


def _packed_array(array: NDArray[np.float64]) -> bytes:
    bits = array.view(np.int64)
    for kind in ARRAY_KINDS:
        with np.errstate(invalid="ignore", over="ignore"):
            narrow = array.astype("<" + kind)
        if np.array_equal(narrow.astype(np.float64).view(np.int64), bits):
            return bytes([KINDS.index(kind)]) + narrow.tobytes()
    raise AssertionError("float64 holds itself")


def _packed_coder(coder: Coder | None) -> tuple[int, list[bytes]]:
    """Return the flags that say whether features are cut, and where."""
    if coder is None:
        return 0, []
    parts = [
        bytes([coder.missing]),
        *map(_length, np.diff(coder.starts).tolist()),
        _packed_array(coder.edges),
    ]
    parts.append(_length(len(coder.categories)))
    for feature, values in coder.categories.items():
        parts += [_length(feature), _length(len(values)), _packed_categories(values)]
    if coder.ferns is None:
        return CELLS, parts
    parts.append(_length(len(coder.ferns)))
    for part in coder.ferns.parts:
        parts += [_length(len(part)), *(_length(number) for pair in part for number in pair)]
    return CELLS | FERNS, parts


def _packed_categories(values: Categories) -> bytes:
    """Return categories as they are: text, bytes or numbers of one type like labels, all others as JSON."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = set(map(type, plain))
    if kinds <= {str}:
        with suppress(UnicodeEncodeError):  # half of a surrogate pair, which JSON can write
            return _packed_strings("text", [value.encode() for value in plain])
    if kinds == {bytes}:
        return _packed_strings("bytes", plain)
    if len(kinds) == 1 and kinds <= {int, float, bool}:
        array = np.array(plain)
        if array.tolist() == plain and set(map(type, array.tolist())) == kinds and array.dtype != object:
            return _packed_labels(array)
    try:
        text = json.dumps(plain_values(plain))
    except TypeError as error:
        raise ValueError(f"the bytes of a Summary hold categories of text and numbers: {error}") from None
    return _packed_strings("values", [text.encode()])


def _packed_strings(kind: str, strings: list[bytes]) -> bytes:
    return bytes([KINDS.index(kind)]) + b"".join(map(_packed_string, strings))


def _packed_labels(classes: Array) -> bytes:
    kind = classes.dtype.kind
    if kind in "iufb":
        name = f"{kind}{classes.dtype.itemsize}"
        if name not in KINDS:
            raise ValueError(f"labels of dtype {classes.dtype} have no place in the bytes of a Summary")
        return bytes([KINDS.index(name)]) + classes.astype("<" + name).tobytes()
    values = classes.tolist()
    for kinds, wanted in (("UO", str), ("SO", bytes)):
        if kind in kinds and all(isinstance(value, wanted) for value in values):
            name = ("text" if wanted is str else "bytes") + (" objects" if kind == "O" else "")
            raw = [value.encode() if isinstance(value, str) else value for value in values]
            return _packed_strings(name, raw)
    raise ValueError(
        f"labels like {values[0]!r} have no place in the bytes of a Summary; use numbers or strings"
    )


class _ByteReader:
    """Takes bytes from the front, never more than there are: a lie about a length allocates nothing."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, n: int) -> bytes:
        if n > len(self.data) - self.at:
            raise ValueError("the bytes of this Summary end too early")
        self.at += n
        return self.data[self.at - n : self.at]

    def length(self) -> int:
        n = 0
        for shift in range(0, 63, 7):
            byte = self.take(1)[0]
            n |= (byte & 127) << shift
            if byte < 128:
                return n
        raise ValueError("the bytes of this Summary hold a length that has no end")

    def kind(self, allowed: list[str]) -> str:
        index = self.take(1)[0]
        if index >= len(KINDS) or KINDS[index] not in allowed:
            raise ValueError(f"the bytes of this Summary hold numbers of unknown kind {index}")
        return KINDS[index]

    def numbers(self, n: int, kind: str) -> Array:
        return np.frombuffer(self.take(n * int(kind[1:])), dtype="<" + kind)

    def array(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        n = shape[0] * shape[1] if len(shape) == 2 else shape[0]
        return self.numbers(n, self.kind(ARRAY_KINDS)).astype(np.float64).reshape(shape)

    def labels(self, n: int) -> Array:
        kind = self.kind(KINDS[:-1])
        if kind in {"text", "text objects"}:
            return self.text_labels(n, as_objects=kind == "text objects")
        if kind in {"bytes", "bytes objects"}:
            raw = self.strings(n)
            text_array([item.decode("latin-1") for item in raw], len(self.data))  # for its limit
            return np.array(raw, dtype=bytes if kind == "bytes" else object)
        values = self.numbers(n, kind)
        return values.astype(values.dtype.newbyteorder("="))

    def coding(self, flags: int, n_features: int) -> Coding:
        if not flags & CELLS:
            return Uncut(n_features)
        coder = self.coder(n_features)
        return replace(coder, ferns=self.ferns(np.diff(coder.offsets))) if flags & FERNS else coder

    def coder(self, n_features: int) -> Coder:
        missing = self.take(1)[0]
        if missing > 1:
            raise ValueError("the bytes of this Summary do not say whether missing values have cells")
        if n_features > len(self.data):
            raise ValueError("the bytes of this Summary end too early")
        lengths = [self.length() for _ in range(n_features)]
        edges = self.array((sum(lengths),))
        starts = np.cumsum([0, *lengths])
        parts: list[Any] = [edges[a:b] for a, b in pairwise(starts)]
        for _ in range(self.length()):
            feature, size = self.length(), self.length()
            if feature >= n_features or size != lengths[feature]:
                raise ValueError("the bytes of this Summary have categories that do not go with its edges")
            parts[feature] = self.categories(size)
        return given_coder(parts, n_features, missing=bool(missing))

    def categories(self, n: int) -> Categories:
        kind = self.kind(KINDS)
        if kind.startswith("text"):
            return Categories(self.texts(n))
        if kind.startswith("bytes"):
            return Categories(self.strings(n))
        if kind != "values":
            return Categories(self.numbers(n, kind).tolist())
        values = Categories(values_of(self.json("categories")))
        if len(values) != n:
            raise ValueError("the bytes of this Summary have categories that do not go with its edges")
        return values

    def ferns(self, n_bins: NDArray[np.int64]) -> Ferns:
        parts = [
            [(self.length(), self.length()) for _ in range(min(self.length(), MOST_COMPARISONS + 1))]
            for _ in range(min(self.length(), MOST_FERNS + 1))
        ]
        check_interactions(parts, n_bins)
        ferns = given_ferns(parts, n_bins)
        if ferns is None:
            raise ValueError("the bytes of this Summary have no ferns where they say so")
        return ferns

    def products(self, n_columns: int) -> Products:
        flags, n_targets = self.take(1)[0], self.length()
        kind = Marginals if flags & 4 else Products
        if flags > 7 or n_targets > len(self.data) or (flags & 4 and not n_targets):
            raise ValueError("the bytes of this Summary hold products of unknown form")
        missing = bool(flags & 2)
        size = kind.size(n_columns, n_targets, missing=missing)
        parts = {
            "origin": self.array((n_columns + n_targets,)),
            "packed": self.array((size,)),
            "tails": self.array((size,)) if flags & 1 else None,
            "missing": missing,
            "n_targets": n_targets,
        }
        return kind.from_plain(parts)

    def text_labels(self, n: int, *, as_objects: bool) -> Array:
        texts = self.texts(n)
        return np.array(texts, dtype=object) if as_objects else text_array(texts, len(self.data))

    def strings(self, n: int) -> list[bytes]:
        return [self.take(self.length()) for _ in range(n)]

    def texts(self, n: int) -> list[str]:
        try:
            return [raw.decode() for raw in self.strings(n)]
        except UnicodeDecodeError:
            raise ValueError("the bytes of this Summary hold a name that is not UTF-8") from None

    def json(self, what: str) -> object:
        text = self.take(self.length())
        try:
            return json.loads(text.decode(), parse_constant=refuse_constant)
        except (UnicodeDecodeError, ValueError, RecursionError):
            raise ValueError(f"the bytes of this Summary hold damaged JSON: {what}") from None

    def end(self) -> None:
        if self.at != len(self.data):
            raise ValueError("the bytes of this Summary go on after its end")
