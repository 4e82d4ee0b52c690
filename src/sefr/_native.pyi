"""The host kernels: C, no Python objects inside a loop, the GIL released.

Every array is passed through the buffer protocol and is never copied. Outputs are allocated by the caller,
C-contiguous, and overwritten. A wrong shape, type or code raises ``ValueError`` or ``TypeError`` before
anything is written; nothing is ever read or written outside a buffer, even if another thread changes it
during the call. Results do not depend on ``n_threads``, to the bit.

``X`` may be float32, float64, (u)int8, (u)int16, (u)int32, (u)int64 or bool, of any strides.
"""

from collections.abc import Sequence
from typing import Any

Buffer = Any

# A feature needs care in ``solve`` and ``is_delicate`` beyond these: see ``native/solve/solve.h``.
DELICATE: float
FAR: float
NARROW: float
# A search ends after two passes in a row that lower the loss by less than this part of it.
STALLED: float

def summarise(
    X: Buffer | Sequence[Buffer],
    codes: Buffer,
    weights: Buffer | None,
    n_classes: int,
    sums: Buffer,
    counts: Buffer,
    low: Buffer,
    high: Buffer,
    present: Buffer | None,
    n_threads: int,
) -> bool:
    """Add up rows: sums per group, lowest and highest value per fold. True if every sum is finite.

    ``X``: (n, m) buffer, or a sequence of m columns, each a 1-D buffer of its own type.
    ``codes``: int32 (n,), contiguous. Row i belongs to group g = codes[i], 0 <= g < F * n_classes, that is to
    class g % n_classes of fold g // n_classes; a negative code leaves the row out.
    ``weights``: float64 (n,), contiguous, >= 0, or None. A row of weight 0 is left out altogether.
    ``sums``: float64 (F * n_classes, m), sum of weight * x. ``counts``: float64 (F * n_classes,), sum of
    weights. ``low``, ``high``: float64 (F, m); +inf and -inf where a fold has no value.
    ``present``: float64 (F * n_classes, m), sum of the weights of the values that are not NaN; where it is
    given, NaN is a missing value and left out of everything. Where it is None, NaN reaches the sums.
    """

def summarise_csr(
    data: Buffer,
    indices: Buffer,
    indptr: Buffer,
    codes: Buffer,
    weights: Buffer | None,
    n_classes: int,
    sums: Buffer,
    counts: Buffer,
    low: Buffer,
    high: Buffer,
    present: Buffer | None,
    n_threads: int,
) -> bool:
    """Add up the rows of a CSR matrix without duplicates, as ``summarise``; implicit zeros are values.

    ``indices`` and ``indptr`` are int32 or int64.
    """

def summarise_csc(
    data: Buffer,
    indices: Buffer,
    indptr: Buffer,
    codes: Buffer,
    weights: Buffer | None,
    n_classes: int,
    sums: Buffer,
    counts: Buffer,
    low: Buffer,
    high: Buffer,
    present: Buffer | None,
    n_threads: int,
) -> bool:
    """Add up the columns of a CSC matrix without duplicates, as ``summarise_csr``."""

def scores(
    X: Buffer | Sequence[Buffer],
    coef: Buffer,
    intercept: Buffer,
    rows: Buffer | None,
    out: Buffer,
    n_threads: int,
) -> None:
    """Write X @ coef.T + intercept to ``out``, in float64, for all rows or the rows listed.

    ``X`` as in ``summarise``; the scores of columns are those of C-contiguous rows, to the bit.
    ``coef``: float64 (k, m). ``intercept``: float64 (k,). ``rows``: int64 (r,) or None. ``out``: float64 (r
    or n, k).
    """

def choose(scores: Buffer, values: Buffer, out: Buffer) -> None:
    """Write to ``out`` (n,) the value of each row's highest score, the first if several are.

    ``scores``: float64 (n, k). ``values``: uint64 (k,); if k is 1, (2,), and the sign of the score chooses.
    """

def gradient(
    X: Buffer | Sequence[Buffer],
    centre: Buffer,
    scale: Buffer,
    codes: Buffer,
    weights: Buffer | None,
    class_weights: Buffer,
    targets: Buffer | None,
    coef: Buffer,
    intercept: Buffer,
    coef_gradient: Buffer,
    intercept_gradient: Buffer,
    n_threads: int,
) -> float:
    """Return the loss of a linear model of standardised features, and write its derivatives.

    ``X``, ``codes`` and ``weights`` as in ``summarise``, one fold. ``class_weights``: float64 (K,); a row
    counts weight * class weight. The model is of x' = (x - centre) * scale, both float64 (m,), and x' = 0
    where that is not finite. ``coef``: float64 (R, m), ``intercept``: float64 (R,), with R = 1 for two
    classes (logistic loss, code 1 is the positive side), else R = K (softmax). With ``targets``, float64 (n,
    R), all rows are of one class, and the loss is (score - target)^2 / 2.
    ``coef_gradient`` and ``intercept_gradient``: float64 like coef and intercept.

    A row is worked on in float32, all that is added up over rows is float64. float32, (u)int8 and (u)int16
    are moved and scaled in float32, so ``centre`` and ``scale`` should be of that; other types in float64.
    """

