"""``sefr demo``."""


def demo() -> None:
    """Later."""
