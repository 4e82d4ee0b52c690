"""What ``sefr board`` does: a board on a serial port, its rows, its state."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .. import model_file
from .._system.atomic_file import atomic_file
from ..classifier import SEFRClassifier
from ..device.moments import MAGIC as MOMENTS
from ..device.moments import Moments
from ..device.regression import MAGIC as NUMBERS
from ..device.regression import Regression
from ..device.serial_board import BoardError, SerialBoard, Sketch
from ..device.state import base_id_of, id_of, merge_states, read_state, write_state
from . import options
from .screen import Screen

AnyState = TypeVar("AnyState", Moments, Regression)


def record(port: str, output: str, label: str, rows: int, every: int, quiet: bool) -> None:
    """Record what the sensors show as rows of a CSV file, with their label."""
    screen = Screen(quiet=quiet)
    with SerialBoard(port) as board:
        names = [f"x{i}" for i in range(board.identity.features)]
        with _appended(output, [*names, "label"]) as writer, _progress(screen, "recording", rows) as tick:
            due = time.monotonic()
            for _ in range(rows):
                writer.writerow([*(f"{value:.9g}" for value in board.values()), label])
                tick(1)
                due += every / 1000
                time.sleep(max(0.0, due - time.monotonic()))
    screen.line(f"{output}: {rows} rows of {label!r}")


class Lesson(NamedTuple):
    """A CSV file, its column of labels, and the row to begin with."""

    path: str
    label: str
    start: int


def teach(port: str, lesson: Lesson, sketch: str, save: bool, quiet: bool) -> None:
    """Teach a board the rows of a CSV file, one by one."""
    screen = Screen(quiet=quiet)
    known = Sketch.read(sketch)
    rows, start = _labelled_rows(lesson.path, lesson.label, known), lesson.start
    with _connected(port, known) as board:
        with _progress(screen, "teaching", len(rows)) as tick:
            tick(start - 1)
            for number, (which, row) in enumerate(rows[start - 1 :], start):
                try:
                    board.teach(which, row)
                except BoardError as error:
                    raise BoardError(f"row {number}: {error}; the rows before it were learned") from None
                tick(1)
        board.solve()
        if save:
            board.save()
    screen.line(f"{port}: learned {len(rows) - start + 1} rows")


def fetch(port: str, output: str, quiet: bool) -> None:
    """Fetch what a board learned, for sefr board merge."""
    screen = Screen(quiet=quiet)
    output = options.output_path(output)
    with SerialBoard(port) as board:
        state = board.state()
    learned = read_state(state)
    with atomic_file(output) as file:
        file.write(state)
    screen.line(
        f"{output}: {learned.n_rows:.0f} records, {learned.n_features} features, model {id_of(state):08x}"
    )


def merge(states: list[str], sketch: str | None, classes: str | None, output: str, *, screen: Screen) -> None:
    """Merge what several boards learned into one model; the model they started from counts once."""
    output = options.output_path(output)
    parts = [Path(path).read_bytes() for path in states]
    kinds = {part[:4] for part in parts}
    if len(kinds) > 1:
        raise ValueError(f"{states[0]} and others are states of different kinds, which do not add up")
    kind = kinds.pop()
    if kind in (MOMENTS, NUMBERS):
        if sketch is not None:
            raise ValueError(
                f"{states[0]}: a state of sefr_moments or sefr_regress, which goes without --sketch"
            )
        if classes is not None and kind == NUMBERS:
            raise ValueError(f"{states[0]}: a state of numbers, which goes without --classes")
        if kind == MOMENTS:
            rows = _merge_moments(states, parts, classes, output)
        else:
            rows = _merge_numbers(states, parts, output)
        return _tell_merged(screen, output, rows, states, "")
    if sketch is None or classes is not None:
        raise ValueError(f"{states[0]}: a state of an exported sketch, which goes with --sketch FOLDER")
    known = Sketch.read(sketch)
    for path, part in zip(states, parts, strict=True):
        with _named(path):
            read_state(part, base=known.base, **known.meaning)
    total = merge_states(parts, base=known.base, **known.meaning)
    model_file.save(SEFRClassifier.from_summary(total), output)
    return _tell_merged(screen, output, total.n_rows, states, " and their base")


def _tell_merged(screen: Screen, output: str, rows: float, states: list[str], rest: str) -> None:
    screen.line(f"{output}: {rows:.0f} records of {len(states)} boards{rest}")
    screen.json({"model": output, "records": rows, "boards": len(states)})


def _merged(kind: type[AnyState], states: list[str], parts: list[bytes]) -> AnyState:
    """Return what boards have learned together; an error names the file of the board."""
    total: AnyState | None = None
    for path, part in zip(states, parts, strict=True):
        with _named(path):
            own = kind.from_state(part)
            total = own if total is None else total.merge(own)
    assert total is not None  # noqa: S101  the command takes one at least
    return total


def _merge_moments(states: list[str], parts: list[bytes], classes: str | None, output: str) -> int:
    """Write the model of all records that boards with ``sefr_moments.h`` learned; return their number."""
    total = _merged(Moments, states, parts)
    summary = total.summary(None if classes is None else classes.split(","))
    model_file.save(SEFRClassifier.from_summary(summary, moments=2, scale=(0, 255)), output)
    return int(total.counts.sum())


def _merge_numbers(states: list[str], parts: list[bytes], output: str) -> int:
    """Write the state of all records that boards with ``sefr_regress.h`` learned; return their number."""
    total = _merged(Regression, states, parts)
    data = total.solve().state()
    with atomic_file(output) as file:
        file.write(data)
    return total.count


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Say of what is wrong with a state in which file it is."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def push(port: str, source: str, sketch: str, save: bool, quiet: bool) -> None:
    """Give a board what all learned, in place of its own."""
    screen = Screen(quiet=quiet)
    known = Sketch.read(sketch)
    state = _state_of(source, known)
    with _connected(port, known) as board:
        board.push(state)
        if save:
            board.save()
    screen.line(f"{port}: took {read_state(state).n_rows:.0f} records")


def _state_of(source: str, known: Sketch) -> bytes:
    data = Path(source).read_bytes()
    if data[:4] == b"SEFR":
        return data
    summary = model_file.load(source).summary_
    room = {16: 128.0, 32: 2.0**23}[known.sum_bits]
    share = min(1.0, room / float(summary.counts.max()))
    return write_state(
        summary * share,
        sum_bits=known.sum_bits,
        low=known.low,
        high=known.high,
        model_id=known.id,
        base_id=base_id_of(known.base),
    )


@contextmanager
def _connected(port: str, known: Sketch) -> Iterator[SerialBoard]:
    with SerialBoard(port) as board:
        if board.identity.id != known.id:
            raise BoardError(
                f"{port}: the board runs model {board.identity.id:08X}, but {known.name!r} is {known.id:08X}"
            )
        yield board


def _labelled_rows(path: str, label: str, known: Sketch) -> list[tuple[int, list[float]]]:
    numbers = {str(name): number for number, name in enumerate(known.classes)}
    with open(path, newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        if label not in header:
            raise ValueError(f"{path}: there is no column {label!r}")
        at = header.index(label)
        columns = [name for name in header if name != label]
        if known.feature_names is not None and set(known.feature_names) <= set(columns):
            columns = list(known.feature_names)
        if len(columns) != known.features:
            raise ValueError(f"{path}: {len(columns)} columns of values; the board takes {known.features}")
        places = [header.index(name) for name in columns]
        return [_labelled_row(path, line, row, numbers, (at, places)) for line, row in enumerate(reader, 2)]


def _labelled_row(
    path: str, line: int, row: Sequence[str], numbers: dict[str, int], places: tuple[int, list[int]]
) -> tuple[int, list[float]]:
    at, columns = places
    try:
        name, values = row[at], [float(row[place]) for place in columns]
    except (IndexError, ValueError) as error:
        raise ValueError(f"{path}, line {line}: {error}") from None
    if name not in numbers:
        raise ValueError(f"{path}, line {line}: the board knows no class {name!r}, only {', '.join(numbers)}")
    return numbers[name], values


@contextmanager
def _appended(path: str, header: list[str]) -> Iterator[Any]:
    """Give a writer to a CSV file of this header, behind what is there."""
    there = Path(path)
    new = not there.exists() or there.stat().st_size == 0
    if not new:
        with there.open(newline="") as file:
            found = next(csv.reader(file), [])
        if found != header:
            raise ValueError(
                f"{path} has the columns {', '.join(found)[:100]}, not {', '.join(header)[:100]}"
            )
    with there.open("a", newline="", buffering=1) as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(header)
        yield writer


@contextmanager
def _progress(screen: Screen, what: str, total: int) -> Iterator[Any]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    hidden = screen.quiet or not screen.err.is_terminal
    with Progress(*columns, console=screen.err, disable=hidden, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda more: bar.advance(task, more)
