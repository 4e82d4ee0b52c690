"""Every flow of the page, as a reader goes through it."""

from __future__ import annotations

import json
import os
import re
import select
import tty

import numpy as np
import pandas as pd
import pytest
from arduino_core import build_sketch
from simulated_uno import plugged_in
from steps import EXAMPLES, PAGE, choose, give, longest_task, method, saved, turn, unzipped

from sefr import SEFRClassifier, load
from sefr.device import read_state
from sefr.device.serial_board import SerialBoard, Sketch
from sefr.files import open_dataset
from sefr.files.learning import learn

VIEWPORTS = {"phone": (390, 844), "tablet": (820, 1180), "desk": (1440, 900)}


def look_of(viewport, scheme):
    width, height = VIEWPORTS[viewport]
    return {
        "viewport": {"width": width, "height": height},
        "color_scheme": scheme,
        "has_touch": viewport == "phone",
    }


@pytest.fixture(scope="session")
def axe():
    source = PAGE.parents[3] / "studio" / "node_modules" / "axe-core" / "axe.min.js"
    if not source.exists():
        pytest.skip("axe-core is not installed: make studio-tools")
    return source.read_text(encoding="utf-8")


def assert_nobody_is_left_out(page, axe):
    """No serious fault for a screen reader, nothing beyond the edge of the screen."""
    page.evaluate(axe)
    found = page.evaluate("() => axe.run().then(result => result.violations)")
    serious = [
        (fault["id"], fault["nodes"][0]["html"][:200], fault["nodes"][0]["failureSummary"][:300])
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", VIEWPORTS)
def test_every_flow_on_every_screen(open_page, axe, example_files, viewport, scheme):
    """From a file that is dropped to what is downloaded, and once more with bins and passes."""
    page = open_page(words="#method=paper", **look_of(viewport, scheme))
    assert_nobody_is_left_out(page, axe)
    drop(page, example_files["digits"])
    page.wait_for_selector("#save-model")
    draw_seven(page)
    assert page.inner_text("#drawn-answer") == "This is 7"
    page.click("#teach-7")
    page.click("#undo")
    assert page.locator(".pictures canvas").count() == 10
    page.locator(".mistake").first.click()
    assert page.inner_text("#what-if-answer").startswith("line")
    page.click("#run-board")
    page.wait_for_selector("#board-answers")
    page.click("#learn-board")
    page.wait_for_selector("#board-learned")
    assert_nobody_is_left_out(page, axe)
    page.click("#bring-home")
    assert "to the bit" in page.wait_for_selector("#came-home").inner_text()
    for button in ("save-model", "save-header", "save-sketch"):
        assert len(saved(page, button)[1]) > 500
    page.click("#copy-link")
    page.click(".paste summary")
    page.fill("#paste", example_files["flowers"].read_text())
    page.click("text=Use this")
    page.wait_for_function("() => document.querySelector('#train .lead')?.textContent.includes('4 features')")
    page.wait_for_selector("#save-model")
    turn(page, bins=8)
    turn(page, bins=8, passes=3)
    assert page.locator("#curves svg").count() == 4
    assert_nobody_is_left_out(page, axe)
    method(page, "auto")
    assert page.locator("#compared tbody tr").count() == 4
    assert_nobody_is_left_out(page, axe)
    page.select_option("#label", "petal_width")
    page.wait_for_selector("#figure-r2")
    page.wait_for_selector("#what-if .slider")
    assert_nobody_is_left_out(page, axe)


def drop(page, path):
    """Drop a file onto the page, as a hand does: the events that a browser sends, with the file in them."""
    held = page.evaluate_handle(
        """([name, text]) => {
          const held = new DataTransfer();
          held.items.add(new File([text], name, { type: 'text/csv' }));
          return held;
        }""",
        [path.name, path.read_text()],
    )
    for event in ("dragenter", "dragover", "drop"):
        page.dispatch_event(".drop", event, {"dataTransfer": held})
        assert (page.locator(".drop.over").count() == 1) == (event == "dragover")


def test_a_file_can_be_dropped(page, example_files):
    drop(page, example_files["flowers"])
    page.wait_for_selector("#figure-accuracy")
    assert "flowers.csv 150 rows, 5 columns" in page.inner_text(".opened")
    assert "studio.html" in page.url  # and the browser has not opened it itself


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_trained_and_understood(page, example):
    choose(page, example)
    assert float(page.inner_text("#figure-accuracy").split()[0]) > 80
    assert page.locator("#looks .effect").count() > 3
    before = page.inner_text("#contributions")
    slider = page.locator(".slider input").first
    slider.focus()
    for _ in range(30):
        page.keyboard.press("ArrowLeft")
    for _ in range(8):
        page.keyboard.press("PageUp")
    assert page.inner_text("#contributions") != before
    if page.locator(".mistake").count():
        page.locator(".mistake").first.click()
        line = page.locator(".mistake .faint").last.inner_text()
        assert re.fullmatch(r"line \d+", line)
        assert page.inner_text("#what-if-answer").startswith("line")


def test_pasted_rows_are_trained(page):
    page.click(".paste summary")
    rows = "".join(f"{i % 7}\t{i % 5}\t{'ab'[i % 7 > 3]}\n" for i in range(40))
    page.fill("#paste", f"one\ttwo\tkind\n{rows}")
    page.click("text=Use this")
    page.wait_for_selector("#figure-accuracy")
    assert "40 rows, 3 columns" in page.inner_text(".opened")


def test_columns_can_be_left_out_and_the_label_changed(page):
    choose(page, "flowers")
    page.select_option("select[aria-label='Use of petal_width']", "out")
    page.wait_for_function("() => document.querySelector('#train .lead').textContent.includes('3 features')")
    model = json.loads(saved(page, "save-model")[1])
    assert model["features"] == ["sepal_length", "sepal_width", "petal_length"]
    page.select_option("#label", "petal_width")
    page.wait_for_selector("#figure-r2")
    page.select_option("#task", "classes")
    page.wait_for_selector("#data .refusal")
    assert "predict it as a number" in page.inner_text("#data .refusal")


def draw_seven(page):
    pad = page.locator("#pad")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    corners = [(60, 50), (220, 50), (150, 140), (110, 240)]
    page.mouse.move(box["x"] + corners[0][0], box["y"] + corners[0][1])
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(box["x"] + x, box["y"] + y, steps=5)
    page.mouse.up()


def test_a_drawing_is_told_taught_and_forgotten_exactly(page, tmp_path):
    choose(page, "digits")
    untouched = saved(page, "save-model")[1]
    draw_seven(page)
    assert page.inner_text("#drawn-answer") == "This is 7"
    rows = 178 + 1
    page.click("#teach-0")
    taught = tmp_path / "taught.sefr"
    taught.write_bytes(saved(page, "save-model")[1])
    assert load(taught).summary_.counts[0] == rows
    for _ in range(60):
        page.click("#teach-0")
    assert page.inner_text("#drawn-answer") == "This is 0"
    for _ in range(61):
        page.click("#undo")
    assert page.inner_text("#drawn-answer") == "This is 7"
    assert page.locator("#undo").is_disabled()
    assert saved(page, "save-model")[1] == untouched


def test_drawing_with_the_keyboard(page):
    choose(page, "digits")
    page.focus("#pad")
    for _ in range(7):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    for _ in range(14):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    assert page.inner_text("#drawn-answer").startswith("This is")


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_board_answers_learns_and_comes_home(page, example):
    choose(page, example)
    before = json.loads(saved(page, "save-model")[1])["summary"]
    page.click("#run-board")
    answers = page.wait_for_selector("#board-answers").inner_text()
    assert int(answers.split()[0]) >= 17  # of 20, as the page with float64
    cycles = int(page.inner_text("#board-cycles").replace(",", ""))
    m, k = len(before["low"]), len(before["counts"])
    assert 4 * m * k < cycles < 100 * m * k + 2000
    assert float(page.inner_text("#board-ms")) == pytest.approx(cycles / 16_000, rel=1e-3)
    # 5 V times 5.2 mA at 8 MHz, of the data sheet
    assert float(page.inner_text("#board-uj")) == pytest.approx(cycles * 5 * 5.2e-3 / 8e6 * 1e6, rel=1e-3)
    flash, ram = (
        int(page.inner_text(f"#board-{what}").split()[0].replace(",", "")) for what in ("flash", "ram")
    )
    assert 4_000 < flash < 32_256
    assert m < ram < 2_048
    page.click("#learn-board")
    page.wait_for_selector("#board-learned")
    page.click("#bring-home")
    assert "30 records were added" in page.wait_for_selector("#came-home").inner_text()
    after = json.loads(saved(page, "save-model")[1])["summary"]
    assert after["counts"] == before["counts"]
    if example == "digits":
        assert after == before
    else:
        span = np.subtract(before["high"], before["low"])
        assert (np.abs(np.subtract(after["sums"], before["sums"])) <= 30 * span / 255 + 1e-9).all()


PORT = """
Object.defineProperty(navigator, 'serial', { value: { requestPort: async () => ({
  open: async () => {},
  close: async () => {},
  readable: new ReadableStream({ pull: async (line) => {
    for (;;) {
      const text = await window.heard();
      if (text) return line.enqueue(new TextEncoder().encode(text));
      await new Promise((resume) => setTimeout(resume, 20));
    }
  } }),
  writable: new WritableStream({ write: (bytes) => window.say(new TextDecoder().decode(bytes)) }),
}) } });
"""


@pytest.mark.slow
@pytest.mark.parametrize("features", [4, 7])
def test_a_board_on_a_serial_port_is_asked(open_page, example_files, features):
    """The port is a stand-in: it answers as an exported sketch does, with the answers of the package."""
    table = open_dataset([str(example_files["flowers"])], reread=True)
    clf = SEFRClassifier.from_summary(learn(table, table.recipe("species")))
    asked, waiting = [], []

    def say(text):
        asked.append(text)
        reply = f"answer 1 100 noise\r\nsefr 0 {features} 3 float\r\n"
        if text not in ("q?", "?"):
            values = [[float(value) for value in text.removeprefix("c ").split(",")]]
            answer = clf.decision_function(pd.DataFrame(values, columns=clf.feature_names_in_)).argmax()
            reply = f"answer {answer} 93 some name\r\n"
        waiting.extend([reply[:7], reply[7:]])  # lines come in pieces

    heard = {"say": say, "heard": lambda: waiting.pop(0) if waiting else ""}
    page = open_page(words="#method=paper", script=PORT, functions=heard)
    choose(page, "flowers")
    page.click("#real-board")
    said = page.wait_for_selector("#board-said, #real-board + .ran .refusal").inner_text()
    if features == 4:
        assert said == "20 of 20 answers of the board as in the page."
        assert len(asked) == 22
    else:
        assert said == "the board has 7 features and 3 classes, this model 4 and 3"


class Wire:
    """A serial port, for the page's stand-in."""

    def __init__(self, port):
        self.file = os.open(port, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self.file)

    def say(self, text):
        os.write(self.file, text.encode())

    def heard(self):
        ready, _, _ = select.select([self.file], [], [], 0.05)
        return os.read(self.file, 4096).decode("ascii", "replace") if ready else ""


@pytest.mark.slow
@pytest.mark.needs("avr", "arduino")
def test_what_a_board_learned_comes_home_over_web_serial(open_page, example_files, tmp_path):
    """A sketch of the page, built with the Arduino core, on a simulated Uno; its bytes go to the page."""
    wires = []
    wire = {"say": lambda text: wires[0].say(text), "heard": lambda: wires[0].heard()}
    page = open_page(words="#method=paper", script=PORT, functions=wire)
    choose(page, "flowers")
    page.wait_for_selector("#save-model")
    page.check("#sketch-learns")
    for name, content in unzipped(saved(page, "save-sketch")[1]).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    known = Sketch.read(tmp_path / "flowers")
    before = json.loads(saved(page, "save-model")[1])["summary"]
    image = build_sketch(tmp_path / "flowers", tmp_path)
    taught = [([5.0, 3.4, 1.5, 0.2], 0), ([6.0, 2.9, 4.5, 1.5], 1), ([5.8, 2.7, 4.1, 1.0], 1)]
    with plugged_in(image) as port:
        with SerialBoard(str(port)) as board:
            for values, label in taught:
                board.teach(label, values)
            board.solve()
            state = board.state()
        wires.append(Wire(str(port)))
        page.click("#real-board")
        said = page.wait_for_selector("#bring-real-home, #real-board + .ran .refusal").inner_text()
        assert said == "Add what it learned"
    assert re.fullmatch(
        r"(1[789]|20) of 20 answers of the board as in the page.", page.inner_text("#board-said")
    )
    assert page.inner_text("#board-home") == "The board has learned 3 records since it was flashed."
    page.click("#bring-real-home")
    after = json.loads(saved(page, "save-model")[1])["summary"]
    learned = read_state(state, base=known.base, **known.meaning)
    assert after["counts"] == np.add(before["counts"], learned.counts).tolist() == [51, 52, 50]
    np.testing.assert_allclose(after["sums"], np.add(before["sums"], learned.sums), rtol=1e-12)
    assert page.inner_text("#board-home") == "3 records of the board were added."


def test_a_link_carries_the_settings_and_not_the_data(open_page):
    page = open_page(words="#method=paper")
    choose(page, "flowers")
    page.select_option("select[aria-label='Use of sepal_width']", "out")
    page.check("#balanced")
    page.wait_for_selector("body:not(.busy)")
    page.click("#copy-link")
    words = page.evaluate("location.hash")
    assert "5.1" not in words
    again = open_page(words=words)
    again.wait_for_selector("#figure-accuracy")
    assert again.is_checked("#balanced")
    assert again.input_value("select[aria-label='Use of sepal_width']") == "out"
    assert saved(again, "save-model") == saved(page, "save-model")


def test_the_keyboard_alone_suffices(page):
    def tab_to(selector, *, back=False):
        for _ in range(300):
            page.keyboard.press("Shift+Tab" if back else "Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"the keyboard does not reach {selector}")

    page.evaluate("document.activeElement.blur()")
    tab_to("#file")
    tab_to("[data-example='flowers.csv']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#figure-accuracy")
    tab_to("#balanced")
    page.keyboard.press("Space")
    page.wait_for_selector("body:not(.busy)")
    assert page.evaluate("document.activeElement.id") == "balanced"  # the focus stays
    tab_to("#method", back=True)
    for key in ("Space", "End", "Enter"):  # passes and bins of one's own
        page.keyboard.press(key)
    page.wait_for_selector("#bins")
    tab_to("#bins")
    for key in ("Space", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("#curves svg")
    page.wait_for_selector("body:not(.busy)")
    assert page.input_value("#bins") == "8"
    for key in ("Space", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("#curves", state="detached")
    tab_to(".slider input")
    page.keyboard.press("ArrowRight")
    tab_to("#run-board")
    page.keyboard.press("Enter")
    page.wait_for_selector("#board-answers")
    tab_to("#learn-board")
    page.keyboard.press("Enter")
    page.wait_for_selector("#bring-home")
    tab_to("#bring-home")
    page.keyboard.press("Enter")
    page.wait_for_selector("#came-home")
    for button in ("#save-model", "#save-header", "#save-sketch"):
        tab_to(button)
        with page.expect_download():
            page.keyboard.press("Enter")


@pytest.mark.slow
def test_a_large_file_leaves_the_page_free(browser, page, tmp_path):
    rng = np.random.default_rng(1)
    rows = 1_000_000
    path = tmp_path / "large.csv"
    body = rng.integers(0, 10, (2_000, 20))
    lines = [",".join(map(str, row)) + f",{'ab'[i % 2]}\n" for i, row in enumerate(body)]
    head = ",".join(f"f{j}" for j in range(20)) + ",kind\n"
    path.write_text(head + "".join(lines) * (rows // len(lines)))
    browser.start_tracing(page=page, categories=["toplevel", "devtools.timeline"])
    assert give(page, path) is None
    page.wait_for_selector("#save-model")
    trace = browser.stop_tracing()
    assert f"{rows:,} rows" in page.inner_text(".opened")
    assert longest_task(trace) < 100
