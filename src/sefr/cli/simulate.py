"""``sefr simulate``."""


def simulate() -> None:
    """Later."""
