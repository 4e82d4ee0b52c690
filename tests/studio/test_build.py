"""The page that is committed is what its sources build, and within its limits."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from steps import PAGE

pytestmark = pytest.mark.needs("node")

STUDIO = PAGE.parents[3] / "studio"
COMPILER = "5.4.0"  # of the AVR image: another version makes another one, as good
MOST_BYTES = 700_000


@pytest.mark.slow
def test_the_committed_page_is_what_the_sources_build(tmp_path):
    if not shutil.which("node") or not (STUDIO / "node_modules" / "esbuild").exists():
        pytest.skip("node or esbuild is not installed: make studio-tools")
    pytest.importorskip("ziglang")
    if not shutil.which("avr-gcc"):
        pytest.skip("avr-gcc is not installed: make device-tools")
    found = subprocess.run(
        ["avr-gcc", "-dumpversion"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if found != COMPILER:
        pytest.skip(f"the page was built with avr-gcc {COMPILER}, not {found}")
    fresh = tmp_path / "studio.html"
    subprocess.run(
        ["node", "build.mjs", str(fresh)],
        cwd=STUDIO,
        check=True,
        env={**os.environ, "PYTHON": sys.executable},
    )
    assert fresh.read_bytes() == PAGE.read_bytes(), "make studio, and commit the page"


@pytest.mark.slow
def test_types_hold():
    if not (STUDIO / "node_modules" / "typescript").exists():
        pytest.skip("typescript is not installed: make studio-tools")
    done = subprocess.run(["npx", "tsc", "--noEmit"], cwd=STUDIO, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_page_is_one_file_within_its_limit():
    page = PAGE.read_text(encoding="utf-8")
    assert PAGE.stat().st_size <= MOST_BYTES
    head, script = page.split("<script>")
    assert re.findall(r"""(?:src|href)=["'](?!#)""", head) == []
    assert script.count("</script>") == 1


def test_the_guide_has_the_figures_of_the_benchmark():
    root = STUDIO.parent
    found = json.loads((root / "benchmarks" / "studio" / "results.json").read_text())
    digits, large = found["digits"], found["large"]
    figures = [
        f"{found['page_bytes'] / 1000:.0f} kB",
        f"{found['wasm_bytes'] / 1000:.0f} kB",
        f"{digits['train_ms']} ms",
        f"{digits['ten_folds_ms']:.0f} ms",
        f"{digits['bins_train_ms']:.0f} ms",
        f"{digits['bins_ten_folds_ms']:.0f} ms",
        f"{digits['passes_train_ms']:.0f} ms",
        f"{digits['passes_ten_folds_ms']:.0f} ms",
        f"{digits['auto_train_ms']:.0f} ms",
        f"{digits['auto_compared_ms']:.0f} ms",
        f"{large['read_ms'] / 1000:.0f} s",
        f"{large['longest_task_ms']:.0f} ms",
    ]
    table = (root / "docs" / "guide" / "studio.md").read_text().split("## Measured")[1]
    assert re.findall(r"\| ([\d.]+ (?:kB|ms|s)) \|", table) == figures
    assert f"{large['rows']:,} x 20, {large['megabytes']:.0f} MB" in table


def test_packages_are_pinned_without_addresses():
    lock = json.loads((STUDIO / "package-lock.json").read_text())
    for name, package in lock["packages"].items():
        assert "resolved" not in package, name
        if name:
            assert package.get("integrity", "").startswith("sha512-"), name
    wanted = json.loads((STUDIO / "package.json").read_text())["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())
