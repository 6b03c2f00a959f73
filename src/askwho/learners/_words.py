"""Texts as words, and a model of them."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Shaped

# The hashing trick: no vocabulary is kept. A million places, so that few words share one; words and pairs of words,
# there or not, as naive-Bayes features do best (Wang and Manning 2012); no norm, for words are weighed first.
_WORDS: dict[str, Any] = {
    "n_features": 2**20,
    "ngram_range": (1, 2),
    "alternate_sign": False,
    "norm": None,
    "binary": True,
}


def words_of(texts: Sequence[str] | None) -> Any:  # noqa: ANN401 - a sparse matrix
    """Return texts as rows of hashed words and pairs of words that are there (1) or not (0), sparse, shape (n, 2^20).

    References:
        Weinberger, Dasgupta, Langford, Smola, Attenberg. Feature hashing for large scale multitask learning. ICML 2009.
    """
    return _counter().transform(texts)


def weigh_words(words: Any, weights: Float32[np.ndarray, " w"]) -> Any:  # noqa: ANN401 - sparse matrices
    """Return words times their weights, every text scaled to length one, shape (n, w)."""
    from sklearn.preprocessing import normalize  # noqa: PLC0415 - for texts alone: it takes long to import

    return normalize(words.multiply(weights[None]).tocsr(), copy=False)


class Words:
    """Logistic regression of words weighed by their naive-Bayes log-count ratios.

    A word's weight is the largest |log(p/q)| over the classes: p is its share of all words in texts of the class, q
    its share in the others, each count plus one.

    References:
        Wang, Manning. Baselines and bigrams: simple, good sentiment and topic classification. ACL 2012.
    """

    classes_: np.ndarray

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
        linear = LogisticRegression(C=10.0, max_iter=100).fit(weigh_words(words, self.weights_)[:, there], truth)
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


@cache
def _counter() -> Any:  # noqa: ANN401 - scikit-learn's
    from sklearn.feature_extraction.text import HashingVectorizer  # noqa: PLC0415 - for texts alone, as above

    return HashingVectorizer(**_WORDS)
