"""The settings that an evaluation compares: the policy's, and the plain baselines'."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from askwho.aggregation import Combine, Committee, Verdicts, aggregation, best_of_k
from askwho.answers import Answers, Cell
from askwho.beliefs import in_turn
from askwho.costs import task_errors
from askwho.data import Log
from askwho.evaluation._points import Point
from askwho.metrics import prefix_errors
from askwho.policy import Policy
from askwho.router import Judgement
from askwho.selection import Selection, in_order


@dataclass(frozen=True, eq=False)
class Held:
    """A held-out log as the policy sees it: with its own base's answers, expected errors and curves."""

    policy: Policy
    log: Log

    @cached_property
    def X(self) -> Float[np.ndarray, "n d"]:  # noqa: N802
        """The encoded queries, shape (n, d)."""
        return self.policy.features(self.log.known)

    @cached_property
    def judged(self) -> Judgement:
        """What the policy thinks of each entity."""
        return self.policy.router.judge(self.X)

    @property
    def expected(self) -> Float[np.ndarray, "n a"]:
        """Expected errors, shape (n, |A|)."""
        return self.judged.expected

    @cached_property
    def answers(self) -> Answers | None:
        """What everybody said, our own base too."""
        return None if self.log.answers is None else self.policy.complete(self.log.answers, self.log.known)

    @cached_property
    def errors(self) -> Float[np.ndarray, "n a"]:
        """Everybody's errors, shape (n, |A|), NaN where not asked."""
        if self.answers is None or self.log.truth is None:
            return self.log.errors
        error = "zero-one" if self.log.task == "classification" else "squared"
        return task_errors(self.answers, self.log.truth, panel=self.policy.panel, error=error)

    @cached_property
    def fees(self) -> Float[np.ndarray, "n a"]:
        """What everybody charged, or would have, shape (n, |A|)."""
        missing = self.errors.shape[1] - self.log.fees.shape[1]
        return np.hstack([np.zeros((len(self.log), missing)), self.log.fees])

    def ranked(self, price: float) -> np.ndarray:
        """The order at a price, shape (n, K)."""
        router = self.policy.router
        return self.judged.order(self.foreseen, price, router.width_)

    @cached_property
    def foreseen(self) -> Float[np.ndarray, "n a"]:
        """What everybody is expected to charge, shape (n, |A|)."""
        return self.policy.router.expected_fees(self.X)

    def prefix(self, order: np.ndarray, combine: str | None = None) -> Float[np.ndarray, "n K"]:
        """Committee errors of every k, shape (n, K)."""
        router = self.policy.router
        if self.answers is None or self.log.truth is None:
            return in_order(self.errors, order)[:, :1]
        scores = -self.expected if self.judged.scores is None else self.judged.scores
        chosen = Selection(router.panel_, order, np.ones(len(order), dtype=np.intp), scores, np.array(self.fees))
        expected = np.clip(self.expected, 0, 1) if self.log.task == "classification" else self.expected
        members = Committee.of(chosen, self.answers, expected_errors=expected, n_classes=router.n_classes_ or None)
        error = "zero-one" if self.log.task == "classification" else "squared"
        return prefix_errors(members, self.log.truth, combine=combine or self._combine, error=error)

    @cached_property
    def _combine(self) -> Combine:
        assert self.answers is not None  # noqa: S101 - only answers are combined
        info = self.policy.told(self.log.info)
        return self.policy.router.combiner(self.answers, self.expected, info, self.shares)

    @cached_property
    def shares(self) -> Float[np.ndarray, "n t"] | None:
        """Our own base's probabilities of the classes, shape (n, T); None where it has none."""
        return self.policy.shares(self.log.known)

    def paid(self, order: np.ndarray) -> Float[np.ndarray, "n K"]:
        """What the first k really charged, shape (n, K)."""
        return np.cumsum(in_order(self.fees, order), axis=1)


