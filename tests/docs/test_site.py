"""The site is built without a warning, and every link inside it leads somewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = [pytest.mark.needs("sphinx"), pytest.mark.slow]
ROOT = Path(__file__).parents[2]


class Links(HTMLParser):
    """The targets, the anchors and the pictures of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.pictures: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.anchors |= {str(found[name]) for name in ("id", "name") if found.get(name)}
        self.targets += [str(found[name]) for name in ("href", "src") if found.get(name)]
        if tag == "img":
            self.pictures.append(found)


def test_every_internal_link_leads_somewhere(site) -> None:
    pages = {page: Links(page.read_text()) for page in site.pages}
    assert len(pages) > 60
    broken = []
    for page, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            file = file / "index.html" if file.is_dir() else file
            anchor = unquote(parts.fragment)
            if not file.exists() or (anchor and file in pages and anchor not in pages[file].anchors):
                broken.append(f"{page.relative_to(site.folder)}: {target}")
    assert broken == []


def test_links_to_files_of_the_repository_are_downloads_of_them(site) -> None:
    """There is no address of the repository that a page could link to, so the site brings the files."""
    page = site.folder / "neighbours.html"
    files = {
        t.rsplit("/", 1)[-1] for p in site.pages for t in Links(p.read_text()).targets if "_downloads/" in t
    }
    assert {"SECURITY.md", "CITATION.cff", "results.json"} <= files
    for copied in (site.folder / "_downloads").rglob("SECURITY.md"):
        assert copied.read_bytes() == (ROOT / "SECURITY.md").read_bytes()
    assert "github.com/sefr-classifier" in page.read_text()  # the paper's authors are credited there alone
    assert [p for p in site.pages if p != page and "github.com/sefr-classifier" in p.read_text()] == []


def test_nothing_is_fetched_from_elsewhere(site) -> None:
    for page in site.pages:
        tags = re.findall(r'<(?:script|img|iframe|link rel="stylesheet")[^>]*>', page.read_text())
        fetched = [tag for tag in tags if re.search(r'(?:src|href)="(?:https?:)?//', tag)]
        assert fetched == [], page


def test_every_picture_has_words_for_it(site) -> None:
    found = [picture for page in site.pages for picture in Links(page.read_text()).pictures]
    assert len(found) > 5
    words = [
        picture for picture in found if "_thumb" not in str(picture["src"])
    ]  # those have titles below them
    assert [picture["src"] for picture in words if not picture.get("alt")] == []


def test_it_takes_less_than_five_minutes(site) -> None:
    assert site.seconds < 300
