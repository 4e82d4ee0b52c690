"""Signals in the page: recordings that are chosen or drawn give the bytes and the model of the command."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
from steps import give, saved, unzipped, without_calibration
from test_dial_and_bins import assert_close
from test_flows import assert_nobody_is_left_out, axe, look_of  # noqa: F401 - axe is a fixture
from typer.testing import CliRunner

from sefr import load
from sefr.cli import app
from sefr.device import export
from sefr.files.learning import without_feature_names
from sefr.model_file import columns_of
from sefr.signals import SignalDisplay, SignalFeatures, cut
from sefr.signals.sampling import Sampling

SPEEDS = {"fast": 1.2, "slow": 0.2}


def command(*arguments):
    """Run the command; return what it printed."""
    run = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert run.exit_code == 0, run.output
    return run.output


def samples(rng, speed, n, *, whole, axes=2):
    time = np.arange(n)[:, None] * speed / (1 + np.arange(axes)) + rng.uniform(0, 6)
    values = 512 + 200 * np.sin(time) + rng.normal(0, 10, (n, axes))
    return np.rint(values).astype(int) if whole else (values - 512) / 40


def write(path, rows, header):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")


@pytest.fixture
def folder(tmp_path, rng):
    """A folder per label, a file per recording; the axes with a column of time before them."""
    for label, speed in SPEEDS.items():
        for i in range(4):
            values = samples(rng, speed, 90 + 5 * i, whole=True)
            rows = [(k * 20, *row) for k, row in enumerate(values.tolist())]
            write(tmp_path / "recordings" / label / f"{i}.csv", rows, "ms,x,y")
    return tmp_path / "recordings"


def choose_folder(page, path):
    """Choose a folder; return the sentence if it is refused."""
    page.evaluate("() => { document.querySelector('#train').replaceChildren(); }")
    page.set_input_files("#folder", str(path))
    found = page.wait_for_selector("#data .refusal, #train .lead")
    return found.inner_text() if "refusal" in (found.get_attribute("class") or "") else None


def settle(page, selector, value):
    """Change a field and wait until the model is trained again."""
    page.evaluate("() => { document.querySelector('#carry').replaceChildren(); }")
    if page.locator(selector).evaluate("element => element.tagName") == "SELECT":
        page.select_option(selector, value)
    else:
        page.fill(selector, value)
        page.press(selector, "Enter")
    page.wait_for_selector("#save-model")


def assert_same_files(page, own, folder):
    """The model and the sketch that the page saves are those of the command."""
    content = saved(page, "save-model")[1]
    assert without_calibration(content) == without_calibration(own.read_bytes())
    clf = load(own)
    sampling = Sampling.from_plain(columns_of(clf)["signal"])
    archive, sketch = saved(page, "save-sketch")
    written = export(clf, "arduino", folder / "sketch", name=archive.removesuffix(".zip"), signal=sampling)
    expected = {
        str(file.relative_to(written.parent)): file.read_bytes()
        for file in written.rglob("*")
        if file.is_file()
    }
    assert unzipped(sketch) == expected
    return clf, sampling


def answers(page):
    return page.eval_on_selector_all("#trial .strip span", "spans => spans.map(span => span.textContent)")


def test_a_folder_gives_the_model_and_the_sketch_of_the_command(page, folder, tmp_path):
    assert choose_folder(page, folder) is None
    page.wait_for_selector("#save-model")
    settle(page, "#signal-length", "32")
    settle(page, "#signal-hop", "16")
    settle(page, "#signal-range", "0:1023")
    own = tmp_path / "recordings.sefr"
    command("train", folder, "--signal", "--rate", 50, "--window", "32:16", "--range", "0:1023", "-o", own)
    clf, sampling = assert_same_files(page, own, tmp_path)
    assert clf.classes_.tolist() == ["fast", "slow"]
    assert page.locator(".windows .wave").count() == 4
    assert page.inner_text("#cut").startswith("8 recordings cut into 36 windows of 32 samples; axes x, y")
    assert page.inner_text("#figure-accuracy") == "100.0 %"
    plan = sampling.plan
    assert page.locator(".windows .wave rect").count() == 2 * sum(
        len(cut(np.zeros((n, 2)), plan.length, sampling.hop)) for n in (90, 95)
    )


def evidence(page):
    """Return what each sample of the window that is shown adds to the score, axis by axis."""
    return np.array(
        page.eval_on_selector_all(
            "#where .wave",
            "all => all.map(one => Array.from(one.querySelectorAll('rect'), "
            "rect => Number(rect.dataset.evidence)))",
        )
    )


def choose_window(page, number):
    page.fill("#where-window", str(number))
    return page.inner_text("#where-said")


@pytest.mark.parametrize("passes", [1, 3])
def test_evidence_lies_where_the_display_of_python_has_it(page, folder, tmp_path, passes):
    assert choose_folder(page, folder) is None
    page.wait_for_selector("#save-model")
    settle(page, "#signal-length", "40")
    settle(page, "#signal-hop", "16")
    if passes > 1:
        settle(page, "#passes", str(passes))
    path = tmp_path / "model.sefr"
    path.write_bytes(saved(page, "save-model")[1])
    clf = load(path)
    plan = Sampling.from_plain(columns_of(clf)["signal"]).plan
    tried = np.loadtxt(folder / "fast" / "0.csv", delimiter=",", skiprows=1)[:, 1:]
    windows = cut(tried, 40, 16)
    features = SignalFeatures(40, 2, range=tuple(zip(*plan.ranges, strict=True))).fit()
    assert features.plan_.levels.tolist() == plan.levels.tolist()
    assert len(windows) == 4
    for row in (0, 3):
        said = choose_window(page, row + 1)
        display = SignalDisplay.from_estimator(features, without_feature_names(clf), windows, row=row)
        plt.close(display.figure_)
        assert display.label == "slow"
        sign = 1 if display.score > 0 else -1
        label = "slow" if sign > 0 else "fast"
        first = 1 + 16 * row
        assert said.startswith(f"Window {row + 1} of 4, samples {first} to {first + 39}: {label}, score +")
        found = evidence(page)
        assert found.shape == (2, 40)
        assert found == pytest.approx(sign * display.evidence, abs=1e-9 * np.abs(display.evidence).max())


def test_no_evidence_is_shown_of_saturated_windows(page, folder):
    write(folder / "fast" / "0.csv", [(20 * k, 1023 if k < 70 else 500, k % 9) for k in range(160)], "ms,x,y")
    assert choose_folder(page, folder) is None
    page.wait_for_selector("#save-model")
    settle(page, "#signal-range", "-1:1023")
    assert page.inner_text("#where-said").startswith("Window 1 of 4, samples 1 to 64: don't know")
    assert len(evidence(page)) == 0
    choose_window(page, 4)
    assert len(evidence(page)) == 2


def test_nobody_is_left_out_of_signals(open_page, axe, folder):  # noqa: F811
    page = open_page(**look_of("phone", "dark"))
    page.click("text=Draw gestures instead")
    choose_folder(page, folder)
    page.wait_for_selector("#save-model")
    page.wait_for_selector("#trial .strip")
    assert_nobody_is_left_out(page, axe)
    page.focus("#gesture-pad")
    page.keyboard.press(" ")
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(40)
    page.keyboard.press(" ")
    assert page.inner_text("#gestures-drawn") == "circle: 1"


def test_a_dropped_table_becomes_a_signal_by_its_link(open_page, rng, tmp_path):
    page = open_page(words="#label=what&rate=50&window=32:16&range=0:1023")
    rows = [
        (row[0], label)
        for label in ("slow", "fast") * 3
        for row in samples(rng, SPEEDS[label], 80, whole=True).tolist()
    ]
    write(tmp_path / "all.csv", rows, "z,what")
    assert give(page, tmp_path / "all.csv") is None
    page.wait_for_selector("#save-model")
    assert "6 recordings cut into 24 windows of 32 samples; one axis" in page.inner_text("#cut")
    page.click("#copy-link")
    assert "rate=50&window=32%3A16&range=0%3A1023" in page.evaluate("location.hash")


def test_with_bins_the_page_says_why_it_shows_no_evidence(open_page, rng, tmp_path):
    page = open_page(words="#label=what&rate=50&window=32:16&bins=8")
    rows = [
        (row[0], label)
        for label in ("slow", "fast") * 3
        for row in samples(rng, SPEEDS[label], 80, whole=True).tolist()
    ]
    write(tmp_path / "all.csv", rows, "z,what")
    assert give(page, tmp_path / "all.csv") is None
    page.wait_for_selector("#trial .strip")
    assert page.inner_text("#where-shown").startswith("With bins a feature has no one weight.")
    assert page.locator("#where-window").count() == 0
    assert len(evidence(page)) == 0


def test_a_table_of_samples_with_fractions_and_passes(page, rng, tmp_path):
    """One file with a column of labels; values need a resolution, and three axes share the kernels."""
    rows = [
        (*row, label)
        for label in ("slow", "fast", "slow", "fast", "slow")
        for row in samples(rng, SPEEDS[label], 150, whole=False, axes=3).tolist()
    ]
    path = tmp_path / "all.csv"
    write(path, rows, "a,b,c,what")
    assert give(page, path) is None
    settle(page, "#rows-are", "samples")
    own = tmp_path / "all.sefr"
    window = ("--signal", "--rate", 50, "--window", "64:32")
    command("train", path, "--label", "what", *window, "-o", own)
    clf, sampling = assert_same_files(page, own, tmp_path)
    settle(page, "#passes", "3")
    command("train", path, "--label", "what", *window, "--passes", 3, "-o", own)
    refined = tmp_path / "refined.sefr"
    refined.write_bytes(saved(page, "save-model")[1])
    assert_close(load(refined), load(own))
    settle(page, "#passes", "1")
    assert sampling.plan.resolution == (0.001,) * 3
    tried = samples(rng, 0.2, 300, whole=False, axes=3)
    write(tmp_path / "new.csv", [row[::-1] for row in tried.tolist()], "c,b,a")
    page.set_input_files("#try-file", str(tmp_path / "new.csv"))
    page.wait_for_function("() => document.querySelector('#trial')?.textContent.includes('new.csv')")
    windows = sampling.plan.samples_of(cut(tried, 64, 32))
    expected = without_feature_names(clf).predict(sampling.plan.features_of(windows))
    runs = [one for i, one in enumerate(expected) if not i or expected[i - 1] != one]
    assert answers(page) == runs
    page.set_input_files("#try-file", str(path.parent / "all.sefr"))
    page.wait_for_selector("#trial .refusal")


@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        ([(0, 1, 2)] * 40, "ms,y,x", "slow/9.csv has the axes ms, y, x; the recordings before have ms, x, y"),
        (
            [(20 * k, 1, "" if k == 7 else 2) for k in range(40)],
            "ms,x,y",
            "slow/9.csv: row 8 has no number in column 'y': cut the recording at the gap",
        ),
        (
            [(10 * k, 1, 2) for k in range(40)],
            "ms,x,y",
            "slow/9.csv, column 'ms': samples come every 10, 100 per second, not 50",
        ),
        (
            [(20 * k + (k > 29) * 100, 1, 2) for k in range(40)],
            "ms,x,y",
            "slow/9.csv, column 'ms': rows 30 and 31 are 120 apart, not 20: cut the recording at the gap",
        ),
        ([(20 * k, "a", 2) for k in range(40)], "ms,x,y", "slow/9.csv: column 'x' is not of numbers"),
    ],
)
def test_recordings_that_do_not_fit_are_named(page, folder, rows, header, message):
    write(folder / "slow" / "9.csv", rows, header)
    assert choose_folder(page, folder) == message


def test_short_and_saturated_recordings_are_told(page, folder):
    write(folder / "slow" / "8.csv", [(20 * k, 1, 2) for k in range(20)], "ms,x,y")
    write(folder / "slow" / "9.csv", [(20 * k, 1023, 500) for k in range(70)], "ms,x,y")
    page.set_input_files("#folder", str(folder))
    page.wait_for_selector("#save-model")
    settle(page, "#signal-range", "0:1023")
    assert page.eval_on_selector_all(".notes li", "all => all.map(one => one.textContent)") == [
        "1 of 10 recordings are shorter than a window and left out",
        "slow/9.csv: 64 of 128 samples of a window lie at an end of the range: is the sensor saturated?",
    ]
    page.fill("#signal-length", "500")
    page.press("#signal-length", "Enter")
    said = page.wait_for_selector("#data .status .refusal").inner_text()
    assert said == "no recording is as long as a window of 500 samples; the longest has 105"


def drawn(page, pad, kind, turn=0.0):
    """Draw a gesture by the mouse for 1.2 seconds of a clock that goes on from move to move."""
    page.locator(pad).scroll_into_view_if_needed()
    box = page.locator(pad).bounding_box()

    def place(i):
        angle = 2 * math.pi * i / 30 + turn
        x = math.cos(angle)
        y = math.sin(angle) if kind == "circle" else 0.1 * math.sin(angle)
        return box["x"] + box["width"] * (0.5 + 0.35 * x), box["y"] + box["height"] * (0.5 + 0.35 * y)

    page.evaluate(
        "() => { let now = performance.now(); performance.now = () => now; "
        "window.later = () => { now += 20; }; }"
    )
    page.mouse.move(*place(0))
    page.mouse.down()
    for i in range(60):
        page.mouse.move(*place(i))
        page.evaluate("() => window.later()")
    page.mouse.up()
    page.evaluate("() => { delete performance.now; delete window.later; }")


def test_drawn_gestures_are_learned_tried_and_carried_away(page, tmp_path):
    page.click("text=Draw gestures instead")
    for kind in ("circle", "line"):
        page.fill("#gesture-name", kind)
        for i in range(3):
            drawn(page, "#gesture-pad", kind, i)
    assert page.inner_text("#gestures-drawn") == "circle: 3, line: 3"
    files = unzipped(saved(page, "save-drawn")[1])
    assert sorted(files) == [f"recordings/{kind}/00{i}.csv" for kind in ("circle", "line") for i in (1, 2, 3)]
    assert {len(content.splitlines()) for content in files.values()} == {61}  # names, and 1.2 s at 50 Hz
    page.click("#train-drawn")
    page.wait_for_selector("#save-model")
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    own = tmp_path / "gestures.sefr"
    window = ("--signal", "--rate", 50, "--window", "32:16", "--range", "0:1023")
    command("train", tmp_path / "recordings", *window, "-o", own)
    assert_same_files(page, own, tmp_path)
    for kind in ("line", "circle"):
        drawn(page, "#try-pad", kind, 1.5)
        page.wait_for_function("() => document.querySelector('#trial').textContent.includes('drawn')")
        assert page.inner_text("#trial-said") == kind
    page.click("#run-board")
    told = page.wait_for_selector("#board-answers").inner_text()
    assert told.startswith("12 of 12 answers as in the page, 12 right")
