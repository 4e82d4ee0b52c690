"""What must work after installing a wheel where there is no compiler."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

import sefr
import sefr.reference
from sefr.device import Twin

assert not any(map(shutil.which, ("gcc", "cc", "clang"))), "there is a compiler on the path"
assert "site-packages" in sefr.__file__, sefr.__file__
assert (Path(sefr.__file__).parent / "studio" / "studio.html").stat().st_size > 100_000
X, y = load_breast_cancer(return_X_y=True)
one, ten = (sefr.SEFRClassifier(passes=passes).fit(X, y) for passes in (1, 10))
assert one.score(X, y) > 0.9
assert ten.score(X, y) > 0.97
assert (one.predict(X) == sefr.reference.fit(X, y).predict(X)).all()
assert (Twin(one).predict(X) == one.predict(X)).mean() > 0.97
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.sefr"
    sefr.save(ten, path)
    assert np.array_equal(sefr.load(path).decision_function(X), ten.decision_function(X))
print(f"sefr {sefr.__version__} from a wheel: one pass {one.score(X, y):.3f}, ten {ten.score(X, y):.3f}")
