"""The shared logs, read as their JSON says, and split into rows to learn from and rows to be judged on."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pa_parquet
from jaxtyping import Float, Int

from askwho.core import Cell, folds
from askwho.data import Columns, FeatureEncoder, Log, read_log
from askwho.exceptions import InvalidInputError

# Asked about so many rows, an entity's errors are those of the log; of fewer they may be of its easy part.
_NEARLY_ALL = 0.95
# The JSON of this log says it in words only: its nulls are outputs without a letter, except this entity's.
_NOT_ASKED = {"mmlu_pro_llms": ("DeepSeek-Coder-V2",)}
# Likewise: here a group is no kind of query but a patient, whose rows belong together.
_TOGETHER = {"chest_opacity_readers": "group"}
# Rivals that vote, stack or choose need everybody's answer, and here seven cells of eight are empty. The truth was
# settled among an image's own readers, too: what committees would get on it is partly so by construction.
_NOT_STUDIED = ("chest_opacity_readers",)
MOST_CLASSES = 64
"""Of more labels answers are free: there is no model of each, and most that are right were never right before."""
# Columns of this name hold what each query was charged, where that is known; else the JSON's fees hold for all.
_FEES_BY_QUERY = "fee_"


def log_names(data: Path) -> list[str]:
    """Return the names of the logs under `data/logs` that are studied, smallest file first: results come early."""
    found = sorted((data / "logs").glob("*.parquet"), key=lambda path: path.stat().st_size)
    names = [path.stem for path in found if path.with_suffix(".json").is_file() and path.stem not in _NOT_STUDIED]
    if not names:
        raise InvalidInputError(f"`data` must hold logs/<name>.parquet with <name>.json beside it, got {str(data)!r}.")
    return names


def load_log(data: Path, name: str, *, rows: int | None = None) -> Log:
    """Return one shared log, or `rows` of its rows drawn at random (seed 0)."""
    path = data / "logs" / f"{name}.parquet"
    if not path.is_file():
        raise InvalidInputError(f"`names` must be among {log_names(data)}, got {name!r}.")
    described: Mapping[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    log = read_log(path, _columns(described, pa_parquet.read_schema(path).names))
    if rows is None or rows >= len(log):
        return log
    return log.rows(np.sort(np.random.default_rng(0).choice(len(log), rows, replace=False)))


def _columns(described: Mapping[str, Any], present: list[str]) -> Columns:
    together = _TOGETHER.get(described["name"], described.get("split_by"))
    kind = "group" if "group" in present and together != "group" else None
    features = [pattern for pattern in (described["features"], kind) if pattern]
    nulls: Any = described["nulls"]
    if nulls == "none":
        nulls = "not-asked"
    if described["name"] in _NOT_ASKED:
        entities = [name.removeprefix("answer_") for name in present if name.startswith("answer_")]
        nulls = dict.fromkeys(entities, nulls) | dict.fromkeys(_NOT_ASKED[described["name"]], "not-asked")
    return Columns(
        truth=described["truth"] if described["answers"] else None,
        answers=described["answers"],
        grades=described["grades"],
        features=",".join(features) or None,
        text=described["text"],
        info=described.get("info"),
        groups=together,
        fees=f"{_FEES_BY_QUERY}*" if any(name.startswith(_FEES_BY_QUERY) for name in present) else described["fees"],
        task=described["task"],
        nulls=nulls,
    )


@dataclass(frozen=True, eq=False)
class Split:
    """Three fifths of a log's groups to learn from, two fifths to be judged on, with the features all methods see.

    Args:
        train: rows to learn from and to tune on.
        test: rows that nothing has seen.
        X_train: shape (n, d), encoded by an encoder fitted on the training rows.
        X_test: shape (m, d).
        seed: of the split and of everything fitted on it.
    """

    train: Log
    test: Log
    X_train: Float[np.ndarray, "n d"]
    X_test: Float[np.ndarray, "m d"]
    seed: int

    @classmethod
    def of(cls, log: Log, seed: int) -> "Split":
        """Return the 60/40 split of a seed: five folds by group, three to learn from."""
        fold = folds(log.groups, 5, random_state=seed)
        train, test = log.rows(np.flatnonzero(fold < 3)), log.rows(np.flatnonzero(fold >= 3))
        encoder = FeatureEncoder.fit(train.known, text=log.columns.text, random_state=seed)
        return cls(train, test, encoder.transform(train.known), encoder.transform(test.known), seed)

    @property
    def classes(self) -> bool:
        """Whether answers are right or wrong; else they are near or far."""
        return self.train.task == "classification"

    @cached_property
    def price(self) -> Float[np.ndarray, " a"]:
        """Each entity's mean fee in training, shape (|A|,)."""
        return self.train.fees.mean(axis=0)

    @cached_property
    def entity_errors(self) -> Float[np.ndarray, " a"]:
        """Each entity's mean error in training, shape (|A|,), as if all had been asked about the same queries.

        Somebody who was asked about easy queries only is no better for it: what counts is the difference from the mean
        of those who were asked about nearly everything.
        """
        errors = self.train.errors
        known = np.where(self.train.asked, errors, 0.0)[:, self._usual]
        common = known.sum(axis=1, keepdims=True) / np.maximum(
            1, self.train.asked[:, self._usual].sum(axis=1, keepdims=True)
        )
        means = np.nanmean(errors - common, axis=0) + common.mean()
        return np.clip(means, 0.0, 1.0 if self.classes else None)

    @cached_property
    def _usual(self) -> Int[np.ndarray, " u"]:
        """The entities that were asked about nearly everything in training; the most asked, where none was."""
        share = self.train.asked.mean(axis=0)
        return np.flatnonzero(share >= min(_NEARLY_ALL, float(share.max())))

    @property
    def best(self) -> int:
        """The entity with the least error in training, of those who were asked about nearly everything."""
        return int(self._usual[self.entity_errors[self._usual].argmin()])

    @property
    def cheapest(self) -> int:
        """The cheapest entity, the better in training among equals."""
        return int(np.lexsort((self.entity_errors, self.price))[0])

    @cached_property
    def labels(self) -> np.ndarray:
        """Every answer that was ever right or given, sorted, shape (C,)."""
        parts: list[np.ndarray] = []
        for log in (self.train, self.test):
            if log.answers is not None and log.truth is not None:
                parts += [log.answers.values[log.answers.states == Cell.ANSWERED], log.truth]
        return np.unique(np.concatenate(parts))

    def votes(self, log: Log) -> Int[np.ndarray, "n a"]:
        """Return answers as indices into `labels`, shape (n, |A|), −1 where there is none."""
        if log.answers is None:
            raise ValueError("a log of grades has no votes")
        answered = log.answers.states == Cell.ANSWERED
        codes = np.full(answered.shape, -1)
        codes[answered] = np.searchsorted(self.labels, log.answers.values[answered])
        return codes

    def truths(self, log: Log) -> Int[np.ndarray, " n"]:
        """Return the truth as indices into `labels`, shape (n,)."""
        return np.searchsorted(self.labels, np.asarray(log.truth))

    def everyone(self, log: Log) -> Float[np.ndarray, " n"]:
        """Return what asking everybody charged, shape (n,); whoever was not asked charged nothing."""
        return np.where(log.asked, log.fees, 0.0).sum(axis=1)
