"""How much memory is free, as the machine and its group of processes say."""

import math

import pytest

from sefr._system import memory


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "GROUP", tmp_path)
    (tmp_path / "meminfo").write_text("MemTotal:  9000 kB\nMemAvailable:    3000 kB\nBuffers: 1 kB\n")
    return tmp_path


def test_what_is_free_is_the_less_of_machine_and_group(machine):
    assert memory.free_memory() == 3000 * 1024
    (machine / "memory.max").write_text("max\n")
    (machine / "memory.current").write_text("500000\n")
    assert memory.free_memory() == 3000 * 1024
    (machine / "memory.max").write_text("1500000\n")
    assert memory.free_memory() == 1_000_000
    (machine / "memory.max").write_text("400000\n")
    assert memory.free_memory() == 0


def test_a_system_that_does_not_say_has_no_limit(machine):
    (machine / "meminfo").write_text("MemAvailable: many\n")
    assert memory.free_memory() == math.inf
    (machine / "meminfo").unlink()
    assert memory.free_memory() == math.inf


def test_this_machine_says_how_much_is_free():
    assert memory.free_memory() > 1e6