def every_point(held: Held, *, random_state: int) -> dict[str, list[Point]]:
    """Return every setting to compare, by kind; each kind has the same settings whatever the rows."""
    everyone = everyone_points(held)
    return {
        "single": [single_point(held, j) for j in range(len(held.policy.panel))],
        **{name: [everyone[name]] if name in everyone else [] for name in ("majority_all", "weighted_all")},
        "random": random_points(held, random_state=random_state),
        "oracle": oracle_points(held),
        "fixed_k": fixed_points(held),
        "adaptive": adaptive_points(held),
        "sequential": sequential_points(held),
    }


def adaptive_points(held: Held) -> list[Point]:
    """The policy with k(x), at each of its stored prices."""
    router = held.policy.router
    prices: list[float] = router.rows_.prices.tolist()
    orders = [held.ranked(price) for price in prices]
    sizes = router.sizes_at(held.X.astype(np.float32), held.judged, orders, held.foreseen, prices)
    each = zip(orders, sizes, prices, strict=True)
    return [_at(held, order, size, {"fee_weight": price}) for order, size, price in each]


def sequential_points(held: Held) -> list[Point]:
    """The policy asking in turn, at each of its stored prices; none where it cannot."""
    router, log = held.policy.router, held.log
    if router.turns_ is None or router.asking_ is None or router.beliefs_ is None or held.answers is None:
        return []
    info, shares = held.policy.told(log.info), held.shares
    case = router.beliefs_.case(held.answers, expected=np.clip(held.expected, 0, 1), info=info, shares=shares)
    case = replace(case, there=held.judged.covered)
    asked, points = held.answers.states != Cell.NOT_ASKED, []
    expert = held.policy.panel.is_kind("expert")
    for price in router.turns_.prices:
        turns = in_turn(router.asking_, case, fees=held.foreseen, fee_weight=float(price), asked=asked)
        said, sure = router.beliefs_.decide(case, turns.believed, held.answers, turns.members(asked.shape[1]))
        errors = np.where(turns.known, ((said != log.truth) | (sure == 0)).astype(np.float64), np.nan)
        outside = ((turns.order >= 0) & expert[np.maximum(turns.order, 0)]).sum(axis=1)
        means = {"mean_k": np.maximum(turns.asked, 1), "mean_asked": outside}
        known = {name: np.where(turns.known, values, np.nan) for name, values in means.items()}
        points.append(Point(errors, turns.paid(held.fees), {"fee_weight": float(price)}, known))
    return points


def fixed_points(held: Held) -> list[Point]:
    """The policy with every fixed k, at a third of its stored prices."""
    points = []
    # Where a price is baked into the ranking there is no other to rank at.
    prices = held.policy.router.rows_.prices[::3] if held.judged.scores is None else (0.0,)
    for price in prices:
        order = held.ranked(float(price))
        per_k, paid, asked = held.prefix(order), held.paid(order), _asked(held, order)
        best = best_of_k(in_order(held.errors, order))
        for k in range(per_k.shape[1]):
            means = {
                "mean_k": np.full(len(order), k + 1.0),
                "mean_asked": asked[:, k].astype(np.float64),
                "needs_truth_best_of_k": best[:, k],
            }
            points.append(Point(per_k[:, k], paid[:, k], {"k": k + 1, "fee_weight": float(price)}, means))
    return points


def single_point(held: Held, entity: int) -> Point:
    """Always one entity."""
    return Point(held.errors[:, entity], held.fees[:, entity], {"k": 1})


