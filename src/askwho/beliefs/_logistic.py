"""A logistic regression of grades, which may be any share, drawn towards where its weights start."""

from typing import Any

import numpy as np
from jaxtyping import Float


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
