"""The house in order: short files, few parameters, few values of any type."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "sefr"
pytestmark = pytest.mark.skipif(not PACKAGE.is_dir(), reason="an installed package has no source tree")

# Settings that users name in their calls; the functions of the command have a parameter per option as well.
PUBLIC = {
    "SEFRClassifier.__init__",
    "SEFRStream.__init__",
    "SEFR.__init__",
    "Summary.of",
    "ContributionsDisplay.from_estimator",
    "cross_validate",
    "export",
    "write_state",
}


def long_functions(tree, inside=""):
    """Yield the names of functions with more than six parameters."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{inside}{node.name}"
            if not isinstance(node, ast.ClassDef):
                a = node.args
                if len({x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs)} - {"self", "cls"}) > 6:
                    yield name
            yield from long_functions(node, f"{name}.")
        else:
            yield from long_functions(node, inside)


def is_command(path, name):
    """Whether a function of the command is one that Typer calls: its parameters are options."""
    text = path.read_text()
    return path.parent.name == "cli" and (
        bool(re.search(rf"@app\.command\([^)]*\)\ndef {name}\(", text)) or path.stem == name
    )


def test_functions_have_at_most_six_parameters():
    found = {
        name: path
        for path in PACKAGE.rglob("*.py")
        for name in long_functions(ast.parse(path.read_text()))
        if not is_command(path, name)
    }
    assert set(found) == PUBLIC, found


@pytest.mark.parametrize("folder", ["src/sefr", "native", "device/src", "tests", "benchmarks"])
def test_no_file_is_longer_than_500_lines(folder):
    paths = [path for end in ("py", "c", "h", "inc", "S") for path in (ROOT / folder).rglob(f"*.{end}")]
    lengths = {path.name: len(path.read_text().splitlines()) for path in paths}
    assert lengths
    assert {name: n for name, n in lengths.items() if n > 500} == {}


def test_few_lines_take_any():
    lines = [line for path in PACKAGE.rglob("*.py") for line in path.read_text().splitlines()]
    assert sum(bool(re.search(r"\bAny\b", line)) for line in lines) < 150
