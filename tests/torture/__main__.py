"""Run the harness: python -m torture [--minutes 60] [--seed N]."""

from __future__ import annotations

import argparse
import sys
import time

from .campaign import RESULTS, run

parser = argparse.ArgumentParser(prog="torture", description="Try to break sefr, for so many minutes.")
parser.add_argument("--minutes", type=float, default=60)
parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
parser.add_argument("--no-results", action="store_true", help=f"do not write {RESULTS.name}")
arguments = parser.parse_args()
sys.exit(min(1, run(arguments.minutes, arguments.seed, None if arguments.no_results else RESULTS)))
