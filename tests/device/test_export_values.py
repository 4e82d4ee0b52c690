"""Raw values become bytes without a division: exact for every value, on every board, and quick."""

import numpy as np
import pytest
from device_program import SIMULATED

from sefr import SEFRClassifier, Summary
from sefr.device import BOARDS, Twin, export, quantise, simulate
from sefr.device.mapping import exact_factors, fixed_point, float_bytes, float_mapping, integer_mapping

ONCE = np.array([1])


def divided(d, r):
    return (255 * d + (r >> 1)) // r


def test_factors_are_exact_for_every_value_of_every_12_bit_range():
    for r in range(1, 4097):
        (factor,) = exact_factors(np.array([r]), ONCE, 24)
        d = np.arange(r + 1)
        assert ((d * factor + (1 << 23)) >> 24 == divided(d, r)).all(), r


def test_wide_factors_are_exact_for_every_value(rng):
    """As the board computes them, in two products of 16 bits."""
    for r in [*rng.integers(4097, 65536, 300), *range(1, 256, 7), 255, 256, 65535]:
        step = 256 if r < 256 else 1
        (factor,) = exact_factors(np.array([r]), np.array([step]), 32)
        d = np.arange(r + 1)
        at = d * step
        product = at * (factor >> 16) + ((at * (factor & 0xFFFF)) >> 16)
        assert factor < 1 << 32
        assert product.max() < 1 << 32
        assert ((product + (1 << 15)) >> 16 == divided(d, r)).all(), r


def test_a_range_without_an_exact_factor_has_none():
    r = next(r for r in range(60000, 65536) if exact_factors(np.array([r]), ONCE, 24) is None)
    assert integer_mapping(np.array([0]), np.array([r]), 32767).how == "wide"
    assert integer_mapping(np.array([0]), np.array([1 << 20]), 1 << 31).how == "divide"


def test_fixed_point_is_the_value_times_a_power_of_two(rng):
    values = (rng.normal(size=4000) * 2.0 ** rng.integers(-40, 40, 4000)).astype(np.float32)
    exponents = rng.integers(100, 180, 4000)
    exact = np.trunc(values.astype(np.float64) * 2.0 ** (142 - exponents))
    expected = np.where(np.abs(exact) < (1 << 30), exact, np.sign(exact) * ((1 << 30) - 1))
    assert (fixed_point(values, exponents) == expected).all()


def test_bytes_of_floats_are_within_half_a_step(rng):
    for scale, offset in ((1, 0), (50, 101325), (1e-38, 2e-38), (1e30, 0), (1e-3, -7), (3e38, 0)):
        low = np.float32([offset - scale / 2])
        high = np.float32([offset + scale / 2])
        mapping = float_mapping(low, high)
        values = rng.uniform(low[0], high[0], (500, 1)).astype(np.float32)
        exact = 255 * (values.astype(np.float64) - low) / (high.astype(np.float64) - low)
        assert np.abs(float_bytes(values, mapping) - exact).max() <= 0.5 + 256 / mapping.ranges[0]


def hostile_floats(low, high, rng):
    bits = rng.integers(0, 1 << 32, 400, dtype=np.uint32).view(np.float32)
    near = [np.nextafter(low, -np.inf), low, np.nextafter(low, np.inf), np.nextafter(high, -np.inf), high]
    special = [0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-45, 1.2e-38, 3.4e38, -3.4e38, np.nan, -np.nan]
    inside = rng.uniform(low, high, 200)
    return np.concatenate([bits, *(np.float32(part) for part in (near, special, inside))])


BYTES = """#include "board.h"
#include "m.h"
int main(void) {
    uint32_t i, n = 0;
    for (i = 0; i < 4; i++) n |= (uint32_t)board_get() << (8 * i);
    for (i = 0; i < n; i++) {
        m_value record[M_FEATURES];
        uint8_t x[M_FEATURES], *byte = (uint8_t *)record, *end = byte + sizeof record;
        while (byte < end) *byte++ = board_get();
        m_bytes(record, x);
        for (byte = x; byte < x + M_FEATURES; byte++) board_put(*byte);
    }
    return 0;
}
"""


def bytes_on(board, clf, records, tmp_path):
    export(clf, "c", tmp_path, name="m")
    (tmp_path / "program.c").write_text(BYTES)
    image = BOARDS[board].build([tmp_path / "program.c"], tmp_path, includes=[tmp_path])
    data = np.uint32(len(records)).tobytes() + records.tobytes()
    return np.frombuffer(BOARDS[board].run(image, data).output, np.uint8).reshape(len(records), -1)


