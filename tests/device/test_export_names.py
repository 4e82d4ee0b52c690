"""No name and no label, however hostile, changes what generated code says or keeps it from compiling."""

import re
import subprocess

import numpy as np
import pytest
from arduino_core import CORE, FLAGS, build_sketch

from sefr import SEFRClassifier
from sefr.device import export
from sefr.device.names import c_text, distinct, identifier

ROWS = np.array([[1, 900, 30], [2, 50, 10], [7, 3, 200], [9, 80, 100], [4, 5, 6], [1000, 7, 9]])
HOSTILE = [
    "sefr",
    "sefr_model",
    "SEFR",
    "model",
    "learn",
    "setup",
    "loop",
    "record",
    "Serial",
    "EEPROM",
    "main",
]
HOSTILE += [
    "int",
    "class",
    "F_CPU",
    "HIGH",
    "A0",
    "B1",
    "PI",
    "string",
    "Arduino",
    "stdint",
    "EEPROM.h",
    "DEC",
]
HOSTILE += ["7up", "__x__", "_", "", "für", "../../etc", "a/b", "x" * 300, "\n", "*/ int a; /*", "PROGMEM"]
TOKENS = [
    "*/",
    "/*",
    "*\\",
    "\\*",
    "//",
    "\\",
    "\\\n",
    "\n",
    "\r",
    '"',
    "'",
    "??/",
    "??'",
    "<%",
    "%>",
    "%:",
    "#",
]
TOKENS += [
    "#define x",
    "#include </etc/passwd>",
    "int pwned = 7;",
    "}",
    "{",
    ";",
    "(",
    ")",
    "0",
    "\0",
    "\x1b[2J",
]
TOKENS += [
    " ",
    "ü",
    "\u2028",
    "\u202e",
    "\ud800",
    "\\u002a/",
    "\\x2a",
    "\\052/",
    "*",
    "/",
    "%s%n",
    "_Pragma",
    "`",
]


def model(labels):
    return SEFRClassifier().fit(ROWS, np.array(labels)[[0, 1, 2, 0, 1, 2]])


def texts(path):
    return [path] if path.is_file() else [*path.glob("*.h"), *path.glob("*.ino")]


def tokens(file, name):
    """What a compiler reads: no comments (by gcc), empty strings, the name and the class names made one."""
    command = ["gcc", "-fpreprocessed", "-dD", "-E", "-P", "-x", "c++", str(file)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text = re.sub(r"(_state\[\][^{]*\{)[^}]*\}", r"\1}", text)  # the id of the labels is in the state
    text = re.sub(r"\b\d+UL\b", "0UL", text)
    words = re.findall(r'"text"|\w+|[^\w\s]', re.sub(r'"(\\.|[^"\\])*"', '"text"', text))
    prefix = re.compile(rf"^({re.escape(name)}|{re.escape(name.upper())})(?=_|$)")
    return [re.sub(r"^N_is_\w+$", "N_is", prefix.sub("N", word)) for word in words]


TARGETS = [("c", False), ("generated", False), ("arduino", False), ("arduino", True)]


def written(tmp_path, name, labels, target, learn):
    path = export(model(labels), target, tmp_path, name=name, learn=learn)
    return {file.suffix: tokens(file, path.stem) for file in texts(path)}


@pytest.mark.parametrize(("target", "learn"), TARGETS)
def test_the_injection_that_was_seen(tmp_path, target, learn):
    labels = ["*\\ int pwned = 7; \\*", "b", "c"]
    path = export(model(labels), target, tmp_path, learn=learn)
    for file in texts(path):
        assert "pwned" not in " ".join(tokens(file, path.stem)).replace("N_is", "")


@pytest.mark.slow
@pytest.mark.parametrize(("target", "learn"), TARGETS)
def test_labels_and_names_of_c_tokens_change_no_token(tmp_path, target, learn, rng):
    """Token by token, what a compiler reads is what it reads for a harmless name."""
    expected = written(tmp_path / "plain", "plain", ["a", "b", "c"], target, learn)
    for i in range(60):
        labels = [f"{k}" + "".join(rng.choice(TOKENS, rng.integers(1, 7))) for k in range(3)]
        name = "".join(rng.choice(TOKENS, rng.integers(1, 5)))
        assert written(tmp_path / str(i), name, labels, target, learn) == expected, (name, labels)


def test_text_is_harmless_whatever_comes(rng):
    for _ in range(3000):
        text = "".join(map(chr, rng.integers(0, 0x250, rng.integers(0, 30))))
        assert re.fullmatch(r"(\\[0-7]{3}|[A-Za-z0-9 _.,:;+=()-])*", c_text(text))
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", identifier(text))
    assert c_text('für "x"') == r"f\303\274r \042x\042"
    assert c_text("\x1b[2J\n") == r"\0771332J\077".replace("1332J", r"\1332J")


def test_names_become_identifiers():
    assert [identifier(text) for text in ("a b", "7up", "für", "int", "", "SEFR_x")] == [
        "a_b",
        "model_7up",
        "f_r",
        "model_int",
        "model",
        "model_SEFR_x",
    ]
    assert distinct(["a", "a", "a_2", "a"]) == ["a", "a_2", "a_2_2", "a_3"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_compile_in_c(tmp_path, name):
    for target in ("c", "generated"):
        path = export(model(["int", "*/", "int"[::-1]]), target, tmp_path, name=name)
        assert path.parent == tmp_path
        program = tmp_path / "program.c"
        program.write_text(
            f"#include <string.h>\n#include <math.h>\n#include <stdio.h>\n#include <stdint.h>\n"
            f'#include "{path.name}"\nint main(void) {{ {path.stem}_value r[3]; memset(r, 0, sizeof r); '
            f"return {path.stem}_classify(r); }}\n"
        )
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-I", str(tmp_path), "-fsyntax-only"]
        done = subprocess.run(["gcc", *flags, str(program)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def taken_prefixes(path):
    """Names in the real core that end as one of ours: their beginnings would collide if used as a name."""
    ours = set()
    for file in texts(path):
        ours |= set(re.findall(rf"\b{path.stem}(_\w+)\b", file.read_text(), re.IGNORECASE))
    source = "#include <Arduino.h>\n#include <EEPROM.h>\n"
    command = ["avr-g++", *FLAGS, "-std=gnu++11", "-E", "-dD", "-x", "c++", "-"]
    core = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    words = set(re.findall(r"[A-Za-z_]\w+", core))
    return sorted({word[: -len(end)] for end in ours for word in words if word.endswith(end)} - {"", "_"})


@pytest.mark.slow
@pytest.mark.needs("avr", "arduino")
@pytest.mark.parametrize("learn", [False, True])
def test_hostile_names_compile_with_the_real_core(tmp_path, learn):
    """The defaults, words of the core and the library, and beginnings of names that end as ours do."""
    clf = model(["Serial", "setup", "HIGH"])
    default = export(clf, "arduino", tmp_path / "default", learn=learn)
    build_sketch(default, tmp_path)
    names = HOSTILE[:12] if CORE.exists() else []
    for name in [*names, *taken_prefixes(default)]:
        build_sketch(export(clf, "arduino", tmp_path / "named", name=name, learn=learn), tmp_path)
