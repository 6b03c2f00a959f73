"""Who was asked about what: holes that depend on the query, and entities of whom too little is known together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from askwho.core import is_null
from askwho.data._kinds import Kinds, explained, kinds
from askwho.data._problem import Problem, listed
from askwho.data._tables import Table

# The share of the variance of being asked that one feature explains: below it, holes are as good as random.
LEAST_SHARE = 0.05
# How often a clean log may be blamed, over all entities and features together.
_CHANCE = 1e-3
# Rows with and without an answer: of fewer no dependence can be told.
_LEAST_ROWS = 30
# Answers, and holes, that a kind of query would have if holes were random, for the test to hold.
_LEAST_IN_A_KIND = 5
# Answers that would be there if holes were random: where nearly none of so many is, it is no chance (e^-20).
_LEAST_EXPECTED = 20.0
# Below this part of its usual share, an entity was hardly ever asked; a policy stops asking at half.
_HARDLY = 0.1


@dataclass(frozen=True)
class _Hole:
    """One entity, the feature that its holes depend on most, and the kind of query it was asked about least."""

    name: str
    share: float
    feature: str
    kind: str
    asked: float
    most: float


def holes(sample: Table, *, answers: Mapping[str, str], features: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for entities hardly ever asked about some kind of query, and one for other holes by features.

    Whether an entity was asked is tested against each feature by itself, by Pearson's test of independence (the score
    test of a logistic model on the feature's kinds), corrected by Bonferroni for all entities and features, with a
    least share of variance.

    Args:
        sample: rows of the log.
        answers: from entity to its column, of those whose empty cells were not asked.
        features: those that are single values.
    """
    by_feature = {name: kinds(sample[name]) for name in features}
    never: list[_Hole] = []
    depends: list[_Hole] = []
    for name, column in answers.items():
        asked = ~is_null(sample[column])
        if min(asked.sum(), (~asked).sum()) < _LEAST_ROWS:
            continue
        chance = _CHANCE / (len(answers) * len(features)) if features else 0.0
        found = [_scarce(name, asked, feature, each) for feature, each in by_feature.items()]
        worst = min((hole for hole in found if hole is not None), key=lambda hole: hole.asked, default=None)
        if worst is not None:
            never.append(worst)
            continue
        found = [_dependent(name, asked, feature, each, chance) for feature, each in by_feature.items()]
        most = max((hole for hole in found if hole is not None), key=lambda hole: hole.share, default=None)
        if most is not None:
            depends.append(most)
    if never:
        one = min(never, key=lambda hole: hole.asked)
        yield Problem(
            "warning",
            f"{_who(never)} hardly ever asked about queries of some kind, such as {one.name} where {one.feature!r} "
            f"{one.kind} ({one.asked:.0%} of them, {one.most:.0%} elsewhere): nothing tells how it does there. "
            "Ask it about some",
            answers[one.name] if len(never) == 1 else None,
        )
    if depends:
        one = max(depends, key=lambda hole: hole.share)
        yield Problem(
            "warning",
            f"whether {_who(depends)} asked depends on the query, most by {one.feature!r} "
            f"({one.name} in {one.asked:.0%} of rows where it {one.kind}, in up to {one.most:.0%} elsewhere): errors "
            "of different entities are of different queries. Ask some at random (`explore`)",
            answers[one.name] if len(depends) == 1 else None,
        )


def _who(found: Sequence[_Hole]) -> str:
    return f"{listed(hole.name for hole in found)} {'was' if len(found) == 1 else 'were'}"


def _scarce(name: str, asked: np.ndarray, feature: str, by: Kinds) -> _Hole | None:
    """The kind of query that an entity was hardly ever asked about, if there is one."""
    codes = by.of_at_least(_LEAST_EXPECTED / asked.mean()).codes
    shares = _shares(asked, codes)
    low = [code for code, share in shares.items() if share <= _HARDLY * asked.mean()]
    if not low:
        return None
    where, label = by.around(min(low, key=lambda code: shares[code]), low)
    there = np.isin(codes, where)
    return _Hole(name, 1.0, feature, label, float(asked[there].mean()), float(asked[~there].mean()))


def _dependent(name: str, asked: np.ndarray, feature: str, by: Kinds, chance: float) -> _Hole | None:
    """How much being asked depends on a feature, if it does."""
    codes = by.of_at_least(_LEAST_IN_A_KIND / min(asked.mean(), 1 - asked.mean())).codes
    share, luck = explained(asked.astype(np.float64), codes)
    if share < LEAST_SHARE or luck >= chance:
        return None
    shares = _shares(asked, codes)
    code = min(shares, key=lambda code: shares[code])
    return _Hole(name, share, feature, by.labels[code], shares[code], max(shares.values()))


def _shares(asked: np.ndarray, codes: np.ndarray) -> dict[int, float]:
    return {int(code): float(asked[codes == code].mean()) for code in np.unique(codes[codes >= 0])}


class Together:
    """How often each two entities were asked about one query, counted batch by batch."""

    def __init__(self) -> None:
        self.rows = 0
        self.pairs: Float[np.ndarray, "a a"] | None = None

    def add(self, asked: Bool[np.ndarray, "n a"]) -> None:
        """Count a batch."""
        here = asked.astype(np.float64)
        here = here.T @ here
        self.pairs = here if self.pairs is None else self.pairs + here
        self.rows += len(asked)

    def problems(self, names: Sequence[str]) -> Iterator[Problem]:
        """Yield a problem where entities, named in order, were asked often enough and never together."""
        if self.pairs is None or len(names) < 2:
            return
        alone = np.diag(self.pairs)
        expected = np.triu(np.outer(alone, alone) / self.rows, 1)
        often = np.argwhere((self.pairs == 0) & (expected >= _LEAST_EXPECTED))
        if not len(often):
            return
        if not np.triu(self.pairs, 1).any():
            what = "no row has two answers: no committee can be learned or scored"
        else:
            one, other = (names[i] for i in often[0])
            many = "1 pair was" if len(often) == 1 else f"{len(often)} pairs were"
            what = f"{many} never asked together, such as {one} and {other}: no committee of both can be scored"
        yield Problem("warning", f"{what}. Ask two or more about some queries")
