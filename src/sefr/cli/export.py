"""``sefr export``."""


def export() -> None:
    """Later."""
