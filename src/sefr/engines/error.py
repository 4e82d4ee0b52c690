"""What is said when an engine cannot give a Summary: one sentence, the engine's name in front, no stack trace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


class EngineError(ValueError):
    """An engine could not read or add up the rows; the message says which engine and why."""


def one_line(error: BaseException) -> str:
    """Return an engine's message in one line of at most 300 characters; of a stack trace, its last line."""
    text = str(error) or type(error).__name__
    if "Traceback (most recent call last)" in text:
        text = next(
            (line for line in reversed(text.splitlines()) if re.match(r"[\w.]+(Error|Exception|Exit)\b", line.strip())),
            text.splitlines()[0],
        )
    return " ".join(text.split("JVM stacktrace:")[0].split())[:300]


@contextmanager
def spoken_by(engine: str, doing: str) -> Iterator[None]:
    """Turn whatever an engine raises into an ``EngineError``; what sefr itself has to say passes unchanged."""
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