def gradient_csr(
    data: Buffer,
    indices: Buffer,
    indptr: Buffer,
    fill: Buffer,
    codes: Buffer,
    weights: Buffer | None,
    class_weights: Buffer,
    targets: Buffer | None,
    coef: Buffer,
    intercept: Buffer,
    coef_gradient: Buffer,
    intercept_gradient: Buffer,
    n_threads: int,
) -> float:
    """Do the same for a CSR matrix and a model of its values as they are; ``fill`` (m,) stands in for NaN."""

def find_edges(values: Buffer, most: int, alone: bool, edges: Buffer, starts: Buffer) -> None:
    """Write where features are cut into at most ``most`` cells, 2 to 256.

    ``values``: float64 (m, n), each row rising, NaN at its end. ``edges``: float64 (m * (most - 1),), those
    of one feature after the other; ``starts``: int64 (m + 1,), where each begins. With at most ``most``
    distinct values, all but the lowest are edges; else the quantiles k / most that are above the lowest.
    """

def grow_ferns(
    cells: Buffer,
    starts: Buffer,
    equal: Buffer,
    held: Buffer | None,
    codes: Buffer,
    weights: Buffer | None,
    targets: Buffer | None,
    n_classes: int,
    tried: int,
    bounds: int,
    subsets: int,
    step: float,
    seed: int,
    comparisons: Buffer,
) -> int:
    """Write ferns whose comparisons tell the classes of rows apart; return how many are of use.

    ``cells``: uint8 (n, m), ``starts``: int64 (m + 1,), with one cell more than edges each. ``equal``: uint8
    (m,), 1 where a comparison asks for the very cell. ``codes`` and ``weights`` as in ``summarise``.
    ``targets`` (n, k): numbers of unit variance about 0 to tell instead of classes. For each
    comparison ``tried`` features are drawn, and ``bounds`` cells of each, and the one is kept that tells most
    of what the ferns before left to tell. Of 128 rows or more a quarter is held out: the first ferns, as many
    as tell most about it, are of use; none where no feature has two cells. ``comparisons``: int32 (f, depth,
    2), feature and cell.
    """

def code_cells(
    X: Buffer | Sequence[Buffer],
    edges: Buffer | None,
    starts: Buffer,
    missing: bool,
    ferns: Buffer | None,
    comparisons: Buffer | None,
    cells: Buffer,
    n_threads: int,
) -> bool:
    """Write the cell of every value within its feature; False where a value has none: its cell is 0.

    ``X`` as in ``summarise``. ``edges``: float64, those of feature j from starts[j] to starts[j + 1], finite
    and rising; None: X has cells already, in uint8. ``starts``: int64 (m + 1,), from 0. A cell is the count
    of edges at or below the value. With ``missing``, the last cell of each feature is that of NaN; infinity,
    and NaN without it, have none. ``ferns``: int64 (f + 1,), where the comparisons of each begin, or None;
    ``comparisons``: int32 (q, 3), feature, cell, and whether it must be that very cell or a higher one will
    do. The answers, 1 to 8, are the bits of the cell of a fern. ``cells``: uint8 (n, m + f).
    """

def count_cells(
    X: Buffer | Sequence[Buffer],
    edges: Buffer | None,
    starts: Buffer,
    missing: bool,
    ferns: Buffer | None,
    comparisons: Buffer | None,
    codes: Buffer,
    weights: Buffer | None,
    sums: Buffer,
    counts: Buffer,
    n_threads: int,
) -> bool:
    """Count rows per group and cell; False, and nothing of use, where a value of a row that counts has none.

    ``X`` to ``comparisons`` as in ``code_cells``; ``codes`` and ``weights`` as in ``summarise``. ``sums``:
    float64 (groups, C) with C cells of all features, those of feature j from starts[j] + j on, or starts[j] +
    2 j with ``missing``, then those of the ferns. ``counts``: float64 (groups,).
    """

