"""A fault at every system call of every command that writes: the old file or the new, a true exit code.

A server process has the shim preloaded and all libraries imported; every trial is a fork of it, in a folder
of its own, so that it takes a fraction of a second.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from .child import environment

HOW = ("count", "kill before", "kill after", "term before", "term after", "fail", "full", "short")
ERRORS = (errno.EIO, errno.ENOSPC, errno.EACCES, errno.EINTR, errno.EMFILE)
# The command, the path that it writes, and whether it may be repeated when that is the new one already.
COMMANDS: dict[str, tuple[list[str], str, bool]] = {
    "train": (["train", "iris.csv", "-l", "species", "--paper", "-o", "m.sefr"], "m.sefr", True),
    "update": (["update", "m.sefr", "iris.csv", "--once", "monday"], "m.sefr", True),
    "forget": (["forget", "m.sefr", "ten.csv"], "m.sefr", False),
    "merge": (["merge", "m.sefr", "other.sefr", "-o", "m.sefr"], "m.sefr", False),
    "predict": (["predict", "m.sefr", "iris.csv", "-o", "out.csv"], "out.csv", True),
    "predict parquet": (["predict", "m.sefr", "iris.csv", "-o", "out.parquet"], "out.parquet", True),
    "explain": (["explain", "m.sefr", "-o", "report.html"], "report.html", True),
    "explain png": (["explain", "m.sefr", "-o", "report.png"], "report.png", True),
    "export onnx": (["export", "m.sefr", "--to", "onnx", "-o", "m.onnx"], "m.onnx", True),
    "export c": (["export", "m.sefr", "--to", "c", "-o", "."], "m.h", True),
    "export arduino": (["export", "m.sefr", "--to", "arduino", "--learn", "-o", "."], "m", True),
}
SECONDS = 60  # that one trial may take
REMOVING = frozenset(["unlink", "unlinkat", "rmdir", "openat", "openat64", "close"])  # calls that tidy up


@dataclass(frozen=True)
class Trial:
    """One fault: at which call of which command, and what kind."""

    command: str
    at: int
    how: str
    error: int = 0


@dataclass(frozen=True)
class Outcome:
    """What became of it: exit code (below 0 a signal), what was said, the calls made, the one hit."""

    code: int
    said: str
    calls: int
    hit: str


def compiled(folder: Path) -> Path:
    """Build the shim."""
    path = folder / "shim.so"
    source = Path(__file__).with_name("shim.c")
    command = ["gcc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, str(source), "-o", str(path), "-ldl"], check=True)
    return path


class Laboratory:
    """Folders with an old file in each, and what a command without a fault makes of it. For the server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shim = ctypes.CDLL(None)
        self.shim.torture_hit.restype = ctypes.c_char_p
        self.shim.torture_count.restype = ctypes.c_long
        self.shim.torture_arm.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_int]
        self._prepare()
        self.old: dict[str, object] = {}
        self.new: dict[str, object] = {}
        self.calls: dict[str, int] = {}
        for name, (_arguments, target, _again) in COMMANDS.items():
            for _ in range(2):  # the first time may import something
                here = self._fresh(name)
                self.old[name] = content(here / target)
                outcome = self._run(here, Trial(name, 0, "count"))
                assert outcome.code == 0, (name, outcome)
            self.new[name], self.calls[name] = content(here / target), outcome.calls
            here = self._fresh(name)
            self._run(here, Trial(name, 0, "count"))
            assert content(here / target) == self.new[name] != self.old[name], f"{name}: not the same twice"

    def _prepare(self) -> None:
        """Make the sound folder: two models, their rows, and an older output of every command."""
        from sklearn.datasets import load_iris

        sound = self.folder / "sound"
        sound.mkdir()
        X, y = load_iris(return_X_y=True)
        names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
        lines = [
            ",".join([*map(str, row), ("setosa", "versicolor", "virginica")[k]])
            for row, k in zip(X, y, strict=True)
        ]
        head = ",".join([*names, "species"])
        for name, some in {"iris.csv": lines, "ten.csv": lines[::15], "half.csv": lines[::2]}.items():
            (sound / name).write_text("\n".join([head, *some]) + "\n")
        for arguments in (
            ["train", "half.csv", "-l", "species", "--paper", "-o", "m.sefr"],
            *(arguments for _, (arguments, target, _) in COMMANDS.items() if target != "m.sefr"),
            ["update", "m.sefr", "iris.csv"],
            ["train", "iris.csv", "-l", "species", "--paper", "-o", "other.sefr"],
        ):
            code = command_line(sound, arguments, sound / "said")
            assert code == 0, (arguments, (sound / "said").read_text())
        os.unlink(sound / "said")

    def _fresh(self, name: str) -> Path:
        here = self.folder / "trial"
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(self.folder / "sound", here)
        return here

    def _run(self, here: Path, trial: Trial) -> Outcome:
        said = self.folder / "said"
        arguments = COMMANDS[trial.command][0]
        child = os.fork()
        if not child:
            code = 70
            try:
                signal.alarm(SECONDS)
                code = command_line(here, arguments, said, lambda: self._arm(trial))
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        hit = self.shim.torture_hit().decode()
        return Outcome(code, said.read_text(errors="replace"), self.shim.torture_count(), hit)

    def _arm(self, trial: Trial) -> None:
        self.shim.torture_arm(trial.at, HOW.index(trial.how), trial.error)

    def attempt(self, trial: Trial) -> str | None:
        """Make a trial; return what was wrong, or None."""
        _arguments, target, again = COMMANDS[trial.command]
        here = self._fresh(trial.command)
        known = set(os.listdir(here))
        outcome = self._run(here, trial)
        found = content(here / target)
        old, new = self.old[trial.command], self.new[trial.command]
        # a lock without a holder keeps nobody waiting, and the next holder removes it
        left = {name for name in os.listdir(here) if name not in known and not name.endswith(".lock")}
        killed = outcome.code == -signal.SIGKILL
        if found not in (old, new):
            return f"neither the old nor the new {target}: {outcome}"
        if "Traceback" in outcome.said or (outcome.code < 0 and not killed):
            return f"no clean end: {outcome}"
        if not killed and (outcome.code == 0) != (found == new):
            which = "new" if found == new else "old"
            return f"exit code {outcome.code}, but the {which} file is there: {outcome}"
        if not killed and left and outcome.hit not in REMOVING:
            return f"left behind: {sorted(left)}: {outcome}"
        if killed and (again or found == old):
            retried = self._run(here, Trial(trial.command, 0, "count"))
            if retried.code or content(here / target) != new:
                return f"a retry after {outcome} did not do it: {retried}"
        return None


