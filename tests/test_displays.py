"""Pictures of a model, and the HTML report in a real browser."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

from sefr import AutoDisplay, ContributionsDisplay, ScoresDisplay, SEFRClassifier, SEFRRegressor
from sefr.displays import effects
from sefr.report import explained, report

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return SEFRClassifier().fit(X, y), X, y


@pytest.fixture
def digits():
    X, y = load_digits(return_X_y=True)
    return SEFRClassifier().fit(X, y), X, y


def test_an_effect_is_what_a_feature_moves_the_score_by(cancer, digits):
    """The oracle: contributions at the mean row of a class less those at the mean row of the others."""
    clf, X, y = cancer
    means = [X[y == label].mean().to_frame().T for label in (0, 1)]
    moved = clf.contributions(means[1]) - clf.contributions(means[0])
    np.testing.assert_allclose(np.abs(effects(clf)), np.abs(moved), rtol=1e-9)
    assert (np.sign(effects(clf)) == np.sign(clf.feature_scores_)).all()
    clf, X, y = digits
    for k in range(10):
        own, others = X[y == k].mean(axis=0), X[y != k].mean(axis=0)
        moved = clf.contributions(own[None])[0, k] - clf.contributions(others[None])[0, k]
        np.testing.assert_allclose(np.abs(effects(clf)[k]), np.abs(moved), rtol=1e-9, atol=1e-12)


def test_pixels_that_are_hardly_ever_lit_have_a_small_effect(digits):
    clf, X, _y = digits
    dark = X.mean(axis=0) < 0.1
    assert np.abs(clf.feature_scores_[:, dark]).max() > 0.9
    assert np.abs(effects(clf)[:, dark]).max() < 0.06 * np.abs(effects(clf)).max()


def test_names_that_look_like_formulas_are_drawn_as_they_are(rng):
    frame = pd.DataFrame(rng.random((9, 2)), columns=["$\\frac{", "a\x1b[31m"])
    clf = SEFRClassifier().fit(frame, ["$x$", "$\\", "c"] * 3)
    display = ScoresDisplay.from_estimator(clf)
    display.figure_.canvas.draw()
    ContributionsDisplay.from_estimator(clf, frame).figure_.canvas.draw()
    assert "\x1b" not in "".join(tick.get_text() for tick in display.axes_[0].get_yticklabels())


def test_the_report_says_where_some_rows_are_sets_of_features(rng):
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0) == (X[:, 1] > 0)
    plain = report(SEFRClassifier(bins=8).fit(X, y), title="t")
    assert "All features<" in plain
    assert "interaction" not in plain.split("<dl")[0]
    page = report(SEFRClassifier(bins=8, interactions=10, passes=5).fit(X, y), title="t")
    assert 'data-searchable="features and interactions"' in page
    assert "All features and interactions<" in page
    assert "and one per interaction of features" in page


@pytest.mark.parametrize(
    ("passes", "words"), [(1, "depends on its own feature alone"), (10, "fitted together, in 10 passes")]
)
def test_the_report_says_what_the_scores_mean(passes, words):
    X, y = load_digits(return_X_y=True)
    assert words in report(SEFRClassifier(passes=passes).fit(X, y), title="t")


def test_no_card_leaves_out_a_feature_that_is_stronger_than_one_it_shows(digits):
    clf, _X, _y = digits
    page = report(clf, title="t")
    for k, card in enumerate(re.findall(r'<li class="card">.*?</ol>', page, re.DOTALL)):
        named = [int(name[1:]) for name in re.findall(r'class="name" title="(x\d+)"', card)]
        strength = np.abs(effects(clf)[k])
        assert min(strength[named]) >= np.delete(strength, named).max()


def test_the_strongest_scores_are_drawn_first(cancer):
    clf, X, _y = cancer
    display = ScoresDisplay.from_estimator(clf, kind="scores", count=6)
    (axis,) = display.axes_
    widths = [bar.get_width() for bar in axis.patches]
    order = np.argsort(-np.abs(clf.feature_scores_[0]))[:6]
    np.testing.assert_allclose(widths, clf.feature_scores_[0, order])
    assert [tick.get_text() for tick in axis.get_yticklabels()] == [X.columns[j] for j in order]
    assert axis.yaxis_inverted()


def test_images_hold_the_scores(digits):
    clf, _X, _y = digits
    display = ScoresDisplay.from_estimator(clf, image=(8, 8))
    assert len(display.axes_) == 10
    for axis, scores in zip(display.axes_, effects(clf), strict=True):
        np.testing.assert_array_equal(axis.images[0].get_array(), scores.reshape(8, 8))
    with pytest.raises(ValueError, match="kind must be"):
        ScoresDisplay.from_estimator(clf, kind="weights")
    with pytest.raises(ValueError, match="7x8 pixels does not fit 64"):
        ScoresDisplay.from_estimator(clf, image=(7, 8))


def test_axes_and_names_of_ones_own(cancer):
    clf, _X, _y = cancer
    _figure, axis = plt.subplots()
    names = [f"f{j}" for j in range(30)]
    display = ScoresDisplay.from_estimator(clf, axes=axis, feature_names=names)
    assert display.axes_[0] is axis
    assert axis.get_yticklabels()[0].get_text().startswith("f")
    with pytest.raises(ValueError, match="3 feature names for 30"):
        ScoresDisplay.from_estimator(clf, feature_names=names[:3])


@pytest.mark.parametrize("data", ["cancer", "digits"])
def test_contributions_add_up_to_the_score(data, request):
    clf, X, _y = request.getfixturevalue(data)
    display = ContributionsDisplay.from_estimator(clf, X, row=3, count=5)
    one = X.iloc[[3]] if hasattr(X, "iloc") else X[3:4]
    scores = np.ravel(clf.decision_function(one))
    at = 0 if len(scores) == 1 else clf.classes_.tolist().index(clf.predict(one)[0])
    drawn = sum(bar.get_width() for bar in display.ax_.patches)
    assert display.score == pytest.approx(scores[at])
    assert drawn == pytest.approx(scores[at])
    assert len(display.ax_.patches) == 6
    assert "others" in display.ax_.get_yticklabels()[-1].get_text()


def page_of(data, records=12, image=None):
    clf, X, y = data
    rows = np.asarray(X[:records], dtype=float)
    without_feature_names = SEFRClassifier().fit(np.asarray(X), np.asarray(y))
    names = [str(name) for name in getattr(X, "columns", [f"pixel {j}" for j in range(rows.shape[1])])]
    said = explained(
        without_feature_names,
        rows,
        places=[f"data.csv, line {i + 2}" for i in range(records)],
        truths=np.asarray(y)[:records].tolist(),
        feature_names=names,
    )
    return report(clf, title="a <b> & c", records=said, image=image, feature_names=names)


class Checker(HTMLParser):
    """Counts what opens and closes, and notes what would load something from elsewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.outside = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in {"meta", "img", "input", "link", "br", "source"}:
            self.open.append(tag)
        for name, value in attributes:
            if name in {"src", "href", "srcset"} and not str(value).startswith(("data:", "#")):
                self.outside.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_report_is_one_whole_file(digits):
    page = page_of(digits, image=(8, 8))
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert checker.outside == []
    assert "a &lt;b&gt; &amp; c" in page
    assert "<b> & c" not in page
    assert page.count("data:image/png;base64,") == 20  # a light and a dark one per class
    assert len(re.findall(r"<details", page)) == 12


