"""The ``sefr`` command: one file a command, and no traceback for a user's mistake."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

try:
    import jinja2  # noqa: F401
    import pyarrow
    import rich  # noqa: F401
    import typer
except ModuleNotFoundError as error:  # the extra is not installed
    sys.exit(f"sefr: the command needs {error.name}: pip install 'sefr-learn[cli]'")

from .. import __version__
from . import (
    board,
    demo,
    evaluate,
    explain,
    export,
    forget,
    merge,
    paper,
    predict,
    simulate,
    sql,
    train,
    update,
)
from .interrupt import Interrupted, interruptible, leave, say

EPILOG = "Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. NO_COLOR=1 turns colours off."

app = typer.Typer(
    name="sefr",
    help="The SEFR classifier: train, evaluate, explain and put on a board, from files.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        print(f"sefr {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


app.command("train")(train.train)
app.command("evaluate")(evaluate.evaluate)
app.command("predict")(predict.predict)
app.command("update")(update.update)
app.command("merge")(merge.merge)
app.command("forget")(forget.forget)
app.command("explain")(explain.explain)
app.command("export")(export.export)
app.command("simulate")(simulate.simulate)
app.add_typer(board.app, name="board", help="A board on a serial port: record, teach, fetch, merge, push.")
app.command("sql")(sql.sql)
app.command("paper")(paper.paper)
app.command("demo")(demo.demo)


def main() -> None:
    """Run the command line; every failure is one line on standard error and an exit code."""
    _use_frugal_memory()
    try:
        with interruptible():
            app()
    except (Interrupted, KeyboardInterrupt):
        leave()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _fail(f"{error.filename or 'output'}: {error.strerror or error}")
    except ImportError as error:
        _fail(f"this needs {error.name or error}; pip install 'sefr-learn[cli,onnx]'")
    except MemoryError:
        _fail("out of memory")
    except ValueError as error:  # SourceError, ModelFileError and what the classifier refuses
        _fail(str(error))


def _use_frugal_memory() -> None:
    """Let Arrow give back what it frees: its default allocator keeps some 30 MB more than these."""
    if "ARROW_DEFAULT_MEMORY_POOL" in os.environ:
        return
    try:
        pyarrow.set_memory_pool(pyarrow.jemalloc_memory_pool())
    except NotImplementedError:
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())


def _fail(message: str) -> NoReturn:
    say(message)
    sys.exit(1)
