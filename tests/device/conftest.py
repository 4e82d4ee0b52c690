"""C sources are compiled once per content, for all processes of the tests."""

import hashlib
import os
import subprocess
from itertools import pairwise

import pytest

from sefr.device.board import Board

compile_anew = Board._compile


@pytest.fixture(scope="session", autouse=True)
def compile_once(shared_folder):
    """Keep object files by what the preprocessor makes of a source: most macros are of the program alone."""
    folder = shared_folder / "objects"
    folder.mkdir(exist_ok=True)

    def compile_or_find(board, source, to, flags):
        read = [board.tool("gcc"), *flags, "-E", "-P", str(source)]
        text = subprocess.run(read, capture_output=True)
        others = [
            now for before, now in pairwise(["", *flags]) if "-I" not in (before, now) and now[:2] != "-D"
        ]
        content = repr((board.name, others)).encode() + text.stdout
        found = folder / f"{hashlib.sha256(content).hexdigest()}.o"
        if text.returncode or not found.exists():
            own = found.with_suffix(f".{os.getpid()}")  # the file is there whole, or an error before it
            os.replace(compile_anew(board, source, own, flags), found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Board, "_compile", compile_or_find)
        yield
