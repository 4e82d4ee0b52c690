"""Write a trained model as C: a header, a complete Arduino sketch, or code with the weights in it.

Model -> Quantised (with bins QuantisedTable, of numbers QuantisedLine or NumberTable) -> text. The text holds
integers; nothing is rounded on the way.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import zlib
from collections.abc import Sequence
from copy import copy
from importlib.metadata import version
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from .._system.atomic_file import atomic_file, replace_folder
from .._system.installation import install_line
from .._system.types import Array, Fields
from ..classifier import SEFRClassifier
from ..regressor import SEFRRegressor
from ..signals.sampling import Sampling
from .folding import Folded, fold
from .mapping import Mapping
from .names import c_rows, c_text, distinct, identifier, literal, module_name, word
from .numbers import QuantisedLine, QuantisedNumbers
from .python_code import python_context
from .quantise import MAX_NARROW, MAX_WIDE, Quantised, quantise
from .state import MAX_RECORDS, State, id_of, pack_state
from .table_code import table_context
from .tables import QuantisedTable
from .windows import FEATURES, check_window

TARGETS = ("c", "arduino", "generated", "micropython")
TEMPLATES = Path(__file__).parent / "templates"
WINDOW = 64  # features that one displacement of an AVR load reaches
UNO_EEPROM = 1024
LONGEST_SIGNAL = 255  # SEFR_SIGNAL_LONGEST
RATE, FASTEST = 100, 10_000  # samples of a window per second
# On an AVR, for a window: analogRead; an int32 mapped by division; a product; an answer over the serial line.
SAMPLE_CYCLES, MAP_CYCLES, SCORE_CYCLES, ANSWER_CYCLES = 1_900, 800, 40, 12_000
SHOWN = 64  # names of features in a comment
Exported = Quantised | QuantisedTable | QuantisedLine
AnyModel = Exported | Folded
VALUE_TYPES = {"uint8": "uint8_t", "int16": "int16_t", "int32": "int32_t", "float": "float"}


def library() -> Path:
    """Return the folder with the sources of the device library.

    Examples
    --------
    >>> from sefr.device import library
    >>> (library() / "sefr.h").is_file()
    True
    """
    installed = Path(__file__).parent / "library"
    return installed if installed.exists() else Path(__file__).parents[3] / "device" / "src"


def export(
    clf: SEFRClassifier | SEFRRegressor,
    target: str,
    directory: str | os.PathLike[str],
    *,
    name: str = "model",
    weights: str | None = None,
    input: str | None = None,
    unit: float | None = None,
    learn: bool = False,
    sum_bits: int = 16,
    eeprom: int = UNO_EEPROM,
    window: tuple[int, int] | tuple[int, int, int] | None = None,
    signal: Sampling | None = None,
    margin: int = 0,
    check: bool = False,
    folded: bool = False,
) -> Path:
    """Write a trained model for a board; return the file or, for a sketch, the folder.

    The code takes the raw values the model was trained on: scaling is folded into it. That of a classifier
    has ``NAME_classify(record)``, the number of a class; that of a regressor ``NAME_predict(record)``, a
    whole number of 16 bits with a stated unit.

    Parameters
    ----------
    clf : SEFRClassifier or SEFRRegressor
        Trained. A regressor has one output; a value outside of what it learned counts as the nearest end.
    target : {"c", "arduino", "generated", "micropython"}
        "c": one header, complete by itself, that classifies. "arduino": a sketch folder with the library,
        that classifies, or with ``learn=True`` goes on learning from the model's Summary. "generated": one
        header with the weights as literals in the code, zeros left out; the quickest. "micropython": one
        module for MicroPython and CircuitPython, complete by itself, that classifies.
    directory : path
        Where to write; made if need be. An existing file or sketch of that name is replaced as a whole.
    name : str
        Of the header or sketch and of its functions; made a C identifier that is free (``sefr`` and words of
        the language get ``model_`` before them).
    weights : {"int8", "int16"}, default=None
        Size of a weight; with bins, of an entry of the table. None: int8 of a classifier, int16 of a
        regressor with bins; without bins, that has weights of 32 bits.
    input : {"uint8", "int16", "int32", "float"}, default=None
        Type of the raw values; None chooses (see ``quantise``).
    unit : float, default=None
        Only of a regressor: what an answer of 1 stands for. None chooses (see ``quantise``). The code
        has it as ``NAME_UNIT``.
    learn : bool
        Only for "arduino", and a classifier.
    sum_bits : {16, 32}
        Size of the sums of a sketch that learns. With 16, more than 256 records of a class count less.
    eeprom : int
        Bytes of the board's EEPROM, in which a sketch that learns keeps two states; 1024 on an Uno.
    window : (length, hop) or (length, hop, rate), default=None
        Only for "arduino": the model was trained on ``windows(signal, length, hop)``; the sketch samples the
        axes, ``rate`` times per second (100), and makes the same features of them. On an AVR that cannot make
        them from one sample to the next, the sketch does not compile.
    signal : Sampling, default=None
        Only for "arduino": the model was trained on ``SignalFeatures``; the sketch samples the axes at its
        rate and makes the same bytes of them. ``sefr train --signal`` stores it in the model file.
    margin : int
        "Don't know" where an answer leads by less; ``Twin.margin`` chooses it. The function that classifies
        returns ``NAME_UNKNOWN`` then, and a sketch says so. 0: there is always an answer.
    check : bool
        "Don't know" also where a value is NaN, or outside of the range learned by more than that range is
        wide. Costs two values of flash per feature. Not with bins, which have a cell for every value.
    folded : bool
        Only for "c" and "arduino", a classifier and whole numbers of 16 bits: scaling is folded into int16
        weights over the raw values, which are not mapped to bytes first. Less than half the cycles and a
        third of the flash; values outside of what was learned go on along the line, as on the host.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sefr import SEFRClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> import tempfile
    >>> from sefr.device import export
    >>> export(SEFRClassifier().fit(X, y), "c", tempfile.mkdtemp(), name="iris").name
    'iris.h'
    """
    if target not in TARGETS:
        raise ValueError(f"target must be one of {list(TARGETS)}, not {target!r}")
    if learn and target != "arduino":
        raise ValueError(f"only the target 'arduino' can learn, not {target!r}")
    if sum_bits not in (16, 32):
        raise ValueError(f"sum_bits must be 16 or 32, not {sum_bits!r}")
    clf = copy(clf)  # as it is now: another thread may go on learning
    name, directory = identifier(name), Path(directory)
    if folded:
        if (
            clf.predicts_numbers
            or target not in ("c", "arduino")
            or input not in (None, "int16")
            or learn
            or check
        ):
            raise ValueError(
                "folded goes with the targets 'c' and 'arduino', a classifier and the input 'int16', and "
                "without learn and check"
            )
        q: AnyModel = fold(clf)
    else:
        q = quantise(clf, weights, input, unit)
    if isinstance(q, QuantisedNumbers) and (learn or margin):
        raise ValueError(
            "a model that predicts numbers goes without learn and margin: sefr_regress.h learns numbers on a "
            "board, and a number leads no other"
        )
    if isinstance(q, QuantisedTable) and check:
        raise ValueError("check goes without bins: a model with bins has a cell for every value")
    context = _context(q, name, margin, check=check)
    context |= {"window": _window(q, target, window), "signal": _signal(q, target, signal)}
    if target == "micropython" and not isinstance(q, Folded):
        return _export_python(q, context, directory)
    sketch = target == "arduino"
    if sketch and isinstance(q, Quantised):
        _check_library(q)
        template, needed = "learning.h.j2" if learn else "fixed.h.j2", "sefr_values.h"
        if learn:
            _check_learning(clf)
            context |= _learning(q, sum_bits, eeprom)
    else:
        if learn:
            raise ValueError(
                "a board that goes on learning cuts bytes by their top bits (SEFR_BINS), elsewhere than this "
                "model: export with learn=False, or let the board learn from nothing"
            )
        fields, needed = _scores(q, name, branches=target == "generated")
        template, context = "scores.h.j2", context | fields | {"sketch": sketch}
    needed_files = ("sefr_sketch.h", needed) if sketch else (needed,)
    context |= {"needed": needed_files, "complete": "" if sketch else complete_header(needed)}
    directory.mkdir(parents=True, exist_ok=True)
    if sketch:
        return _write_sketch(q, template, context, directory / name, learn, sum_bits)
    return _write_file(directory / f"{name}.h", template, context)


def _export_python(q: Exported, context: Fields, directory: Path) -> Path:
    name = module_name(context["name"])
    context |= {"name": name} | python_context(q, context["limits"])
    directory.mkdir(parents=True, exist_ok=True)
    return _write_file(directory / f"{name}.py", "micropython.py.j2", context)


def complete_header(name: str) -> str:
    """Return a header of the library with those that it includes in their places."""
    text = (library() / name).read_text()
    return re.sub(r'#include "(sefr_\w+\.h)"\n', lambda found: complete_header(found[1]), text)


def _scores(q: AnyModel, name: str, *, branches: bool) -> tuple[Fields, str]:
    """Return what the template of scores needs for a model, and the header of the library that it calls."""
    if isinstance(q, QuantisedTable):
        # with more than two classes a search is quicker and smaller than branches
        fields = table_context(q, name, branches=branches and len(q.bias) == 1)
        return fields | {"body": "cells.j2"}, "sefr_table.h"
    if isinstance(q, QuantisedLine):
        columns = (q.mapping.low, q.mapping.ranges, _points(q.mapping), q.weights >> 16, q.weights & 0xFFFF)
        line = list(zip(*(column.tolist() for column in columns), strict=True))
        return {"body": "weights.j2", "body_kind": "line", "line": line}, "sefr_weights.h"
    if isinstance(q, Quantised) and branches:
        return _terms(q) | {"body": "literals.j2"}, "sefr_values.h"
    return _product(q) | {"body": "weights.j2", "body_kind": "products"}, "sefr_weights.h"


def _product(q: Quantised | Folded) -> Fields:
    """Return how a record is multiplied with weights, and the type that holds the sum."""
    if isinstance(q, Folded):
        return {"product": "sefr_sum_folded", "multiplied": "int16_t", "sum_type": "int32_t"}
    # 32767 products of 127 * 255, or 256 of 32767 * 255, are below 2**31
    narrow = q.n_features <= (MAX_NARROW if q.weight_bits == 8 else 256)
    product = "sefr_sum_16" if q.weight_bits == 16 else "sefr_sum_8" if narrow else "sefr_sum_8_wide"
    return {"product": product, "multiplied": "uint8_t", "sum_type": "int32_t" if narrow else "int64_t"}


def _points(mapping: Mapping) -> Array:
    return mapping.low if mapping.exponents is None else mapping.exponents


def _context(q: AnyModel, name: str, margin: int, *, check: bool) -> Fields:
    """Return what the templates of every kind of model need."""
    limit = (1 << (63 if q.wide else 31)) - 1
    if isinstance(margin, bool) or not isinstance(margin, int | np.integer) or not 0 <= margin <= limit:
        raise ValueError(f"margin must be a whole number from 0 to {limit}, not {margin!r}")
    m, rows, numbers = q.n_features, len(q.bias), isinstance(q, QuantisedNumbers)
    bits = f"int{q.weight_bits}"
    note = "above 0: class 1" if rows == 1 else "per class, the highest wins"
    return {
        "numbers": numbers,
        "unit_text": repr(q.unit) if isinstance(q, QuantisedNumbers) else None,
        "score_note": f"in {2.0**-q.shift:g} of the unit" if isinstance(q, QuantisedNumbers) else note,
        "q": q,
        "m": m,
        "name": name,
        "NAME": name.upper(),
        "version": version("sefr-learn"),
        "kept": f"a table of {bits} entries" if isinstance(q, QuantisedTable) else f"{bits} weights",
        "labels": [c_text(label) for label in q.classes],
        "features": [c_text(feature) for feature in q.feature_names or ()][:SHOWN],
        "clear": [literal(value, q.wide) for value in q.clear],
        "classes": distinct(f"is_{word(label) or 'class'}" for label in q.classes),
        "rows": rows,
        "value_type": VALUE_TYPES[q.input],
        "score_type": "int64_t" if q.wide else "int32_t",
        "values": isinstance(q, Quantised) and q.input != "uint8",
        "margin": int(margin),
        "limits": _limits(q) if check and isinstance(q, Quantised | QuantisedLine) else None,
        "biases": [literal(value, q.wide) for value in q.bias],
        "bias_type": "int32_t" if all(abs(value) < 1 << 31 for value in q.bias) else "int64_t",
        "lines": c_rows,
        "integers": lambda values: map(str, np.asarray(values).tolist()),
    } | (_maps(q) if isinstance(q, Quantised) and q.input != "uint8" else {})


def _maps(q: Quantised) -> Fields:
    """Return how raw values become bytes."""
    mapping = q.mapping
    low = q.low if mapping.how == "divide" else mapping.low
    columns = (low, q.high, mapping.ranges, mapping.factors, _points(mapping))
    return {"map": mapping, "maps": zip(*(column.tolist() for column in columns), strict=True)}


def _limits(q: Quantised | QuantisedLine) -> list[str]:
    """Return literals of the lowest and the highest value of each feature that is not far outside."""
    low, high = (np.asarray(side, np.float64) for side in (q.low, q.high))
    span = high - low
    limits = np.column_stack([low - span, high + span]).ravel()
    if q.input == "float":
        most = float(np.finfo(np.float32).max)
        return [f"{value:.9e}f" for value in np.clip(limits, -most, most).astype(np.float32).tolist()]
    bounds = np.iinfo(np.dtype(q.input))
    return [literal(int(value), wide=False) for value in np.clip(limits, bounds.min, bounds.max)]


def _terms(q: Quantised) -> Fields:
    """Cut each row into windows of features and keep the weights that are not 0."""
    chunks: list[Fields] = []
    for row, weights in enumerate(q.weights):
        for at in range(0, q.n_features, WINDOW):
            window = weights[at : at + WINDOW]
            terms = [(int(j), int(window[j])) for j in np.flatnonzero(window)]
            if terms:
                chunks.append({"row": row, "at": at, "terms": terms})
    by_row: list[list[Fields]] = [[] for _ in q.weights]
    for chunk in chunks:
        by_row[chunk["row"]].append(chunk)
    largest = 255 * np.abs(q.weights.astype(np.int64)).sum(axis=1) + np.abs(np.array(q.bias, np.float64))
    return {
        "chunks": chunks,
        "by_row": by_row,
        "assembly": q.weight_bits == 8 and q.n_features <= 2048,
        "narrow": bool(largest.max() < 1 << 23),
        "carry": lambda weight: "adc" if weight > 0 else "sbc",
    }


def _render(template: str, context: Fields, file: Path | IO[bytes]) -> None:
    try:
        import jinja2
    except ImportError:
        raise ImportError(f"exporting needs Jinja2: {install_line('device')}") from None
    environment = jinja2.Environment(  # noqa: S701 - the output is C
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.get_template(template).stream(context).dump(
        str(file) if isinstance(file, Path) else file, encoding="utf-8"
    )


def _write_file(path: Path, template: str, context: Fields) -> Path:
    """Write beside the place and move there: a reader sees the old file or the new one."""
    with atomic_file(path) as file:
        _render(template, context, file)
    return path


def _window(
    q: AnyModel, target: str, window: tuple[int, int] | tuple[int, int, int] | None
) -> dict[str, int] | None:
    if window is None:
        return None
    axes, rest = divmod(q.n_features, len(FEATURES))
    if target != "arduino" or q.input not in {"int16", "int32"}:
        raise ValueError(
            f"window goes with the target 'arduino' and whole numbers, not {target!r} and {q.input}: "
            "input='int32' holds what windows() returns"
        )
    if rest:
        raise ValueError(
            f"windows have {len(FEATURES)} features per axis, and {q.n_features} is no multiple of that"
        )
    length, hop = check_window(*window[:2])
    rate = RATE if len(window) == 2 else window[2]
    if isinstance(rate, bool) or not isinstance(rate, int | np.integer) or not 1 <= rate <= FASTEST:
        raise ValueError(f"the rate of a window must be 1 to {FASTEST} samples per second, not {rate!r}")
    cycles = window_cycles(axes, length) + ANSWER_CYCLES + len(q.bias) * q.n_features * SCORE_CYCLES
    return {"axes": axes, "length": length, "hop": hop, "rate": int(rate), "cycles": cycles}


def window_cycles(axes: int, length: int) -> int:
    """Return the cycles that an AVR takes at most to sample, make the features of a window and map them."""
    per_axis = 155 * length + 5500 + SAMPLE_CYCLES + len(FEATURES) * MAP_CYCLES
    return axes * per_axis


def _signal(q: AnyModel, target: str, signal: Sampling | None) -> Fields | None:
    """Return what the template needs to make the features of a signal, or say why a board cannot."""
    if signal is None:
        return None
    plan = signal.plan
    if target != "arduino" or q.input != "uint8":
        raise ValueError(f"a signal goes with the target 'arduino' and bytes, not {target!r} and {q.input}")
    if plan.n_features != q.n_features:
        raise ValueError(f"the signal has {plan.n_features} features, and the model {q.n_features}")
    if plan.length > LONGEST_SIGNAL or plan.thresholds > 255 or plan.axes > 254:
        raise ValueError(
            f"boards take windows of up to {LONGEST_SIGNAL} samples, 254 axes and 255 thresholds, not "
            f"{plan.length}, {plan.axes} and {plan.thresholds}: train on shorter windows"
        )
    ram = (
        4 * plan.axes * plan.length + 2 * plan.kernels * plan.thresholds + plan.n_features + 31
    )  # on AVR: sefr_signal.h
    return {
        "plan": plan,
        "dilations": ", ".join(map(str, plan.dilations)),
        "ranges": ", ".join(f"{{{low}, {high}}}" for low, high in plan.ranges),
        "hop": signal.hop,
        "rate": f"{signal.rate:g}",
        "microseconds": round(1e6 / signal.rate),
        "most_clipped": plan.most_clipped,
        "ram": ram,
        "steps": [
            f"{c_text(axis)}: {step:g}" for axis, step in zip(plan.axis_names, plan.resolution, strict=True)
        ],
    }


def _check_library(q: Quantised) -> None:
    limit = MAX_NARROW if q.weight_bits == 8 else MAX_WIDE
    if q.n_features > limit:
        raise ValueError(
            f"the device library takes {limit} features with int{q.weight_bits} weights, not {q.n_features}"
        )


def _check_learning(clf: SEFRClassifier) -> None:
    """Refuse a model that its sums alone do not give."""
    if clf.class_weight is not None:
        raise ValueError(
            "a board that goes on learning counts its records as they come, without class_weight: "
            "export with learn=False, or train without it and set SEFR_BALANCED on the board"
        )
    if not clf.fitted_.is_paper:
        raise ValueError(
            "a board that goes on learning solves its weights from sums, which would undo "
            "passes > 1: export with learn=False, or train with passes=1"
        )
    if clf.summary_.present is not None:
        raise ValueError(
            "a board that goes on learning solves its weights from sums of all values, and some were "
            "missing here: export with learn=False, or fill them in before training"
        )


def _learning(q: Quantised, sum_bits: int, eeprom: int) -> Fields:
    """Return what a sketch that learns starts from, or say why it cannot."""
    if sum_bits == 16 and len(q.classes) > 43:
        raise ValueError(f"16-bit sums take 43 classes, not {len(q.classes)}: use sum_bits=32")
    state, note = base_state(q, sum_bits)
    if 2 * len(state) > eeprom:
        raise ValueError(
            f"saving {q.n_features} features x {len(q.classes)} classes takes two states of {len(state)} "
            f"bytes, and the EEPROM has {eeprom} (an Uno's has {UNO_EEPROM}): train on fewer features"
            + (", use sum_bits=16" if sum_bits == 32 else "")
            + ", or take a board with more EEPROM (eeprom=, in the command --eeprom)"
        )
    return {"state": np.frombuffer(state, np.uint8), "state_note": note, "model_id": id_of(state)}


def _write_sketch(
    q: AnyModel, template: str, context: Fields, path: Path, learn: bool, sum_bits: int
) -> Path:
    fresh = (
        path.parent / f".{path.name[:200]}.{secrets.token_hex(8)}"
    )  # named first: a signal may come any time
    try:
        fresh.mkdir(0o700)
        name, own_scores = context["name"], not isinstance(q, Quantised)
        _render(template, context, fresh / f"{name}.h")
        _render("sensors.ino.j2", context | {"learn": learn}, fresh / f"{name}.ino")
        bits = (8 if own_scores else q.weight_bits, sum_bits if learn else 16)
        _copy_library(fresh / "src" / "sefr", *bits, _switches(q, learn, context["margin"]))
        about = {
            "name": name,
            "input": q.input,
            "features": q.n_features,
            "classes": q.classes.tolist(),
            "learn": learn,
        }
        if isinstance(q, QuantisedNumbers):
            about |= {"unit": q.unit}
        if learn and isinstance(q, Quantised):
            low, high = (
                (q.low, q.high)
                if q.input != "uint8"
                else (np.zeros(q.n_features), np.full(q.n_features, 255))
            )
            about |= {"low": low.tolist(), "high": high.tolist(), "feature_names": q.feature_names}
            about |= {"id": context["model_id"], "sum_bits": sum_bits}
            (fresh / "base.state").write_bytes(context["state"].tobytes())
        (fresh / "model.json").write_text(json.dumps(about, indent=1, default=str) + "\n")
        shutil.copymode(fresh / "src", fresh)  # a folder made by hand follows the umask
        _replace_folder(fresh, path)
    finally:
        _remove(fresh)
    return path


def _remove(folder: Path) -> None:
    """Remove a folder that nothing needs; a fault that passes, or a signal, does not leave it behind."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _replace_folder(fresh: Path, path: Path) -> None:
    if path.exists() and not (path / "model.json").exists():
        raise FileExistsError(f"{path} exists and is not an exported sketch")
    replace_folder(fresh, path)


