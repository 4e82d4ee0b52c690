"""The ``.sefr`` file: a model as JSON with a schema version and a checksum. Reading it executes nothing.

The Summary and the settings are the model; the weights are solved again when it is read. docs/model_file.md
has the format. A member that this version does not know is refused rather than left out, since the answers
might depend on it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ._summary.summary import Summary
from ._system.atomic_file import atomic_file
from ._weights.refine.refine import Refined
from ._weights.solve import Scaling, planes_of
from .classifier import SEFRClassifier

SCHEMA = 1
FORMAT = "sefr model"
# The first and last bytes of a file of any schema: how a reader tells a model, its schema and its checksum.
OPENING = f'{{\n  "format": {json.dumps(FORMAT)},\n  "schema": '.encode()
SEAL = b'  "checksum": "sha256:'
CLOSING = b'"\n}\n'
DIGITS = 64

MEMBERS = (
    *("format", "schema", "made_by", "settings", "classes", "features", "summary"),
    *("refined", "sharpness", "table", "checksum"),
)
SUMMARY_MEMBERS = ("counts", "low", "high", "sums", "tails", "present")
REFINED_MEMBERS = ("weights", "bias", "midpoints", "low", "span", "loss_curve")
LABEL_TYPES = frozenset(["bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))])
LABEL_TYPES |= {"float16", "float32", "float64"}
MOST_NAME = 200  # characters of the name of a batch
EXACT = 2.0**53  # integers below it are written without a decimal point

Floats = NDArray[np.float64]


class ModelFileError(ValueError):
    """A file that is not a model, is damaged, or comes from a newer version."""


def save(clf: SEFRClassifier, path: str | os.PathLike[str]) -> None:
    """Write a trained model to a file, atomically.

    Parameters
    ----------
    clf : SEFRClassifier
        A trained model.
    path : path
        The file, by custom ``*.sefr``. An old one is replaced when the new one is whole.
    """
    content = dump(clf)
    with atomic_file(path) as file:
        file.write(content)


def load(path: str | os.PathLike[str]) -> SEFRClassifier:
    """Read a model from a file.

    Parameters
    ----------
    path : path
        A file that ``save`` wrote.

    Returns
    -------
    clf : SEFRClassifier
        Equal to the one saved: the same Summary, settings, weights and answers, to the bit.

    Raises
    ------
    ModelFileError
        If the file is no model, was changed or cut since it was written, or is from a newer version.
    """
    with open(path, "rb") as file:
        opening = file.read(len(OPENING))
        if opening != OPENING[: len(opening)] or not opening:
            raise ModelFileError(f"{path}: not a model: the file does not begin as a .sefr file does")
        content = opening + file.read()
    try:
        return parse(content)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def table_of(clf: SEFRClassifier) -> dict[str, Any] | None:
    """Return what a model remembers of the columns of files, as the command stored it."""
    table: dict[str, Any] | None = getattr(clf, "_table", None)
    return table


def with_table(clf: SEFRClassifier, table: dict[str, Any]) -> SEFRClassifier:
    """Return the model, which now remembers the columns of files."""
    clf._table = table
    return clf


def batches_of(clf: SEFRClassifier) -> tuple[str, ...]:
    """Return the names of the batches of rows that must not be learned again (``sefr update --once``)."""
    batches: tuple[str, ...] = getattr(clf, "_batches", ())
    return batches


def with_batches(clf: SEFRClassifier, batches: Sequence[str]) -> SEFRClassifier:
    """Return the model, which now remembers these names; text of up to 200 characters, each once."""
    sound = all(type(name) is str and 0 < len(name) <= MOST_NAME for name in batches)
    if not sound or len(set(batches)) < len(batches):
        raise ModelFileError(f"batches must be different names of up to {MOST_NAME} characters")
    clf._batches = tuple(batches)
    return clf


def dump(clf: SEFRClassifier) -> bytes:
    """Return a trained model as the content of a ``.sefr`` file."""
    if not isinstance(clf, SEFRClassifier):
        raise TypeError(f"only a SEFRClassifier can be saved as .sefr, not {type(clf).__name__}")
    if not clf.__sklearn_is_fitted__():
        raise ValueError("only a trained model can be saved: call fit first")
    summary = clf.summary_
    members = {
        "made_by": _line(f"sefr {version('sefr-learn')}"),
        "settings": _line(_settings(clf)),
        "classes": _line(_labels(summary.classes) | {"closed": bool(getattr(clf, "_closed", False))}),
        "features": _line(
            summary.n_features if summary.feature_names is None else list(summary.feature_names)
        ),
        "summary": _summary_text(summary),
        "refined": _refined_text(clf),
        "sharpness": _numbers(clf._sharpness() if clf._can_be_sure else None),
        "table": _line(table_of(clf)),
    }
    if batches_of(clf):
        members["batches"] = _line(list(batches_of(clf)))
    text = "".join(f'  "{name}": {value},\n' for name, value in members.items())
    body = OPENING + f"{SCHEMA},\n{text}".encode() + SEAL
    return body + hashlib.sha256(body).hexdigest().encode() + CLOSING


def parse(content: bytes) -> SEFRClassifier:
    """Return the model from the content of a ``.sefr`` file."""
    _check_seal(content)
    try:
        members = json.loads(content.decode(), object_pairs_hook=_distinct, parse_constant=_refuse_constant)
        optional = [name for name in ("batches",) if isinstance(members, dict) and name in members]
        found = _check_members(members, (*MEMBERS, *optional), "the model")
        summary = _summary(found)
        with np.errstate(all="ignore"):  # forged numbers may overflow
            params = _params(found["settings"], summary.n_features)
            clf = SEFRClassifier.from_summary(summary, **(params | {"passes": 1}))
            _take_refined(clf, found["refined"], params.get("passes", 1))
            _ = clf.intercept_  # the weights are found here, in quiet
        if found["sharpness"] is not None:
            clf._calibration = _array(found["sharpness"], "sharpness", (len(summary.classes),))
        closed = found["classes"]["closed"]
        if not isinstance(closed, bool):
            raise ModelFileError("classes: closed must be true or false")
        clf._closed = closed
        table = found["table"]
        if table is not None:
            with_table(clf, _object(table, "table"))
        if "batches" in found:
            if not isinstance(found["batches"], list):
                raise ModelFileError("batches must be a list")
            with_batches(clf, found["batches"])
    except ModelFileError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"the model does not hold together: {error}") from None
    return clf


def _check_seal(content: bytes) -> None:
    """Refuse content that differs in any byte from what was written."""
    if not content.startswith(OPENING):
        raise ModelFileError("not a model: the content does not begin as a .sefr file does")
    schema = re.compile(rb"([0-9]{1,9}),\n").match(content, len(OPENING))
    number = int(schema[1]) if schema else SCHEMA
    end = len(content) - len(CLOSING) - DIGITS
    whole = content.endswith(CLOSING) and content[:end].endswith(SEAL)
    if not whole:
        newer = f", or of the newer schema {number}" if number > SCHEMA else ""
        raise ModelFileError(f"cut short or damaged{newer}: the checksum at its end is missing")
    digest = hashlib.sha256(content[:end]).hexdigest().encode()
    if not hmac.compare_digest(digest, content[end : end + DIGITS]):
        raise ModelFileError("damaged: the content does not match its checksum")
    if not schema or number != SCHEMA:
        if number > SCHEMA:
            raise ModelFileError(
                f"made by a newer version: schema {number}, this one reads up to {SCHEMA}; upgrade sefr"
            )
        raise ModelFileError("damaged: it has no schema number")


def _settings(clf: SEFRClassifier) -> dict[str, Any]:
    settings = dict(clf.get_params(deep=False))
    scale = settings["scale"]
    if scale is not None and not isinstance(scale, str):
        settings["scale"] = [
            side if isinstance(side, int) else np.asarray(side, float).tolist() for side in scale
        ]
    settings["epsilon"] = float(settings["epsilon"])
    settings["passes"], settings["verbose"] = int(settings["passes"]), int(settings["verbose"])
    if settings["n_jobs"] is not None:
        settings["n_jobs"] = int(settings["n_jobs"])
    return settings


def _params(member: Any, n_features: int) -> dict[str, Any]:
    """Return the settings as parameters of the constructor, which checks the rest."""
    settings = _object(member, "settings")
    if isinstance(settings.get("scale"), list):
        for side in settings["scale"]:
            _array(
                side if isinstance(side, list) else [side],
                "scale",
                (n_features if isinstance(side, list) else 1,),
            )
        settings["scale"] = tuple(settings["scale"])
    if type(settings.get("epsilon")) not in (int, float):
        raise ModelFileError("settings: epsilon must be a number")
    return settings


def _labels(classes: NDArray[Any]) -> dict[str, Any]:
    """Return the labels and what kind they are: "text", "object", "bytes" or a number type."""
    name = classes.dtype.name
    if name in LABEL_TYPES:
        return {"kind": name, "labels": classes.tolist()}
    labels = classes.tolist()
    if all(isinstance(label, str) for label in labels):
        return {"kind": "text" if classes.dtype.kind == "U" else "object", "labels": labels}
    if classes.dtype.kind == "S":
        return {"kind": "bytes", "labels": [label.decode("latin-1") for label in labels]}
    raise TypeError(
        f"labels of type {type(labels[0]).__name__} cannot be saved; use text, integers or booleans"
    )


def _classes(member: Any) -> NDArray[Any]:
    member = _check_members(member, ("kind", "labels", "closed"), "classes")
    kind, labels = member["kind"], member["labels"]
    if not isinstance(labels, list) or not labels:
        raise ModelFileError("classes: labels must be a list")
    expected: tuple[type, ...] = (str,)
    if kind in LABEL_TYPES:
        expected = (bool,) if kind == "bool" else (float, int) if kind.startswith("float") else (int,)
    elif kind not in {"text", "object", "bytes"}:
        raise ModelFileError(f"classes: labels of kind {kind!r} are unknown")
    if not all(type(label) in expected for label in labels):
        raise ModelFileError(f"classes: a label is not of kind {kind}")
    if kind == "object":
        classes = np.empty(len(labels), dtype=object)
        classes[:] = labels
        return classes
    if kind == "bytes":
        return np.array([label.encode("latin-1") for label in labels])
    classes = np.array(labels, dtype=None if kind == "text" else kind)
    if classes.tolist() != labels:
        raise ModelFileError(f"classes: a label does not fit kind {kind}")
    return classes


def _summary_text(summary: Summary) -> str:
    lines = [f'    "{name}": {_numbers(getattr(summary, name))}' for name in SUMMARY_MEMBERS]
    return "{\n" + ",\n".join(lines) + "\n  }"


def _refined_text(clf: SEFRClassifier) -> str:
    """Return what further passes found: weights and biases of scaled features, and how it went."""
    if clf._refined is None:
        return "null"
    refined = clf._refined
    parts = {
        "weights": refined.planes.feature_scores,
        "bias": refined.planes.bias,
        "midpoints": refined.midpoints,
        "low": refined.planes.scaling.low,
        "span": refined.planes.scaling.span,
        "loss_curve": np.array(refined.loss_curve),
    }
    return "{\n" + ",\n".join(f'    "{name}": {_numbers(part)}' for name, part in parts.items()) + "\n  }"


def _take_refined(clf: SEFRClassifier, member: Any, passes: Any) -> None:
    """Give a model of one pass the weights that further ones found."""
    clf.passes = passes
    clf._check_params()
    if member is None:
        return
    parts = _check_members(member, REFINED_MEMBERS, "refined")
    n_classes, m = clf.summary_.sums.shape
    n_scores = 1 if n_classes == 2 else n_classes
    low, span = (_array(parts[name], name, (m,)) for name in ("low", "span"))
    if (span < 0).any():
        raise ModelFileError("refined: span must not be negative")
    curve = parts["loss_curve"]
    if not isinstance(curve, list) or len(curve) < 2:
        raise ModelFileError("refined: loss_curve must be a list of two or more")
    bias = _array(parts["bias"], "bias", (n_scores,), unseen=-np.inf)
    planes = planes_of(Scaling(low, span), _array(parts["weights"], "weights", (n_scores, m)), bias)
    midpoints = _array(parts["midpoints"], "midpoints", (n_scores, m))
    refined = Refined(planes, midpoints, tuple(_array(curve, "loss_curve", (len(curve),)).tolist()))
    clf._learned(clf.summary_, refined=refined)


def _numbers(array: Floats | None) -> str:
    """Return numbers as JSON: the shortest digits that read back as the same float; null for no value."""
    if array is None:
        return "null"
    if array.ndim == 2:
        return "[\n" + ",\n".join(f"      {_numbers(row)}" for row in array) + "\n    ]"
    values: list[float | int | None] = array.tolist()
    whole = (array == np.floor(array)) & (np.abs(array) < EXACT) & ~((array == 0) & np.signbit(array))
    for j in np.flatnonzero(whole):
        values[j] = int(array[j])
    for j in np.flatnonzero(~np.isfinite(array)):
        values[j] = None
    return json.dumps(values)


def _summary(members: Mapping[str, Any]) -> Summary:
    parts = _check_members(members["summary"], SUMMARY_MEMBERS, "the summary")
    classes = _classes(members["classes"])
    features = members["features"]
    names = features if isinstance(features, list) else None
    if names is not None and not all(type(name) is str for name in names):
        raise ModelFileError("features: a name is not text")
    n_features = features if names is None else len(names)
    if type(n_features) is not int or n_features < 1:
        raise ModelFileError("features must be a list of names or their number")
    shape = (len(classes), n_features)
    low = _array(parts["low"], "low", shape[1:], unseen=np.inf)
    high = _array(parts["high"], "high", shape[1:], unseen=-np.inf)
    if ((low > high) & ~(np.isinf(low) & np.isinf(high))).any():
        raise ModelFileError("low must not be above high")
    return Summary.from_parts(
        classes=classes,
        counts=_array(parts["counts"], "counts", shape[:1]),
        low=low,
        high=high,
        sums=_array(parts["sums"], "sums", shape),
        tails=None if parts["tails"] is None else _array(parts["tails"], "tails", shape),
        present=None if parts["present"] is None else _array(parts["present"], "present", shape),
        feature_names=names,
    )


def _array(values: Any, name: str, shape: tuple[int, ...], unseen: float | None = None) -> Floats:
    """Return a list of numbers, or of lists of them, as an array; nothing but numbers passes."""
    if not isinstance(values, list) or len(values) != shape[0]:
        raise ModelFileError(f"{name} must be a list of {shape[0]}")
    if len(shape) == 2:
        return np.array([_array(row, name, shape[1:]) for row in values])
    allowed = {int, float} if unseen is None else {int, float, type(None)}
    if not set(map(type, values)) <= allowed:
        raise ModelFileError(f"{name} must hold numbers only")
    array = np.array(values, dtype=np.float64)  # None becomes NaN, which no number in JSON is
    if np.isinf(array).any():
        raise ModelFileError(f"{name}: a number is too large")
    return array if unseen is None else np.where(np.isnan(array), unseen, array)


def _check_members(member: Any, expected: tuple[str, ...], name: str) -> dict[str, Any]:
    found = _object(member, name)
    if unknown := [key for key in found if key not in expected]:
        raise ModelFileError(
            f"{name} has a member that this version does not know, {unknown[0]!r}; upgrade sefr"
        )
    if absent := [key for key in expected if key not in found]:
        raise ModelFileError(f"{name} lacks {absent[0]!r}")
    return found


def _object(member: Any, name: str) -> dict[str, Any]:
    if not isinstance(member, dict):
        raise ModelFileError(f"{name} must be a JSON object")
    return member


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ModelFileError("a name occurs twice in one JSON object")
    return members


def _refuse_constant(text: str) -> NoReturn:
    raise ModelFileError(f"{text} is not JSON")


def _line(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: legal in a Python string, not in UTF-8
        text = json.dumps(value)
    return text
