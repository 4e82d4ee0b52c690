"""What a run left out, in sentences: the same ones in the terminal, the Markdown and the page."""

from __future__ import annotations

from laboratory import gisette_shape, published
from laboratory.datasets.catalogue import entry
from laboratory.methods import METHODS
from laboratory.run import Outcome
from laboratory.settings import PARTS


def omissions(outcome: Outcome) -> list[str]:
    """Return a sentence for everything of the paper that this run does not have; empty for a full run."""
    settings, rows = outcome.settings, list(outcome.journal)
    every = (*published.BINARY, *published.MULTICLASS)
    sentences = [f"{entry(name).title}: {reason.rstrip('.')}." for name, reason in outcome.missing.items()]
    groups = {
        "Datasets not asked for": [entry(name).title for name in every if name not in settings.datasets],
        "Methods not installed": [METHODS[name].title for name in outcome.not_installed],
        "Methods not asked for": [METHODS[name].title for name in METHODS if name not in settings.methods],
        "Not asked for": [what for part, what in PARTS.items() if part not in settings.parts],
        f"Not all {settings.folds} folds, so not compared": _unfinished(outcome),
    }
    sentences += [f"{what}: {', '.join(names)}." for what, names in groups.items() if names]
    if outcome.left_out:
        sentences.append(
            f"{outcome.left_out} measurements were left out when the time was up; "
            "the same command goes on with them."
        )
    if any(row.dataset == gisette_shape.NAME for row in rows):
        sentences.append("Figure 1 is of made-up data in Gisette's shape.")
    return sentences


def _unfinished(outcome: Outcome) -> list[str]:
    """Return "Dataset (Method folds, ...)" for what ran in part or not at all, though it was asked for."""
    settings = outcome.settings
    if not {"accuracy", "runtime"} & set(settings.parts):
        return []
    ran: dict[tuple[str, str], int] = {}
    for row in outcome.journal:
        if row.experiment == "folds" and row.folds == settings.folds and row.seed < settings.seeds:
            ran[row.method, row.dataset] = ran.get((row.method, row.dataset), 0) + 1
    whole = settings.folds * settings.seeds
    methods = [name for name in settings.methods if name not in outcome.not_installed]
    found = []
    for dataset in outcome.at_hand:
        short = {name: ran.get((name, dataset), 0) for name in methods if ran.get((name, dataset), 0) < whole}
        if short and not any(short.values()) and len(short) == len(methods):
            found.append(f"{entry(dataset).title} (no method)")
        elif short:
            those = ", ".join(f"{METHODS[name].title} {count}" for name, count in short.items())
            found.append(f"{entry(dataset).title} ({those})")
    return found
