"""What asking in turn needs of beliefs of any kind: classes, numbers or grades."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float32, Int


@runtime_checkable
class Heard(Protocol):
    """What has been heard of some queries: which, shape (n,), and who was asked, shape (n, |A|)."""

    @property
    def rows(self) -> Int[np.ndarray, " n"]: ...
    @property
    def asked(self) -> Bool[np.ndarray, "n a"]: ...
    def some(self, chosen: Int[np.ndarray, " m"]) -> Any:  # noqa: ANN401 - itself
        """Return the state of some of the queries."""
        ...


@runtime_checkable
class World(Protocol):
    """Queries with everything that can be heard about them: whoever asks in turn needs no more of them than this."""

    @property
    def spoke(self) -> Bool[np.ndarray, "n a"]: ...
    @property
    def expected(self) -> Float[np.ndarray, "n a"]: ...
    @property
    def there(self) -> Bool[np.ndarray, "n a"] | None: ...
    @property
    def costs(self) -> Float32[np.ndarray, "c c"] | None: ...
    def __len__(self) -> int: ...
    def closed(self, state: Any) -> Bool[np.ndarray, "n a"]:  # noqa: ANN401 - its own
        """Return who cannot be asked any more, shape (n, |A|)."""
        ...

    def rows(self, chosen: Int[np.ndarray, " m"]) -> Any:  # noqa: ANN401 - itself
        """Return some of the queries."""
        ...

    def only(self, entities: Int[np.ndarray, " b"]) -> Any:  # noqa: ANN401 - itself
        """Return the queries as some of the entities see them."""
        ...


@runtime_checkable
class Pooled(Protocol):
    """How answers of any kind are believed together, and what it would cost to stop: classes, numbers, or grades."""

    @property
    def unit(self) -> float: ...
    def check(self, entities: Int[np.ndarray, " e"]) -> None:
        """Raise where it is not of those entities, shape (e,)."""
        ...

    def without(self, j: int) -> Any:  # noqa: ANN401 - itself
        """Return the pool of a panel without entity j, who is no member."""
        ...

    def only(self, entities: Int[np.ndarray, " b"]) -> Any:  # noqa: ANN401 - itself
        """Return the pool of some of the entities."""
        ...

    def nothing(self, case: Any, rows: Int[np.ndarray, " m"]) -> Any:  # noqa: ANN401 - its own state
        """Return the state before anybody is asked."""
        ...

    def hear(self, case: Any, state: Any, entity: Int[np.ndarray, " n"] | int) -> Any:  # noqa: ANN401
        """Return the state after one more entity is asked."""
        ...

    def hear_all(self, case: Any, asked: Bool[np.ndarray, "n a"]) -> Any:  # noqa: ANN401
        """Return the state of every query after all of those were asked."""
        ...

    def probabilities(self, case: Any, state: Any) -> Float[np.ndarray, "n c"]:  # noqa: ANN401
        """Return what is believed, shape (n, C)."""
        ...

    def summarise(self, case: Any, state: Any) -> tuple[Float32[np.ndarray, "n f"], Float32[np.ndarray, " n"]]:  # noqa: ANN401
        """Return what the next question may depend on, shape (n, f), and what stopping errs, (n,), in the pool's unit.

        The last columns are who was asked, what is expected of each, and one more.
        """
        ...

    def loss(self, case: Any, state: Any, truth: Any) -> float:  # noqa: ANN401 - as the pool takes it
        """Return what deciding now costs in the mean, in the pool's unit."""
        ...


def believed_after(
    few: Pooled,
    entities: Int[np.ndarray, " e"],
    pool: Pooled,
    case: World,
    asked: Bool[np.ndarray, "n a"],
) -> Float[np.ndarray, "n c"]:
    """Return what is believed after those were asked, shape (n, C).

    By the weights of `entities`, which know each other better; by everybody's where others answered too.

    Args:
        few: how the answers of `entities` alone are believed together.
        entities: shape (e,).
        pool: how everybody's are.
        case: what was heard.
        asked: shape (n, |A|).
    """
    others = asked & case.spoke
    others[:, entities] = False
    small = case.only(entities)
    believed = few.probabilities(small, few.hear_all(small, asked[:, entities]))
    rows = np.flatnonzero(others.any(axis=1))
    if rows.size:
        some = case.rows(rows)
        believed[rows] = pool.probabilities(some, pool.hear_all(some, asked[rows]))
    return believed


def numbers_of(asked: Bool[np.ndarray, "n a"]) -> Int[np.ndarray, " n"]:
    """Return the number of each query's set of those asked, shape (n,): entity j is worth 2^j."""
    return asked @ (1 << np.arange(asked.shape[1]))
