"""The device reference: every public declaration of the C headers, with the comment that stands above it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "device" / "src"
HEADERS = {
    "sefr.h": "Learn, solve, classify",
    "sefr_state.h": "States: save, send, restore",
    "sefr_window.h": "Windows over signals",
    "sefr_eeprom.h": "Storage: the EEPROM of an AVR",
    "sefr_file.h": "Storage: a file",
}
HEAD = """# The C library

C99, integers only, no heap: the caller owns every byte. Made from the comments of the headers in
[device/src](../../device/src/); [the guide](../guide/device.md) shows how a trained model becomes a sketch.

"""


@dataclass(frozen=True)
class Entry:
    """A comment and the declarations that follow it up to an empty line."""

    comment: str
    code: str

    @property
    def names(self) -> list[str]:
        """The public names that are declared."""
        found = re.findall(r"^#define (SEFR_[A-Z_]*[A-Z])\b", self.code, re.MULTILINE)
        found += re.findall(r"\b(sefr_[a-zA-Z_]+)\(", self.code)
        found += re.findall(r"^}\s*(sefr_[a-z_]+);", self.code, re.MULTILINE)
        found += re.findall(r"typedef [^(;{]*?\b(sefr_[a-z_]+);", self.code)
        found += re.findall(r"\(\*(sefr_[a-z_]+)\)", self.code)
        return list(dict.fromkeys(found))


def pages() -> dict[str, str]:
    """Return the text of the page by its path below ``reference/``."""
    parts = [HEAD]
    for header, title in HEADERS.items():
        text = (SOURCE / header).read_text(encoding="utf-8")
        opening = re.match(r"/\*(.*?)\*/", text, re.DOTALL)
        assert opening is not None, header
        parts.append(f"## {title}: {header}\n\n```text\n{_unstarred(opening[1])}\n```\n\n")
        for entry in entries(text[opening.end() :]):
            heading = ", ".join(f"`{name}`" for name in entry.names)
            parts.append(f"### {heading}\n\n{_prose(entry.comment)}\n\n```c\n{entry.code}\n```\n\n")
    return {"c_library.md": "".join(parts)}


def entries(text: str) -> Iterator[Entry]:
    """Yield what is declared with a comment above it."""
    for match in re.finditer(
        r"^/\*(?!.*----)(.*?)\*/\n((?:(?!/\*)[^\n]+\n|[^\n]*[;{,][^\n]*/\*[^\n]*\n)+)",
        text,
        re.DOTALL | re.MULTILINE,
    ):
        code = _declarations(match[2])
        entry = Entry(_unstarred(match[1]), code)
        if code and entry.names:
            yield entry


def _declarations(code: str) -> str:
    """Return the code as a caller reads it: without conditions of the preprocessor and bodies of macros."""
    lines, in_macro = [], False
    for line in code.rstrip().splitlines():
        if in_macro:
            in_macro = line.endswith("\\")
            continue
        if line.startswith("#define"):
            in_macro = line.endswith("\\")
            if line.split("(")[0].split()[1].endswith("_"):
                continue
            lines.append(re.sub(r"\s*\\$", "", line))
        elif not line.startswith(("#", 'extern "C"', "typedef char name##", "static ")):
            lines.append(line)
    return "\n".join(lines)


def _unstarred(comment: str) -> str:
    lines = [re.sub(r"^ \* ?", "", line) for line in comment.strip().splitlines()]
    return "\n".join(line.rstrip() for line in lines).strip()


def _prose(comment: str) -> str:
    """Return a comment as Markdown that shows just these words."""
    if any(line.startswith("  ") for line in comment.splitlines()):
        return f"```text\n{comment}\n```"
    parts = re.split(r"(`[^`\n]*`)", comment)
    escaped = [part if part.startswith("`") else re.sub(r"([*_<|\[\]])", r"\\\1", part) for part in parts]
    return "".join(escaped)
