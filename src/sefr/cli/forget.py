"""``sefr forget``: a model takes rows back."""

from __future__ import annotations

from .update import changing

forget = changing(
    "forgot",
    """Take rows back: the model is then the same as if it had never seen them.

    The lowest and highest value of each feature stay those of all rows ever seen; with a known range
    (train --scale LOW:HIGH) forgetting is complete.

    For example:

      sefr forget iris.sefr withdrawn.csv
    """,
)
