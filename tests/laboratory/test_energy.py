"""Energy comes from a counter or is not given; the counter is a fake powercap tree here."""

import contextlib
import time

import pytest

from laboratory import energy as energy
from laboratory.energy import Energy, Meter


class Tree:
    """A powercap tree in a folder."""

    def __init__(self, root):
        self.root = root

    def zone(self, path, name="package-0", start=0, turn=262_143_328_850):
        folder = self.root / path
        folder.mkdir()
        (folder / "name").write_text(name + "\n")
        (folder / "max_energy_range_uj").write_text(f"{turn}\n")
        self.set(path, start)

    def set(self, path, value):
        (self.root / path / "energy_uj").write_text(f"{value}\n")


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_joules_are_the_counters_difference(tree):
    tree.zone("intel-rapl:0", start=5_000_000)
    with Meter(tree.root).measure() as used:
        tree.set("intel-rapl:0", 7_500_000)
    assert used.joules == 2.5
    assert used.kind == "measured"


def test_packages_add_up_and_parts_do_not(tree):
    for path, name in [
        ("intel-rapl:0", "package-0"),
        ("intel-rapl:1", "package-1"),
        ("intel-rapl:0:0", "core"),
        ("intel-rapl:2", "psys"),
        ("intel-rapl-mmio:0", "package-0"),
    ]:
        tree.zone(path, name)
    (tree.root / "intel-rapl").mkdir()  # the control type itself, without a counter
    meter = Meter(tree.root)
    assert [zone.name for zone in meter.zones] == ["package-0", "package-1"]
    with meter.measure() as used:
        for path in ("intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0", "intel-rapl:2", "intel-rapl-mmio:0"):
            tree.set(path, 1_000_000)
    assert used.joules == 2.0


def test_wrap_around_counts_on(tree):
    tree.zone("intel-rapl:0", start=9_999_999, turn=9_999_999)
    with Meter(tree.root).measure() as used:
        tree.set("intel-rapl:0", 999_999)
    assert used.joules == 1.0


def test_two_turns_within_one_measurement_are_both_counted(tree, monkeypatch):
    # A range of 20 J is read every 10 ms, so no turn of it is missed. On a busy machine the next value waits
    # until the last one was read.
    turn = 20_000_000 - 1
    tree.zone("intel-rapl:0", turn=turn)
    seen = []
    read = energy.Zone.read
    monkeypatch.setattr(energy.Zone, "read", lambda zone: seen.append(read(zone)) or seen[-1])
    with Meter(tree.root).measure() as used:
        for value in (8, 16, 4, 12, 0, 8):
            path = tree.root / "intel-rapl:0"
            (path / "next").write_text(f"{value * 1_000_000}\n")
            (path / "next").replace(path / "energy_uj")
            limit = time.monotonic() + 60
            while seen[-1] != value * 1_000_000 and time.monotonic() < limit:
                time.sleep(0.001)
    assert used.joules == 48.0


def test_idle_power_is_subtracted(tree, monkeypatch):
    tree.zone("intel-rapl:0")
    meter = Meter(tree.root)
    monkeypatch.setattr(energy.time, "sleep", lambda _: tree.set("intel-rapl:0", 10_000_000))
    clock = iter([0.0, 2.0, 10.0, 13.0, 20.0, 21.0])
    monkeypatch.setattr(energy.time, "perf_counter", lambda: next(clock))
    assert meter.calibrate() == 5.0
    with meter.measure() as used:
        tree.set("intel-rapl:0", 50_000_000)
    assert used.joules == 40 - 3 * 5.0
    with meter.measure() as used:
        tree.set("intel-rapl:0", 51_000_000)
    assert used.joules == 0.0


def test_without_a_counter_only_seconds(tree):
    meter = Meter(tree.root)
    assert "no energy counter" in meter.reason
    assert meter.calibrate() == 0
    with meter.measure() as used:
        sum(range(200_000))
    assert used.joules is None
    assert used.kind == "not measured"
    assert used.cpu_seconds > 0
    assert used.seconds > 0


def test_a_counter_that_may_not_be_read_is_named(tree, monkeypatch):
    tree.zone("intel-rapl:0")

    def refuse(_):
        raise PermissionError

    monkeypatch.setattr(energy.Zone, "read", refuse)
    meter = Meter(tree.root)
    assert meter.zones == []
    assert "root only" in meter.reason


def test_an_error_inside_still_ends_the_measurement(tree):
    tree.zone("intel-rapl:0")
    with contextlib.suppress(KeyError), Meter(tree.root).measure() as used:
        tree.set("intel-rapl:0", 3_000_000)
        raise KeyError
    assert used.joules == 3.0


def test_an_estimate_is_marked_and_never_replaces_a_measurement():
    guess = energy.estimate(Energy(2.0, 1.5), watts=10)
    assert (guess.joules, guess.kind) == (15.0, "estimated")
    real = Energy(2.0, 1.5, 7.0, "measured")
    assert energy.estimate(real, watts=10) is real
    with pytest.raises(ValueError, match="above 0"):
        energy.estimate(Energy(), watts=0)
