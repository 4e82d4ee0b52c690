"""The two colours of every picture, in terminals and on pages: what speaks for a class and what against it.

Blue and orange, which people who do not tell red from green can tell apart, and which differ in print.
"""

from __future__ import annotations

FOR, AGAINST = "#2166ac", "#b35806"
FOR_DARK, AGAINST_DARK = "#6baed6", "#fdae61"  # on a dark ground
NEUTRAL, NEUTRAL_DARK = "#f7f7f7", "#24262b"
# Terminals choose their own ground: these two can be read on light and on dark.
FOR_TERMINAL, AGAINST_TERMINAL = "#3a86c8", "#d9780f"


def channels(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue, from 0 to 255.

    Examples
    --------
    >>> channels("#2166ac")
    (33, 102, 172)
    """
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
