"""Recordings for journeys: made by formulas here, or those of the UEA and UCR archives in the wheel of aeon.

No recording of others is part of the tests: where aeon is installed (pip install --no-deps aeon) its sets are
read from there, else the made ones serve alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

SOURCES = [
    "made",
    pytest.param(
        "aeon",
        marks=pytest.mark.skipif(
            find_spec("aeon") is None, reason="its recordings are in the wheel: pip install --no-deps aeon"
        ),
    ),
]


@dataclass(frozen=True)
class Recordings:
    """Codes of a 10-bit converter: gestures (n, 361) of one axis, motions (n, 3, 100) of three."""

    gestures: np.ndarray
    gesture_names: np.ndarray  # shake, circle
    motions: np.ndarray
    motion_names: np.ndarray  # Walking, Badminton


def recordings(source: str) -> Recordings:
    """Return recordings, those of a class in both halves."""
    return made() if source == "made" else of_aeon()


def made() -> Recordings:
    """Return recordings by formulas, the same on every machine; nobody moved."""
    rng = np.random.default_rng(30)
    names = np.array((["shake"] * 5 + ["circle"] * 5) * 2)
    gestures = np.stack([_gesture(rng, name) for name in names])
    activities = np.array((["Walking"] * 10 + ["Badminton"] * 10) * 2)
    motions = np.stack([_motion(rng, name) for name in activities])
    return Recordings(gestures, names, motions, activities)


def _codes(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(512 + values), 0, 1023).astype(np.int16)


def _gesture(rng: np.random.Generator, name: str) -> np.ndarray:
    """Gravity on one axis; a shake is quick and jerky, a circle slow and round."""
    time = np.arange(361) / 50
    speed = rng.uniform(4.5, 6) if name == "shake" else rng.uniform(0.8, 1.2)
    angle = 2 * np.pi * speed * time + rng.uniform(0, 6)
    wave = np.sign(np.sin(angle)) * np.abs(np.sin(angle)) ** 0.5 if name == "shake" else np.sin(angle)
    return _codes(150 + rng.uniform(60, 110) * wave + rng.normal(0, 6, 361))


def _motion(rng: np.random.Generator, name: str) -> np.ndarray:
    """Walking swings evenly; badminton is a stroke now and then, of some axes more than others."""
    time = np.arange(100) / 10
    phase, size = rng.uniform(0, 6), rng.uniform(40, 80)
    if name == "Walking":
        angle = 2 * np.pi * rng.uniform(0.9, 1.1) * time + phase
        signal = size * np.stack([np.sin(angle), 0.6 * np.cos(angle), 0.4 * np.sin(2 * angle)])
    else:
        strokes = (np.sin(2 * np.pi * 0.35 * time + phase) > 0.7) * rng.normal(0, 1, (3, 100))
        signal = 2.5 * size * strokes * np.array([[1.0], [0.5], [0.8]])
    return _codes(signal + rng.normal(0, 8, (3, 100)))


def of_aeon() -> Recordings:
    """Return shakes and circles of PickupGestureWiimoteZ, walking and badminton of BasicMotions."""
    motions, activities = _both("BasicMotions", "BasicMotions")
    gestures, numbers = _both("PickupGestureWiimoteZ", "PickupGestureWiimoteZ_eq")
    names = np.array([{"2": "shake", "7": "circle"}.get(number, "") for number in numbers])
    kept = np.isin(activities, ["Walking", "Badminton"])
    order = np.argsort(activities[kept] != "Walking", kind="stable")
    halves = np.concatenate([order[:20].reshape(2, 10), order[20:].reshape(2, 10)], axis=1).ravel()
    chosen = np.flatnonzero(kept)[halves]
    return Recordings(
        _codes(150 * gestures[names != "", 0]),
        names[names != ""],
        _codes(20 * motions[chosen, :3]),
        activities[chosen],
    )


def _both(folder: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and the test part of a set."""
    spec = find_spec("aeon")
    assert spec is not None
    assert spec.origin is not None
    place = Path(spec.origin).parent / "datasets" / "data" / folder
    signals, labels = [], []
    for part in ("TRAIN", "TEST"):
        text = (place / f"{name}_{part}.ts").read_text(encoding="utf-8")
        for line in text[text.lower().index("@data") :].splitlines()[1:]:
            if line.strip():
                *axes, label = line.split(":")
                signals.append([axis.split(",") for axis in axes])
                labels.append(label.strip())
    return np.array(signals, float), np.array(labels)
