"""A log of grades with what comes back beside each: some queries are hard, and nothing known beforehand says which."""

import numpy as np

from askwho.data import Columns

FEES = {"small": 0.02, "middle": 0.1, "large": 1.0}
"""What each charges."""
RIGHT = {"small": (0.9, 0.3), "middle": (0.93, 0.6), "large": (0.97, 0.9)}
"""How often each is right, of easy queries and of hard ones."""
COLUMNS = Columns(grades="grade_*", features="x_*", info="info_*", fees=FEES)
"""Which column is what."""
TELLS = ("all", "some", "nothing")
"""How much comes back: the grade itself, a noisy word of it, or noise."""


def table(n=600, seed=0, tells="some"):
    """Return the columns of such a log."""
    rng = np.random.default_rng(seed)
    hard = rng.random(n) < 0.4
    found = {f"x_{i}": rng.uniform(-1, 1, n) for i in range(2)}
    for name, (easy, tough) in RIGHT.items():
        grade = (rng.random(n) < np.where(hard, tough, easy)).astype(float)
        noise = rng.normal(0.0, 0.2, n)
        found[f"grade_{name}"] = grade
        found[f"info_{name}"] = {"all": grade, "some": 0.5 * grade + noise, "nothing": noise}[tells]
    return found


def told(columns, heard):
    """Return what was known and what came back from those who were heard, shape (n, 3), without a grade."""
    found = {name: values for name, values in columns.items() if name.startswith("x_")}
    for j, name in enumerate(FEES):
        found[f"info_{name}"] = np.where(heard[:, j], columns[f"info_{name}"], np.nan)
    return found


def taking_turns(policy, columns, target, **given):
    """Ask, hear and ask again, as a user would; return who was asked, shape (n, 3), and the last step."""
    heard = np.zeros((len(columns["x_0"]), len(FEES)), dtype=bool)
    for _ in range(len(FEES) + 1):
        step = policy.next(told(columns, heard), target=target, **given)
        rows = np.flatnonzero(step.k)
        if not rows.size:
            return heard, step
        asked = step.order[rows, 0]
        assert not heard[rows, asked].any()
        heard[rows, asked] = True
    raise AssertionError("it never stops")
