"""The public names: listed once in ``__all__``."""

from __future__ import annotations

import sefr


def test_the_package_shows_no_other_name() -> None:
    for name in sefr.__all__:  # they are imported when they are first asked for
        assert getattr(sefr, name)
    modules = {name for name in vars(sefr) if isinstance(vars(sefr)[name], type(sefr))}
    shown = {name for name in vars(sefr) if not name.startswith("_")} - modules
    assert shown == set(sefr.__all__) - {"__version__"}
