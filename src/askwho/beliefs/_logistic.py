"""Logistic regressions: of grades, which may be any share, and of classes."""

from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int

# Steps of a search for weights of classes, at the most, by hand: later ones take as long and hardly change a share.
_MOST_STEPS = 60
# The search ends where a step gains less, in parts of what is to be gained: single numbers tell no more apart.
_LEAST_STEP = 1e-6


def likeliest(
    design: Float[np.ndarray, "m f"],
    grades: Float[np.ndarray, " m"],
    start: Float[np.ndarray, " f"],
    *,
    ridge: float,
    weights: Float[np.ndarray, " m"] | None = None,
    before: Float[np.ndarray, " m"] | float = 0.0,
) -> Float[np.ndarray, " f"]:
    """Return the weights under which grades are likeliest, shape (f,): a quasi-likelihood of shares (Wedderburn 1974).

    Args:
        design: shape (m, f).
        grades: shape (m,), in [0, 1].
        start: shape (f,), where the weights begin and are drawn to.
        ridge: how strongly, in all: the square of how far a weight is from its start costs so much.
        weights: shape (m,), what each row counts; 1, unless said.
        before: shape (m,), log-odds that are there whatever the weights.
    """
    count = np.ones(len(grades)) if weights is None else weights
    pull = design.T @ (count * grades)

    def loss(found: np.ndarray) -> tuple[float, np.ndarray]:
        odds, away = design @ found + before, found - start
        likelihood = float(pull @ found - count @ np.logaddexp(0.0, odds))
        expected = design.T @ (count * (0.5 + 0.5 * np.tanh(0.5 * odds)))
        return -likelihood + ridge * float(away @ away), expected - pull + 2 * ridge * away

    from scipy.optimize import minimize  # noqa: PLC0415 - to learn alone: it takes long to import

    solved: Any = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return np.asarray(solved.x)


def likeliest_classes(
    design: Float32[np.ndarray, "m f"],
    truth: Int[np.ndarray, " m"],
    start: Float[np.ndarray, "f c"],
    *,
    ridge: float,
    before: Float32[np.ndarray, "m c"] | float = 0.0,
) -> Float[np.ndarray, "f c"]:
    """Return the weights under which classes are likeliest, shape (f, C): a multinomial logistic regression.

    Args:
        design: shape (m, f), the last column a constant, whose weights are drawn nowhere.
        truth: shape (m,), as indices into the classes.
        start: shape (f, C), where the search begins; not where it ends.
        ridge: what the square of a weight costs, in all.
        before: shape (m, C), log-shares that are there whatever the weights.
    """
    rows, shape, held = np.arange(len(truth)), start.shape, np.full((start.shape[0], 1), ridge)
    held[-1] = 0.0

    def loss(found: np.ndarray) -> tuple[float, np.ndarray]:
        weights = found.reshape(shape)
        odds = design @ weights.astype(np.float32) + before
        odds -= odds.max(axis=1, keepdims=True)
        shares = np.exp(odds)
        total = shares.sum(axis=1, keepdims=True)
        likelihood = float(odds[rows, truth].sum(dtype=np.float64) - np.log(total).sum(dtype=np.float64))
        shares /= total
        shares[rows, truth] -= 1.0
        slope = (design.T @ shares).astype(np.float64) + 2 * held * weights
        return -likelihood + float((held * np.square(weights)).sum()), slope.ravel()

    from scipy.optimize import minimize  # noqa: PLC0415 - to learn alone: it takes long to import

    settings = {"maxiter": _MOST_STEPS, "ftol": _LEAST_STEP, "maxcor": 10}
    solved: Any = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=settings)
    return np.asarray(solved.x).reshape(shape)
