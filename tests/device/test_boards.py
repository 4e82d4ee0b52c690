"""The list of boards is ``BOARDS``; what a person reads of it elsewhere is the same."""

import inspect
import re
from pathlib import Path

import pytest
from device_program import HERE, SIMULATED

from sefr.cli.simulate import simulate as command
from sefr.device import BOARDS, simulate
from sefr.device.board import Host, Qemu, Simavr

ROOT = HERE.parents[1]


def test_documents_and_help_name_every_board():
    """The host is for tests: it counts nothing."""
    docstring = re.search(r"board : \{(.*)\}", inspect.getdoc(simulate))[1]
    option = inspect.signature(command, eval_str=True).parameters["board"].annotation.__metadata__[0].help
    guide = ROOT / "docs" / "guide" / "device.md"
    assert re.findall(r'"([\w-]+)"', docstring) == SIMULATED
    assert re.split(r", | or ", option.rstrip(".")) == SIMULATED
    if guide.exists():
        line = re.search(r"^Boards: (.*?\))\.", guide.read_text(), re.MULTILINE)[1]
        assert re.findall(r"`([\w-]+)`", line) == SIMULATED


@pytest.mark.parametrize("board", SIMULATED)
def test_tests_know_what_a_board_needs(board):
    """The values of parameters that ``conftest.py`` skips where a toolchain is missing."""
    assert f'"{board}"' in (HERE.parent / "conftest.py").read_text()


@pytest.mark.parametrize("board", [*SIMULATED, "host"])
def test_a_runner_feeds_a_program_and_returns_what_it_wrote(board, tmp_path):
    """Also a program that reads beyond the end of its input, which is zeros."""
    (tmp_path / "program.c").write_text(
        '#include "board.h"\nint main(void) { int i; board_mark(); for (i = 0; i < 600; i++) '
        "board_put((uint8_t)(board_get() + 1)); board_mark(); return 0; }\n"
    )
    chosen = BOARDS[board]
    run = chosen.run(chosen.build([tmp_path / "program.c"], tmp_path), bytes(range(256)) * 2)
    assert run.output == bytes((byte + 1) & 255 for byte in range(256)) * 2 + b"\x01" * 88
    assert len(run.marks) == (0 if board == "host" else 2)
    assert isinstance(chosen.runner, Simavr | Qemu | Host)
    assert chosen.counter == ("cycles" if isinstance(chosen.runner, Simavr) else "instructions")
    assert Path(chosen.tool("gcc")).is_file()
