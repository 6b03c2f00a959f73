"""What the columns of written files hold: batches may show nothing of one for long, and a file has one type for it."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from askwho.data import decoded, named
from askwho.policy import Policy

# As Arrow writes each type: an engine must know before the first row.
_ARROW: dict[type, pa.DataType] = {str: pa.string(), float: pa.float64(), list: pa.list_(pa.string())}


def route_types(policy: Policy) -> dict[str, type]:
    """Return the types of what `askwho route` writes."""
    return {"ask": list, **_classes(policy, "base_answer")}


def step_types(policy: Policy) -> dict[str, type]:
    """Return the types of what `askwho route --mode sequential` writes."""
    return {"ask": str, "probability": float, "heard": list, **_classes(policy, "prediction")}


def decision_types(policy: Policy) -> dict[str, type]:
    """Return the types of what `askwho combine` writes."""
    return {"probability": float, "heard": list, "ask_next": list, **_classes(policy, "prediction")}


def typed(columns: Mapping[str, Any], types: Mapping[str, type]) -> pa.RecordBatch:
    """Return Arrow's columns as one batch, those of known types cast to them, and lists of codes to what they mean."""
    plain = {name: decoded(values) for name, values in columns.items()}
    found = {name: values.cast(_ARROW[types[name]]) if name in types else values for name, values in plain.items()}
    return pa.RecordBatch.from_arrays(list(found.values()), names=list(found))


def answer_type(policy: Policy, given: pa.Schema) -> pa.DataType | None:
    """Return the type that predictions have where answers stand in such columns; None where there is no such column.

    Texts and numbers that are no classes have one type whatever the columns; this is of all other classes.
    """
    there = set(named(str(policy.columns.answers), given.names, "answers", optional=True).values())
    kinds = {given.field(name).type for name in there or set(policy.panel.names) & set(given.names)}
    if kinds and all(pa.types.is_integer(kind) for kind in kinds):
        return pa.int64()
    if len(kinds) > 1 or any(pa.types.is_floating(kind) for kind in kinds):
        return pa.float64()
    return kinds.pop() if kinds else None


def _classes(policy: Policy, name: str) -> dict[str, type]:
    """The type of a column of answers; of other classes than texts each file shows its own."""
    if policy.task == "regression":
        return {name: float}
    if name == "prediction" and policy.columns.answers is None:
        # Of grades, whose answer is kept.
        return {name: str}
    return {name: str} if policy.combiner.family == "text" else {}
