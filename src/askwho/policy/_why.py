"""Why a query goes to these entities: what was expected, what it costs, and how they did on queries like it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Float32, Int

from askwho._parts import State, part
from askwho._unit import Unit
from askwho.exceptions import InvalidInputError
from askwho.policy._decision import Decisions

if TYPE_CHECKING:
    from askwho.policy._policy import Policy

# Past queries kept to explain by: enough that some are near, few enough for a small artefact.
_MOST_ROWS = 2000
# Over so many queries a mean error is good to a tenth.
_NEAREST = 20
# The arrays of `Past` and their shapes, in the order of its fields.
_PAST = {"features": "m d", "centre": "d", "scale": "d", "errors": "m a", "expected": "m a", "rows": "m"}


@part("past")
@dataclass(frozen=True, eq=False)
class Past:
    """Some past queries, kept so that a decision can be explained by those like it: its nearest neighbours.

    They tell of later rows with holes, too, who errs together with whom.

    Args:
        features: shape (m, d), scaled.
        centre: shape (d,).
        scale: shape (d,).
        errors: shape (m, |A|), NaN where not asked.
        expected: shape (m, |A|), what was expected of each before asking, by those who never saw the query.
        rows: shape (m,), which rows of the log they were.
    """

    features: Float[np.ndarray, "m d"]
    centre: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]
    errors: Float[np.ndarray, "m a"]
    expected: Float[np.ndarray, "m a"]
    rows: Int[np.ndarray, " m"]

    @classmethod
    def of(
        cls,
        X: Float[np.ndarray, "n d"],
        errors: Float[np.ndarray, "n a"],
        expected: Float[np.ndarray, "n a"],
        *,
        random_state: int,
    ) -> "Past":
        """Return some of the log's queries, drawn at random where there are many."""
        rows = np.arange(len(X))
        if len(rows) > _MOST_ROWS:
            rows = np.sort(np.random.default_rng(random_state).choice(len(X), _MOST_ROWS, replace=False))
        centre, scale = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        # In float32 already: a spread of rounding errors is nothing there, and must not be divided by.
        scale = scale.astype(np.float32)
        scale = np.where(scale > 0, scale, np.float32(1.0))
        return cls(
            ((X[rows] - centre) / scale).astype(np.float32),
            centre.astype(np.float32),
            scale,
            errors[rows].astype(np.float32),
            expected[rows].astype(np.float32),
            rows,
        )

    def only(self, kept: Int[np.ndarray, " b"]) -> "Past":
        """Return the same of some of the panel."""
        return replace(self, errors=self.errors[:, kept], expected=self.expected[:, kept])

    def joined(self, expected: Float[np.ndarray, " m"]) -> "Past":
        """Return the same with one more entity, who was asked about none of them, and of whom so much is expected."""
        told = expected.astype(np.float32)[:, None]
        unknown = np.full_like(told, np.nan)
        return replace(self, errors=np.hstack([self.errors, unknown]), expected=np.hstack([self.expected, told]))

    @property
    def queries(self) -> Float32[np.ndarray, "m d"]:
        """The features as they were, shape (m, d)."""
        return (self.features * self.scale + self.centre).astype(np.float32)

    def nearest(self, query: Float[np.ndarray, " d"]) -> Int[np.ndarray, " k"]:
        """Return the past queries most like one, nearest first, as indices, shape (k,)."""
        away = np.square(self.features - (query - self.centre) / self.scale).sum(axis=1)
        return np.argsort(away, kind="stable")[:_NEAREST]

    def to_state(self) -> State:
        """Return the past queries as arrays."""
        return State(arrays={name: getattr(self, name) for name in _PAST})

    @classmethod
    def from_state(cls, state: State) -> "Past":
        """Return the past queries that `to_state` wrote."""
        return cls(*state.pick(gaps=("errors",), **_PAST))


@dataclass(frozen=True)
class Reason:
    """One entity in an explanation.

    Args:
        rank: from 1, in the order of asking.
        name: of the entity.
        asked: whether it is among the chosen.
        expected_error: before asking.
        uncertainty: how far off that may be, a standard deviation; None for who was learned from the whole log.
        fee: what it is expected to charge.
        nearby_error: its mean error on the past queries most like this one; None where it was asked about none of them.
        nearby: on how many of them it was asked.
        committee_error: what the committee down to this rank is expected to get; None past the largest committee.
    """

    rank: int
    name: str
    asked: bool
    expected_error: float
    uncertainty: float | None
    fee: float
    nearby_error: float | None
    nearby: int
    committee_error: float | None


