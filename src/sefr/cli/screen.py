"""What the command shows: tables and bars for people, JSON for programs, nothing when quiet."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table as Grid
from rich.text import Text

from ..files import Dataset

FOR, AGAINST = "cyan", "yellow"  # readable for people who do not tell red from green


class Screen:
    """Standard output for answers, standard error for the rest."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json
        self.out = Console(highlight=False, quiet=quiet or as_json)
        self.err = Console(stderr=True, highlight=False, quiet=quiet, soft_wrap=True)

    def print(self, *things: Any) -> None:
        """Show an answer to a person."""
        self.out.print(*things)

    def line(self, text: str) -> None:
        """Show a line of plain text, never cut or wrapped."""
        self.out.print(Text(text), soft_wrap=True)

    def step(self, number: int, text: str) -> None:
        """Show a numbered step of a story, with its lines below each other."""
        table = Grid.grid(padding=(0, 2, 0, 0))
        table.add_row(f"[bold]{number}[/]", text)
        self.out.print(table)

    def note(self, text: str) -> None:
        """Say something beside the answer."""
        if not self.as_json:
            self.err.print(Text(text, style="dim"))

    def json(self, answer: Any) -> None:
        """Answer a program."""
        if self.as_json:
            print(json.dumps(answer, ensure_ascii=False, allow_nan=False))

    @contextmanager
    def progress(self, table: Dataset, what: str) -> Iterator[Callable[[int], None]]:
        """Show rows per second and the time left while a table is read; yields what to call after a batch."""
        hidden = self.quiet or self.as_json or not self.err.is_terminal
        size = table.size
        columns: list[ProgressColumn] = [
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
        ]
        columns += [TextColumn("{task.percentage:>3.0f} %")] if size else []
        columns += [TextColumn("{task.fields[rows]:,} rows"), TextColumn("{task.fields[speed]:,.0f} rows/s")]
        columns += [TimeRemainingColumn()] if size else []
        with Progress(*columns, console=self.err, disable=hidden, transient=True) as bar:
            task = bar.add_task(what, total=size, rows=0, speed=0.0)
            started, rows = time.perf_counter(), 0

            def tick(more: int) -> None:
                nonlocal rows
                rows += more
                speed = rows / max(1e-9, time.perf_counter() - started)
                bar.update(task, completed=table.position, rows=rows, speed=speed)

            yield tick


def grid(*columns: str, title: str | None = None, right: Sequence[str] = ()) -> Grid:
    """Return an empty table with these columns; those in ``right`` are numbers."""
    table = Grid(
        title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="dim"
    )
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", no_wrap=name in right)
    return table


def bar(score: float, width: int = 10) -> Text:
    """Return a score from -1 to 1 as a bar to the left or to the right of a middle line."""
    eighths = round(min(1.0, abs(score)) * width * 8)
    whole, part = divmod(eighths, 8)
    if score >= 0:
        block = "█" * whole + (" ▏▎▍▌▋▊▉"[part] if part else "")
        return Text.assemble((" " * width + "│", "dim"), (block.ljust(width), FOR))
    block = "▐" if part >= 4 else ""
    return Text.assemble(((block + "█" * whole).rjust(width), AGAINST), ("│" + " " * width, "dim"))


def seconds(elapsed: float) -> str:
    """Return a duration for people.

    Examples
    --------
    >>> seconds(0.0123), seconds(3.2), seconds(125)
    ('12 ms', '3.2 s', '2 min 5 s')
    """
    if elapsed < 1:
        return f"{elapsed * 1000:.0f} ms"
    return f"{elapsed:.1f} s" if elapsed < 60 else f"{int(elapsed // 60)} min {int(elapsed % 60)} s"
