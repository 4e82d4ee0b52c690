"""What the library takes of an Arduino Uno: cycles (simavr counts them exactly), flash and SRAM."""

import struct

import numpy as np
import pytest
from device_program import HERE, built, needs_tools
from device_reference import OK, Reference

from sefr import SEFRClassifier
from sefr.device import BOARDS, BuildError, library, simulate

STREAM, SPARSE, BATCH = range(3)


def braces(values):
    return "{" + ",".join(map(str, values)) + "}"


def data_header(X, y, reference):
    rows = ",\n".join(braces(row) for row in X.tolist())
    return f"""#include "sefr.h"
#define ROWS {len(X)}
#define FEATURES {X.shape[1]}
#define WEIGHTS {braces(reference.weights[0])}
#define BIAS {reference.bias[0]}L
static const uint8_t rows[ROWS][FEATURES] SEFR_FLASH = {{{rows}}};
static const uint8_t labels[ROWS] SEFR_FLASH = {braces(y.tolist())};
"""


def taught(X, y, classes=2):
    reference = Reference(X.shape[1], classes)
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        reference.learn(row, label)
    assert reference.solve() == OK
    return reference


def measure(X, y, mode, kernels=True, optimise="-Os"):
    """Return the cycles of reset, learning, solving, classifying (RAM, weights in flash), after checking the
    results."""
    reference = taught(X, y)
    image = built(
        "uno",
        "cycles.c",
        (f"MODE={mode}",),
        kernels=kernels,
        optimise=optimise,
        data=data_header(X, y, reference),
    )
    run = BOARDS["uno"].run(image)
    m = X.shape[1]
    assert np.frombuffer(run.output[:m], np.int8).tolist() == reference.weights[0]
    assert struct.unpack("<i", run.output[m : m + 4])[0] == reference.bias[0]
    answers = np.frombuffer(run.output[m + 4 :], np.uint8).reshape(-1, 3)
    assert (answers == [[reference.classify(row)] for row in X.tolist()]).all()
    assert run.sram < 2048
    spent = np.diff(run.marks)
    reset, learn, solve, _, classify, fixed = spent[1:7] - spent[0]
    return {"train": reset + learn + solve, "classify": classify, "fixed": fixed}


@pytest.fixture
def sample(paper_data):
    """The authors' 100 x 100 sample as their board saw it: 256 stored in a byte became 0."""
    data = paper_data("gisette_uno_120x119")
    return data["X"][:100, :100].astype(np.uint8), data["y"][:100].astype(np.uint8)


@pytest.mark.parametrize(
    ("mode", "kernels", "most"),
    [(STREAM, False, 275_000), (STREAM, True, 158_000), (SPARSE, True, 106_000), (BATCH, True, 85_000)],
    ids=["portable", "streaming", "skipping zeros", "batch"],
)
@needs_tools
def test_training_cycles(sample, mode, kernels, most):
    assert measure(*sample, mode, kernels)["train"] <= most


@pytest.mark.parametrize(
    ("what", "kernels", "most"),
    [("classify", False, 2000), ("fixed", True, 1190)],
    ids=["portable", "weights in flash"],
)
@needs_tools
def test_classifying_cycles(sample, what, kernels, most):
    assert measure(*sample, STREAM, kernels)[what] <= most


@needs_tools
def test_generated_code_cycles(sample):
    X, y = sample
    clf = SEFRClassifier(scale=(0, 255)).fit(X, y)
    assert simulate(clf, X, "uno", target="generated").per_record <= 700


@pytest.mark.parametrize("features", [1, 2, 3, 5, 11, 13, 16, 31, 48, 129, 130, 247, 256, 270])
@needs_tools
def test_kernels_equal_the_portable_code(features, rng):
    """Rows of every remainder of the unrolled loops, and past the kernels' limits of 129, 240 and 255
    features."""
    X = rng.integers(0, 256, (24, features)) * (rng.random((24, features)) < 0.7)
    X[0], X[1] = 255, 0
    y = (np.arange(24) % 3 == 0).astype(np.uint8)
    for mode in (STREAM, SPARSE, BATCH):
        measure(X, y, mode)
    measure(X, y, STREAM, kernels=False)


