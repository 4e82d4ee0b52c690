"""What the command shows: tables and bars for people, JSON for programs, nothing when quiet.

Every text that somebody else chose (a column's name, a label, a path) goes through :func:`shown`. The
consoles take no markup from strings, and make control characters visible that were forgotten.
"""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table as Grid
from rich.text import Text

from .._system.colours import AGAINST_TERMINAL as AGAINST
from .._system.colours import FOR_TERMINAL as FOR
from .._system.text import MOST, json_text, visible, visible_lines
from .streams import OutputError

if TYPE_CHECKING:
    from .._system.types import Params

MOST_PATH = 300


class SafeConsole(Console):
    """A console that can only show text: no markup from strings, no control characters but its own."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def on_broken_pipe(self) -> None:
        """Let the command decide what it means that nobody reads on; on standard error, nothing."""
        if not self.stderr:
            raise OutputError(BrokenPipeError(errno.EPIPE, "nobody reads on"))

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of something, its texts harmless."""
        for segment in super().render(renderable, options):
            if segment.control or (segment.text.isascii() and segment.text.isprintable()):
                yield segment
            else:
                yield Segment(visible_lines(segment.text), segment.style)


class Screen:
    """Standard output for answers, standard error for the rest."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False, output: str | None = None) -> None:
        self.quiet = quiet
        self.as_json = as_json
        on_stderr = output in ("-", "/dev/stdout")  # a file goes there
        self.out = SafeConsole(quiet=quiet or as_json, stderr=on_stderr)
        self.err = SafeConsole(stderr=True, quiet=quiet, soft_wrap=True)

    @property
    def hides_progress(self) -> bool:
        """Whether nobody would see a bar that moves."""
        return self.quiet or self.as_json or not self.err.is_terminal

    def print(self, *things: RenderableType) -> None:
        """Show an answer to a person."""
        with output():
            self.out.print(*things)

    def line(self, text: str | Text) -> None:
        """Show a line of text, never cut or wrapped."""
        with output():
            self.out.print(text if isinstance(text, Text) else Text(visible(text)), soft_wrap=True)

    def pixels(self, lines: Iterable[Text]) -> None:
        """Show a picture made of text, never cut or wrapped."""
        with output():
            for line in lines:
                self.out.print(line, no_wrap=True, crop=False)

    def step(self, number: int, text: Text) -> None:
        """Show a numbered step of a story, with its lines below each other."""
        table = Grid.grid(padding=(0, 2, 0, 0))
        table.add_row(Text(str(number), "bold"), text)
        self.print(table)

    def note(self, text: str) -> None:
        """Say something beside the answer."""
        if not self.as_json:
            with suppress(OSError):  # the exit code has to do
                self.err.print(Text(visible(text), style="dim"))

    def json(self, answer: Params) -> None:
        """Answer a program."""
        if self.as_json:
            with output():
                print(json_text(answer), flush=True)

    @contextmanager
    def progress(self, table: Any, what: str) -> Iterator[Callable[[int], None]]:
        """Show rows per second and the time left while a table is read; yields what to call after a batch."""
        size = table.size
        columns: list[ProgressColumn] = [
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
        ]
        columns += [TextColumn("{task.percentage:>3.0f} %")] if size else []
        columns += [TextColumn("{task.fields[rows]:,} rows"), TextColumn("{task.fields[speed]:,.0f} rows/s")]
        columns += [TimeRemainingColumn()] if size else []
        with Progress(*columns, console=self.err, disable=self.hides_progress, transient=True) as bar:
            task = bar.add_task(what, total=size, rows=0, speed=0.0)
            started, rows = time.perf_counter(), 0

            def tick(more: int) -> None:
                nonlocal rows
                rows += more
                speed = rows / max(1e-9, time.perf_counter() - started)
                bar.update(task, completed=table.position, rows=rows, speed=speed)

            yield tick

    @contextmanager
    def steps(self, total: int) -> Iterator[Callable[[str], None]]:
        """Show how many of some steps are done; yields what to call with the name of one that is."""
        columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=None)]
        columns += [TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn()]
        with Progress(*columns, console=self.err, disable=self.hides_progress, transient=True) as bar:
            task = bar.add_task("", total=total)
            yield lambda name: bar.update(task, advance=1, description=visible(name))

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[int], None]]:
        """Show that something is going on whose end is not known; yields what to call, which does nothing."""
        with nullcontext() if self.hides_progress else self.err.status(what):
            yield lambda more: None


@contextmanager
def output() -> Iterator[None]:
    """Tell a failure to write to standard output from other failures."""
    try:
        yield
    except OSError as error:
        raise OutputError(error) from None


def binary_output() -> IO[bytes]:
    """Return standard output for bytes; in a terminal, characters that cannot be seen are made visible."""
    raw = sys.stdout.buffer
    return _Terminal(raw) if sys.stdout.isatty() else raw  # type: ignore[return-value]


class _Terminal:
    """Writes UTF-8 to a terminal, harmless."""

    closed = False

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw

    def write(self, data: Any) -> int:
        content = bytes(data)
        self._raw.write(visible_lines(content.decode(errors="backslashreplace")).encode())
        return len(content)

    def flush(self) -> None:
        self._raw.flush()

    def close(self) -> None:
        self.flush()

    def tell(self) -> int:
        return 0

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def shown(text: object, most: int = MOST, style: str = "") -> Text:
    """Return foreign text for the terminal: no control characters, no markup, not too long."""
    return Text(visible(text, most), style=style)


def path_shown(path: object) -> Text:
    """Return a path for the terminal, in the colour of paths."""
    return shown(path, MOST_PATH, "cyan")


def grid(*columns: str, title: str | Text | None = None, right: Sequence[str] = ()) -> Grid:
    """Return an empty table with these columns; those in ``right`` are numbers."""
    table = Grid(
        title=shown(title, MOST_PATH) if isinstance(title, str) else title,
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        header_style="dim",
    )
    for name in columns:
        table.add_column(
            shown(name, style="dim"), justify="right" if name in right else "left", no_wrap=name in right
        )
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
