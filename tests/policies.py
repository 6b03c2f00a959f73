"""Fitted policies of every kind, each fitted once however many tests ask for it, and new queries for them."""

from functools import cache
from typing import Any

import numpy as np

from askwho.core import Answers, Cell, Panel
from askwho.data import read_log
from askwho.engine import Training
from askwho.fitting import calibrate, fit
from askwho.learners import CompSum
from askwho.policy import Policy, Target
from tests import synthetic

KINDS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "classes": (synthetic.classification, synthetic.COLUMNS, {"base": "none"}),
    "votes": (synthetic.classification, synthetic.COLUMNS, {"base": "none", "committee": "log-odds-vote"}),
    "own base": (synthetic.known, synthetic.COLUMNS, {}),
    "numbers": (synthetic.regression, synthetic.COLUMNS, {"base": "none"}),
    "numbers, own base": (synthetic.estimated, synthetic.COLUMNS, {}),
    "fees by query": (synthetic.charged, synthetic.CHARGED, {"base": "none"}),
    "free answers": (synthetic.free, synthetic.FREE, {"base": "none"}),
    "many classes": (synthetic.many, synthetic.FREE, {}),
    "grades": (synthetic.grades, synthetic.GRADED, {}),
}
"""What a log holds, how it is read, and how it is fitted; all by a linear learner, in three folds."""
PRICED = "priced"
"""The paper's policy, whose price is baked in; it needs torch."""
COMP_SUM = CompSum(hidden=(16,), fee_weight=0.3, training=Training(epochs=25, batch=64, rate=1e-2))
"""How that is trained."""
ANSWERED = [kind for kind in KINDS if kind != "grades"]
"""Those that combine answers."""


@cache
def fitted(kind: str) -> Policy:
    """The policy of a kind."""
    if kind == PRICED:
        return fit(read_log(synthetic.classification(600), synthetic.COLUMNS), learner=COMP_SUM, base="none", cv=3)
    make, columns, given = KINDS[kind]
    return fit(read_log(make(700), columns), learner="linear", cv=3, **given)


@cache
def promising(kind: str) -> Policy:
    """The same, calibrated on rows that it has not seen, so that it can promise."""
    policy = fitted(kind)
    return calibrate(policy, read_log(queries(kind, 500, seed=8), policy.columns))


def queries(kind: str, n: int = 120, seed: int = 1) -> dict[str, np.ndarray]:
    """New rows of such a log, answers and all."""
    return (synthetic.classification if kind == PRICED else KINDS[kind][0])(n, seed=seed)


def said(policy: Policy, table: dict[str, Any], heard: np.ndarray | None = None) -> Answers:
    """What the experts of a policy say in a table, shape (n, |A|); those not heard were not asked."""
    outside = tuple(e for e in policy.panel.entities if not e.own)
    everything = Answers.from_table({e.name: table[f"answer_{e.name}"] for e in outside}, Panel(outside))
    if heard is None:
        return everything
    return Answers(everything.values, np.where(heard, everything.states, np.int8(Cell.NOT_ASKED)).astype(np.int8))


def row(table: dict[str, Any], i: int) -> dict[str, Any]:
    """One row of a table, as columns."""
    return {name: values[i : i + 1] for name, values in table.items()}


def taking_turns(policy: Policy, table: dict[str, Any], target: Target, **given: Any) -> tuple[np.ndarray, int]:
    """Ask, hear, and ask again, as a user would; who was asked in the end, shape (n, |A|), and in how many rounds."""
    seen = policy.see(table)
    outside = np.flatnonzero(~policy.panel.own)
    heard = np.zeros((len(seen), len(policy.panel)), dtype=bool)
    for rounds in range(len(outside) + 1):
        step = policy.next(seen, said(policy, table, heard[:, outside]), target, **given)
        rows = np.flatnonzero(step.k)
        if not rows.size:
            return heard, rounds
        asked = step.order[rows, 0]
        assert not heard[rows, asked].any()
        heard[rows, asked] = True
    raise AssertionError("it never stops")
