"""Four hospitals learn one model by Flower's SecAgg+; the centre learns the sum of their Summaries only.

Each hospital is a process of its own in Flower's simulation. The features are floats, cut at edges that all
agree on before a row is looked at, so a Summary of second moments is a vector of integers: how many rows of
each class lie in each cell, and how many rows lie in each pair of cells. Flower masks these integers, and
their sum is exact. So the model is the one that all rows in one place would have given, the same one.

Three rounds: all hospitals send their Summaries; one of them withdraws, by sending its Summary with the sign
turned while the others send zeros; then all send again, and one drops out in the middle of the round, which
SecAgg+ survives. The centre can subtract two totals: who withdraws alone is seen, so withdraw in groups where
that matters.

    pip install --target build/flower 'flwr[simulation]==1.41.0'
    PYTHONPATH=build/flower python examples/federated/flower.py
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable

os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import numpy as np
from flwr.app import Message
from flwr.client import Client, ClientApp, NumPyClient
from flwr.client.mod import secaggplus_mod
from flwr.common import Context, bytes_to_ndarray, ndarrays_to_parameters, parameters_to_ndarrays
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, Key
from flwr.server import Grid, LegacyContext, ServerApp, ServerConfig
from flwr.server.strategy import FedAvg
from flwr.server.workflow import DefaultWorkflow, SecAggPlusWorkflow
from flwr.simulation import run_simulation
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from sefr import SEFRClassifier, Summary

SITES, LEAVING, DROPPED = 4, 2, 3
ROUNDS = ("all send", "one withdraws", "one drops out")

# What all agree on: the classes, and the largest value that each feature may have, cut into eight bins.
CLASSES = np.array([0, 1])
HIGHEST = (
    *(30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1),
    *(3, 5, 25, 600, 0.04, 0.15, 0.4, 0.06, 0.1, 0.03),
    *(40, 50, 260, 4500, 0.25, 1.1, 1.3, 0.3, 0.7, 0.25),
)
EDGES = [np.linspace(0, high, 9)[1:-1] for high in HIGHEST]

# Flower carries floats as integers: x becomes (x + LIMIT) * RANGE / (2 * LIMIT). With these two a whole
# number below LIMIT is carried as it is. The sum of all sites must stay below MODULUS: a thousand of 2**22.
LIMIT, RANGE, MODULUS = 2**21, 2**22, 2**32

Floats = NDArray[np.float64]


def rows_of_nobody() -> tuple[Floats, NDArray[np.int64]]:
    """Return the rows that accuracy is measured on."""
    X, y = load_breast_cancer(return_X_y=True)
    return X[::3], y[::3]


def rows_of_site(number: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return the rows that only this site has."""
    X, y = load_breast_cancer(return_X_y=True)
    mine = np.arange(len(y)) % SITES == number
    mine[::3] = False
    return X[mine], y[mine]


def summary_of_site(number: int) -> Summary:
    """Return the Summary of a site's rows, over the cells and the classes that all agree on."""
    return Summary.of(*rows_of_site(number), bins=EDGES, moments=2).over(CLASSES)


def integers_of(summary: Summary) -> Floats:
    """Return the whole numbers of a Summary: rows per class, per class and cell, and per pair of cells."""
    pairs = summary.products.to_plain()["packed"]
    numbers = np.concatenate([summary.counts, summary.sums.ravel(), pairs])
    if np.any(numbers != np.rint(numbers)) or np.any(np.abs(numbers) >= LIMIT):
        raise ValueError(f"only whole numbers below {LIMIT} are carried exactly")
    return numbers


def summary_of(numbers: Floats) -> Summary:
    """Return the Summary that such numbers stand for."""
    form = Summary.of(np.zeros((1, len(EDGES))), CLASSES[:1], bins=EDGES, moments=2).over(CLASSES)
    counts, cells, pairs = np.split(numbers, np.cumsum([len(CLASSES), form.sums.size]))
    products = form.products.from_plain(form.products.to_plain() | {"packed": pairs})
    sums = cells.reshape(form.sums.shape)
    return Summary.from_parts(classes=CLASSES, counts=counts, sums=sums, coder=form.coder, products=products)


class Site(NumPyClient):
    """A hospital: it answers each round with integers, which the mod of SecAgg+ masks before they leave."""

    def __init__(self, number: int) -> None:
        self.number = number

    def fit(self, parameters: list[Floats], config: dict[str, str]) -> tuple[list[Floats], int, dict]:
        """Return what this round asks for. Flower shows the second value to the centre: it says nothing."""
        own = integers_of(summary_of_site(self.number))
        if config["round"] == "one withdraws":
            own = -own if self.number == LEAVING else np.zeros_like(own)
        if config["round"] == "one drops out" and self.number == DROPPED:
            raise ConnectionError("this site is gone before its integers are sent")
        return [own], 1, {}


