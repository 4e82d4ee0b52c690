"""The site in a browser: three widths, light and dark, no errors, nothing too wide, search offline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.needs("sphinx"), pytest.mark.slow]

PAGES = (
    "index.html",
    "start/csv.html",
    "guide/idea.html",
    "guide/settings.html",
    "guide/passes.html",
    "gallery/index.html",
    "gallery/plot_digits.html",
    "reference/api/sefr.SEFRClassifier.html",
    "reference/commands.html",
    "reference/c_library.html",
    "speed.html",
    "neighbours.html",
)
WIDTHS = (360, 820, 1440)
DESKTOP = 1280
# Returns what is wider than its place: tables scroll in a container, code by itself.
CUT_OFF = """() => [...document.querySelectorAll("article table, article pre")]
  .filter(e => [e, e.parentElement].some(p => p.scrollWidth > p.clientWidth + 1))
  .map(e => e.innerText.slice(0, 60))"""


def _opened(browser: Any, site: Any, page: str, **look: Any) -> tuple[Any, list[str]]:
    """Return the page, from its file and without a network, and what the console complained of."""
    context = browser.new_context(offline=True, **look)
    tab = context.new_page()
    said: list[str] = []
    tab.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("requestfailed", lambda request: said.append(f"not there: {request.url}"))
    path, _, query = page.partition("?")
    tab.goto((site.folder / path).as_uri() + (f"?{query}" if query else ""))
    return tab, said


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_pages_open_without_an_error(browser: Any, site: Any, width: int, scheme: str) -> None:
    for page in PAGES:
        tab, said = _opened(
            browser, site, page, viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        assert said == [], page
        shown = tab.evaluate("document.documentElement.dataset.theme")
        assert shown == scheme, page
        wider = tab.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wider <= 0, f"{page} is {wider} px wider than {width}"
        tab.context.close()


def test_a_picture_has_its_dark_twin_on_a_dark_page(browser: Any, site: Any) -> None:
    for scheme, shown in (("light", "studio.png"), ("dark", "studio_dark.png")):
        tab, _ = _opened(browser, site, "index.html", color_scheme=scheme)
        sources = tab.evaluate(
            "[...document.querySelectorAll('article img')].filter(i => i.offsetWidth > 0).map(i => i.src)"
        )
        assert [Path(source).name for source in sources] == [shown]
        tab.context.close()


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("temperature", "probabilities"),
        ("hyperparameters", "guide/settings"),
        ("regularization", "guide/passes"),
        ("imbalanced", "guide/settings"),
        ("Excel", "start/csv"),
        ("decimal comma", "start/csv"),
    ],
)
def test_search_works_offline(browser: Any, site: Any, words: str, page: str) -> None:
    tab, said = _opened(browser, site, f"search.html?q={words.replace(' ', '+')}")
    tab.wait_for_selector("#search-results li a", timeout=20_000)
    found = tab.evaluate("[...document.querySelectorAll('#search-results li a')].map(a => a.href)")
    assert any(page in link for link in found)
    assert said == []
    tab.context.close()


def test_nothing_is_cut_off_on_a_desktop(browser: Any, site: Any) -> None:
    context = browser.new_context(offline=True, viewport={"width": DESKTOP, "height": 900})
    tab = context.new_page()
    cut = {}
    for path in site.pages:
        if path.name in ("studio.html", "genindex.html", "search.html"):
            continue
        tab.goto(path.as_uri())
        if found := tab.evaluate(CUT_OFF):
            cut[path.relative_to(site.folder).as_posix()] = found
    context.close()
    assert cut == {}


def test_numbers_are_aligned_to_the_right(browser: Any, site: Any) -> None:
    tab, _ = _opened(browser, site, "guide/settings.html")
    aligned = tab.evaluate(
        "[...document.querySelectorAll('article td')].filter(c => /^[0-9.,]+$/.test(c.innerText))"
        ".map(c => getComputedStyle(c).textAlign)"
    )
    assert len(aligned) > 50
    assert set(aligned) == {"right"}
    tab.context.close()


def test_what_is_copied_has_neither_prompts_nor_output(browser: Any, site: Any) -> None:
    tab, _ = _opened(browser, site, "start/data_engineer.html")
    tab.evaluate("document.addEventListener('copy', e => { window.copied = e.target.value; }, true)")
    tab.locator("button.copybtn").first.dispatch_event("click")
    copied = tab.evaluate("window.copied")
    assert copied.startswith("import polars as pl\n")
    assert ">>>" not in copied
    assert "array(" not in copied
    tab.context.close()


def test_the_page_that_trains_opens_inside_the_index(browser: Any, site: Any) -> None:
    tab, said = _opened(browser, site, "index.html", viewport={"width": 390, "height": 900})
    tab.locator("details.try summary").click()
    frame = tab.frame_locator("details.try iframe")
    frame.get_by_text("Choose a CSV file").first.wait_for(timeout=20_000)
    assert said == []
    tab.context.close()
