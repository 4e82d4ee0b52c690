"""Options that several commands share are described once; the help shows no types of flags."""

import re
import subprocess
import sys

import pytest
from typer.main import get_command

from sefr._system import declarations
from sefr.cli import COMMANDS, app, options

DECLARED = [value for value in vars(declarations).values() if isinstance(value, declarations.Declaration)]


def _leaves(command, *path):
    """Yield the words of every command that does something."""
    children = getattr(command, "commands", None)
    if not children:
        yield path
        return
    for name, child in children.items():
        yield from _leaves(child, *path, name)


LEAVES = [*_leaves(get_command(app))]


def test_all_commands_are_looked_at():
    assert {("board", "record"), *((name,) for name in COMMANDS)} <= {*LEAVES}


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_values_have_plain_names(sefr, words):
    code, out, _err = sefr(*words, "--help")
    assert code == 0
    assert re.findall(r"<(?:bool|int|float|str|list)\b[^|>]*>", out) == []


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_help_has_one_plain_sentence_and_then_one_example(sefr, words):
    _code, out, _err = sefr(*words, "--help")
    lines = [line.strip() for line in out.partition("Arguments")[0].splitlines() if line.strip()]
    assert re.match(r"[A-Z].*", lines[1]), "a sentence after the usage"
    examples = [line for line in lines if line.startswith(f"sefr {' '.join(words)}")]
    assert examples or words == ("demo",)


@pytest.mark.parametrize("declared", DECLARED, ids=lambda declared: declared.name)
def test_an_option_says_what_is_declared(declared):
    for command in ("train", "evaluate"):
        own = {param.name: param for param in get_command(app).commands[command].params}
        if declared.name in ("n_jobs", "verbose"):
            assert declared.name not in own
            continue
        option = own[declared.name]
        if (command, declared.name) == ("evaluate", "passes"):
            continue  # a list of them
        assert option.help.startswith(declared.meaning)
        limited = option if hasattr(option, "min") else option.type  # older typer has them in the type
        assert [getattr(limited, "min", None), getattr(limited, "max", None)] == [declared.low, declared.high]


def test_a_value_is_spread_over_its_options_but_for_those_of_the_command():
    given = {}

    def command(
        *, format: str = "mine", reading: options.ReadingOptions, printing: options.PrintingOptions
    ) -> None:
        given.update(format=format, reading=reading, printing=printing)

    spread = options.spread(command)
    assert list(spread.__annotations__) == [
        "format", "delimiter", "no_header", "encoding", "decimal", "quiet", "json"
    ]  # fmt: skip
    spread(format="x", delimiter=";", no_header=True, encoding=None, decimal=",", quiet=True, json=False)
    assert given["format"] == "x"
    assert given["reading"] == options.ReadingOptions(None, ";", True, None, ",")
    assert given["printing"].quiet


def test_help_is_drawn_without_markdown_and_lexers():
    code = (
        "import sys\nfrom sefr.cli import main\nsys.argv = ['sefr', 'train', '--help']\n"
        "try:\n    main()\nfinally:\n"
        "    print([name for name in ('markdown_it', 'pygments', 'rich.traceback') if name in sys.modules])\n"
        "    from typer import rich_utils\n"
        "    found = type(rich_utils.Markdown('*a*')), rich_utils.Traceback.from_exception\n"
        "    print(*[each.__module__ for each in found])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Usage: " in done.stdout
    assert done.stdout.splitlines()[-2:] == ["[]", "rich.markdown rich.traceback"], done.stderr


def test_completions_and_missing_files_need_no_library(tmp_path):
    """The modules of the commands import what is heavy where they use it."""
    code = (
        "import sys\nfrom sefr.cli import main\nsys.argv = ['sefr', 'train', 'nowhere.csv', '-l', 'y']\n"
        "try:\n    main()\nfinally:\n"
        "    print([name for name in ('numpy', 'pyarrow', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.stdout.strip() == "[]"
    assert re.search("nowhere.csv: no such file", done.stderr)
