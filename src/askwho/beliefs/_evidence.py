"""What one answer says: how likely its author is right, and what is true where it is not."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from askwho._parts import State, part
from askwho.exceptions import InvalidInputError

# Expected errors are kept so far from 0 and 1, or their log-odds, one of the inputs, would be infinite.
_CLIP = 1e-3
# Odds of one answer beyond e^6 are taken for e^6: a few hundred rows cannot tell more.
_MOST_ODDS = 6.0
# Where mistakes differ a class may matter at one in a thousand: odds of one answer go up to e^10 there.
_MOST_ODDS_OF_COSTS = 10.0
# No single answer counts for more against a candidate, by hand: a few others can still bring it back.
_LEAST_EVIDENCE = -8.0
# Quantiles of what came back with an answer where its line may bend, by hand: quarters, and one in the upper tail.
_KNOTS = (0.25, 0.5, 0.75, 0.9)
PRIOR_WRONG = 20.0
"""Confusions count as if so many wrong answers more had been seen, spread like the truths; a newcomer's, like those of
the panel."""
# What the odds of being right depend on, beside the classes: six and the knots; the prior's own odds, where mistakes
# differ, are one more.
_INPUTS = 6 + len(_KNOTS)
# The fields and their shapes, in order.
_ARRAYS = {
    "weights": "a f",
    "bias": "a",
    "by_class": "a c",
    "centre": "a",
    "scale": "a",
    "knots": "a q",
    "confusion": "a c c",
    "silent": "a",
}


@dataclass(frozen=True, eq=False)
class Heard:
    """What can be said about queries once their answers are there, entity by entity.

    Args:
        codes: shape (n, |A|), each answer as an index into C candidates; −1 where there is none.
        expected: shape (n, |A|), expected errors before asking.
        prior: shape (n, C), log-probabilities of the candidates before asking.
        info: shape (n, |A|), what came back with the answers; NaN where nothing did.
    """

    codes: Int[np.ndarray, "n a"]
    expected: Float[np.ndarray, "n a"]
    prior: Float32[np.ndarray, "n c"]
    info: Float[np.ndarray, "n a"]

    def rows(self, chosen: Int[np.ndarray, " m"] | Bool[np.ndarray, " n"]) -> "Heard":
        """Return those of some of the queries."""
        return Heard(self.codes[chosen], self.expected[chosen], self.prior[chosen], self.info[chosen])


@part("evidence")
@dataclass(frozen=True, eq=False)
class Evidence:
    """A logistic model an entity of being right, and a table of what is true where it is wrong.

    Logistic regression; and a confusion matrix (Dawid and Skene 1979) of the wrong answers alone, smoothed by a
    Dirichlet prior whose mean are the shares of the truths.

    Args:
        weights: shape (|A|, f), of the odds before asking, of what the prior thinks of the answer, and of `info`; in
            front of them of the prior's odds, where mistakes differ: a rare class is told by them alone.
        bias: shape (|A|,).
        by_class: shape (|A|, C), what having said that class adds to the log-odds of being right.
        centre: shape (|A|,), of `info`.
        scale: shape (|A|,), likewise.
        knots: shape (|A|, 4), where the line through `info` may bend.
        confusion: shape (|A|, C, C), log of how much likelier than by the prior [truth] is, after a wrong [answer].
        silent: shape (|A|,), whose answers are no evidence, because the prior is their own.
    """

    weights: Float[np.ndarray, "a f"]
    bias: Float[np.ndarray, " a"]
    by_class: Float[np.ndarray, "a c"]
    centre: Float[np.ndarray, " a"]
    scale: Float[np.ndarray, " a"]
    knots: Float[np.ndarray, "a q"]
    confusion: Float32[np.ndarray, "a c c"]
    silent: Bool[np.ndarray, " a"]

    @classmethod
    def fit(
        cls,
        heard: Heard,
        truth: Int[np.ndarray, " n"],
        *,
        silent: Bool[np.ndarray, " a"],
        named: bool,
        rare: bool = False,
    ) -> "Evidence":
        """Return the evidence that past answers teach.

        Args:
            heard: of past queries, everything out of fold.
            truth: shape (n,), as indices into the candidates.
            silent: shape (|A|,), whose answers are no evidence.
            named: whether candidates are classes, with habits of their own; else only places in a row.
            rare: whether mistakes differ, so that a rare class may matter.
        """
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - to learn alone: it takes long to import

        size, classes = heard.codes.shape[1], heard.prior.shape[1]
        centre, scale, knots = spread_of(heard.info)
        blank = cls(
            np.zeros((size, _INPUTS + rare)),
            np.zeros(size),
            np.zeros((size, classes)),
            centre,
            scale,
            knots,
            np.zeros((size, classes, classes), dtype=np.float32),
            silent,
        )
        inputs = blank.inputs(heard)
        weights, bias = np.zeros((size, inputs.shape[2])), np.zeros(size)
        share = (np.bincount(truth, minlength=classes) + 1.0) / (len(truth) + classes)
        for j in np.flatnonzero(~silent):
            rows = np.flatnonzero(heard.codes[:, j] >= 0)
            said, right = heard.codes[rows, j], heard.codes[rows, j] == truth[rows]
            if right.all() or not right.any():
                bias[j] = np.log((right.sum() + 1.0) / ((~right).sum() + 1.0))
                continue
            design: Any = inputs[rows, j]
            if named:
                design = np.hstack([design, np.eye(classes)[said]])
                blank.confusion[j] = _confusion(said, truth[rows], share)
            model = LogisticRegression(C=1.0, max_iter=300).fit(design, right)
            weights[j], bias[j] = model.coef_[0, : inputs.shape[2]], model.intercept_[0]
            if named:
                blank.by_class[j] = model.coef_[0, inputs.shape[2] :]
        return cls(weights, bias, blank.by_class, centre, scale, knots, blank.confusion, silent)

    def log_odds(self, heard: Heard) -> Float[np.ndarray, "n a"]:
        """Return the log-odds that each answer is right, shape (n, |A|); whatever where there is none."""
        said = np.maximum(heard.codes, 0)
        odds = np.einsum("naf,af->na", self.inputs(heard), self.weights) + self.bias
        # A candidate that training never saw has no habits.
        known = said < self.by_class.shape[1]
        odds += np.where(known, self.by_class[self._entities, np.where(known, said, 0)], 0.0)
        most = _MOST_ODDS_OF_COSTS if self.rare else _MOST_ODDS
        return np.clip(odds, -most, most)

    def of(self, heard: Heard) -> Float32[np.ndarray, "n a c"]:
        """Return log-evidence for each candidate, shape (n, |A|, C): what the answer alone adds to the prior.

        The prior plus the evidence of one answer is the log-probability of each candidate given that answer.
        """
        n, size = heard.codes.shape
        classes = heard.prior.shape[1]
        odds = self.log_odds(heard)
        said = np.maximum(heard.codes, 0)
        wrong = np.broadcast_to(heard.prior[:, None, :], (n, size, classes)).copy()
        trained = self.confusion.shape[2]
        seen = said < trained
        wrong[:, :, :trained] += np.where(
            seen[:, :, None], self.confusion[self._entities, np.where(seen, said, 0)], np.float32(0.0)
        )
        own = said[:, :, None]
        np.put_along_axis(wrong, own, np.float32(-np.inf), axis=2)
        top = wrong.max(axis=2, keepdims=True)
        wrong -= top + np.log(np.exp(wrong - top).sum(axis=2, keepdims=True))
        wrong -= np.logaddexp(0.0, odds)[:, :, None].astype(np.float32)
        np.put_along_axis(wrong, own, -np.logaddexp(0.0, -odds)[:, :, None].astype(np.float32), axis=2)
        wrong -= heard.prior[:, None, :]
        spoke = (heard.codes >= 0) & ~self.silent
        return np.where(spoke[:, :, None], np.maximum(wrong, np.float32(_LEAST_EVIDENCE)), np.float32(0.0))

    def to_state(self) -> State:
        """Return the evidence as arrays."""
        return State(arrays={name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def from_state(cls, state: State) -> "Evidence":
        """Return the evidence that `to_state` wrote."""
        made = cls(*state.pick(**_ARRAYS))
        if not made.rare and made.weights.shape[1] != _INPUTS:
            raise InvalidInputError(
                f"`weights` must be of {_INPUTS} inputs, got {made.weights.shape[1]}: the artefact is damaged."
            )
        return made

    @property
    def rare(self) -> bool:
        """Whether mistakes differ, so that a rare class may matter."""
        return self.weights.shape[1] == _INPUTS + 1

    @cached_property
    def _entities(self) -> Int[np.ndarray, " a"]:
        return np.arange(len(self.bias))

    def inputs(self, heard: Heard) -> Float[np.ndarray, "n a f"]:
        """Return what the odds of being right depend on, shape (n, |A|, f)."""
        right = np.clip(1.0 - heard.expected, _CLIP, 1.0 - _CLIP)
        said = np.maximum(heard.codes, 0)
        own, top = np.take_along_axis(heard.prior, said, axis=1), heard.prior.max(axis=1, keepdims=True)
        info = (heard.info - self.centre) / self.scale
        info = np.where(np.isfinite(info), info, 0.0)
        bends = np.maximum(info[:, :, None] - self.knots, 0.0)
        before: list[np.ndarray] = []
        if self.rare:
            rest = np.maximum(1.0 - np.exp(own.astype(np.float64)), np.exp(-_MOST_ODDS_OF_COSTS))
            before = [(own - np.log(rest))[:, :, None]]
        return np.concatenate(
            [
                *before,
                np.stack(
                    [
                        np.log(right / (1.0 - right)),
                        own,
                        np.broadcast_to(top, own.shape),
                        np.exp(own),
                        (own >= top).astype(np.float64),
                        info,
                    ],
                    axis=2,
                ),
                bends,
            ],
            axis=2,
        )


def spread_of(info: Float[np.ndarray, "n a"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return centre and scale of what came back with the answers, each (|A|,), and its knots, shape (|A|, 4)."""
    size = info.shape[1]
    centre, scale, knots = np.zeros(size), np.ones(size), np.zeros((size, len(_KNOTS)))
    for j in range(size):
        known = info[np.isfinite(info[:, j]), j]
        if known.size:
            centre[j], spread = known.mean(), known.std()
            # What never changes has a spread of rounding errors, which must not make a mountain of the first change.
            scale[j] = spread if spread > 1e-9 * np.abs(known).max() else 1.0
            knots[j] = (np.quantile(known, _KNOTS) - centre[j]) / scale[j]
    return centre, scale, knots


def _confusion(said: np.ndarray, truth: np.ndarray, share: np.ndarray) -> Float32[np.ndarray, "c c"]:
    """Log of how much likelier than by the prior each truth is after a wrong answer, shape (said, truth), shrunk."""
    classes = len(share)
    counts = np.zeros((classes, classes))
    np.add.at(counts, (said, truth), 1.0)
    np.fill_diagonal(counts, 0.0)
    others = np.tile(share, (classes, 1))
    np.fill_diagonal(others, 0.0)
    others /= np.maximum(others.sum(axis=1, keepdims=True), 1e-12)
    shrunk = (counts + PRIOR_WRONG * others) / (counts.sum(axis=1, keepdims=True) + PRIOR_WRONG)
    ratio = np.log(np.maximum(shrunk, 1e-9) / np.maximum(others, 1e-9))
    np.fill_diagonal(ratio, 0.0)
    return ratio.astype(np.float32)
