"""The figures that the documents quote one by one: cycles on an Uno, instructions on Cortex-M.

Writes benchmarks/device/figures.csv. The programs are those of the tests, which also check the results.
"""

import csv
import sys
import tempfile
from pathlib import Path

import numpy as np

from sefr import SEFRClassifier
from sefr.device import BOARDS, library, simulate

from . import run as machine
from .sets import uno_sample

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / "tests"), str(HERE.parents[1] / "tests" / "device")]
NORMAL = """#include "board.h"
#include "sefr_normal.h"
SEFR_NORMAL(normal, 32)
int main(void) {
    static uint8_t record[32];
    uint8_t i, j;
    sefr_normal_reset(&normal);
    for (i = 0; i < 40; i++) {
        for (j = 0; j < 32; j++) record[j] = (uint8_t)(100 + (i * 7 + j * 3) % 29);
        sefr_normal_learn(&normal, record);
    }
    sefr_normal_solve(&normal);
    board_mark();
    board_mark();
    i = (uint8_t)sefr_normal_check(&normal, record);
    board_mark();
    board_put(i);
    return 0;
}
"""


def training(X, y):
    from test_uno import BATCH, SPARSE, STREAM, measure

    rng = np.random.default_rng(0)
    dense = rng.integers(1, 256, X.shape)
    portable, stream = measure(X, y, STREAM, kernels=False), measure(X, y, STREAM)
    asked = measure(X, y, STREAM, margin=1)
    without = measure(X, y, STREAM, switches=("SEFR_NO_UNKNOWN",))
    yield "train, portable C", portable["train"]
    yield "train, one by one", stream["train"]
    yield "train, zeros skipped", measure(X, y, SPARSE)["train"]
    yield "train, batch from flash", measure(X, y, BATCH)["train"]
    yield "train dense, batch from flash", measure(dense, y, BATCH)["train"]
    yield "classify, portable C", portable["classify"]
    yield "classify, weights in RAM", stream["classify"]
    yield "classify, weights in RAM, margin", asked["classify"]
    yield "classify, weights in flash", stream["fixed"]
    yield "classify, weights in flash, margin", asked["fixed"]
    yield "classify, weights in RAM, no unknown", without["classify"]
    yield "classify, weights in flash, no unknown", without["fixed"]


def generated(X, y):
    clf = SEFRClassifier(scale=(0, 255)).fit(X, y)
    yield "classify, generated code", simulate(clf, X, "uno", target="generated", input="uint8").per_record
    rng = np.random.default_rng(1)
    dense = rng.integers(0, 256, (100, 100)) + np.where(np.arange(100) % 2, 60, -60) * y[:, None]
    dense = np.clip(dense, 0, 255).astype(np.uint8)
    clf = SEFRClassifier(scale=(0, 255)).fit(dense, y)
    board = simulate(clf, dense, "uno", target="generated", input="uint8")
    yield "classify dense, generated code", board.per_record


def values():
    rng = np.random.default_rng(0)
    kinds = {
        "int16 to 4096": rng.integers(0, 4096, (40, 100)),
        "int16 wide": rng.integers(-32768, 32768, (40, 100)),
        "floats": rng.normal(size=(40, 100)),
        "int32": rng.integers(-100_000, 100_000, (40, 100)),
    }
    for name, X in kinds.items():
        clf = SEFRClassifier().fit(X, np.arange(len(X)) % 2)
        for target in ("arduino", "generated", "c"):
            yield f"{name}, {target}", simulate(clf, X, "uno", target=target).per_record
        if name == "int16 to 4096":
            for target in ("arduino", "c"):
                run = simulate(clf, X, "uno", target=target, folded=True)
                yield f"int16 folded, {target}", run.per_record


def cortex(X, y):
    from test_cortex import instructions

    for board in ("m0", "m3", "m4"):
        for kernels, how in ((True, ""), (False, ", plain C")):
            learn, classify = instructions(f"cortex-{board}", X, y, kernels)
            yield f"{board} learn{how}", learn
            yield f"{board} classify{how}", classify


def cells():
    from test_cells import cell_cycles

    with tempfile.TemporaryDirectory(prefix="sefr-bench-") as folder:
        for name, cycles in cell_cycles(Path(folder)).items():
            yield f"bins {name}", cycles


def tables():
    from test_tables import TARGETS, table_cycles

    for kind in ("uint8", "int16", "float", "float near 1000"):
        for target in TARGETS:
            result = table_cycles(kind, target)
            yield f"table {kind}, {target}", result.per_record
            yield f"table {kind}, {target}, flash", result.flash
            yield f"table {kind}, {target}, sram", result.sram


def interactions():
    from test_tables import table_cycles

    for board in ("uno", "cortex-m0", "cortex-m4"):
        for kind in ("int16", "float"):
            result = table_cycles(kind, "c", board, interactions=50)
            yield f"interactions {kind}, {board}", result.per_record
            yield f"interactions {kind}, {board}, flash", result.flash


def products():
    from test_products import models

    for classes, (clf, X) in models().items():
        for weights in ("int8", "int16"):
            for target in ("c", "arduino"):
                result = simulate(clf, X, "uno", target=target, input="uint8", weights=weights)
                yield f"products {weights}, {classes}, {target}", result.per_record


def normal():
    with tempfile.TemporaryDirectory(prefix="sefr-bench-") as name:
        folder = Path(name)
        (folder / "program.c").write_text(NORMAL)
        sources = [folder / "program.c", library() / "sefr_normal.c"]
        spent = np.diff(BOARDS["uno"].run(BOARDS["uno"].build(sources, folder, includes=[library()])).marks)
        yield "normal check", spent[1] - spent[0]


def main():
    X, y = uno_sample()
    X, y = X[:100, :100], y[:100]
    parts = (
        training(X, y),
        generated(X, y),
        values(),
        cortex(X, y),
        cells(),
        tables(),
        interactions(),
        products(),
        normal(),
    )
    rows = [(what, round(float(figure))) for part in parts for what, figure in part]
    with (HERE / "figures.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("what", "figure"))
        writer.writerows(rows)
    machine.note("figures")


if __name__ == "__main__":
    main()