def everyone_points(held: Held) -> dict[str, Point]:
    """The plain vote of all the log's own entities, and the vote weighed by their errors in training."""
    if held.answers is None or held.log.truth is None:
        return {}
    router = held.policy.router
    outside = (
        np.flatnonzero(~router.panel_.is_kind("base"))
        if held.policy.base is not None
        else np.arange(len(router.panel_))
    )
    by_error = outside[np.argsort(router.entity_errors_[outside], kind="stable")]
    order = np.broadcast_to(by_error, (len(held.log), len(by_error)))
    classes = held.log.task == "classification"
    points: dict[str, Point] = {}
    for name, combine in (
        ("majority_all", "majority" if classes else "mean"),
        ("weighted_all", "log-odds-vote" if classes else "inverse-error-mean"),
    ):
        chosen = Selection(
            router.panel_,
            np.array(order),
            np.ones(len(order), dtype=np.intp),
            np.zeros(held.errors.shape),
            np.array(held.fees),
        )
        constant = np.broadcast_to(np.clip(router.entity_errors_, 1e-6, 1 if classes else None), held.errors.shape)
        members = Committee.of(chosen, _asked_only(held.answers), expected_errors=constant)
        errors = _verdict_errors(aggregation(combine)(members), held)
        fees = np.where(np.isnan(held.errors), 0.0, held.fees)[:, by_error].sum(axis=1)
        points[name] = Point(errors, fees, {"k": len(by_error)})
    return points


def random_points(held: Held, *, repeats: int = 10, random_state: int = 0) -> list[Point]:
    """Committees of k drawn at random, the mean over repeats, by k."""
    rng = np.random.default_rng(random_state)
    shape, width = held.errors.shape, held.policy.router.width_
    errors, fees = [], []
    for _ in range(repeats):
        order = rng.random(shape).argsort(axis=1)[:, :width]
        errors.append(held.prefix(order, "majority" if held.log.task == "classification" else "mean"))
        fees.append(held.paid(order))
    # A query of which no draw can be scored stays unscored; any other counts by the draws that can.
    scored = ~np.isnan(np.stack(errors))
    total = np.where(scored, np.stack(errors), 0.0).sum(axis=0)
    mean = np.divide(total, scored.sum(axis=0), out=np.full(total.shape, np.nan), where=scored.any(axis=0))
    return [Point(mean[:, k], np.mean(fees, axis=0)[:, k], {"k": k + 1}) for k in range(mean.shape[1])]


def oracle_points(held: Held) -> list[Point]:
    """The best of the k truly best entities, cheapest first among equals, by k: needs the truth."""
    key = np.where(np.isnan(held.errors), np.inf, held.errors)
    order = np.lexsort((np.broadcast_to(held.fees, key.shape), key), axis=1)[:, : held.policy.router.width_]
    best, paid = best_of_k(in_order(held.errors, order)), held.paid(order)
    return [Point(best[:, k], paid[:, k], {"k": k + 1}) for k in range(best.shape[1])]


def _at(held: Held, order: np.ndarray, size: np.ndarray, labels: dict[str, float]) -> Point:
    column = size[:, None] - 1
    errors, fees = in_order(held.prefix(order), column)[:, 0], in_order(held.paid(order), column)[:, 0]
    asked = in_order(_asked(held, order), column)[:, 0]
    return Point(errors, fees, labels, {"mean_k": size.astype(np.float64), "mean_asked": asked.astype(np.float64)})


def _asked(held: Held, order: np.ndarray) -> np.ndarray:
    return np.cumsum(held.policy.panel.is_kind("expert")[order], axis=1)


def _asked_only(answers: Answers) -> Answers:
    """Everyone who was asked: somebody who was not leaves a plain vote, instead of making it unknown."""
    states = np.where(answers.states == Cell.NOT_ASKED, Cell.NO_ANSWER, answers.states).astype(np.int8)
    return Answers(answers.values, states)


def _verdict_errors(verdicts: Verdicts, held: Held) -> np.ndarray:
    said, decided = verdicts.values[:, -1], verdicts.decided[:, -1]
    truth = held.log.truth
    if held.log.task == "classification":
        return (~decided | (said != truth)).astype(np.float64)
    return np.square(np.where(decided, said, 0.0) - truth)