def site_of(context: Context) -> Client:
    """Return the site that runs at a node."""
    return Site(int(context.node_config["partition-id"])).to_client()


client_app = ClientApp(client_fn=site_of, mods=[secaggplus_mod])
server_app = ServerApp()


class Totals(FedAvg):
    """What the centre learns: one total per round."""

    def __init__(self) -> None:
        empty = np.zeros_like(integers_of(summary_of_site(0)))
        super().__init__(
            fraction_evaluate=0.0,
            min_fit_clients=SITES,
            min_available_clients=SITES,
            initial_parameters=ndarrays_to_parameters([empty]),
            on_fit_config_fn=lambda number: {"round": ROUNDS[number - 1]},
        )
        self.totals: dict[str, Floats] = {}

    def aggregate_fit(self, server_round, results, failures):
        """Keep the total: Flower gives every site the mean of all."""
        if results:
            (mean,) = parameters_to_ndarrays(results[0][1].parameters)
            self.totals[ROUNDS[server_round - 1]] = np.rint(mean * len(results))
        return None, {}


totals = Totals()
received: list[NDArray[np.int64]] = []  # the masked integers, as they came to the centre
unmasked: list[str] = []  # arrays that came beside them; there must be none


def watched(messages: Iterable[Message]) -> list[Message]:
    """Keep what sites have sent of their Summaries."""
    found = list(messages)
    for message in found:
        if message.has_content():
            unmasked.extend(name for record in message.content.array_records.values() for name in record)
            masked = message.content.config_records[RECORD_KEY_CONFIGS].get(Key.MASKED_PARAMETERS)
            if masked is not None:
                received.append(np.concatenate([bytes_to_ndarray(data).ravel() for data in masked[1:]]))
    return found


@server_app.main()
def centre(grid: Grid, context: Context) -> None:
    """Run the rounds."""
    ask = grid.send_and_receive
    grid.send_and_receive = lambda *asked, **how: watched(ask(*asked, **how))
    aggregation = SecAggPlusWorkflow(
        num_shares=1.0,
        reconstruction_threshold=0.75,
        max_weight=1.0,
        clipping_range=float(LIMIT),
        quantization_range=RANGE,
        modulus_range=MODULUS,
    )
    legacy = LegacyContext(context=context, config=ServerConfig(num_rounds=len(ROUNDS)), strategy=totals)
    DefaultWorkflow(fit_workflow=aggregation)(grid, legacy)


def compare(what: str, numbers: Floats, absent: int | None = None) -> bool:
    """Say whether the model of a total is that of the sites' rows in one place."""
    sites = [number for number in range(SITES) if number != absent]
    X, y = (np.concatenate(parts) for parts in zip(*map(rows_of_site, sites), strict=True))
    model = SEFRClassifier.from_summary(summary_of(numbers), bins=EDGES, moments=2)
    alone = SEFRClassifier(bins=EDGES, moments=2).fit(X, y)
    X, y = rows_of_nobody()
    scores = [each.decision_function(X) for each in (model, alone)]
    same = model.summary_ == alone.summary_ and np.array_equal(*scores)
    verdict = "the same" if same else "ANOTHER"
    rows = f"{model.summary_.n_rows:.0f} rows, accuracy {model.score(X, y):.3f} on others"
    print(f"{what}: {rows}; the model of these rows in one place: {verdict}")
    return same


def main() -> None:
    """Let Flower run the sites, each in a process, and compare with all rows in one place."""
    logging.getLogger("flwr").setLevel(logging.CRITICAL)
    processes = {"num_cpus": SITES, "include_dashboard": False, "log_to_driver": False}
    resources = {"init_args": processes, "client_resources": {"num_cpus": 1, "num_gpus": 0.0}}
    run_simulation(server_app, client_app, SITES, backend_config=resources)
    plain = [
        integers_of(summary_of_site(number)) + LIMIT for number in range(SITES)
    ]  # for the comparison only
    seen = max(np.mean(masked == own) for masked in received for own in plain)
    print(f"{len(received)} masked Summaries of {len(plain[0])} integers came to the centre")
    print(f"of these integers it could read {seen:.0%}")  # one in 2**32 is equal by chance
    rest = totals.totals["all send"] + totals.totals["one withdraws"]
    same = [
        compare("all sites", totals.totals["all send"]),
        compare(f"without site {LEAVING}, which withdrew", rest, LEAVING),
        compare(f"without site {DROPPED}, which dropped out", totals.totals["one drops out"], DROPPED),
    ]
    if seen > 0.001 or unmasked or not all(same):
        sys.exit("a Summary was seen, or the models differ")


if __name__ == "__main__":
    main()
