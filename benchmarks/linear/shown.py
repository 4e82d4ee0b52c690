"""Time to loss as docs/speed.md shows it: of the files that ``make bench-linear`` wrote."""

from __future__ import annotations

import json

from ..tables import HERE, Line, lines, markdown, short

RESULTS = "linear/results.csv"
STANDARDISED = {
    "as_they_are": "logistic regression, features as they are",
    "standardised": "standardised",
    "sefr_neither": "sefr, 1,024 rows sampled at most, rare features like others",
    "sefr_more_rows": "sefr, rare features like others",
    "sefr": "sefr",
}


def results(threads: int = 1) -> dict[str, dict[str, Line]]:
    """Return the results of each shape by their method."""
    found: dict[str, dict[str, Line]] = {}
    for line in lines(RESULTS):
        if line["threads"] == str(threads):
            found.setdefault(line["shape"], {})[line["method"]] = line
    return found


def linear_times() -> str:
    """Return the time to loss of every method and shape with one thread."""
    return _times(results(), "one thread, CPU ms")


def linear_two_threads() -> str:
    """Return the same with two threads, of the methods that reach the loss somewhere."""
    found = results(2)
    reached = {name for own in found.values() for name, line in own.items() if line["seconds"]}
    some = {shape: {name: own[name] for name in own if name in reached} for shape, own in found.items()}
    return _times(some, "two threads, ms on the wall")


def _times(found: dict[str, dict[str, Line]], head: str) -> str:
    methods = dict.fromkeys(method for own in found.values() for method in own)
    rows = [[method, *(_cell(own, method) for own in found.values())] for method in methods]
    return markdown([head, *found], rows)


def _cell(own: dict[str, Line], method: str) -> str:
    line = own.get(method)
    if line is None:
        return ""
    if line["seconds"]:
        least = min(float(other["seconds"]) for other in own.values() if other["seconds"])
        text = short(1e3 * float(line["seconds"]))
        return f"**{text}**" if float(line["seconds"]) == least else text
    if not line["lowest_loss"]:
        return f"not run: {line['what']}"
    # how its lowest loss compares with the lowest of all, of which 1.01 is to be reached
    return f"not reached ({1.01 * float(line['lowest_loss']) / float(line['loss_to_reach']):.3f})"


def linear_standardised() -> str:
    """Return the least loss of a penalty on sparse features as they are and standardised."""
    rows = [
        [own["table"].replace("_", "-"), *(own[key] for key in STANDARDISED)]
        for own in lines("linear/standardised.csv")
    ]
    return markdown(["held-out log loss", *STANDARDISED.values()], rows)


def linear_source() -> str:
    """Return where and with which versions it was measured, and what could not be installed."""
    runs = json.loads((HERE / "linear" / "run.json").read_text())
    run = runs[0]
    commits = ", ".join(dict.fromkeys(own["commit"] for own in runs))
    versions = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
    load = max(own["load before"] for own in runs)
    beside = f", beside other work (up to {load:g} processes)" if load >= 1 else ""
    missing = "; ".join(f"{name}: {why}" for name, why in run["not installed"].items()) or "nothing"
    return (
        f"Measured on: {run['machine']}{beside}; commits {commits}; Python {run['python']}. "
        f"Versions: {versions}; {run['flags']}. Not installed: {missing}."
    )


SHOWN = (linear_times, linear_two_threads, linear_standardised, linear_source)
