"""The door for foreign text: column names, labels and paths that somebody else chose.

A name may hold terminal escape sequences, line breaks, marks that turn the direction of writing, or the
markup of the library that shows it. What these functions return is harmless in the medium that they are named
after; ``cli/screen.py`` has the one for terminals, Jinja's autoescape follows :func:`visible` on pages.
"""

from __future__ import annotations

import json
import unicodedata
from typing import Any

# Control, format (bidirectional marks, zero-width joiners), surrogate, private use, line and paragraph ends.
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
MOST = 60


def visible(text: object, most: int | None = None) -> str:
    r"""Return text whose every character can be seen, in one line, cut to ``most`` characters.

    Examples
    --------
    >>> visible("a\x1b[31mb\nc")
    'a\\x1b[31mb\\nc'
    >>> visible("a very long name", 8)
    'a very …'
    """
    shown = str(text)
    if not (shown.isascii() and shown.isprintable()):
        shown = "".join(_escaped(char) if _is_unseen(char) else char for char in shown)
    return shown if most is None or len(shown) <= most else shown[: most - 1] + "…"


def visible_lines(text: str) -> str:
    """Return a text of several lines in which line breaks and tabs are all that cannot be seen."""
    return "".join(_escaped(char) if _is_unseen(char) and char not in "\n\t" else char for char in text)


def json_text(value: Any) -> str:
    r"""Return JSON in which every character can be seen: others are escaped, as JSON allows.

    Examples
    --------
    >>> json_text({"é": "\x9b\u202e"})
    '{"é": "\\u009b\\u202e"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return "".join(json.dumps(char)[1:-1] if _is_unseen(char) else char for char in text)


def picture_text(text: object, most: int = 28) -> str:
    r"""Return text for matplotlib, which takes what stands between two dollar signs for a formula.

    Examples
    --------
    >>> picture_text("price in $, $\\frac")
    'price in \\$, \\$\\frac'
    """
    return visible(text, most).replace("$", r"\$")


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) in UNSEEN


def _escaped(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
