"""The public names: listed once in ``__all__``, and in the API reference."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import sefr

_SCRIPT = Path(__file__).parents[2] / "docs" / "api.py"
_spec = importlib.util.spec_from_file_location("docs_api", _SCRIPT)
assert _spec is not None
assert _spec.loader is not None
api = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(api)


def test_the_api_reference_has_every_public_name() -> None:
    assert api.PAGE.read_text(encoding="utf-8") == api.page(), "run make api"


def test_the_package_shows_no_other_name() -> None:
    modules = {name for name in vars(sefr) if isinstance(vars(sefr)[name], type(sefr))}
    shown = {name for name in vars(sefr) if not name.startswith("_")} - modules
    assert shown == set(sefr.__all__) - {"__version__"}
