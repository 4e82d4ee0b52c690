from typing import Any

def learn(
    sum_bits: int,
    m: int,
    K: int,
    sums: Any,
    counts: Any,
    ranges: Any,
    rows: Any,
    labels: Any,
    half_life: int = 0,
    /,
) -> int: ...
def solve(
    weight_bits: int,
    sum_bits: int,
    m: int,
    K: int,
    sums: Any,
    counts: Any,
    ranges: Any,
    weights: Any,
    bias: Any,
    options: int = 0,
    /,
) -> int: ...
def classify(
    weight_bits: int, m: int, K: int, weights: Any, bias: Any, rows: Any, labels: Any, margin: int = 0, /
) -> None: ...
def bytes_of_integers(m: int, values: Any, low: Any, high: Any, out: Any, /) -> None: ...
