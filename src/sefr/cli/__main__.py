"""``python -m sefr.cli``: the ``sefr`` command."""

from sefr.cli import app

app(prog_name="sefr")
