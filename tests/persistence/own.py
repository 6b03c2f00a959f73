"""Parts of a user's own, in a module as they must be to be read back."""

import numpy as np

from askwho._parts import State
from askwho.aggregation import log_odds_vote


class Means:
    """Everybody's mean error on either side of the first feature's median."""

    def __init__(self, shrink=1.0):
        self.shrink = shrink

    def fit(self, X, errors):
        self.middle = float(np.median(X[:, 0]))
        sides = [X[:, 0] <= self.middle, X[:, 0] > self.middle]
        self.means = np.array([(errors[side].sum(axis=0) + self.shrink) / (side.sum() + self.shrink) for side in sides])
        return self

    def predict(self, X):
        return self.means[(X[:, 0] > self.middle).astype(int)]

    def to_state(self):
        return State(plain={"shrink": self.shrink}, arrays={"means": self.means, "middle": np.array(self.middle)})

    @classmethod
    def from_state(cls, state):
        made = cls(state.plain["shrink"])
        made.means, made.middle = state.arrays["means"], float(state.arrays["middle"])
        return made


class WithText(Means):
    """One whose state is no number and no JSON, as a first try may be."""

    def __init__(self, plain=None, arrays=None):
        super().__init__()
        self.given = State(plain=plain or {}, arrays=arrays or {})

    def to_state(self):
        return self.given


def careful(committee):
    """A committee: the library's own weighed vote, under another name."""
    return log_odds_vote(committee)


def lengths(texts):
    """An encoder: how long a text is, and how many words it has."""
    return np.array([[len(text), len(text.split())] for text in texts], dtype=float)


class Letters:
    """An encoder with something to remember: which letters it counts."""

    def __init__(self, letters):
        self.letters = letters

    def transform(self, texts):
        return np.array([[text.count(letter) for letter in self.letters] for text in texts], dtype=float)

    def to_state(self):
        return State(plain={"letters": self.letters})

    @classmethod
    def from_state(cls, state):
        return cls(state.plain["letters"])


class Outer:
    """Something that has something inside."""

    @staticmethod
    def inside(texts):
        return lengths(texts)
