"""Signals on boards are the bytes of SignalFeatures, and cost what the documents say."""

import struct

import numpy as np
import pytest
from device_program import EVERYWHERE, HERE

from sefr.device import BOARDS, BuildError, library
from sefr.signals import SignalFeatures, cut

UNO = {"axes": 1, "length": 64, "hop": 32, "dilations": (1, 7), "kernels": 84, "thresholds": 1, "segments": 8}
CORTEX = {
    "axes": 3,
    "length": 128,
    "hop": 64,
    "dilations": (1,),
    "kernels": 84,
    "thresholds": 1,
    "segments": 8,
}
SHAPES = [
    UNO,
    CORTEX,
    {"axes": 1, "length": 2, "hop": 1, "dilations": (1,), "kernels": 84, "thresholds": 1, "segments": 1},
    {"axes": 2, "length": 20, "hop": 7, "dilations": (2, 1), "kernels": 14, "thresholds": 3, "segments": 3},
    {
        "axes": 1,
        "length": 255,
        "hop": 300,
        "dilations": (1, 31),
        "kernels": 42,
        "thresholds": 1,
        "segments": 10,
    },
    {"axes": 6, "length": 33, "hop": 1, "dilations": (4,), "kernels": 1, "thresholds": 2, "segments": 0},
]


def fitted(axes, length, hop, dilations, kernels, thresholds, segments, ranges):
    """The features of a plan, which needs no data."""
    low, high = zip(*ranges, strict=True)
    return SignalFeatures(
        length,
        axes,
        dilations=dilations,
        kernels=kernels,
        thresholds=thresholds,
        statistics=segments > 0,
        segments=segments or 1,
        range=(low, high),
    ).fit()


def built(board, folder, ranges, *, finish=False, kernels_in_assembly=True, **plan):
    defines = [f"{name.upper()}={plan[name]}" for name in plan if name != "dilations"]
    defines += [f"DILATIONS={','.join(map(str, plan['dilations']))}", *(["FINISH"] if finish else [])]
    defines += [f"RANGES={','.join(f'{{{low},{high}}}' for low, high in ranges)}"]
    return BOARDS[board].build(
        [HERE / "signal.c", library() / "sefr_signal.c"],
        folder,
        includes=[library()],
        defines=defines,
        kernels=kernels_in_assembly,
    )


def played(board, image, signal):
    return BOARDS[board].run(image, struct.pack("<I", len(signal)) + signal.astype("<i2").tobytes())


def records(run, features):
    """The records and clipped samples that came out."""
    assert run.output[0] == 1
    rows = np.frombuffer(run.output[1:], np.uint8).reshape(-1, features + 2)
    return rows[:, :-2], rows[:, -2:].astype(int) @ [1, 256]


def hostile(rng, n, axes):
    """Noise, steps between the extremes, constants, and a slow wave with noise."""
    kinds = [
        rng.integers(-32768, 32768, (n, axes)),
        rng.choice([-32768, 32767], (n, axes)),
        np.full((n, axes), rng.choice([-32768, 0, 32767, -1])),
        (1000 * np.sin(np.arange(n) / 5))[:, None].astype(int) + rng.integers(-3, 4, (n, axes)),
    ]
    return np.concatenate([kind[: n // 4] for kind in kinds])


def check(board, folder, signal, ranges, *, finish=False, **plan):
    features = fitted(**plan, ranges=ranges)
    run = played(board, built(board, folder, ranges, finish=finish, **plan), signal)
    found, clipped = records(run, features.plan_.n_features)
    windows = cut(signal, plan["length"], plan["hop"])
    if not finish:  # the last window is complete, its work is not
        windows = windows[: len(found)]
        behind = (len(signal) - plan["length"]) % plan["hop"] + 1 < plan["hop"]
        assert len(found) == len(cut(signal, plan["length"], plan["hop"])) - behind
    assert found.tolist() == features.transform(windows).tolist()
    assert clipped.tolist() == features.clipped(windows).tolist()
    return run


@pytest.mark.parametrize("board", EVERYWHERE)
def test_boards_equal_the_host(board, tmp_path, rng):
    for number, plan in enumerate(SHAPES):
        if board == "uno" and plan is CORTEX:
            continue  # more than its RAM
        axes, n = plan["axes"], 3 * max(plan["length"], plan["hop"]) + 40
        ranges = ((-32768, 32767), (0, 1023), (-5, 5))[:axes] if axes <= 3 else ((-999, 999),) * axes
        check(board, tmp_path, hostile(rng, n, axes), ranges, finish=number % 2 == 1, **plan)


@pytest.mark.needs("avr")
def test_assembly_equals_the_loops(tmp_path, rng):
    signal, ranges = hostile(rng, 300, 1), ((0, 1023),)
    quick, plain = (
        played("uno", built("uno", tmp_path, ranges, kernels_in_assembly=chosen, **UNO), signal)
        for chosen in (True, False)
    )
    assert quick.output == plain.output
    assert quick.marks != plain.marks


def test_unsound_plans_give_no_records(tmp_path, rng):
    image = built("host", tmp_path, ((5, 5),), **UNO)
    assert played("host", image, hostile(rng, 400, 1)).output == b"\0"
    image = built("host", tmp_path, ((0, 9),), **UNO | {"dilations": (64,)})
    assert played("host", image, hostile(rng, 400, 1)).output == b"\0"
    for wrong in (
        {"length": 256},
        {"length": 1},
        {"kernels": 5},
        {"segments": 33},
        {"hop": 0},
        {"axes": 2},
    ):
        with pytest.raises(BuildError, match="signal_is_no_signal"):
            built("host", tmp_path, ((0, 9),), **UNO | wrong)


def per_sample(run):
    """Cycles or instructions of each sample of one hop, from the first whole window on."""
    return np.diff(run.marks)[::2]


@pytest.mark.needs("avr")
def test_an_uno_keeps_up_with_50_hertz(tmp_path, rng):
    """1 axis x 64 samples x 84 kernels x 2 dilations: at most 320,000 cycles per sample, and 1 KB."""
    signal = rng.integers(0, 1024, (64 + 64, 1))
    run = check("uno", tmp_path, signal, ((0, 1023),), **UNO)
    spent = per_sample(run)[:32]
    assert spent.max() <= 100_000
    assert spent.sum() <= 720_000
    assert run.sram <= 1024


@pytest.mark.needs("avr")
def test_an_uno_answers_at_every_sample_of_50_hertz(tmp_path, rng):
    """A window per sample (hop 1) is the most work there can be: one dilation without statistics fits."""
    plan = UNO | {"hop": 1, "dilations": (3,), "segments": 0}
    run = check("uno", tmp_path, rng.integers(0, 1024, (80, 1)), ((0, 1023),), **plan)
    assert per_sample(run).max() <= 320_000


@pytest.mark.parametrize(("board", "most"), [("cortex-m4", 1_100_000), ("cortex-m0", 1_550_000)])
def test_three_axes_on_a_cortex(board, most, tmp_path, rng):
    """3 axes x 128 samples x 252 counts: instructions of one window, and 3 KB."""
    run = check(board, tmp_path, rng.integers(-2000, 2000, (128 + 70, 3)), ((-2000, 2000),) * 3, **CORTEX)
    assert per_sample(run)[:64].sum() <= most
    assert run.sram <= 3 * 1024
