"""DESlib's dynamic selection on recorded answers: arrays in (.npz), predictions out (.npz).

DESlib wants fitted classifiers. Each entity becomes one that looks a row up by an index kept in the last column;
scaled to 1e-7 a row it moves no neighbour. Run by `askwho_studies.logs` in the environment of `requirements.txt`.
"""

# pyright: basic
from __future__ import annotations

import argparse

import numpy as np
from deslib.des.knora_e import KNORAE  # pyright: ignore[reportMissingImports]
from deslib.des.knora_u import KNORAU  # pyright: ignore[reportMissingImports]
from deslib.des.meta_des import METADES  # pyright: ignore[reportMissingImports]
from sklearn.base import BaseEstimator, ClassifierMixin

# One row's share of the last column, in which its index is kept: so small that it moves no neighbour.
_STEP = 1e-7
# Scaled features are a few units: so far off a row is nobody's neighbour.
_FAR = 1e3
# The names of the command, and DESlib's own.
METHODS = {"knora-u": KNORAU, "knora-e": KNORAE, "meta-des": METADES}


class Recorded(ClassifierMixin, BaseEstimator):
    """An entity as a classifier: its answers, by row."""

    def __init__(self, answers: np.ndarray, n_classes: int) -> None:
        self.answers = answers
        self.n_classes = n_classes
        self.classes_ = np.arange(n_classes)

    def fit(self, X: np.ndarray, y: np.ndarray) -> Recorded:  # noqa: ARG002 - it is fitted already
        """Return itself."""
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the recorded answers of the rows whose index is in the last column."""
        return self.answers[np.rint(X[:, -1] / _STEP).astype(np.intp)]

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the same, one-hot."""
        return np.eye(self.n_classes)[self.predict(X)]


def main() -> None:
    """Read, select, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("given")
    parser.add_argument("said")
    parser.add_argument("--method", choices=list(METHODS), required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--k", type=int, default=7)
    options = parser.parse_args()
    with np.load(options.given) as given:
        arrays = {name: given[name] for name in given.files}
    votes = np.concatenate([arrays["votes_train"], arrays["votes_test"]])
    truth = arrays["truth_train"]
    # No answer is a class that is never right.
    n_classes = int(max(votes.max(), truth.max())) + 2
    votes = np.where(votes < 0, n_classes - 1, votes)
    X = np.concatenate([arrays["X_train"], arrays["X_test"]])
    # DESlib knows the classes of the truth alone: a class it lacks gets one row, far from every query.
    lacking = np.setdiff1d(np.arange(n_classes), truth)
    votes = np.concatenate([votes, np.repeat(lacking[:, None], votes.shape[1], axis=1)])
    far = np.full((len(lacking), X.shape[1]), _FAR) * (1 + np.arange(len(lacking)))[:, None]
    X = np.concatenate([X, far])
    X = np.hstack([X, _STEP * np.arange(len(X))[:, None]])
    train = np.arange(len(truth))
    test = np.arange(len(truth), len(truth) + len(arrays["X_test"]))
    dummies = np.arange(len(truth) + len(arrays["X_test"]), len(X))
    rows = np.concatenate([train, dummies])
    pool = [Recorded(votes[:, j], n_classes) for j in range(votes.shape[1])]
    model = METHODS[options.method](pool_classifiers=pool, k=options.k, random_state=options.seed, n_jobs=1)
    model.fit(X[rows], np.concatenate([truth, lacking]))
    np.savez(options.said, said=model.predict(X[test]))


if __name__ == "__main__":
    main()
