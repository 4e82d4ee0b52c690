"""Feature scores as a picture in the terminal, two pixels a character."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

POSITIVE, NEGATIVE = np.array([94, 60, 153]), np.array([230, 97, 1])  # the ends of the reports' colours
WHITE = np.array([247, 247, 247])
SHADES = " ░▒▓█"


def picture(scores: NDArray[Any], console: Console) -> list[Text]:
    """Return a 2-D array of scores as lines of text: half blocks in colour, or shades where there is none."""
    if console.no_color or console.color_system not in ("256", "truecolor"):
        return [Text("".join(_shade(value) * 2 for value in row)) for row in scores]
    if len(scores) % 2:
        scores = np.vstack([scores, np.zeros(scores.shape[1])])
    lines = []
    for above, below in zip(scores[::2], scores[1::2], strict=True):
        line = Text()
        for a, b in zip(above, below, strict=True):
            line.append("▀", style=f"{_colour(a)} on {_colour(b)}")
        lines.append(line)
    return lines


def gallery(scores: NDArray[Any], labels: list[Any], image: tuple[int, int], console: Console) -> list[Text]:
    """Return the pictures of all classes side by side, as many as fit."""
    blocks = []
    for label, row in zip(labels, scores, strict=True):
        lines = picture(row.reshape(image), console)
        blocks.append([Text(str(label)[: lines[0].cell_len].center(lines[0].cell_len)), *lines])
    width = blocks[0][0].cell_len + 2
    across = max(1, (console.width + 2) // width)
    out: list[Text] = []
    for start in range(0, len(blocks), across):
        group = blocks[start : start + across]
        out += [Text("  ").join(parts) for parts in zip(*group, strict=True)]
        out.append(Text())
    return out


def _colour(value: float) -> str:
    end = POSITIVE if value >= 0 else NEGATIVE
    red, green, blue = (WHITE + (end - WHITE) * min(1.0, abs(value))).astype(int)
    return f"rgb({red},{green},{blue})"


def _shade(value: float) -> str:
    return SHADES[round(max(0.0, min(1.0, float(value))) * (len(SHADES) - 1))]
