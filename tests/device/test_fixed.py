"""Weights in flash: answers and "don't know" are the definition's for every bias and margin, and cheap."""

import numpy as np
import pytest
from device_program import EVERYWHERE

from sefr.device import BOARDS, library

# Per width of the weights: biases (up to SEFR_MAX_BIAS), margins and features about the borders of kernels.
BIASES, MARGINS, FEATURES = {}, {}, {}
BIASES[8] = [0, 1, -1, 900, -40_000, (1 << 22) - 1, 1 << 22, -(1 << 22), -(1 << 22) - 1]
BIASES[8] += [4_200_000, -5_000_000, 1 << 24, -(1 << 24), 1 << 30, -(1 << 30)]
MARGINS[8] = [0, 1, 2, 255, 30_000, 1 << 16, 4_177_665, (1 << 22) - 5, 1 << 23, 1 << 24, 5_000_000, 1 << 30]
MARGINS[8] += [(1 << 30) + 1, (1 << 32) - 1]
FEATURES[8] = [1, 2, 3, 7, 31, 32, 64, 100, 129, 130]
BIASES[16] = [0, 1, -1, 90_000, -(1 << 31), (1 << 31) - 1, 1 << 32, -(1 << 40), 1 << 62, -(1 << 62)]
MARGINS[16] = [0, 1, 1 << 16, 1 << 31, (1 << 32) + 5, 1 << 62, (1 << 64) - 1]
FEATURES[16] = [1, 2, 3, 4, 7, 129, 255, 256, 257, 513]
PROGRAM = """#include "board.h"
#include "data.h"
#include "sefr.h"
static const sefr_weight weights[LONGEST] SEFR_FLASH = WEIGHTS;
static const sefr_score biases[] SEFR_FLASH = BIASES;
static const sefr_margin margins[] = MARGINS;
static const uint16_t features[] = FEATURES;
static uint8_t record[LONGEST];
static void put_score(const sefr_fixed *model) {
    sefr_score score = 7;
    uint8_t i;
    board_put((uint8_t)sefr_scores_fixed(model, record, &score));
    for (i = 0; i < sizeof score; i++) board_put(((const uint8_t *)&score)[i]);
}
int main(void) {
    uint8_t j, k, r, label;
    uint16_t i;
    for (r = 0; r < RECORDS; r++) {
        for (i = 0; i < LONGEST; i++) record[i] = board_get();
        for (i = 0; i < sizeof features / sizeof *features; i++) {
            for (j = 0; j < sizeof biases / sizeof *biases; j++) {
                for (k = 0; k < sizeof margins / sizeof *margins; k++) {
                    sefr_fixed model;
                    model.features = features[i];
                    model.classes = 2;
                    model.weights = weights;
                    model.bias = biases + j;
                    model.margin = margins[k];
                    label = 7;
                    board_put((uint8_t)sefr_classify_fixed(&model, record, &label));
                    board_put(label);
                    if (k == 0) put_score(&model);
                }
            }
        }
    }
    return 0;
}
"""


def braces(values, suffix=""):
    return "{" + ", ".join(f"{value}{suffix}" for value in values) + "}"


def run(board, tmp_path, bits, weights, records):
    (tmp_path / "program.c").write_text(PROGRAM)
    wide = "LL" if bits == 16 else "L"
    (tmp_path / "data.h").write_text(
        f"#define LONGEST {len(weights)}\n#define WEIGHTS {braces(weights)}\n"
        f"#define BIASES {braces(BIASES[bits], wide)}\n#define MARGINS {braces(MARGINS[bits], 'U' + wide)}\n"
        f"#define FEATURES {braces(FEATURES[bits])}\n#define RECORDS {len(records)}\n"
    )
    sources = [tmp_path / "program.c", library() / "sefr.c"]
    sources += [library() / "sefr_avr.S"] if board == "uno" else []
    defines = [f"SEFR_WEIGHT_BITS={bits}"]
    image = BOARDS[board].build(sources, tmp_path, includes=[tmp_path, library()], defines=defines)
    return BOARDS[board].run(image, bytes(np.concatenate(records).astype(np.uint8)))


def defined(bits, weights, records):
    """What the program must write."""
    expected = []
    for record in records:
        for m in FEATURES[bits]:
            dot = sum(weight * int(value) for weight, value in zip(weights[:m], record, strict=False))
            for bias in BIASES[bits]:
                score = dot + bias
                for k, margin in enumerate(MARGINS[bits]):
                    expected += [11 if abs(score) < margin else 0, int(score > 0)]
                    expected += [0, *score.to_bytes(bits // 2, "little", signed=True)] if k == 0 else []
    return expected


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("board", EVERYWHERE)
def test_every_bias_and_margin_by_definition(board, bits, tmp_path, rng):
    longest, most = max(FEATURES[bits]), (1 << bits - 1) - 1
    weights = [most, -most, *rng.integers(-most, most + 1, longest - 2).tolist()]
    records = [np.full(longest, 255), *rng.integers(0, 256, (2, longest))]
    assert list(run(board, tmp_path, bits, weights, records).output) == defined(bits, weights, records)


@pytest.mark.needs("avr")
@pytest.mark.parametrize("weight", [-32768, -129, 255, 32767])
def test_blocks_of_the_largest_products_do_not_overflow(weight, tmp_path):
    """The int16 kernel adds 256 products of either byte of a weight in 24 bits."""
    weights = [weight] * max(FEATURES[16])
    records = [np.full(len(weights), 255)]
    assert list(run("uno", tmp_path, 16, weights, records).output) == defined(16, weights, records)
