"""What docs/guide/studio.md says of the page: its size, how long digits take, how a large file is read.

    PYTHONPATH=. python benchmarks/studio/measure.py [--rows 1000000] [--only sizes]

With ``--only`` the other figures stay as they are.

Times are those that the page itself shows, the best of several runs; the longest task of the page's thread is
in time of its processor, so that what else the machine does hardly enters.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from laboratory.machine import describe

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "sefr" / "studio" / "studio.html"
RESULTS = Path(__file__).with_name("results.json")
sys.path.insert(0, str(ROOT / "tests" / "studio"))

WAIT = 900_000
RUNS, WARM = 3, 6
# What is measured, the words of a link for it, and what its second time is of.
SETTINGS = (
    ("", "own", "ten_folds"),
    ("bins_", "own&bins=16", "ten_folds"),
    ("passes_", "own&passes=10", "ten_folds"),
    ("auto_", "auto", "compared"),
)


def wasm_bytes(page: str) -> int:
    """Return the size of the kernels in the page."""
    for text in re.findall(r"H4sI[A-Za-z0-9+/=]{1000,}", page):
        content = gzip.decompress(base64.b64decode(text))
        if content.startswith(b"\0asm"):
            return len(content)
    raise SystemExit("there is no wasm in the page")


def opened(browser: Browser) -> Page:
    """Open the page."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(WAIT)
    page.goto(f"{PAGE.as_uri()}#method=paper")
    page.wait_for_selector("html[data-ready]")
    return page


def digits(page: Page) -> dict[str, float]:
    """Train digits some times with each setting; return the best times that the page shows."""
    found: dict[str, float] = {}
    for name, words, tested in SETTINGS:
        train, folds = [], []
        for _ in range(RUNS):
            page.goto("about:blank")
            page.goto(f"{PAGE.as_uri()}#label=digit&method={words}")
            page.wait_for_selector("html[data-ready]")
            for _ in range(WARM):
                page.evaluate("() => document.querySelector('#train').replaceChildren()")
                page.click("[data-example='digits.csv']")
                text = page.wait_for_selector("#train .lead").inner_text()
                if words != "own":
                    break  # a link is asked for once
            times = [float(time) for time in re.findall(r"([\d.]+) ms", text)]
            train.append(times[0])
            folds.append(times[1])
        found |= {f"{name}train_ms": min(train), f"{name}{tested}_ms": min(folds)}
    return found


def large(browser: Browser, page: Page, rows: int, folder: Path) -> dict[str, float]:
    """Read and train a file of 20 features."""
    from steps import longest_task

    path = folder / "large.csv"
    body = np.random.default_rng(1).normal(size=(10_000, 20)).round(4)
    lines = "".join(",".join(map(str, row)) + f",{'ab'[i % 2]}\n" for i, row in enumerate(body))
    with path.open("w") as file:
        file.write(",".join(f"f{j}" for j in range(20)) + ",kind\n")
        for _ in range(rows // len(body)):
            file.write(lines)
    page.evaluate("() => document.querySelector('#train').replaceChildren()")
    browser.start_tracing(page=page, categories=["toplevel"])
    page.set_input_files("#file", str(path))
    text = page.wait_for_selector("#train .lead").inner_text()
    page.wait_for_selector("#save-model")
    trace = browser.stop_tracing()
    read = re.search(r"read in ([\d.]+) ms", page.inner_text(".opened"))
    times = [float(found) for found in re.findall(r"([\d.]+) ms", text)]
    return {
        "rows": rows,
        "megabytes": path.stat().st_size / 1e6,
        "read_ms": float(read[1]) if read else float("nan"),
        "train_ms": times[0],
        "ten_folds_ms": times[1],
        "longest_task_ms": longest_task(trace),
    }


def main() -> None:
    """Measure, and write results.json."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", choices=("sizes", "digits", "large"))
    given = parser.parse_args()
    found: dict[str, Any] = json.loads(RESULTS.read_text()) | {"machine": describe()}
    if given.only in (None, "sizes"):
        found["page_bytes"] = PAGE.stat().st_size
        found["wasm_bytes"] = wasm_bytes(PAGE.read_text(encoding="utf-8"))
    chromium = shutil.which("chromium") or "/usr/bin/chromium"
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        if given.only in (None, "digits"):
            found["digits"] = digits(opened(browser))
        if given.only in (None, "large"):
            found["large"] = large(browser, opened(browser), given.rows, Path(folder))
        browser.close()
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
