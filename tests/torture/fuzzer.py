"""Coverage-guided fuzzing (Atheris, which is libFuzzer for Python) of every target, a process each."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from files import mutator

from .child import environment
from .targets import TARGETS, seeds

REDUCING = 60  # seconds
FOUND = Path(__file__).parent / "found"


@dataclass(frozen=True)
class Fuzzed:
    """What became of one target: inputs tried, branches seen, the failing input, reduced, what was said."""

    inputs: int
    covered: int
    failure: bytes | None
    said: str


def fuzz(name: str, corpus: Path, seconds: float, seed: int) -> Fuzzed:
    """Fuzz one target in a process of its own for so many seconds, after its libraries are loaded."""
    before = set(corpus.glob("crash-*")) | set(corpus.glob("timeout-*")) | set(corpus.glob("oom-*"))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torture.fuzzer", name),
            *(f"-seed={seed % 2**31 or 1}", f"-max_total_time={max(1, round(seconds))}", "-timeout=60"),
            *("-rss_limit_mb=6000", "-max_len=20000", "-print_final_stats=1"),
            *(f"-artifact_prefix={corpus}/", str(corpus)),
        ],
        capture_output=True,
        text=True,
        errors="replace",
        env=environment(PYTHONWARNINGS="ignore"),
        timeout=600 + 4 * seconds,
    )
    said = done.stderr + done.stdout
    runs = re.search(r"stat::number_of_executed_units: (\d+)", said)
    covered = re.findall(r" (?:cov|ft): (\d+)", said)
    after = {*corpus.glob("crash-*"), *corpus.glob("timeout-*"), *corpus.glob("oom-*")} - before
    if not after and done.returncode:
        raise RuntimeError(f"the fuzzer of {name} ended with {done.returncode}: {said[-4000:]}")
    inputs = int(runs[1]) if runs else 0
    failure = min((path.read_bytes() for path in after), key=len, default=None)
    if failure is not None:
        ends = time.monotonic() + REDUCING
        failure = mutator.reduced(failure, b"", lambda data: time.monotonic() < ends and fails(name, data))
    return Fuzzed(inputs, max(map(int, covered), default=0), failure, said[-3000:])


def fails(name: str, data: bytes, seconds: int = 60) -> bool:
    """Say whether an input is a fault, in a process of its own with limits."""
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    program = "import sys; from torture.targets import TARGETS; TARGETS[sys.argv[1]](sys.stdin.buffer.read())"
    done = subprocess.run(
        [sys.executable, "-c", program, name],
        input=data,
        capture_output=True,
        env=environment(),
        preexec_fn=limit,
        timeout=60 + 20 * seconds,
    )
    return done.returncode != 0


def keep(name: str, data: bytes, folder: Path = FOUND) -> Path:
    """Write a failing input as a test: ``test_found.py`` tries every file in the folder."""
    import hashlib

    folder.mkdir(exist_ok=True)
    path = folder / f"{name.replace(' ', '-')}-{hashlib.sha256(data).hexdigest()[:8]}"
    path.write_bytes(data)
    return path


def write_corpus(folder: Path) -> dict[str, Path]:
    """Write the sound inputs of every target; return their folders."""
    samples = folder / "samples"
    samples.mkdir()
    corpora = {}
    for name, contents in seeds(samples).items():
        corpora[name] = folder / name.replace(" ", "-")
        corpora[name].mkdir()
        for i, content in enumerate(contents):
            (corpora[name] / f"seed-{i}").write_bytes(content)
    return corpora


def main() -> None:
    """Fuzz the target that the first argument names; the others are libFuzzer's."""
    import atheris

    target = TARGETS[sys.argv[1]]
    for name in list(sys.modules):
        if name == "sefr" or name.startswith("sefr."):
            raise RuntimeError(f"{name} was imported before it could be instrumented")
    with atheris.instrument_imports(include=["sefr"]):
        import sefr.cli.predict
        import sefr.device
        import sefr.engines.sql
        import sefr.files.learning  # noqa: F401
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
