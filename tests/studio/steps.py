"""What a reader of the page does, in steps."""

from __future__ import annotations

import json
import re
import zipfile
from io import BytesIO
from pathlib import Path

from sefr import SEFRClassifier
from sefr.files import open_dataset
from sefr.files.learning import FileRows
from sefr.model_file import with_columns

PAGE = Path(__file__).parents[2] / "src" / "sefr" / "studio" / "studio.html"
EXAMPLES = ("digits", "flowers", "gestures")


def choose(page, example):
    """Choose an example and wait until it is trained."""
    page.click(f"[data-example='{example}.csv']")
    page.wait_for_selector("#figure-accuracy")


def turn(page, *, passes=1, bins=None):
    """Set the dial and the bins, and wait until the model is trained with them and shown."""
    method(page, "own")
    for name, value in (("passes", str(passes)), ("bins", "" if bins is None else str(bins))):
        change(page, name, value)


def method(page, name):
    """Choose a method, and wait until the model is trained with it and shown."""
    change(page, "method", name)


def change(page, name, value):
    """Choose something of a menu, and wait until the model is trained with it and shown."""
    if page.input_value(f"#{name}") != value:
        page.evaluate("() => { document.querySelector('#carry').replaceChildren(); }")
        page.select_option(f"#{name}", value)
        page.wait_for_selector("#save-model")


def train(path, label, *, categories=(), missing="error", **params):
    """Return the model that ``sefr train`` writes from a file."""
    table = open_dataset([str(path)], reread=True)
    recipe = table.recipe(label, categories=categories)
    clf = SEFRClassifier(missing=missing, **params).fit_from(FileRows(table, recipe))
    return with_columns(clf, recipe.member())


def give(page, path):
    """Give a file to the page; return the sentence if it is refused, None once it is trained."""
    page.evaluate("() => { document.querySelector('#train').replaceChildren(); }")
    page.set_input_files("#file", str(path))
    found = page.wait_for_selector("#data .refusal, #train .lead")
    return found.inner_text() if "refusal" in (found.get_attribute("class") or "") else None


def saved(page, button):
    """Press a button of "Download"; return the name and the content of the file."""
    with page.expect_download() as download:
        page.click(f"#{button}")
    file = download.value
    return file.suggested_filename, Path(file.path()).read_bytes()


def unzipped(content):
    """Return the files of an archive by their paths."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def without_calibration(content):
    """Return a model file without its calibration, which rounds, and without its checksum."""
    text = content.decode()
    text = re.sub(r'"calibration": (null|\{[^}]*\})', "", text)
    return re.sub(r"sha256:[0-9a-f]{64}", "", text)


def longest_task(trace):
    """Return the longest that one task kept the thread that readers wait for, in ms of its processor."""
    events = json.loads(trace)["traceEvents"]
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        event["tdur"] / 1000
        for event in events
        if event["name"].endswith("RunTask") and (event["pid"], event["tid"]) in main and "tdur" in event
    ]
    assert tasks, "the browser traced no task"
    return max(tasks)
