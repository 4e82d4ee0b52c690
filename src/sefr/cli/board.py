"""``sefr board``: a board on a serial port: record its sensors, teach it, fetch, merge and push."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options

app = typer.Typer(cls=options.Group, no_args_is_help=True, rich_markup_mode="rich")

Port = Annotated[
    str, typer.Argument(help="The serial port, for example /dev/ttyACM0 or COM3.", metavar="PORT")
]
SketchFolder = Annotated[
    str, typer.Option("--sketch", help="The folder of the sketch on the board.", metavar="FOLDER")
]


@app.command(cls=options.Command)
def record(
    port: Port,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The CSV file; rows are added to it.", metavar="FILE")
    ],
    label: Annotated[str, typer.Option("--label", "-l", help="What the sensors show now.", metavar="LABEL")],
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
    from . import board_session

    board_session.record(port, output, label, rows, every, quiet)


@app.command(cls=options.Command)
def teach(
    port: Port,
    data: Annotated[str, typer.Argument(help="A CSV file with a header.", metavar="CSV")],
    sketch: SketchFolder,
    label: Annotated[
        str, typer.Option("--label", "-l", help="The column of labels.", metavar="COLUMN")
    ] = "label",
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
    from . import board_session

    board_session.teach(port, board_session.Lesson(data, label, start), sketch, save, quiet)


@app.command(cls=options.Command)
def fetch(
    port: Port,
    output: Annotated[str, typer.Option("--output", "-o", help="The file for the state.", metavar="FILE")],
    quiet: options.Quiet = False,
) -> None:
    """Fetch what a board learned, for sefr board merge.

    For example:

      sefr board fetch /dev/ttyACM0 -o kitchen.state
    """
    from . import board_session

    board_session.fetch(port, output, quiet)


@app.command(cls=options.Command)
def merge(
    states: Annotated[
        list[str],
        typer.Argument(
            help="Files of sefr board fetch, or of what sefr_moments_send or sefr_regress_send sent.",
            metavar="STATE...",
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="The model file to write; for numbers, the state.", metavar="FILE"
        ),
    ],
    sketch: Annotated[
        str | None,
        typer.Option(
            help="The folder of the sketch on the boards; not for sefr_moments and sefr_regress.",
            metavar="FOLDER",
        ),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help="States of second moments: what classes 0, 1, ... mean. Without it: the numbers.",
            metavar="A,B,...",
        ),
    ] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Merge what several boards learned into one model; the model they started from counts once.

    States of second moments (sefr_moments.h) become a model of moments 2, which sefr merge adds to others.
    Those of numbers (sefr_regress.h) become one state, which a board takes: they have no sum of y * y,
    without which a computer cannot choose a ridge.

    For example:

      sefr board merge kitchen.state hall.state --sketch iris/ -o all.sefr

      sefr board merge a.state b.state --classes off,on -o all.sefr
    """
    from . import board_session

    screen = options.PrintingOptions(quiet, json).screen()
    board_session.merge(states, sketch, classes, output, screen=screen)


@app.command(cls=options.Command)
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
    from . import board_session

    board_session.push(port, source, sketch, save, quiet)
