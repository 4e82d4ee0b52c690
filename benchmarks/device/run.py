"""On which machine and with which tools the figures were measured."""

import json
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
TOOLS = {
    "avr-gcc": ["avr-gcc", "-dumpversion"],
    "arm-none-eabi-gcc": ["arm-none-eabi-gcc", "-dumpversion"],
    "riscv64-unknown-elf-gcc": ["riscv64-unknown-elf-gcc", "-dumpversion"],
    "simavr": ["dpkg-query", "-W", "-f", "${Version}", "simavr"],
    "qemu-system-arm": ["dpkg-query", "-W", "-f", "${Version}", "qemu-system-arm"],
}


def said(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE)
    return done.stdout.strip() or None


def of_package(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def note(part):
    """Add a part of the benchmark to run.json: when it ran, of which commit, with which tools."""
    path = HERE / "run.json"
    parts = json.loads(path.read_text()) if path.exists() else {}
    parts[part] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "version": of_package("sefr-learn"),
        "commit": said(["git", "rev-parse", "HEAD"]),
        "changed since": bool(
            said(["git", "status", "--porcelain", "../../device", "../../src/sefr/device"])
        ),
        "machine": f"{platform.system()} {platform.machine()}",
        "tools": {name: said(command) for name, command in TOOLS.items()},
        "packages": {name: of_package(name) for name in ("emlearn", "micromlgen", "scikit-learn")},
    }
    path.write_text(json.dumps(parts, indent=1) + "\n")
