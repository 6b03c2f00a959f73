"""Which base of texts: of words, or of words and characters, and how closely it follows them."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Int, Shaped

from askwho.core import ErrorFunction, each_fold, zero_one
from askwho.learners._crossed import Crossed
from askwho.learners._words import Words, with_characters, words_of

# Ten times as smooth as usual, and a tenth: between them errors hardly change.
_OTHER_STRENGTHS = (1.0, 100.0)
# Characters help most where there are few texts to learn words from: if so many gain nothing by them, more gain nothing
# either, and characters of all of them would take most of the time and the memory.
_ENOUGH = 2000
# It takes so many standard errors to leave what is usual, as it does for other learners.
_CLEARLY = 2.0


def text_base(
    texts: Sequence[str],
    truth: Shaped[np.ndarray, " n"],
    fold: Int[np.ndarray, " n"],
    error: ErrorFunction = zero_one,
) -> Crossed:
    """Return `Words` out of fold, as suits the texts: words of the usual strength unless another is clearly better.

    Characters are tried first, on some of the rows, then other strengths of what was chosen, on all. Whatever does no
    better on the first fold is left there; whatever does must be better over all of them, by two standard errors.

    Args:
        texts: n of them.
        truth: shape (n,), classes.
        fold: shape (n,), from `folds`.
        error: as in `Crossed`.
    """
    words = words_of(texts)
    chosen = Crossed("words", _fit, words, truth, fold, error=error)
    some = np.unique(np.linspace(0, len(texts) - 1, min(len(texts), _ENOUGH)).astype(np.intp))
    if all(len(np.unique(truth[some][seen])) > 1 for seen, _ in each_fold(fold[some])):
        whole = len(some) == len(texts)
        part = chosen if whole else Crossed(chosen.name, _fit, words[some], truth[some], fold[some], error=error)
        richer = _with_characters(part, [texts[int(row)] for row in some], fold[some])
        if _clearly_best(part, [richer]) is richer:
            chosen = richer if whole else _with_characters(chosen, texts, fold)
    others = [partial(_fit, strength=strength) for strength in _OTHER_STRENGTHS]
    tried = [Crossed(chosen.name, fit, chosen.inputs, truth, fold, error=error) for fit in others]
    return _clearly_best(chosen, tried).finish()


def _with_characters(words: Crossed, texts: Sequence[str], fold: np.ndarray) -> Crossed:
    richer = with_characters(words.inputs, texts)
    return Crossed("words-and-characters", _fit, richer, words.truth, fold, error=words.error)


def _fit(words: Any, truth: np.ndarray, strength: float | None = None) -> Words:  # noqa: ANN401 - a sparse matrix
    return (Words() if strength is None else Words(strength)).fit(words, truth)


def _clearly_best(usual: Crossed, others: Iterable[Crossed]) -> Crossed:
    first = usual.begin()
    best, least = usual, 0.0
    for other in others:
        other.begin()
        if other.losses[first].sum() >= usual.losses[first].sum():
            continue
        change = other.finish().losses - usual.finish().losses
        if change.mean() < min(least, -_CLEARLY * change.std() / np.sqrt(len(change))):
            best, least = other, float(change.mean())
    return best
