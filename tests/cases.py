"""Logs of every kind, each with a policy fitted on other rows of the same kind: once in a session."""

from functools import cache

import numpy as np

from askwho import Columns, fit, read_log
from tests import synthetic

HOSTILE = "<script>alert('x')</script>"
NAMES = {
    "left": "<img src=x onerror=alert(1)>",
    "right": "=cmd()|\"quoted\" & 'more'",
    "both": "$\\alpha_1$ \u202eדגמה مثال",
    "noise": "_" + "a very long name " * 40,
}
TWO = Columns(truth="truth", answers="answer_*", features="x_*", fees={"up": 0.2, "down": 0.3})
ANSWERS = Columns(truth="truth", answers="answer_*", features="x_*,kind", fees=synthetic.FEES)


def hostile(n, seed=0):
    """The log of classes under names, answers and texts that would break a page that trusts them."""
    table = synthetic.classification(n, seed)
    kinds = np.where(table.pop("kind") == "a", HOSTILE, "مجموعة")
    told = {f"answer_{NAMES[name]}": table.pop(f"answer_{name}") for name in NAMES}
    for column in (*told.values(), table["truth"]):
        column[...] = np.array([{"cat": "<b>"}.get(str(word), word) for word in column.tolist()], dtype=object)
    rng = np.random.default_rng(seed)
    words = np.where(table["x_0"] < 0, "</style><b>left", "right\x00 \u202e$\\frac")
    texts = [f"{HOSTILE} {word} {'long ' * 80}{rng.integers(9)}" for word in words]
    return table | told | {"kind": kinds, "text": np.array(texts, dtype=object)}


def learnable(n, seed=0):
    """A log whose truth is mostly in the features: a base of our own is worth having."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 2))
    words = np.array(["cat", "dog", "owl"])
    region = np.digitize(x[:, 0], [-0.4, 0.4])
    truth = np.where(rng.random(n) < 0.75, region, rng.integers(0, 3, n))
    table = {f"x_{i}": x[:, i] for i in range(2)} | {"truth": words[truth]}
    for name, chance in {"up": np.where(x[:, 1] > 0, 0.95, 0.5), "down": np.where(x[:, 1] < 0, 0.95, 0.5)}.items():
        said = np.where(rng.random(n) < chance, truth, rng.integers(0, 3, n))
        table[f"answer_{name}"] = words[said]
    return table


def many_classes(n, seed=0):
    """The same of so many classes that nobody's habits with each are learned: our base is heard like everybody."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 2))
    words = np.array([f"class {i:02d}" for i in range(66)])
    region = np.digitize(x[:, 0], np.linspace(-1, 1, 67)[1:-1])
    truth = np.where(rng.random(n) < 0.8, region, rng.integers(0, 66, n))
    table = {f"x_{i}": x[:, i] for i in range(2)} | {"truth": words[truth]}
    for name, chance in {"up": np.where(x[:, 1] > 0, 0.95, 0.3), "down": np.where(x[:, 1] < 0, 0.95, 0.3)}.items():
        table[f"answer_{name}"] = words[np.where(rng.random(n) < chance, truth, rng.integers(0, 66, n))]
    return table


def far(n, seed=0):
    """The log of numbers in a unit so small that an error is hundreds, and its square tens of thousands or more."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    truth = 300 * rng.normal(size=n)
    noise = {
        "left": np.where(x[:, 0] < 0, 200.0, 900.0),
        "right": np.where(x[:, 0] >= 0, 200.0, 900.0),
        "both": np.full(n, 150.0),
    }
    table = {f"x_{i}": x[:, i] for i in range(3)} | {"truth": truth}
    return table | {f"answer_{name}": truth + scale * rng.normal(size=n) for name, scale in noise.items()}


def _hostile_columns():
    fees = {NAMES[name]: fee for name, fee in synthetic.FEES.items()}
    return Columns(truth="truth", answers="answer_*", features="x_*,kind", text="text", fees=fees)


KINDS = {
    "classes": (synthetic.classification, ANSWERS, {}),
    "own base": (learnable, TWO, {}),
    "many classes": (many_classes, TWO, {}),
    "plain vote": (synthetic.classification, ANSWERS, {"base": "none", "committee": "majority"}),
    "regression": (
        synthetic.regression,
        Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES),
        {},
    ),
    "far": (
        far,
        Columns(truth="truth", answers="answer_*", features="x_*", fees={"left": 0.1, "right": 0.1, "both": 1.0}),
        {"base": "none", "committee": "median"},
    ),
    "grades": (
        synthetic.grades,
        Columns(grades="grade_*", features="x_*", fees={"cheap": 0.1, "dear": 1.0}),
        {},
    ),
    "missing": (
        lambda n, seed=0: synthetic.classification(n, seed, missing=0.25),
        ANSWERS,
        {"base": "none", "committee": "log-odds-vote"},
    ),
    "free": (synthetic.classification, Columns(truth="truth", answers="answer_*", features="x_*"), {"base": "none"}),
    "hostile": (hostile, _hostile_columns(), {"base": "none"}),
}


SHOWN = ("classes", "regression", "grades", "missing", "free", "hostile")
"""The kinds of which a page shows different things."""


@cache
def case(kind):
    """A policy and a log that it has not seen; so few rows let only the first three kinds ask in turn."""
    table, columns, options = KINDS[kind]
    rows = 260 if kind in ("classes", "own base", "many classes") else 190
    policy = fit(read_log(table(rows), columns), learner="linear", cv=3, **options)
    return policy, read_log(table(160, 1), columns)
