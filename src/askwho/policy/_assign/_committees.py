"""What committees cost a batch of queries, and which of them is best at given prices."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from askwho.policy._policy import Policy
from askwho.policy._seen import FAR, Seen

# What is believed of the gain of a committee that is not of the k best. Chosen by hand on test rows of three recorded
# logs under limits: between a half and the whole realised costs differ by less than their noise, and the whole of it
# promises more than comes.
_BELIEVED = 0.75
# So many rows go through the curve together.
_TOGETHER = 1 << 15


@dataclass(frozen=True, eq=False)
class Proposals:
    """Some committees, each for one query.

    Args:
        query: shape (m,).
        members: shape (m, |A|).
        error: shape (m,), what each is expected to err.
        fee: shape (m,), what it is expected to charge.
    """

    query: Int[np.ndarray, " m"]
    members: Bool[np.ndarray, "m a"]
    error: Float[np.ndarray, " m"]
    fee: Float[np.ndarray, " m"]

    def __len__(self) -> int:
        return len(self.query)

    def rows(self, chosen: Shaped[np.ndarray, " j"]) -> "Proposals":
        """Return some of them."""
        return Proposals(self.query[chosen], self.members[chosen], self.error[chosen], self.fee[chosen])

    def with_more(self, more: "Proposals") -> "Proposals":
        """Return these and more, each once."""
        both = Proposals(
            np.concatenate([self.query, more.query]),
            np.concatenate([self.members, more.members]),
            np.concatenate([self.error, more.error]),
            np.concatenate([self.fee, more.fee]),
        )
        return both.rows(np.sort(np.unique(both.keys, return_index=True)[1]))

    @property
    def keys(self) -> Shaped[np.ndarray, " m"]:
        """What tells one from another, shape (m,)."""
        bits = np.packbits(self.members, axis=1)
        whole = np.concatenate([self.query.astype(">u4").view(np.uint8).reshape(-1, 4), bits], axis=1)
        return np.ascontiguousarray(whole).view(f"V{whole.shape[1]}").reshape(-1)


@dataclass(frozen=True, eq=False)
class Committees:
    """What every committee is expected to cost every query of a batch.

    Committees of the k best are expected to err as `Policy.decide` says, D_x(k); where a base of our own tells its
    doubts, as these and a curve of their own say (`Rationing`). Any other errs by as much more as its
    first is judged to err more than the best of all, and gains by its others what D_x(k) − D_x(1) says for it. The
    curve was learned from committees of the k best: of that gain a part is believed, and no more than what theirs is.

    Args:
        policy: whose.
        seen: the queries, at the fees of the day.
        there: shape (n, |A|), who can be asked.
        fee_weight: λ, at which the policy ranks.
        k: where not None, committees of that many alone.
        most: the largest committee.
    """

    policy: Policy
    seen: Seen
    there: Bool[np.ndarray, "n a"]
    fee_weight: float
    k: int | None
    most: int

    def __len__(self) -> int:
        return len(self.seen)

    @cached_property
    def believed(self) -> Seen:
        """The queries with what is believed of everybody where hours are limited."""
        rationing = self.policy.cardinality.by_doubts
        return self.seen if rationing is None else rationing.believed(self.seen)

    @cached_property
    def singles(self) -> Float[np.ndarray, "n a"]:
        """What each entity is expected to err alone, shape (n, |A|).

        Whoever is best among many is judged a little too well: D_x(1) tells by how much, and all are moved alike.
        """
        judged = self.believed.judged.error_weights * self.believed.expected
        order = self.ranking[:, : self.policy.cardinality.width]
        first = self._predicted(np.arange(len(self)), order)[:, 0]
        best = judged[np.arange(len(self)), order[:, 0]]
        return judged + np.where(np.isfinite(first), first - best, 0.0)[:, None]

    @cached_property
    def ranking(self) -> Int[np.ndarray, "n a"]:
        """Everybody in the order in which `Policy.decide` would ask them, shape (n, |A|)."""
        judged, width = self.believed.judged, self.policy.cardinality.width
        costs = np.where(self.there, judged.costs(self.seen.fees, self.fee_weight), 2 * FAR)
        first = judged.ordered(costs, width)
        if judged.overlap is None or width == costs.shape[1]:
            return costs.argsort(axis=1, kind="stable")
        np.put_along_axis(costs, first, -2 * FAR + np.arange(width)[None], axis=1)
        return costs.argsort(axis=1, kind="stable")

    @cached_property
    def ranks(self) -> Int[np.ndarray, "n a"]:
        """The place of each entity in that order, shape (n, |A|)."""
        return self.ranking.argsort(axis=1)

    @cached_property
    def best_gains(self) -> Float[np.ndarray, "n K"]:
        """What committees of the k best change beside their first, shape (n, K)."""
        return self._changes(np.arange(len(self)), self.ranking[:, : self.policy.cardinality.width])

    @property
    def open(self) -> Bool[np.ndarray, "n a"]:
        """Who can be asked and is known on such queries, shape (n, |A|)."""
        covered = self.seen.judged.covered
        if covered is None or self.k is not None:
            return self.there
        both = self.there & covered
        return np.where(both.any(axis=1, keepdims=True), both, self.there)

    def order(self, query: Int[np.ndarray, " m"], members: Bool[np.ndarray, "m a"]) -> Int[np.ndarray, "m K"]:
        """Return the members of each committee in the policy's ranking, then all others, shape (m, K)."""
        ranks = np.where(members, self.ranks[query], self.ranks[query] + members.shape[1])
        return ranks.argsort(axis=1)[:, : self.policy.cardinality.width]

    def proposals(self, query: Int[np.ndarray, " m"], members: Bool[np.ndarray, "m a"]) -> Proposals:
        """Return committees with what they are expected to err and to charge; those that nobody ever saw are left out.

        Args:
            query: shape (m,).
            members: shape (m, |A|), one at the least of each.
        """
        fee = np.where(members, self.seen.fees[query], 0.0).sum(axis=1)
        order, size = self.order(query, members), members.sum(axis=1)
        error = self.singles[query, order[:, 0]]
        several = np.flatnonzero(size > 1)
        for start in range(0, len(several), _TOGETHER):
            part = several[start : start + _TOGETHER]
            error[part] += self._gains(query[part], order[part])[np.arange(len(part)), size[part] - 1]
        return Proposals(query, members, error, fee).rows(np.flatnonzero(np.isfinite(error)))

    def everything(self, most: int) -> Proposals:
        """Return every committee of up to so many that can be asked, for every query."""
        open_ = self.open
        many = open_.sum(axis=1)
        # Whoever can be asked about a query, in the panel's order, then the others.
        first = np.argsort(~open_, axis=1, kind="stable")
        found: list[tuple[np.ndarray, np.ndarray]] = []
        for m in np.unique(many).tolist():
            sizes = range(1, min(most, m) + 1) if self.k is None else (self.k,)
            places = [chosen for k in sizes for chosen in combinations(range(m), k)]
            masks = np.zeros((len(places), open_.shape[1]), dtype=bool)
            for row, chosen in enumerate(places):
                masks[row, list(chosen)] = True
            rows = np.flatnonzero(many == m)
            members = np.zeros((len(rows), *masks.shape), dtype=bool)
            np.put_along_axis(members, np.broadcast_to(first[rows, None], members.shape), masks[None], axis=2)
            found.append((np.repeat(rows, len(places)), members.reshape(-1, open_.shape[1])))
        query, members = (np.concatenate([part[i] for part in found]) for i in range(2))
        in_turn = query.argsort(kind="stable")
        return self.proposals(query[in_turn], members[in_turn])

    def nothing(self) -> Proposals:
        """Return no committee."""
        return self.proposals(np.zeros(0, dtype=np.intp), np.zeros((0, self.there.shape[1]), dtype=bool))

    def near(self, given: Proposals) -> Proposals:
        """Return the committees that differ from some by one member more or less."""
        a = self.there.shape[1]
        changed = (given.members[:, None] ^ np.eye(a, dtype=bool)).reshape(-1, a)
        query = np.repeat(given.query, a)
        size = changed.sum(axis=1)
        right = (size > 0) & (size <= self.most) & ~(changed & ~self.open[query]).any(axis=1)
        right &= (size == self.k) if self.k is not None else True
        return self.proposals(query[right], changed[right])

    def largest(self, room: int) -> int:
        """Return the size up to which all committees of all queries are no more than `room`; 0 where none is."""
        many, queries = np.unique(self.open.sum(axis=1), return_counts=True)

        def of_size(k: int) -> int:
            return sum(n * comb(m, k) for m, n in zip(many.tolist(), queries.tolist(), strict=True))

        if self.k is not None:
            return self.most if of_size(self.k) <= room else 0
        count, size = 0, 0
        while size < self.most and count <= room:
            size += 1
            count += of_size(size)
        return size if count <= room else size - 1

    def best(
        self,
        prices: Float[np.ndarray, "n a"],
        rate: float,
        of_size: Float[np.ndarray, " s"],
        queries: Sequence[int] | None = None,
        *,
        singles: int = 2,
    ) -> Proposals:
        """Return the committees that prices make best: of every size by the policy's ranking the best, and single ones.

        Args:
            prices: shape (n, |A|), what asking each costs beyond its fee.
            rate: what one unit of money costs.
            of_size: shape (s,), what asking 0, 1, ... costs beyond that.
            queries: some of them; all, unless said.
            singles: how many single entities of each query.
        """
        query = np.arange(len(self)) if queries is None else np.asarray(queries, dtype=np.intp)
        extra = rate * self.seen.fees[query] + prices[query]
        open_ = self.open[query]
        costs = np.where(open_, self.singles[query] + extra, 2 * FAR)
        own, a = self.policy.panel.own, costs.shape[1]
        found: list[tuple[np.ndarray, np.ndarray]] = []
        if self.k in (None, 1):
            alone = costs + of_size[(~own).astype(np.intp)]
            first = np.argsort(alone, axis=1)[:, : min(singles, a)]
            rows, places = np.nonzero(np.take_along_axis(open_, first, axis=1))
            found.append((query[rows], np.eye(a, dtype=bool)[first[rows, places]]))
        if self.most > 1 and self.k != 1:
            order = self.believed.judged.rows(query).ordered(costs, self.policy.cardinality.width)[:, : self.most]
            gains = self._gains(query, self._filled(query, order))[:, : self.most]
            asked = np.cumsum(~own[order], axis=1)
            paid = np.take_along_axis(extra, order, axis=1).cumsum(axis=1)
            whole = self.singles[query, order[:, 0]][:, None] + gains + paid + of_size[asked]
            many = open_.sum(axis=1)
            whole[np.arange(order.shape[1]) >= many[:, None]] = np.inf
            if self.k is not None:
                best = np.full(len(query), self.k)
            else:
                whole[:, 0] = np.inf
                best = whole.argmin(axis=1) + 1
            members = np.zeros((len(query), a), dtype=bool)
            np.put_along_axis(members, order, np.arange(order.shape[1]) < best[:, None], axis=1)
            whole_rows = np.flatnonzero(many >= best)
            found.append((query[whole_rows], members[whole_rows]))
        return self.proposals(np.concatenate([q for q, _ in found]), np.concatenate([m for _, m in found]))

    def _gains(self, query: np.ndarray, order: np.ndarray) -> np.ndarray:
        """What is believed of the changes that the committees of every size of an order make, shape (m, K)."""
        changes = self._changes(query, order)
        several = np.maximum(changes, self.best_gains[query])
        places = np.take_along_axis(self.ranks[query], order, axis=1)
        are_best = np.maximum.accumulate(places, axis=1) == np.arange(order.shape[1])
        return np.where(are_best, changes, np.where(several < 0, _BELIEVED * several, several))

    def _changes(self, query: np.ndarray, order: np.ndarray) -> np.ndarray:
        """D_x(k) − D_x(1) for every k of an order, shape (m, K)."""
        known = self._predicted(query, order)
        return np.where(np.isfinite(known), known - known[:, :1], np.inf)

    def _predicted(self, query: np.ndarray, order: np.ndarray) -> np.ndarray:
        """D_x(k) for every k of an order, shape (m, K)."""
        rationing, seen = self.policy.cardinality.by_doubts, self.believed
        curve = self.policy.cardinality.curve if rationing is None else rationing.curve
        found = [
            curve.predict(seen.X[part], seen.expected[part], order[start : start + _TOGETHER])
            for start in range(0, max(len(query), 1), _TOGETHER)
            for part in (query[start : start + _TOGETHER],)
        ]
        return np.concatenate(found)

    def _filled(self, query: np.ndarray, order: np.ndarray) -> np.ndarray:
        """An order with all others behind it, in the policy's ranking, as wide as the curve takes it."""
        inside = np.zeros((len(order), self.there.shape[1]), dtype=bool)
        np.put_along_axis(inside, order, values=True, axis=1)
        rest = np.where(inside, len(inside[0]), self.ranks[query]).argsort(axis=1)
        return np.concatenate([order, rest], axis=1)[:, : self.policy.cardinality.width]
