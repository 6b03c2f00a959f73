"""Logs whose entities say the same in many ways: numbers without end, or a few labels."""

from fractions import Fraction
from typing import Any

import numpy as np

FEES = {"left": 0.1, "right": 0.1, "both": 1.0}
CITIES = ("New York", "Los Angeles", "Rome")


def number(quarters: int, way: int) -> str:
    """So many quarters, in one of five ways."""
    value = Fraction(quarters, 4)
    ways = (
        f"{float(value):,.2f}",
        rf"\frac{{{value.numerator}}}{{{value.denominator}}}",
        f"${float(value)}",
        f"{value}",
        rf"\boxed{{{float(value)}}}.",
    )
    return ways[way % len(ways)]


def city(place: int, way: int) -> str:
    """A city, mostly as it is written; else in one of three other ways."""
    name = CITIES[place % len(CITIES)]
    return (name, name, name, name.upper(), f" {name.lower()}", name.replace(" ", "  "))[way % 6]


def table(n: int, seed: int, *, free: bool = True) -> dict[str, Any]:
    """Left knows negative numbers, right the others, both know nearly all; the truth is spelled as it comes, too.

    Args:
        n: how many queries.
        seed: of everything.
        free: numbers without end, of which features tell nothing; else cities, which features tell half of the time.
    """
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 2))
    spell, most = (number, 40_000) if free else (city, 3)
    truth = rng.integers(0, most, n)
    hint = np.where(rng.random(n) < 0.5, truth, rng.integers(0, most, n)) if not free else np.zeros(n)
    chances = {"left": np.where(x[:, 0] < 0, 0.95, 0.5), "right": np.where(x[:, 0] < 0, 0.5, 0.95), "both": 0.97}
    made: dict[str, Any] = {"x_0": x[:, 0], "x_1": x[:, 1], "x_2": hint, "id": np.array([f"q{i}" for i in range(n)])}
    made["truth"] = np.array([spell(int(value), int(rng.integers(30))) for value in truth], dtype=object)
    for name, chance in chances.items():
        said = np.where(rng.random(n) < chance, truth, rng.integers(0, most, n))
        made[f"answer_{name}"] = np.array([spell(int(v), int(rng.integers(30))) for v in said], dtype=object)
    return made
