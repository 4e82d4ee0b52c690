"""The figures of bins as the documents show them, of the files that the benchmarks wrote."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
BINS_20, LIGHTGBM = "SEFR, 32 bins, 20 passes", "LightGBM"
CROSSED = [f"SEFR, 32 bins, 100 interactions, {passes}" for passes in ("1 pass", "20 passes")]
Line = dict[str, str]


@cache
def lines(path: str) -> list[Line]:
    """Return the rows of a file of results."""
    with (HERE / path).open() as file:
        return list(csv.DictReader(file))


def write_lines(path: Path, rows: list[Line]) -> None:
    """Write a file of results."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def by_method(path: str) -> dict[str, dict[str, Line]]:
    """Return the rows of each method by their table."""
    found: dict[str, dict[str, Line]] = {}
    for line in lines(path):
        found.setdefault(line["method"], {})[line["table"]] = line
    return found


def complete(path: str) -> dict[str, dict[str, Line]]:
    """Return the methods that were measured on every table."""
    found = by_method(path)
    most = max(map(len, found.values()))
    return {method: own for method, own in found.items() if len(own) == most}


def column(own: dict[str, Line], what: str) -> list[float]:
    """Return one figure of every table."""
    return [float(line[what]) for line in own.values()]


def typical(values: list[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(np.maximum(values, 1e-5)))))


