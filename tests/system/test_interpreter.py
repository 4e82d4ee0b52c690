"""A subinterpreter is refused at import, in one clear sentence, instead of a crash or a hang in NumPy."""

import subprocess
import sys
from pathlib import Path

import pytest

import sefr

PROGRAM = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

INSIDE = '''
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "Meson" not in type(finder).__name__]
sys.path.insert(0, {source!r})
try:
    import sefr
except ImportError as error:
    print("refused:", error, flush=True)
else:
    print("imported", flush=True)
assert "numpy" not in sys.modules
'''
number = interpreters.create()
interpreters.run_string(number, INSIDE)
interpreters.destroy(number)
"""


def test_a_subinterpreter_is_refused_at_import():
    program = PROGRAM.replace("{source!r}", repr(str(Path(sefr.__file__).parents[1])))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    if "No module named '_xxsubinterpreters'" in done.stderr:
        pytest.skip("this Python has no subinterpreters")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("refused: sefr cannot be imported in a subinterpreter: NumPy and SciPy")
