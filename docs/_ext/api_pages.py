"""The API reference: a page per public module and a page per public name, from the docstrings.

The names stand once, in each public module's ``__all__``; numpydoc renders the pages.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

# What is public; the rest is private, or reached from these.
MODULES = (
    "sefr",
    "sefr.reference",
    "sefr.device",
    "sefr.signals",
    "sefr.files",
    "sefr.engines.spark",
    "sefr.engines.spark_regression",
    "sefr.engines.river",
)

# Values have no docstring of their own.
VALUES = {
    "sefr.__version__": "The version, as the installed metadata has it.",
    "sefr.device.BOARDS": "The simulated boards, by name.",
    "sefr.files.FORMATS": "The file formats that are read, by name.",
}

HEAD = """Python
======

Every public name, with its parameters and an example. What is not listed is private and may change.

.. toctree::
   :hidden:

"""


def pages() -> dict[str, str]:
    """Return the text of each page by its path below ``reference/``."""
    found = {"api/index.rst": HEAD + "".join(f"   {name}\n" for name in MODULES)}
    for module_name in MODULES:
        sentence = _rst(_sentence(import_module(module_name)))
        found["api/index.rst"] += f"\n:doc:`{module_name}`\n   {sentence}\n"
        found[f"api/{module_name}.rst"] = _module_page(module_name)
        for name, value in names_of(module_name):
            if f"{module_name}.{name}" not in VALUES:
                found[f"api/{module_name}.{name}.rst"] = _name_page(module_name, name, value)
    return found


def names_of(module_name: str) -> Iterator[tuple[str, Any]]:
    """Yield the public names of a module and what they stand for."""
    module = import_module(module_name)
    for name in sorted(module.__all__, key=str.lower):
        yield name, getattr(module, name)


def _module_page(module_name: str) -> str:
    shown, hidden = [], []
    for name, value in names_of(module_name):
        full = f"{module_name}.{name}"
        if full in VALUES:
            shown.append(f"``{name}``\n   {VALUES[full]}\n")
        else:
            hidden.append(f"   {full}\n")
            shown.append(f":doc:`{name} <{full}>`\n   {_rst(_sentence(value))}\n")
    title = f"``{module_name}``"
    parts = [title, "=" * len(title), "", _rst(_sentence(import_module(module_name))), ""]
    return "\n".join([*parts, ".. toctree::", "   :hidden:", "", "".join(hidden), *shown])


def _name_page(module_name: str, name: str, value: Any) -> str:
    full = f"{module_name}.{name}"
    kind = "autoclass" if inspect.isclass(value) else "autofunction"
    if inspect.isclass(value) and issubclass(value, Exception):
        kind = "autoexception"
    lines = [name, "=" * len(name), "", f".. currentmodule:: {module_name}", "", f".. {kind}:: {full}", ""]
    if kind == "autoclass":
        for member in members(value):
            static = inspect.getattr_static(value, member)
            lines.append(
                f"   .. {'autoproperty' if isinstance(static, property) else 'automethod'}:: {member}"
            )
    return "\n".join(lines) + "\n"


def members(owner: type) -> Iterator[str]:
    """Yield the public methods and properties that are defined in this package and documented there."""
    for name in sorted(dir(owner)):
        if name.startswith("_"):
            continue
        home = next((each for each in owner.__mro__ if name in vars(each)), owner)
        value = inspect.getattr_static(owner, name)
        called = isinstance(value, property | classmethod | staticmethod) or inspect.isfunction(value)
        if called and home.__module__.startswith("sefr.") and inspect.getdoc(getattr(owner, name)):
            yield name


def _sentence(value: Any) -> str:
    text = inspect.getdoc(value)
    if not text:
        raise ValueError(f"{value!r} has no docstring")
    first = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[.])\s(?=[A-Z`])", first)[0]


def _rst(sentence: str) -> str:
    """Return a docstring's sentence without roles, which would need the context of its module."""
    return re.sub(r":[a-z]+:`([^`]*)`", r"``\1``", sentence)
