"""What the library takes of an Arduino Uno: cycles (simavr counts them exactly), flash and SRAM."""

import dataclasses
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
from device_program import FOLDER, HERE, built
from device_reference import OK, Reference

from sefr import SEFRClassifier
from sefr.device import BOARDS, BuildError, library, simulate
from sefr.device.board import Simavr

pytestmark = pytest.mark.needs("avr")

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


def measure(X, y, mode, kernels=True, optimise="-Os", margin=0, switches=()):
    """Return the cycles of reset, learning, solving, classifying (RAM, weights in flash), after checking the
    results."""
    reference = taught(X, y)
    image = built(
        "uno",
        "cycles.c",
        (f"MODE={mode}", f"MARGIN={margin}UL", *switches),
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
    [(STREAM, False, 275_000), (STREAM, True, 158_000), (SPARSE, True, 106_500), (BATCH, True, 77_500)],
    ids=["portable", "streaming", "skipping zeros", "batch"],
)
def test_training_cycles(sample, mode, kernels, most):
    assert measure(*sample, mode, kernels)["train"] <= most


@pytest.mark.parametrize(
    ("what", "kernels", "most"),
    [("classify", False, 2050), ("classify", True, 1206), ("fixed", True, 1220)],
    ids=["portable", "weights in RAM", "weights in flash"],
)
def test_classifying_cycles(sample, what, kernels, most):
    assert measure(*sample, STREAM, kernels)[what] <= most


def test_not_knowing_costs_at_most_20_cycles(sample):
    """Weights in flash: beside a library without the test. In RAM: beside a model without a margin."""
    without = measure(*sample, STREAM, switches=("SEFR_NO_UNKNOWN",))
    plain, asked = (measure(*sample, STREAM, margin=margin) for margin in (0, 1))
    assert asked["fixed"] - without["fixed"] <= 20
    assert asked["classify"] - plain["classify"] <= 20


def test_generated_code_cycles(sample):
    X, y = sample
    clf = SEFRClassifier(scale=(0, 255)).fit(X, y)
    assert simulate(clf, X, "uno", target="generated").per_record <= 700


@pytest.mark.parametrize("features", [1, 2, 3, 5, 11, 13, 16, 31, 48, 129, 130, 247, 256, 270])
def test_kernels_equal_the_portable_code(features, rng):
    """Rows of every remainder of the unrolled loops, and past the kernels' limits of 129, 240 and 255
    features."""
    X = rng.integers(0, 256, (24, features)) * (rng.random((24, features)) < 0.7)
    X[0], X[1] = 255, 0
    y = (np.arange(24) % 3 == 0).astype(np.uint8)
    for mode in (STREAM, SPARSE, BATCH):
        measure(X, y, mode)
    measure(X, y, STREAM, kernels=False)


def test_kernels_round_halves_away_from_zero():
    X = np.array([[253, 255, 0, 255], [255, 253, 255, 0]])
    for mode in (STREAM, BATCH):
        measure(X, np.array([0, 1]), mode)
    assert taught(X, np.array([0, 1])).weights[0] == [1, -1, 127, -127]


@pytest.mark.parametrize("counts", [(128, 128), (200, 100), (256, 256), (300, 290), (600, 20)])
def test_kernels_at_the_guard(counts, rng):
    """Counts where the 24-bit weights give way to the portable ones, and where the sums are halved on the
    way."""
    y = np.repeat([0, 1], counts).astype(np.uint8)
    rng.shuffle(y)
    X = rng.integers(0, 256, (len(y), 5))
    X[:, 0] = 255
    for mode in (STREAM, SPARSE, BATCH):
        measure(X, y, mode)


BAD_LABELS = """#include "board.h"
#include "sefr.h"
SEFR_MODEL(model, 3, CLASSES)
static const uint8_t rows[ROWS][3] SEFR_FLASH = {{1, 2, 3}};
static const uint8_t labels[ROWS] SEFR_FLASH = {[0] = 1, [ROWS - 1] = CLASSES};
int main(void) {
    uint8_t i;
    static const uint8_t one[3] = {9, 8, 7};
    sefr_reset(&model);
    sefr_learn(&model, one, 0);
    sefr_learn(&model, one, 1);
    sefr_solve(&model);
    board_put(sefr_learn_batch_P(&model, rows[0], labels, ROWS));
    board_put(sefr_learn_batch_P(&model, rows[0], labels, 0));
    for (i = 0; i < 6; i++) board_put((uint8_t)model.sums[i]);
    board_put((uint8_t)model.counts[0]);
    board_put((uint8_t)model.counts[1]);
    board_put(model.fresh);
    return 0;
}
"""


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rows", [7, 100, 101, 250])
def test_a_batch_with_a_bad_label_changes_nothing(rows, classes, kernels, tmp_path):
    (tmp_path / "program.c").write_text(BAD_LABELS)
    sources = [tmp_path / "program.c", library() / "sefr.c", library() / "sefr_avr.S"]
    defines = [f"ROWS={rows}", f"CLASSES={classes}"]
    image = BOARDS["uno"].build(sources, tmp_path, includes=[library()], defines=defines, kernels=kernels)
    assert list(BOARDS["uno"].run(image).output) == [1, OK, 9, 8, 7, 9, 8, 7, 1, 1, 1]


