"""Beliefs of a panel that has changed: somebody more, of whom little is known, or somebody fewer."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Float32, Int, Shaped

from askwho.beliefs._asking import Asking, Basis
from askwho.beliefs._beliefs import Beliefs
from askwho.beliefs._evidence import PRIOR_WRONG, Evidence, Heard
from askwho.beliefs._grades import Grades
from askwho.beliefs._numbers import Numbers
from askwho.beliefs._pool import Pool
from askwho.core import Answers

# Steps of Newton's method: each doubles the digits, and it begins near.
_STEPS = 20
# What weights vary by beside the panel's own spread, by hand: those of a panel that is all alike, or of so few that
# they span few directions, do not prove a stranger's.
_LEAST_SPREAD = 0.03
# Mean errors are kept so far from 0 and 1 when they are compared: a few answers tell no greater odds.
_ENDS = 0.02
# Log-odds beyond e^20 are taken for it while a mode is looked for: no exponential overflows.
_FAR = 20.0
# Everything that evidence holds has one row an entity, in this order.
_FIELDS = ("weights", "bias", "by_class", "centre", "scale", "knots", "confusion", "silent")


def without_member(beliefs: Beliefs | Numbers | Grades, j: int) -> Beliefs | Numbers | Grades:
    """Return the beliefs of everybody but entity j: right for any of the others, as before."""
    if isinstance(beliefs, Numbers):
        return beliefs.only(np.delete(np.arange(beliefs.pool.size), j))
    if isinstance(beliefs, Grades):
        return beliefs.without(j)
    kept = np.delete(np.arange(len(beliefs.evidence.bias)), j)
    evidence = Evidence(*(getattr(beliefs.evidence, name)[kept] for name in _FIELDS))
    if not len(beliefs.classes):
        # Candidates are places in a row, one for each member and one for none of them: there is one place fewer.
        evidence = replace(evidence, by_class=evidence.by_class[:, :-1], confusion=evidence.confusion[:, :-1, :-1])
    sets = None if beliefs.sets is None else beliefs.sets.without(j)
    return replace(beliefs, evidence=evidence, pool=beliefs.pool.only(kept), sets=sets)


def with_member(beliefs: Beliefs | Numbers | Grades) -> Beliefs | Numbers | Grades:
    """Return the beliefs with one more behind the others, who is like the mean of those whose answers are evidence.

    How likely he is to be right goes by his own expected error, as everybody's does; with grades by nothing else.
    """
    if isinstance(beliefs, Numbers):
        return beliefs.joined()
    if isinstance(beliefs, Grades):
        return beliefs.with_one_more()
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
    # What the pool draws everybody's own weight to, and not the mean of so few: one who only repeats the prior would
    # make all who come repeat it.
    pool = Pool(np.append(beliefs.pool.members, 0.0), beliefs.pool.sources)
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
    usual: Float[np.ndarray, " a"],
    stranger: bool,
) -> Beliefs:
    """Return the beliefs after some answers of entity j.

    A stranger has the habits of those whose habits make his answers likely: a mean of the panel's, each as if its owner
    were right as often as he is, weighed by what they say of the truths behind his answers (Bayesian model averaging;
    Hoeting et al. 1999). From there his own answers move how much more, or less, he is right than others of whom as
    much is expected, by a logistic regression whose prior is normal with the panel's covariance; and what is true where
    he is wrong, counted beside his prior.

    Args:
        beliefs: of the panel.
        j: whose answers these are.
        answers: of the panel, his among them.
        truth: shape (n,).
        expected: shape (n, |A|), expected errors, his by other answers than each.
        shares: shape (n, T), what the base thinks.
        info: shape (n, |A|), what came back with the answers.
        usual: shape (|A|,), what everybody is expected to err in the mean.
        stranger: whether nothing was known of his habits before.
    """
    heard = beliefs.heard(answers, expected=expected, shares=shares, info=info)
    place = beliefs.right(answers, heard.codes, truth)
    spoke = np.flatnonzero(heard.codes[:, j] >= 0)
    if not spoke.size:
        return beliefs
    his = Heard(
        heard.codes[spoke][:, [j]], heard.expected[spoke][:, [j]], heard.prior[spoke], heard.info[spoke][:, [j]]
    )
    rows = beliefs.evidence
    level = _at_level(rows, j, usual)
    mine = _alike(level, j, his, place[spoke]) if stranger else _some(rows, [j])
    others = [i for i in np.flatnonzero(~rows.silent).tolist() if i != j]
    if others:
        mine = _moved(mine, _some(level, others), his, place[spoke])
    if len(beliefs.classes):
        mine = replace(mine, confusion=_confused(mine.confusion[0], beliefs.share, his.codes[:, 0], place[spoke])[None])
    arrays = {name: getattr(rows, name).copy() for name in _FIELDS}
    for name, array in arrays.items():
        array[j] = getattr(mine, name)[0]
    # The models of sets know how he answered before.
    sets = None if beliefs.sets is None else beliefs.sets.but(j)
    return replace(beliefs, evidence=Evidence(**arrays), sets=sets)


def _some(evidence: Evidence, members: list[int]) -> Evidence:
    """The evidence of some of the entities."""
    return Evidence(*(getattr(evidence, name)[members] for name in _FIELDS))


def _at_level(evidence: Evidence, j: int, usual: Float[np.ndarray, " a"]) -> Evidence:
    """The evidence with everybody right as often as entity j.

    What is expected of somebody is among what his odds of being right depend on, but counts there for a part alone: the
    rest of how good he is stands in his bias, which is then no stranger's.
    """
    right = 1.0 - np.clip(usual, _ENDS, 1.0 - _ENDS)
    odds = np.log(right / (1.0 - right))
    counted = evidence.weights[:, int(evidence.rare)]
    return replace(evidence, bias=evidence.bias + (1.0 - counted) * (odds[j] - odds))


def _alike(evidence: Evidence, j: int, his: Heard, place: Int[np.ndarray, " n"]) -> Evidence:
    """The habits of the others, and of their mean in entity j's row, as far as they make his answers likely."""
    others = [i for i in np.flatnonzero(~evidence.silent).tolist() if i != j]
    mean = _some(evidence, [j])
    if others:
        mean = replace(mean, bias=evidence.bias[others].mean(keepdims=True))
    candidates = [*(_some(evidence, [i]) for i in others), mean]
    # A truth that the panel's log never had says nothing of whose habits his are.
    rows = np.flatnonzero(place < his.prior.shape[1])
    fit = np.array([float((his.prior + each.of(his)[:, 0])[rows, place[rows]].sum()) for each in candidates])
    weight = np.exp(fit - fit.max())
    weight /= weight.sum()
    fields = {
        name: np.tensordot(weight, np.stack([getattr(each, name) for each in candidates]), axes=1) for name in _FIELDS
    }
    fields["confusion"] = fields["confusion"].astype(np.float32)
    return Evidence(**fields | {"silent": np.zeros(1, dtype=bool)})


