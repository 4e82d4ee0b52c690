"""Before Sphinx reads: write the pages that are made from docstrings, the command and the C headers."""

from __future__ import annotations

from pathlib import Path

import api_pages
import command_pages
import device_pages
from sphinx.application import Sphinx


def write_pages(app: Sphinx) -> None:
    """Write each page that is new or changed; one that is not made any more goes."""
    folder = Path(app.srcdir) / "reference"
    made = api_pages.pages() | command_pages.pages() | device_pages.pages()
    for path, text in made.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    for file in (folder / "api").glob("*.rst"):
        if f"api/{file.name}" not in made:
            file.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
