"""What an engine does with a batch of rows: `route`, `next` and `combine`, each from one record batch to another."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from askwho.data import Table, fingerprints, id_texts, table_of
from askwho.engines._artefact import Artefact
from askwho.engines._types import answer_type, decision_types, route_types, step_types, typed
from askwho.exceptions import InvalidInputError
from askwho.policy import Policy, Seen, Target, query_columns, route_columns, step_columns, told_columns, told_there

Made = tuple[dict[str, Any], dict[str, float]]
"""Columns, and the sums over them that are told in the end."""


@runtime_checkable
class Work(Protocol):
    """What is done with each batch, wherever its worker runs. It is sent there: a few plain words, no policy."""

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return what the rows of a batch come to."""
        ...

    def load(self) -> object:
        """Load what every batch needs, once."""
        ...

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return what batches are made of where those of a schema are given."""
        ...


@dataclass(frozen=True)
class _OfQueries(ABC):
    """Work on queries.

    Args:
        policy: that decides.
        target: what is aimed at; asking in turn takes any but `k`.
        explore: the share of queries that ask somebody else at random.
        seed: of exploring.
        available: who can be asked, as in `askwho.policy.told_there`; None where everybody can.
    """

    policy: Artefact
    target: Target
    explore: float = 0.0
    seed: int | None = None
    available: str | None = None

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return what is decided of queries, which must have ids: the same of the same rows, whoever does it again."""
        name = self.load().id_column
        if name not in batch.schema.names:
            raise InvalidInputError(
                f"`queries` must have the column {name!r} that names them, got {batch.schema.names}: a worker that "
                "starts again would make up other names."
            )
        table = table_of(batch.select(self.columns(batch.schema.names)), "queries")
        mark = int(fingerprints([str(id_texts(table[name])[0])])[0])
        rng = np.random.default_rng(None if self.seed is None else [self.seed, mark])
        return typed(self.made(table, rng)[0], self.types)

    def load(self) -> Policy:
        """Return the policy, read when it is first asked for."""
        return self.policy.load()

    def _with_available(self, needed: list[str], present: Sequence[str]) -> list[str]:
        """The columns that are needed, and those that say who is there."""
        told = told_columns(self.available, present)
        return [name for name in present if name in {*needed, *told}]

    @property
    @abstractmethod
    def types(self) -> Mapping[str, type]:
        """The types of columns that a batch may show nothing of."""

    @abstractmethod
    def columns(self, present: Sequence[str]) -> list[str]:
        """Return the columns that are needed, of those that are there."""

    @abstractmethod
    def made(self, table: Table, rng: np.random.Generator, ids: Sequence[str] | None = None) -> Made:
        """Return what is decided, and the sums over it; the ids are of a table that has none."""

    @abstractmethod
    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return what batches are made of where those of a schema are given."""


@dataclass(frozen=True)
class Route(_OfQueries):
    """Whom to ask about each query, all at once: what `askwho route` writes.

    Args:
        policy: that decides.
        target: what is aimed at.
        explore: the share of queries that ask somebody else at random.
        seed: of exploring.
        available: who can be asked.
    """

    @property
    def types(self) -> Mapping[str, type]:
        """The types of columns that a batch may show nothing of."""
        return route_types(self.load())

    def columns(self, present: Sequence[str]) -> list[str]:
        """Return the columns that are needed, of those that are there."""
        return self._with_available(query_columns(self.load(), present), present)

    def made(self, table: Table, rng: np.random.Generator, ids: Sequence[str] | None = None) -> Made:
        """Return whom to ask, and the sums over it; the ids are of a table that has none."""
        policy = self.load()
        there = told_there(policy, self.available, table, somebody=True)
        decided = policy.decide(table, self.target, available=there, explore=self.explore, random_state=rng, ids=ids)
        return decided.to_columns(arrow=True, coded=True), {
            "queries": len(decided),
            "mean_k": float(decided.k.sum()),
            "mean_expected_fee": float(decided.fee.sum()),
            "mean_expected_error": float(decided.expected_error.sum()),
        }

    def schema(self, given: pa.Schema) -> pa.Schema:  # noqa: ARG002 - they are the same of any queries
        """Return what routes are made of."""
        policy = self.load()
        # How many are there is a column of its own, where not everybody need be.
        there = None if self.available is None else list(policy.panel.names)
        decided = policy.decide(_blank(policy), self.target, available=there, ids=["0"])
        return _complete(typed(decided.to_columns(arrow=True), self.types).schema)


@dataclass(frozen=True)
class Next(_OfQueries):
    """Whom to ask next about each query: what `askwho route --mode sequential` writes.

    The answers so far stand in the queries' own rows.

    Args:
        policy: that decides.
        target: any but `k`.
        explore: the share of queries that ask somebody at random instead.
        seed: of exploring.
        available: who can be asked.
        coverage: how often an interval around a number is to hold the truth.
    """

    coverage: float | None = None

    @property
    def types(self) -> Mapping[str, type]:
        """The types of columns that a batch may show nothing of."""
        return step_types(self.load())

    def columns(self, present: Sequence[str]) -> list[str]:
        """Return the columns that are needed, of those that are there."""
        return self._with_available(step_columns(self.load(), present), present)

    def made(self, table: Table, rng: np.random.Generator, ids: Sequence[str] | None = None) -> Made:
        """Return whom to ask next, and the sums over it; the ids are of a table that has none."""
        policy = self.load()
        steps = policy.next(
            table,
            target=self.target,
            available=told_there(policy, self.available, table, somebody=False),
            explore=self.explore,
            random_state=rng,
            ids=ids,
            coverage=self.coverage,
        )
        sums = {"queries": len(steps), "to_ask": int(steps.k.sum()), "fee": float(steps.fee.sum())}
        return steps.next_columns(arrow=True), sums

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return what steps are made of."""
        policy = self.load()
        step = policy.next(_blank(policy), None, self.target, ids=["0"], coverage=self.coverage)
        shown = typed(step.next_columns(arrow=True), self.types).schema
        return _complete(shown, prediction=answer_type(policy, given), low=pa.float64(), high=pa.float64())


