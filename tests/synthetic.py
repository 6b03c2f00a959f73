"""A small log with a known best answer: two regions, an expert for each, a dear one for both, and noise."""

import numpy as np

from askwho.data import Columns

FEES = {"left": 0.1, "right": 0.1, "both": 1.0, "noise": 0.01}
COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=FEES)
CHARGED = Columns(truth="truth", answers="answer_*", features="x_*", fees="fee_*")
GRADED = Columns(grades="grade_*", features="x_*", fees={"cheap": 0.1, "dear": 1.0})
FREE = Columns(truth="truth", answers="answer_*", features="x_*", fees={"a": 0.1, "b": 0.1, "c": 1.0})


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


def known(n=600, seed=0):
    """The same log, but x_1 tells the class, so that a base of our own is worth having."""
    table = classification(n, seed)
    places = np.searchsorted(["cat", "dog", "owl"], table["truth"])
    return table | {"x_1": places + np.random.default_rng(seed).normal(0, 0.4, n)}


def estimated(n=600, seed=0):
    """The same of numbers: x_1 tells the truth about, so that a base of our own is worth having."""
    table = regression(n, seed)
    return table | {"x_1": table["truth"] + np.random.default_rng(seed).normal(0, 0.5, n)}


def charged(n=600, seed=0):
    """The same log with fees by query: where x_1 is above zero "both" charges 26, elsewhere 4; nobody else moves."""
    table = classification(n, seed)
    table["x_1"] = np.where(table["x_1"] > 0, 1.0, 0.0)
    fees = {f"fee_{name}": np.full(n, fee) for name, fee in FEES.items()}
    return table | fees | {"fee_both": np.where(table["x_1"] > 0, 26.0, 4.0)}


def free(n=500, seed=0):
    """Columns of a log whose answers are free text: no two rows share one."""
    rng = np.random.default_rng(seed)
    truth = np.array([f"{seed}-{i}" for i in range(n)])
    table = {f"x_{i}": rng.normal(size=n) for i in range(2)} | {"truth": truth}
    for name, chance in (("a", 0.5), ("b", 0.6), ("c", 0.9)):
        wrong = np.array([f"{seed}-{i}-{j}" for i, j in enumerate(rng.integers(0, 4, n))])
        table[f"answer_{name}"] = np.where(rng.random(n) < chance, truth, wrong)
    return table


def many(n=600, seed=0):
    """Columns of a log with eighty classes, in words; x_0 tells them about."""
    rng = np.random.default_rng(seed)
    words = np.array([f"word{i:02d}" for i in range(80)])
    place = rng.integers(0, 80, n)
    table = {"x_0": place + rng.normal(0, 0.4, n), "x_1": rng.normal(size=n), "truth": words[place]}
    for name, chance in (("a", 0.5), ("b", 0.6), ("c", 0.9)):
        table[f"answer_{name}"] = np.where(rng.random(n) < chance, table["truth"], words[rng.integers(0, 80, n)])
    return table


def tried(rows, setting):
    """The mean fee and error of held-out rows at a setting, each at the price that its coin says."""
    prices = rows.prices.tolist()
    aside = rows.coins < setting.share
    here, there = prices.index(setting.fee_weight), prices.index(setting.other)
    return tuple(np.where(aside, table[there], table[here]).mean() for table in (rows.fees, rows.errors))
