"""The ``sefr`` command: one file per command, and no traceback for a user's mistake."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from functools import partial, wraps
from importlib import import_module
from typing import Annotated, NoReturn

from .._system.installation import install_line
from .._system.namesake import REINSTALL, namesake

try:
    import typer
    import typer.core
except ModuleNotFoundError as error:  # the extra is not installed
    sys.exit(f"sefr: the command needs {error.name}: {install_line('cli')}")

try:
    from .. import __version__
except ImportError:  # the first file of the package is not ours any more
    sys.exit(f"sefr: {namesake() or f'damaged: {REINSTALL}'}")

from . import options
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
    "verify",
    "drift",
    "explain",
    "export",
    "simulate",
    "studio",
    "sql",
    "demo",
)
# Which extra brings a package that a command asks for.
EXTRAS = {
    "duckdb": "duckdb",
    "onnx": "onnx",
    "serial": "board",
    "psycopg": "postgresql",
    "sqlglot": "sql",
}
EPILOG = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 drift, 130 interrupted. NO_COLOR=1 turns colours off."
)


app = typer.Typer(
    name="sefr",
    cls=options.Group,
    help="Train a classifier on a table, see how good it is and why it answers as it does, and use it.",
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
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version.", metavar=""
        ),
    ] = False,
) -> None:
    pass


def _prepared(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that prepares the libraries only when its arguments were found sound."""

    @wraps(command)
    def prepared(*arguments: object, **options: object) -> None:
        _use_frugal_memory()
        command(*arguments, **options)

    return prepared


def _unwrapped(text: str | None) -> str:
    """Return a docstring whose paragraphs are one line each, so that the help is wrapped to the terminal."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(p if p.startswith(" ") else " ".join(p.split("\n")) for p in paragraphs)


for _name in COMMANDS:
    _command = getattr(import_module(f".{_name}", __name__), _name)
    app.command(_name, cls=options.Command, help=_unwrapped(_command.__doc__))(
        _prepared(options.spread(_command))
    )
app.add_typer(
    import_module(".board", __name__).app,
    name="board",
    help="A board on a serial port: record, teach, fetch, merge, push.",
)


def main() -> None:
    """Run the command line."""
    run(app)


def run(app: typer.Typer) -> None:
    """Run a command; every failure is one line on standard error and an exit code."""
    open_standard_streams()
    forget_promises()
    end = _run(app)
    end()  # here, where no traceback keeps a reader open


def _run(app: typer.Typer) -> Callable[[], object]:
    """Run the command; return what ends the process."""
    try:
        with interruptible():
            app()
    except SystemExit as end:
        return partial(sys.exit, end.code)
    except (Interrupted, KeyboardInterrupt):
        return leave
    except OutputError as error:
        return partial(_end_without_output, str(error), is_broken_pipe=error.is_broken_pipe)
    except OSError as error:
        return partial(_fail, f"{error.filename or 'output'}: {error.strerror or error}")
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        extra = EXTRAS.get(package, "cli")
        return partial(_fail, f"this needs {package or error}: {install_line(extra)}")
    except MemoryError:
        return partial(_fail, "out of memory")
    except (ValueError, RecursionError) as error:  # SourceError, ModelFileError, what the classifier refuses
        return partial(_fail, str(error) + getattr(error, "advice", ""))
    return partial(sys.exit, 0)


def _use_frugal_memory() -> None:
    """Let Arrow give back what it frees: its default allocator keeps some 30 MB more than these."""
    try:
        import jinja2  # noqa: F401
        import pyarrow
        import rich  # noqa: F401
    except ModuleNotFoundError as error:
        sys.exit(f"sefr: the command needs {error.name}: {install_line('cli')}")
    if "ARROW_DEFAULT_MEMORY_POOL" in os.environ:
        return
    try:
        pyarrow.set_memory_pool(pyarrow.jemalloc_memory_pool())
    except NotImplementedError:
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())


def _end_without_output(message: str, *, is_broken_pipe: bool) -> NoReturn:
    """End a command whose answer could not be shown: it has failed unless its file was written."""
    abandon_output()
    done = kept()
    if done is not None:
        say(f"{done} was written; standard output: {message}")
        sys.exit(0)
    if not is_broken_pipe:
        say(f"standard output: {message}")
    sys.exit(1)


def _fail(message: str) -> NoReturn:
    """End with one line; what was written before is said, and then the command has done what it was asked."""
    done = kept()
    say(message if done is None else f"{done} was written, but: {message}")
    sys.exit(1 if done is None else 0)
