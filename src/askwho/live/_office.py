"""What all queries share: the policy, a desk for each expert, the books and the budgets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from askwho.live._behind import Behind
from askwho.live._books import Books
from askwho.live._call import Sense
from askwho.live._desk import Desk
from askwho.policy import Policy


@dataclass(frozen=True, eq=False)
class Office:
    """What is shared by everything that is asked.

    Args:
        policy: who decides.
        desks: by the expert's name.
        books: where money is held and booked.
        budgets: which of them are to cover every call.
        explore: the share of queries that ask somebody else, at random.
        hedge: the share of the time left after which somebody else is asked beside whoever is silent; None for never.
        digest: which policy it is, for the books.
        rng: where chance comes from.
        behind: what is being written.
        sense: from an answer to why the policy cannot use it.
        wall: seconds of the wall clock: when holds expire.
    """

    policy: Policy
    desks: Mapping[str, Desk]
    books: Books
    budgets: Sequence[str]
    explore: float
    hedge: float | None
    digest: str
    rng: np.random.Generator
    behind: Behind
    sense: Sense
    wall: Callable[[], float]
