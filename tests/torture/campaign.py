"""The whole harness: every part for its share of the time; failures become tests, figures are kept."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import crowd, faults, fuzzer, races
from .child import environment

RESULTS = Path(__file__).with_name("results.json")
# Parts of the time; what is left after the others goes to nobody.
SHARES = {"verbs": 0.15, "fuzz": 0.25, "damaged": 0.05, "faults": 0.4, "crowd": 0.1, "races": 0.05}


@dataclass
class Part:
    """What one part of the harness is told, and what it found."""

    seconds: float
    seed: int
    folder: Path
    figures: dict[str, Any] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def verbs(part: Part) -> None:
    """Sequences of verbs against the oracle, in a process each, so that a crash is a finding, too."""
    ends, total = time.monotonic() + part.seconds, {"sequences": 0, "steps": 0, "compared": 0}
    seed = part.seed
    while not part.failures and (not total["sequences"] or time.monotonic() < ends):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "torture.sequences", str(seed), "25"],
            capture_output=True,
            text=True,
            env=environment(),
            timeout=3600,
        )
        lines = done.stdout.splitlines()
        if done.returncode or not lines:
            path = machine_failure(done.stderr, seed)
            part.failures.append(f"seed {seed}, {path}: {done.stderr[-1500:]}")
            break
        for name, value in json.loads(lines[-1]).items():
            total[name] += value
        seed += 1
    part.figures = total


def machine_failure(said: str, seed: int) -> Path:
    """Write the shortest failing sequence that Hypothesis found as a test."""
    lines = said.splitlines()
    starts = [i for i, line in enumerate(lines) if line.endswith("state = Machine()")]
    ends = [i for i, line in enumerate(lines) if line.endswith("state.teardown()")]
    fuzzer.FOUND.mkdir(exist_ok=True)
    path = fuzzer.FOUND / f"test_sequence_{seed}.py"
    body = [line.lstrip(" |") for line in lines[starts[-1] : ends[-1] + 1]] if starts and ends else ["raise"]
    head = ["from torture.machine import Batch, Kind, Machine", "", "", f"def test_sequence_{seed}():"]
    path.write_text("\n".join([*head, *(f"    {line}" for line in body)]) + "\n")
    return path


def fuzz(part: Part) -> None:
    """Coverage-guided fuzzing of every target in turn."""
    corpora = fuzzer.write_corpus(part.folder)
    part.figures = {"inputs": 0, "targets": {}}
    for name, corpus in corpora.items():
        found = fuzzer.fuzz(name, corpus, part.seconds / len(corpora), part.seed)
        part.figures["inputs"] += found.inputs
        part.figures["targets"][name] = {"inputs": found.inputs, "features": found.covered}
        _say(f"  {name}: {found.inputs} inputs, {found.covered} features covered")
        if found.failure is not None:
            path = fuzzer.keep(name, found.failure)
            part.failures.append(f"{name}, {path.name}: {found.said[-800:]}")


def damaged(part: Part) -> None:
    """Mutated files of every format, each learned in a child with limits of memory and time."""
    from files import mutator

    program = [sys.executable, mutator.__file__, str(part.folder), str(part.seconds), str(part.seed)]
    done = subprocess.run(program, capture_output=True, text=True, env=environment())
    words = done.stdout.split()
    part.figures = {"files": int(words[words.index("mutated") - 1]) if "mutated" in words else 0}
    if done.returncode:
        part.failures.append(done.stdout[-1500:] + done.stderr[-1500:])


def break_system_calls(part: Part) -> None:
    """A fault at every system call of every command that writes."""
    found = faults.run(part.folder, part.seconds, part.seed)
    part.failures += [json.dumps(failure) for failure in found.pop("failures")]  # type: ignore[attr-defined]
    part.figures = found


def gather_a_crowd(part: Part) -> None:
    """Many processes on one model."""
    found = crowd.run(part.folder, part.seconds, part.seed)
    part.failures += found.pop("failures")  # type: ignore[arg-type]
    part.figures = found


def race(part: Part) -> None:
    """Threads and kernels under sanitizers."""
    for program in races.build(part.folder, *races.PROGRAMS):
        found = races.run(program, part.seconds / 2, part.seed)
        part.failures += found.pop("failures")  # type: ignore[arg-type]
        part.figures[program.name] = found


PARTS: dict[str, Callable[[Part], None]] = {
    "verbs": verbs,
    "fuzz": fuzz,
    "damaged": damaged,
    "faults": break_system_calls,
    "crowd": gather_a_crowd,
    "races": race,
}


def run(minutes: float, seed: int, results: Path | None = RESULTS) -> int:
    """Run all parts one after the other; return how many failures there were."""
    _say(f"torture: {minutes:g} minutes, seed {seed}")
    started, report, failures = time.time(), {}, []
    for name, work in PARTS.items():
        with tempfile.TemporaryDirectory() as folder:
            part = Part(60 * minutes * SHARES[name], seed, Path(folder))
            begun = time.monotonic()
            _say(f"{name}: {part.seconds:.0f} s")
            try:
                work(part)
            except subprocess.TimeoutExpired as late:
                part.failures.append(f"not done within {late.timeout:.0f} s: {late.cmd}")
        report[name] = part.figures | {
            "seconds": round(time.monotonic() - begun),
            "failures": len(part.failures),
        }
        _say(f"{name}: {json.dumps(report[name])}")
        for failure in part.failures:
            _say(f"{name}: FAILED: {failure}")
        failures += part.failures
    summary = {
        "date": time.strftime("%Y-%m-%d", time.gmtime(started)),
        "minutes": round((time.time() - started) / 60),
        "seed": seed,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "parts": report,
        "failures": len(failures),
    }
    if results is not None:
        results.write_text(json.dumps(summary, indent=1) + "\n")
        _say(f"figures: {results}")
    return len(failures)


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
