"""What ``n_jobs=None`` promises, one thread, holds for further passes, where numpy calls BLAS."""

import time

import pytest
from threadpoolctl import threadpool_info

from sefr import SEFRClassifier


def seconds_of_other_threads(work):
    """Return the CPU time of this thread, and of all others of the process, that ``work`` takes."""
    own, all_threads = time.thread_time(), time.process_time()
    work()
    own = time.thread_time() - own
    return own, time.process_time() - all_threads - own


@pytest.mark.parametrize(("n_rows", "n_features", "n_classes"), [(400, 300, 5), (4000, 600, 2)])
def test_further_passes_run_in_one_thread(rng, n_rows, n_features, n_classes):
    if not any(pool["user_api"] == "blas" and pool["num_threads"] > 1 for pool in threadpool_info()):
        pytest.skip("BLAS has one thread here anyway")
    X = rng.normal(size=(1000, 1000))
    assert seconds_of_other_threads(lambda: [X @ X for _ in range(5)])[1] > 0  # such threads are seen
    y = rng.integers(0, n_classes, n_rows)
    X = rng.normal(size=(n_rows, n_features)) + 0.1 * y[:, None]
    time.sleep(0.3)  # threads that wait for work spin for a while
    own, others = seconds_of_other_threads(lambda: SEFRClassifier(passes=10).fit(X, y))
    assert others < 0.02 + 0.02 * own
    before = [pool["num_threads"] for pool in threadpool_info()]
    SEFRClassifier(passes=3).fit(X, y)
    assert [pool["num_threads"] for pool in threadpool_info()] == before
