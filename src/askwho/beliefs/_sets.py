"""What committees of a small panel believe that are asked at once: by a model of its own for every set of members."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float32, Int

from askwho import _parts
from askwho._parts import part
from askwho.beliefs._pool import Case, Pool
from askwho.beliefs._pooled import numbers_of
from askwho.beliefs._stacked import Stacked, Told, of_every_set
from askwho.core import each_fold
from askwho.exceptions import InvalidInputError


@part("sets")
@dataclass(frozen=True, eq=False)
class Sets:
    """The models of every set of some of a panel.

    They know the prior and the answers, and no features: answers may come long after the query, which is then known by
    what was expected of it alone.

    Args:
        entities: shape (e,), who of the panel they are of, sorted.
        models: one for each set of them.
    """

    entities: Int[np.ndarray, " e"]
    models: Stacked

    @classmethod
    def fit(
        cls,
        pool: Pool,
        case: Case,
        truth: Int[np.ndarray, " n"],
        *,
        entities: Int[np.ndarray, " e"],
        fold: Int[np.ndarray, " n"],
    ) -> "tuple[Sets, Case]":
        """Return the models that past queries teach, and the queries with what models of other folds believe of them.

        Args:
            pool: of the panel.
            case: past queries, their prior and evidence out of fold, with everybody's answer.
            truth: shape (n,), as indices into the classes.
            entities: shape (e,), whose answers are evidence, sorted.
            fold: shape (n,), of each query.
        """
        few, small = pool.only(entities), _of(case, entities)
        believed = np.empty((2 ** len(entities), len(case), len(case.labels)), dtype=np.float32)
        for seen, held in each_fold(fold):
            models = Stacked.fit(few, small.rows(seen), truth[seen])
            believed[:, held] = of_every_set(models, small.rows(held))
        return cls(entities, Stacked.fit(few, small, truth)), _with(case, believed)

    def believed(self, case: Case, asked: Bool[np.ndarray, "n a"]) -> Float32[np.ndarray, "n c"]:
        """Return what is believed after those of `entities` who were asked, shape (n, C)."""
        inside, rows = asked[:, self.entities], np.arange(len(case))
        if case.believed is None:
            return self.models.probabilities(_of(case, self.entities), Told(rows, inside))
        found = np.zeros(case.prior.shape, dtype=np.float32)
        found[:, : case.believed.shape[2]] = case.believed[rows, numbers_of(inside)]
        return found

    def knows(self, case: Case, asked: Bool[np.ndarray, "n a"]) -> Bool[np.ndarray, " n"]:
        """Return of which queries it knows all that was heard, shape (n,): whoever spoke, and what they said."""
        unknown = asked & (case.codes >= self.models.weights.shape[2])
        others = np.delete(np.arange(case.codes.shape[1]), self.entities)
        unknown[:, others] |= asked[:, others] & case.spoke[:, others]
        return np.logical_not(unknown.any(axis=1))

    def laid_out(self, case: Case) -> Case:
        """Return the case with what is believed after every set, for whoever comes back to the same queries often."""
        return _with(case, of_every_set(self.models, _of(case, self.entities)))

    def but(self, j: int) -> "Sets":
        """Return the models of everybody but entity j, who is still in the panel."""
        kept = np.flatnonzero(self.entities != j)
        return self if len(kept) == len(self.entities) else Sets(self.entities[kept], self.models.only(kept))

    def without(self, j: int) -> "Sets":
        """Return the models of everybody but entity j, who has left the panel."""
        left = self.but(j)
        return Sets(left.entities - (left.entities > j), left.models)

    def to_state(self) -> _parts.State:
        """Return who they are of, and the models."""
        return _parts.State(arrays={"entities": self.entities}).hold(models=self.models)

    @classmethod
    def from_state(cls, state: _parts.State) -> "Sets":
        """Return what `to_state` wrote."""
        (entities,), models = state.pick(entities="e"), state.need("models")
        if entities.dtype.kind != "i" or (np.diff(entities, prepend=-1) < 1).any():
            raise InvalidInputError("`entities` must be places in the panel, got others: the artefact is damaged.")
        models.check(entities)
        return cls(entities.astype(np.intp), models)


def _of(case: Case, entities: Int[np.ndarray, " e"]) -> Case:
    """The case of some, without features."""
    return replace(case.only(entities), known=None)


def _with(case: Case, believed: Float32[np.ndarray, "s n c"]) -> Case:
    """The case with what is believed after every set, the queries first: whoever takes some of them reads little."""
    return replace(case, believed=np.ascontiguousarray(believed.transpose(1, 0, 2)))