def short(figure: str | float) -> str:
    """Return a figure in three digits, or as a whole number."""
    value = float(figure)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Return a table."""
    table = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(table + ["| " + " | ".join(row) + " |" for row in rows])


def _row(method: str, own: dict[str, Line]) -> list[str]:
    loss = [line["log_loss"] for line in own.values()]
    return [
        method,
        *(f"{np.mean(column(own, what)):.1f}" for what in ("f1", "accuracy")),
        f"{np.mean([float(each) for each in loss]):.3f}" if all(loss) else "",
        short(1e3 * typical(column(own, "fit_s"))),
        f"{1e3 * typical(column(own, 'predict_s')):.2g}",
        f"{typical(column(own, 'bytes')) / 1000:.0f}",
    ]


OVER = {
    "one_pass": "LightGBM's time of a fit over bins, 1 pass",
    "single_one_pass": "over one such fit just after LightGBM's",
    "twenty_passes": "over bins, 20 passes",
    "interactions": "over interactions, 20 passes",
}
HEAD = ["", "macro F1", "accuracy", "log loss", "fit, CPU ms", "predict, CPU ms", "model, KB"]


def tables() -> str:
    """Every method on all twelve tables."""
    return markdown(HEAD, [_row(method, own) for method, own in complete("accuracy/tables.csv").items()])


def tables_small() -> str:
    """Every method on the tables that all of them were measured on."""
    found = by_method("accuracy/tables.csv")
    common = [name for name in next(iter(found.values())) if all(name in own for own in found.values())]
    rows = [_row(method, {name: own[name] for name in common}) for method, own in found.items()]
    given_up = [
        f"{line['method']} on {line['table']} was given up after {line['given_s']} CPU seconds of a fold"
        for line in lines("accuracy/tables_too_slow.csv")
    ]
    return f"Only {', '.join(common)}:\n\n{markdown(HEAD, rows)}\n\n{'; '.join(given_up)}."


def tables_each() -> str:
    """Each table: macro F1, and how many times longer LightGBM takes to fit."""
    found = by_method("accuracy/tables.csv")
    times = {line["table"]: line for line in lines("accuracy/times.csv")}
    shown = {"1 pass": "SEFR, 1 pass", "bins, 1 pass": "SEFR, 32 bins, 1 pass"}
    shown |= {"20 passes": "SEFR, 20 passes", "bins, 20 passes": BINS_20}
    shown |= {"interactions, 20 passes": CROSSED[-1], "LightGBM": LIGHTGBM}
    rows = []
    for name, line in found[LIGHTGBM].items():
        size = f"{name}, {int(line['rows']):,} x {line['features']}, {line['classes']} classes"
        scores = [f"{float(found[method][name]['f1']):.1f}" for method in shown.values()]
        slower = [short(times[name][f"lightgbm_over_{key}"]) for key in OVER]
        rows.append([size, *scores, *slower])
    return markdown(["macro F1", *shown, *OVER.values()], rows)


def times_source() -> str:
    """Where the times of each table were measured."""
    return f"Times: {_source('accuracy/times.csv')}"


def tables_source() -> str:
    """Where the tables were measured."""
    return _source("accuracy/tables.csv")


def _source(path: str) -> str:
    machines = ", ".join(dict.fromkeys(line["machine"] for line in lines(path)))
    commits = ", ".join(dict.fromkeys(line["commit"] for line in lines(path)))
    return f"{machines}, one thread; commit {commits}."


def bins_scale() -> str:
    """Bins at scale."""
    head = ["1,000,000 x 40 float32, two classes, 32 bins", "ratio", "measured", "processor"]
    rows = [
        [
            line["what"],
            line["ratio"],
            f"{short(line['above'])} / {short(line['below'])} {line['unit']}",
            line["processor"],
        ]
        for line in lines("host/cells.csv")
    ]
    return markdown(head, rows)


def bins_scale_source() -> str:
    """Where bins at scale were measured."""
    return _source("host/cells.csv")


def interactions() -> str:
    """Show interactions beside bins and LightGBM, on the tables that all have."""
    measured = by_method("accuracy/tables.csv")
    found = {name: measured[name] for name in (BINS_20, *CROSSED, LIGHTGBM)}
    common = [name for name in found[LIGHTGBM] if all(name in own for own in found.values())]
    rows = []
    for method, all_own in found.items():
        own = {name: all_own[name] for name in common}
        above = np.mean(column(own, "f1")) - np.mean([float(found[BINS_20][name]["f1"]) for name in common])
        total = sum(column(own, "fit_s")) / sum(float(found[LIGHTGBM][name]["fit_s"]) for name in common)
        each = [float(own[name]["fit_s"]) / float(found[LIGHTGBM][name]["fit_s"]) for name in common]
        cells = _row(method, own)
        rows.append(
            [method, cells[1], f"{above:+.1f}", cells[3], f"{total:.2g}", f"{typical(each):.2g}", cells[6]]
        )
    head = ["", "macro F1", "above bins", "log loss"]
    times = ["CPU time of all fits, LightGBM = 1", "of a typical table", "model, KB"]
    return f"On {len(common)} tables:\n\n" + markdown([*head, *times], rows)


def others() -> str:
    """Show interactions on other tables than the twelve, beside bins and LightGBM."""
    found = by_method("accuracy/others.csv")
    theirs = found[LIGHTGBM]
    rows = []
    for method, own in found.items():
        total = sum(column(own, "fit_s")) / sum(column(theirs, "fit_s"))
        ahead = sum(float(own[name]["f1"]) >= float(theirs[name]["f1"]) for name in theirs)
        cells = _row(method, own)
        rows.append([method, *cells[1:4], "" if method == LIGHTGBM else str(ahead), f"{total:.2g}"])
    head = ["", "macro F1", "accuracy", "log loss"]
    beside = ["tables with LightGBM's macro F1 or better", "CPU time of all fits, LightGBM = 1"]
    return f"On {len(theirs)} other tables:\n\n" + markdown([*head, *beside], rows)


def others_source() -> str:
    """Where other tables were measured."""
    return _source("accuracy/others.csv")


def penalty() -> str:
    """Show penalties that are chosen beside fixed ones: means over the tables."""
    kinds: dict[str, list[Line]] = {}
    for row in lines("accuracy/penalty.csv"):
        kinds.setdefault(row["kind"], []).append(row)
    shown = {
        **{f"variance_{each}": f"fixed, variance {each}" for each in ("1", "10", "100", "1000")},
        "held_out": "chosen on held-out rows",
        "leave_one_out": "chosen by leave-one-out",
        "hindsight": "best in hindsight",
        "left_over": "10, weaker with passes left over",
    }
    rows = [
        [
            f"{kind}, {len(own)} tables",
            *(f"{np.mean([float(row[what]) for row in own]):.1f}" for what in shown),
        ]
        for kind, own in kinds.items()
    ]
    return markdown(["macro F1", *shown.values()], rows)


def penalty_source() -> str:
    """Where penalties were measured."""
    return _source("accuracy/penalty.csv")


def line_beside() -> str:
    """Show a line beside the bins of interactions: means over the tables."""
    rows = lines("accuracy/line_beside.csv")
    names = {"without": "interactions, as they are", "with": "with a line beside the bins"}
    shown = []
    for which, name in names.items():
        f1, loss = ([float(row[f"{what}_{which}"]) for row in rows] for what in ("f1", "log_loss"))
        shown.append([name, f"{np.mean(f1):.1f}", f"{np.mean(loss):.3f}"])
    gains = {row["table"]: float(row["f1_with"]) - float(row["f1_without"]) for row in rows}
    best, worst = max(gains, key=lambda name: gains[name]), min(gains, key=lambda name: gains[name])
    text = (
        f"With the line macro F1 is higher on {sum(gain > 0 for gain in gains.values())} of {len(rows)} "
        f"tables; the largest changes are {gains[best]:+.1f} ({best}) and {gains[worst]:+.1f} ({worst})."
    )
    return markdown(["", "macro F1", "log loss"], shown) + "\n\n" + text


def line_beside_source() -> str:
    """Where the line beside the bins was measured."""
    return _source("accuracy/line_beside.csv")


SHOWN = (
    tables,
    tables_small,
    tables_each,
    tables_source,
    times_source,
    bins_scale,
    bins_scale_source,
    interactions,
    others,
    others_source,
    penalty,
    penalty_source,
    line_beside,
    line_beside_source,
)
