"""The command reference: every command and option, from the command itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from sefr.cli import app

HEAD = """# The command

`pip install '.[cli]'` in the folder of the source installs it. Made from the command itself;
`sefr COMMAND --help` shows the same. [A session](../guide/command.md) shows how the commands work together.

"""


def pages() -> dict[str, str]:
    """Return the text of the page by its path below ``reference/``."""
    root = typer.main.get_command(app)
    parts = [HEAD]
    for path, command in commands(root, ("sefr",)):
        parts.append(_section(path, command))
    return {"commands.md": "".join(parts)}


def commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command that does something, with the words that call it."""
    children = getattr(command, "commands", None)
    if not children:
        yield path, command
        return
    for name, child in children.items():
        yield from commands(child, (*path, name))


def _section(path: tuple[str, ...], command: Any) -> str:
    context = command.context_class(command, info_name=" ".join(path))
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"## {' '.join(path)}", "", "```text", f"{' '.join(path)} {usage}", "```", ""]
    lines += [_description(command.help or ""), ""]
    records = [record for each in command.get_params(context) if (record := each.get_help_record(context))]
    if records:
        lines += ["| | |", "|---|---|"]
        lines += [f"| `{_cell(name)}` | {_prose(help_text)} |" for name, help_text in records]
    return "\n".join(lines) + "\n\n"


def _description(text: str) -> str:
    """Return the help as Markdown; its examples, which are indented, become one block."""
    prose, examples = [], []
    for line in text.splitlines():
        if line.startswith("  "):
            examples.append(line.strip())
        elif line.strip() != "For example:":
            prose.append(_prose(line))
    while prose and not prose[-1]:
        prose.pop()
    block = ["", "```sh", *examples, "```"] if examples else []
    return "\n".join(prose + block)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _prose(text: str) -> str:
    """Return words as Markdown that shows just these words."""
    for sign in ("\\", "*", "_", "`", "<", "|", "[", "]"):
        text = text.replace(sign, "\\" + sign)
    return " ".join(text.split())
