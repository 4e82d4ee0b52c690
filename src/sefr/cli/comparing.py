"""Two models compared: on the screen, as JSON, as a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rich.table import Table as Grid

from .._summary.drift import Drift, Thresholds
from .._system.atomic_file import atomic_file
from .screen import Screen, bar, grid, shown
from .stored import read_model

MOST_SHOWN = 10
# Each training finds its own edges; what --exact and --paper add up has none.
ADVICE = "; train both with --exact, or see how other rows differ with sefr predict MODEL DATA --check"


@dataclass(frozen=True)
class Comparing:
    """What ``sefr drift`` is asked."""

    before: str
    after: str
    thresholds: Mapping[str, float]
    output: str | None


def carry_out(screen: Screen, asked: Comparing) -> bool:
    """Compare two models; return whether anything has drifted."""
    limits = Thresholds(**asked.thresholds)
    before, after = (read_model(path)[0].summary_ for path in (asked.before, asked.after))
    try:
        found = before.compare(after, limits)
    except ValueError as error:
        advice = ADVICE if before.coder != after.coder else ""
        raise ValueError(f"{asked.before} and {asked.after}: {error}{advice}") from None
    if asked.output:
        from .._answers.drift_page import drift_page  # Jinja2, only where it is used

        with atomic_file(asked.output) as file:
            file.write(drift_page(found, before=asked.before, after=asked.after).encode())
    _show(screen, found, asked)
    screen.json({"before": asked.before, "after": asked.after, **found.to_dict(), "page": asked.output})
    return bool(found)


def _means(found: Drift) -> Grid:
    table = grid("feature", "mean moved", "before", "after", "", right=["mean moved", "before", "after"])
    for item in sorted(found.features, key=lambda item: -abs(item.shift))[:MOST_SHOWN]:
        means = ["none" if mean is None else f"{mean:.5g}" for mean in (item.mean_before, item.mean_after)]
        table.add_row(shown(item.feature), f"{item.shift:+.3f}", *means, bar(item.shift))
    return table


def _bins(found: Drift) -> Grid:
    columns = ["PSI", "KS", "missing before", "after"]
    table = grid("feature", *columns, right=columns)
    for item in sorted(found.features, key=lambda item: -(item.psi or 0.0))[:MOST_SHOWN]:
        ks = "none" if item.ks is None else f"{item.ks:.3f}"
        missing = [f"{share:.1%}" for share in (item.missing_before, item.missing_after)]
        table.add_row(shown(item.feature), f"{item.psi:.3f}", ks, *missing)
    return table


def _show(screen: Screen, found: Drift, asked: Comparing) -> None:
    for said in found.findings[:MOST_SHOWN]:
        screen.line(said)
    if len(found.findings) > MOST_SHOWN:
        screen.line(f"and {len(found.findings) - MOST_SHOWN} more; --json or -o drift.html has all")
    if not found:
        rows = f"{found.rows_before:,.0f} to {found.rows_after:,.0f} rows"
        screen.line(f"no drift from {asked.before} to {asked.after} ({rows})")
    screen.print(_bins(found) if any(item.psi is not None for item in found.features) else _means(found))
    if asked.output:
        screen.note(f"{asked.output}: written")
