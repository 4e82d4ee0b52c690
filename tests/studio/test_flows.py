"""Every flow of the page, as a reader goes through it."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from steps import EXAMPLES, PAGE, choose, give, saved

from sefr import SEFRClassifier, load
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


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", VIEWPORTS)
def test_nobody_is_left_out_on_any_screen(open_page, axe, viewport, scheme):
    page = open_page(**look_of(viewport, scheme))
    choose(page, "digits")
    page.click("#run-board")
    page.wait_for_selector("#board-answers")
    page.evaluate(axe)
    found = page.evaluate("() => axe.run().then(result => result.violations)")
    serious = [
        (fault["id"], fault["nodes"][0]["html"][:200], fault["nodes"][0]["failureSummary"][:300])
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


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
    page.wait_for_selector("#data .refusal")
    assert "a fraction" in page.inner_text("#data .refusal")


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
    flash, ram = (
        int(page.inner_text(f"#board-{what}").split()[0].replace(",", "")) for what in ("flash", "ram")
    )
    assert 4_000 < flash < 32_256
    assert m < ram < 2_048
    page.click("#learn-board")
    page.wait_for_selector("#board-learned")
    page.click("#bring-home")
    assert "30 records came home" in page.wait_for_selector("#came-home").inner_text()
    after = json.loads(saved(page, "save-model")[1])["summary"]
    assert after["counts"] == before["counts"]
    if example == "digits":
        assert after == before
    else:
        span = np.subtract(before["high"], before["low"])
        assert (np.abs(np.subtract(after["sums"], before["sums"])) <= 30 * span / 255 + 1e-9).all()


PORT = """
Object.defineProperty(navigator, 'serial', { value: { requestPort: async () => {
  let line;
  return {
    open: async () => {},
    close: async () => {},
    readable: new ReadableStream({ start: (controller) => { line = controller; } }),
    writable: new WritableStream({ write: async (bytes) => {
      const reply = await window.board(new TextDecoder().decode(bytes));
      const half = Math.floor(reply.length / 2);
      const parts = [reply.slice(0, half), reply.slice(half)];
      for (const part of parts) line.enqueue(new TextEncoder().encode(part));
    } }),
  };
} } });
"""


@pytest.mark.slow
@pytest.mark.parametrize("features", [4, 7])
def test_a_board_on_a_serial_port_is_asked(open_page, example_files, features):
    """The port is a stand-in: it answers as an exported sketch does, with the answers of the package."""
    table = open_dataset([str(example_files["flowers"])], reread=True)
    clf = SEFRClassifier.from_summary(learn(table, table.recipe("species")))
    asked = []

    def board(text):
        asked.append(text)
        if text == "q?" or text == "?":
            return f"answer 1 100 noise\r\nsefr 0 {features} 3 float\r\n"
        values = [[float(value) for value in text.removeprefix("c ").split(",")]]
        answer = clf.decision_function(pd.DataFrame(values, columns=clf.feature_names_in_)).argmax()
        return f"answer {answer} 93 some name\r\n"

    page = open_page(script=PORT, functions={"board": board})
    choose(page, "flowers")
    page.click("#real-board")
    said = page.wait_for_selector("#real-board + .ran p:not(.faint)").inner_text()
    if features == 4:
        assert said == "20 of 20 answers of the board as in the page."
        assert len(asked) == 22
    else:
        assert said == "the board has 7 features and 3 classes, this model 4 and 3"


def test_a_link_carries_the_settings_and_not_the_data(open_page):
    page = open_page()
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
    def tab_to(selector):
        for _ in range(300):
            page.keyboard.press("Tab")
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
    tab_to(".slider input")
    page.keyboard.press("ArrowRight")
    tab_to("#run-board")
    page.keyboard.press("Enter")
    page.wait_for_selector("#board-answers")
    tab_to("#save-sketch")
    with page.expect_download():
        page.keyboard.press("Enter")


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


@pytest.mark.slow
def test_a_large_file_leaves_the_page_free(browser, page, tmp_path):
    rng = np.random.default_rng(1)
    rows = 150_000
    path = tmp_path / "large.csv"
    body = rng.integers(0, 1000, (2_000, 20)) / 8
    lines = [",".join(map(str, row)) + f",{'ab'[i % 2]}\n" for i, row in enumerate(body)]
    head = ",".join(f"f{j}" for j in range(20)) + ",kind\n"
    path.write_text(head + "".join(lines) * (rows // len(lines)))
    browser.start_tracing(page=page, categories=["toplevel", "devtools.timeline"])
    assert give(page, path) is None
    page.wait_for_selector("#save-model")
    trace = browser.stop_tracing()
    assert f"{rows:,} rows" in page.inner_text(".opened")
    assert longest_task(trace) < 100