def _moved(mine: Evidence, rows: Evidence, his: Heard, place: Int[np.ndarray, " n"]) -> Evidence:
    """The same with its weights moved by when he was right: the mode of a logistic regression, by Newton's method.

    The weights' prior is normal around what they were, with the covariance that they have among the others, `rows`:
    what goes together for all of them does so for him.
    """
    inputs, said = mine.inputs(his)[:, 0], his.codes[:, 0]
    width, classes = inputs.shape[1], mine.by_class.shape[1]
    habits = np.eye(classes)[np.minimum(said, classes - 1)] * (said < classes)[:, None]
    design = np.hstack([inputs, np.ones((len(said), 1)), habits])
    start = np.concatenate([mine.weights[0], mine.bias, mine.by_class[0]])
    away = np.hstack([rows.weights, rows.bias[:, None], rows.by_class])
    away = away - away.mean(axis=0)
    # A weight that is the same for all is not known to be his, either.
    tight = np.linalg.inv(away.T @ away / len(away) + _LEAST_SPREAD * np.eye(len(start)))
    right, found = (said == place).astype(np.float64), start
    for _ in range(_STEPS):
        share = 1.0 / (1.0 + np.exp(-np.clip(design @ found, -_FAR, _FAR)))
        slope = design.T @ (right - share) - tight @ (found - start)
        curvature = design.T @ (design * (share * (1.0 - share))[:, None]) + tight
        found = found + np.linalg.solve(curvature, slope)
    weights, bias, by_class = np.split(found, [width, width + 1])
    return replace(mine, weights=weights[None], bias=bias, by_class=by_class[None])


