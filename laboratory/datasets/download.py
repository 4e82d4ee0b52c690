"""One file from the web, with a progress bar, complete or not at all."""

from __future__ import annotations

from pathlib import Path


class DownloadError(RuntimeError):
    """The file could not be had complete; the message names the address."""


class _Bar:
    """What pooch wants of a progress bar, shown by rich."""

    def __init__(self, title: str) -> None:
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, transient=True)
        self._task = self._progress.add_task(title, total=None)
        self._progress.start()
        self._total = 0

    @property
    def total(self) -> int:
        return self._total

    @total.setter
    def total(self, value: int) -> None:
        self._total = value
        self._progress.update(self._task, total=value or None)

    def update(self, amount: int) -> None:
        self._progress.advance(self._task, amount)

    def reset(self) -> None:
        self._progress.reset(self._task)

    def close(self) -> None:
        self._progress.stop()


def download(url: str, folder: Path, title: str) -> Path:
    """Fetch ``url`` into ``folder`` and return its path; DownloadError where it does not arrive whole."""
    try:
        import pooch
        import requests
    except ImportError as error:
        raise DownloadError(
            f"downloading needs pooch: pip install -r laboratory/requirements.txt ({error})"
        ) from error

    pooch.get_logger().setLevel("WARNING")  # the bar says it already
    bar = _Bar(title)
    try:
        fetch = pooch.HTTPDownloader(progressbar=bar, timeout=30)
        name = pooch.retrieve(
            url, known_hash=None, fname=url.rsplit("/", 1)[1], path=folder, downloader=fetch
        )
    except (OSError, requests.exceptions.RequestException) as error:
        raise DownloadError(f"{url}: {error}.") from error
    finally:
        bar.close()
    return Path(name)
