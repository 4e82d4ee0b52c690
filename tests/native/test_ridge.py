"""The ridge regressions of the page, in C, are those that LAPACK gives Python."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from sefr._weights.moments import RIDGES, Tridiagonal, likeliest_ridges

NATIVE = Path(__file__).parents[2] / "native"


class CTridiagonal(ctypes.Structure):
    """``struct tridiagonal``."""

    _fields_ = [
        ("p", ctypes.c_ssize_t),
        *((name, ctypes.c_void_p) for name in ("matrix", "diagonal", "beside", "factors")),
    ]


class CTargets(ctypes.Structure):
    """``struct ridge_targets``."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("cross", "power", "ridges")),
        ("k", ctypes.c_ssize_t),
        ("n_ridges", ctypes.c_ssize_t),
        ("count", ctypes.c_double),
        ("together", ctypes.c_bool),
    ]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("there is no C compiler")
    made = tmp_path_factory.mktemp("ridge") / "ridge.so"
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-shared", "-fPIC"]
    source = NATIVE / "moments" / "ridge.c"
    subprocess.run([compiler, *flags, f"-I{NATIVE}", source, "-lm", "-o", made], check=True)
    found = ctypes.CDLL(str(made))
    found.sefr_ridge.restype = found.sefr_leverage.restype = ctypes.c_bool
    return found


def address(array):
    return array.ctypes.data


class Solver:
    """A matrix made tridiagonal by the C of the page."""

    def __init__(self, library, gram):
        self.library, self.p = library, len(gram)
        self.arrays = [np.triu(gram), *(np.zeros(max(1, self.p)) for _ in range(3))]
        self.tridiagonal = CTridiagonal(self.p, *map(address, self.arrays))
        work = np.zeros(2 * self.p + 1)
        library.sefr_tridiagonal(ctypes.byref(self.tridiagonal), ctypes.c_void_p(address(work)))

    def ridge(self, cross, power, count, *, together):
        k = len(power)
        chosen, solved = np.empty(k), np.zeros((k, self.p))
        work = np.empty((k + 3) * self.p + k * len(RIDGES))
        given = [np.ascontiguousarray(part, dtype=np.float64) for part in (cross, power, RIDGES)]
        of = CTargets(*map(address, given), k, len(RIDGES), count, together)
        out = [ctypes.c_void_p(address(part)) for part in (chosen, solved, work)]
        good = self.library.sefr_ridge(ctypes.byref(self.tridiagonal), ctypes.byref(of), *out)
        return chosen, solved, good

    def leverage(self, ridge, rows):
        found, rows, work = np.empty(len(rows)), np.ascontiguousarray(rows), np.empty(3 * self.p + 1)
        places = [ctypes.c_void_p(address(part)) for part in (rows, found, work)]
        n = ctypes.c_ssize_t(len(rows))
        assert self.library.sefr_leverage(
            ctypes.byref(self.tridiagonal), ctypes.c_double(ridge), places[0], n, *places[1:]
        )
        return found


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(("n", "p", "k"), [(40, 1, 1), (40, 2, 3), (30, 60, 2), (500, 97, 4), (200, 9, 1)])
def test_ridges_are_those_of_lapack(library, n, p, k, together):
    rng = np.random.default_rng(n + p)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-2, 3, p)
    X[:, p // 2] = X[:, 0]  # a column twice, or a matrix of fewer rows than columns
    Y = X[:, :1] / np.abs(X[:, :1]).max() + rng.normal(size=(n, k))
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    gram, cross, power = X.T @ X, X.T @ Y, (Y**2).sum(axis=0)
    expected = Tridiagonal.of(np.tril(gram), cross)
    ridges = likeliest_ridges(expected, power, n, together=together)
    solver = Solver(library, gram)
    chosen, solved, good = solver.ridge(cross.T, power, float(n), together=together)
    assert good
    np.testing.assert_allclose(chosen, ridges, rtol=1e-12)
    for t, ridge in enumerate(ridges):
        own = expected.turn_back(expected.solve(n * ridge)[0])[:, t]
        scores = X @ own
        np.testing.assert_allclose(X @ solved[t], scores, rtol=0, atol=1e-9 * np.abs(scores).max())
    inverse = np.linalg.inv(gram + n * 0.1 * np.eye(p))
    leverage = ((X @ inverse) * X).sum(axis=1)
    np.testing.assert_allclose(solver.leverage(n * 0.1, X), leverage, rtol=1e-6, atol=1e-9)


def test_no_columns_and_matrices_of_no_rows(library):
    nothing = Solver(library, np.empty((0, 0)))
    chosen, solved, good = nothing.ridge(np.empty((1, 0)), [3.0], 4.0, together=True)
    assert good
    assert chosen[0] in RIDGES
    assert solved.shape == (1, 0)
    gram = np.diag([1.0, -5.0])
    assert not Solver(library, gram).ridge(np.ones((1, 2)), [3.0], 4.0, together=True)[2]
