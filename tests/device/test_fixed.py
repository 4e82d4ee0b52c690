"""Weights in flash: answers and "don't know" are the definition's for every bias and margin, and cheap."""

import numpy as np
import pytest
from device_program import EVERYWHERE, needs_tools

from sefr.device import BOARDS, library

MOST = 1 << 30  # SEFR_MAX_BIAS
BIASES = [0, 1, -1, 900, -40_000, (1 << 22) - 1, 1 << 22, -(1 << 22), -(1 << 22) - 1, 4_200_000, -5_000_000]
BIASES += [1 << 24, -(1 << 24), MOST, -MOST]
MARGINS = [0, 1, 2, 255, 30_000, 1 << 16, 4_177_665, (1 << 22) - 5, 1 << 23, 1 << 24, 5_000_000, 1 << 30]
MARGINS += [(1 << 30) + 1, (1 << 32) - 1]
FEATURES = [1, 2, 3, 7, 31, 32, 64, 100, 129, 130]
PROGRAM = """#include "board.h"
#include "data.h"
#include "sefr.h"
static const sefr_weight weights[130] SEFR_FLASH = WEIGHTS;
static const sefr_score biases[] SEFR_FLASH = BIASES;
static const uint32_t margins[] = MARGINS;
static const uint8_t features[] = FEATURES;
static uint8_t record[130];
int main(void) {
    uint8_t i, j, k, r, label;
    for (r = 0; r < RECORDS; r++) {
        for (i = 0; i < 130; i++) record[i] = board_get();
        for (i = 0; i < sizeof features; i++) {
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
                }
            }
        }
    }
    return 0;
}
"""


def braces(values, suffix=""):
    return "{" + ", ".join(f"{value}{suffix}" for value in values) + "}"


def run(board, tmp_path, weights, records, **settings):
    (tmp_path / "program.c").write_text(PROGRAM)
    (tmp_path / "data.h").write_text(
        f"#define WEIGHTS {braces(weights)}\n#define BIASES {braces(BIASES, 'L')}\n"
        f"#define MARGINS {braces(MARGINS, 'UL')}\n#define FEATURES {braces(FEATURES)}\n"
        f"#define RECORDS {len(records)}\n"
    )
    sources = [tmp_path / "program.c", library() / "sefr.c"]
    sources += [library() / "sefr_avr.S"] if board == "uno" else []
    image = BOARDS[board].build(sources, tmp_path, includes=[tmp_path, library()], **settings)
    return BOARDS[board].run(image, bytes(np.concatenate(records).astype(np.uint8)))


@pytest.mark.parametrize("board", EVERYWHERE)
@needs_tools
def test_every_bias_and_margin_by_definition(board, tmp_path, rng):
    weights = [127, -127, *rng.integers(-127, 128, 128).tolist()]
    records = [np.full(130, 255), *rng.integers(0, 256, (2, 130))]
    expected = []
    for record in records:
        for m in FEATURES:
            dot = int(np.dot(weights[:m], record[:m]))
            for bias in BIASES:
                for margin in MARGINS:
                    score = dot + bias
                    expected += [11 if abs(score) < margin else 0, int(score > 0)]
    assert list(run(board, tmp_path, weights, records).output) == expected
