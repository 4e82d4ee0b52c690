"""Many processes on one model, some of them killed: no row is lost and none is counted twice."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

ROWS, TAKEN = 20, 5  # of a batch that is learned, and of one that is taken back
MEMBERS = 6


def _train(path: str, seed: int, n: int) -> None:
    import numpy as np

    rng = np.random.default_rng(seed)
    lines = [f"{a},{b},{k % 3}" for k, (a, b) in enumerate(rng.integers(-99, 99, (n, 2)).tolist())]
    Path(path).write_text("\n".join(["a,b,y", *lines]) + "\n")


def _command(*arguments: str) -> int:
    from sefr.cli import main

    sys.argv = ["sefr", *arguments]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _member(number: int, rounds: int, seed: int) -> int:
    """Update, merge, forget and predict in turn; return the rows that the model must have gained."""
    rng, gained = random.Random(seed), 0
    for at in range(rounds):
        verb = rng.choice(["update", "merge", "forget", "predict"])
        name = f"{number}-{at}"
        if verb == "update":
            _train(f"{name}.csv", seed + at, ROWS)
            code = _command("update", "m.sefr", f"{name}.csv", "--quiet", "--once", name)
            gained += ROWS
        elif verb == "merge":
            code = _command("merge", "m.sefr", "other.sefr", "-o", "m.sefr", "--quiet")
            gained += ROWS
        elif verb == "forget":
            code = _command("forget", "m.sefr", "taken.csv", "--quiet")
            gained -= TAKEN
        else:
            code = _command("predict", "m.sefr", "taken.csv", "-o", f"{name}.out.csv", "--quiet")
            if len(Path(f"{name}.out.csv").read_text().splitlines()) != TAKEN + 1:
                code = 71
        if code:
            raise RuntimeError(f"{verb} ended with {code}")
    return gained


def _victim(number: int, rounds: int, seed: int) -> int:
    """Update under a name in a child that is killed at some moment, and again until it is done."""
    rng, kills = random.Random(seed), 0
    for at in range(rounds):
        name = f"victim-{number}-{at}"
        _train(f"{name}.csv", seed + at, ROWS)
        code: int | None = None
        while code != 0:
            child = os.fork()
            if not child:
                os._exit(_command("update", "m.sefr", f"{name}.csv", "--quiet", "--once", name))
            if rng.random() < 0.5:
                time.sleep(rng.random() * 0.1)
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            kills += code == -signal.SIGKILL
            if code not in (0, -signal.SIGKILL):
                raise RuntimeError(f"update ended with {code}")
    return kills


def run(folder: Path, seconds: float, seed: int, rounds: int = 6) -> dict[str, object]:
    """Let a crowd change one model, again and again until the time is up; return the figures."""
    import sefr.cli.changes
    import sefr.cli.predict  # noqa: F401 - once, not in every child
    from sefr import load

    before = os.getcwd()
    os.chdir(folder)
    figures = {"crowds": 0, "processes": 0, "commands": 0, "kills": 0, "rows": 0, "rows_lost": 0.0}
    failures: list[str] = []
    ends = time.monotonic() + seconds
    try:
        _train("taken.csv", seed, TAKEN)
        _train("first.csv", seed, 4000)
        _train("other.csv", seed, ROWS)
        assert _command("train", "other.csv", "-l", "y", "--paper", "-o", "other.sefr", "--quiet") == 0
        while not figures["crowds"] or (time.monotonic() < ends and not failures):
            assert _command("train", "first.csv", "-l", "y", "--paper", "-o", "m.sefr", "--quiet") == 0
            number = int(figures["crowds"])
            reports = _crowd(rounds, seed + 1000 * number, failures)
            expected = 4000 + sum(report["gained"] for report in reports)
            found = load("m.sefr").summary_.n_rows
            if found != expected:
                failures.append(f"crowd {number}, seed {seed}: {found} rows, not {expected}")
            figures["rows_lost"] += abs(expected - found)
            figures["crowds"] += 1
            figures["processes"] += len(reports)
            figures["commands"] += rounds * len(reports)
            figures["kills"] += sum(report["kills"] for report in reports)
            figures["rows"] += sum(abs(report["gained"]) for report in reports)
            left = [name for name in os.listdir() if name.endswith((".part", ".lock"))]
            for name in (*left, *Path().glob("*-*")):
                os.unlink(name)
    finally:
        os.chdir(before)
    return figures | {"failures": failures}


def _crowd(rounds: int, seed: int, failures: list[str]) -> list[dict[str, int]]:
    """Start members and one victim at once; return what each has to say."""
    reader, writer = os.pipe()
    children = []
    for number in range(MEMBERS + 1):
        children.append(os.fork())
        if children[-1]:
            continue
        os.close(reader)
        report = {"gained": 0, "kills": 0}
        try:
            if number == MEMBERS:
                report |= {"gained": ROWS * rounds, "kills": _victim(number, rounds, seed + number)}
            else:
                report["gained"] = _member(number, rounds, seed + number)
        except BaseException as error:
            os.write(
                writer, (json.dumps({"error": f"{type(error).__name__}: {error}"[:300]}) + "\n").encode()
            )
            os._exit(1)
        os.write(writer, (json.dumps(report) + "\n").encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        reports = [json.loads(line) for line in pipe]
    for child in children:
        os.waitpid(child, 0)
    failures += [report["error"] for report in reports if "error" in report]
    return [report for report in reports if "error" not in report]
