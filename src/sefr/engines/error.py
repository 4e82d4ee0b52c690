"""EngineError: one-line messages for failures inside an engine, its name first, without a stack trace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from .._system.text import visible


class EngineError(ValueError):
    """An engine could not read or add up the rows; the message says which engine and why."""


COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# What a JVM says went wrong and why, each before places in its code; words of Spark begin with a bracket.
JAVA_CAUSE = re.compile(r"^(?:: |Caused by: )[\w.$]+: (.*?)(?=\n\s+at |\Z)", re.MULTILINE | re.DOTALL)


def one_line(error: BaseException) -> str:
    """Return an engine's message in one line of at most 300 characters; of a stack trace, what matters."""
    text = COLOUR.sub("", str(error)) or type(error).__name__
    causes = JAVA_CAUSE.findall(text)
    if "Traceback (most recent call last)" in text:
        text = next(
            (
                line
                for line in reversed(text.splitlines())
                if re.match(r"[\w.]+(Error|Exception|Exit)\b", line.strip())
            ),
            text.splitlines()[0],
        )
    elif causes:
        text = next((cause for cause in causes if cause.startswith("[")), causes[-1])
    elif isinstance(error, FileNotFoundError) and error.strerror is None:  # it says where, and not what
        text = f"there is no file {text}"
    return visible(" ".join(text.split("JVM stacktrace:")[0].split()), 300)


@contextmanager
def engine_errors(engine: str, doing: str) -> Iterator[None]:
    """Turn whatever an engine raises into an ``EngineError``; what sefr itself says passes unchanged."""
    try:
        yield
    except EngineError:
        raise
    except Exception as error:  # engines share no base class for what they raise
        raise EngineError(f"{engine}: could not {doing}: {one_line(error)}") from None


def counted(names: list[str], limit: int = 5) -> str:
    """Return "'a', 'b' and 3 more"."""
    shown = ", ".join(map(repr, names[:limit]))
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
