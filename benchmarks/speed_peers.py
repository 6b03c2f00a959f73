"""The rivals of `askwho reproduce logs`, taken apart into the steps that speed.py times.

Each gives the same settings as the rival of its name there, which `differences` checks.
"""

import json
import os
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from measure import in_turn
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from askwho.aggregation import Committee, aggregation
from askwho.core import Selection, folds, rank
from askwho.data import Log
from askwho.evaluation import Point
from askwho.learners import Forest, Learner, Neighbours, cross_fit
from askwho.replay import price_grid
from askwho_studies.logs import METHODS, Split
from askwho_studies.logs._cascade import cascade, cascade_points, tuned_cascades, usable_votes
from askwho_studies.logs._committees import routed
from askwho_studies.logs._deslib import SCRIPT, write_rows
from askwho_studies.logs._stacking import (
    _boosted,  # pyright: ignore[reportPrivateUsage] - likewise
    _linear,  # pyright: ignore[reportPrivateUsage]
)

TIMED = Path(__file__).parent / "deslib" / "timed.py"
_MEMBERS = 3


class Contender(ABC):
    """Somebody who learns from a split's training rows and decides its test rows, step by step.

    Args:
        split: the rows.
    """

    does: str
    """What its steps do, and what they leave out."""
    settings: int | None = None
    """How many settings `evaluate` went through."""

    def __init__(self, split: Split) -> None:
        self.split = split

    @abstractmethod
    def steps(self) -> Mapping[str, Callable[[], object]]:
        """Return the steps by name, in the order in which they are taken."""

    def timed(self) -> dict[str, float]:
        """Fit once, take every other step three times, and return the median seconds of each."""
        return {name: in_turn(1 if name == "fit" else 3, step, warm=0)[0] for name, step in self.steps().items()}


class Rival(Contender):
    """A rival of the logs' study: its evaluation gives what the study scores."""

    @abstractmethod
    def fit(self) -> None:
        """Learn and tune on the training rows."""

    @abstractmethod
    def evaluate(self) -> list[Point]:
        """Decide the test rows at every setting, and compare with the truth."""


class Stacking(Rival):
    """A model of everybody's answers and the features."""

    does = "fit: two or three strengths on three quarters, one on all; combine: predicts, everybody asked; no routing"
    fitted: Any

    def steps(self) -> Mapping[str, Callable[[], object]]:
        """Fit, combine, evaluate."""
        return {"fit": self.fit, "combine": self.combine, "evaluate": self.evaluate}

    @abstractmethod
    def combine(self) -> np.ndarray:
        """Return what is decided of each test row, from everybody's answers."""

    def evaluate(self) -> list[Point]:
        """Score the one setting there is."""
        self.settings = 1
        wrong = self.combine() != self.split.truths(self.split.test)
        return [Point(wrong.astype(np.float64), self.split.everyone(self.split.test))]

    def tuned(self, inputs: np.ndarray, fit: Any, grid: tuple[float, ...]) -> Any:  # noqa: ANN401 - scikit-learn's
        """Fit at the strength that does best on a held-out quarter of the training rows."""
        split = self.split
        fold, truths = folds(split.train.groups, 4, random_state=split.seed), split.truths(split.train)
        seen, held = np.flatnonzero(fold > 0), np.flatnonzero(fold == 0)

        def loss(strength: float) -> float:
            return float(
                np.mean(fit(split, inputs[seen], truths[seen], strength).predict(inputs[held]) != truths[held])
            )

        return fit(split, inputs, truths, min(grid, key=loss))


