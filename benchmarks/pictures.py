"""Draw the pictures of the documents from the files that the benchmarks wrote: ``make pictures``.

Each is written twice, for light and for dark pages, and is narrow enough to be read on a phone.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sefr import SEFRClassifier
from sefr.displays import depths, effects

from . import tables
from .accuracy.sets import PAPER, SCIKIT_LEARN, load
from .linear.shown import results as linear_results
from .machine import AVX2
from .style import draw_both

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs" / "pictures"
Colours = tuple[str, ...]
INK, FAINT = -2, -1
WIDE = 4.6  # inches: 460 pixels on a page, three quarters of that on a phone


def draw_semeion() -> None:
    """Draw what each pixel does in a model of the Semeion digits, beside the mean of what was written."""
    X, y = load("semeion")
    clf = SEFRClassifier().fit(X, y)
    found = effects(clf)

    def draw(figure: Figure, colours: Colours) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        ground = figure.get_facecolor()
        shades = LinearSegmentedColormap.from_list("effect", [colours[1], ground, colours[0]])
        axes = figure.subplots(2, 5)
        for digit, axis in enumerate(axes.flat):
            axis.imshow(depths(found[digit]).reshape(16, 16), cmap=shades, vmin=-1, vmax=1)
            axis.set_title(str(digit), fontsize=11, loc="center")
            axis.set_xticks([])
            axis.set_yticks([])
            axis.spines[:].set_visible(False)
        figure.supxlabel("blue: ink here speaks for the digit; orange: against it", fontsize=10)

    draw_both(DOCS / "semeion.png", (5.6, 2.9), draw)


def draw_idea() -> None:
    """Draw the four steps on two species of iris: rows, Summary, weights, answers."""
    from sklearn.datasets import load_iris

    iris = load_iris()
    chosen = iris.target > 0
    X, y = iris.data[chosen], iris.target[chosen] - 1
    names = [name.replace(" (cm)", "").replace(" ", "\n") for name in iris.feature_names]
    labels = ["versicolor", "virginica"]
    clf = SEFRClassifier().fit(X, y)
    low, high = clf.summary_.low, clf.summary_.high
    means = (clf.summary_.sums / clf.summary_.counts[:, None] - low) / (high - low)
    scores = clf.decision_function(X)

    def draw(figure: Figure, colours: Colours) -> None:
        (rows, summary), (weights, answers) = figure.subplots(2, 2)
        for k, label in enumerate(labels):
            own = y == k
            rows.scatter(X[own, 2], X[own, 3], s=12, color=colours[1 - k], marker="so"[k], label=label)
            summary.bar(np.arange(4) + 0.4 * k - 0.2, means[k], 0.38, color=colours[1 - k], label=label)
            edges = np.linspace(scores.min(), scores.max(), 22)
            answers.hist(scores[own], bins=edges, color=colours[1 - k], alpha=0.75, label=label)
        rows.set(title="1. rows", xlabel="petal length, cm", ylabel="petal width, cm")
        summary.set(title="2. Summary", ylabel="class mean, scaled", ylim=(0, 1))
        found = clf.feature_scores_[0]
        weights.bar(range(4), found, 0.6, color=[colours[0] if w >= 0 else colours[1] for w in found])
        weights.axhline(0, color=colours[FAINT], linewidth=1)
        weights.set(title="3. weights", ylabel="for virginica")
        for axis in (summary, weights):
            axis.set_xticks(range(4), names, fontsize=8)
        answers.axvline(0, color=colours[INK], linewidth=1)
        answers.set(title="4. answers", xlabel="score; above 0: virginica", ylabel="rows")
        figure.legend(*rows.get_legend_handles_labels(), loc="outside lower center", ncols=2)

    draw_both(DOCS / "idea.png", (WIDE, 5.6), draw)


def draw_frontier() -> None:
    """Draw mean macro F1 against the time of a fit, one panel per group of sets."""
    methods = json.loads((HERE / "accuracy" / "results.json").read_text())["methods"]
    groups = {"the paper's five sets at hand": PAPER, "digits, breast cancer, wine, iris": SCIKIT_LEARN}

    def draw(figure: Figure, colours: Colours) -> None:
        for axis, (title, group) in zip(figure.subplots(2, 1), groups.items(), strict=True):
            points = {
                name: _point(entry["sets"], group)
                for name, entry in methods.items()
                if all(each in entry["sets"] for each in group)
            }
            ours = {name: point for name, point in points.items() if name.startswith("SEFR")}
            axis.plot(*zip(*ours.values(), strict=True), marker="o", color=colours[0])
            for at, (name, (x, y)) in enumerate(ours.items()):
                label = name.split("=")[1] + (" pass" if at == 0 else "")
                place, side = ((0, -14), "center") if at == 0 else ((-5, 6), "right")
                axis.annotate(
                    label, (x, y), xytext=place, textcoords="offset points", color=colours[0], ha=side
                )
            others = {name: point for name, point in points.items() if name not in ours}
            for at, (name, (x, y)) in enumerate(others.items()):
                axis.plot(
                    x, y, marker="sD^vPX*"[at % 7], color=colours[1 + at % 5], linestyle="", label=name, ms=7
                )
            axis.set(xscale="log", ylabel="mean macro F1", title=title)
            axis.grid(visible=True)
            axis.margins(0.08, 0.16)
        axis.set_xlabel("seconds to fit (CPU time, geometric mean)")
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2)

    draw_both(DOCS / "frontier.png", (WIDE, 6.6), draw)


def _point(by_set: dict[str, Any], group: tuple[str, ...]) -> tuple[float, float]:
    times = [max(by_set[name]["seconds"], 1e-4) for name in group]
    return float(np.exp(np.mean(np.log(times)))), float(np.mean([by_set[name]["f1"] for name in group]))


def draw_reliability() -> None:
    """Draw how often answers are right against how sure they are, one panel per set, four in all."""
    curves = json.loads((HERE / "accuracy" / "reliability.json").read_text())

    def draw(figure: Figure, colours: Colours) -> None:
        axes = figure.subplots(2, 2, sharex=True, sharey=True)
        for axis, (name, by_setting) in zip(axes.flat, list(curves.items())[:4], strict=True):
            axis.plot([0, 1], [0, 1], color=colours[FAINT], linewidth=1)
            for at, (setting, line) in enumerate(by_setting.items()):
                said, right, _ = zip(*line["curve"], strict=True)
                axis.plot(said, right, marker="os^D"[at], markersize=4, color=colours[at], label=setting)
            axis.set(title=name.replace("_5000", ""), xlim=(0, 1.02), ylim=(0, 1.02))
            axis.grid(visible=True)
        for axis in axes[1]:
            axis.set_xlabel("probability")
        for axis in axes[:, 0]:
            axis.set_ylabel("share that is right")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)

    draw_both(DOCS / "reliability.png", (WIDE, 5.2), draw)


def draw_streams() -> None:
    """Draw accuracy against rate, a point per model and stream: the course over time says little more."""
    streams = json.loads((HERE / "streams" / "results.json").read_text())["streams"]
    models = list(next(iter(streams.values())))

    def draw(figure: Figure, colours: Colours) -> None:
        axes = figure.subplots(len(streams), 1, sharex=True)
        for axis, (stream, found) in zip(axes, streams.items(), strict=True):
            for at, model in enumerate(models):
                result = found[model]
                axis.plot(
                    result["rows_per_cpu_second"],
                    result["accuracy"],
                    marker="oosD^v"[at % 6] if model.startswith("SEFR") else "sDX^vP"[at % 6],
                    color=colours[0] if model.startswith("SEFR") else colours[1 + at % 5],
                    fillstyle=("full", "left", "none", "top")[at] if model.startswith("SEFR") else "full",
                    linestyle="",
                    markersize=8,
                    label=model,
                )
            axis.set(xscale="log", title=stream, ylabel="accuracy")
            axis.grid(visible=True)
            axis.margins(0.08, 0.18)
        axes[-1].set_xlabel("rows per CPU second, predicted and learned")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)

    draw_both(DOCS / "streams.png", (WIDE, 6.8), draw)


def _host() -> list[dict[str, str]]:
    with (HERE / "host" / "results.csv").open() as file:
        return [row for row in csv.DictReader(file) if row["processor"] != AVX2]


def draw_limit() -> None:
    """Draw the speed of the training pass as a share of the speed of reading."""
    rows = [
        row
        for row in _host()
        if row["section"] == "shapes" and row["threads"] == "1" and row["classes"] == "2"
    ]
    shapes = [shape for shape in dict.fromkeys(row["shape"] for row in rows) if shape != "1000x10"]
    kinds = list(dict.fromkeys(row["type"] for row in rows))

    def draw(figure: Figure, colours: Colours) -> None:
        axis = figure.subplots()
        height = 0.8 / len(kinds)
        for i, kind in enumerate(kinds):
            own = {row["shape"]: float(row["kernel"]) for row in rows if row["type"] == kind}
            places = [at + (i - (len(kinds) - 1) / 2) * height for at in range(len(shapes))]
            values = [own.get(shape, 0) for shape in shapes]
            axis.barh(places, values, height * 0.9, color=colours[i], label=kind)
            for place, value in zip(places, values, strict=True):
                axis.text(value + 0.01, place, f"{value:.2f}", va="center", fontsize=8)
        axis.axvline(1, color=colours[INK], linewidth=1)
        axis.set_yticks(range(len(shapes)), [shape.replace("x", " x ") for shape in shapes])
        axis.invert_yaxis()
        axis.set(xlim=(0, 1.12), xlabel="of the speed of reading the same bytes")
        axis.set_title("Training pass, two classes, one thread")
        figure.legend(loc="outside lower center", ncols=3)

    draw_both(DOCS / "speed_limit.png", (WIDE, 4.2), draw)


def draw_peers() -> None:
    """Draw how many times longer others take to fit."""
    rows = [row for row in _host() if row["section"] == "peers"]
    shape = rows[0]["shape"]
    bars = sorted((float(row["times_ours"]), row["name"]) for row in rows if row["shape"] == shape)

    def draw(figure: Figure, colours: Colours) -> None:
        axis = figure.subplots()
        names = ["SEFR, one pass", *(name for _, name in bars)]
        values = [1.0, *(value for value, _ in bars)]
        axis.barh(names, values, color=[colours[0], *[colours[FAINT]] * len(bars)], height=0.7)
        for at, value in enumerate(values):
            axis.text(value * 1.15, at, f"{value:,.0f}", va="center", fontsize=9)
        axis.invert_yaxis()
        axis.set(xscale="log", xlim=(0.6, max(values) * 8), xlabel="time of a fit, times SEFR's (log scale)")
        axis.set_title(f"{shape.replace('x', ' x ')} float32, one thread")
        axis.tick_params(axis="y", length=0)

    draw_both(DOCS / "speed_peers.png", (WIDE, 0.3 * (len(bars) + 1) + 1.1), draw)


def draw_time_to_loss() -> None:
    """Draw how long each linear model takes to the same loss: a panel per shape, ours in colour."""
    found = linear_results()

    def draw(figure: Figure, colours: Colours) -> None:
        heights = [1 + sum(bool(line["seconds"]) for line in own.values()) for own in found.values()]
        shares = {"height_ratios": heights}
        axes = figure.subplots(len(found), 1, sharex=True, squeeze=False, gridspec_kw=shares)[:, 0]
        for axis, (shape, own) in zip(axes, found.items(), strict=True):
            reached = sorted((float(line["seconds"]), name) for name, line in own.items() if line["seconds"])
            for at, (seconds, name) in enumerate(reached):
                colour = colours[0] if name.startswith("sefr") else colours[FAINT]
                axis.plot(seconds, at, marker="o" if name.startswith("sefr") else "s", color=colour)
                axis.annotate(
                    name, (seconds, at), xytext=(7, 0), textcoords="offset points", va="center", fontsize=8
                )
            axis.set(xscale="log", ylim=(len(reached) - 0.4, -0.6), yticks=[])
            axis.set_title(shape, fontsize=9)
            axis.grid(visible=True, axis="x")
        low, high = axes[-1].get_xlim()
        axes[-1].set_xlim(low, high * 12)  # room for the names
        axes[-1].set_xlabel("CPU seconds to 1.01 of the lowest loss")

    rows = sum(bool(line["seconds"]) for own in found.values() for line in own.values())
    draw_both(DOCS / "time_to_loss.png", (WIDE, 0.17 * rows + 0.5 * len(found) + 0.5), draw)


def draw_history() -> None:
    """Draw the main figures of every version that was measured, oldest first."""
    with (HERE / "host" / "history.csv").open() as file:
        rows = list(csv.DictReader(file))
    rows = [row for row in rows if "times" not in row["figure"]]
    versions = list(dict.fromkeys(row["commit"] for row in rows))
    shares = list(dict.fromkeys(row["figure"] for row in rows))

    def draw(figure: Figure, colours: Colours) -> None:
        axis = figure.subplots()
        for at, name in enumerate(shares):
            own = {row["commit"]: float(row["value"]) for row in rows if row["figure"] == name}
            points = [(place, own[version]) for place, version in enumerate(versions) if version in own]
            axis.plot(*zip(*points, strict=True), marker="os^vDP"[at], color=colours[at], label=name)
        axis.set_xticks(range(len(versions)), versions, rotation=30)
        axis.set(ylim=(0, 1), xlabel="commit", ylabel="share of the limit")
        axis.grid(visible=True)
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2)

    draw_both(DOCS / "speed_history.png", (WIDE, 4.2), draw)


def draw_growth() -> None:
    """Draw how the time of a fit grows with rows, features and classes."""
    rows = [row for row in _host() if row["section"] == "growth"]

    def draw(figure: Figure, colours: Colours) -> None:
        axis = figure.subplots()
        for at, sweep in enumerate(dict.fromkeys(row["sweep"] for row in rows)):
            own = [row for row in rows if row["sweep"] == sweep]
            points = [(float(row["at"]), float(row["fit_ms"])) for row in own]
            axis.loglog(
                *zip(*points, strict=True), marker="os^"[at], color=colours[at], label=f"more {sweep}"
            )
        axis.set(
            xlabel="rows, features or classes", ylabel="fit, ms", title="Time grows in proportion, or less"
        )
        axis.grid(visible=True)
        axis.legend()

    draw_both(DOCS / "speed_growth.png", (WIDE, 3.6), draw)


def draw_tables_time() -> None:
    """Draw mean macro F1 on the twelve tables against the time of a fit."""
    _draw_tables(
        "tables_time", lambda own: tables.typical(tables.column(own, "fit_s")), "CPU seconds of a fit"
    )


def draw_tables_bytes() -> None:
    """Draw mean macro F1 on the twelve tables against the size of the model."""
    _draw_tables("tables_bytes", lambda own: tables.typical(tables.column(own, "bytes")), "bytes of a model")


def _draw_tables(name: str, of: Callable[[dict[str, tables.Line]], float], label: str) -> None:
    points = {
        method: (of(own), float(np.mean(tables.column(own, "f1"))))
        for method, own in tables.complete("accuracy/tables.csv").items()
    }
    ours = {
        "SEFR": ["SEFR, 1 pass", "SEFR, 10 passes", "SEFR, 20 passes"],
        "SEFR, 32 bins": ["SEFR, 32 bins, 1 pass", "SEFR, 32 bins, 10 passes", tables.BINS_20],
        "SEFR, 100 interactions": tables.CROSSED,
    }
    sizes = [points[method][0] for method in ours["SEFR, 32 bins"]]
    steep = sizes[-1] < 3 * sizes[0]  # then there is room to the right of the line
    others = [method for method in points if not method.startswith("SEFR")]

    def draw(figure: Figure, colours: Colours) -> None:
        axis = figure.subplots()
        for at, (title, own) in enumerate(ours.items()):
            line = zip(*(points[method] for method in own), strict=True)
            look = {"marker": "ood"[at], "fillstyle": ("none", "full", "full")[at]}
            axis.plot(*line, **look, color=colours[0], label=title)
            for method in own:
                text = method.split(", ")[-1].removesuffix(" passes")
                place, side = ((7, -11), "left") if bool(at) == steep or at == 2 else ((-7, 4), "right")
                axis.annotate(
                    text, points[method], xytext=place, textcoords="offset points", color=colours[0], ha=side
                )
        for at, method in enumerate(others):
            marker, colour = "sD^vPX*"[at % 7], colours[1 + at % 5]
            axis.plot(*points[method], marker=marker, color=colour, linestyle="", markersize=7, label=method)
        axis.set(xscale="log", xlabel=f"{label} (geometric mean)", ylabel="mean macro F1")
        axis.set_title("Twelve tables")
        axis.grid(visible=True)
        axis.margins(0.18, 0.1)
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2)

    draw_both(DOCS / f"{name}.png", (WIDE, 4.8), draw)


# Method, its file, its name in the picture, and whether it merges and forgets exactly.
EXACT = (
    ("SEFR, 1 pass", "tables.csv", "the paper", True),
    ("second moments, line", "moments.csv", "moments=2", True),
    ("second moments, 32 bins", "moments.csv", "moments=2, bins", True),
    ("second moments, 32 bins, 40 ferns", "moments.csv", "moments=2, interactions", True),
    ("SEFR, 10 passes", "tables.csv", "passes=10", False),
    ("LogisticRegression", "tables.csv", "LogisticRegression", False),
    ("LightGBM", "moments.csv", "LightGBM", False),
)


def draw_exact() -> None:
    """Draw macro F1 on the twelve tables, of what can be merged and of what cannot."""
    bars = []
    for method, file, shown, exact in EXACT:
        with (HERE / "accuracy" / file).open() as opened:
            found = [float(row["f1"]) for row in csv.DictReader(opened) if row["method"] == method]
        bars.append((float(np.mean(found)), shown, exact))
    bars.sort()

    def draw(figure: Figure, colours: Colours) -> None:
        axis = figure.subplots()
        for exact, label in ((True, "merges and forgets exactly"), (False, "does not")):
            own = [(f1, at) for at, (f1, _, kind) in enumerate(bars) if kind is exact]
            style = {"color": colours[0] if exact else colours[FAINT], "marker": "o" if exact else "s"}
            axis.plot(*zip(*own, strict=True), linestyle="", markersize=8, label=label, **style)
            for f1, at in own:
                axis.annotate(f"{f1:.1f}", (f1, at), xytext=(0, 8), textcoords="offset points", ha="center")
        axis.set_yticks(range(len(bars)), [shown for _, shown, _ in bars])
        axis.set(xlim=(64, 90), ylim=(-0.6, len(bars) - 0.2), xlabel="mean macro F1, twelve tables")
        axis.grid(visible=True)
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2)

    draw_both(DOCS / "exact.png", (WIDE, 3.4), draw)


DRAWN = (
    draw_semeion,
    draw_idea,
    draw_frontier,
    draw_reliability,
    draw_streams,
    draw_limit,
    draw_peers,
    draw_time_to_loss,
    draw_history,
    draw_growth,
    draw_tables_time,
    draw_tables_bytes,
    draw_exact,
)


def main() -> None:
    """Draw everything whose results are there."""
    for draw in DRAWN:
        try:
            draw()
        except FileNotFoundError as error:
            print(f"left out: {error.filename} is not there")
        else:
            print(draw.__name__)


if __name__ == "__main__":
    main()
