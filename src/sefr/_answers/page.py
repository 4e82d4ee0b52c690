"""HTML pages of one file: templates, and foreign text that cannot become markup."""

from __future__ import annotations

from importlib import resources
from typing import Any

import jinja2

from .._system.colours import AGAINST, AGAINST_DARK, FOR, FOR_DARK, NEUTRAL, NEUTRAL_DARK
from .._system.text import visible

MOST_SHOWN_FEATURES = 2_000
THEMES = {"light": (AGAINST, NEUTRAL, FOR), "dark": (AGAINST_DARK, NEUTRAL_DARK, FOR_DARK)}


def render(name: str, **values: Any) -> str:
    """Return a self-contained page: a template with its values, the colours, the style and the script."""
    look = {"themes": THEMES, "script": template("report.js"), "style": template("report.css")}
    return _environment().get_template(name).render(**values, **look)


def _environment() -> jinja2.Environment:
    """Return what renders the templates; every text is made visible and escaped."""
    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(template), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    made.filters["signed"] = lambda value: f"{value:+.3f}".replace("-", "\N{MINUS SIGN}")
    made.finalize = _harmless
    return made


def template(name: str) -> str:
    """Return the text of a template, a style or a script."""
    return (resources.files("sefr._answers") / "templates" / name).read_text(encoding="utf-8")


def _harmless(value: Any) -> Any:
    """Make foreign text visible before Jinja escapes it; markup of the page's own stays as it is."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
