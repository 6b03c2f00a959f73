"""A log of a world that moves: at half-time one entity gets worse, and one feature shifts."""

import dataclasses

import numpy as np

from askwho.data import Columns

FEES = {"turns": 0.1, "steady": 0.1, "dear": 1.0}
COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=FEES, time="when")
TIMELESS = dataclasses.replace(COLUMNS, time=None)


def drifting(n=400, seed=0, later=0):
    """Columns of a log of n rows and some that come later: from row n / 2 on "turns" is hardly better than chance."""
    rng = np.random.default_rng(seed)
    step, truth = np.arange(n + later), rng.choice(["a", "b"], n + later)
    right = {
        "turns": np.where(step < n // 2, 0.95, 0.55),
        "steady": np.full(n + later, 0.7),
        "dear": np.full(n + later, 0.85),
    }
    table = {"x_0": rng.uniform(-1, 1, n + later), "x_1": rng.normal(size=n + later) + 1.5 * (step >= n // 2)}
    table |= {"truth": truth, "when": step.astype(np.float64)}
    other = np.where(truth == "a", "b", "a")
    return table | {
        f"answer_{k}": np.where(rng.random(n + later) < chance, truth, other) for k, chance in right.items()
    }


def rows(table, chosen):
    """Some rows of a table."""
    return {name: values[chosen] for name, values in table.items()}
