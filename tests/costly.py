"""A made log on which to miss one class costs twenty times a false alarm."""

import numpy as np

from askwho.data import Columns

COSTS = {"fraud": {"fine": 20.0}}
FEES = {"rules": 0.0, "analyst": 0.1, "senior": 0.3}
COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=FEES, error=COSTS)
PLAIN = Columns(truth="truth", answers="answer_*", features="x_*", fees=FEES)


def desk(n=400, seed=0, share=0.08):
    """Columns of a fraud desk: everybody says that nearly all is fine, and misses some of what is not."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    odds = np.log(share / (1 - share)) - 0.5 + x[:, 0]
    truth = rng.random(n) < 1 / (1 + np.exp(-odds))
    table = {"truth": np.where(truth, "fraud", "fine"), "x_0": x[:, 0], "x_1": x[:, 1]}
    for name, seen, alarm in (("rules", 0.5, 0.1), ("analyst", 0.6, 0.03), ("senior", 0.75, 0.02)):
        says = rng.random(n) < np.where(truth, seen, alarm)
        table[f"answer_{name}"] = np.where(says, "fraud", "fine")
    return table


def cost(said, truth):
    """What verdicts cost in the mean."""
    return float(np.where(said == truth, 0.0, np.where(truth == "fraud", 20.0, 1.0)).mean())