def cell_scores(
    X: Buffer | Sequence[Buffer],
    edges: Buffer | None,
    starts: Buffer,
    missing: bool,
    ferns: Buffer | None,
    comparisons: Buffer | None,
    table: Buffer,
    intercept: Buffer,
    rows: Buffer | None,
    out: Buffer,
    n_threads: int,
) -> None:
    """Write intercept + the sum over features and ferns of the table's entry of the cell; NaN without one.

    ``X`` to ``comparisons`` as in ``code_cells``. ``table``: float64 (k, C), ``intercept``: float64 (k,).
    ``rows`` and ``out`` as in ``scores``.
    """

def shelve_cells(cells: Buffer, starts: Buffer, missing: bool, n_scores: int) -> object:
    """Return a copy of cells, uint8 (n, m), which ``code_cells`` writes, as ``gradient_cells`` reads them."""

def gradient_cells(
    shelf: object,
    codes: Buffer,
    weights: Buffer | None,
    class_weights: Buffer,
    targets: Buffer | None,
    coef: Buffer,
    intercept: Buffer,
    coef_gradient: Buffer,
    intercept_gradient: Buffer,
    n_threads: int,
) -> float:
    """Return the loss of a table of cells, and write its derivatives: see ``gradient``.

    ``shelf``: what ``shelve_cells`` returned. ``coef`` and ``coef_gradient``: float64 (R, C), per cell.
    """

def begin_search(
    n_scores: int,
    begins: Buffer | None,
    mean: Buffer | None,
    scale: Buffer | None,
    unit: float,
    ridge: float,
    prior_mean: Buffer | None,
    prior_precision: Buffer | None,
    codes: Buffer,
    weights: Buffer,
    mixes: bool,
    point: Buffer,
    loss: float,
    gradient: Buffer,
    memory: object | None,
) -> object:
    """Begin a search by L-BFGS at a point of which loss and gradient are known.

    ``point``, ``gradient``, ``prior_mean``, ``prior_precision``: float64 (n,), weights (R, m) and intercepts
    (R,), flat. A model has the weights times ``unit``; or, with ``begins``, ``mean`` and ``scale`` (m,), is
    what ``step_tables`` writes. ``codes``: int32 (S,), ``weights``: float64 (S,), which add up to 1, of
    a sample of the rows; ``mixes``: the scores of a mixture of models are the mixture of their scores.
    ``memory``: another search, whose steps are remembered. With a loss of infinity the gradient is not that
    of the point.
    """

def search_try(search: object, points: Buffer, start: Buffer | None) -> None:
    """Let the first of up to 3 points, float64 (q, n), be tried next: before anything was asked.

    With ``start``, float64 (q,), their best mixture is tried, searched from these shares on.
    """

def search_ask(search: object, coef: Buffer, intercept: Buffer) -> int | None:
    """Write the models that are asked about, float64 (3 R, m) and (3 R,), and return what is asked.

    None: nothing, since the search has ended. 0: a pass with the first model. Above: the scores of the sample
    by so many models.
    """

def search_tell_scores(search: object, scores: Buffer) -> None:
    """Answer with the scores of the sample by the q models asked about, float64 (S, q R)."""

def search_tell_pass(search: object, coef: Buffer, intercept: Buffer, loss: float) -> float:
    """Answer with the loss of all rows and its derivatives by the model; return the lowest loss so far.

    ``coef``: float64 (R, m). ``intercept``: float64 (R,). The loss returned has the penalty in it.
    """

def search_rows(search: object, rows: Buffer, curve: Buffer) -> int:
    """Make all passes over the rows of the sample, float64 (S, m), which are all there are; return how many.

    ``curve``: float64, of as many places as passes at most: the lowest loss after each.
    """

def search_best(search: object, point: Buffer, gradient: Buffer | None) -> float:
    """Write the best point and its gradient, float64 (n,), and return its loss."""

def search_under(search: object, ridge: float) -> object:
    """Return the search at its best point under another ridge: no row need be read to know it there."""

def fit_scaling(
    scores: Buffer,
    codes: Buffer,
    weights: Buffer,
    evidence: Buffer,
    counts: Buffer | None,
    inverse: float,
    prior_offsets: Buffer | None,
    prior_precision: Buffer | None,
    offsets: Buffer,
    precision: Buffer,
) -> float:
    """Return 1 / T, and write the offsets, float64 (K,), that make the labels of held-out rows most likely.

    ``scores``: float64 (n, R). ``codes``: int32 (n,). ``weights``, ``evidence``: float64 (n,), how many rows
    each stands for, and how many were looked at. ``counts``: float64 (K,), what the rows of a class weigh;
    None: as they come. ``inverse``, ``prior_offsets``, ``prior_precision``: what is known already, or None.
    ``precision``: float64 (K + 1,), how well 1 / T and the offsets are then known.
    """

