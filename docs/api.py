"""Write docs/api.md: every public name, and the first sentence of its docstring.

The names stand once, in each public module's ``__all__``. ``make api`` writes the page; a test compares.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("api.md")

# What is public; the rest is private, or reached from these.
MODULES = (
    "sefr",
    "sefr.reference",
    "sefr.device",
    "sefr.files",
    "sefr.engines.spark",
    "sefr.engines.river",
    "sefr.paper.datasets",
    "sefr.paper.energy",
)

# Values have no docstring.
VALUES = {
    "sefr.__version__": "The version, as the installed metadata has it.",
    "sefr.device.BOARDS": "The simulated boards, by name.",
    "sefr.files.FORMATS": "The file formats that are read, by name.",
    "sefr.paper.datasets.NAMES": "The names of the paper's eight datasets.",
}

HEAD = """# API reference

Every public name. `help(name)` has the parameters; what is not listed is private and may change.
This page is made from the docstrings by `make api`.
"""


def page() -> str:
    """Return the page's text."""
    return HEAD + "".join(_section(name) for name in MODULES)


def _section(module_name: str) -> str:
    module = import_module(module_name)
    names = sorted(module.__all__, key=str.lower)
    lines = [f"\n## `{module_name}`\n", _sentence(module), "", "| name | |", "|---|---|"]
    classes = []
    for name in names:
        value = getattr(module, name)
        said = VALUES.get(f"{module_name}.{name}") or _sentence(value)
        lines.append(f"| `{name}` | {said} |")
        if inspect.isclass(value) and not issubclass(value, Exception):
            classes.append(value)
    for each in classes:
        members = list(_members(each))
        if members:
            lines += [f"\n### `{each.__name__}`\n", "| name | |", "|---|---|"]
            lines += [f"| `{name}` | {said} |" for name, said in members]
    return "\n".join(lines) + "\n"


def _members(owner: type) -> Iterator[tuple[str, str]]:
    """Yield the public methods and properties that are defined in this package and documented there."""
    for name in sorted(dir(owner)):
        if name.startswith("_"):
            continue
        home = next((each for each in owner.__mro__ if name in vars(each)), owner)
        value = inspect.getattr_static(owner, name)
        called = isinstance(value, property | classmethod | staticmethod) or inspect.isfunction(value)
        if called and home.__module__.startswith("sefr.") and inspect.getdoc(getattr(owner, name)):
            yield name, _sentence(getattr(owner, name) if not isinstance(value, property) else value)


def _sentence(value: Any) -> str:
    text = inspect.getdoc(value)
    if not text:
        raise ValueError(f"{value!r} has no docstring")
    first = " ".join(text.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.])\s(?=[A-Z`])", first)[0]
    return re.sub(r":[a-z]+:`", "`", sentence.replace("``", "`")).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