def content(path: Path) -> object:
    """Return what a file or a whole folder holds; None where there is none."""
    if path.is_dir():
        return {
            str(file.relative_to(path)): file.read_bytes()
            for file in sorted(path.rglob("*"))
            if file.is_file()
        }
    return path.read_bytes() if path.exists() else None


def command_line(here: Path, arguments: list[str], said: Path, arm: Callable[[], None] = lambda: None) -> int:
    """Run the command in this process, in a folder; return its exit code. What it says goes to a file."""
    from sefr.cli import main

    os.chdir(here)
    out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    kept = os.dup(1), os.dup(2)
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.argv = ["sefr", *arguments]
    try:
        arm()
        main()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        ctypes.CDLL(None).torture_disarm()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        for descriptor in (*kept, out):
            os.close(descriptor)
    return 0


def trials(calls: dict[str, int], seed: int) -> Iterator[Trial]:
    """Yield every fault at every call: first one at each call of each command, then another, and so on."""
    rng = random.Random(seed)
    queues = []
    for command, number in calls.items():
        for at in range(1, number + 1):
            kinds = [(how, error) for how in HOW[1:] for error in (ERRORS if how == "fail" else (0,))]
            rng.shuffle(kinds)
            queues.append([Trial(command, at, how, error) for how, error in kinds])
    rng.shuffle(queues)
    for round_of_trials in zip(*queues, strict=True):
        yield from round_of_trials


def serve(folder: Path, seconds: float, seed: int) -> int:
    """Make trials until the time is up, and print what was found as JSON."""
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    laboratory = Laboratory(folder)
    ends, tried, failures = time.monotonic() + seconds, 0, []
    hits: dict[str, int] = {}
    places: set[tuple[str, int]] = set()
    total = 0
    for trial in trials(laboratory.calls, seed):
        total += 1
        if time.monotonic() > ends or len(failures) >= 5:
            continue
        tried += 1
        places.add((trial.command, trial.at))
        hits[trial.how] = hits.get(trial.how, 0) + 1
        if wrong := laboratory.attempt(trial):
            failures.append(asdict(trial) | {"wrong": wrong})
    figures = {"calls": laboratory.calls, "calls_hit": len(places), "tried": tried, "of": total}
    print(json.dumps(figures | {"faults": hits, "failures": failures}))
    return 1 if failures else 0


def run(folder: Path, seconds: float, seed: int) -> dict[str, object]:
    """Run the server with the shim preloaded; return what it found."""
    done = subprocess.run(
        [sys.executable, "-m", "torture.faults", str(folder), str(seconds), str(seed)],
        capture_output=True,
        text=True,
        env=environment(LD_PRELOAD=str(compiled(folder)), COLUMNS="100"),
        timeout=600 + 4 * seconds,
    )
    lines = done.stdout.splitlines()
    if not lines or not lines[-1].startswith("{"):
        raise RuntimeError(f"the server of the faults ended with {done.returncode}: {done.stderr[-4000:]}")
    return json.loads(lines[-1])  # type: ignore[no-any-return]


if __name__ == "__main__":
    sys.exit(serve(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
