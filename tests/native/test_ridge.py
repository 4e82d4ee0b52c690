"""Ridge regressions: what is in C, and that the page's reflections are those that LAPACK gives Python."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from sefr._weights.moments import RIDGES, Tridiagonal, likeliest_ridges, ridge_regressions

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
        *((name, ctypes.c_void_p) for name in ("rotated", "power", "ridges")),
        ("k", ctypes.c_ssize_t),
        ("n_ridges", ctypes.c_ssize_t),
        ("count", ctypes.c_double),
        ("together", ctypes.c_bool),
        ("others", ctypes.c_double),
        ("square", ctypes.c_double),
    ]


class CSolutions(ctypes.Structure):
    """``struct ridge_solutions``."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("chosen", "solved", "left", "freedom")]


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
    found.sefr_likeliest_ridges.restype = ctypes.c_bool
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

    def turned(self, vectors, turn):
        """Return vectors (k, p) turned by ``sefr_turn`` or ``sefr_turn_back``."""
        found = np.array(vectors, dtype=np.float64, order="C")
        for vector in found:
            turn(ctypes.byref(self.tridiagonal), ctypes.c_void_p(address(vector)))
        return found

    def ridge(self, cross, power, count, *, together):
        k = len(power)
        chosen, solved = np.empty(k), np.zeros((k, self.p))
        work = np.empty(3 * self.p + k * len(RIDGES))
        given = [self.turned(cross, self.library.sefr_turn), np.array(power, dtype=np.float64), RIDGES]
        of = CTargets(*map(address, given), k, len(RIDGES), count, together)
        to = CSolutions(*map(address, (chosen, solved)))
        good = self.library.sefr_likeliest_ridges(
            *map(ctypes.byref, (self.tridiagonal, of, to)), ctypes.c_void_p(address(work))
        )
        return chosen, self.turned(solved, self.library.sefr_turn_back), good


def leverages(library, matrix, rows):
    """Return the leverage of rows by ``sefr_leverages``."""
    lower, columns = np.tril(matrix), np.array(rows.T, order="C")
    found = np.empty(len(rows))
    places = [ctypes.c_void_p(address(part)) for part in (lower, columns, found)]
    p, n = (ctypes.c_ssize_t(size) for size in columns.shape)
    library.sefr_leverages(places[0], p, places[1], n, places[2])
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
    own = ridge_regressions(expected, power, n, None, together=together)
    solver = Solver(library, gram)
    chosen, solved, good = solver.ridge(cross.T, power, float(n), together=together)
    assert good
    np.testing.assert_array_equal(chosen, own.chosen)
    scores = X @ own.solved.T
    np.testing.assert_allclose(X @ solved.T, scores, rtol=0, atol=1e-9 * np.abs(scores).max())
    matrix = gram + n * 0.1 * np.eye(p)
    leverage = ((X @ np.linalg.inv(matrix)) * X).sum(axis=1)
    np.testing.assert_allclose(leverages(library, matrix, X), leverage, rtol=1e-6, atol=1e-9)


def test_no_columns_and_matrices_of_no_rows(library):
    nothing = Solver(library, np.empty((0, 0)))
    chosen, solved, good = nothing.ridge(np.empty((1, 0)), [3.0], 4.0, together=True)
    assert good
    assert chosen[0] in RIDGES
    assert solved.shape == (1, 0)
    gram = np.diag([1.0, -5.0])
    assert not Solver(library, gram).ridge(np.ones((1, 2)), [3.0], 4.0, together=True)[2]


def minus_two_log_likelihood(gram, cross, power, count, others, square):
    """Return that of each of ``RIDGES``, with columns that tell nothing written out, and what each gives."""
    p, degrees = len(gram), count - 1
    whole = np.zeros((p + others, p + others))
    whole[:p, :p], whole[p:, p:] = gram, square * np.eye(others)
    right, found = np.append(cross, np.zeros(others)), []
    for penalty in count * RIDGES:
        inverse = np.linalg.inv(whole + penalty * np.eye(len(whole)))
        left = power - right @ inverse @ right
        determinant = np.linalg.slogdet(np.eye(len(whole)) + whole / penalty)[1]
        found.append((degrees * np.log(left) + determinant, inverse @ right, left, np.trace(whole @ inverse)))
    return found


@pytest.mark.parametrize(("p", "others", "square"), [(6, 0, 0.0), (6, 9, 20.0), (1, 3, 1.0), (2, 0, 0.0)])
def test_the_likeliest_ridge_is_that_of_all_columns(rng, p, others, square):
    for turn in range(12):
        X, y = rng.normal(size=(50, p)), rng.normal(size=50)
        y += 0.5 ** (turn - 2) * X[:, 0]
        gram, cross, power = X.T @ X, X.T @ y, y @ y
        own = Tridiagonal.of(gram, cross[:, None])
        rotated, beside = own.rotated.T, own.beside
        found = likeliest_ridges(
            own.diagonal, beside, rotated, np.array([power]), 50.0, others=(others, square)
        )
        expected = minus_two_log_likelihood(gram, cross, power, 50.0, others, square)
        best = int(np.argmin([each[0] for each in expected]))
        assert found.chosen[0] == RIDGES[best]
        np.testing.assert_allclose(own.turn_back(found.solved.T)[:, 0], expected[best][1][:p], rtol=1e-9)
        np.testing.assert_allclose([found.left[0], found.freedom[0]], expected[best][2:], rtol=1e-9)
        three = np.vstack([rotated, np.zeros((2, p))])  # targets of one value have no say
        power = np.array([power, 0.0, 0.0])
        for each in likeliest_ridges(own.diagonal, beside, three, power, 50.0, together=True).chosen:
            assert each == likeliest_ridges(own.diagonal, beside, rotated, power[:1], 50.0).chosen[0]


def test_of_equally_likely_ridges_the_strongest_is_taken():
    nothing = likeliest_ridges(np.zeros(1), np.empty(0), np.zeros((1, 1)), np.ones(1), 9.0)
    assert nothing.chosen[0] == RIDGES[-1]
    with pytest.raises(np.linalg.LinAlgError):
        likeliest_ridges(np.array([1.0, -50.0]), np.zeros(1), np.zeros((1, 2)), np.ones(1), 9.0)
    with pytest.raises(ValueError, match="beside has length 2, not 1"):
        likeliest_ridges(np.ones(2), np.ones(2), np.zeros((1, 2)), np.ones(1), 9.0)
    with pytest.raises(ValueError, match="ridges has length 0, not 1"):
        likeliest_ridges(np.ones(2), np.ones(1), np.zeros((1, 2)), np.ones(1), 9.0, ridges=np.empty(0))
