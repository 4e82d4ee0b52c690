"""Write a trained model as C: a header, a complete Arduino sketch, or code with the weights in it.

Model -> Quantised -> text. The text holds integers, and floats that read back to the same bits; nothing is
rounded on
the way.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classifier import SEFRClassifier
from .quantise import MAX_NARROW, MAX_WIDE, Quantised, quantise
from .state import MAX_RECORDS, pack_state

TARGETS = ("c", "arduino", "generated")
TEMPLATES = Path(__file__).parent / "templates"
WINDOW = 64  # features that one displacement of an AVR load reaches
ON_A_LINE = 20
KEYWORDS = frozenset(
    [
        "auto",
        "bool",
        "break",
        "case",
        "char",
        "class",
        "const",
        "continue",
        "default",
        "delete",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "false",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "namespace",
        "new",
        "private",
        "public",
        "register",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "template",
        "this",
        "true",
        "typedef",
        "union",
        "unsigned",
        "virtual",
        "void",
        "volatile",
        "while",
    ]
)
VALUE_TYPES = {"uint8": "uint8_t", "int16": "int16_t", "int32": "int32_t", "float": "float"}


def library() -> Path:
    """Return the folder with the sources of the device library."""
    installed = Path(__file__).parent / "library"
    return installed if installed.exists() else Path(__file__).parents[3] / "device" / "src"


def export(
    clf: SEFRClassifier,
    target: str,
    directory: str | os.PathLike[str],
    *,
    name: str = "sefr_model",
    weights: str = "int8",
    input: str | None = None,
    learn: bool = False,
    sum_bits: int = 16,
) -> Path:
    """Write a trained model for a board; return the file or, for a sketch, the folder.

    The code takes the raw values the model was trained on: scaling is folded into it.

    Parameters
    ----------
    clf : SEFRClassifier
        Trained.
    target : {"c", "arduino", "generated"}
        "c": one header, complete by itself, that classifies. "arduino": a sketch folder with the library,
        that classifies, or with ``learn=True`` goes on learning from the model's Summary. "generated": one
        header with the weights as literals in the code, zeros left out; the quickest.
    directory : path
        Where to write; made if need be. An existing file or sketch of that name is replaced as a whole.
    name : str
        Of the header or sketch and of its functions; made a C identifier.
    weights : {"int8", "int16"}
        Size of a weight.
    input : {"uint8", "int16", "int32", "float"}, default=None
        Type of the raw values; None chooses (see ``quantise``).
    learn : bool
        Only for "arduino".
    sum_bits : {16, 32}
        Size of the sums of a sketch that learns. With 16, more than 256 records of a class count less.
    """
    if target not in TARGETS:
        raise ValueError(f"target must be one of {list(TARGETS)}, not {target!r}")
    if learn and target != "arduino":
        raise ValueError(f"only the target 'arduino' can learn, not {target!r}")
    if sum_bits not in MAX_RECORDS:
        raise ValueError(f"sum_bits must be 16 or 32, not {sum_bits!r}")
    q = quantise(clf, weights, input)
    name = identifier(name)
    context = _context(q, name)
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    if target == "arduino":
        if learn and clf.fitted_.refined is not None:
            raise ValueError(
                "a board that goes on learning solves its weights from sums, which would undo passes > 1: "
                "export with learn=False, or train with passes=1"
            )
        return _write_sketch(q, context, directory / name, learn, sum_bits)
    if target == "generated":
        context |= _terms(q)
    return _write_file(directory / f"{name}.h", f"{'c' if target == 'c' else 'generated'}.h.j2", context)


def identifier(text: object) -> str:
    """Return a C identifier that resembles the text."""
    word = re.sub(r"\W", "_", str(text), flags=re.ASCII) or "_"
    return f"_{word}" if word[0].isdigit() or word in KEYWORDS else word


def distinct(words: Iterable[str]) -> list[str]:
    """Return the words with numbers added where one occurs again."""
    seen: set[str] = set()
    result = []
    for word in words:
        candidate, n = word, 1
        while candidate in seen:
            n += 1
            candidate = f"{word}_{n}"
        seen.add(candidate)
        result.append(candidate)
    return result


def _context(q: Quantised, name: str) -> dict[str, Any]:
    m = q.n_features
    return {
        "q": q,
        "m": m,
        "name": name,
        "NAME": name.upper(),
        "version": version("sefr-learn"),
        "labels": [_comment(label) for label in q.classes],
        "classes": distinct(f"is_{identifier(label).strip('_') or 'class'}" for label in q.classes),
        "rows": len(q.weights),
        "value_type": VALUE_TYPES[q.input],
        "index_type": "uint16_t" if m * len(q.weights) < 1 << 16 else "uint32_t",
        "score_type": "int64_t" if q.wide else "int32_t",
        "product_type": "int16_t" if q.weight_bits == 8 else "int32_t",  # 127 * 255 < 2**15
        "weight_load": "U8" if q.weight_bits == 8 else "16",
        "biases": [_literal(value, q.wide) for value in q.bias],
        "lines": _lines,
        "integers": lambda values: map(str, np.asarray(values).tolist()),
        "floats": lambda values: map(float_literal, values),
        "carry": lambda weight: "adc" if weight > 0 else "sbc",
    }


def _comment(label: object) -> str:
    """Text that cannot end a C comment or a line of it."""
    return (
        re.sub(r"[^\x20-\x7e]", "?", str(label)).replace("*/", "* /").replace("/*", "/ *").replace("\\", "/")
    )


def _literal(value: int, wide: bool) -> str:
    """Return a C literal; the lowest number of a type has none of its own."""
    suffix = "LL" if wide else "L"
    lowest = -(1 << (63 if wide else 31))
    return f"(-{-(value + 1)}{suffix} - 1)" if value == lowest else f"{value}{suffix}"


def float_literal(value: np.float32) -> str:
    """Return the shortest decimal that reads back to the same float."""
    text = np.format_float_scientific(np.float32(value), unique=True, trim="0")
    if np.float32(text) != np.float32(value):
        raise AssertionError(f"{text} does not read back to {value!r}")
    return f"{text}f"


def _lines(texts: Iterable[str]) -> str:
    iterator = iter(texts)
    rows = []
    while row := list(islice(iterator, ON_A_LINE)):
        rows.append(f"    {', '.join(row)},\n")
    return "".join(rows)


def _terms(q: Quantised) -> dict[str, Any]:
    """Cut each row into windows of features and keep the weights that are not 0."""
    chunks: list[dict[str, Any]] = []
    for row, weights in enumerate(q.weights):
        for at in range(0, q.n_features, WINDOW):
            window = weights[at : at + WINDOW]
            terms = [(int(j), int(window[j])) for j in np.flatnonzero(window)]
            if terms:
                chunks.append({"row": row, "at": at, "terms": terms})
    by_row: list[list[dict[str, Any]]] = [[] for _ in q.weights]
    for chunk in chunks:
        by_row[chunk["row"]].append(chunk)
    largest = 255 * np.abs(q.weights.astype(np.int64)).sum(axis=1) + np.abs(np.array(q.bias, np.float64))
    return {
        "chunks": chunks,
        "by_row": by_row,
        "assembly": q.weight_bits == 8 and q.n_features <= 2048,
        "narrow": bool(largest.max() < 1 << 23),
    }


def _render(template: str, context: dict[str, Any], file: Path) -> None:
    try:
        import jinja2
    except ImportError:
        raise ImportError("exporting needs Jinja2: pip install 'sefr-learn[device]'") from None
    environment = jinja2.Environment(  # noqa: S701 - the output is C
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.get_template(template).stream(context).dump(str(file), encoding="utf-8")


def _write_file(path: Path, template: str, context: dict[str, Any]) -> Path:
    """Write beside the place and move there: a reader sees the old file or the new one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        _render(template, context, Path(name))
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def _write_sketch(q: Quantised, context: dict[str, Any], path: Path, learn: bool, sum_bits: int) -> Path:
    limit = MAX_NARROW if q.weight_bits == 8 else MAX_WIDE
    if q.n_features > limit:
        raise ValueError(
            f"the device library takes {limit} features with int{q.weight_bits} weights, not {q.n_features}"
        )
    if learn:
        if sum_bits == 16 and len(q.classes) > 43:
            raise ValueError(f"16-bit sums take 43 classes, not {len(q.classes)}: use sum_bits=32")
        state, note = _state(q, sum_bits)
        context |= {"sum_bits": sum_bits, "state": np.frombuffer(state, np.uint8), "state_note": note}
    fresh = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        name = context["name"]
        _render("learning.h.j2" if learn else "fixed.h.j2", context, fresh / f"{name}.h")
        _render("learn.ino.j2" if learn else "classify.ino.j2", context, fresh / f"{name}.ino")
        _copy_library(fresh / "src" / "sefr", q.weight_bits, sum_bits if learn else 16)
        about = {
            "name": name,
            "input": q.input,
            "features": q.n_features,
            "classes": q.classes.tolist(),
            "learn": learn,
        }
        (fresh / "model.json").write_text(json.dumps(about, indent=1, default=str) + "\n")
        os.chmod(fresh, 0o755)  # noqa: S103 - as a folder made by hand
        _replace_folder(fresh, path)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    return path


