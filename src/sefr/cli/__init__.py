"""The ``sefr`` command: one file per command, and no traceback for a user's mistake."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated, NoReturn

try:
    import typer
except ModuleNotFoundError as error:  # the extra is not installed
    sys.exit(f"sefr: the command needs {error.name}: pip install 'sefr-learn[cli]'")

from .._system.namesake import namesake

try:
    from .. import __version__
except ImportError:  # the first file of the package is not ours any more
    sys.exit(f"sefr: {namesake() or 'damaged: pip install --force-reinstall --no-deps sefr-learn'}")

from .interrupt import Interrupted, interruptible, leave, say
from .outcome import forget_promises, kept
from .streams import OutputError, abandon_output, open_standard_streams

# Each is a module here, with a function of the same name.
COMMANDS = (
    "train",
    "evaluate",
    "predict",
    "update",
    "merge",
    "forget",
    "drift",
    "explain",
    "export",
    "simulate",
    "studio",
    "sql",
    "paper",
    "demo",
)
# Which extra brings a package that a command asks for.
EXTRAS = {
    "duckdb": "duckdb",
    "onnx": "onnx",
    "serial": "board",
    "psycopg": "postgresql",
    "sqlglot": "sql",
    "catboost": "paper",
    "lightgbm": "paper",
    "pooch": "paper",
    "xgboost": "paper",
}
EPILOG = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 drift, 130 interrupted. NO_COLOR=1 turns colours off."
)

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
        if (advice := namesake()) is not None:
            print(advice)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


for _name in COMMANDS:
    app.command(_name)(getattr(import_module(f".{_name}", __name__), _name))
app.add_typer(
    import_module(".board", __name__).app,
    name="board",
    help="A board on a serial port: record, teach, fetch, merge, push.",
)


def main() -> None:
    """Run the command line; every failure is one line on standard error and an exit code."""
    open_standard_streams()
    forget_promises()
    if "_SEFR_COMPLETE" not in os.environ:  # the shell waits for completions
        _use_frugal_memory()
    try:
        with interruptible():
            app()
    except (Interrupted, KeyboardInterrupt):
        leave()
    except OutputError as error:
        _end_without_output(error)
    except OSError as error:
        _fail(f"{error.filename or 'output'}: {error.strerror or error}")
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        extra = EXTRAS.get(package, "cli")
        _fail(f"this needs {package or error}: pip install 'sefr-learn[{extra}]'")
    except MemoryError:
        _fail("out of memory")
    except (ValueError, RecursionError) as error:  # SourceError, ModelFileError, what the classifier refuses
        _fail(str(error))


def _use_frugal_memory() -> None:
    """Let Arrow give back what it frees: its default allocator keeps some 30 MB more than these."""
    try:
        import jinja2  # noqa: F401
        import pyarrow
        import rich  # noqa: F401
    except ModuleNotFoundError as error:
        sys.exit(f"sefr: the command needs {error.name}: pip install 'sefr-learn[cli]'")
    if "ARROW_DEFAULT_MEMORY_POOL" in os.environ:
        return
    try:
        pyarrow.set_memory_pool(pyarrow.jemalloc_memory_pool())
    except NotImplementedError:
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())


def _end_without_output(error: OutputError) -> NoReturn:
    """End a command whose answer could not be shown: it has failed unless its file was written."""
    abandon_output()
    done = kept()
    if done is not None:
        say(f"{done} was written; standard output: {error}")
        sys.exit(0)
    if not error.is_broken_pipe:
        say(f"standard output: {error}")
    sys.exit(1)


def _fail(message: str) -> NoReturn:
    """End with one line; what was written before is said, and then the command has done what it was asked."""
    done = kept()
    say(message if done is None else f"{done} was written, but: {message}")
    sys.exit(1 if done is None else 0)