@dataclass(frozen=True)
class Why:
    """Why a query goes to these entities, everybody in the order of asking.

    Args:
        query: which one.
        reasons: one an entity.
        neighbours: rows of the log most like it, nearest first.
        word: what errors are called: `cost` where some mistakes are worse than others.
    """

    query: int
    reasons: tuple[Reason, ...]
    neighbours: tuple[int, ...]
    word: str = "error"

    @property
    def chosen(self) -> tuple[Reason, ...]:
        """Those who are asked."""
        return tuple(reason for reason in self.reasons if reason.asked)

    @property
    def one_more(self) -> Reason | None:
        """Who would be asked next; None where nobody is left."""
        k = len(self.chosen)
        return self.reasons[k] if k < len(self.reasons) and self.reasons[k].committee_error is not None else None

    @property
    def gain_of_one_more(self) -> float | None:
        """How much lower the committee's expected error would be with one more; None where nobody is left."""
        now, then = self.chosen[-1].committee_error, None if self.one_more is None else self.one_more.committee_error
        return None if now is None or then is None else now - then

    def __str__(self) -> str:
        fee = sum(reason.fee for reason in self.chosen)
        expected = self.chosen[-1].committee_error
        sure = "" if expected is None else f", expected {self.word} {expected:.3f}"
        lines = [f"query {self.query}: ask {len(self.chosen)} for {fee:g}{sure}"]
        width = max(len(reason.name) for reason in self.reasons)
        for reason in self.reasons:
            near = "-" if reason.nearby_error is None else f"{reason.nearby_error:.3f} of {reason.nearby}"
            off = "" if reason.uncertainty is None else f" \u00b1 {reason.uncertainty:.3f}"
            together = "" if reason.committee_error is None else f"  committee {reason.committee_error:.3f}"
            lines.append(
                f"  {'ask ' if reason.asked else 'skip'} {reason.rank:>3}. {reason.name:<{width}}  "
                f"expected {self.word} {reason.expected_error:.3f}{off}  nearby {near}  fee {reason.fee:g}{together}"
            )
        if self.one_more is not None and self.gain_of_one_more is not None:
            change = "lower" if self.gain_of_one_more >= 0 else "raise"
            lines.append(
                f"  one more ({self.one_more.name}, {self.one_more.fee:g}) would {change} the expected {self.word} by "
                f"{abs(self.gain_of_one_more):.4f}"
            )
        if self.neighbours:
            lines.append(f"  most like rows {', '.join(map(str, self.neighbours[:5]))} of the log")
        return "\n".join(lines)


def explain(policy: "Policy", decisions: Decisions, i: int) -> Why:
    """Return why query i of some decisions goes to these entities, past queries like it, and what one more adds.

    Args:
        policy: whose decisions they are.
        decisions: as `decide` returned them.
        i: which query.
    """
    if not -len(decisions) <= i < len(decisions):
        raise InvalidInputError(f"`i` must be a query between 0 and {len(decisions) - 1}, got {i}.")
    seen, first, k = decisions.seen, decisions.order[i], int(decisions.k[i])
    if not seen.X.shape[1]:
        raise InvalidInputError("`decisions` must be as `decide` returned them: those read back have no features.")
    x, expected, unit, past = seen.X[i][None], seen.expected[i], policy.unit, policy.past
    curve = policy.cardinality.curve.predict(x, expected[None], first[None])[0]
    if not np.isclose(unit.shown(float(curve[min(k, len(curve)) - 1])), decisions.expected_error[i], rtol=1e-6):
        # Somebody was absent, or whom to ask was drawn: that is how it was decided.
        curve = policy.cardinality.of_others(seen.rows(np.array([i % len(decisions)])), first[None])[0]
    deviations, near = policy.judge.deviations(x)[0], past.nearest(x[0])
    rest = [int(j) for j in np.argsort(-seen.judged.ranking[i], kind="stable") if j not in first]
    reasons: list[Reason] = []
    for r, j in enumerate([*first.tolist(), *rest]):
        came = past.errors[near, j][~np.isnan(past.errors[near, j])]
        reasons.append(
            Reason(
                rank=r + 1,
                name=policy.panel.names[j],
                asked=r < k,
                expected_error=unit.shown(float(expected[j])),
                uncertainty=_shown_deviation(float(expected[j]), float(deviations[j]), unit),
                fee=float(seen.fees[i, j]),
                nearby_error=unit.shown(float(came.mean())) if came.size else None,
                nearby=int(came.size),
                committee_error=unit.shown(float(curve[r])) if r < len(curve) else None,
            )
        )
    return Why(i % len(decisions), tuple(reasons), tuple(int(row) for row in past.rows[near]), unit.word)


def _shown_deviation(expected: float, deviation: float, unit: Unit) -> float | None:
    """How far off an expected error is as it is shown: that of a root is smaller, by its slope."""
    if np.isnan(deviation):
        return None
    return deviation / (2.0 * max(unit.shown(expected), 1e-12)) if unit.root else deviation
