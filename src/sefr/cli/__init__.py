"""The ``sefr`` command: one file a subcommand."""

from __future__ import annotations

import typer

from sefr.cli.paper import paper
from sefr.cli.sql import sql

app = typer.Typer(no_args_is_help=True, add_completion=False, help="The SEFR classifier, from the shell.")
app.command()(paper)
app.command()(sql)


@app.callback()
def _main() -> None:
    """Keep ``paper`` a subcommand even while it is the only one."""
