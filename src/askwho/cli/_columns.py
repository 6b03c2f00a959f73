"""What the columns of written files hold: batches may show nothing of one for long, and a file has one type for it."""

from askwho.policy import Policy


def route_types(policy: Policy) -> dict[str, type]:
    """Return the types of what `askwho route` writes."""
    return {"ask": list, **_classes(policy, "base_answer")}


def step_types(policy: Policy) -> dict[str, type]:
    """Return the types of what `askwho route --mode sequential` writes."""
    return {"ask": str, "probability": float, "heard": list, **_classes(policy, "prediction")}


def decision_types(policy: Policy) -> dict[str, type]:
    """Return the types of what `askwho combine` writes."""
    return {"probability": float, "heard": list, "ask_next": list, **_classes(policy, "prediction")}


def _classes(policy: Policy, name: str) -> dict[str, type]:
    """The type of a column of answers; of other classes than texts each file shows its own."""
    if policy.task == "regression":
        return {name: float}
    if name == "prediction" and policy.columns.answers is None:
        # Of grades, whose answer is kept.
        return {name: str}
    return {name: str} if policy.combiner.family == "text" else {}
