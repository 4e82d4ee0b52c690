"""Links and pictures of pages that are also read in the repository.

A link to a file that is no page of the site downloads a copy of it, which the site brings. A picture NAME.png
that has a NAME_dark.png beside it is shown by whichever fits the reader's theme, at half its pixels.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from docutils import nodes
from PIL import Image
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"[+−-]?[0-9][0-9.,]*(?: ?(?:%|ms|s|KB|MB|GB|B))?")
WIDE = 8  # columns that fit beside each other in the usual size
LOGGER = logging.getLogger(__name__)


class RepositoryLinks(SphinxTransform):
    """Turns links to files outside of the site into downloads; a link to a folder becomes its words."""

    default_priority = 5  # before MyST's own links are resolved

    def apply(self, **kwargs: object) -> None:
        """Change the links of one page."""
        here = Path(self.env.doc2path(self.env.docname)).parent
        found = list(self.document.findall(lambda n: isinstance(n, addnodes.pending_xref | nodes.reference)))
        for link in found:
            file = self._file(link, here)
            if file is not None and not self._is_page(file := Path(os.path.normpath(file))):
                link.replace_self(self._download(file, here, link.children))

    def _download(self, file: Path, here: Path, words: list[nodes.Node]) -> list[nodes.Node]:
        """Return a link that downloads a file; the words alone if it is a folder."""
        if file.is_dir():
            return words
        return [addnodes.download_reference("", "", *words, reftarget=os.path.relpath(file, here))]

    def _file(self, link: nodes.Element, here: Path) -> Path | None:
        """Return the file that a link names by a path, if there is one."""
        target = urlsplit(link.get("refuri") or link.get("reftarget") or "")
        if link.get("refdomain") == "doc":  # without its ending; absolute if outside of the site
            found = Path(f"{target.path}.md")
            return found if found.is_absolute() and found.exists() else None
        if target.scheme or not {"/", "."} & set(target.path) or link.get("refdomain"):
            return None
        # A page at the root of the repository that is included here has links from there.
        return next((f for f in (here / target.path, ROOT / target.path) if f.exists()), None)

    def _is_page(self, file: Path) -> bool:
        source = Path(self.env.srcdir)
        return source in file.parents and self.env.path2doc(str(file)) in self.env.found_docs


class ThemedPictures(SphinxTransform):
    """Shows a picture's dark twin on a dark page."""

    default_priority = 6

    def apply(self, **kwargs: object) -> None:
        """Change the pictures of one page."""
        here = Path(self.env.doc2path(self.env.docname)).parent
        for image in list(self.document.findall(nodes.image)):
            uri = image["uri"]
            path = here / uri
            if "://" in uri or not path.is_file() or path.suffix != ".png":
                continue
            if not image.get("alt"):
                LOGGER.warning("%s: a picture without words for it", uri, location=image, type="repository")
            with Image.open(path) as picture:
                image["width"] = f"{picture.width // 2}px"
            dark = path.with_name(f"{path.stem}_dark.png")
            if dark.is_file():
                twin = image.deepcopy()
                twin["uri"] = str(Path(uri).with_name(dark.name))
                image["classes"] = [*image["classes"], "only-light"]
                twin["classes"] = [*twin["classes"], "only-dark"]
                image.parent.insert(image.parent.index(image) + 1, twin)


class NumberColumns(SphinxTransform):
    """Aligns the columns of tables that hold numbers alone to the right, and marks tables of many columns."""

    default_priority = 8

    def apply(self, **kwargs: object) -> None:
        """Change the tables of one page."""
        for table in self.document.findall(nodes.table):
            rows = [list(row.findall(nodes.entry)) for row in table.findall(nodes.row)]
            body = [
                list(r.findall(nodes.entry)) for part in table.findall(nodes.tbody) for r in part.children
            ]
            for j in range(min(map(len, rows), default=0)):
                cells = [row[j].astext().strip() for row in body]
                if any(cells) and all(NUMBER.fullmatch(cell) for cell in cells if cell):
                    for row in rows:
                        row[j]["classes"].append("number")
            if max(map(len, rows), default=0) > WIDE:
                table["classes"].append("wide")


class EndsOfBlocks(SphinxTransform):
    """Takes the empty line off the end of a block of code, which doctest needs in Markdown."""

    default_priority = 7

    def apply(self, **kwargs: object) -> None:
        """Change the blocks of one page."""
        for block in self.document.findall(nodes.literal_block):
            text = block.astext()
            if text != text.rstrip():
                block.rawsource = text.rstrip()
                block.children[:] = [nodes.Text(text.rstrip())]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_transform(RepositoryLinks)
    app.add_transform(ThemedPictures)
    app.add_transform(NumberColumns)
    app.add_transform(EndsOfBlocks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