def _confused(
    ratio: Float32[np.ndarray, "c c"],
    share: Float[np.ndarray, " c"],
    said: Int[np.ndarray, " n"],
    place: Int[np.ndarray, " n"],
) -> Float32[np.ndarray, "c c"]:
    """What is true where he is wrong, as it was thought and as it came."""
    classes = len(share)
    known = (said != place) & (said < classes) & (place < classes)
    counts = np.zeros((classes, classes))
    np.add.at(counts, (said[known], place[known]), 1.0)
    others = np.tile(share, (classes, 1))
    np.fill_diagonal(others, 0.0)
    others /= np.maximum(others.sum(axis=1, keepdims=True), 1e-12)
    thought = others * np.exp(ratio.astype(np.float64))
    thought /= np.maximum(thought.sum(axis=1, keepdims=True), 1e-12)
    shrunk = (counts + PRIOR_WRONG * thought) / (counts.sum(axis=1, keepdims=True) + PRIOR_WRONG)
    found = np.log(np.maximum(shrunk, 1e-9) / np.maximum(others, 1e-9))
    np.fill_diagonal(found, 0.0)
    return found.astype(np.float32)


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
    if asking.cascade is not None:
        asking = replace(asking, cascade=asking.cascade.without(j))
    if not len(place):
        return replace(asking, entities=entities, pool=asking.pool.without(j))
    if asking.by_sets:
        # The sets without him stay in their order; of the last of them nobody but he was left to ask.
        sets = [number for number in range(len(asking.bases)) if not number >> int(place[0]) & 1][:-1]
        return replace(
            asking,
            entities=entities,
            bases=[asking.bases[number] for number in sets],
            gains=[asking.gains[number][:, kept] for number in sets],
            pool=asking.pool.only(kept).without(j),
        )
    made = [
        _folded(basis, gains, int(place[0]), len(asking.entities))
        for basis, gains in zip(asking.bases, asking.gains, strict=True)
    ]
    return replace(
        asking,
        entities=entities,
        bases=[basis for basis, _ in made],
        gains=[gains[:, kept] for _, gains in made],
        pool=asking.pool.only(kept).without(j),
    )


def _folded(basis: Basis, gains: np.ndarray, place: int, size: int) -> tuple[Basis, np.ndarray]:
    """A basis and its weights without the terms of one entity: of having asked him, and of what is expected of him."""
    # Seven numbers of the belief, who was asked, what is expected of each, and the prior: see `Pool.summarise`.
    before = len(basis.centre) - 2 * size - 1
    asked, awaited = before + place, before + size + place
    kept = np.delete(np.arange(len(basis.centre)), [asked, awaited])
    never = np.float32(-basis.centre[asked] / basis.scale[asked])
    offsets = basis.offsets + never * basis.directions[asked]
    folded = gains.copy()
    folded[0] += never * gains[1 + asked]
    lines = np.concatenate([[0], 1 + kept, np.arange(1 + len(basis.centre), len(gains))])
    return Basis(basis.centre[kept], basis.scale[kept], basis.directions[kept], offsets), folded[lines]
