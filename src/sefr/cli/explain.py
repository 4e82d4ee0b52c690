"""``sefr explain``."""


def explain() -> None:
    """Later."""
