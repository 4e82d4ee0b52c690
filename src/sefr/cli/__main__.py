"""``python -m sefr.cli``: the ``sefr`` command."""

from sefr.cli import main

main()
