"""Draw the pictures of the page and of the report, as a browser shows them, into docs/pictures.

    python -m benchmarks.page_pictures

Needs playwright and Chromium (``make browser-tools``). Both are drawn at twice their size, light and dark.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from sklearn.datasets import load_iris

HERE = Path(__file__).parent
PICTURES = HERE.parent / "docs" / "pictures"
CHROMIUM = Path("/usr/bin/chromium")
PAGE = HERE.parent / "src" / "sefr" / "studio" / "studio.html"
HEIGHT = 880


def main() -> None:
    """Draw all of them."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as play:
        folder = Path(name)
        table = _iris(folder)
        sefr = Path(sys.executable).with_name("sefr")
        for words in (
            (
                "train",
                table,
                "--label",
                "species",
                "--bins",
                "12",
                "--passes",
                "10",
                "-o",
                folder / "iris.sefr",
            ),
            ("explain", folder / "iris.sefr", "--rows", table, "-o", folder / "report.html"),
        ):
            subprocess.run([sefr, *words, "--quiet"], check=True)
        path = str(CHROMIUM) if CHROMIUM.exists() else None
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for scheme, ending in (("light", ""), ("dark", "_dark")):
            _studio(browser, scheme, PICTURES / f"studio{ending}.png")
            _report(browser, folder, scheme, PICTURES / f"report{ending}.png")
        browser.close()


def _iris(folder: Path) -> Path:
    iris = load_iris()
    names = [name.removesuffix(" (cm)").replace(" ", "_") for name in iris.feature_names]
    rows = [",".join(map(str, row)) for row in iris.data.tolist()]
    species = iris.target_names[iris.target].tolist()
    lines = [
        ",".join([*names, "species"]),
        *(f"{row},{kind}" for row, kind in zip(rows, species, strict=True)),
    ]
    path = folder / "iris.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def _studio(browser: Browser, scheme: str, out: Path) -> None:
    """Draw a seven on the page, which has learned digits: its answer, and what it looks at."""
    page = browser.new_page(
        viewport={"width": 1100, "height": 900}, device_scale_factor=1.5, color_scheme=scheme
    )
    page.goto(PAGE.as_uri())
    page.get_by_text("1,797 handwritten digits").click()
    page.wait_for_selector("#pad", timeout=120_000)
    pad = page.locator("#pad")
    pad.scroll_into_view_if_needed()
    page.wait_for_timeout(2_000)
    box = pad.bounding_box()
    if box is None:
        raise RuntimeError("the page has no pad to draw on")
    at = [(0.25, 0.2), (0.75, 0.2), (0.6, 0.5), (0.45, 0.85)]
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in at]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=25)
    page.mouse.up()
    page.wait_for_timeout(1_000)
    top = page.locator("#understand").evaluate("e => e.getBoundingClientRect().top + window.scrollY")
    page.screenshot(path=out, full_page=True, clip={"x": 0, "y": top, "width": 1100, "height": HEIGHT})
    page.close()


def _report(browser: Browser, folder: Path, scheme: str, out: Path) -> None:
    """Show the head of the report."""
    page = browser.new_page(
        viewport={"width": 1100, "height": 1100}, device_scale_factor=1.5, color_scheme=scheme
    )
    page.goto((folder / "report.html").as_uri())
    page.screenshot(path=out)
    page.close()


if __name__ == "__main__":
    main()
