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
    "sefr_signal.h": "Signals: shapes and statistics as bytes",
    "sefr_eeprom.h": "Storage: the EEPROM of an AVR",
    "sefr_file.h": "Storage: a file",
}
HEAD = """# The C library

C99, integers only, no heap: the caller owns every byte. Made from the comments of the headers in
[device/src](../../device/src/); [the guide](../guide/device.md) shows how a trained model becomes a sketch.

"""
# Names of the layout's own making, and those that only rename others.
_PRIVATE = re.compile(r"^#\s*(?:undef|include|define (?:\w*_\b|sefr_|SEFR_(?:JOIN|NAME|H|ARRAYS|FITS)\b))")


@dataclass(frozen=True)
class Entry:
    """A comment and the declarations below it, up to an empty line or the next comment."""

    comment: str
    code: str

    @property
    def names(self) -> list[str]:
        """The public names that are declared."""
        found = re.findall(r"^#define (SEFR_[A-Z_]*[A-Z])\b", self.code, re.MULTILINE)
        found += re.findall(r"^(?:static )?\w[\w *]*?\b(sefr_[a-zA-Z_]+)\(", self.code, re.MULTILINE)
        found += re.findall(r"^}\s*(sefr_[a-z_]+);", self.code, re.MULTILINE)
        found += re.findall(r"^typedef [^(;{]*?\b(sefr_[a-z_]+);", self.code, re.MULTILINE)
        found += re.findall(r"^typedef .*\(\*(sefr_[a-z_]+)\)", self.code, re.MULTILINE)
        found += re.findall(r"^enum \{.*?\b(SEFR_[A-Z_]+)", self.code, re.MULTILINE)
        return list(dict.fromkeys(found))


def pages() -> dict[str, str]:
    """Return the text of the page by its path below ``reference/``."""
    parts = [HEAD]
    for header, title in HEADERS.items():
        text = (SOURCE / header).read_text(encoding="utf-8")
        opening = re.match(r"/\*(.*?)\*/", text, re.DOTALL)
        assert opening is not None, header
        parts.append(f"## {title}\n\n`#include <{header}>`\n\n{_prose(_unstarred(opening[1]))}\n\n")
        for entry in entries(text[opening.end() :]):
            heading = ", ".join(f"`{name}`" for name in entry.names) or "Switches"
            code = f"```c\n{entry.code}\n```\n\n" if entry.code else ""
            parts.append(f"### {heading}\n\n{_prose(entry.comment)}\n\n{code}")
    return {"c_library.md": "".join(parts)}


def entries(text: str) -> Iterator[Entry]:
    """Yield what is declared with a comment above it, and comments that list switches."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        if not lines[at].startswith("/*"):
            at += 1
            continue
        start = at
        while "*/" not in lines[at]:
            at += 1
        comment = _unstarred("\n".join(lines[start : at + 1])[2:].partition("*/")[0])
        at += 1
        start = at
        while at < len(lines) and lines[at].strip() and not lines[at].startswith("/*"):
            at += 1
        entry = Entry(comment, _declarations(lines[start:at]))
        # Bounds with their proofs stand in the header for its writers; limits are shown where they are named.
        proof = re.match(r"[|3]|Per class:|In all classes|N sum", comment) is not None
        if not proof and (entry.names or comment.startswith("Switches")):
            yield entry


def _declarations(lines: list[str]) -> str:
    """Return the code as a caller reads it: without bodies and what is private."""
    kept: list[str] = []
    inside = False  # a macro that goes on, or the body of a function
    for line in lines:
        if inside:
            inside = line.endswith("\\") or (kept[-1].endswith(";") and line != "}")
        elif line.startswith("#define"):
            inside = line.endswith("\\")
            if not _PRIVATE.match(line):
                kept.append(re.sub(r"\s*\\$", "", line))
        elif line.startswith("static ") and line.endswith("{"):
            kept.append(line[:-1].rstrip() + ";")
            inside = True
        elif not line.startswith(("#include", "#undef", 'extern "C"')):
            kept.append(line)
    return "\n".join(_balanced(kept))


def _balanced(lines: list[str]) -> list[str]:
    """Return the lines without conditions of the preprocessor that begin or end elsewhere or hold nothing."""
    opened: list[list[int]] = []
    needless = set()
    for at, line in enumerate(lines):
        if line.startswith("#if"):
            opened.append([at])
        elif line.startswith(("#else", "#elif", "#endif")):
            if not opened:
                needless.add(at)
                continue
            opened[-1].append(at)
            if line.startswith("#endif"):
                block = opened.pop()
                if block[-1] - block[0] == len(block) - 1:
                    needless |= set(block)
    needless |= {at for block in opened for at in block}
    return [line for at, line in enumerate(lines) if at not in needless]


def _unstarred(comment: str) -> str:
    lines = [re.sub(r"^ \* ?", "", line) for line in comment.strip().splitlines()]
    return "\n".join(line.rstrip() for line in lines).strip()


def _prose(comment: str) -> str:
    """Return a comment as Markdown that shows just these words; tables and formulas keep their lines."""
    if re.search(r"^ .*\S {2,}\S|\n {4}", comment, re.MULTILINE):
        return f"```text\n{comment}\n```"
    paragraphs = re.split(r"\n(?=SEFR_\w+:)", comment)
    return "\n\n".join(_escaped(" ".join(each.split())) for each in paragraphs)


def _escaped(line: str) -> str:
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<|\[\]])", r"\\\1", part) for part in parts)
