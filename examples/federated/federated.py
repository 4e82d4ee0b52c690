"""Five sites learn one model together, in one round; only Summaries travel.

Each site is a process of its own that sees only its own rows and writes one file, site-N.summary: counts,
sums and, since these are second moments, sums of products. The centre reads those files, adds them up and has
the Summary that all rows together would have given, to the bit, and so their model and its accuracy. The same
Summary also gives the model of the paper, from first moments.

    python examples/federated/federated.py [folder]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from sefr import SEFRClassifier, Summary

SITES = 5


def rows_of_nobody() -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that accuracy is measured on."""
    X, y = load_digits(return_X_y=True)
    return X[::6], y[::6]


def rows_of_site(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that only this site has: site 0 has no nines, site 1 has few of anything."""
    X, y = load_digits(return_X_y=True)
    mine = np.arange(len(y)) % SITES == number
    mine[::6] = False
    if number == 0:
        mine &= y != 9
    if number == 1:
        mine &= np.arange(len(y)) < 300
    return X[mine], y[mine]


def site(number: int, folder: Path) -> None:
    """Summarise the site's rows and write the one file that leaves it."""
    data = Summary.of(*rows_of_site(number), moments=2).to_bytes()
    (folder / f"site-{number}.summary").write_bytes(data)


def centre(folder: Path) -> Summary:
    """Add up what the sites sent."""
    files = sorted(folder.glob("site-*.summary"))
    summaries = [Summary.from_bytes(file.read_bytes()) for file in files]
    for file, summary in zip(files, summaries, strict=True):
        raw = summary.n_rows * summary.n_features * 8
        print(
            f"{file.name}: {summary.n_rows:4.0f} rows, {len(summary.classes):2} classes, "
            f"{file.stat().st_size:,} bytes sent instead of {raw:,.0f}"
        )
    return sum(summaries[1:], summaries[0])


def compare(what: str, together: SEFRClassifier, alone: SEFRClassifier) -> None:
    """Say whether the model of the sites is that of all rows in one place, with the same answers."""
    X, y = rows_of_nobody()
    same = together.summary_ == alone.summary_ and np.array_equal(together.predict(X), alone.predict(X))
    scores = [model.decision_function(X) for model in (together, alone)]
    same &= np.allclose(*scores, rtol=1e-9, atol=1e-9)
    verdict = "the same" if same else "ANOTHER"
    accuracy = f"accuracy {together.score(X, y):.3f}"
    print(f"{what}: {accuracy} on other rows; the model of all rows in one place: {verdict}")
    if not same:
        sys.exit("the models differ")


def main() -> None:
    """Run the sites, each in a process, then the centre, and compare with all rows in one place."""
    if len(sys.argv) == 3:
        site(int(sys.argv[1]), Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) == 2 else temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(SITES):
            subprocess.run([sys.executable, __file__, str(number), str(folder)], check=True)  # noqa: S603
        together = centre(folder)
    X, y = (np.concatenate(parts) for parts in zip(*map(rows_of_site, range(SITES)), strict=True))
    compare(
        "second moments",
        SEFRClassifier.from_summary(together, moments=2),
        SEFRClassifier(moments=2).fit(X, y),
    )
    compare(
        "first moments, the paper",
        SEFRClassifier.from_summary(together.first_moments()),
        SEFRClassifier().fit(X, y),
    )


if __name__ == "__main__":
    main()
