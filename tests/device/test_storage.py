"""States in memories: NOR flash, EEPROM and files, power lost in every operation, bad bytes, and wear."""

from functools import cache

import pytest
from device_program import EVERYWHERE, built
from device_reference import CHANGED, IO, OK

from sefr.device import BOARDS

FEATURES, CLASSES = 3, 2
STATE = 24 + 4 * CLASSES + 2 * CLASSES * FEATURES  # 44 bytes
NORMAL_STATE = 32 + 6 * FEATURES  # 50 bytes
# bytes of a block, blocks, bytes of a unit; 0: EEPROM of so many bytes
MEMORIES = {
    "several states per block": (128, 3, 1),
    "units of eight": (128, 2, 8),
    "one state per block": (64, 4, 4),
    "several blocks per state": (16, 9, 16),
    "EEPROM of two states": (0, 2 * STATE, 1),
    "EEPROM of five": (0, 5 * STATE + 9, 1),
}
# The same for a model of one class.
OF_ONE_CLASS = {
    "one class, several states per block": (128, 3, 1),
    "one class, units of eight": (128, 2, 8),
    "one class, several blocks per state": (16, 12, 16),
    "one class, EEPROM of two states": (0, 2 * NORMAL_STATE, 1),
    "one class, EEPROM of five": (0, 5 * NORMAL_STATE + 9, 1),
}
MEMORIES |= OF_ONE_CLASS
memories = pytest.mark.parametrize("memory", MEMORIES)
both_ways = pytest.mark.parametrize("steps", [False, True], ids=["at once", "in steps"])


@cache
def run(board, memory, steps):
    """Return what one run writes, for all tests of a memory: statuses and states, a bad byte, the rest."""
    block, blocks, unit = MEMORIES[memory]
    starts = 3 if board == "uno" else 7
    defines = (f"FEATURES={FEATURES}", f"CLASSES={CLASSES}", f"STARTS={starts}", f"UNIT={unit}")
    defines += (
        (f"BLOCK_BYTES={block}", f"BLOCKS={blocks}") if block else ("BLOCK_BYTES=0", f"EEPROM_BYTES={blocks}")
    )
    defines += ("NORMAL=1",) if memory in OF_ONE_CLASS else ()
    defines += ("STEPS=1",) if steps else ()
    output = BOARDS[board].run(built(board, "storage.c", defines)).output
    end = output.index(0xFF)
    return (
        list(zip(output[:end:2], output[1:end:2], strict=True)),
        output[end + 1 : end + 11],
        output[end + 11 :],
    )


@pytest.mark.parametrize("board", EVERYWHERE)
@memories
@both_ways
def test_power_lost_in_any_operation_leaves_the_old_state_or_the_new_one(board, memory, steps):
    """At every program and every erase, torn in its middle, on each place of the ring."""
    outcomes, _, rest = run(board, memory, steps)
    assert rest[0] == 0, "the memory was not used as its geometry asks for"
    assert {seen for _, seen in outcomes} == {ord("o"), ord("n")}
    assert all((seen == ord("n")) == (status == OK) for status, seen in outcomes)
    assert {status for status, _ in outcomes} == {OK, IO}
    assert len(outcomes) > STATE // 16


@memories
@both_ways
def test_a_bad_byte_is_passed_over(memory, steps):
    """Each save succeeds, on another place, or says that it could not; the state before is there then."""
    _, tries, _ = run("host", memory, steps)
    pairs = list(zip(tries[::2], tries[1::2], strict=True))
    assert all(seen == ord("n" if status == OK else "o") for status, seen in pairs[1:])
    assert pairs[0] == (OK, ord("n"))
    if "two states" not in memory:  # where there is a third place
        assert all(status == OK for status, _ in pairs)


@memories
@both_ways
def test_wear_is_spread_over_all_of_the_memory(memory, steps):
    _, _, rest = run("host", memory, steps)
    wear = list(rest[1:-6] if steps else rest[1:-3])
    block = MEMORIES[memory][0]
    state = NORMAL_STATE if memory in OF_ONE_CLASS else STATE
    if block and block < state:  # blocks that do not make up a whole group are left alone
        group = -(-state // block)
        wear = wear[: len(wear) // group * group]
    assert max(wear) - min(wear) <= 1
    assert min(wear) > 0


@pytest.mark.parametrize("board", EVERYWHERE)
@memories
def test_a_model_that_learns_between_steps_is_not_saved_half(board, memory):
    """The save says so, and what was saved before is there; every step programmed once at most."""
    _, _, rest = run(board, memory, True)
    status, seen, wrong = rest[-3:]
    assert (status, chr(seen), wrong) == (CHANGED, "o", 0)


@memories
def test_restore_computes_one_checksum(memory):
    """Of the newest state, however many there are: its bytes for the checksum and for the sums, and heads."""
    block, blocks, unit = MEMORIES[memory]
    total = block * blocks or blocks
    state = NORMAL_STATE if memory in OF_ONE_CLASS else STATE
    _, _, rest = run("host", memory, False)
    reads = int.from_bytes(rest[-3:-1], "little")
    heads = total // state * 40
    assert reads <= total // unit + heads + 4 * state


@pytest.mark.parametrize("board", ["uno", "host"])
@memories
def test_a_damaged_number_does_not_hide_the_newest_state(board, memory):
    """A head whose number has a bit turned looks newer than the newest, and older than the one before."""
    _, _, rest = run(board, memory, False)
    assert chr(rest[-1]) == "n"