class LinearStacking(Stacking):
    """A logistic model of one-hot answers and features."""

    def fit(self) -> None:
        """Fit the encoder, the scale and the model."""
        votes = self.split.votes(self.split.train)
        self.scaler: Any = StandardScaler().fit(self.split.X_train)
        self.encoder: Any = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(votes)
        self.fitted = self.tuned(self.inputs(votes, self.split.X_train), _linear, (0.01, 0.1, 1.0))

    def combine(self) -> np.ndarray:
        """Predict."""
        return self.fitted.predict(self.inputs(self.split.votes(self.split.test), self.split.X_test))

    def inputs(self, votes: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return answers and features side by side."""
        return np.hstack([self.encoder.transform(votes), self.scaler.transform(X)])


class BoostedStacking(Stacking):
    """Boosted trees of answers, as categories, and features."""

    def fit(self) -> None:
        """Fit at two numbers of rounds."""
        self.fitted = self.tuned(self.inputs(self.split.train, self.split.X_train), _boosted, (25.0, 75.0))

    def combine(self) -> np.ndarray:
        """Predict."""
        return self.fitted.predict(self.inputs(self.split.test, self.split.X_test))

    def inputs(self, log: Log, X: np.ndarray) -> np.ndarray:
        """Return answers and features side by side."""
        codes = self.split.votes(log)
        return np.hstack([np.where(codes < 0, np.nan, codes), X])


class PlainRouter(Rival):
    """Expected errors by some learner; the best few by error and fee vote by log-odds."""

    learner: Learner

    def steps(self) -> Mapping[str, Callable[[], object]]:
        """Fit, route, combine, evaluate."""
        return {"fit": self.fit, "route": self.route, "combine": self.combine, "evaluate": self.evaluate}

    def route(self) -> None:
        """Rank everybody on the test rows at one price, and take the first three."""
        log, expected = self.split.test, np.clip(self.learner.predict(self.split.X_test), 0.0, 1.0)
        prices = price_grid(self.split.price, expected, 12)
        costs = expected + prices[len(prices) // 2] * self.split.price
        order = rank(-costs)[:, :_MEMBERS]
        self.expected = expected
        self.chosen = Selection(log.panel, order, np.full(len(log), order.shape[1]), -costs, np.array(log.fees))

    def combine(self) -> np.ndarray:
        """Return what the committees decide."""
        answers = self.split.test.answers
        assert answers is not None  # noqa: S101 - logs of answers alone are timed
        members = Committee.of(self.chosen, answers, expected_errors=np.clip(self.expected, 1e-6, 1.0))
        return aggregation("log-odds-vote")(members).at(self.chosen.k)[0]

    def evaluate(self) -> list[Point]:
        """Score committees of one to five at twelve prices."""
        points = routed(self.split, self.learner.predict(self.split.X_test))
        self.settings = len(points)
        return points


class ForestRouter(PlainRouter):
    """Extremely randomised trees."""

    does = "fit: one forest of 100 trees, once; no folds, no calibration, no k(x); route: three of one price"

    def fit(self) -> None:
        """Fit the forest."""
        self.learner = Forest(self.split.seed, trees=100).fit(self.split.X_train, self.split.train.errors)


class NeighbourRouter(PlainRouter):
    """The nearest past queries."""

    does = "fit: three numbers of neighbours in three folds, the best on all; no k(x); route: three of one price"

    def fit(self) -> None:
        """Choose how many neighbours, and keep the training rows."""
        split, errors = self.split, self.split.train.errors
        fold = folds(split.train.groups, 3, random_state=split.seed)

        def make(count: int) -> Callable[[int], Learner]:
            return lambda seed: Neighbours(seed, neighbours=count)

        def loss(count: int) -> float:
            out = cross_fit(make(count), split.X_train, errors, fold, random_state=split.seed)
            return float(np.nanmean(np.square(out - errors)))

        self.learner = make(min((15, 50, 150), key=loss))(split.seed).fit(split.X_train, errors)


class Cascade(Rival):
    """Ask one after the other until m agree."""

    does = "fit: searches orders, lengths and m; in turn: one of them, answers looked up; it never sees the features"

    def steps(self) -> Mapping[str, Callable[[], object]]:
        """Fit, ask in turn, evaluate."""
        return {"fit": self.fit, "in turn": self.in_turn, "evaluate": self.evaluate}

    def fit(self) -> None:
        """Keep the cascades on the training rows' frontier."""
        self.kept = tuned_cascades(self.split)

    def in_turn(self) -> np.ndarray:
        """Return what the middle one of the kept cascades decides."""
        order, m, length = self.kept[len(self.kept) // 2]
        votes = usable_votes(self.split, self.split.test)
        stops, said = cascade(votes[:, order], m, self.split.entity_errors[order])
        return said[np.arange(len(said)), np.minimum(stops, length) - 1]

    def evaluate(self) -> list[Point]:
        """Score all that were kept."""
        points = cascade_points(self.split, self.kept)
        self.settings = len(points)
        return points


class Deslib(Contender):
    """One of DESlib's methods, in a process with DESlib's own Python; the seconds are those of that process's clock."""

    does = "fit: neighbours and, in META-DES, a meta-classifier; decide: everybody is asked, competence and vote in one"

    def __init__(self, split: Split, method: str, process: "DeslibProcess") -> None:
        super().__init__(split)
        self.method = method
        self.process = process

    def steps(self) -> Mapping[str, Callable[[], object]]:
        """Nothing is timed from outside."""
        return {}

    def timed(self) -> dict[str, float]:
        """Return the seconds that the other process counted."""
        return self.process.seconds(self.method)


class DeslibProcess:
    """A running timed.py that holds a split's rows."""

    def __init__(self, python: str, split: Split) -> None:
        self.folder = tempfile.TemporaryDirectory()
        given, said = Path(self.folder.name) / "given.npz", Path(self.folder.name) / "said.npz"
        write_rows(split, given)
        self.process = subprocess.Popen(
            [python, str(TIMED), str(given), str(said)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # It times what the study runs: its Python has no askwho_studies, but finds the script by its folder.
            env=os.environ | {"PYTHONPATH": str(SCRIPT.parent)},
        )

    def seconds(self, method: str) -> dict[str, float]:
        """Run a method once, and return the seconds of its fit and of its decisions."""
        stdin, stdout = _open(self.process.stdin), _open(self.process.stdout)
        stdin.write(method + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise RuntimeError(f"DESlib's process ended at {method} with status {self.process.wait()}.")
        return json.loads(line)

    def close(self) -> None:
        """Let the process end."""
        _open(self.process.stdin).close()
        self.process.wait()
        _open(self.process.stdout).close()
        self.folder.cleanup()


RIVALS: Mapping[str, type[Rival]] = {
    "stacking (linear)": LinearStacking,
    "stacking (boosted)": BoostedStacking,
    "neighbour router": NeighbourRouter,
    "forest router": ForestRouter,
    "agreement cascade": Cascade,
}
"""By the names they have in the logs' study."""
DESLIB = {"KNORA-U": "knora-u", "KNORA-E": "knora-e", "META-DES": "meta-des"}


def differences(split: Split) -> dict[str, int]:
    """Return how many rows and settings differ between a rival here and the same in the logs' study: 0 is right."""
    found: dict[str, int] = {}
    for name, make in RIVALS.items():
        rival = make(split)
        rival.fit()
        here, there = rival.evaluate(), METHODS[name](split)
        if len(here) != len(there):
            found[name] = abs(len(here) - len(there)) * len(split.test)
            continue
        found[name] = sum(
            int((~np.isclose(a.errors, b.errors, equal_nan=True) | ~np.isclose(a.fees, b.fees)).sum())
            for a, b in zip(here, there, strict=True)
        )
    return found


def _open(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None  # noqa: S101 - it was asked for
    return pipe
