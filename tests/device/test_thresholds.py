"""Values at every threshold of a board's search and beside it, also where upper halves are equal."""

import numpy as np
import pytest
from test_tables import trained as random_model

from sefr import SEFRClassifier
from sefr.device import BOARDS, export, quantise

SCORES = """#include "board.h"
#include "m.h"
int main(void) {
    uint32_t i, n = 0;
    for (i = 0; i < 4; i++) n |= (uint32_t)board_get() << (8 * i);
    for (i = 0; i < n; i++) {
        m_value record[M_FEATURES];
        int32_t score[M_CLASSES];
        uint8_t *byte = (uint8_t *)record, *end = byte + sizeof record, row;
        while (byte < end) *byte++ = board_get();
        m_scores(record, score);
        for (row = 0; row < (M_CLASSES == 2 ? 1 : M_CLASSES); row++) {
            uint8_t at;
            for (at = 0; at < 4; at++) board_put((uint8_t)((uint32_t)score[row] >> (8 * at)));
        }
    }
    return 0;
}
"""
CELLS = 16
STEPS = np.array([-65536, -1, 0, 1, 65536])
NOT_NUMBERS = (0x7FC00000, 0xFFC00001, 0x7F800001, 0xFF800001, 0xFFFFFFFF, 0x7FFFFFFF, 0x7F80FFFF, 0xFF810000)


def floats(bits):
    return np.array(bits, np.uint32).view(np.float32)


def float_thresholds():
    """Columns of 15: equal upper halves of both signs, halves at their ends, small and large numbers."""
    upper, lower = np.uint32(0x447A0000), np.arange(1, CELLS, dtype=np.uint32) * np.uint32(4111)
    halves = np.repeat(np.arange(0x3F80, 0x3F88, dtype=np.uint32) << 16, 2)[:15]
    ends = halves | np.resize(np.array([0, 0xFFFF], np.uint32), 15)
    small = np.arange(1, 8, dtype=np.uint32) * np.uint32(9001)
    large = np.arange(0x7F7FFFF9, 0x7F800000, dtype=np.uint32)
    columns = [
        floats(upper | lower),
        -floats(upper | lower)[::-1],
        floats(ends),
        -floats(ends)[::-1],
        np.concatenate([-floats(small)[::-1], [0], floats(small)]),
        np.concatenate([-floats(large)[::-1], [1], floats(large)]),
        np.geomspace(1e-30, 1e30, 15).astype(np.float32),
        np.linspace(-3, 4, 15).astype(np.float32),
    ]
    assert all(len(set(own.tolist())) == 15 and (np.diff(own) > 0).all() for own in columns)
    return [own.astype(float) for own in columns]


def whole_thresholds():
    """Columns of 15 for int32: equal upper halves of both signs, halves at their ends, ends of the type."""
    near = np.arange(1, CELLS) * 4111.0
    around = np.concatenate([[65536 * k - 1, 65536 * k] for k in range(-4, 4)])[:15].astype(float)
    ends = np.concatenate([-(2.0**31) + np.arange(1, 8), [0], 2.0**31 - np.arange(1, 8)[::-1]])
    return [7 * 65536 + near, -9 * 65536 + near, around, ends, np.linspace(-2e9, 2e9, 15).round()]


def trained(columns, classes, missing, rng):
    """A model cut at the given thresholds whose cells all say something of their own."""
    choices = [np.concatenate([[own[0] - abs(own[0]) / 2 - 1], own]) for own in columns]
    choices = [np.maximum(own, -3.4028234e38) for own in choices]
    X = np.stack([rng.choice(own, 3000) for own in choices], axis=1)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    settings = {"missing": "ignore"} if missing else {}
    bins = [own.tolist() for own in columns]
    return SEFRClassifier(bins=bins, **settings).fit(X, np.arange(len(X)) % classes)


