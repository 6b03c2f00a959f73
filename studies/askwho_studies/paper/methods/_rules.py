"""Methods without a learned policy: a threshold on the model's confidence, and cascades in a fixed order."""

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho_studies.paper._frontiers import Points
from askwho_studies.paper.methods._learned import Model
from askwho_studies.paper.methods._problem import Entities, Problem

# Thresholds of a confidence, by quantiles of what the rows to choose by have: one for every twentieth of them.
_THRESHOLDS = np.linspace(0.0, 1.0, 21)
# Chances of being wrong at which a cascade stops: from never sure to sure but for one in ten thousand.
_DOUBTS = np.logspace(0.0, -4.0, 21)


def chow(problem: Problem, entities: Entities, model: Model) -> Points:
    """Return Chow's rule: the model answers where its confidence is at least a threshold, else one expert does.

    The first setting is Chow's own: ask where the chance of being wrong exceeds what rejecting costs, here the error
    of the best expert on held-out rows plus its fee. The others are thresholds for every expert.

    References:
        Chow. On optimum recognition error and reject tradeoff. IEEE Transactions on Information Theory, 1970.
    """
    sure = np.exp(model.log_chances.max(axis=1))
    cuts = np.cumsum([len(problem.held), len(problem.choose)])
    fees, experts = entities.panel.fees, np.arange(1, len(entities.panel))
    costs = entities.errors[problem.held][:, 1:].mean(axis=0) + fees[1:]
    best = int(costs.argmin())
    levels = np.quantile(np.split(sure, cuts)[1], _THRESHOLDS)
    settings = [(best + 1, 1 - costs[best]), *((j, level) for j in experts for level in levels)]
    sides: list[np.ndarray] = []
    for rows, confidence in zip((problem.choose, problem.test), np.split(sure, cuts)[1:], strict=True):
        errors = entities.errors[rows]
        asks = np.stack([confidence < level for _, level in settings])
        got = [np.where(ask, errors[:, j], errors[:, 0]).mean() for ask, (j, _) in zip(asks, settings, strict=True)]
        paid = asks.mean(axis=1) * fees[np.array([j for j, _ in settings])]
        sides += [np.array(got), paid]
    return Points(np.array([level for _, level in settings]), sides[2], sides[3], np.ones(len(settings)), *sides[:2])


def early_exit(
    problem: Problem, entities: Entities, model: Model | None
) -> tuple[Points, Float[np.ndarray, "s t"], Bool[np.ndarray, "s t"]]:
    """Return a cascade that stops once the likeliest class is likely enough; on test rows how likely, and if right.

    In-house first, then the experts in the order of their fees. What an answer tells is its likelihood under each
    class, counted on held-out rows; the classes' chances before anybody is asked are the model's, or their shares.

    References:
        Wang, Luo, Crankshaw, Tumanov, Yu, Gonzalez. IDK cascades: fast deep learning by learning not to overthink. UAI
        2018.
    """
    n_classes = int(problem.truth.max()) + 1
    order = np.argsort(entities.panel.fees, kind="stable")
    cuts = np.cumsum([len(problem.held), len(problem.choose)])
    share = np.bincount(problem.truth[problem.held], minlength=n_classes) + 1.0
    if model is None:
        first = np.broadcast_to(np.log(share / share.sum()), (len(problem.judged), n_classes))
    else:
        first, order = model.log_chances, order[order != 0]
    said, fees = entities.answers.values.astype(np.int64), entities.panel.fees[order]
    told = [_log_likelihood(said[problem.held, j], problem.truth[problem.held], n_classes) for j in order]
    sides: list[np.ndarray] = []
    ends: list[tuple[np.ndarray, np.ndarray]] = []
    for rows, begin in zip((problem.choose, problem.test), np.split(first, cuts)[1:], strict=True):
        asked = said[rows][:, order]
        steps = [begin] if model is not None else []
        running = begin
        for j, table in enumerate(told):
            running = running + table[:, asked[:, j]].T
            steps.append(running - np.logaddexp.reduce(running, axis=1, keepdims=True))
        paid = np.cumsum([0.0, *fees] if model is not None else fees)
        lead = np.exp(np.stack([step.max(axis=1) for step in steps]))
        right = np.stack([step.argmax(axis=1) == problem.truth[rows] for step in steps])
        stops = _first(lead >= 1 - _DOUBTS[:, None, None])
        here = np.arange(len(rows))
        sides += [1.0 - right[stops, here].mean(axis=1), paid[stops].mean(axis=1), stops.mean(axis=1) + 1.0]
        ends.append((lead[stops, here], right[stops, here]))
    return Points(_DOUBTS, sides[3], sides[4], sides[5], sides[0], sides[1]), *ends[1]


def _first(sure: np.ndarray) -> Int[np.ndarray, "s n"]:
    """The first step that is sure enough, the last where none is."""
    sure[:, -1] = True
    return sure.argmax(axis=1)


def _log_likelihood(said: np.ndarray, truth: np.ndarray, n_classes: int) -> Float[np.ndarray, "c c"]:
    """Log-probability of an answer under each class; one more row, spread over all answers, so that none is never."""
    counts = np.full((n_classes, n_classes), 1.0 / n_classes)
    np.add.at(counts, (truth, said), 1.0)
    return np.log(counts / counts.sum(axis=1, keepdims=True))
