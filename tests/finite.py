"""Small problems whose every probability is known, and the exact minimiser of a surrogate on them."""

import itertools

import numpy as np
import torch
from scipy.optimize import minimize


def one_stage(rng, n_labels=3, n_experts=2):
    """Outcomes (y, m_1, ..., m_J) of one query: zero-one errors (Z, |A|) and probabilities (Z,)."""
    outcomes = np.array(list(itertools.product(range(n_labels), repeat=1 + n_experts)))
    truth, experts = outcomes[:, :1], outcomes[:, 1:]
    errors = np.concatenate([np.arange(n_labels) != truth, experts != truth], axis=1).astype(float)
    return errors, rng.dirichlet(np.full(len(outcomes), 0.3))


def two_stage(rng, n_entities=4, n_outcomes=6):
    """Costs (Z, |A|) in [0, 1] of a base and its experts, and probabilities (Z,)."""
    return rng.random((n_outcomes, n_entities)), rng.dirichlet(np.ones(n_outcomes))


def selective(rng, n_labels=4):
    """Costs (Z, |A|) of labels and reject, and probabilities (Z,)."""
    errors = 1.0 - np.eye(n_labels)
    penalty = np.full((n_labels, 1), rng.uniform(0.2, 0.8))
    return np.concatenate([errors, penalty], axis=1), rng.dirichlet(np.ones(n_labels))


def minimiser(surrogate, tables, probabilities):
    """The scores (|A|,) at which the expected surrogate is least.

    `surrogate` takes scores (Z, |A|) and the tables (Z, |A|), and returns (Z,).
    """
    table, weight = torch.tensor(tables), torch.tensor(probabilities)

    def risk(point):
        scores = torch.tensor(point, requires_grad=True)
        value = (weight * surrogate(scores.expand_as(table), table)).sum()
        value.backward()
        return value.item(), scores.grad.numpy()

    # Scores of entities that deserve no share run off to minus infinity: bounded, they keep their order.
    size = table.shape[1]
    found = minimize(
        risk,
        np.zeros(size),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-40, 40)] * size,
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return found.x


def orders_alike(scores, expected_costs, gap=0.02):
    """Whether every two entities whose expected costs differ clearly are scored the other way round."""
    cheaper = expected_costs[:, None] < expected_costs[None, :] - gap
    return bool((scores[:, None] > scores[None, :])[cheaper].all())
