"""Which questions teach most about a newcomer: those after which least is uncertain about him."""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Int

from askwho import _validation as check
from askwho.exceptions import InvalidInputError
from askwho.fitting._skill import Skill
from askwho.policy import Policy


def teaching_questions(
    policy: Policy,
    queries: Any,  # noqa: ANN401 - as in `Policy.decide`
    name: str | None = None,
    *,
    count: int = 10,
) -> Int[np.ndarray, " m"]:
    """Return which of some queries to ask a newcomer first, as rows, shape (count,), the most telling in front.

    One after another that query is taken which lowers the mean variance of his expected error over all of them most
    (Bayesian A-optimal design, greedy; Chaloner and Verdinelli 1995). What will be answered does not matter to it: all
    of them can be asked at once.

    Args:
        policy: fitted, or loaded.
        queries: those to choose among, and those that he shall be known on, as `decide` takes them.
        name: whose; somebody of whom nothing is known, unless said. Of who was learned it is asked whether he changed.
        count: how many.
    """
    if policy.judge.priced:
        raise InvalidInputError(
            f"`policy` must be of expected errors, got {policy.judge.name!r}, which ranks by scores: of somebody new "
            "it has none."
        )
    learned = policy.judge.learned(policy.see(queries).X)
    count = check.whole_number(count, "count", minimum=1, maximum=len(learned))
    skill = Skill.of_a_stranger(policy)
    if name is not None:
        known = Skill.of(policy, policy.panel.index(name))
        skill = known if known.covariance.any() else replace(skill, mean=known.mean)
    _, scaled = skill.roots(learned)
    noise = skill.noises(learned)
    over = scaled.T @ scaled / len(scaled)
    left = np.eye(scaled.shape[1])
    chosen: list[int] = []
    for _ in range(count):
        uncertain = np.einsum("nq,qr,nr->n", scaled, left, scaled)
        gain = np.einsum("nq,qr,nr->n", scaled, left @ over @ left, scaled) / (uncertain + noise)
        gain[chosen] = -np.inf
        best = int(gain.argmax())
        chosen.append(best)
        step = left @ scaled[best]
        left = left - np.outer(step, step) / (uncertain[best] + noise[best])
    return np.array(chosen, dtype=np.intp)
