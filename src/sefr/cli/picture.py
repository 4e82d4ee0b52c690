"""What each pixel says, as a picture in the terminal: two pixels per character."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.text import Text

from .._system.colours import AGAINST, FOR, NEUTRAL, channels
from .._system.text import visible
from ..displays import depths

if TYPE_CHECKING:
    from .._system.types import Array

POSITIVE, NEGATIVE, MIDDLE = (np.array(channels(colour)) for colour in (FOR, AGAINST, NEUTRAL))
SHADES_FOR, SHADES_AGAINST = " ░▒▓█", " .:+*"  # if there are no colours
KEY = "█ favours, * counts against"


def picture(values: Array, console: Console) -> list[Text]:
    """Return a 2-D array from -1 to 1 as lines of text: half blocks in colour, or shades without it."""
    if not _has_colours(console):
        return [Text("".join(_shade(value) * 2 for value in row)) for row in values]
    if len(values) % 2:
        values = np.vstack([values, np.zeros(values.shape[1])])
    lines = []
    for above, below in zip(values[::2], values[1::2], strict=True):
        line = Text()
        for a, b in zip(above, below, strict=True):
            line.append("▀", style=f"{_colour(a)} on {_colour(b)}")
        lines.append(line)
    return lines


def gallery(values: Array, labels: list[object], image: tuple[int, int], console: Console) -> list[Text]:
    """Return the pictures of all classes, as many as fit in a line; each in shares of its greatest pixel."""
    blocks = []
    for label, row in zip(labels, values, strict=True):
        lines = picture(depths(row).reshape(image), console)
        width = lines[0].cell_len
        blocks.append([Text(visible(label, max(1, width)).center(width)), *lines])
    width = blocks[0][0].cell_len + 2
    across = max(1, (console.width + 2) // width)
    out: list[Text] = []
    for start in range(0, len(blocks), across):
        group = blocks[start : start + across]
        out += [Text("  ").join(parts) for parts in zip(*group, strict=True)]
        out.append(Text())
    return out if _has_colours(console) else [*out, Text(KEY), Text()]


def _has_colours(console: Console) -> bool:
    return not console.no_color and console.color_system in ("256", "truecolor")


def _colour(value: float) -> str:
    end = POSITIVE if value >= 0 else NEGATIVE
    red, green, blue = (MIDDLE + (end - MIDDLE) * min(1.0, abs(value))).astype(int)
    return f"rgb({red},{green},{blue})"


def _shade(value: float) -> str:
    shades = SHADES_FOR if value >= 0 else SHADES_AGAINST
    return shades[round(min(1.0, abs(float(value))) * (len(shades) - 1))]
