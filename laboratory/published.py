"""The paper's numbers, read from ``published.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from sefr._system.types import Fields

BINARY = ("gli_85", "smk_can_187", "basehock", "gisette", "sonar")
MULTICLASS = ("cnae_9", "waveform_5000", "semeion")


@cache
def tables() -> Fields:
    """Return all tables as in the file."""
    return tomllib.loads(files("laboratory").joinpath("published.toml").read_text())


def number(quantity: str, dataset: str, method: str) -> float | None:
    """Return accuracy, f1 (percent), seconds or joules of a method on a dataset, or None."""
    table = "table2" if quantity in ("accuracy", "f1") else "table3"
    if dataset in MULTICLASS:
        table += "m"
    value = tables()[table].get(dataset, {}).get(method, {}).get(quantity)
    return None if value is None else float(value)
