"""What is fuzzed: one function per door through which foreign bytes or names come in.

A function returns for any input, clean errors included; whatever else it raises is a fault.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import struct
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

FOLDER = Path(tempfile.gettempdir())
ROWS = np.array([[1, 900, 30], [2, 50, 10], [7, 3, 200], [9, 80, 100], [4, 5, 6], [1000, 7, 9]])


def read_rows(suffix: str) -> Callable[[bytes], None]:
    """Return a target that learns a file with this ending and tests the model on it."""

    def target(data: bytes) -> None:
        from files import mutator

        path = FOLDER / f"sefr-fuzz-{os.getpid()}{suffix}"
        path.write_bytes(data)
        try:
            if mutator.learn(str(path)) != mutator.CLEAN:
                raise AssertionError("not a clean error")
        finally:
            path.unlink()

    return target


def model_file(data: bytes) -> None:
    """Read the content of a model file, as it is and with a checksum that fits."""
    from sefr.model_file import CLOSING, DIGITS, ModelFileError, dump, parse

    body = data[: -len(CLOSING) - DIGITS] if data.endswith(CLOSING) else data
    sealed = body + hashlib.sha256(body).hexdigest().encode() + CLOSING
    for content in (data, sealed):
        try:
            clf = parse(content)
        except ModelFileError:
            continue
        again = dump(clf)
        assert dump(parse(again)) == again
        clf.predict(np.zeros((1, clf.n_features_in_)) if clf.scale is None else clf.summary_.low[None])


def summary_bytes(data: bytes) -> None:
    """Read the bytes of a Summary, as they are and with a checksum that fits."""
    from sefr import Summary

    for content in (data, data + struct.pack("<I", zlib.crc32(data))):
        try:
            summary = Summary.from_bytes(content)
        except ValueError:
            continue
        assert Summary.from_bytes(summary.to_bytes()) == summary


def board_state(data: bytes) -> None:
    """Read the state of a board, as it is and with a checksum that fits."""
    from sefr.device.state import StateError, merge_states, read_state

    for content in (data, data[:-4] + struct.pack("<I", zlib.crc32(data[:-4])) if len(data) > 4 else data):
        try:
            summary = read_state(content)
            merged = merge_states([content, content])
        except StateError:
            continue
        assert merged == summary + summary


def sql_names(data: bytes) -> None:
    """Ask databases for the sums of columns with any names; they must be those of plain names."""
    import duckdb

    from sefr import Summary
    from sefr.engines.sql import Query

    text = data.decode("utf-8", "replace").replace("\0", "")
    parts = [part for part in text.split("\x1f") if part][:4]
    names = list(dict.fromkeys(part.lower() for part in parts))
    if len(names) < 2 or len(names) != len(parts):
        return
    label, *features = names
    columns = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}" INTEGER' for name in names)
    values = [[i % 2, *(i * 7 + j for j in range(len(features)))] for i in range(6)]
    expected = Summary.of([row[1:] for row in values], [row[0] for row in values])
    for dialect, connection in (("sqlite", sqlite3.connect(":memory:")), ("duckdb", duckdb.connect())):
        try:
            connection.execute(f"CREATE TABLE t ({columns})")
            marks = ", ".join("?" for _ in names)
            connection.executemany(f"INSERT INTO t VALUES ({marks})", values)  # noqa: S608
        except (sqlite3.Error, duckdb.Error):
            connection.close()
            continue  # the database itself takes no such name
        found = Summary.of_query(connection.execute(Query("t", label, features).sql(dialect)))
        assert found.feature_names == tuple(features), (found.feature_names, features)
        assert found.sums.tolist() == expected.sums.tolist()
        assert found.counts.tolist() == expected.counts.tolist()
        connection.close()


def exporter_names(data: bytes) -> None:
    """Export a model whose name and labels are the input; what a compiler reads must not change."""
    from sefr import SEFRClassifier
    from sefr.device import export

    text = data.decode("utf-8", "surrogateescape")
    parts = [*text.split("\x1f"), "", "", ""][:3]
    labels = np.array([f"{k}{part}" for k, part in enumerate(parts)], dtype=object)
    clf = SEFRClassifier().fit(ROWS, labels[[0, 1, 2, 0, 1, 2]].tolist())
    with tempfile.TemporaryDirectory() as folder:
        for target in ("c", "generated"):
            path = export(clf, target, folder, name=parts[0])
            assert path.parent == Path(folder), path
            assert c_tokens(path.read_text(), path.stem) == _harmless(target)


_known: dict[str, list[str]] = {}


def _harmless(target: str) -> list[str]:
    """Return the tokens that are generated for a plain name and plain labels."""
    from sefr import SEFRClassifier
    from sefr.device import export

    if target not in _known:
        labels = np.array(["0", "1", "2"])[[0, 1, 2, 0, 1, 2]]
        with tempfile.TemporaryDirectory() as folder:
            path = export(SEFRClassifier().fit(ROWS, labels), target, folder, name="plain")
            _known[target] = c_tokens(path.read_text(), "plain")
    return _known[target]


def c_tokens(text: str, name: str) -> list[str]:
    """Return what a C compiler reads: no comments, strings empty, the name and the class names made one."""
    import re

    assert text.isascii()
    assert "??" not in text  # no trigraph
    text = text.replace("\\\n", "")
    # One expression, so that a comment in a string and a quote in a comment are what C takes them for.
    parts = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\w+|[^\w\s]', re.DOTALL).findall(text)
    prefix = re.compile(rf"^({re.escape(name)}|{re.escape(name.upper())})(?=_)")
    words = [
        '""' if part[0] == '"' else re.sub(r"^N_is_\w+$", "N_is", prefix.sub("N", part))
        for part in parts
        if not part.startswith(("/*", "//"))
    ]
    assert not {"'", "`", "@", "$"} & set(words), words
    return words


def screen_text(data: bytes) -> None:
    """Bring any text through the door for foreign text."""
    import unicodedata

    from sefr._system.text import UNSEEN, json_text, picture_text, visible

    text = data.decode("utf-8", "surrogateescape")
    for shown in (visible(text), visible(text, 9), picture_text(text), json_text({text: text})):
        assert not {unicodedata.category(char) for char in shown} & UNSEEN
    assert json.loads(json_text({text: 1})) == {text: 1}


TARGETS: dict[str, Callable[[bytes], None]] = {
    "csv": read_rows(".csv"),
    "csv.gz": read_rows(".csv.gz"),
    "arff": read_rows(".arff"),
    "libsvm": read_rows(".libsvm"),
    "npy": read_rows(".npy"),
    "npz": read_rows(".npz"),
    "parquet": read_rows(".parquet"),
    "feather": read_rows(".feather"),
    "arrow stream": read_rows(".arrows"),
    "model file": model_file,
    "Summary bytes": summary_bytes,
    "board state": board_state,
    "SQL identifiers": sql_names,
    "exporter names": exporter_names,
    "screen text": screen_text,
}


def seeds(folder: Path) -> dict[str, list[bytes]]:
    """Return sound inputs for every target, from which fuzzing starts."""
    from files import mutator

    from sefr import SEFRClassifier, Summary
    from sefr.device.state import write_state
    from sefr.model_file import dump

    found: dict[str, list[bytes]] = {name: [] for name in TARGETS}
    endings = {".arrows": "arrow stream", ".arrow": "feather", ".csv.gz": "csv.gz"}
    for path in mutator.samples(folder):
        ending = "".join(path.suffixes)
        name = endings.get(ending, ending[1:])
        if name in found:
            found[name].append(path.read_bytes())
    y = np.array(["a", "b", "ü"])[[0, 1, 2, 0, 1, 2]]
    models = [
        SEFRClassifier().fit(ROWS, y),
        SEFRClassifier(missing="ignore", scale=(0, 1023)).fit(np.where(ROWS == 7, np.nan, ROWS), y),
        SEFRClassifier(passes=3, class_weight="balanced").fit(ROWS + 1e9, y),
    ]
    found["model file"] = [dump(clf) for clf in models]
    found["Summary bytes"] = [
        content for clf in models for content in (clf.summary_.to_bytes(), clf.summary_.to_bytes()[:-4])
    ]
    small = Summary.of(ROWS % 256, y)
    found["board state"] = [
        write_state(small, sum_bits=bits, ranges=r) for bits in (16, 32) for r in (False, True)
    ]
    hostile = [
        "y\"; DROP TABLE t; --\x1fit's\x1fvalue\x1frowid",
        "label\x1ffeature\x1fplace\x1fword",
        "*\\ int x; \\*\x1f??/",
    ]
    for name in ("SQL identifiers", "exporter names", "screen text"):
        found[name] = [text.encode() for text in hostile]
    return found