def ranged(low, high, whole):
    """A model of these ranges, with means between them."""
    low, high = np.asarray(low, float), np.asarray(high, float)
    far = low + (high - low) * np.array([[0.25], [0.75]])
    sums = 8 * (np.floor(far) if whole else far)
    summary = Summary.from_parts(classes=np.arange(2), counts=np.full(2, 8.0), sums=sums, low=low, high=high)
    return SEFRClassifier.from_summary(summary)


@pytest.mark.parametrize("board", [*SIMULATED, "host"])
def test_every_board_makes_the_same_bytes_of_floats(board, tmp_path, rng):
    for name, ranges in {
        "fine": [
            (-1, 1),
            (0, 1),
            (101275, 101375),
            (-5, -4.999),
            (1e-38, 3e-38),
            (-1e30, 1e30),
            (2, 2),
            (0, 7e4),
        ],
        "narrow": [(1e9, 1e9 + 640), (0, 1), (-3, 3), (2e-38, 2.0001e-38)],
    }.items():
        low, high = np.float32(ranges).T
        clf = ranged(low, high, whole=False)
        q = quantise(clf, input="float")
        assert q.mapping.how == name
        columns = [hostile_floats(a, b, rng) for a, b in zip(low, high, strict=True)]
        records = np.stack(columns, axis=1)
        expected = float_bytes(records, q.mapping)
        folder = tmp_path / name
        folder.mkdir()
        assert (bytes_on(board, clf, records, folder) == expected).all()


@pytest.mark.parametrize("board", [*SIMULATED, "host"])
def test_every_board_makes_the_same_bytes_of_integers(board, tmp_path, rng):
    """The library's division is the oracle (``bytes_of`` calls it)."""
    cases = {
        "narrow": [(0, 1023), (-100, 3995), (5, 5), (0, 255), (0, 1), (-32768, -32767), (32700, 32767)],
        "wide": [(-32768, 32767), (0, 1023), (-1, 1), (7, 7), (-20000, 12345), (0, 254)],
        "wide without short ranges": [
            (-32768, 32767),
            (7, 7),
            (-20000, 12345),
            (0, 65281 - 32514),
            (32767, 32767),
        ],
        "divide": [(-100000, 100000), (0, 1)],
    }
    for name, ranges in cases.items():
        low, high = np.array(ranges).T
        clf = ranged(low, high, whole=True)
        q = quantise(clf)
        assert q.mapping.how == name.split()[0]
        assert name != "wide" or q.mapping.has_short
        assert "without" not in name or not q.mapping.has_short
        limits = np.iinfo(q.input)
        draws = rng.integers(low - 3, high + 4, (300, len(low)))
        ends = np.stack([low, high, low - 1, high + 1, low + 1, high - 1])
        records = np.clip(np.concatenate([draws, ends]), limits.min, limits.max)
        extremes = np.full((1, len(low)), limits.max)
        records = np.concatenate([records, extremes, np.full_like(extremes, limits.min)]).astype(q.input)
        folder = tmp_path / name
        folder.mkdir()
        assert (bytes_on(board, clf, records, folder) == q.bytes_of(records)).all()


def cycles(X, target):
    clf = SEFRClassifier().fit(X, np.arange(len(X)) % 2)
    result = simulate(clf, X, "uno", target=target)
    assert result.predictions.tolist() == Twin(clf).predict(X).tolist()
    return result.per_record


@pytest.mark.parametrize(("target", "most"), [("arduino", 8_500), ("generated", 8_500), ("c", 8_500)])
@pytest.mark.needs("avr")
def test_cycles_of_100_analog_values(target, most, rng):
    """10- and 12-bit converters, and signed 12 bits."""
    for low, high in ((0, 1024), (0, 4096), (-2048, 2048)):
        assert cycles(rng.integers(low, high, (40, 100)), target) <= most


@pytest.mark.parametrize(("target", "most"), [("arduino", 8_500), ("generated", 8_500), ("c", 8_500)])
@pytest.mark.needs("avr")
def test_cycles_of_100_values_of_16_bits(target, most, rng):
    assert cycles(rng.integers(-32768, 32768, (40, 100)), target) <= most


@pytest.mark.parametrize(("target", "most"), [("arduino", 12_000), ("generated", 12_000), ("c", 12_000)])
@pytest.mark.needs("avr")
def test_cycles_of_100_floats(target, most, rng):
    assert cycles(rng.normal(size=(40, 100)), target) <= most
    assert cycles(rng.random((40, 100)), target) <= most