def _switches(q: AnyModel, learn: bool, margin: int) -> list[str]:
    """Return the switches of ``sefr.h`` that leave out what a sketch does not call."""
    left_out = {
        "SEFR_NO_LEAN": True,
        "SEFR_NO_SPARSE": True,
        "SEFR_NO_CORRECT": True,
        "SEFR_NO_STEPS": learn,
        "SEFR_TWO_CLASSES": len(q.classes) == 2,
        "SEFR_NO_RANGES": not isinstance(q, Quantised) or q.ranges is None or not learn,
        "SEFR_NO_UNKNOWN": not margin,
        "SEFR_NO_BALANCED": not learn,
        "SEFR_NO_STATE": not learn,
    }
    return [name for name, is_unused in left_out.items() if is_unused]


def _copy_library(folder: Path, weight_bits: int, sum_bits: int, switches: Sequence[str]) -> None:
    source = library()
    (folder / "body").mkdir(parents=True)
    names = [file.name for file in source.glob("sefr*") if file.suffix in {".h", ".c", ".S"}]
    names += [f"body/{file.name}" for file in (source / "body").glob("*.h")]
    for name in names:
        shutil.copyfile(source / name, folder / name)
    (folder / "sefr_config.h").write_text(
        f"/* The settings of this sketch; see sefr.h. */\n#define SEFR_WEIGHT_BITS {weight_bits}\n"
        f"#define SEFR_SUM_BITS {sum_bits}\n"
        "/* What the sketch does not call is left out; take a line away to use it. */\n"
        + "".join(f"#define {name}\n" for name in switches)
    )


