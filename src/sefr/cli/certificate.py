"""A deletion certificate: what was taken out of a model, so that anyone with two files can check it.

It holds the Summary before and the Summary that was taken away. Before less taken away is what the model
holds now, to the bit. Both say as much about the rows as a sum does: of one person's row, everything.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._summary.summary import Summary
from .._system.atomic_file import atomic_file
from .._system.members import distinct, members_of, refuse_constant
from ..base import Learner

FORMAT, VERSION = "sefr deletion certificate", 1
MEMBERS = ("format", "version", "rows", "files", "before", "removed", "after", "ranges")
# Whether the ranges of features were known before any row, or are kept and may tell of rows that are gone.
KNOWN, KEPT = "known", "kept"


class CertificateError(ValueError):
    """A certificate that says something else than the model."""


@dataclass(frozen=True)
class Certificate:
    """What was taken away from a model."""

    before: Summary
    removed: Summary
    after: str  # the SHA-256 of the Summary that is left
    files: dict[str, str]  # the SHA-256 of each file that the rows came from
    ranges: str

    @classmethod
    def of(cls, before: Learner, removed: Summary, after: Learner, files: dict[str, str]) -> Certificate:
        """Return the certificate of a model before and after rows were taken away."""
        known = isinstance(after.scale, tuple | list) or bool(after.summary_.coding.known_ends())
        own = before.summary_
        removed = removed.within(own.classes) if removed.moments == own.moments else removed.first_moments()
        return cls(own, removed, digest(after.summary_), files, KNOWN if known else KEPT)

    def write(self, path: str) -> None:
        """Write the certificate, atomically."""
        text = json.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                "rows": self.removed.n_rows,
                "files": self.files,
                "before": b64encode(self.before.to_bytes()).decode(),
                "removed": b64encode(self.removed.to_bytes()).decode(),
                "after": self.after,
                "ranges": self.ranges,
            },
            indent=1,
        )
        with atomic_file(path) as file:
            file.write(text.encode() + b"\n")

    @classmethod
    def read(cls, path: str) -> Certificate:
        """Read a certificate; anything else is an error."""
        try:
            content = json.loads(
                Path(path).read_bytes().decode(), object_pairs_hook=distinct, parse_constant=refuse_constant
            )
            found = members_of(content, MEMBERS, "the certificate")
            if found["format"] != FORMAT or found["version"] != VERSION:
                raise CertificateError(f"it is not a {FORMAT} of version {VERSION}")
            before, removed = (_summary(found[name]) for name in ("before", "removed"))
            files = {str(name): str(value) for name, value in dict(found["files"]).items()}
        except (ValueError, TypeError, KeyError) as error:
            raise CertificateError(f"{path}: not a deletion certificate: {error}") from None
        if found["rows"] != removed.n_rows or found["ranges"] not in (KNOWN, KEPT):
            raise CertificateError(
                f"{path}: its number of rows or its ranges are not those of what was removed"
            )
        return cls(before, removed, str(found["after"]), files, found["ranges"])

    def check(self, clf: Learner) -> None:
        """Raise an error unless the model holds what was there before, less what was removed, to the bit."""
        try:
            left = self.before - self.removed
        except ValueError as error:
            raise CertificateError(f"what was removed was never in it: {error}") from None
        now = clf.summary_
        if digest(now) != self.after or left.over(now.classes) != now:
            raise CertificateError(
                f"the model holds {now.n_rows:g} rows, and not what is left of {self.before.n_rows:g} rows "
                f"after {self.removed.n_rows:g} were removed: it was changed since, or is another model"
            )


def digest(summary: Summary) -> str:
    """Return the SHA-256 of a Summary."""
    return hashlib.sha256(summary.to_bytes()).hexdigest()


def digest_of_file(path: str) -> str:
    """Return the SHA-256 of a file as it is on disk."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _summary(text: Any) -> Summary:
    return Summary.from_bytes(b64decode(text, validate=True))
