"""What ``n_jobs=None`` promises, one thread, holds for further passes, where numpy calls BLAS."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

# In a process of its own: threads that other tests have left behind would be counted too.
PROGRAM = """
import sys, time
import numpy as np
from threadpoolctl import threadpool_info
from sefr import SEFRClassifier

def seconds_of_other_threads(work):
    own, all_threads = time.thread_time(), time.process_time()
    work()
    own = time.thread_time() - own
    return own, time.process_time() - all_threads - own

n_rows, n_features, n_classes = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 1000))
if not any(pool["user_api"] == "blas" and pool["num_threads"] > 1 for pool in threadpool_info()):
    raise SystemExit("BLAS has one thread here anyway")
assert seconds_of_other_threads(lambda: [X @ X for _ in range(5)])[1] > 0  # such threads are seen
y = rng.integers(0, n_classes, n_rows)
X = rng.normal(size=(n_rows, n_features)) + 0.1 * y[:, None]
time.sleep(0.3)  # threads that wait for work spin for a while
own, others = seconds_of_other_threads(lambda: SEFRClassifier(passes=10).fit(X, y))
assert others < 0.02 + 0.02 * own, (own, others)
before = [pool["num_threads"] for pool in threadpool_info()]
SEFRClassifier(passes=3).fit(X, y)
assert [pool["num_threads"] for pool in threadpool_info()] == before
"""


@pytest.mark.parametrize("shape", [(400, 300, 5), (4000, 600, 2)])
def test_further_passes_run_in_one_thread(shape):
    free = {
        name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"
    }  # make test: 1
    program = [sys.executable, "-c", PROGRAM, *map(str, shape)]
    done = subprocess.run(program, capture_output=True, text=True, env=free)
    if "one thread here anyway" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
