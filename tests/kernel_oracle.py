"""What the kernels must compute, in plain numpy: one row at a time, no blocks, no threads."""

import numpy as np

from sefr import _native

DTYPES = ["f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]


def summarise(X, codes, weights, n_classes, n_folds, skip_nan):
    """Sums, counts, low, high and present of ``X`` (2-D), as ``_native.summarise`` defines them."""
    X = np.asarray(X).astype(float)
    m = X.shape[1]
    sums, present = np.zeros((2, n_folds * n_classes, m))
    counts = np.zeros(n_folds * n_classes)
    low, high = np.full((n_folds, m), np.inf), np.full((n_folds, m), -np.inf)
    weights = np.ones(len(X)) if weights is None else weights
    for x, g, w in zip(X, codes, weights, strict=True):
        if g < 0 or w == 0:
            continue
        there = ~np.isnan(x)
        counts[g] += w
        present[g] += w * there
        sums[g] += w * (np.where(there, x, 0.0) if skip_nan else x)
        fold = g // n_classes
        low[fold] = np.fmin(low[fold], x)
        high[fold] = np.fmax(high[fold], x)
    return sums, counts, low, high, present


def outputs(n_classes, n_folds, m, skip_nan):
    """Arrays for a kernel to write, filled with a value that must not survive."""
    groups = n_classes * n_folds
    shapes = [(groups, m), (groups,), (n_folds, m), (n_folds, m), (groups, m)]
    arrays = [np.full(shape, 123.456) for shape in shapes]
    return arrays if skip_nan else [*arrays[:4], None]


def run(kernel, X, codes, weights, n_classes, n_folds, m, skip_nan=False, n_threads=1):
    """Call a kernel with fresh outputs; returns (finite, outputs)."""
    out = outputs(n_classes, n_folds, m, skip_nan)
    args = X if isinstance(X, tuple) else (X,)
    finite = kernel(*args, codes, weights, n_classes, *out, n_threads)
    return finite, out


def random_matrix(rng, n, m, dtype, missing=0.0):
    """Values over the whole range of a narrow type, or a range in which sums of integers are exact."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        X = (rng.normal(size=(n, m)) * 10.0 + 3.0).astype(dtype)
        X[rng.random((n, m)) < missing] = np.nan
        return X
    if dtype.kind == "b":
        return rng.random((n, m)) < 0.5
    info = np.iinfo(dtype)
    low, high = max(info.min, -(2**40)), min(info.max, 2**40)
    X = rng.integers(low, high, (n, m), dtype=dtype, endpoint=True)
    if X.size:  # the extremes, where an accumulator that is too narrow would overflow
        X[rng.random((n, m)) < 0.2] = high
        X[rng.random((n, m)) < 0.1] = low
    return X


def layouts(X):
    """The same values in other places of memory: (name, array) pairs."""
    n, m = X.shape
    yield "C", np.ascontiguousarray(X)
    yield "F", np.asfortranarray(X)
    wide = np.zeros((2 * n + 1, 3 * m + 2), X.dtype)
    wide[1 : 2 * n + 1 : 2, 2 : 3 * m + 2 : 3] = X
    yield "strided", wide[1 : 2 * n + 1 : 2, 2 : 3 * m + 2 : 3]
    yield "reversed", np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    padded = np.zeros((n, m + 3), X.dtype)
    padded[:, 1 : m + 1] = X
    yield "padded rows", padded[:, 1 : m + 1]
    raw = np.zeros(X.nbytes + 16, np.uint8)
    odd = np.frombuffer(raw.data, X.dtype, X.size, 1).reshape(n, m) if X.size else X
    if X.size:
        odd.flags.writeable and odd.__setitem__(slice(None), X)
        odd = np.ndarray((n, m), X.dtype, raw, 1)
        odd[:] = X
    yield "unaligned", odd


def compare(found, expected, exact, label):
    """Assert equal outputs; ``exact`` to the bit, else within rounding."""
    names = ["sums", "counts", "low", "high", "present"]
    for name, a, b in zip(names, found, expected, strict=True):
        if a is None:
            continue
        if exact or name in ("low", "high"):
            np.testing.assert_array_equal(a, b, f"{label}: {name}")
        else:
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-10, err_msg=f"{label}: {name}")


__all__ = ["DTYPES", "_native", "compare", "layouts", "outputs", "random_matrix", "run", "summarise"]
