"""``sefr verify``: check a deletion certificate."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options


def verify(
    *,
    certificate: Annotated[str, typer.Argument(help="What sefr forget --certificate wrote.")],
    model: options.OneModel,
    rows: Annotated[
        str | None, typer.Option(help="The file with the rows that were removed: check that it is that one.")
    ] = None,
    printing: options.PrintingOptions,
) -> None:
    """Check that a model holds what a deletion certificate says: what it knew before, less the rows removed.

    The Summary before, less the Summary of the removed rows, must be that of the model, to the bit. The
    weights follow from the Summary and from nothing else, so that the model answers as one that never saw
    the rows. With features scaled by what was seen (--scale minmax) their lowest and highest values stay.

    It does not show that nobody has a copy of the rows, nor that the rows were in the model before. Keep a
    certificate as safe as the rows: it has their sums.

    For example:

      sefr forget iris.sefr withdrawn.csv --certificate withdrawn.json

      sefr verify withdrawn.json iris.sefr

      sefr verify withdrawn.json iris.sefr --rows withdrawn.csv
    """
    from .certificate import KEPT, Certificate, CertificateError, digest_of_file
    from .stored import read_model
    from .task import whole

    screen = printing.screen()
    found = Certificate.read(certificate)
    clf, _ = read_model(model)
    try:
        found.check(clf)
    except CertificateError as error:
        raise CertificateError(f"{model}: {error}") from None
    if rows is not None and digest_of_file(rows) not in found.files.values():
        raise CertificateError(f"{rows}: not a file that was removed: its SHA-256 is not in the certificate")
    screen.line(
        f"{model}: holds what is left of {found.before.n_rows:,.0f} rows after {found.removed.n_rows:,.0f} "
        "were removed, to the bit"
    )
    if found.ranges == KEPT:
        screen.note("the lowest and highest value of each feature are still those of all rows ever seen")
    screen.json(
        {
            "model": model,
            "holds": True,
            "removed": whole(found.removed.n_rows),
            "rows": whole(clf.summary_.n_rows),
            "ranges": found.ranges,
            "files": found.files,
        }
    )