@dataclass(frozen=True)
class Combine:
    """What each committee decides: what `askwho combine` writes. Routes and answers stand in the same rows.

    Args:
        policy: that made the routes.
        coverage: how often an interval around a number is to hold the truth.
    """

    policy: Artefact
    coverage: float | None = None

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the decisions of routes that were joined with the answers to them."""
        table, policy = table_of(batch, "routes"), self.load()
        routes = {name: table[name] for name in route_columns(list(table))}
        answers = {name: values for name, values in table.items() if name not in (*routes, policy.id_column)}
        done = policy.combine(policy.read(routes), answers, by_position=True, coverage=self.coverage)
        return typed(done.outcome_columns(arrow=True), decision_types(policy))

    def load(self) -> Policy:
        """Return the policy, read when it is first asked for."""
        policy = self.policy.load()
        policy.check_combines()
        return policy

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return what decisions are made of."""
        policy = self.load()
        decided = policy.decide(_blank(policy), Target(k=1), ids=["0"])
        done = policy.combine(decided, coverage=self.coverage)
        shown = typed(done.outcome_columns(arrow=True), decision_types(policy)).schema
        return _complete(shown, prediction=answer_type(policy, given), low=pa.float64(), high=pa.float64())


def _blank(policy: Policy) -> Seen:
    """A query of zeros and no text, to see what comes of one."""
    return policy.see_encoded(policy.encoder.blank(), [""])


def _complete(schema: pa.Schema, **known: pa.DataType | None) -> pa.Schema:
    """A schema in which every column has a type, also one of which nothing is ever known: that is text."""
    fields: list[pa.Field] = []
    for field in schema:
        kind = known.get(field.name) if pa.types.is_null(field.type) else field.type
        fields.append(pa.field(field.name, pa.string() if kind is None else kind))
    return pa.schema(fields)
