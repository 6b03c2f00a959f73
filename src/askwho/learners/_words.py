"""Texts as words, and a model of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Shaped

from askwho._hashing import hashed_characters, hashed_words
from askwho._tokens import writable

# The hashing trick: no vocabulary is kept. A million buckets, so that few words share one; words and pairs of words.
_WORDS = 2**20
# Three to five characters are a word where words are not apart, and its stem where they have many endings.
_CHARACTERS, _SHORTEST, _LONGEST = 2**19, 3, 5
# They are many: more of a text takes longer to count than it tells.
_FIRST = 600
# Logistic regression's C where no other is clearly better: words of length one that tell their class need little care.
_STRENGTH = 10.0


def words_of(texts: Sequence[str] | None, *, characters: bool = False) -> Any:  # noqa: ANN401 - a sparse matrix
    """Return texts as rows of what is there (1) or not (0), sparse: hashed words and pairs of words, shape (n, 2^20).

    With characters, threes to fives of them behind, shape (n, 2^20 + 2^19).

    References:
        Weinberger, Dasgupta, Langford, Smola, Attenberg. Feature hashing for large scale multitask learning. ICML 2009.
    """
    words = _there(hashed_words(texts or (), _WORDS))
    return with_characters(words, texts or ()) if characters else words


def with_characters(words: Any, texts: Sequence[str]) -> Any:  # noqa: ANN401 - sparse matrices
    """Return the rows of `words_of` with characters behind, shape (n, 2^20 + 2^19)."""
    from scipy import sparse  # noqa: PLC0415 - for texts alone, as below

    heads = [writable(text[:_FIRST]) for text in texts]
    parts = _there(hashed_characters(heads, _CHARACTERS, least=_SHORTEST, most=_LONGEST))
    return sparse.hstack([words, parts], format="csr")


def weigh_words(words: Any, weights: Float32[np.ndarray, " w"]) -> Any:  # noqa: ANN401 - sparse matrices
    """Return words times their weights, every text scaled to length one, shape (n, w)."""
    from sklearn.preprocessing import normalize  # noqa: PLC0415 - for texts alone: it takes long to import

    return normalize(words.multiply(weights[None]).tocsr(), copy=False)


class Words:
    """Logistic regression of words weighed by their naive-Bayes log-count ratios.

    A word's weight is the largest |log(p/q)| over the classes: p is its share of all words in texts of the class, q
    its share in the others, each count plus one.

    Args:
        strength: how closely the regression follows the texts it learns from, C; small is smooth.

    References:
        Wang, Manning. Baselines and bigrams: simple, good sentiment and topic classification. ACL 2012.
    """

    classes_: np.ndarray

    def __init__(self, strength: float = _STRENGTH) -> None:
        self.strength = strength

    def fit(self, words: Any, truth: Shaped[np.ndarray, " n"]) -> "Words":  # noqa: ANN401 - a sparse matrix
        """Learn from texts as rows of words that are there (1) or not (0)."""
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - to learn alone: it takes long to import

        tells = np.zeros(words.shape[1])
        everywhere = np.asarray(words.sum(axis=0)).ravel()
        for each in np.unique(truth):
            inside = np.asarray(words[truth == each].sum(axis=0)).ravel()
            here, there = inside + 1.0, everywhere - inside + 1.0
            tells = np.maximum(tells, np.abs(np.log((here / here.sum()) / (there / there.sum()))))
        self.weights_ = tells.astype(np.float32)
        # Of a million words a log has some thousands: the others would weigh nothing, and take a hundred times as long.
        there = np.flatnonzero(everywhere)
        # The less smooth, the more steps it takes.
        linear: Any = LogisticRegression(C=self.strength, max_iter=int(10 * max(self.strength, _STRENGTH)))
        linear.fit(weigh_words(words, self.weights_)[:, there], truth)
        whole = np.zeros((len(linear.coef_), words.shape[1]))
        whole[:, there] = linear.coef_
        linear.coef_, linear.n_features_in_ = whole, words.shape[1]
        self.linear_ = linear
        self.classes_ = self.linear_.classes_
        return self

    def predict(self, words: Any) -> Shaped[np.ndarray, " n"]:  # noqa: ANN401
        """Return the likeliest class, shape (n,)."""
        return self.linear_.predict(weigh_words(words, self.weights_))

    def predict_proba(self, words: Any) -> Float[np.ndarray, "n t"]:  # noqa: ANN401
        """Return the probability of each class, shape (n, T)."""
        return self.linear_.predict_proba(weigh_words(words, self.weights_))


def _there(counts: Any) -> Any:  # noqa: ANN401 - sparse matrices
    """What is there (1) or not (0), as naive-Bayes features do best (Wang and Manning 2012)."""
    counts.data.fill(1)
    return counts
