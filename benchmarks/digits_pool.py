"""Ten different models on digits, each trained on 15% of the data: the pool the peers are measured with."""

from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier


def mixed_pool(seed: int) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """Return the fitted pool, and the features and labels of the half that none of its members has seen."""
    X, y = load_digits(return_X_y=True)
    parts: list[Any] = train_test_split(X / 16.0, y, test_size=0.5, random_state=seed, stratify=y)
    X_pool, X_log, y_pool, y_log = parts
    rng = np.random.default_rng(seed)
    members: list[Any] = [
        LogisticRegression(max_iter=500),
        SVC(random_state=seed),
        DecisionTreeClassifier(random_state=seed),
        DecisionTreeClassifier(max_depth=6, random_state=seed),
        RandomForestClassifier(20, random_state=seed),
        KNeighborsClassifier(3),
        KNeighborsClassifier(9),
        GaussianNB(var_smoothing=1e-2),
        LinearDiscriminantAnalysis(),
        MLPClassifier((32,), max_iter=800, random_state=seed),
    ]
    pool: list[Any] = []
    for member in members:
        rows = rng.choice(len(X_pool), int(0.3 * len(X_pool)), replace=False)
        pool.append(member.fit(X_pool[rows], y_pool[rows]))
    return pool, X_log, y_log


def specialist_pool(seed: int) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """Return ten models that were shown six classes each, and the half that none of them has seen."""
    X, y = load_digits(return_X_y=True)
    parts: list[Any] = train_test_split(X / 16.0, y, test_size=0.5, random_state=seed, stratify=y)
    X_pool, X_log, y_pool, y_log = parts
    rng = np.random.default_rng(seed)
    pool: list[Any] = []
    for j in range(10):
        knows = np.isin(y_pool, (j + np.arange(6)) % 10)
        rows = rng.permutation(np.flatnonzero(knows))[: int(0.5 * knows.sum())]
        member: Any = LogisticRegression(max_iter=500) if j % 2 else RandomForestClassifier(20, random_state=seed)
        pool.append(member.fit(X_pool[rows], y_pool[rows]))
    return pool, X_log, y_log
