"""What every method gets on a problem: whom it asks first, how calibrated it is, what money buys."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from askwho.core import in_order, rank
from askwho.engine import Training
from askwho.learners import CompSum
from askwho.policy import Calibration
from askwho_studies.paper._frontiers import ONCE, Points, everybody_and_cascade, frontiers
from askwho_studies.paper._scored import CLASSIFICATION, REGRESSION, Metric, Scored
from askwho_studies.paper._summary import shown
from askwho_studies.paper.methods._learned import RATES, TRAINING, Model, chances, fit_model, fit_scores
from askwho_studies.paper.methods._problem import Entities, Problem
from askwho_studies.paper.methods._registry import LEARNED, METHODS, Blank, kind_of
from askwho_studies.paper.methods._rules import chow, early_exit

BUDGETS = 10
"""So many equal parts of what everybody charges together: an area is the mean over them."""
# What one unit of fee takes off a score, in standard deviations of the scores a mean fee, either way: a method learned
# at one price is swept as a threshold is, on its own scale.
_PRICES = np.logspace(-1.5, 1.5, 10)
# Committees of ours have up to so many: one more than the most experts of an experiment, and the model.
_WIDTH = 8
# Bins of the calibration error, as Guo et al. (2017) have it.
_BINS = 15


@dataclass(frozen=True)
class Figures:
    """What a method gets on one seed; NaN where there is no such figure.

    Args:
        top_1: error of whom it puts first, by the method as published; of methods that ask one.
        fee: the mean fee of that.
        calibration: expected calibration error, in percent, of the probability that the answer is right.
        area: mean of accuracy in percent, or RMSE × 100, over ten budgets, settings chosen on rows that do not test.
        seconds: to learn it.
        rate: the learning rate; 0 where nothing was trained.
    """

    top_1: float = float("nan")
    fee: float = float("nan")
    calibration: float = float("nan")
    area: float = float("nan")
    seconds: float = 0.0
    rate: float = 0.0


def figures(
    problem: Problem,
    *,
    rates: Mapping[str, float] | None = None,
    training: Training = TRAINING,
    seed: int = 0,
    device: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Figures | Blank]:
    """Return every method's figures on one seed, or why it has none.

    Args:
        problem: the seed.
        rates: the learning rate of each method, as the first seed found it; all of `RATES` are tried unless said.
        training: all else of it.
        seed: of weights, batches and k(x).
        device: by itself unless said.
        progress: called with a line of text after every method.
    """
    kind, known = kind_of(problem), rates or {}

    def tried(name: str) -> Sequence[float]:
        return (known[name],) if name in known else RATES

    how: dict[str, Any] = {"training": training, "seed": seed, "device": device}
    model = fit_model(problem, rates=tried("the model"), **how) if kind == LEARNED else None
    two = problem.two_stage(None if model is None else model.said)
    one = problem.one_stage() if kind == LEARNED else two
    found: dict[str, Figures | Blank] = {}
    if model is not None:
        found["the model"] = _alone(problem, two, model)
    ours: dict[str, Figures] = {}
    for name, method in METHODS.items():
        if kind in method.blank:
            found[name] = method.blank[kind]
        elif method.surrogate is None:
            found[name] = _rule(name, problem, two, model)
        elif method.stage == "ours":
            ours = ours or _ours(problem, one, tried("ours, asks one"), how)
            found[name] = ours[name]
        else:
            entities = one if method.stage == "one" else two
            before = model.seconds if method.stage == "two" and model is not None else 0.0
            found[name] = _asks_one(problem, entities, method.surrogate, tried(name), how, before)
        if progress is not None:
            progress(name)
    return found


def calibration_error(chance: Float[np.ndarray, " n"], right: Bool[np.ndarray, " n"]) -> float:
    """Return the expected calibration error in percent: |mean chance − share right| over 15 equal bins of chance.

    References:
        Guo, Pleiss, Sun, Weinberger. On calibration of modern neural networks. ICML 2017.
    """
    place = np.minimum((chance * _BINS).astype(int), _BINS - 1)
    gaps = np.bincount(place, weights=chance - right, minlength=_BINS)
    return 100 * float(np.abs(gaps).sum() / len(chance))


def asked_one(scored: Scored) -> Points:
    """Return what comes of asking whom the scores put first, the fees taken off at several prices; the first is 0."""
    fees, spread = scored.panel.fees, float(scored.choose.scores.std())
    unit = spread / float(fees[fees > 0].mean())
    prices = np.array([0.0, *(unit * _PRICES), *(-unit * _PRICES)])
    sides: list[np.ndarray] = []
    for part in (scored.choose, scored.test):
        first = np.stack([(part.scores - price * fees).argmax(axis=1) for price in prices])
        sides += [np.array([in_order(part.errors, who[:, None]).mean() for who in first]), fees[first].mean(axis=1)]
    return Points(prices, sides[2], sides[3], np.ones(len(prices)), sides[0], sides[1])


def _alone(problem: Problem, entities: Entities, model: Model) -> Figures:
    error = float(entities.errors[problem.test, 0].mean())
    chance = np.exp(model.log_chances[-len(problem.test) :].max(axis=1))
    right = entities.errors[problem.test, 0] == 0
    accuracy = float(shown(error, problem.task))
    return Figures(accuracy, 0.0, calibration_error(chance, right), accuracy, model.seconds, model.rate)


def _asks_one(
    problem: Problem,
    entities: Entities,
    surrogate: CompSum,
    rates: Sequence[float],
    how: Mapping[str, Any],
    before: float,
) -> Figures:
    fitted = fit_scores(problem, entities, surrogate, rates=rates, **how)
    chance = chances(surrogate.name, fitted.outputs, len(entities.panel.labels))
    scores = fitted.outputs
    if chance is not None and surrogate.facts.ranks == "all by shares":
        # Beyond the first its shares rank, not its scores; a share may round to nothing.
        scores = np.log(np.maximum(chance, np.finfo(np.float64).tiny))
    points = asked_one(problem.scored(entities, scores))
    first, test = scores[-len(problem.test) :].argmax(axis=1), entities.errors[problem.test]
    told = float("nan")
    if chance is not None:
        of_first = in_order(chance[-len(problem.test) :], first[:, None])[:, 0]
        told = calibration_error(of_first, in_order(test, first[:, None])[:, 0] == 0)
    return _figures(problem, entities, [points], told, fitted.seconds + before, fitted.rate)


def _rule(name: str, problem: Problem, entities: Entities, model: Model | None) -> Figures:
    start, before = time.perf_counter(), 0.0 if model is None else model.seconds
    told, asks_one = float("nan"), False
    if name == "Chow 1970" and model is not None:
        points, asks_one = chow(problem, entities, model), True
        told = _alone(problem, entities, model).calibration
    elif name == "early-exit cascade":
        points, lead, right = early_exit(problem, entities, model)
        told = calibration_error(lead[points.best], right[points.best])
    else:
        scores = np.zeros((len(problem.judged), len(entities.panel)))
        _, points = everybody_and_cascade(problem.scored(entities, scores), _metric(problem))
    rate = 0.0 if model is None else model.rate
    return _figures(problem, entities, [points], told, time.perf_counter() - start + before, rate, asks_one=asks_one)


def _ours(problem: Problem, entities: Entities, rates: Sequence[float], how: Mapping[str, Any]) -> dict[str, Figures]:
    """The one policy of ours, asked three ways; the wider ones may also do what the narrower do."""
    fitted = fit_scores(problem, entities, CompSum("top-k"), rates=rates, **how)
    scored = problem.scored(entities, fitted.outputs, width=_WIDTH)
    one, seconds = asked_one(scored), [fitted.seconds]
    start = time.perf_counter()
    fixed = _fixed_k(scored, one.settings, _metric(problem))
    seconds.append(fitted.seconds + time.perf_counter() - start)
    start = time.perf_counter()
    adaptive = frontiers(scored, _metric(problem), surrogate=None, repetitions=1, random_state=how["seed"])[ONCE]
    seconds.append(fitted.seconds + time.perf_counter() - start)
    told = float("nan")
    if problem.task == "classification":
        calibration = Calibration.fit(-scored.learn.scores, scored.learn.errors, in_errors=False)
        first = scored.test.scores.argmax(axis=1)[:, None]
        chance = 1 - in_order(calibration.apply(-scored.test.scores), first)[:, 0]
        told = calibration_error(np.clip(chance, 0.0, 1.0), in_order(scored.test.errors, first)[:, 0] == 0)
    each = {"ours, asks one": [one], "ours, fixed k": [fixed], "ours, k(x)": [one, adaptive]}
    return {
        name: _figures(problem, entities, points, told, took, fitted.rate, asks_one=name == "ours, asks one")
        for (name, points), took in zip(each.items(), seconds, strict=True)
    }


def _fixed_k(scored: Scored, prices: np.ndarray, metric: Metric) -> Points:
    """Committees of every fixed k along the ranking at every price."""
    sides: list[list[np.ndarray]] = [[], [], [], []]
    for price in prices:
        for place, part in enumerate((scored.choose, scored.test)):
            order = rank(part.scores - price * scored.panel.fees)[:, : scored.widest]
            got, paid = scored.prefixes(part, order, metric)
            sides[2 * place].append(got.mean(axis=0))
            sides[2 * place + 1].append(paid.mean(axis=0))
    chosen_got, chosen_paid, got, paid = (np.concatenate(side) for side in sides)
    sizes = np.tile(np.arange(1.0, scored.widest + 1), len(prices))
    return Points(sizes, got, paid, sizes, chosen_got, chosen_paid)


def _metric(problem: Problem) -> Metric:
    """How a committee answers: by majority, or by the mean."""
    name = "mean" if problem.task == "regression" else "majority"
    return next(metric for metric in (*CLASSIFICATION, *REGRESSION) if metric.name == name)


def _figures(
    problem: Problem,
    entities: Entities,
    points: Sequence[Points],
    told: float,
    seconds: float,
    rate: float,
    *,
    asks_one: bool = True,
) -> Figures:
    """The figures of a method's settings; of those that ask one the first setting is the method as published."""
    whole = Points(
        *(
            np.concatenate([getattr(each, name) for each in points])
            for name in ("settings", "errors", "fees", "sizes", "chosen_errors", "chosen_fees")
        )
    )
    full = float(entities.panel.fees.sum())
    # Within less than its cheapest setting costs a method has nothing; that setting is the nearest to it.
    least = float(whole.chosen_fees.min())
    budgets = np.maximum(full * np.arange(1, BUDGETS + 1) / BUDGETS, least)
    area = float(np.mean(shown(whole.at_budgets(budgets)[0], problem.task)))
    top_1 = float(shown(whole.errors[0], problem.task)) if asks_one else float("nan")
    fee = float(whole.fees[0]) if asks_one else float("nan")
    return Figures(top_1, fee, told, area, seconds, rate)