@pytest.mark.parametrize(("features", "classes"), [(480, 2), (64, 10)])
def test_what_two_kilobytes_learn(features, classes, rng):
    """480 binary features, 64 x 10 classes: exact, and the stack never meets the data."""
    X = rng.integers(0, 256, (30 + classes, features)) * (rng.random((30 + classes, features)) < 0.5)
    y = np.arange(len(X)) % classes
    reference = taught(X, y, classes)
    defines = (f"FEATURES={features}", f"CLASSES={classes}", f"STREAM={int(classes == 2)}")
    defines += (
        "SEFR_STACK_BYTES=88UL",
        "SEFR_NO_RANGES",
        "SEFR_NO_UNKNOWN",
        "SEFR_NO_STATE",
        "SEFR_NO_BALANCED",
    )
    defines += ("SEFR_TWO_CLASSES",) if classes == 2 else ()
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
        ("SEFR_MODEL", 350, 2, True),
        ("SEFR_MODEL", 352, 2, False),
        ("SEFR_LEAN_MODEL", 88, 10, False),
        ("SEFR_LEAN_MODEL", 64, 10, True),
        ("SEFR_RANGE_MODEL", 250, 2, True),
        ("SEFR_RANGE_MODEL", 256, 2, False),
        ("SEFR_LEAN_MODEL", 4, 44, False),
        ("SEFR_LEAN_MODEL", 4, 1, False),
    ],
)
def test_too_large_a_model_does_not_compile(tmp_path, kind, features, classes, fits):
    source = tmp_path / "program.c"
    source.write_text(
        f'#include "sefr.h"\n{kind}(m, {features}, {classes})\nint main(void) {{ return sefr_reset(&m); }}\n'
    )
    sources = [source, library() / "sefr.c", library() / "sefr_avr.S"]
    if fits:
        assert BOARDS["uno"].build(sources, tmp_path, includes=[library()]).data <= 2048  # the stack is in it
    else:
        with pytest.raises(BuildError, match=r"m_does_not_fit.*negative"):
            BOARDS["uno"].build(sources, tmp_path, includes=[library()])


@pytest.mark.needs("arm")
def test_the_ram_of_any_board_can_be_named(tmp_path):
    source = tmp_path / "program.c"
    source.write_text('#include "sefr.h"\nSEFR_MODEL(m, 100, 2)\nint main(void) { return sefr_reset(&m); }\n')
    board, sources = BOARDS["cortex-m0"], [source, library() / "sefr.c"]
    board.build(sources, tmp_path, includes=[library()], defines=["SEFR_RAM_BYTES=1024"])
    with pytest.raises(BuildError, match="does_not_fit"):
        board.build(sources, tmp_path, includes=[library()], defines=["SEFR_RAM_BYTES=512"])


SMALLEST = (
    "SEFR_TWO_CLASSES",
    "SEFR_NO_RANGES",
    "SEFR_NO_LEAN",
    "SEFR_NO_UNKNOWN",
    "SEFR_NO_CORRECT",
    "SEFR_NO_SPARSE",
    "SEFR_NO_STEPS",
)
TINY = dataclasses.replace(
    BOARDS["uno"], name="attiny85", flags=("-mmcu=attiny85",), runner=Simavr("attiny85"), ram=512, flash=8192
)


def test_what_not_knowing_costs(sample):
    """What a margin costs where one is asked for; unused, it is in the limits above."""
    plain, asking = (measure(*sample, STREAM, margin=margin) for margin in (0, 1))
    assert asking["classify"] - plain["classify"] <= 20
    assert asking["fixed"] - plain["fixed"] <= 140


@pytest.mark.parametrize(
    "bias", [-(1 << 30), -8_400_000, -4_194_305, -4_194_304, 4_194_303, 4_194_304, 9_000_000]
)
def test_a_bias_of_any_size_decides_as_elsewhere(bias, rng):
    """The kernel adds in 24 bits; a bias beyond them, as a refined model may have, must decide alone."""
    X = rng.integers(0, 256, (4, 129))
    X[0], X[1] = 255, 0
    reference = taught(X, np.array([0, 1, 0, 1]))
    for sign in (1, -1):
        reference.weights, reference.bias = [[127 * sign] * 129], [bias]
        source = data_header(X, np.zeros(4, int), reference)
        run = BOARDS["uno"].run(built("uno", "cycles.c", ("MODE=0",), data=source))
        answers = np.frombuffer(run.output[129 + 4 :], np.uint8).reshape(-1, 3)
        assert answers[:, 2].tolist() == [reference.classify(row) for row in X.tolist()]


