"""Logs of random shape with nothing wrong in them: a look at one must find nothing."""

from typing import Any

import numpy as np

from askwho.data import Columns

SHAPES = ("text", "numbers", "rare", "free", "grades", "regression")
SIZES = (10, 60, 200, 600, 1500)


def clean(seed: int, shape: str | None = None, n: int | None = None) -> tuple[dict[str, Any], Columns]:
    """Return the columns of a log and what they are: random sizes, holes, fees, groups, kinds of features."""
    rng = np.random.default_rng(seed)
    shape = str(rng.choice(SHAPES)) if shape is None else shape
    n = int(rng.choice(SIZES)) if n is None else n
    names = [f"e{j}" for j in range(int(rng.integers(2, 7)))]
    truth, draw = _truth(shape, n, rng)
    table: dict[str, Any] = _features(truth, n, rng)
    if truth is not None:
        table["truth"] = truth
    kind = "grade" if truth is None else "answer"
    fees_by_query = bool(rng.random() < 0.5)
    hole = float(rng.choice([0.0, 0.0, 0.1, 0.3]))
    for name in names:
        said = draw(rng.uniform(0.3, 0.95), table["x_0"])
        if hole and n > 10:
            said = said.astype(object if said.dtype.kind in "UOi" else np.float64)
            said[rng.random(n) < hole] = None if said.dtype.kind == "O" else np.nan
        table[f"{kind}_{name}"] = said
        if fees_by_query:
            table[f"fee_{name}"] = rng.lognormal(0, 1, n) * (1 + (table["x_0"] > 0)) if n > 10 else rng.random(n)
    grouped = n >= 60 and rng.random() < 0.4
    if grouped:
        table["group"] = rng.integers(0, n // 5, n)
        if rng.random() < 0.5:
            # Rows of a group are alike in what is known of them, who was asked, and what that was charged.
            one = np.unique(table["group"], return_index=True)[1][np.unique(table["group"], return_inverse=True)[1]]
            alike = [name for name in table if name.startswith(("x_", "fee_"))]
            table |= {name: table[name][one] for name in alike}
            for column in [name for name in table if name.startswith(kind)]:
                empty = np.array([str(value) in ("None", "nan") for value in table[column].tolist()])
                said = np.asarray(draw(0.7, table["x_0"])).astype(table[column].dtype)
                if hole:
                    said[empty[one]] = None if said.dtype.kind == "O" else np.nan
                table[column] = said
    columns = Columns(
        truth=None if truth is None else "truth",
        answers=None if truth is None else "answer_*",
        grades="grade_*" if truth is None else None,
        features="x_*",
        fees="fee_*" if fees_by_query else dict.fromkeys(names, 1.0),
        groups="group" if grouped else None,
        task="regression" if shape == "regression" else "classification",
        nulls="no-answer" if rng.random() < 0.2 else "not-asked",
    )
    return table, columns


def _truth(shape: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray | None, Any]:
    """The truth, and how answers of somebody right that often are drawn, more often so where x is above zero."""
    if shape == "grades":
        coarse = rng.random() < 0.5

        def grade(chance: float, x: np.ndarray) -> np.ndarray:
            right = (rng.random(n) < np.clip(chance + 0.1 * np.sign(x), 0, 1)).astype(float)
            return right if coarse else np.clip(right * rng.random(n), 0, 1)

        return None, grade
    if shape == "regression":
        truth = rng.choice([rng.normal(size=n), rng.lognormal(3, 2, n), rng.poisson(20, n).astype(float) + 0.5])
        return truth, lambda chance, _: truth + rng.normal(size=n) * truth.std() * (1.05 - chance)
    if shape == "free":
        truth = np.array([f"text {i % max(70, n // 2)}" for i in rng.permutation(n)], dtype=object)
        labels = np.array([f"other {i}" for i in range(n)], dtype=object)
        weights = np.full(len(labels), 1 / len(labels))
    else:
        labels = np.array(["cat", "Dog", "an owl", "bee"][: rng.integers(2, 5)])
        labels = np.arange(len(labels)) if shape == "numbers" else labels
        weights = np.array([1.0, *[0.03 if shape == "rare" else 1.0] * (len(labels) - 1)])
        weights = weights / weights.sum()
        truth = labels[rng.choice(len(labels), n, p=weights)]
        truth[: 2 * len(labels)] = np.resize(labels, min(2 * len(labels), n))

    def answer(chance: float, x: np.ndarray) -> np.ndarray:
        right = rng.random(n) < np.clip(chance + 0.1 * np.sign(x), 0, 0.95)
        return np.where(right, truth, labels[rng.choice(len(labels), n, p=weights)])

    return truth, answer


def _features(truth: np.ndarray | None, n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Features of every kind: noise, one that tells something of the truth, names of rows, days, flags, gaps."""
    table: dict[str, Any] = {"x_0": rng.uniform(-1, 1, n)}
    codes = np.zeros(n) if truth is None else np.unique(truth.astype(str), return_inverse=True)[1]
    spread = 0.4
    if truth is not None and truth.dtype.kind == "f":
        codes, spread = truth, 0.4 * float(truth.std())
    others = {
        "x_good": codes + rng.normal(size=n) * spread,
        "x_name": np.array([f"row {i}" for i in rng.permutation(n)], dtype=object),
        "x_number": rng.permutation(n),
        "x_kind": rng.choice(["a", "b", "c"], n),
        "x_flag": rng.random(n) < 0.5,
        "x_gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        "x_day": np.datetime64("2024-01-01") + rng.integers(0, 300, n),
    }
    for name in rng.choice(list(others), int(rng.integers(1, len(others) + 1)), replace=False):
        table[str(name)] = others[str(name)]
    return table
