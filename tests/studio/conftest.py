"""The page in a real browser; every request that leaves it and every fault in its console fails the test."""

from __future__ import annotations

from pathlib import Path

import pytest
from steps import EXAMPLES, PAGE

WAIT = 60_000  # milliseconds; CI shares its processors


@pytest.fixture
def open_page(browser):
    """Return a function that opens the page.

    ``look`` are the settings of the browser's window, ``script`` runs first and may call ``functions``.
    """
    opened, faults = [], []

    def open_it(path=PAGE, words="", script=None, functions=None, **look):
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | look))
        context.set_default_timeout(WAIT)
        page = context.new_page()
        for name, function in (functions or {}).items():
            page.expose_function(name, function)
        if script is not None:
            page.add_init_script(script)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(("file:", "blob:")) else faults.append(request.url)
            ),
        )
        page.goto(Path(path).as_uri() + words)
        page.wait_for_selector("html[data-ready]")
        page.faults = faults
        opened.append(context)
        return page

    yield open_it
    for context in opened:
        context.close()
    assert faults == []


@pytest.fixture
def page(open_page):
    """The page, which trains as the paper does until something else is chosen."""
    return open_page(words="#method=paper")


@pytest.fixture(scope="session")
def example_files(tmp_path_factory):
    """The examples as files, made by what the page was built with."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("parts", PAGE.parents[3] / "studio" / "parts.py")
    assert spec is not None
    assert spec.loader is not None
    parts = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(parts)
    folder = tmp_path_factory.mktemp("examples")
    files = {}
    for name in EXAMPLES:
        files[name] = folder / f"{name}.csv"
        files[name].write_text(getattr(parts, name)(), encoding="utf-8")
    return files