def test_a_report_of_many_features_lists_the_strongest(rng):
    clf = SEFRClassifier().fit(rng.random((20, 5000)), rng.integers(0, 2, 20))
    page = report(clf, title="wide")
    assert page.count("<tr data-text") == 2000
    assert "3,000 weakest features" in page


def test_names_cannot_smuggle_scripts(rng):
    names = ["<script>alert(1)</script>", '" onmouseover="alert(1)', "</style>"]
    frame = pd.DataFrame(rng.random((9, 3)), columns=names)
    page = report(SEFRClassifier().fit(frame, ["<img src=x>", "b", "c"] * 3), title="x")
    assert "<script>alert" not in page
    assert "<img src=x>" not in page
    assert '" onmouseover="alert' not in page


@pytest.fixture
def page(browser, cancer, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(page_of(cancer), encoding="utf-8")
    opened = browser.new_page(viewport={"width": 1000, "height": 800})
    faults = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    opened.on(
        "request",
        lambda request: None if request.url.startswith(("file:", "data:")) else faults.append(request.url),
    )
    opened.goto(path.as_uri())
    yield opened
    assert faults == []
    opened.close()


@pytest.mark.slow
def test_search_and_sorting_by_keyboard(page):
    region = page.locator("[data-searchable=features]")
    region.locator("input").focus()
    page.keyboard.type("worst area")
    assert region.locator("tbody tr:visible").count() == 1
    assert region.locator(".count").inner_text() == "1 of 30 features"
    page.keyboard.press("Escape")
    assert region.locator("tbody tr:visible").count() == 30

    page.keyboard.press("Tab")  # the scrollable table
    page.keyboard.press("Tab")  # its first heading
    page.keyboard.press("Tab")  # the scores
    page.keyboard.press("Enter")
    values = [float(v) for v in region.locator("td").evaluate_all("cells => cells.map(c => c.dataset.value)")]
    assert values == sorted(values, reverse=True)
    assert region.locator("thead th").nth(1).get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")
    values = [float(v) for v in region.locator("td").evaluate_all("cells => cells.map(c => c.dataset.value)")]
    assert values == sorted(values)
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    names = region.locator("tbody th").all_inner_texts()
    assert names == sorted(names)


@pytest.mark.slow
def test_records_open_by_keyboard_and_can_be_searched(page):
    region = page.locator("[data-searchable=records]")
    second = region.locator("details").nth(1)
    assert second.get_attribute("open") is None
    second.locator("summary").focus()
    page.keyboard.press("Enter")
    assert second.get_attribute("open") is not None
    region.locator("input").fill("line 5")
    assert region.locator("details:visible").count() == 1


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_and_fits_a_phone(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    contrast = page.evaluate(
        """() => {
          const light = (colour) => {
            const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map((v) => {
              v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const back = (element) => {
            for (; element; element = element.parentElement) {
              const colour = getComputedStyle(element).backgroundColor;
              if (!/, 0\\)$/.test(colour) && colour !== "transparent") return colour;
            }
            return "rgb(255, 255, 255)";
          };
          const worst = {};
          const text = "p, h1, h2, h3, dt, dd, li span, th, td, summary, label, footer";
          for (const element of document.querySelectorAll(text)) {
            if (!element.innerText || !element.innerText.trim()) continue;
            const colours = [getComputedStyle(element).color, back(element)];
            const [a, b] = colours.map(light).sort((x, y) => y - x);
            const ratio = (a + 0.05) / (b + 0.05);
            if (!(worst.ratio < ratio)) Object.assign(worst, { ratio, text: element.innerText.slice(0, 30) });
          }
          return worst;
        }"""
    )
    assert contrast["ratio"] >= 4.5, contrast


@pytest.mark.slow
def test_a_screen_reader_finds_its_way(page):
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.locator("h1").count() == 1
    assert page.locator("main").count() == 1
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, input, a, [role=region]")].filter((element) =>
          !(element.innerText || element.ariaLabel || element.closest("label")?.innerText)).length"""
    )
    assert unnamed == 0
    assert page.locator("th[scope=col]").count() == 2
    assert page.locator("tbody th[scope=row]").count() == 30
    assert page.locator("img:not([alt])").count() == 0
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => Number(h.tagName[1]))")
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_what_auto_chose_is_drawn():
    X, y = load_breast_cancer(return_X_y=True)
    clf = SEFRClassifier(auto=True).fit(X[:400], y[:400])
    display = AutoDisplay.from_estimator(clf)
    weights, losses = display.axes_
    assert [bar.get_width() for bar in weights.patches] == list(clf.auto_.weights.values())
    assert [text.get_text() for text in weights.get_yticklabels()] == ["lines", "curves", "interactions"]
    assert [bar.get_width() for bar in losses.patches] == list(clf.auto_.log_loss.values())
    assert losses.get_yticklabels()[-1].get_text() == "sum"
    assert f"{clf.auto_.n_held_out} rows" in losses.get_title()

    reg = SEFRRegressor(auto=True).fit(X[:, 1:], X[:, 0])
    (axis,) = AutoDisplay.from_estimator(reg).axes_
    assert [bar.get_width() for bar in axis.patches] == list(reg.auto_.r2.values())
    with pytest.raises(ValueError, match="trained without it"):
        AutoDisplay.from_estimator(SEFRClassifier().fit(X, y))
