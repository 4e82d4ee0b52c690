"""The passes of training, one line that is written over as they are made."""

from __future__ import annotations

import sys
import time

WIDTH = 20


class Progress:
    """Told the number of each pass and the loss after it, shows how far training is, on standard error."""

    def __init__(self, passes: int) -> None:
        self.passes = passes
        self.started = time.perf_counter()

    def __call__(self, made: int, loss: float) -> None:
        """Show that so many passes were made."""
        done = WIDTH * made // self.passes
        line = (
            f"pass {made:>{len(str(self.passes))}}/{self.passes} [{'#' * done}{'.' * (WIDTH - done)}] "
            f"loss {loss:.4f}, {time.perf_counter() - self.started:.1f} s"
        )
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{line}{chr(10) if made == self.passes else ''}")
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()
