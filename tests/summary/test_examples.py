"""The examples of learning together, run as their reader would."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FLOWER = ROOT / "build" / "flower"  # make flower-tools puts it there


def run(name, **environment):
    """Run an example; everything that it says must stand in the document."""
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "federated" / name],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    document = (ROOT / "docs" / "guide" / "federated.md").read_text()
    for line in done.stdout.strip().splitlines():
        assert line in document
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "federated.py",
            "second moments: accuracy 0.963 on other rows; the model of all rows in one place: the same",
        ),
        ("secure.py", "without site 2: 1348 rows; the model of these rows in one place: the same"),
    ],
)
def test_an_example_runs_and_says_what_the_document_has(name, said):
    assert said in run(name)


@pytest.mark.slow
def test_flowers_secure_aggregation_gives_the_model_of_all_rows():
    """By Flower's own simulation: four processes, its masks, a site that withdraws and one that drops out."""
    if not (FLOWER / "flwr").exists():
        words = "Flower is not installed: make flower-tools puts it into build/flower"
        pytest.fail(words) if os.environ.get("CI") == "true" else pytest.skip(words)
    said = run("flower.py", PYTHONPATH=str(FLOWER))
    assert "of these integers it could read 0%" in said
    assert said.count("the model of these rows in one place: the same") == 3