def records_near(thresholds, kind, rng):
    """Every threshold, the values next to it and 65,536 beside it, and all special values, in each column."""
    columns = []
    for own in thresholds:
        if kind == "float":
            bits = own.astype(np.float32).view(np.uint32)[:, None] + STEPS.astype(np.uint32)
            special = floats([0, 1 << 31, 1, (1 << 31) + 1, 0x7F800000, 0xFF800000, *NOT_NUMBERS])
            near = np.concatenate([bits.ravel().view(np.float32), special])
        else:
            limits = np.iinfo(kind)
            near = (own[:, None] + STEPS).ravel()
            near = np.concatenate([near.clip(limits.min, limits.max), [limits.min, limits.max, 0, -1]])
        columns.append(rng.permutation(near))
    longest = max(map(len, columns))
    return np.stack([np.resize(own, longest) for own in columns], axis=1)


def expected_scores(q, records):
    """The definition: a cell's number is the count of thresholds at or below the value; NaN has its own."""
    result = np.tile(np.array(q.bias, np.int64), (len(records), 1))
    if q.input == "float":
        records = np.where(np.isnan(records), np.float32(np.nan), records)  # numpy warns of signalling ones
    for j, (thresholds, entries) in enumerate(zip(q.thresholds, q.entries, strict=True)):
        own = records[:, j].astype(float)
        parts = entries[:, (own[:, None] >= thresholds.astype(float)).sum(axis=1)].T.copy()
        if q.missing_entries is not None:
            parts[np.isnan(own)] = q.missing_entries[j]
        result += parts
    return result


def run_scores(clf, records, board, target, folder, weights, *, kind):
    """The board's scores of records of the type that it reads."""
    export(clf, target, folder, name="m", input=kind, weights=weights)
    (folder / "program.c").write_text(SCORES)
    image = BOARDS[board].build([folder / "program.c"], folder, includes=[folder])
    run = BOARDS[board].run(image, np.uint32(len(records)).tobytes() + records.tobytes())
    return np.frombuffer(run.output, "<i4").reshape(len(records), -1)


CASES = [
    ("float", 2, False, "int8", False),
    ("float", 2, True, "int8", False),
    ("float", 3, True, "int8", True),
    ("float", 2, False, "int16", True),
    ("int32", 2, False, "int8", False),
    ("int32", 3, False, "int8", True),
]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["c", "generated"])
@pytest.mark.parametrize("board", ["uno", "cortex-m4", "host"])
@pytest.mark.parametrize(("kind", "classes", "missing", "weights", "mixed"), CASES)
def test_scores_beside_every_threshold(kind, classes, missing, weights, mixed, board, target, tmp_path, rng):
    columns = float_thresholds() if kind == "float" else whole_thresholds()
    if mixed:
        columns = [own[: (15, 3, 7, 1, 6)[j % 5]] for j, own in enumerate(columns)]
    clf = trained(columns, classes, missing, rng)
    q = quantise(clf, weights, kind)
    if classes == 2 and not mixed:
        assert min(map(len, q.thresholds)) > 7
    records = records_near(q.thresholds, kind, rng).astype("<f4" if kind == "float" else "<i4")
    found = run_scores(clf, records, board, target, tmp_path, weights, kind=kind)
    assert found.tolist() == expected_scores(q, records).tolist()


@pytest.mark.parametrize("board", ["uno", "cortex-m0", "host"])
@pytest.mark.parametrize("target", ["c", "generated"])
def test_scores_with_interactions_are_the_twin_s(board, target, tmp_path, rng):
    """Floats beside each threshold, both zeros, every kind of NaN: on three machines."""
    clf, _, _ = random_model("float", 3, rng, missing="ignore", bins=9, interactions=15)
    q = quantise(clf)
    special = np.array([0.0, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38, np.nan, -np.nan], np.float32)
    columns = []
    for own in q.thresholds:
        near = np.concatenate([np.nextafter(own, np.float32(end)) for end in (-np.inf, np.inf)])
        columns.append(np.resize(np.concatenate([own, near, special]), 60))
    records = np.stack(columns, axis=1)
    records[-len(NOT_NUMBERS) :, 0] = floats(NOT_NUMBERS)
    found = run_scores(clf, records.astype("<f4"), board, target, tmp_path, "int8", kind="float")
    told = np.where(np.isnan(records), np.float32(np.nan), records)  # numpy warns of signalling ones
    assert (found == q.scores(told)).all()
