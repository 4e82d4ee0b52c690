"""One item ahead: while one batch is learned, the next is decoded."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def prefetch(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the same items, each made by a thread while the one before it is used.

    An error is raised where its item would have come.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="sefr-prefetch") as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item