def base_state(q: Quantised, sum_bits: int) -> tuple[bytes, str]:
    """Return what was learned as a board would have it, and a note about it.

    The id is of what the features, their scaling and the classes mean: what a board learned stays good when a
    model is trained again. What the state holds has a number of its own, the base.

    With 16-bit sums at most 128 records per class are kept, so that as many can be learned before a class is
    halved; older ones then count less.
    """
    counts, sums = q.counts / q.factor, q.sums / q.factor
    most = counts.max() if sum_bits == 16 else counts.sum() + len(counts)
    share = min(1.0, MAX_RECORDS[sum_bits] / 2 / most)
    kept = np.where(counts > 0, np.maximum(np.floor(counts * share), 1), 0)
    part: NDArray[np.float64] = np.divide(kept, counts, out=np.zeros_like(counts), where=counts > 0)
    whole = np.minimum(np.floor(sums * part[:, None] + 1e-6), 255 * kept[:, None])
    note = f"{counts.sum():.0f} records" + (f", counting as {kept.sum():.0f}" if share < 1 else "")
    # bytes are taken as they are: their ranges are learned, and no part of what they mean
    scaling = [] if q.input == "uint8" else [np.asarray(side).tolist() for side in (q.low, q.high)]
    labels = [str(label) for label in q.classes.tolist()]
    meaning = [q.n_features, q.input, scaling, q.feature_names, labels]
    learned = [kept.tolist(), whole.tolist()]
    state = State(kept, whole, q.ranges, id=_checksum(meaning), base=_checksum(learned))
    return pack_state(state, sum_bits), note


def _checksum(facts: object) -> int:
    """Return a number of 32 bits for facts, never 0, which stands for none."""
    return zlib.crc32(json.dumps(facts).encode()) or 1


__all__: Sequence[str] = ("TARGETS", "export", "library")
