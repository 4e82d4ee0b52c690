"""The sefr command as tests run it."""

import re
import subprocess
import sys

from sefr import SEFRClassifier


def process(*arguments, **options):
    """Start the command as a process of its own."""
    command = [sys.executable, "-m", "sefr.cli", *map(str, arguments)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.PIPE}
    return subprocess.Popen(command, **(streams | options))


def fitted(frame, label, **params):
    return SEFRClassifier(**params).fit(frame.drop(columns=label), frame[label])


def assert_one_line(code, out, err, message):
    assert code == 1
    assert out == ""
    assert re.fullmatch(rf"sefr: [^\n]*{message}[^\n]*\n", err), err