@pytest.mark.parametrize(
    ("models", "others", "fits"),
    [((300,), 180, True), ((345,), 180, False), ((170, 170), 0, True), ((180, 180), 0, False)],
)
def test_a_program_that_leaves_no_stack_does_not_link(tmp_path, models, others, fits):
    """The models of a program, and what Serial takes, are counted together."""
    source = tmp_path / "program.c"
    lines = ['#include "sefr.h"', f"volatile uint8_t serial[{others + 1}];"]
    lines += [f"SEFR_MODEL(m{i}, {features}, 2)" for i, features in enumerate(models)]
    calls = " ".join(f"serial[0] += sefr_reset(&m{i});" for i in range(len(models)))
    source.write_text("\n".join(lines) + f"\nint main(void) {{ {calls} return serial[{others}]; }}\n")
    sources = [source, library() / "sefr.c", library() / "sefr_avr.S"]
    if fits:
        assert BOARDS["uno"].build(sources, tmp_path, includes=[library()]).data <= 2048
    else:
        with pytest.raises(BuildError, match=r"noinit' is not within region `data'"):
            BOARDS["uno"].build(sources, tmp_path, includes=[library()])


def small_program(board, parts, switches=(), features=40, extra=()):
    """Build small.c; the library is the only large thing in it."""
    folder = Path(tempfile.mkdtemp(dir=FOLDER.name))
    sources = [HERE / "small.c", library() / "sefr.c", library() / "sefr_avr.S"]
    defines = (f"PARTS={parts}", f"FEATURES={features}", *switches, *extra)
    return board.build(sources, folder, defines=defines, includes=[library()])


def talk_to(board, image, X, y, asked):
    learned = b"".join(bytes([label]) + bytes(row) for row, label in zip(X.tolist(), y.tolist(), strict=True))
    return board.run(
        image, bytes([len(X)]) + learned + bytes([len(asked)]) + asked.astype(np.uint8).tobytes()
    )


@pytest.mark.parametrize("features", [40, 45])
def test_an_attiny85_learns_and_saves(features, rng):
    """8 KB of flash, 512 bytes of RAM and of EEPROM: the answers are the reference's, and stack is left."""
    X, y = rng.integers(0, 256, (30, features)), np.arange(30) % 2
    X[:, 0] = 200 * y
    reference = taught(X, y)
    image = small_program(TINY, 2, SMALLEST, features)
    assert image.flash <= 8192
    run = talk_to(TINY, image, X, y, X[:20])
    assert list(run.output[:2]) == [OK, OK]
    assert list(run.output[2:]) == [reference.classify(row) for row in X[:20].tolist()]
    assert run.sram <= 512 - 8


def test_more_features_than_the_eeprom_holds_do_not_compile():
    small_program(BOARDS["uno"], 2, features=120)
    with pytest.raises(BuildError, match=r"model_state_does_not_fit.*negative"):
        small_program(BOARDS["uno"], 2, features=121)


def test_the_stack_that_is_left_is_told(rng):
    X = rng.integers(0, 256, (8, 40))
    uno = BOARDS["uno"]
    large = talk_to(uno, small_program(uno, 1, features=40, extra=("STACK",)), X, np.arange(8) % 2, X[:2])
    assert large.output[-1] == 255
    X = rng.integers(0, 256, (8, 290))
    image = small_program(uno, 1, features=290, extra=("STACK", "SEFR_STACK_BYTES=200UL"))
    tight = talk_to(uno, image, X, np.arange(8) % 2, X[:2])
    assert abs(tight.output[-1] - (2048 - tight.sram)) <= 8
    assert 0 < tight.output[-1] < 200


def flash_table():
    """The bytes of flash of each switch, as README.md has them."""
    uno = BOARDS["uno"]
    everything = {parts: small_program(uno, parts).flash for parts in (3, 1, 2)}
    lines = ["| left out | classify with weights in flash | learn | learn and save |", "|---|---|---|---|"]
    for name, switches in [
        ("nothing", ()),
        *((f"`{s}`", (s,)) for s in SMALLEST),
        ("all of these", SMALLEST),
    ]:
        sizes = everything if not switches else {p: small_program(uno, p, switches).flash for p in (3, 1, 2)}
        lines.append(f"| {name} | " + " | ".join(f"{sizes[parts]:,}" for parts in (3, 1, 2)) + " |")
    all_of_these = (*SMALLEST, "SEFR_PORTABLE")
    lines.append(
        "| and the kernels (`SEFR_PORTABLE`) | "
        + " | ".join(f"{small_program(uno, parts, all_of_these).flash:,}" for parts in (3, 1, 2))
        + " |"
    )
    return lines


def test_the_flash_of_each_switch_is_as_the_readme_says():
    """Run this file as a program to print the table anew."""
    lines = flash_table()
    assert int(lines[-2].split("|")[3].replace(",", "")) <= 6500
    readme = library().parent / "README.md"
    if not readme.exists():
        pytest.skip("the README is in the source tree only")
    assert "\n".join(lines) in readme.read_text()


def test_every_program_is_used():
    """A C program without a test would rot."""
    tests = "".join(file.read_text() for file in HERE.glob("*.py"))
    unused = [file.name for file in HERE.glob("*.c") if f'"{file.name}"' not in tests]
    assert unused == []


if __name__ == "__main__":
    print("\n".join(flash_table()))
