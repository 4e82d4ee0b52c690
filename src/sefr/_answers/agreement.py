"""Whether settings say what a Summary is: what it was cut into was decided when its rows were added up."""

from __future__ import annotations

import numpy as np

from .._rows.cells import Categories, Coder
from .._rows.cells.coder import MOST_CELLS, given_coder
from .._rows.cells.learn import equal_edges
from .._rows.inputs import describe_feature
from .._rows.ranges import known_ranges
from .._summary.summary import Summary
from ..settings import AnySettings


def refuse_other_settings(summary: Summary, settings: AnySettings) -> None:
    """Raise an error for settings of bins, interactions or missing values that a Summary does not have.

    Without ``bins`` and ``interactions`` the model takes those of the Summary.
    """
    coder = summary.coder
    if coder is None:
        for name, asked in (("bins", settings.bins is not None), ("auto=True", settings.auto)):
            if asked:
                raise ValueError(
                    f"{name}: this Summary has sums of values, not of bins: leave out {name}, or summarise "
                    "the rows with bins"
                )
        return
    if settings.missing == "ignore" and not coder.missing:
        raise ValueError(
            "missing='ignore': this Summary has no bin for missing values: leave out missing, or summarise "
            "the rows with missing='ignore'"
        )
    if (at := _other_feature(coder, settings)) is not None:
        raise ValueError(
            f"bins: this Summary cuts {describe_feature(at, summary.feature_names)} at other edges than "
            "these settings do: leave out bins, or summarise the rows with them"
        )
    n_ferns = 0 if coder.ferns is None else len(coder.ferns.sizes)
    wanted = settings.interactions
    if wanted is None:
        return
    if not n_ferns or n_ferns > (wanted if isinstance(wanted, int | np.integer) else len(wanted)):
        raise ValueError(
            f"interactions: this Summary has {n_ferns} of them: leave out interactions, or summarise the "
            "rows with them"
        )


def _other_feature(coder: Coder, settings: AnySettings) -> int | None:
    """Return the first feature that is not cut as the settings say, as far as they say it; else None."""
    bins = settings.bins
    if bins is None:
        return None
    if not isinstance(bins, int | np.integer):
        given = given_coder(bins, coder.n_features, missing=coder.missing)
        return coder.difference(given)
    most = int(bins) - (coder.missing and int(bins) == MOST_CELLS)
    scale, edges = settings.scale, None
    if scale is not None and not isinstance(scale, str):
        edges = equal_edges(*known_ranges(scale, coder.n_features), most)
    for j, part in enumerate(coder.parts):
        if isinstance(part, Categories):
            continue
        if len(part) >= most if edges is None else not np.array_equal(part, edges[j]):
            return j
    return None
