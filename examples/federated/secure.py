"""Four sites learn one model, and nobody, the centre included, sees the Summary of any single site.

Each site is a process of its own. It turns its Summary into integers and adds a mask for each other site;
the two of a pair agree on their mask by Diffie-Hellman key exchange, and one adds what the other takes
away, modulo 2**64. What arrives at the centre looks random; in the sum the masks cancel and the total is
exact. This is the core of secure aggregation (Bonawitz et al., 2017), which Flower's SecAgg+ has too; that
one also survives sites that vanish in the middle of a round. Here such a round fails and is run again
without them.

Then one site withdraws: in a second round it sends its Summary with the sign turned, the others send nothing
but masks, and the new total equals never having had its rows. The centre can subtract the two totals, so
withdrawing alone shows it the Summary of the one who left: withdraw in groups where that matters.

    python examples/federated/secure.py
"""

from __future__ import annotations

import secrets
import sys
from hashlib import shake_256
from multiprocessing import get_context
from multiprocessing.connection import Connection

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from sefr import SEFRClassifier, Summary

SITES, LEAVING = 4, 2
# All agree on these before a row is looked at; the ranges are known, so that no extreme is sent.
FEATURES, CLASSES, LOW, HIGH = 64, 10, 0, 16

# The 2048-bit group of RFC 3526.
PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
    "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F"
    "83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B"
    "E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA0510"
    "15728E5A8AACAA68FFFFFFFFFFFFFFFF",
    16,
)
Words = NDArray[np.uint64]


def rows_of_site(number: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the rows that only this site has."""
    X, y = load_digits(return_X_y=True)
    mine = np.arange(len(y)) % SITES == number
    return X[mine], y[mine]


def words_of(summary: Summary) -> Words:
    """Return counts and sums as integers modulo 2**64."""
    whole = summary.over(np.arange(CLASSES))
    return np.concatenate([whole.counts, whole.sums.ravel()]).astype(np.int64).view(np.uint64)


def summary_of(words: Words) -> Summary:
    """Return the Summary that such integers stand for, with the ranges that all know."""
    numbers = words.view(np.int64).astype(np.float64)
    return Summary.from_parts(
        classes=np.arange(CLASSES),
        counts=numbers[:CLASSES],
        sums=numbers[CLASSES:].reshape(CLASSES, FEATURES),
        low=np.full(FEATURES, LOW),
        high=np.full(FEATURES, HIGH),
    )


def site(number: int, centre: Connection) -> None:
    """Take part in as many rounds as the centre asks for."""
    own = words_of(Summary.of(*rows_of_site(number)))
    secret = secrets.randbits(256)
    centre.send(pow(2, secret, PRIME))
    keys = centre.recv()
    shared = {other: pow(key, secret, PRIME) for other, key in keys.items() if other != number}
    while (asked := centre.recv()) is not None:
        step, leaving = asked
        words = own.copy() if leaving is None else (-own if leaving == number else np.zeros_like(own))
        for other, key in shared.items():
            seed = f"{step} {min(number, other)} {max(number, other)} {key}".encode()
            mask = np.frombuffer(shake_256(seed).digest(words.nbytes), dtype="<u8")
            words = words + mask if number < other else words - mask
        centre.send(words)


def masked_round(step: int, leaving: int | None, pipes: list[Connection]) -> list[Words]:
    """Ask every site for its masked integers."""
    for pipe in pipes:
        pipe.send((step, leaving))
    return [pipe.recv() for pipe in pipes]


def main() -> None:
    """Run the sites, add up what they send, let one leave, and compare with all rows in one place."""
    context = get_context("spawn")
    pipes, processes = [], []
    for number in range(SITES):
        here, there = context.Pipe()
        process = context.Process(target=site, args=(number, there), daemon=True)
        process.start()
        pipes.append(here)
        processes.append(process)
    keys = {number: pipe.recv() for number, pipe in enumerate(pipes)}
    for pipe in pipes:
        pipe.send(keys)
    sent = masked_round(1, None, pipes)
    total = np.sum(sent, axis=0, dtype=np.uint64)
    change = np.sum(masked_round(2, LEAVING, pipes), axis=0, dtype=np.uint64)
    for pipe in pipes:
        pipe.send(None)
    for process in processes:
        process.join()
    alone = [Summary.of(*rows_of_site(number)) for number in range(SITES)]  # for the comparison only
    for number, words in enumerate(sent):
        hidden = "hidden" if not np.any(words == words_of(alone[number])) else "SEEN"
        print(f"site {number}: {words.nbytes:,} bytes, its {alone[number].n_rows:.0f} rows are {hidden}")
        if hidden == "SEEN":
            sys.exit("a masked Summary shows a value")
    rest = [summary for number, summary in enumerate(alone) if number != LEAVING]
    for what, words, expected in (
        ("all sites", total, sum(alone)),
        (f"without site {LEAVING}", total + change, sum(rest)),
    ):
        model = SEFRClassifier.from_summary(summary_of(words), scale=(LOW, HIGH))
        same = SEFRClassifier.from_summary(expected, scale=(LOW, HIGH))
        equal = np.array_equal(model.coef_, same.coef_) and np.array_equal(model.intercept_, same.intercept_)
        verdict = "the same" if equal else "ANOTHER"
        print(f"{what}: {model.summary_.n_rows:.0f} rows; the model of these rows in one place: {verdict}")
        if not equal:
            sys.exit("the models differ")


if __name__ == "__main__":
    main()