@needs_tools
def test_kernels_round_halves_away_from_zero():
    X = np.array([[253, 255, 0, 255], [255, 253, 255, 0]])
    for mode in (STREAM, BATCH):
        measure(X, np.array([0, 1]), mode)
    assert taught(X, np.array([0, 1])).weights[0] == [1, -1, 127, -127]


@pytest.mark.parametrize("counts", [(128, 128), (200, 100), (256, 256), (300, 290), (600, 20)])
@needs_tools
def test_kernels_at_the_guard(counts, rng):
    """Counts where the 24-bit weights give way to the portable ones, and where the sums are halved on the
    way."""
    y = np.repeat([0, 1], counts).astype(np.uint8)
    rng.shuffle(y)
    X = rng.integers(0, 256, (len(y), 5))
    X[:, 0] = 255
    for mode in (STREAM, SPARSE, BATCH):
        measure(X, y, mode)


@pytest.mark.parametrize(("features", "classes"), [(480, 2), (64, 10)])
@needs_tools
def test_what_two_kilobytes_learn(features, classes, rng):
    """480 binary features, 64 x 10 classes: exact, and the stack never meets the data."""
    X = rng.integers(0, 256, (30 + classes, features)) * (rng.random((30 + classes, features)) < 0.5)
    y = np.arange(len(X)) % classes
    reference = taught(X, y, classes)
    defines = (f"FEATURES={features}", f"CLASSES={classes}", f"STREAM={int(classes == 2)}")
    image = built("uno", "memory.c", defines)
    learned = b"".join(bytes([label]) + bytes(row) for row, label in zip(X.tolist(), y.tolist(), strict=True))
    count = struct.pack("<H", len(X))
    asked = X[:12]
    run = BOARDS["uno"].run(
        image, count + learned + struct.pack("<H", len(asked)) + asked.astype(np.uint8).tobytes()
    )
    rows = len(reference.bias)
    assert struct.unpack(f"<{rows}i", run.output[: 4 * rows]) == tuple(reference.bias)
    assert list(run.output[4 * rows :]) == [reference.classify(row) for row in asked.tolist()]
    assert run.sram <= 2048 - 4, "no byte between data and stack was left alone"


@pytest.mark.parametrize(
    ("kind", "features", "classes", "fits"),
    [
        ("SEFR_MODEL", 353, 2, True),
        ("SEFR_MODEL", 354, 2, False),
        ("SEFR_LEAN_MODEL", 88, 10, False),
        ("SEFR_LEAN_MODEL", 64, 10, True),
        ("SEFR_RANGE_MODEL", 252, 2, True),
        ("SEFR_RANGE_MODEL", 256, 2, False),
        ("SEFR_LEAN_MODEL", 4, 44, False),
        ("SEFR_LEAN_MODEL", 4, 1, False),
    ],
)
@needs_tools
def test_too_large_a_model_does_not_compile(tmp_path, kind, features, classes, fits):
    source = tmp_path / "program.c"
    source.write_text(
        f'#include "sefr.h"\n{kind}(m, {features}, {classes})\nint main(void) {{ return sefr_reset(&m); }}\n'
    )
    sources = [source, library() / "sefr.c", library() / "sefr_avr.S"]
    if fits:
        assert BOARDS["uno"].build(sources, tmp_path, includes=[library()]).data <= 2048 - 256
    else:
        with pytest.raises(BuildError, match=r"m_does_not_fit.*negative"):
            BOARDS["uno"].build(sources, tmp_path, includes=[library()])


@needs_tools
def test_the_ram_of_any_board_can_be_named(tmp_path):
    source = tmp_path / "program.c"
    source.write_text('#include "sefr.h"\nSEFR_MODEL(m, 100, 2)\nint main(void) { return sefr_reset(&m); }\n')
    board, sources = BOARDS["cortex-m0"], [source, library() / "sefr.c"]
    board.build(sources, tmp_path, includes=[library()], defines=["SEFR_RAM_BYTES=1024"])
    with pytest.raises(BuildError, match="does_not_fit"):
        board.build(sources, tmp_path, includes=[library()], defines=["SEFR_RAM_BYTES=512"])


def test_every_program_is_used():
    """A C program without a test would rot."""
    tests = "".join(file.read_text() for file in HERE.glob("*.py"))
    unused = [file.name for file in HERE.glob("*.c") if f'"{file.name}"' not in tests]
    assert unused == []
