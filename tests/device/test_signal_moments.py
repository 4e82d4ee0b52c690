"""A board that learns a signal with second moments: raw samples in, the host's bits out; what it costs."""

import struct

import numpy as np
import pytest
from device_program import HERE
from signal_recordings import SOURCES, recordings

from sefr.device import BOARDS, Moments, library
from sefr.signals import SignalFeatures, cut

# 3 axes x 28 kernels: 84 counts, whose products of 32 bits take 14 KB
PLAN = {"axes": 3, "length": 32, "hop": 16, "dilations": (1,), "kernels": 28, "segments": 0}
ASK, BEGIN = 255, 254


def program(board, folder):
    defines = [f"{name.upper()}={value}" for name, value in PLAN.items() if name != "dilations"]
    defines += ["DILATIONS=1", "RANGES={0,1023},{0,1023},{0,1023}", "FEATURES=84", "CLASSES=2"]
    sources = [HERE / "signal_moments.c", library() / "sefr_signal.c", library() / "sefr.c"]
    return BOARDS[board].build(sources, folder, defines=defines, includes=[library()])


def played(parts):
    """Recordings (axes, samples), each with what its windows are for, as the board takes them."""
    steps = []
    for signal, what in parts:
        steps.append(struct.pack("<B", BEGIN))
        steps += [struct.pack("<B3h", what, *sample) for sample in signal.T.tolist()]
    return struct.pack("<I", len(steps)) + b"".join(steps)


@pytest.mark.parametrize("board", ["cortex-m4", "riscv32"])
@pytest.mark.parametrize("source", SOURCES)
def test_a_board_learns_motions_with_second_moments(board, source, tmp_path):
    data = recordings(source)
    labels = (data.motion_names == "Badminton").astype(int)
    learned, asked = np.arange(20), np.arange(20, 40)
    parts = [(data.motions[i], labels[i]) for i in learned] + [(data.motions[i], ASK) for i in asked]
    run = BOARDS[board].run(program(board, tmp_path), played(parts))
    features = SignalFeatures(32, 3, dilations=(1,), kernels=28, statistics=False, range=(0, 1023)).fit()
    windows = [features.transform(cut(signal.T, 32, 16)) for signal in data.motions]
    X, y = np.concatenate(windows[:20]), np.repeat(labels[:20], 5)
    host = Moments(2).learn(X, y).solve()
    answers = host.predict(np.concatenate(windows[20:]))
    said = np.frombuffer(run.output[:400], np.uint8).reshape(200, 2)
    assert said[:, 0].tobytes() == b"l" * 100 + b"a" * 100
    assert said[:100, 1].tolist() == y.tolist()
    assert said[100:, 1].tolist() == answers.tolist()
    state = Moments.from_state(run.output[400:])
    assert (state.counts == host.counts).all()
    assert (state.squares == host.squares).all()
    truth = np.repeat(labels[20:], 5)
    assert np.mean(answers == truth) >= 0.95
    spent = np.diff(run.marks)[::2]  # there is room for 256 marks
    learning, solving, answering = spent[:100], spent[100], spent[101:]
    assert len(answering) > 20
    # at 64 MHz a sample comes every 1.28 million cycles; solving, once after learning, takes most of a second
    assert learning.max() + answering.max() < 200_000
    assert solving < 64_000_000
    assert run.sram < 20_000
