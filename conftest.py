"""Modules and pages whose examples need packages that the small set of wheels for make test does not have."""

from importlib.util import find_spec

NEEDS = {
    "lightgbm": ["laboratory/*", "tests/laboratory/*"],
    "opendp": ["docs/guide/federated.md"],
    "pooch": ["laboratory/*", "tests/laboratory/*"],
    "pyspark": [
        "src/sefr/engines/spark.py",
        "src/sefr/engines/cluster/spark.py",
        "src/sefr/engines/spark_ml.py",
        "src/sefr/engines/spark_regression.py",
    ],
}
ABSENT = [package for package in NEEDS if find_spec(package) is None]
collect_ignore_glob = [path for package in ABSENT for path in NEEDS[package]]