def _replace_folder(fresh: Path, path: Path) -> None:
    if path.exists():
        if not (path / "model.json").exists():
            raise FileExistsError(f"{path} exists and is not an exported sketch")
        old = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
        os.replace(path, old)
        os.replace(fresh, path)
        shutil.rmtree(old)
    else:
        os.replace(fresh, path)


def _copy_library(folder: Path, weight_bits: int, sum_bits: int) -> None:
    source = library()
    (folder / "body").mkdir(parents=True)
    names = ["sefr.h", "sefr_avr.h", "sefr_avr.S", f"sefr_w{weight_bits}s{sum_bits}.c"]
    names += [f"body/{file.name}" for file in (source / "body").glob("*.h")]
    for name in names:
        shutil.copyfile(source / name, folder / name)


def _state(q: Quantised, sum_bits: int) -> tuple[bytes, str]:
    """Return what was learned as a board would have it; with too many records, older ones count less."""
    counts, sums = q.counts / q.factor, q.sums / q.factor
    most = counts.max() if sum_bits == 16 else counts.sum() + len(counts)
    share = min(1.0, MAX_RECORDS[sum_bits] / most)
    kept = np.where(counts > 0, np.maximum(np.floor(counts * share), 1), 0)
    part: NDArray[np.float64] = np.divide(kept, counts, out=np.zeros_like(counts), where=counts > 0)
    whole = np.minimum(np.floor(sums * part[:, None] + 1e-6), 255 * kept[:, None])
    note = f"{counts.sum():.0f} records" + (f", counting as {kept.sum():.0f}" if share < 1 else "")
    return pack_state(kept, whole, q.ranges, sum_bits), note


__all__: Sequence[str] = ("TARGETS", "export", "library")