def weigh_parts(
    logits: Buffer, base: Buffer, codes: Buffer, weights: Buffer, shares: Buffer, losses: Buffer
) -> None:
    """Write how much each of P parts is to say, ``shares`` (P,), for the least log loss of their sum.

    ``logits``: float64 (P * n, K). ``base``: float64 (n, K). ``codes``: int32 (n,). ``weights``: float64
    (n,). ``losses``: float64 (P + 1,), of each part by itself, and of the sum.
    """

def leave_one_out(
    scores: Buffer,
    codes: Buffer,
    weights: Buffer,
    shares: Buffer,
    class_weights: Buffer,
    squared_lengths: Buffer,
    ridge: float,
    by: int,
    width: int,
    known: Buffer,
    known_weights: Buffer,
    known_shares: Buffer,
    say: float,
    left_out: Buffer,
) -> None:
    """Write the scores of rows as if each had been left out when a loss was minimised.

    ``scores``, ``left_out``: float64 (n, R), at the minimum, one for two classes. ``codes``: int32 (n,).
    ``weights``, ``shares``, ``squared_lengths``: float64 (n,): how many rows each stands for, its weight in
    the loss, and its length in the space of the ``width`` weights of a score. ``class_weights``: float64
    (K,), the weight in the loss of one row. ``known``: float64: for ``by`` 0 (n, width), the rows of two
    classes; for 1 and 2 (m, m), products of some rows, whose directions are alike or have a spectrum, of
    ``known_weights`` and ``known_shares``, float64 (m,). ``say``: how far scores move, for 2.
    """

def step_tables(
    begins: Buffer,
    mean: Buffer | None,
    scale: Buffer | None,
    weights: Buffer,
    before: Buffer | None,
    tables: Buffer,
    intercepts: Buffer,
) -> None:
    """Write tables of effects: sums of weights times ``scale`` from where a run of cells begins.

    ``begins``: uint8 (c,), other than 0 where a run begins. ``mean``, ``scale``: float64 (c,), None for 0 and
    1. ``weights``, ``tables``: float64 (k, c). ``intercepts``: float64 (k,), ``before`` (0 for None) less the
    sum of weights times ``scale`` times ``mean``.
    """

def step_slopes(
    begins: Buffer,
    mean: Buffer | None,
    scale: Buffer | None,
    by_table: Buffer,
    by_intercept: Buffer | None,
    by_weight: Buffer,
) -> None:
    """Write derivatives by the weights from those by tables and intercepts: ``step_tables``, transposed.

    ``by_table``, ``by_weight``: float64 (k, c). ``by_intercept``: float64 (k,), None for 0.
    """

def shared_steps(gone: Buffer, places: Buffer, worth: Buffer, shared: Buffer) -> None:
    """Write what pairs of rows have in common, added up over columns.

    ``gone``: float64 (m, n), of which the lower counts. ``places``, ``worth``: float64 (k, n), of which the
    worth counts where places are equal. ``shared``: float64 (n, n).
    """

def products(
    X: Buffer | Sequence[Buffer],
    targets: Buffer | None,
    weights: Buffer | None,
    origin: Buffer,
    missing: bool,
    sums: Buffer,
    squares: Buffer,
    n_threads: int,
) -> bool:
    """Add up columns and their products over rows; False, and nothing of use, where a value is not finite.

    ``X``: (n, m), as in ``summarise``. ``targets``: float64 (n, k), further columns, or None. ``weights``:
    float64 (n,), 1 for None; a row of weight 0 is not looked at. ``origin``: float64 (m + k,), taken from
    each value. With ``missing`` NaN counts as 0, and m columns after those of X are 1 where there was a NaN.
    ``sums``: float64 (f,), of all f columns. ``squares``: float64 (f (f + 1) / 2,), the upper triangle row
    after row. The same bits for any ``n_threads``.
    """

def products_csr(
    data: Buffer,
    indices: Buffer,
    indptr: Buffer,
    weights: Buffer | None,
    origin: Buffer,
    sums: Buffer,
    squares: Buffer,
    n_threads: int,
) -> bool:
    """Do what ``products`` does for a CSR matrix whose indices rise within each row.

    What is not stored is 0 and stays out of all sums: ``origin`` must be 0 for columns with gaps.
    """

