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


def test_search_works_offline(browser: Any, site: Any) -> None:
    tab, said = _opened(browser, site, "search.html?q=temperature")
    tab.wait_for_selector("#search-results li a", timeout=20_000)
    found = tab.evaluate("[...document.querySelectorAll('#search-results li a')].map(a => a.href)")
    assert any("probabilities" in link for link in found)
    assert said == []
    tab.context.close()
