"""What is decided whatever the last of a committee says: worked out while he thinks, and there when he answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from askwho.core import Answers
from askwho.live._answered import Asked
from askwho.live._committee import heard, seated
from askwho.policy import Decision, Decisions, Policy

MOMENT = 0.002
"""Seconds that the last one has to answer before anything is foreseen: his call is sent then, and whoever is faster
than this is not waited for anyway."""
# Classes of which each is foreseen: verdicts of so many rows take little longer than that of one.
_MOST = 16
# How classes are kept that an answer can be compared with, and what it must be of: True is no 1 here.
_TYPES: dict[str, tuple[type, ...]] = {"U": (str,), "i": (int,), "f": (int, float)}


class Foreseen:
    """The verdicts of a committee all of whose members but one were heard, by what the last one may say.

    They are those of the usual way, to the bit: rows of one call of `Policy.combine`, which takes little longer than
    for one row.

    Args:
        policy: who decides.
        decisions: of the one query, before anybody was asked.
    """

    def __init__(self, policy: Policy, decisions: Decisions) -> None:
        self._policy = policy
        self._decisions = decisions
        self._classes = _classes_of(policy)
        self._committee: Sequence[int] = ()
        self._last = ""
        self._made: dict[Any, Decision] = {}

    def wants(self, committee: Sequence[int]) -> bool:
        """Return whether the verdicts of this committee can be foreseen, and are not yet."""
        return self._classes is not None and self._committee != committee

    def work_out(self, committee: Sequence[int], calls: Mapping[str, Asked], last: str) -> None:
        """Work out what the committee decides for each class that the last one may answer.

        Args:
            committee: who is in it, best first, the last one to answer among them.
            calls: what came of the others, by name.
            last: who has not answered yet.
        """
        classes, policy = self._classes, self._policy
        assert classes is not None  # noqa: S101 - `wants` was asked
        count, names = len(classes), policy.panel.names
        told = {names[j]: calls[names[j]] for j in committee if names[j] in calls}
        one, _ = heard(policy, told | {last: Asked(last, "answered", classes[0].item())})
        own = policy.panel.own
        place = sum(not own[j] for j in range(policy.panel.index(last)))
        values = one.values.repeat(count, axis=0).astype(np.result_type(one.values, classes))
        values[:, place] = classes
        made = seated(self._decisions, committee)
        many = replace(
            made,
            ids=made.ids.repeat(count),
            seen=made.seen.rows(np.zeros(count, dtype=np.intp)),
            order=made.order.repeat(count, axis=0),
            k=made.k.repeat(count),
            expected_error=made.expected_error.repeat(count),
            propensity=made.propensity.repeat(count),
            propensities=made.propensities.repeat(count, axis=0),
        )
        found = policy.combine(many, Answers(values, one.states.repeat(count, axis=0)))
        self._committee, self._last, self._made = committee, last, dict(zip(classes.tolist(), found, strict=True))

    def decision(self, committee: Sequence[int], calls: Mapping[str, Asked]) -> Decision | None:
        """Return what was foreseen for this committee and what the last one said; None where that was not foreseen."""
        if self._classes is None or not self._made or self._committee != committee:
            return None
        call = calls[self._last]
        if call.came != "answered" or type(call.answer) not in _TYPES[self._classes.dtype.kind]:
            return None
        return self._made.get(call.answer)


def _classes_of(policy: Policy) -> Any:  # noqa: ANN401 - an array, or None
    """The classes that somebody may answer, where they are few, and are all of what an answer tells."""
    classes = policy.combiner.classes
    if policy.columns.answers is None or policy.columns.info or policy.columns.same != "exact":
        return None
    return None if classes is None or len(classes) > _MOST or classes.dtype.kind not in _TYPES else classes
