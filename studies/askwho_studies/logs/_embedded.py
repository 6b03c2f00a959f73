"""A router on sentence embeddings: neighbours, or a logistic model, of who is right, and the least error and price.

As routers of language models are built (Ong et al. 2024, "RouteLLM"; Hu et al. 2024, "RouterBench"): queries are
embedded by a sentence transformer, and each entity's probability of being right is read off the nearest past queries or
a linear model. Both are settings here, each tuned in training.
"""

import numpy as np
from jaxtyping import Float
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from askwho.core import each_fold
from askwho.evaluation import Point
from askwho_studies.logs._base import tuning_folds
from askwho_studies.logs._committees import SkippedError, routed
from askwho_studies.logs._embeddings import embeddings
from askwho_studies.logs._everything import known_before, logistic
from askwho_studies.logs._split import Split

# How many past queries, of which a held-out fold chooses.
_NEIGHBOURS = (10, 30, 100, 300)
# The entity's own mean counts as so many neighbours.
_PRIOR = 2.0
# Of logistic models on hundreds of standardised columns: a decade apart.
_STRENGTHS = (0.001, 0.01, 0.1)


def embedding_router(split: Split) -> list[Point]:
    """The top k by expected error + λ fee, expected by neighbours in meaning, and by a linear model of embeddings.

    The linear model takes what else is known too; the base is an entity in one half of the settings.
    """
    column = split.train.columns.text
    if column is None:
        raise SkippedError("the log has no text")
    if not split.classes:
        raise SkippedError("a router learns who is right, and numbers are near or far")
    rows = embeddings([text for log in (split.train, split.test) for text in log.known[column].tolist()])
    rows, others = np.split(rows, [len(split.train)])
    whole, known, known_test = known_before(split)
    scaler = StandardScaler().fit(rows)
    inputs, inputs_test = np.hstack([scaler.transform(rows), known]), np.hstack([scaler.transform(others), known_test])
    errors, (seen, held) = whole.train.errors, next(each_fold(tuning_folds(split)))

    def loss(expected: np.ndarray) -> float:
        return float(np.nanmean(np.square(expected - errors[held])))

    near = nearest_errors(rows[seen], errors[seen], rows[held])
    count = min(_NEIGHBOURS, key=lambda count: loss(near[count]))
    strength = min(_STRENGTHS, key=lambda c: loss(_linear_errors(inputs[seen], errors[seen], inputs[held], c)))
    points: list[Point] = []
    for expected in (
        nearest_errors(rows, errors, others)[count],
        _linear_errors(inputs, errors, inputs_test, strength),
    ):
        points += routed(whole, expected)
        if whole is not split:
            # The base sits in front of everybody.
            points += routed(split, expected[:, 1:])
    return points


def nearest_errors(
    rows: Float[np.ndarray, "n d"], errors: Float[np.ndarray, "n a"], others: Float[np.ndarray, "m d"]
) -> dict[int, Float[np.ndarray, "m a"]]:
    """Return expected errors, shape (m, |A|), by how many of the nearest rows they are the mean of.

    Rows have length one: the nearest are those of the largest cosine.
    """
    most = min(max(_NEIGHBOURS), len(rows))
    near = NearestNeighbors(n_neighbors=most, algorithm="brute").fit(rows).kneighbors(others, return_distance=False)
    asked = ~np.isnan(errors)
    filled = np.where(asked, errors, 0.0)
    mean = filled.sum(axis=0) / np.maximum(asked.sum(axis=0), 1)
    found: dict[int, np.ndarray] = {}
    for count in _NEIGHBOURS:
        told = np.zeros((len(others), errors.shape[1])), np.zeros((len(others), errors.shape[1]))
        for place in near[:, :count].T:
            # One neighbour at a time: all at once would take hundreds of tables.
            told[0][:] += filled[place]
            told[1][:] += asked[place]
        found[count] = (told[0] + _PRIOR * mean) / (told[1] + _PRIOR)
    return found


def _linear_errors(
    inputs: np.ndarray, errors: np.ndarray, others: np.ndarray, strength: float
) -> Float[np.ndarray, "m a"]:
    """Each entity's probability of being wrong; of one that always or never is, how often it was."""
    found = np.empty((len(others), errors.shape[1]))
    for j in range(errors.shape[1]):
        asked = ~np.isnan(errors[:, j])
        # A grade of less than half is wrong.
        wrong = errors[asked, j] > 0.5
        if wrong.all() or not wrong.any():
            found[:, j] = float(wrong.mean()) if wrong.size else float(np.nanmean(errors))
        else:
            found[:, j] = logistic(inputs[asked], wrong, strength).predict_proba(others)[:, 1]
    return found
