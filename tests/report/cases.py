"""Logs of every kind that a report is written of, with a policy fitted on other rows of the same kind."""

import numpy as np

from askwho.data import Columns, read_log
from askwho.policy import fit_policy
from tests import synthetic

HOSTILE = "<script>alert('x')</script>"
NAMES = {
    "left": "<img src=x onerror=alert(1)>",
    "right": "=cmd()|\"quoted\" & 'more'",
    "both": "$\\alpha_1$ \u202eדגמה مثال",
    "noise": "_" + "a very long name " * 40,
}
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


def _hostile_columns():
    fees = {NAMES[name]: fee for name, fee in synthetic.FEES.items()}
    return Columns(truth="truth", answers="answer_*", features="x_*,kind", text="text", fees=fees)


KINDS = {
    "classes": (synthetic.classification, ANSWERS, {}),
    "regression": (
        synthetic.regression,
        Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES),
        {},
    ),
    "grades": (
        synthetic.grades,
        Columns(grades="grade_*", features="x_*", fees={"cheap": 0.1, "dear": 1.0}),
        {},
    ),
    "missing": (lambda n, seed=0: synthetic.classification(n, seed, missing=0.25), ANSWERS, {"base": "none"}),
    "free": (synthetic.classification, Columns(truth="truth", answers="answer_*", features="x_*"), {"base": "none"}),
    "hostile": (hostile, _hostile_columns(), {"base": "none"}),
}


def case(kind):
    """A policy and a log that it has not seen; with as many rows as these only the first kind can ask in turn."""
    table, columns, options = KINDS[kind]
    rows = 260 if kind == "classes" else 190
    policy = fit_policy(read_log(table(rows), columns), learner="linear", cv=3, **options)
    return policy, read_log(table(160, 1), columns)
