"""Cascade routing (Dekoninck, Baader and Vechev 2024): run the set of models that promises most, look again, go on."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float

from askwho.core import each_fold
from askwho.evaluation import Point
from askwho.replay import price_grid
from askwho_studies.logs._base import tuning_folds
from askwho_studies.logs._cascade import efficient
from askwho_studies.logs._committees import SkippedError
from askwho_studies.logs._everything import Everything, logistic, sides
from askwho_studies.logs._split import Split

# Who may be asked, and how many of them: as for the confidence cascade.
_AMONG, _LONGEST = 6, 3
# Draws by which the mean of a maximum of normals is told, the same for all queries: more change no decision.
_DRAWS = 48
_PRICES = 24
"""Prices λ, each a setting."""
# One strength for every quality: each is one of two classes, and has thousands of rows.
_STRENGTH = 0.1


@dataclass(frozen=True, eq=False)
class Quality:
    """How likely each is right: before asking, and after it has answered with some others.

    Args:
        before: shape (n, e).
        after: from who was asked, as a bit mask, to shape (n, e); of those not asked it means nothing.
        spread: shape (e,), how far what is thought after lies from what was thought before.
    """

    before: Float[np.ndarray, "n e"]
    after: Callable[[int], Float[np.ndarray, "n e"]]
    spread: Float[np.ndarray, " e"]


def cascade_routing(split: Split) -> list[Point]:
    """Of all sets that hold whom was asked, the one of most expected quality less λ times its price; the best is kept.

    A set's quality is the mean of the largest of its members' qualities, those not yet asked being normal around what
    is thought of them before (the paper's Section 4). Qualities are logistic in everything known and heard.
    """
    if not split.classes:
        raise SkippedError("a quality is a probability of being right")
    split, train, test = sides(split)
    among = efficient(split.price, split.entity_errors)[: _AMONG + bool(split.train.panel.own.any())]
    quality = _learned(split, train, test, among)
    wrong = split.test.errors[:, among]
    prices = price_grid(split.price[among], 1.0 - quality.before, _PRICES)
    paid, known = split.test.fees[:, among], split.test.asked[:, among]
    return [
        Point(*_walked(quality, split.price[among], float(rate), wrong, paid, known), {"fee_weight": float(rate)})
        for rate in prices
    ]


def _learned(split: Split, train: Everything, test: Everything, among: np.ndarray) -> Quality:
    right = (split.train.errors[:, among] < 0.5).astype(np.intp)
    asked = split.train.asked[:, among]
    before = np.column_stack([_told(train.known, right[:, i], asked[:, i], test.known) for i in range(len(among))])
    seen, held = next(each_fold(tuning_folds(split)))
    spread = np.empty(len(among))
    for i in range(len(among)):
        rows = asked[:, i]
        ante, post = (
            _told(inputs[seen], right[seen, i], rows[seen], inputs[held])
            for inputs in (train.known, _heard(train, among, (i,), i))
        )
        spread[i] = float(np.std(post - ante))
    kept: dict[int, np.ndarray] = {}

    def after(mask: int) -> np.ndarray:
        if mask not in kept:
            members = tuple(i for i in range(len(among)) if mask >> i & 1)
            found = before.copy()
            for i in members:
                found[:, i] = _told(
                    _heard(train, among, members, i), right[:, i], asked[:, i], _heard(test, among, members, i)
                )
            kept[mask] = found
        return kept[mask]

    return Quality(before, after, spread)


def _heard(side: Everything, among: np.ndarray, members: tuple[int, ...], i: int) -> np.ndarray:
    """What tells whether one is right: what is known, its confidence, and who of the others says the same."""
    own = side.votes[:, among[i]]
    blocks = [side.known, side.info[:, among[i], None], (own < 0)[:, None]]
    for j in members:
        if j != i:
            same = (side.votes[:, among[j]] == own) & (own >= 0)
            blocks += [same[:, None], (same * side.info[:, among[j]])[:, None]]
    return np.hstack(blocks).astype(np.float64)


def _told(inputs: np.ndarray, right: np.ndarray, rows: np.ndarray, others: np.ndarray) -> Float[np.ndarray, " m"]:
    """The probability of being right on other rows; of somebody always right or wrong, how often."""
    some = right[rows]
    if some.min() == some.max():
        return np.full(len(others), float(some[0]))
    return logistic(inputs[rows], some, _STRENGTH).predict_proba(others)[:, 1]


def _walked(
    quality: Quality,
    price: np.ndarray,
    rate: float,
    wrong: np.ndarray,
    fees: np.ndarray,
    known: Bool[np.ndarray, "n e"],
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Errors and fees (n,) at one price; NaN where somebody was asked whose answer the log does not have."""
    n, e = quality.before.shape
    chance = np.random.default_rng(0).normal(size=(_DRAWS, e)) * quality.spread
    asked = np.zeros(n, dtype=np.intp)
    open_ = np.ones(n, dtype=bool)
    sets = [sum(1 << i for i in chosen) for k in range(1, _LONGEST + 1) for chosen in combinations(range(e), k)]
    while open_.any():
        for mask in np.unique(asked[open_]).tolist():
            rows = np.flatnonzero(open_ & (asked == mask))
            thought = quality.after(mask)[rows] if mask else quality.before[rows]
            best = np.full(len(rows), -np.inf)
            where = np.zeros(len(rows), dtype=np.intp)
            for other in sets:
                if other & mask != mask:
                    continue
                inside = [i for i in range(e) if other >> i & 1]
                noise = np.where([mask >> i & 1 for i in inside], 0.0, chance[:, inside])
                top = (thought[:, None, inside] + noise).max(axis=2).mean(axis=1)
                value = top - rate * sum(float(price[i]) for i in inside)
                where, best = np.where(value > best, other, where), np.maximum(best, value)
            # One more is asked at a time: of those that the best set adds, the one who is thought best for its price.
            added = where & ~mask
            worth = np.where((added[:, None] >> np.arange(e)) & 1, thought - rate * price, -np.inf)
            open_[rows[added == 0]] = False
            go = added > 0
            asked[rows[go]] |= 1 << worth[go].argmax(axis=1)
    errors, paid = np.full(n, np.nan), np.zeros(n)
    for mask in np.unique(asked).tolist():
        rows = np.flatnonzero(asked == mask)
        inside = np.array([i for i in range(e) if mask >> i & 1])
        kept = inside[quality.after(mask)[np.ix_(rows, inside)].argmax(axis=1)]
        whole = known[np.ix_(rows, inside)].all(axis=1)
        errors[rows] = np.where(whole, wrong[rows, kept], np.nan)
        paid[rows] = fees[np.ix_(rows, inside)].sum(axis=1)
    return errors, paid
