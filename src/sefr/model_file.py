"""The ``.sefr`` file: a model as JSON with a schema version and a checksum. Reading it executes nothing.

The Summary and the settings are the model; the weights are solved again when it is read.
docs/reference/model_file.md has the format. A member that this version does not know is refused rather than
left out, since the answers might depend on it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, ClassVar, TypeVar

import numpy as np

from ._answers.fitted import Fitted
from ._answers.fitted_numbers import FittedNumbers
from ._answers.probabilities import Calibration, TemperatureScaling
from ._rows.cells.plain import coder_of, plain_coder
from ._rows.coding import coding_of
from ._rows.labels import ONE_CLASS, text_array
from ._summary.bytes_format import packed_products, unpacked_products
from ._summary.private import noise_of, with_noise
from ._summary.summary import Summary
from ._system.atomic_file import atomic_file
from ._system.members import (
    ModelFileError as ModelFileError,
)
from ._system.members import (
    distinct,
    line_text,
    members_of,
    numbers_of,
    numbers_text,
    object_of,
    refuse_constant,
)
from ._system.types import Array, Fields, Floats, Params
from ._weights.auto import Auto, AutoChoice, lines_of
from ._weights.hyperplanes import Hyperplanes, Scaling, planes_of
from ._weights.refine.numbers import RefinedNumbers
from ._weights.refine.refine import Refined
from ._weights.residuals import Residuals
from .base import Learner
from .classifier import SEFRClassifier
from .regressor import SEFRRegressor
from .settings import AnySettings, kinds

# 1 had one sharpness per class where 2 has a calibration, and named the columns "table"; 3 has bins, 4 their
# interactions, 5 products of features, numbers for labels, and what auto=True chose.
SCHEMA = 5
FORMAT = "sefr model"
# The first and last bytes of a file of any schema: how a reader tells a model, its schema and its checksum.
OPENING = f'{{\n  "format": {json.dumps(FORMAT)},\n  "schema": '.encode()
SEAL = b'  "checksum": "sha256:'
CLOSING = b'"\n}\n'
DIGITS = 64

MEMBERS = (
    *("format", "schema", "made_by", "settings", "classes", "features", "bins", "summary"),
    *("refined", "auto", "calibration", "columns", "batches", "checksum"),
)
SUMMARY_MEMBERS = ("counts", "low", "high", "sums", "tails", "present", "count_tails", "present_tails")
CALIBRATION_MEMBERS = ("inverse_temperature", "offsets", "precision")
AUTO_MEMBERS = ("weights", "log_loss", "n_ferns", "n_held_out", "lines")
LINE_MEMBERS = ("weights", "midpoints", "low", "span", "values")
PARTS = ("line", "bins", "ferns", "sum")
NUMBER_MEMBERS = ("noise", "ridge", "leverage")
RESIDUAL_MEMBERS = ("sizes", "shares")
REFINED_MEMBERS = ("weights", "bias", "midpoints", "low", "span", "loss_curve")
LABEL_TYPES = frozenset(["bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))])
LABEL_TYPES |= {"float16", "float32", "float64"}
# The estimators that are saved; the Summary tells which one a file holds.
ESTIMATORS: tuple[type[Learner], ...] = (SEFRClassifier, SEFRRegressor)
MOST_OF_A_BATCH_NAME = 200  # characters of the name of a batch

Model = TypeVar("Model", bound=Learner)


def save(clf: Learner, path: str | os.PathLike[str]) -> None:
    """Write a trained model to a file, atomically.

    Parameters
    ----------
    clf : SEFRClassifier or SEFRRegressor
        A trained model.
    path : path
        The file, by custom ``*.sefr``. An old one is replaced when the new one is whole.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sefr import SEFRClassifier, load, save
    >>> path = Path(tempfile.mkdtemp()) / "rain.sefr"
    >>> save(SEFRClassifier().fit([[1, 8], [3, 6], [2, 7]], ["dry", "wet", "dry"]), path)
    >>> load(path).predict([[3, 6]])
    array(['wet'], dtype='<U3')
    """
    content = dump(clf)
    with atomic_file(path) as file:
        file.write(content)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file.

    Parameters
    ----------
    path : path
        A file that ``save`` wrote.

    Returns
    -------
    clf : SEFRClassifier or SEFRRegressor
        Equal to the one saved: the same Summary, settings, weights and answers, to the bit.

    Raises
    ------
    ModelFileError
        If the file is no model, was changed or cut since it was written, or is from a newer version.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sefr import SEFRClassifier, load, save
    >>> path = Path(tempfile.mkdtemp()) / "rain.sefr"
    >>> save(SEFRClassifier().fit([[1, 8], [3, 6], [2, 7]], ["dry", "wet", "dry"]), path)
    >>> load(path).summary_
    <Summary: 3 rows, 2 features, 2 classes>
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


def columns_of(clf: Learner) -> Params | None:
    """Return what a model remembers of the columns of files, as the command stored it."""
    return clf.fitted_.columns


def with_columns(clf: Model, columns: Params) -> Model:
    """Return the same model that also remembers the columns of files."""
    return clf.with_fitted(replace(clf.fitted_, columns=columns))


def batches_of(clf: Learner) -> tuple[str, ...]:
    """Return the names of the batches of rows that must not be learned again (``sefr update --once``)."""
    return clf.fitted_.batches


def with_batches(clf: Model, batches: Sequence[str]) -> Model:
    """Return the same model that also remembers these names; text of up to 200 characters, each once."""
    return clf.with_fitted(replace(clf.fitted_, batches=_checked_batches(batches)))


def _checked_batches(batches: Sequence[str]) -> tuple[str, ...]:
    sound = all(type(name) is str and 0 < len(name) <= MOST_OF_A_BATCH_NAME for name in batches)
    if not sound or len(set(batches)) < len(batches):
        raise ModelFileError(f"batches must be different names of up to {MOST_OF_A_BATCH_NAME} characters")
    return tuple(batches)


def dump(clf: Learner) -> bytes:
    """Return a trained model as the content of a ``.sefr`` file."""
    if not isinstance(clf, Learner):
        raise TypeError(
            f"only a SEFRClassifier or SEFRRegressor can be saved as .sefr, not {type(clf).__name__}"
        )
    if not clf.__sklearn_is_fitted__():
        raise ValueError("only a trained model can be saved: call fit first")
    fitted = clf.fitted_
    summary, parts = fitted.summary, _parts_of(clf)
    members = {
        "made_by": line_text(f"sefr {version('sefr-learn')}"),
        "settings": line_text(_settings(clf).to_json()),
        "classes": line_text(_labels(summary.classes) | {"closed": fitted.closed}),
        "features": line_text(
            summary.n_features if summary.feature_names is None else list(summary.feature_names)
        ),
        "bins": line_text(None if summary.coder is None else plain_coder(summary.coder)),
        "summary": _summary_text(summary),
        **parts.texts(fitted),
        "columns": line_text(None if fitted.columns is None else dict(fitted.columns)),
        "batches": line_text(list(fitted.batches)),
    }
    text = "".join(f'  "{name}": {value},\n' for name, value in members.items())
    body = OPENING + f"{SCHEMA},\n{text}".encode() + SEAL
    return body + hashlib.sha256(body).hexdigest().encode() + CLOSING


def parse(content: bytes) -> Any:
    """Return the model from the content of a ``.sefr`` file."""
    schema = _check_seal(content)
    try:
        members = json.loads(content.decode(), object_pairs_hook=distinct, parse_constant=refuse_constant)
        found = members_of(members if schema == SCHEMA else _as_now(members, schema), MEMBERS, "the model")
        with np.errstate(all="ignore"):  # forged numbers may overflow
            return _model(found, len(content))
    except ModelFileError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"the model does not hold together: {error}") from None


def _model(found: Fields, n_bytes: int) -> Learner:
    summary = _summary(found, n_bytes)
    estimator = next(each for each in ESTIMATORS if each.task.predicts_numbers is bool(summary.n_targets))
    own, parts = estimator.task.settings, _parts_of(estimator)
    given = parts.first_settings | object_of(found["settings"], "settings")
    members = members_of(given, tuple(name for name, _, _ in kinds(own)), "settings")
    settings = own.from_json(members, summary.n_features)
    closed, names = found["classes"]["closed"], summary.feature_names
    if not isinstance(closed, bool):
        raise ModelFileError("classes: closed must be true or false")
    columns, batches = found["columns"], found["batches"]
    if not isinstance(batches, list):
        raise ModelFileError("batches must be a list")
    fitted = replace(
        estimator.solved(summary, settings, names=None if names is None else np.array(names, dtype=object)),
        closed=closed,
        columns=None if columns is None else object_of(columns, "columns"),
        batches=_checked_batches(batches),
    )
    fitted = parts.read(found, fitted)
    _ = fitted.planes.intercept, fitted.model.entries  # solved here, where warnings of forged numbers are off
    return estimator.from_fitted(fitted)


class _TaskParts:
    """What only models of one task have in a file: the members "refined", "auto" and "calibration"."""

    # settings that the first files of this schema lack, as they were then
    first_settings: ClassVar[Fields] = {}

    @staticmethod
    def texts(fitted: Any) -> dict[str, str]:
        """Return the members as they are written."""
        raise NotImplementedError

    @staticmethod
    def read(found: Fields, fitted: Any) -> Fitted:
        """Return what a model knows, with what the members say."""
        raise NotImplementedError


class _ClassParts(_TaskParts):
    @staticmethod
    def texts(fitted: Fitted) -> dict[str, str]:
        return {
            "refined": "null" if fitted.refined is None else _object_text(_refined_parts(fitted.refined)),
            "auto": "null" if fitted.auto is None else _auto_text(fitted.auto),
            "calibration": _calibration_text(fitted.probability_scaling),
        }

    @staticmethod
    def read(found: Fields, fitted: Fitted) -> Fitted:
        summary = fitted.summary
        calibration = _scaling(found["calibration"], len(summary.classes))
        return replace(
            fitted,
            refined=_refined(found["refined"], (summary.n_scores, summary.sums.shape[1])),
            auto=_auto(found["auto"], summary) if fitted.settings.auto else None,
            calibration=Calibration(None, calibration, summary.counts),
        )


class _NumberParts(_TaskParts):
    first_settings: ClassVar[Fields] = {"passes": 1, "verbose": 0}

    @staticmethod
    def texts(fitted: FittedNumbers) -> dict[str, str]:
        refined, residuals = fitted.refined, fitted.residuals
        own = {} if refined is None else {name: getattr(refined, name) for name in NUMBER_MEMBERS}
        left = None if residuals is None else {name: getattr(residuals, name) for name in RESIDUAL_MEMBERS}
        return {
            "refined": "null" if refined is None else _object_text(own | _refined_parts(refined)),
            "auto": "null",
            "calibration": "null" if left is None else _object_text(left),
        }

    @staticmethod
    def read(found: Fields, fitted: FittedNumbers) -> Fitted:
        summary = fitted.summary
        if found["auto"] is not None:
            raise ModelFileError("a model of numbers has no auto")
        if found["classes"]["labels"] != ONE_CLASS.tolist() or found["classes"]["closed"]:
            raise ModelFileError("a model of numbers has no classes")
        shape = (summary.n_targets, summary.sums.shape[1])
        refined = _refined_numbers(found["refined"], shape, fitted.settings.passes)
        return replace(fitted, refined=refined, residuals=_residuals(found["calibration"], summary))


def _parts_of(model: Learner | type[Learner]) -> type[_TaskParts]:
    return _NumberParts if model.task.predicts_numbers else _ClassParts


def _as_now(content: object, schema: int) -> Fields:
    """Return the members of a file of an earlier schema as those of today."""
    members: Fields = {"bins": None, "auto": None, **object_of(content, "the model")}
    if isinstance(members.get("settings"), dict):  # a setting that is newer than the file has its default
        members["settings"] = {name: default for name, default, _ in kinds()} | members["settings"]
    if isinstance(members["bins"], dict):
        members["bins"] = {"interactions": None, **members["bins"]}
    if schema >= 2:
        return members
    sharpness = members.pop("sharpness", None)
    if isinstance(sharpness, list) and sharpness:
        mean = np.exp(np.mean(np.log(numbers_of(sharpness, "sharpness", (len(sharpness),)))))
        zeros = [0.0] * len(sharpness)
        members["calibration"] = {"inverse_temperature": float(mean), "offsets": zeros}
        members["calibration"]["precision"] = [1.0, *zeros]
    else:
        members["calibration"] = None
    members["columns"] = members.pop("table", None)
    members.setdefault("batches", [])
    if isinstance(members.get("summary"), dict):
        members["summary"] = members["summary"] | {"count_tails": None, "present_tails": None}
    return members


def _check_seal(content: bytes) -> int:
    """Refuse content that differs in any byte from what was written; return its schema."""
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
    if number > SCHEMA:
        raise ModelFileError(
            f"made by a newer version: schema {number}, this one reads up to {SCHEMA}; upgrade sefr"
        )
    if not schema or number < 1:
        raise ModelFileError("damaged: it has no schema number")
    return number


def _settings(clf: Learner) -> AnySettings:
    """Return what the model was solved with; what it does not depend on is as it is set now."""
    settings = clf.fitted_.settings
    now = {name: getattr(clf, name) for name, _, kind in kinds(type(settings)) if not kind.trained}
    return settings.changed(now)


def _labels(classes: Array) -> Fields:
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


def _classes(member: object, n_bytes: int) -> Array:
    member = members_of(member, ("kind", "labels", "closed"), "classes")
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
    if kind == "text":
        return text_array(labels, n_bytes)
    classes = np.array(labels, dtype=kind)
    if classes.tolist() != labels:
        raise ModelFileError(f"classes: a label does not fit kind {kind}")
    return classes


def _object_text(parts: Mapping[str, Floats | None]) -> str:
    return "{\n" + ",\n".join(f'    "{name}": {numbers_text(part)}' for name, part in parts.items()) + "\n  }"


def _summary_text(summary: Summary) -> str:
    text = _object_text({name: _summary_part(summary, name) for name in SUMMARY_MEMBERS})
    noise, products = noise_of(summary), summary.products
    more = {} if noise is None else {"noise": line_text(noise)}
    if products is not None:
        more["products"] = line_text(b64encode(packed_products(products)).decode())
    members = "".join(f',\n    "{name}": {value}' for name, value in more.items())
    return f"{text[:-4]}{members}\n  }}" if more else text


def _refined_parts(refined: Refined) -> dict[str, Floats]:
    """Return what further passes found: weights and biases of scaled features, and how it went."""
    return {
        "weights": refined.planes.weights,
        "bias": refined.planes.bias,
        "midpoints": refined.midpoints,
        "low": refined.planes.scaling.low,
        "span": refined.planes.scaling.span,
        "loss_curve": np.array(refined.loss_curve),
    }


def _refined(member: object, shape: tuple[int, int]) -> Refined | None:
    if member is None:
        return None
    planes, midpoints, curve = _refined_planes(members_of(member, REFINED_MEMBERS, "refined"), shape)
    weights, bias = planes.weights, planes.bias
    shares = weights * midpoints
    size = np.abs(shares).sum(axis=1)
    if (np.isfinite(bias) & (size > 0) & (np.abs(shares.sum(axis=1) + bias) > 1e-6 * size)).any():
        raise ModelFileError("refined: the midpoints do not go with the bias")
    return Refined(planes, midpoints, curve)


def _refined_numbers(member: object, shape: tuple[int, int], passes: int) -> RefinedNumbers | None:
    if (member is None) != (passes == 1):
        raise ModelFileError("refined: a model of numbers has it if it made further passes, and only then")
    if member is None:
        return None
    parts = members_of(member, (*REFINED_MEMBERS, *NUMBER_MEMBERS), "refined")
    noise, ridge, leverage = (numbers_of(parts.pop(name), name, shape[:1]) for name in NUMBER_MEMBERS)
    if (noise < 0).any() or (ridge < 0).any() or (leverage < 0).any():
        raise ModelFileError("refined: noise, ridge and leverage must not be negative")
    planes, midpoints, curve = _refined_planes(parts, shape)
    return RefinedNumbers(planes, midpoints, curve, noise=noise, ridge=ridge, leverage=leverage)


def _refined_planes(parts: Fields, shape: tuple[int, int]) -> tuple[Hyperplanes, Floats, tuple[float, ...]]:
    """Return hyperplanes, midpoints and the loss after each pass."""
    scaling = _scaling_of(parts, shape[1:], "refined")
    curve = parts["loss_curve"]
    if not isinstance(curve, list) or len(curve) < 2:
        raise ModelFileError("refined: loss_curve must be a list of two or more")
    bias = numbers_of(parts["bias"], "bias", shape[:1], unseen=-np.inf)
    weights, midpoints = (numbers_of(parts[name], name, shape) for name in ("weights", "midpoints"))
    planes = planes_of(scaling, weights, bias)
    return planes, midpoints, tuple(numbers_of(curve, "loss_curve", (len(curve),)).tolist())


def _scaling_of(parts: Fields, shape: tuple[int], what: str) -> Scaling:
    low, span = (numbers_of(parts[name], name, shape) for name in ("low", "span"))
    if (span < 0).any():
        raise ModelFileError(f"{what}: span must not be negative")
    return Scaling(low, span)


def _residuals(member: object, summary: Summary) -> Residuals | None:
    """Return what intervals of a model with interactions are scaled by."""
    if member is None:
        return None
    if summary.coding.ferns is None:
        raise ModelFileError("a model of numbers without interactions has no calibration")
    parts = members_of(member, RESIDUAL_MEMBERS, "calibration")
    sizes = parts["sizes"]
    length = len(sizes[0]) if isinstance(sizes, list) and sizes and isinstance(sizes[0], list) else 0
    if not length:
        raise ModelFileError("calibration: sizes must be a list of numbers per output")
    sizes, shares = (numbers_of(parts[name], name, (summary.n_targets, length)) for name in RESIDUAL_MEMBERS)
    if (sizes < 0).any() or (np.diff(sizes, axis=1) < 0).any():
        raise ModelFileError("calibration: sizes must rise from 0 or above")
    if (shares <= 0).any() or (shares >= 1).any() or (np.diff(shares, axis=1) <= 0).any():
        raise ModelFileError("calibration: shares must rise between 0 and 1")
    return Residuals(sizes, shares)


def _auto_text(auto: Auto) -> str:
    """Return what was chosen, and the lines beside the cells."""
    choice, lines = auto.choice, auto.lines
    text = line_text(
        {
            "weights": dict(choice.weights),
            "log_loss": dict(choice.log_loss),
            "n_ferns": choice.n_ferns,
            "n_held_out": choice.n_held_out,
        }
    )
    own = "null"
    if lines is not None:
        own = _object_text(
            {
                "weights": lines.weights,
                "midpoints": auto.midpoints,
                "low": lines.scaling.low,
                "span": lines.scaling.span,
                "values": auto.values,
            }
        )
    return f'{text[:-1]}, "lines": {own}}}'


def _auto(member: object, summary: Summary) -> Auto:
    coder = summary.coder
    if coder is None:
        raise ModelFileError("auto: the model has no bins")
    parts = members_of(member, AUTO_MEMBERS, "auto")
    choice = AutoChoice(
        _numbers_by_part(parts["weights"], "weights"),
        _numbers_by_part(parts["log_loss"], "log_loss"),
        *(_whole(parts[name], name) for name in ("n_ferns", "n_held_out")),
    )
    if parts["lines"] is None:
        return Auto(choice, None, np.zeros((summary.n_scores, coder.n_features)), np.zeros(0))
    lines = members_of(parts["lines"], LINE_MEMBERS, "auto: lines")
    shape = (summary.n_scores, coder.n_features)
    weights, midpoints = (numbers_of(lines[name], name, shape) for name in ("weights", "midpoints"))
    scaling = _scaling_of(lines, shape[1:], "auto")
    values = numbers_of(lines["values"], "values", (int(coder.offsets[coder.n_features]),))
    return Auto(choice, lines_of(scaling, weights, midpoints), midpoints, values)


def _numbers_by_part(member: object, name: str) -> dict[str, float]:
    own = object_of(member, f"auto: {name}")
    if not set(own) <= set(PARTS) or not all(type(value) in (int, float) for value in own.values()):
        raise ModelFileError(f"auto: {name} must have a number per part")
    return {part: float(value) for part, value in own.items()}


def _whole(member: object, name: str) -> int:
    if type(member) is not int or member < 0:
        raise ModelFileError(f"auto: {name} must be a whole number from 0 up")
    return member


def _calibration_text(scaling: TemperatureScaling | None) -> str:
    if scaling is None:
        return "null"
    parts = {"offsets": scaling.offsets, "precision": scaling.precision}
    text = _object_text(parts)
    return text.replace("{\n", f'{{\n    "inverse_temperature": {json.dumps(scaling.inverse)},\n', 1)


def _scaling(member: object, n_classes: int) -> TemperatureScaling | None:
    if member is None:
        return None
    parts = members_of(member, CALIBRATION_MEMBERS, "calibration")
    (inverse,) = numbers_of([parts["inverse_temperature"]], "inverse_temperature", (1,))
    offsets = numbers_of(parts["offsets"], "offsets", (n_classes,))
    precision = numbers_of(parts["precision"], "precision", (n_classes + 1,))
    if inverse < 0 or (precision < 0).any():
        raise ModelFileError("calibration: temperature and precision must not be negative")
    return TemperatureScaling(float(inverse), offsets, precision)


def _summary(members: Params, n_bytes: int) -> Summary:
    parts = dict(object_of(members["summary"], "the summary"))
    noise, products = parts.pop("noise", None), parts.pop("products", None)
    parts = members_of(parts, SUMMARY_MEMBERS, "the summary")
    classes = _classes(members["classes"], n_bytes)
    features = members["features"]
    names = features if isinstance(features, list) else None
    if names is not None and not all(type(name) is str for name in names):
        raise ModelFileError("features: a name is not text")
    n_features = features if names is None else len(names)
    if type(n_features) is not int or n_features < 1:
        raise ModelFileError("features must be a list of names or their number")
    coder = None if members["bins"] is None else coder_of(members["bins"], n_features)
    shape = (len(classes), coding_of(coder, n_features).width)
    shapes = {"counts": shape[:1], "count_tails": shape[:1], "low": shape[1:], "high": shape[1:]}
    unseen = {"low": np.inf, "high": -np.inf}
    arrays: Fields = {
        name: None if part is None else numbers_of(part, name, shapes.get(name, shape), unseen.get(name))
        for name, part in parts.items()
    }
    if products is not None:
        if type(products) is not str:
            raise ModelFileError("the summary: products must be text")
        arrays["products"] = unpacked_products(b64decode(products, validate=True), shape[1])
    summary = Summary.from_parts(classes=classes, feature_names=names, coder=coder, **arrays)
    return with_noise(summary, noise)


def _summary_part(summary: Summary, name: str) -> Floats | None:
    """Return a part as it is written: the ends of cells are known."""
    if name in summary.coding.known_ends():
        return None
    part: Floats | None = getattr(summary, name)
    return part
