"""The panel: who can be asked, and what each charges."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np
from jaxtyping import Bool, Float

from askwho import _validation as check
from askwho._types import Kind
from askwho.exceptions import InvalidInputError


@dataclass(frozen=True)
class Entity:
    """One member of the set A: a label, the base predictor, an expert, or the option to abstain.

    The augmented cost of asking entity j is μ_j = α_j ψ + β_j (paper, Section 4.1): `error_weight` is α_j and
    `fee` is β_j.

    Args:
        name: unique in its panel.
        kind: `"label"` (predict that class), `"base"` (the main predictor g), `"expert"`, or `"reject"`.
        error_weight: α_j ≥ 0, how much one unit of this entity's error weighs.
        fee: β_j ≥ 0, money. Labels, the base and reject are in-house; reject must be free of money, its price
            is error (`error_weight`, on an error that is always 1).
        label: the class a `"label"` entity predicts.
        own: whether it is a base that the policy trained and holds itself: nobody need be asked.
    """

    name: str
    kind: Kind = "expert"
    error_weight: float = 1.0
    fee: float = 0.0
    label: Hashable = None
    own: bool = False

    def __post_init__(self) -> None:
        check.unique_names([self.name], "Entities")
        check.one_of(self.kind, "kind", get_args(Kind))
        for field in ("error_weight", "fee"):
            value = check.finite_number(getattr(self, field), f"{field} of {self.name}", minimum=0.0)
            object.__setattr__(self, field, value)
        if self.kind == "reject" and self.fee > 0:
            raise InvalidInputError(
                f"`fee` of {self.name} must be 0, got {self.fee}: abstaining costs error, not money; "
                "set `error_weight`."
            )
        if (self.kind == "label") == (self.label is None):
            raise InvalidInputError(
                f"`label` of {self.name} must be given for a label entity and for no other, got {self.label!r}."
            )
        if self.own and self.kind != "base":
            raise InvalidInputError(f"`own` of {self.name} must be false, got true: only a base can be our own.")
        if self.label is not None and not _is_label(self.label):
            raise InvalidInputError(f"`label` of {self.name} must be text or a number, got {self.label!r}.")


Experts = Mapping[str, float] | Iterable[str | Entity]


@dataclass(frozen=True)
class Panel:
    """The entities that can be asked, in a fixed order: the paper's A.

    >>> panel = Panel.two_stage({"small-llm": 0.02, "doctor": 1.5})
    >>> panel.names
    ('base', 'small-llm', 'doctor')
    >>> panel.fees
    array([0.  , 0.02, 1.5 ])
    """

    entities: tuple[Entity, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "entities", tuple(self.entities))
        if not self.entities:
            raise InvalidInputError("`entities` must not be empty: a panel needs somebody to ask.")
        for entity in self.entities:
            if not isinstance(entity, Entity):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidInputError(f"`entities` must hold `Entity` objects, got {entity!r}.")
        check.unique_names(self.names, "Entities of a panel")
        if len(set(self.labels)) < len(self.labels):
            raise InvalidInputError(f"`labels` must be different from each other, got {list(self.labels)}.")
        bases = [entity.name for entity in self.entities if entity.kind == "base"]
        if len(bases) > 1:
            raise InvalidInputError(f"`entities` must hold one base at the most, got {bases}.")

    @classmethod
    def one_stage(cls, labels: Sequence[Hashable], experts: Experts) -> "Panel":
        """Return the one-stage panel A^1s: n labels, then J experts (paper, Section 3).

        Args:
            labels: the classes, in the order of their scores; at least two.
            experts: names, a mapping from name to fee, or `Entity` objects.
        """
        return cls((*_label_entities(labels), *_expert_entities(experts)))

    @classmethod
    def two_stage(cls, experts: Experts, *, base: str | Entity = "base") -> "Panel":
        """Return the two-stage panel A^2s: the base predictor g, then J experts (paper, Section 3)."""
        first = base if isinstance(base, Entity) else Entity(base, "base")
        if first.kind != "base":
            raise InvalidInputError(f"`base` must be an entity of kind 'base', got {first.kind!r}.")
        return cls((first, *_expert_entities(experts)))

    @classmethod
    def selective(cls, labels: Sequence[Hashable], *, penalty: float, name: str = "reject") -> "Panel":
        """Return the panel of selective prediction: labels, then the option to abstain (paper, Corollary 4.6).

        The paper writes α_⊥ = 0 and β_⊥ = λ. Here the penalty λ is the `error_weight` of an error that is always
        1: the same cost, and it stays out of every sum of money.
        """
        if check.finite_number(penalty, "penalty", minimum=0.0) == 0:
            raise InvalidInputError("`penalty` must be above 0, got 0: abstaining for nothing is always best.")
        return cls((*_label_entities(labels), Entity(name, "reject", error_weight=penalty)))

    def __len__(self) -> int:
        return len(self.entities)

    # Asked for many times a query.
    @cached_property
    def names(self) -> tuple[str, ...]:
        """The entities' names, in order."""
        return tuple(entity.name for entity in self.entities)

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The classes that the label entities predict, in order; empty for a two-stage panel."""
        return tuple(entity.label for entity in self.entities if entity.kind == "label")

    @cached_property
    def fees(self) -> Float[np.ndarray, " a"]:
        """β, the fee of each entity, shape (|A|,)."""
        return _frozen([entity.fee for entity in self.entities])

    @cached_property
    def error_weights(self) -> Float[np.ndarray, " a"]:
        """α, the error weight of each entity, shape (|A|,)."""
        return _frozen([entity.error_weight for entity in self.entities])

    @cached_property
    def own(self) -> Bool[np.ndarray, " a"]:
        """Who answers without being asked, shape (|A|,): labels, reject, and a base that the policy holds itself."""
        return np.array([entity.own or entity.kind in ("label", "reject") for entity in self.entities])

    def is_kind(self, *kinds: Kind) -> Bool[np.ndarray, " a"]:
        """Return which entities are of one of the kinds, shape (|A|,)."""
        for kind in kinds:
            check.one_of(kind, "kind", get_args(Kind))
        return np.array([entity.kind in kinds for entity in self.entities])

    def index(self, name: str) -> int:
        """Return the position of the entity called `name`."""
        if name not in self.names:
            raise InvalidInputError(f"`name` must be one of {list(self.names)}, got {name!r}.")
        return self.names.index(name)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the plain form that `from_json` reads."""
        plain = [asdict(entity) for entity in self.entities]
        for entity in plain:
            if isinstance(entity["label"], np.generic):
                entity["label"] = entity["label"].item()
        return plain

    @classmethod
    def from_json(cls, plain: Sequence[Mapping[str, Any]]) -> "Panel":
        """Return the panel that `to_json` wrote."""
        return cls(tuple(Entity(**entity) for entity in plain))

    def cost_bound(self, *, error_bound: float = 1.0, fee_weight: float = 1.0) -> float:
        """Return max_j (α_j ψ_max + fee_weight · β_j), a bound on every cost that no row's answers can move.

        It is the shift that `losses.deferral_surrogate` needs where answers are missing.

        Args:
            error_bound: ψ_max, the largest error that can occur; 1 for zero-one errors and grades.
            fee_weight: the exchange rate at which the costs were formed.
        """
        largest = check.finite_number(error_bound, "error_bound", minimum=0.0)
        rate = check.finite_number(fee_weight, "fee_weight", minimum=0.0)
        per_entity = self.error_weights * np.where(self.is_kind("reject"), 1.0, largest) + rate * self.fees
        return float(per_entity.max())


def _is_label(value: Hashable) -> bool:
    return isinstance(value, str | int | float | np.generic) and not check.missing(value)


def _label_entities(labels: Sequence[Hashable]) -> list[Entity]:
    listed = list(labels)
    for label in listed:
        if not _is_label(label):
            raise InvalidInputError(f"`labels` must be text or numbers, got {label!r}.")
    if len(set(listed)) < len(listed):
        raise InvalidInputError(f"`labels` must be different from each other, got {listed}.")
    check.two_classes(listed, "labels")
    return [Entity(str(label), "label", label=label) for label in listed]


def _expert_entities(experts: Experts) -> list[Entity]:
    if isinstance(experts, str) or not isinstance(experts, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInputError(f"`experts` must be a list or a mapping of names, got {experts!r}.")
    if isinstance(experts, Mapping):
        return [Entity(str(name), fee=fee) for name, fee in experts.items()]
    listed = [expert if isinstance(expert, Entity) else Entity(expert) for expert in experts]
    for expert in listed:
        if expert.kind != "expert":
            raise InvalidInputError(f"`experts` must be of kind 'expert', got {expert.name!r} of kind {expert.kind!r}.")
    return listed


def _frozen(values: list[float]) -> np.ndarray:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array
