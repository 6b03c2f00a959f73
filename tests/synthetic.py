"""A small log with a known best answer: two regions, an expert for each, a dear one for both, and noise."""

import numpy as np

FEES = {"left": 0.1, "right": 0.1, "both": 1.0, "noise": 0.01}


def classification(n=600, seed=0, missing=0.0):
    """Columns of a log: x_0 tells the region, and so who is right."""
    rng = np.random.default_rng(seed)
    x, truth = rng.uniform(-1, 1, (n, 3)), rng.choice(["cat", "dog", "owl"], n)
    right = {
        "left": np.where(x[:, 0] < 0, 0.95, 0.35),
        "right": np.where(x[:, 0] >= 0, 0.95, 0.35),
        "both": np.full(n, 0.97),
        "noise": np.full(n, 0.34),
    }
    table = {f"x_{i}": x[:, i] for i in range(3)} | {"truth": truth, "kind": rng.choice(["a", "b"], n)}
    for name, chance in right.items():
        wrong = rng.choice(["cat", "dog", "owl"], n)
        said = np.where(rng.random(n) < chance, truth, wrong).astype(object)
        said[rng.random(n) < missing] = None
        table[f"answer_{name}"] = said
    return table


def regression(n=600, seed=0):
    """Columns of a log: each expert is precise in its own region."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    truth = 10 + 3 * rng.normal(size=n)
    noise = {
        "left": np.where(x[:, 0] < 0, 0.1, 2.0),
        "right": np.where(x[:, 0] >= 0, 0.1, 2.0),
        "both": np.full(n, 0.05),
        "noise": np.full(n, 4.0),
    }
    table = {f"x_{i}": x[:, i] for i in range(3)} | {"truth": truth}
    return table | {f"answer_{name}": truth + scale * rng.normal(size=n) for name, scale in noise.items()}


def grades(n=600, seed=0):
    """Columns of a log without a truth: grades of two entities."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    table = {f"x_{i}": x[:, i] for i in range(3)}
    table["grade_cheap"] = (rng.random(n) < np.where(x[:, 0] < 0, 0.9, 0.3)).astype(float)
    return table | {"grade_dear": (rng.random(n) < 0.92).astype(float)}


def tried(rows, setting):
    """The mean fee and error of held-out rows at a setting, each at the price that its coin says."""
    prices = rows.prices.tolist()
    aside = rows.coins < setting.share
    here, there = prices.index(setting.fee_weight), prices.index(setting.other)
    return tuple(np.where(aside, table[there], table[here]).mean() for table in (rows.fees, rows.errors))