def count_pairs(
    X: Buffer | Sequence[Buffer],
    edges: Buffer | None,
    starts: Buffer,
    missing: bool,
    ferns: Buffer | None,
    comparisons: Buffer | None,
    weights: Buffer | None,
    pairs: Buffer,
    n_threads: int,
) -> bool:
    """Count rows per pair of cells; False, and nothing of use, where a value of a row that counts has none.

    ``X`` to ``comparisons`` as in ``code_cells``; ``weights`` as in ``products``. ``pairs``: float64 (C (C +
    1) / 2,), the upper triangle row after row, of C cells.
    """

def step_products(begins: Buffer, scale: Buffer, packed: Buffer, n_columns: int, products: Buffer) -> None:
    """Write the products of steps between columns, from those of columns.

    ``begins``: uint8 (c,), other than 0 where a run of columns begins. ``scale``: float64 (c,): a step is the
    sum of the columns from its own to the end of the run times its scale, and left out where that is 0.
    ``packed``: float64, the upper triangle of the products of ``n_columns`` columns, of which the first c are
    taken. ``products``: float64 (r, r), of which the upper triangle of as many rows as there are steps is
    written.
    """

def likeliest_ridges(
    diagonal: Buffer,
    beside: Buffer,
    rotated: Buffer,
    power: Buffer,
    ridges: Buffer,
    count: float,
    together: bool,
    others: float,
    square: float,
    chosen: Buffer,
    solved: Buffer,
    left: Buffer,
    freedom: Buffer,
) -> bool:
    """Write the ridge regressions of K targets, each with its likeliest ridge; False: products of no rows.

    ``diagonal``: float64 (p,), ``beside``: float64 (p - 1,), of the products of columns made tridiagonal.
    ``rotated``, ``solved``: float64 (K, p), in its coordinates. ``power``: float64 (K,), the squares of the
    targets. ``ridges``: float64, rising, per row, of which ``chosen``, float64 (K,), are: one ``together``.
    ``others`` columns beside those, each of ``square`` with itself. ``left``, ``freedom``: float64 (K,).
    """

def solve(
    sums: Buffer,
    counts: Buffer,
    low: Buffer,
    span: Buffer,
    epsilon: float,
    weights: Buffer,
    bias: Buffer,
    midpoints: Buffer | None,
) -> bool:
    """Write the hyperplanes that sums define (eq. 3 to 9); False, and nothing of use, where that needs care.

    ``sums``: float64 (K, m). ``counts``: float64 (K,). ``low``, ``span``: float64 (m,), what features are
    scaled by. ``weights``: float64 (R, m), of scaled features, with R = 1 for two classes, else K. ``bias``:
    float64 (R,), goes with these. ``midpoints``: float64 (R, m), where a feature speaks for neither side.
    It needs care where a class has no rows, or a value is so far from zero that float64 loses too much.
    """

def solve_means(
    means: Buffer,
    counts: Buffer,
    rest: Buffer,
    epsilon: float,
    weights: Buffer,
    bias: Buffer,
    midpoints: Buffer,
) -> None:
    """Write the same from means of the scaled features that were taken with care (eq. 5 to 9).

    ``means``: float64 (K, m), NaN where a class has no value. ``rest``: float64 (R, m), of the other side.
    """

def is_delicate(sums: Buffer, counts: Buffer, low: Buffer) -> bool:
    """Say whether a feature lies so far from zero that its plain sum loses what distinguishes its values."""

def encode_integers(y: Buffer, codes: Buffer) -> list[int] | None:
    """Write to ``codes`` (int32) the rank of each integer or bool among the distinct ones, returned sorted.

    None, and ``codes`` undefined, where highest - lowest exceeds 65536 + 4 * len(y).
    """

def encode_bytes(y: Buffer, codes: Buffer) -> list[int]:
    """Code items of one size (a fixed-width string array viewed as bytes, (n, itemsize) uint8) by hashing.

    Codes (int32) count distinct items in order of appearance; returns the position of each one's first
    appearance.
    """

def encode_objects(y: Buffer, codes: Buffer) -> list[object]:
    """Code hashable objects (an object array) in order of appearance; returns the distinct ones in order."""

def signal_features(
    windows: Buffer,
    dilations: Buffer,
    kernels: int,
    thresholds: int,
    levels: Buffer,
    segments: int,
    lowest: Buffer,
    highest: Buffer,
    features: Buffer,
    n_threads: int,
) -> None:
    """Features of windows of a signal, as ``signals/reference.py`` defines them.

    ``windows``: int16 (n, axes, length). ``dilations``: int32. ``kernels`` per axis and dilation, a divisor
    of 84; ``thresholds`` per kernel. ``levels``: int8, one per count, in eighths of the spread. ``segments``:
    0 for no statistics, else at most length / 2. ``lowest``, ``highest``: int32 (axes,). ``features``: uint8
    (n, counts and statistics).
    """
