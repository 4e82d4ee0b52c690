"""The figures of speed as docs/speed.md shows them: of results.csv, which ``make bench`` writes."""

from __future__ import annotations

from ..machine import AVX2
from ..tables import Line, lines, markdown, short

RESULTS = "host/results.csv"


def _of(section: str, *, avx2: bool = False) -> list[Line]:
    return [
        line for line in lines(RESULTS) if line["section"] == section and (line["processor"] == AVX2) == avx2
    ]


def _spelled(shape: str) -> str:
    rows, features = shape.split("x")
    return f"{int(rows):,} x {int(features):,}"


def speed_shapes() -> str:
    """Return the shares of the speed of reading, by shape, type, classes and threads."""
    where = dict.fromkeys(line["machine"] for line in lines(RESULTS))
    commits = dict.fromkeys(line["commit"] for line in lines(RESULTS))
    return f"{_shapes(avx2=False)}\n\nMeasured on: {', '.join(where)}; commits {', '.join(commits)}."


def speed_without_wide_vectors() -> str:
    """Return the same of the kernels built for AVX2 alone."""
    return _shapes(avx2=True)


def _shapes(*, avx2: bool) -> str:
    by_case = {(r["shape"], r["type"], r["classes"], r["threads"]): r for r in _of("shapes", avx2=avx2)}
    threads_too = any(threads == "2" for _, _, _, threads in by_case)

    def figure(shape: str, kind: str, classes: int, threads: int, what: str) -> str:
        found = by_case.get((shape, kind, str(classes), str(threads)))
        return f"{float(found[what]):.2f}" if found else ""

    rows = []
    for shape, kind in dict.fromkeys((shape, kind) for shape, kind, _, _ in by_case):
        if shape == "1000x10":
            continue
        figures = [
            *(figure(shape, kind, classes, 1, "kernel") for classes in (2, 10, 100)),
            *(figure(shape, kind, classes, 2, "kernel") for classes in (2, 10) if threads_too),
            figure(shape, kind, 2, 1, "fit_over_kernel"),
            figure(shape, kind, 2, 1, "predict"),
        ]
        rows.append([_spelled(shape), kind, *figures])
    head = ["rows x features", "type", "kernel, 2 classes", "10", "100"]
    head += ["two threads, 2", "10"] * threads_too
    return markdown([*head, "fit / kernel", "predict, 2 classes"], rows)


def speed_beside() -> str:
    """Return the times of small calls beside those of scikit-learn's estimators."""
    found = [r for r in _of("small") if r["case"] != "start"]
    names = list(dict.fromkeys(r["name"] for r in found))
    by_case: dict[str, Line] = {}
    for r in found:
        by_case.setdefault(r["case"], {})[r["name"]] = short(r["us"])
    rows = [[case, *(own.get(name, "") for name in names)] for case, own in by_case.items()]
    return markdown(["CPU us", *names], rows)


def speed_start() -> str:
    """Return the CPU time of processes that do next to nothing."""
    rows = [[f"`{r['name']}`", f"{float(r['us']) / 1e6:.2f}"] for r in _of("small") if r["case"] == "start"]
    return markdown(["", "CPU s"], rows)


KERNELS = {
    "rows": "training pass, rows",
    "columns": "training pass, columns",
    "cells": "training pass, 32 bins",
    "scores": "scores",
}
TYPES = {"f4": "float32", "u1": "uint8"}


def speed_instructions() -> str:
    """Return the instructions per value of the main kernels, by kind of processor."""
    found = lines("host/instructions.csv")
    processors = list(dict.fromkeys(r["processor"] for r in found))
    cases: dict[tuple[str, ...], Line] = {}
    for r in found:
        features = f"{int(r['columns']):,}"
        groups = r["groups"] if r["kernel"] != "scores" else "2"
        case = (KERNELS[r["kernel"]], TYPES[r["type"]], features, groups)
        cases.setdefault(case, {})[r["processor"]] = r["instructions_per_value"]
    rows = [[*case, *(own.get(name, "") for name in processors)] for case, own in cases.items()]
    return markdown(["instructions per value", "type", "features", "classes", *processors], rows)


def speed_columns() -> str:
    """Return the shares of the speed of reading for columns."""
    alone = {(r["type"], r["classes"]): f"{float(r['fit']):.2f}" for r in _of("columns", avx2=True)}
    rows = [
        [r["type"], r["classes"], f"{float(r['fit']):.2f}", alone.get((r["type"], r["classes"]), "")]
        for r in _of("columns")
    ]
    return markdown(["1,000,000 x 40 by columns", "classes", "fit", "with AVX2 alone"], rows)


def speed_threads() -> str:
    """Return how many times faster all processors are than one."""
    found = _of("threads")
    names = dict.fromkeys(r["name"] for r in found)
    by_case = {(r["case"], r["name"]): f"{float(r['one_over_all']):.2f}" for r in found}
    rows = [
        [case, *(by_case[case, name] for name in names)] for case in dict.fromkeys(r["case"] for r in found)
    ]
    return markdown(["one thread's time over that of all processors", *names], rows)


def speed_folds() -> str:
    """Return what ten folds cost."""
    rows = [
        [_spelled(r["shape"]), short(r["over_fit_and_predict"]), short(r["times_faster_than_sklearn"])]
        for r in _of("folds")
    ]
    return markdown(
        ["ten folds", "times one fit and one predict", "times faster than `cross_val_score`"], rows
    )


def speed_peers() -> str:
    """Return how many times longer others take to fit."""
    peers = _of("peers")
    shapes = list(dict.fromkeys(r["shape"] for r in peers))

    def figure(name: str, shape: str) -> str:
        r = next(r for r in peers if (r["name"], r["shape"]) == (name, shape))
        times = f"{float(r['times_ours']):,.0f}"
        whole = r["rows_measured"] == r["rows"]
        return times if whole else f"> {times} (on {int(r['rows_measured']):,} rows)"

    names = dict.fromkeys(r["name"] for r in peers)
    rows = [[name, *(figure(name, shape) for shape in shapes)] for name in names]
    return markdown(["fit time, times ours", *map(_spelled, shapes)], rows)


def speed_files() -> str:
    """Return what learning from a file costs beside decoding it."""
    rows = [
        [
            r["name"],
            _spelled(r["shape"]),
            *(f"{float(r[what]):.0f}" for what in ("decode_ms", "train_ms")),
            *(f"{float(r[what]):.2f}" if r.get(what) else "" for what in ("of_decode_speed", "at_most")),
        ]
        for r in _of("files")
    ]
    head = ["decode ms", "decode and train ms", "of decode speed", "at most"]
    return markdown(["file, float32", "rows x features", *head], rows)


def speed_passes() -> str:
    """Return what a further pass takes beside the first."""
    found = _of("passes")
    cases = dict.fromkeys((r["shape"], r["type"]) for r in found)
    rows = []
    for shape, kind in cases:
        own = {r["classes"]: r for r in found if (r["shape"], r["type"]) == (shape, kind)}
        figures = [f"{float(own[k]['further_over_first']):.1f}" if k in own else "" for k in ("2", "10")]
        rows.append([f"{_spelled(shape)} {kind}", *figures])
    return markdown(["a further pass, times the first", "2 classes", "10 classes"], rows)


SHOWN = (
    speed_instructions,
    speed_passes,
    speed_shapes,
    speed_without_wide_vectors,
    speed_beside,
    speed_start,
    speed_columns,
    speed_threads,
    speed_folds,
    speed_peers,
    speed_files,
)
