"""Beliefs of a panel that has changed: somebody more, of whom little is known, or somebody fewer."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Shaped

from askwho.beliefs._asking import Asking, Basis
from askwho.beliefs._beliefs import Beliefs
from askwho.beliefs._evidence import Evidence
from askwho.beliefs._pool import Pool
from askwho.core import Answers

# Steps of Newton's method for one bias: they double its digits, and it begins near.
_STEPS = 20
# What biases vary by at the least, by hand: those of a panel that is all alike do not prove a stranger's.
_LEAST_SPREAD = 0.25
# Everything that evidence holds has one row an entity, in this order.
_FIELDS = ("weights", "bias", "by_class", "centre", "scale", "knots", "confusion", "silent")


def without_member(beliefs: Beliefs, j: int) -> Beliefs:
    """Return the beliefs of everybody but entity j: right for any of the others, as before."""
    kept = np.delete(np.arange(len(beliefs.evidence.bias)), j)
    evidence = Evidence(*(getattr(beliefs.evidence, name)[kept] for name in _FIELDS))
    if not len(beliefs.classes):
        # Candidates are places in a row, one for each member and one for none of them: there is one place fewer.
        evidence = replace(evidence, by_class=evidence.by_class[:, :-1], confusion=evidence.confusion[:, :-1, :-1])
    return replace(beliefs, evidence=evidence, pool=beliefs.pool.only(kept))


def with_member(beliefs: Beliefs) -> Beliefs:
    """Return the beliefs with one more behind the others, who is like the mean of those whose answers are evidence.

    How likely he is to be right goes by his own expected error, as everybody's does.
    """
    evidence, others = beliefs.evidence, ~beliefs.evidence.silent
    others = others if others.any() else np.ones(len(others), dtype=bool)
    arrays = {name: getattr(evidence, name) for name in _FIELDS}
    rows = {name: array[others].mean(axis=0, keepdims=True).astype(array.dtype) for name, array in arrays.items()}
    rows["silent"] = np.zeros(1, dtype=bool)
    # What comes back with answers is told in everybody's own terms: that of a stranger says nothing, unless all agree.
    apart = np.abs(evidence.centre[others] - rows["centre"]) > evidence.scale[others]
    ratio = evidence.scale[others].max() / max(float(evidence.scale[others].min()), 1e-12)
    if apart.any() or ratio > 2.0:
        rows["weights"][:, -1 - evidence.knots.shape[1] :] = 0.0
    joined = Evidence(*(np.concatenate([arrays[name], rows[name]]) for name in _FIELDS))
    members = beliefs.pool.members
    pool = Pool(np.append(members, members[others].mean()), beliefs.pool.sources)
    return replace(beliefs, evidence=joined, pool=pool)


def with_answers(
    beliefs: Beliefs,
    j: int,
    answers: Answers,
    truth: Shaped[np.ndarray, " n"],
    *,
    expected: Float[np.ndarray, "n a"],
    shares: Float[np.ndarray, "n t"] | None,
    info: Float[np.ndarray, "n a"] | None,
) -> Beliefs:
    """Return the beliefs after some answers of entity j: how much more, or less, he is right than others so expected.

    Logistic regression of one number, whose prior is normal around what it was, with the panel's variance.

    Args:
        beliefs: of the panel.
        j: whose answers these are.
        answers: of the panel, his among them.
        truth: shape (n,).
        expected: shape (n, |A|), expected errors, his by other answers than each.
        shares: shape (n, T), what the base thinks.
        info: shape (n, |A|), what came back with the answers.
    """
    evidence = beliefs.evidence
    heard = beliefs.heard(answers, expected=expected, shares=shares, info=info)
    spoke = heard.codes[:, j] >= 0
    right = (heard.codes[:, j] == beliefs.right(answers, heard.codes, truth))[spoke]
    odds = evidence.log_odds(heard)[spoke, j]
    spread = max(float(np.var(evidence.bias[~evidence.silent])), _LEAST_SPREAD)
    step = 0.0
    for _ in range(_STEPS):
        share = 1.0 / (1.0 + np.exp(-(odds + step)))
        slope = float((right - share).sum()) - step / spread
        step += slope / (float((share * (1.0 - share)).sum()) + 1.0 / spread)
    bias = evidence.bias.copy()
    bias[j] += step
    return replace(beliefs, evidence=replace(evidence, bias=bias))


def asking_without(asking: Asking, j: int) -> Asking | None:
    """Return the rule of asking in turn without entity j of the panel; None where nobody is left to ask.

    He is never asked, and what is expected of him is what it was in the mean: what this leaves of his terms is a
    constant, so the rule stays as it was learned, exactly.
    """
    place = np.flatnonzero(asking.entities == j)
    kept = np.flatnonzero(asking.entities != j)
    entities = asking.entities[kept]
    entities = entities - (entities > j)
    if not len(kept):
        return None
    if not len(place):
        return replace(asking, entities=entities)
    made = [_folded(basis, gains, place[0], len(asking.entities)) for basis, gains in zip(asking.bases, asking.gains, strict=True)]
    return replace(
        asking,
        entities=entities,
        bases=[basis for basis, _ in made],
        gains=[gains[:, kept] for _, gains in made],
        pool=asking.pool.only(kept),
    )


def _folded(basis: Basis, gains: np.ndarray, place: int, size: int) -> tuple[Basis, np.ndarray]:
    """A basis and its weights without the terms of one entity: of having asked him, and of what is expected of him."""
    # Seven numbers of the belief, who was asked, what is expected of each, and the prior: see `summarise`.
    before = len(basis.centre) - 2 * size - 1
    asked, awaited = before + place, before + size + place
    kept = np.delete(np.arange(len(basis.centre)), [asked, awaited])
    never = np.float32(-basis.centre[asked] / basis.scale[asked])
    offsets = basis.offsets + never * basis.directions[asked]
    folded = gains.copy()
    folded[0] += never * gains[1 + asked]
    lines = np.concatenate([[0], 1 + kept, np.arange(1 + len(basis.centre), len(gains))])
    return Basis(basis.centre[kept], basis.scale[kept], basis.directions[kept], offsets), folded[lines]
