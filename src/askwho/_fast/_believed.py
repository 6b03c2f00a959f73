"""What a pool believes, row by row: NumPy would go over the same rows a dozen times."""

from typing import no_type_check

import numpy as np

from askwho._fast._compiled import compiled

# From so many supporters on a candidate's weight is the same.
_MANY = 3


@compiled
@no_type_check
def scores_after(prior, evidence, codes, members, sources, bands, rows, asked, scores) -> None:  # noqa: ANN001
    """Write what each candidate scores after some were asked, the largest taken off.

    Args:
        prior: shape (n, C).
        evidence: shape (n, |A|, C).
        codes: shape (n, |A|).
        members: shape (|A|,), float32.
        sources: shape (5, bands), float32.
        bands: which band so many answers are in, the last for more.
        rows: shape (m,), which queries.
        asked: shape (m, |A|).
        scores: shape (m, C), to be written to.
    """
    size, classes = codes.shape[1], prior.shape[1]
    plain, weighed, support = np.empty(classes, np.float32), np.empty(classes, np.float32), np.empty(classes, np.int64)
    for i in range(len(rows)):
        row = rows[i]
        plain[:] = np.float32(0.0)
        weighed[:] = np.float32(0.0)
        support[:] = 0
        answers = 0
        for j in range(size):
            if asked[i, j] and codes[row, j] >= 0:
                answers += 1
                support[codes[row, j]] += 1
                for c in range(classes):
                    plain[c] += evidence[row, j, c]
                    weighed[c] += evidence[row, j, c] * members[j]
        _written(prior, sources, bands, row, answers, plain, weighed, support, scores[i])


@compiled
@no_type_check
def _written(prior, sources, bands, row, answers, plain, weighed, support, scores) -> None:  # noqa: ANN001
    """`Pool.scores` of one row, the largest taken off."""
    band, top = bands[min(answers, len(bands) - 1)], np.float32(-np.inf)
    for c in range(len(plain)):
        score = weighed[c] if answers > 1 else plain[c] + prior[row, c]
        score += plain[c] * sources[0, band]
        if support[c] > 0:
            score += sources[min(support[c], _MANY), band]
        score += prior[row, c] * sources[4, band]
        scores[c] = score
        top = max(top, score)
    for c in range(len(plain)):
        scores[c] -= top


@compiled
@no_type_check
def likeliest(prior, evidence, codes, members, sources, bands, rows, order, near, places, close) -> None:  # noqa: ANN001
    """Write the likeliest candidate after each member of an order, the first among equals.

    Args:
        prior: as in `scores_after`.
        evidence: likewise.
        codes: likewise.
        members: likewise.
        sources: likewise.
        bands: likewise.
        rows: shape (m,), which queries.
        order: shape (m, K), whom is heard.
        near: scores that are so far apart, or less, but not equal, may be equal as probabilities.
        places: shape (m, K), to be written to.
        close: shape (m,), likewise: where two were so near.
    """
    classes = prior.shape[1]
    plain, weighed, support = np.empty(classes, np.float32), np.empty(classes, np.float32), np.empty(classes, np.int64)
    scores = np.empty(classes, np.float32)
    for i in range(len(rows)):
        row = rows[i]
        plain[:] = np.float32(0.0)
        weighed[:] = np.float32(0.0)
        support[:] = 0
        answers = 0
        for r in range(order.shape[1]):
            j = order[i, r]
            if codes[row, j] >= 0:
                answers += 1
                support[codes[row, j]] += 1
            for c in range(classes):
                plain[c] += evidence[row, j, c]
                weighed[c] += evidence[row, j, c] * members[j]
            _written(prior, sources, bands, row, answers, plain, weighed, support, scores)
            place = -1
            for c in range(classes):
                if scores[c] == np.float32(0.0):
                    if place < 0:
                        place = c
                elif scores[c] > -near:
                    close[i] = True
            places[i, r] = place
