"""The sums behind `evaluate`, batch by batch on an engine's workers: they are added up in any order."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from askwho.data import table_of
from askwho.engines._artefact import Artefact
from askwho.evaluation import Behind, Sums, Tally, figures, sums_of, unseen_batch
from askwho.policy import Policy

# Sums that a tally has of the sample and of each resample.
_DRAWN = ("rows", "scored", "expected", "hoped", "came", "fees", "charged")
# Those that it has of the sample alone.
_ONCE = tuple(each.name for each in fields(Behind))
# A row of it is a setting, or tells how many queries there were.
_SCHEMA = pa.schema(
    [
        ("batch", pa.int64()),
        ("n", pa.int64()),
        ("left_out", pa.int64()),
        ("kind", pa.string()),
        ("place", pa.int64()),
        *((name, pa.list_(pa.float64())) for name in _DRAWN),
        *((name, pa.float64()) for name in _ONCE),
        ("labels", pa.string()),
        ("means", pa.string()),
    ]
)
# Bytes of a batch's number: with the rows of a batch added it is still a whole number of 64 bits.
_MARK = 5


@dataclass(frozen=True)
class Evaluate:
    """The sums that `evaluate` makes its figures of, from batches of a log that the policy has not seen.

    Rows of a group must be in one batch, or be told by the column of groups.

    Args:
        policy: that is judged.
        draws: how many bootstrap resamples.
        seed: of them.
    """

    policy: Artefact
    draws: int = 200
    seed: int = 0

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the sums of a batch, one row a setting."""
        policy = self.load()
        # Rows without a group are resampled by their place. No worker knows that of a batch: what is in it stands for
        # it, and two batches are hardly ever given one place.
        mark = int.from_bytes(hashlib.blake2b(batch.serialize(), digest_size=_MARK).digest(), "big")
        log = unseen_batch(policy, table_of(batch, "log"), first=mark)
        sums = sums_of(policy, log, draws=self.draws, random_state=self.seed, number=mark)
        # A kind without a setting is told, too.
        found: dict[_Key, Tally | None] = {(kind, -1): None for kind in sums.found}
        found |= {(kind, i): tally for kind, tallies in sums.found.items() for i, tally in enumerate(tallies)}
        return _written(mark, _Added(sums.n, sums.left_out, found))

    def load(self) -> Policy:
        """Return the policy, read when it is first asked for."""
        return self.policy.load()

    def schema(self, given: pa.Schema) -> pa.Schema:  # noqa: ARG002 - sums are sums
        """Return what sums are written as."""
        return _SCHEMA


@dataclass(frozen=True)
class Merge:
    """Fewer sums of many: what `Evaluate` made of several batches, as of one; again and again, if need be.

    An engine may part the rows of one batch's sums: each setting is added up for itself.

    Args:
        policy: that is judged.
    """

    policy: Artefact

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the sums of what is in this batch, one row a setting."""
        rows = batch.to_pylist()
        return _written(min(row["batch"] for row in rows), _added(self.load(), rows))

    def load(self) -> Policy:
        """Return the policy, read when it is first asked for."""
        return self.policy.load()

    def schema(self, given: pa.Schema) -> pa.Schema:  # noqa: ARG002 - as above
        """Return what sums are written as."""
        return _SCHEMA


def figures_from(policy: Policy, sums: Iterable[pa.RecordBatch]) -> dict[str, Any]:
    """Return what `evaluate` would, from the sums that workers made; in whatever order they come."""
    added = _added(policy, [row for batch in sums for row in batch.to_pylist()])
    found: dict[str, list[Tally]] = {kind: [] for kind, _ in added.found}
    for (kind, _), tally in sorted(added.found.items(), key=itemgetter(0)):
        if tally is not None:
            found[kind].append(tally)
    return figures(policy, Sums(added.n, added.left_out, found))


_Key = tuple[str, int]


@dataclass(frozen=True)
class _Added:
    """Sums by the kind and the place of a setting; those of some settings may be missing."""

    n: int
    left_out: int
    found: Mapping[_Key, Tally | None]


def _written(mark: int, added: _Added) -> pa.RecordBatch:
    """Sums as rows: the first tells how many queries there were, each of the others is a setting."""
    nothing: dict[str, Any] = {"batch": mark, "n": 0, "left_out": 0, "kind": "", "place": 0}
    rows: list[dict[str, Any]] = [{**nothing, "n": added.n, "left_out": added.left_out}]
    for (kind, place), tally in added.found.items():
        rows.append({**nothing, "kind": kind, "place": place, **({} if tally is None else _row(tally))})
    return pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)


def _added(policy: Policy, rows: list[dict[str, Any]]) -> _Added:
    """Rows of sums, added up by the numbers of their batches: the same in whatever order they come."""
    found: dict[_Key, Tally | None] = {}
    for row in sorted(rows, key=itemgetter("batch")):
        if not row["kind"]:
            continue
        key = row["kind"], row["place"]
        before, tally = found.get(key), None if row["place"] < 0 else _tally(policy, row)
        found[key] = tally if before is None or tally is None else before + tally
    return _Added(sum(row["n"] for row in rows), sum(row["left_out"] for row in rows), found)


def _row(tally: Tally) -> dict[str, Any]:
    return {
        **{name: getattr(tally, name).tolist() for name in _DRAWN},
        **asdict(tally.behind),
        "labels": json.dumps(dict(tally.labels)),
        "means": json.dumps(dict(tally.means)),
    }


def _tally(policy: Policy, row: Mapping[str, Any]) -> Tally:
    told: dict[str, Any] = {name: np.array(row[name]) for name in _DRAWN}
    told["behind"] = Behind(**{name: row[name] for name in _ONCE})
    told["labels"] = json.loads(row["labels"])
    told["means"] = {name: tuple(sums) for name, sums in json.loads(row["means"]).items()}
    return Tally(policy.unit, **told)
