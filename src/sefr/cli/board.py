"""``sefr board``: a board on a serial port: record its sensors, teach it, fetch, merge and push."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .. import model_file
from .._system.atomic_file import atomic_file
from ..classifier import SEFRClassifier
from ..device.serial_board import BoardError, SerialBoard, Sketch
from ..device.state import id_of, merge_states, read_state, write_state
from . import options
from .screen import Screen

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

Port = Annotated[
    str, typer.Argument(help="The serial port, for example /dev/ttyACM0 or COM3.", metavar="PORT")
]
SketchFolder = Annotated[
    str,
    typer.Option(
        "--sketch", help="The folder of the sketch on the board.", metavar="FOLDER", show_default=False
    ),
]


@app.command()
def record(
    port: Port,
    output: Annotated[str, typer.Option("--output", "-o", help="The CSV file; rows are added to it.")],
    label: Annotated[str, typer.Option("--label", "-l", help="What the sensors show now.")],
    rows: Annotated[int, typer.Option(help="How many rows to record.", min=1)] = 100,
    every: Annotated[int, typer.Option(help="Milliseconds between rows.", min=0)] = 100,
    quiet: options.Quiet = False,
) -> None:
    """Record what the sensors show as rows of a CSV file, with their label.

    Each row is written when it arrives, and rows are added to a file that is there: an interrupted recording
    goes on with the same command.

    For example:

      sefr board record /dev/ttyACM0 -o rows.csv --label still --rows 200

      sefr train rows.csv --label label
    """
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


@app.command()
def teach(
    port: Port,
    data: Annotated[str, typer.Argument(help="A CSV file with a header.", metavar="CSV")],
    sketch: SketchFolder,
    label: Annotated[str, typer.Option("--label", "-l", help="The column of labels.")] = "label",
    start: Annotated[
        int, typer.Option("--from", help="The first row to teach, to go on after a fault.", min=1)
    ] = 1,
    save: Annotated[bool, typer.Option(help="Keep it in the EEPROM afterwards.")] = True,
    quiet: options.Quiet = False,
) -> None:
    """Teach a board the rows of a CSV file, one by one.

    For example:

      sefr board teach /dev/ttyACM0 rows.csv --sketch iris/
    """
    screen = Screen(quiet=quiet)
    known = Sketch.read(sketch)
    rows = _labelled_rows(data, label, known)
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


@app.command()
def fetch(
    port: Port,
    output: Annotated[str, typer.Option("--output", "-o", help="The file for the state.")],
    quiet: options.Quiet = False,
) -> None:
    """Fetch what a board learned, for sefr board merge.

    For example:

      sefr board fetch /dev/ttyACM0 -o kitchen.state
    """
    screen = Screen(quiet=quiet)
    options.check_writable(output)
    with SerialBoard(port) as board:
        state = board.state()
    learned = read_state(state)
    with atomic_file(output) as file:
        file.write(state)
    screen.line(
        f"{output}: {learned.n_rows:.0f} records, {learned.n_features} features, model {id_of(state):08x}"
    )


@app.command()
def merge(
    states: Annotated[list[str], typer.Argument(help="Files of sefr board fetch.", metavar="STATE...")],
    sketch: SketchFolder,
    output: Annotated[str, typer.Option("--output", "-o", help="The model file to write.")],
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Merge what several boards learned into one model; the model they started from counts once.

    For example:

      sefr board merge kitchen.state hall.state --sketch iris/ -o all.sefr
    """
    screen = Screen(quiet=quiet, as_json=json)
    known = Sketch.read(sketch)
    options.check_writable(output)
    parts = []
    for path in states:
        parts.append(Path(path).read_bytes())
        try:
            read_state(parts[-1], base=known.base, **known.meaning)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    total = merge_states(parts, base=known.base, **known.meaning)
    model_file.save(SEFRClassifier.from_summary(total), output)
    screen.line(f"{output}: {total.n_rows:.0f} records of {len(states)} boards and their base")
    screen.json({"model": output, "records": total.n_rows, "boards": len(states)})


@app.command()
def push(
    port: Port,
    source: Annotated[str, typer.Argument(help="A state, or a model of sefr board merge.", metavar="FILE")],
    sketch: SketchFolder,
    save: Annotated[bool, typer.Option(help="Keep it in the EEPROM afterwards.")] = True,
    quiet: options.Quiet = False,
) -> None:
    """Give a board what all learned, in place of its own.

    For example:

      sefr board push /dev/ttyACM0 all.sefr --sketch iris/
    """
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
        summary * share, sum_bits=known.sum_bits, low=known.low, high=known.high, model_id=known.id
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
