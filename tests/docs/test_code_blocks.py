"""Every code block of the README and the docs is executed, by this file or by one that it names.

Blocks of Python with prompts are doctests, which pytest collects from README.md and docs/. The others are run
here: Python without prompts, lines of the shell that call ``sefr``, and C.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_iris

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
GENERATED = {"commands.md", "c_library.md"}  # from help texts and comments; test_reference.py has them
PAGES = [
    ROOT / "README.md",
    *(
        path
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if path.name not in GENERATED and not {"gallery", "api"} & set(path.parts)
    ),
]
_BLOCK = re.compile(r"^(`{3,}|:{3,})([^\n]*)\n(.*?)^\1 *$", re.DOTALL | re.MULTILINE)
# Output and forms, which nothing can run.
SHOWN = {"text", "json"}


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each block; directives of the site are not code."""
    found = [(language.strip(), text) for _, language, text in _BLOCK.findall(page.read_text())]
    return [(language, text) for language, text in found if not language.startswith("{")]


ALL = [(page, language, text) for page in PAGES for language, text in blocks(page)]


def _of(*languages: str) -> list[object]:
    chosen = [(page, text) for page, language, text in ALL if language in languages]
    return [
        pytest.param(page, text, id=f"{page.relative_to(ROOT).as_posix()}-{number}")
        for number, (page, text) in enumerate(chosen)
    ]


MLFLOW = """
import os, tempfile
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # a database needs more than mlflow-skinny
import mlflow
from sklearn.datasets import load_iris
from sefr import SEFRClassifier
mlflow.set_tracking_uri("file://" + tempfile.mkdtemp() + "/runs")
rows, labels = load_iris(return_X_y=True)
clf = SEFRClassifier().fit(rows, labels)
"""
SPARK = """
import tempfile
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", 1).getOrCreate()
frame = spark.createDataFrame([(1.0, 8.0, 0.0), (3.0, 6.0, 1.0), (2.0, 7.0, 0.0)], ["a", "b", "label"])
names, path = ["a", "b"], tempfile.mkdtemp() + "/model"
"""
BEFORE = {"pyspark": SPARK, "mlflow": MLFLOW}  # what their blocks begin with


def test_every_kind_of_block_is_known() -> None:
    assert len(ALL) > 30
    assert {language for _, language, _ in ALL} - SHOWN == {"python", "sh", "console", "c"}


@pytest.mark.parametrize(("page", "text"), _of("python"))
def test_blocks_of_python_have_prompts_so_that_pytest_runs_them(page: Path, text: str) -> None:
    if any(name in text for name in BEFORE):
        pytest.skip("run below")
    assert text.startswith(">>> ")
    tested = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert page.name == "README.md" or "docs" in tested["testpaths"]
    assert "--doctest-glob=*.md" in tested["addopts"]


@pytest.mark.slow
@pytest.mark.parametrize("name", BEFORE)
def test_the_block_for_an_engine_runs(name: str, tmp_path: Path) -> None:
    pytest.importorskip(name)
    if name == "pyspark" and shutil.which("java") is None:
        pytest.skip("java is not installed")
    found = [text for _, language, text in ALL if language == "python" and name in text]
    assert len(found) == 1
    program = [sys.executable, "-c", BEFORE[name] + found[0]]
    done = subprocess.run(program, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def _commands(text: str) -> list[str]:
    lines = [line.removeprefix("$ ") for line in text.splitlines() if line.strip()]
    return [line for line in lines if re.match(r"(cat \S+ \| )?sefr ", line)]


@pytest.fixture(scope="module")
def table() -> tuple[str, str]:
    """Iris as CSV, with and without labels."""
    iris = load_iris()
    header = ",".join(name.replace(" (cm)", "").replace(" ", "_") for name in iris.feature_names)
    rows = [",".join(map(str, row)) for row in iris.data]
    labelled = [f"{row},{iris.target_names[k]}" for row, k in zip(rows, iris.target, strict=True)]
    return "\n".join([f"{header},species", *labelled]) + "\n", "\n".join([header, *rows[::10]]) + "\n"


def _pages_of_the_shell() -> list[object]:
    texts = [(page, text) for page, language, text in ALL if language in ("sh", "console")]
    on_a_board = {page for page, text in texts if any("sefr simulate" in line for line in _commands(text))}
    return [
        pytest.param(page, marks=[pytest.mark.needs("avr")] * (page in on_a_board))
        for page in sorted({page for page, _ in texts})
    ]


@pytest.mark.parametrize("page", _pages_of_the_shell())
def test_lines_of_the_shell_run_in_order(page: Path, table: tuple[str, str], tmp_path: Path) -> None:
    labelled, new = table
    for name in ("iris.csv", "data.csv", "more.csv"):
        (tmp_path / name).write_text(labelled)
    (tmp_path / "new.csv").write_text(new)
    (tmp_path / "goods.csv").write_text("colour,shape,size,kind\nred,round,1,sold\nblue,,2,kept\n")
    (tmp_path / "logs").mkdir()
    pq.write_table(pa.table({"heat": [61, 80], "fault": ["no", "yes"]}), tmp_path / "logs" / "day.parquet")
    for label, step in (("slow", 3), ("fast", 17)):
        folder = tmp_path / "recordings" / label
        folder.mkdir(parents=True)
        for number in range(2):
            samples = [str(300 + step * (i + number) % 400) for i in range(200)]
            (folder / f"{number}.csv").write_text("\n".join(["x", *samples]) + "\n")
    command = Path(sys.executable).with_name("sefr")
    lines = [
        line
        for each, language, text in ALL
        for line in _commands(text)
        if each == page and language in ("sh", "console")
    ]
    assert lines or page.name == "README.md"
    for line in lines:
        done = subprocess.run(
            ["/bin/bash", "-ec", line.replace("sefr ", f"{shlex.quote(str(command))} ", 1)],
            cwd=tmp_path,
            env={**os.environ, "BROWSER": "true"},  # what would open a page does nothing
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize(("page", "text"), _of("sh", "console"))
def test_other_lines_of_the_shell_name_what_exists(page: Path, text: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    for line in text.splitlines():
        words = line.removeprefix("$ ").split()
        if words and words[0] == "make":
            assert set(words[1 : words.index("#") if "#" in words else None]) <= targets


def test_extras_that_are_named_exist() -> None:
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    for page in PAGES:
        for named in re.findall(r"'\.\[([a-z,]+)\]'", page.read_text()):
            assert set(named.split(",")) <= extras, page


@pytest.mark.slow
@pytest.mark.parametrize(("page", "text"), _of("c"))
def test_blocks_of_c_compile_and_run(page: Path, text: str, tmp_path: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "block.c").write_text(text)
    source = ROOT / "device" / "src"
    command = [
        compiler,
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{source}",
        "block.c",
        str(source / "sefr.c"),
    ]
    subprocess.run([*command, "-o", "block"], cwd=tmp_path, check=True)
    assert subprocess.run([str(tmp_path / "block")], check=False).returncode == 0
