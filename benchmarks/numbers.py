"""Write the figures of the documents from the files that the benchmarks wrote: ``make numbers``.

A table in a document stands between ``<!-- numbers: NAME -->`` and ``<!-- end of numbers -->``. Nobody types
it: this program does, and a test compares.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from . import scale_tables, tables
from .accuracy.sets import PAPER, SCIKIT_LEARN
from .capabilities import engine_capabilities
from .host import shown as speed
from .linear import shown as linear
from .signals import shown as signals

HERE = Path(__file__).parent
ROOT = HERE.parent
BLOCK = re.compile(r"(<!-- numbers: ([a-z_]+) -->\n).*?(<!-- end of numbers -->)", re.DOTALL)


def documents() -> list[Path]:
    """Return every document that may hold figures."""
    return [ROOT / "README.md", ROOT / "joss" / "paper.md", *sorted((ROOT / "docs").rglob("*.md"))]


def filled(text: str) -> str:
    """Return a document with every table as the results have it."""
    return BLOCK.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)


@cache
def _json(path: str) -> Any:
    return json.loads((HERE / path).read_text())


@cache
def _csv(path: str) -> list[dict[str, str]]:
    with (HERE / path).open() as file:
        return list(csv.DictReader(file))


def _means(method: str) -> list[str]:
    """Return macro F1 of both groups of sets, and the geometric mean of the times of a fit over all nine."""
    sets = _json("accuracy/results.json")["methods"][method]["sets"]
    cells = [f"{np.mean([sets[name]['f1'] for name in group]):.1f}" for group in (PAPER, SCIKIT_LEARN)]
    times = [1000 * max(sets[name]["seconds"], 1e-4) for name in (*PAPER, *SCIKIT_LEARN)]
    return [*cells, f"{np.exp(np.mean(np.log(times))):.3g}"]


METHODS = {
    "SEFR passes=1": "`SEFRClassifier()`, one pass",
    "SEFR passes=10": "`SEFRClassifier(passes=10)`",
    "LogisticRegression": "LogisticRegression, features in [0, 1]",
    "LogisticRegression, standardised": "LogisticRegression, features standardised",
    "LinearSVC": "LinearSVC",
    "GaussianNB": "GaussianNB",
    "LightGBM": "LightGBM",
}


def instead() -> str:
    """SEFR beside what one would use instead."""
    head = ["", "macro F1, five sets of the paper", "macro F1, four of scikit-learn", "fit, CPU ms"]
    return tables.markdown(head, [[title, *_means(name)] for name, title in METHODS.items()])


def passes() -> str:
    """Every number of passes beside other linear methods."""
    found = _json("accuracy/results.json")["methods"]
    names = [name for name in found if len(found[name]["sets"]) == len(PAPER) + len(SCIKIT_LEARN)]
    rows = [[name.removeprefix("SEFR "), *_means(name)] for name in names]
    return tables.markdown(["", "five sets of the paper", "scikit-learn's four", "fit, CPU ms"], rows)


def accuracy_source() -> str:
    """Where the accuracy was measured."""
    results = _json("accuracy/results.json")
    commits = ", ".join(dict.fromkeys(entry["commit"] for entry in results["methods"].values()))
    return f"{results['machine']}, one thread; commit {commits}."


def kinds() -> str:
    """Macro F1 of the settings on one or two sets per kind of data, the best of each in bold."""
    found = _json("accuracy/kinds.json")["kinds"]
    names = [name for name in found[0] if name not in ("kind", "set", "rows", "features")]
    rows = []
    for line in found:
        best = max(line[name] for name in names if name in line)
        cells = [f"{line[name]:.1f}" if name in line else "" for name in names]
        bold = [f"**{cell}**" if cell and float(cell) == round(best, 1) else cell for cell in cells]
        rows.append([line["kind"], f"{line['set']}, {line['rows']:,} x {line['features']:,}", *bold])
    return tables.markdown(["kind of data", "set", *names], rows)


def kinds_source() -> str:
    """Where the kinds were measured."""
    results = _json("accuracy/kinds.json")
    return f"{results['machine']}; commit {results['commit']}."


def imbalanced() -> str:
    """How honest the probabilities are on imbalanced sets."""
    rows = _csv("accuracy/imbalanced.csv")
    table = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        brier, loss = (np.array([float(row[name]) for row in own]) for name in ("brier", "log_loss"))
        error = np.mean([float(row["calibration_error"]) for row in own])
        worse = [str(int((values > 1).sum())) for values in (brier, loss)]
        table.append([f"{method}, {len(own)} sets", *worse, f"{brier.mean():.3f}", f"{error:.3f}"])
    head = ["", "sets worse than the base rates by Brier score", "by log loss"]
    return tables.markdown([*head, "mean Brier score (base rates: 1)", "mean calibration error"], table)


def regression() -> str:
    """R2 of every table of numbers, the mean, coverage of intervals and the time of a fit."""
    rows = _csv("accuracy/regression.csv")
    names = list(dict.fromkeys(row["table"] for row in rows))
    table = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = {row["table"]: row for row in rows if row["method"] == method}
        r2 = {name: float(own[name]["r2"]) for name in names if name in own}
        covered = [float(row["coverage"]) for row in own.values() if row["coverage"]]
        shares = f"{min(covered):.2f} to {max(covered):.2f}" if covered else ""
        times = [1000 * float(row["fit_s"]) for row in own.values()]
        cells = [f"{r2[name]:.3f}" if name in r2 else "" for name in names]
        typical = float(np.exp(np.mean(np.log(times))))
        shown = f"{typical:.3g}" if typical < 1000 else f"{typical:,.0f}"
        whole = len(own) == len(names)  # else a mean would be of other tables
        mean = f"**{np.mean(list(r2.values())):.3f}**" if whole else ""
        table.append([_in_words(method), *cells, mean, shares, shown if whole else ""])
    return tables.markdown(["", *names, "mean", "within 90 % intervals", "fit, CPU ms"], table)


def coverage() -> str:
    """Coverage of intervals of each share: the least and the most of all tables."""
    rows = _csv("accuracy/coverage.csv")
    shares = [name for name in rows[0] if name.startswith("within_")]
    table = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [[float(row[share]) for row in rows if row["method"] == method] for share in shares]
        table.append([method, *(f"{min(part):.2f} to {max(part):.2f}" for part in own)])
    return tables.markdown(["", *(f"{share.removeprefix('within_')} %" for share in shares)], table)


def regression_large() -> str:
    """R2 of a million rows, and the time of a fit."""
    rows = _csv("accuracy/regression_large.csv")
    table = [[_in_words(row["method"]), row["r2"], row["fit_s"]] for row in rows]
    return tables.markdown(["", "R2", "fit, CPU s"], table)


def _in_words(method: str) -> str:
    """Return the name of a method with the word that users read."""
    return method.replace("ferns", "interactions")


def regression_source() -> str:
    """Where the tables of numbers were measured."""
    row = _csv("accuracy/regression.csv")[0]
    return f"{row['machine']}, one thread; commit {row['commit']}."


SECOND_MOMENTS = {
    "second moments, line": "`moments=2`",
    "second moments, 32 bins": "`moments=2, bins=32`",
    "second moments, 16 bins, 40 ferns": "`moments=2, bins=16, interactions=40`",
    "second moments, 32 bins, 40 ferns": "`moments=2, bins=32, interactions=40`",
    "LightGBM": "LightGBM",
}


def moments() -> str:
    """Second moments on the twelve tables, beside first ones, passes and LightGBM."""
    found = _csv("accuracy/moments.csv")
    lightgbm = {row["table"]: float(row["fit_s"]) for row in found if row["method"] == "LightGBM"}
    lines = []
    for method, shown in SECOND_MOMENTS.items():
        own = [row for row in found if row["method"] == method]
        losses = [float(row["log_loss"]) for row in own if row["log_loss"]]
        times = np.array([float(row["fit_s"]) for row in own])
        ratios = times / [lightgbm[row["table"]] for row in own]
        both = (times.sum() / sum(lightgbm.values()), np.exp(np.mean(np.log(ratios))))
        lines.append(
            [
                shown,
                f"{np.mean([float(row['f1']) for row in own]):.1f}",
                f"{np.mean(losses):.3f}" if len(losses) == len(own) else "",
                *(["1", "1"] if method == "LightGBM" else [f"{ratio:.2g}" for ratio in both]),
                "no" if method == "LightGBM" else "yes",
            ]
        )
    head = [
        "",
        "macro F1",
        "log loss",
        "CPU time of the twelve fits together, LightGBM = 1",
        "of a fit, geometric mean",
        "merges and forgets exactly",
    ]
    return tables.markdown(head, lines)


def moments_passes() -> str:
    """Return passes that start at the solution of second moments, beside passes that start as usual."""
    rows = _csv("accuracy/moments_passes.csv")
    table = []
    for bins, passes in dict.fromkeys((row["bins"], row["passes"]) for row in rows):
        cells = []
        for start in ("usual", "second moments"):
            own = [row for row in rows if (row["bins"], row["passes"], row["start"]) == (bins, passes, start)]
            time = sum(float(row["fit_s"]) for row in own)
            cells += [f"{np.mean([float(row['f1']) for row in own]):.1f}", f"{time:.2f}"]
        table.append([f"bins={bins}" if bins else "line", passes, *cells])
    head = ["", "passes", "macro F1, usual start", "CPU s of twelve fits"]
    return tables.markdown([*head, "macro F1, from second moments", "CPU s of twelve fits"], table)


# Title, file, method, whether it merges and forgets exactly: the choices of README.
CHOICES = (
    ("`SEFRClassifier()`, the paper", "tables", "SEFR, 1 pass", "yes"),
    ("`moments=2`, exact", "moments", "second moments, line", "yes"),
    ("`moments=2, bins=32`, exact", "moments", "second moments, 32 bins", "yes"),
    ("`moments=2, bins=32, interactions=40`, exact", "moments", "second moments, 32 bins, 40 ferns", "yes"),
    ("`auto=True`", "auto", "", "no"),
    ("LogisticRegression with StandardScaler", "tables", "LogisticRegression", "no"),
    ("LightGBM", "tables", "LightGBM", "no"),
)


def choices() -> str:
    """Return what a user chooses among, beside what one would use instead, on the twelve tables."""
    lines = []
    for title, file, method, exact in CHOICES:
        if file == "auto":
            own = _csv("accuracy/auto.csv")
            ratios = [float(row["auto_over_lightgbm"]) for row in own]
        else:
            found = _csv(f"accuracy/{file}.csv")
            own = [row for row in found if row["method"] == method]
            lightgbm = {row["table"]: float(row["fit_s"]) for row in found if row["method"] == "LightGBM"}
            ratios = [float(row["fit_s"]) / lightgbm[row["table"]] for row in own]
        f1, loss = (np.mean([float(row[name]) for row in own]) for name in ("f1", "log_loss"))
        time = float(np.exp(np.mean(np.log(ratios))))
        lines.append(
            [title, f"{f1:.1f}", f"{loss:.3f}", "1" if method == "LightGBM" else f"{time:.2g}", exact]
        )
    time_of = "CPU time of a fit, LightGBM = 1 (geometric mean)"
    head = ["", "macro F1", "log loss", time_of, "merges and forgets exactly"]
    return tables.markdown(head, lines)


def moments_source() -> str:
    """Where and from what the table of second moments was measured."""
    own = [row for row in _csv("accuracy/moments.csv") if row["method"] in SECOND_MOMENTS]
    return f"{own[0]['machine']}; commit {', '.join(sorted({row['commit'] for row in own}))}."


def streams() -> str:
    """Accuracy and rate on streams that drift."""
    found = _json("streams/results.json")["streams"]
    head = ["", *(f"{name}: accuracy | rows per CPU second" for name in found)]
    rows = []
    for model in next(iter(found.values())):
        cells = [
            f"{result[model]['accuracy']:.3f} | {result[model]['rows_per_cpu_second']:,}"
            for result in found.values()
        ]
        rows.append([model, *cells])
    lines = tables.markdown(head, rows).splitlines()
    lines[1] = "|---" * (1 + 2 * len(found)) + "|"
    return "\n".join(lines)


def stream_batches() -> str:
    """Small batches beside single rows."""
    found = _json("streams/results.json")["small_batches"]
    return (
        f"`learn_many` of {found['rows']} rows, given as a frame, takes "
        f"{found['learn_many_over_learn_one']:.2f} of the CPU time of `learn_one` of each of them."
    )


def stream_correct() -> str:
    """Error-driven steps beside logistic regression."""
    streams = _json("streams/results.json")["streams"].values()
    pairs = [(stream["SEFR, correct"], stream["LogisticRegression"]) for stream in streams]
    gains = [100 * (ours["accuracy"] - peer["accuracy"]) for ours, peer in pairs]
    ratios = [ours["rows_per_cpu_second"] / peer["rows_per_cpu_second"] for ours, peer in pairs]
    return (
        f"Against river's logistic regression its accuracy differs by {min(gains):+.1f} to {max(gains):+.1f} "
        f"points on these streams, and it learns {min(ratios):.1f} to {max(ratios):.1f} times as many rows "
        "per CPU second."
    )


def private() -> str:
    """Accuracy against epsilon, beside diffprivlib."""
    found = _csv("accuracy/private.csv")
    epsilons = list(dict.fromkeys(row["epsilon"] for row in found))
    head = ["set", "method", *(f"{float(e):g}" if e != "inf" else "no noise" for e in epsilons)]
    rows = []
    for name in dict.fromkeys(row["set"] for row in found):
        own = [row for row in found if row["set"] == name]
        what = f"{name}, {int(own[0]['rows']):,} × {own[0]['features']}, {own[0]['classes']} classes"
        methods = dict.fromkeys(row["method"] for row in own)
        rows += [[what, m, *(row["accuracy"] for row in own if row["method"] == m)] for m in methods]
    return tables.markdown(head, rows)


def stream_memory() -> str:
    """Memory of a long stream."""
    found = _json("streams/memory.json")
    first, last = found[0], found[-1]
    return (
        f"After {first['rows']:,} rows the process takes {first['rss_kb'] / 1000:.0f} MB, after "
        f"{last['rows']:,} rows {last['rss_kb'] / 1000:.0f} MB; the state is {last['state_bytes']:,} bytes."
    )


def uno() -> str:
    """Train and classify on a simulated Uno, with the authors' sample of 100 x 100, and the paper's times."""
    text = (HERE / "device" / "tables.md").read_text()
    cells = []
    for part, what, records in (
        ("## Table 4", "train on 100 records of 100 features", 1),
        ("## Table 5", "classify one record of 100 features", 100),
    ):
        section = text.partition(part)[2].partition("\n## ")[0]
        rows = [
            line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| 100 | 100")
        ]
        _, _, how, cycles, milliseconds, published, *_ = min(rows, key=lambda row: int(row[3]))
        ours, theirs = (f"{float(number) / records:.3g}" for number in (milliseconds, published))
        cells.append([f"{what} ({how})", f"{int(cycles):,}", ours, theirs])
    return tables.markdown(["simulated Arduino Uno, 16 MHz", "cycles", "ms", "the paper, ms"], cells)


def torture() -> str:
    """Return what the last long run of ``make torture`` tried and found."""
    run = _json("../tests/torture/results.json")
    parts = run["parts"]
    verbs, fuzz, files = parts["verbs"], parts["fuzz"], parts["damaged"]
    faults, crowd, races = parts["faults"], parts["crowd"], parts["races"]
    rows = [
        [
            "sequences of verbs against the oracle",
            f"{verbs['sequences']:,}; {verbs['compared']:,} comparisons",
            verbs,
        ],
        ["inputs of the coverage-guided fuzzer", f"{fuzz['inputs']:,}, {len(fuzz['targets'])} targets", fuzz],
        ["mutated files in a child with limits", f"{files['files']:,}", files],
        [
            "faults at system calls",
            f"{faults['tried']:,}, at {faults['calls_hit']:,} of the {sum(faults['calls'].values()):,} calls "
            f"that {len(faults['calls'])} commands make",
            faults,
        ],
        [
            "processes on one model",
            f"{crowd['commands']:,} commands, {crowd['kills']:,} kills, {crowd['rows_lost']:.0f} rows lost",
            crowd,
        ],
        [
            "rounds of the kernels under sanitizers",
            f"{races['storm']['rounds']:,} with {races['storm']['changes']:,} changes from outside, "
            f"{races['races']['rounds']:,} for races",
            races,
        ],
    ]
    table = tables.markdown(
        ["what was tried", "how often", "faults found", "seconds"],
        [[name, count, str(part["failures"]), f"{part['seconds']:,}"] for name, count, part in rows],
    )
    where = f"Python {run['python']}, {run['system']}"
    return f"{table}\n\n{run['date']}, {run['minutes']} minutes, seed {run['seed']}, {where}."


def auto() -> str:
    """Return ``auto=True`` on the twelve tables, beside single settings and LightGBM."""
    rows = _csv("accuracy/auto.csv")

    def mean(column: str, digits: int) -> str:
        return f"{np.mean([float(row[column]) for row in rows]):.{digits}f}"

    ratios = [float(row["auto_over_lightgbm"]) for row in rows]
    time = f"{np.exp(np.mean(np.log(ratios))):.2f}"
    names = {
        "": "`auto=True`",
        "line_": "`passes=20`",
        "bins_": "`bins=32, passes=20`",
        "ferns_": "`bins=32, interactions=100, passes=20`",
        "lightgbm_": "LightGBM",
    }
    lines = [[title, mean(f"{short}f1", 1), mean(f"{short}log_loss", 3)] for short, title in names.items()]
    table = tables.markdown([f"means of {len(rows)} tables", "macro F1", "log loss"], lines)
    regrets = [float(row["regret"]) for row in rows]
    behind = f"{np.mean(np.maximum(regrets, 0)):.2f}"
    worst = max(rows, key=lambda row: float(row["regret"]))
    return (
        f"{table}\n\nA fit takes {time} of the CPU time of LightGBM's (geometric mean, one thread). "
        "Against the single setting that is the best on each table in hindsight, macro F1 is "
        f"{behind} points behind on average (0 where it is ahead), and {worst['regret']} at most "
        f"({worst['table']})."
    )


def auto_large() -> str:
    """Return ``auto=True`` on many drawn rows, beside LightGBM."""
    head = [
        "rows",
        "features",
        "classes",
        "macro F1",
        "LightGBM",
        "log loss",
        "LightGBM",
        "CPU s",
        "LightGBM",
        "time",
    ]
    columns = ["rows", "features", "classes", "auto_f1", "lightgbm_f1", "auto_log_loss", "lightgbm_log_loss"]
    columns += ["auto_s", "lightgbm_s", "auto_over_lightgbm"]
    lines = [[row[name] for name in columns] for row in _csv("accuracy/auto_large.csv")]
    return tables.markdown(head, [[f"{int(line[0]):,}", *line[1:]] for line in lines])


def temperatures() -> str:
    """Return the log loss of each setting beside that with one temperature from held-out rows."""
    rows = _csv("accuracy/probabilities.csv")
    head = [
        "mean log loss",
        "two classes",
        "with a temperature",
        "more classes",
        "with a temperature",
        "worse tables",
    ]
    lines = []
    for setting in dict.fromkeys(row["setting"] for row in rows):
        own = [row for row in rows if row["setting"] == setting]
        cells = []
        for several in (False, True):
            some = [row for row in own if (int(row["classes"]) > 2) == several]
            cells += [
                f"{np.mean([float(row[name]) for row in some]):.3f}"
                for name in ("log_loss", "with_temperature")
            ]
        worse = sum(float(row["log_loss"]) > float(row["with_temperature"]) + 0.005 for row in own)
        lines.append([setting, *cells, f"{worse} of {len(own)}"])
    return tables.markdown(head, lines)


def auto_tables() -> str:
    """Return what ``auto=True`` chose on each table, and what it costs."""
    head = ["table", "macro F1", "LightGBM", "log loss", "LightGBM", "line", "bins", "interactions", "time"]
    columns = ["table", "f1", "lightgbm_f1", "log_loss", "lightgbm_log_loss"]
    columns += ["weight_line", "weight_bins", "weight_ferns", "auto_over_lightgbm"]
    return tables.markdown(head, [[row[name] for name in columns] for row in _csv("accuracy/auto.csv")])


TABLES: dict[str, Callable[[], str]] = {
    table.__name__: table
    for table in (
        instead,
        choices,
        passes,
        accuracy_source,
        kinds,
        kinds_source,
        imbalanced,
        regression,
        coverage,
        regression_large,
        regression_source,
        moments,
        moments_passes,
        moments_source,
        auto,
        auto_tables,
        auto_large,
        temperatures,
        *scale_tables.SHOWN,
        engine_capabilities,
        private,
        streams,
        stream_batches,
        stream_correct,
        stream_memory,
        uno,
        *tables.SHOWN,
        *speed.SHOWN,
        *linear.SHOWN,
        *signals.SHOWN,
        torture,
    )
}


def main() -> None:
    """Fill in every document."""
    for path in documents():
        if path.exists():
            before = path.read_text()
            after = filled(before)
            if after != before:
                path.write_text(after)
                print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
