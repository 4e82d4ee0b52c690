"""The examples of learning together, run as their reader would."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "federated"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("federated.py", "the model of all rows in one place: the same"),
        ("secure.py", "without site 2: 1348 rows; the model of these rows in one place: the same"),
    ],
)
def test_an_example_runs_and_says_what_the_document_has(name, said):
    done = subprocess.run([sys.executable, FOLDER / name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    document = (FOLDER.parents[1] / "docs" / "guide" / "federated.md").read_text()
    for line in done.stdout.strip().splitlines():
        assert line in document
