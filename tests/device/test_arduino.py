"""The examples and the exported sketches build with the real Arduino core, and fit an Uno."""

import numpy as np
import pytest
from arduino_core import build_sketch, compile_all, link
from sklearn.datasets import load_digits, load_iris

from sefr import SEFRClassifier
from sefr.device import export, library

EXAMPLES = library().parent / "examples" if library().name == "src" else None

pytestmark = [pytest.mark.needs("avr", "arduino"), pytest.mark.slow]


@pytest.mark.parametrize("name", ["LearnOnDevice", "ClassifyOnly", "ESP32Soil"])
def test_examples_build(tmp_path, name):
    if EXAMPLES is None:
        pytest.skip("the examples are in the source tree only")
    sources = [EXAMPLES / name / f"{name}.ino", *library().glob("*.c"), library() / "sefr_avr.S"]
    link(compile_all(sources, tmp_path, ["-I", str(library())]), tmp_path)


@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("data", ["iris", "digits", "adc"])
def test_exported_sketches_build(tmp_path, data, learn, rng):
    if data == "adc":
        X, y = rng.integers(0, 1024, (60, 8)), np.arange(60) % 2
    else:
        X, y = (load_iris if data == "iris" else load_digits)(return_X_y=True)
    if data == "digits" and learn:
        X, y = X[y < 3][:, 8:56], y[y < 3]  # two states of 64 features are more than an EEPROM of 1,024 bytes
    path = export(SEFRClassifier().fit(X, y), "arduino", tmp_path, name=f"my_{data}", learn=learn)
    build_sketch(path, tmp_path)
