"""An experiment after its policy is learned: three parts of rows, what was said, and how everybody was scored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float, Shaped

from askwho._types import FloatRanks, FloatTable, Order, Ties
from askwho.aggregation import Committee, best_of_k
from askwho.core import Answers, Panel, in_order
from askwho.metrics import prefix_errors

LAMBDAS = (1e-9, 0.01, 0.05, 0.25, *(0.5 * i for i in range(1, 14)))
"""The paper's grid of λ, 17 values."""

Task = Literal["classification", "regression"]


@dataclass(frozen=True)
class Metric:
    """What a committee's error d is, in the paper's words (Appendix A.13).

    Args:
        name: as in tables and files.
        combine: a name in `AGGREGATIONS`; None for the best member's error, which needs the truth.
        ties: how votes break ties.
    """

    name: str
    combine: str | None
    ties: Ties = "rank"

    @property
    def needs_truth(self) -> bool:
        """Whether nobody could deploy it: the best member is known only to who knows the truth."""
        return self.combine is None


REGRESSION = (Metric("best-of-k", None), Metric("mean", "mean"), Metric("weighted mean", "weighted-mean"))
"""RMSE_min, RMSE_avg and RMSE_w-avg."""
CLASSIFICATION = (
    Metric("top-k", None),
    Metric("majority", "majority"),
    Metric("weighted vote", "weighted-vote"),
    Metric("majority, ties to the smallest label", "majority", "index"),
)
"""Acc_top-k, Acc_maj and Acc_w-vl; and the majority by the paper's rule for ties, which softmax weights never meet."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of an experiment.

    Args:
        X: shape (n, d), what k(x) is learned from.
        scores: shape (n, |A|), of a policy that has not learned from these rows.
        answers: of the whole panel; label entities answer with their label.
        truth: shape (n,).
        errors: ψ, shape (n, |A|): zero-one, or squared for numbers.
        seen: shape (n, e), what the paper's k(x) at its best is learned from; `X` unless said.
    """

    X: Float[np.ndarray, "n d"]
    scores: FloatTable
    answers: Answers
    truth: Shaped[np.ndarray, " n"]
    errors: FloatTable
    seen: Float[np.ndarray, "n e"] | None = None

    @property
    def most(self) -> Float[np.ndarray, "n e"]:
        """The most that is known of a query before anybody is asked."""
        return self.X if self.seen is None else self.seen

    def take(self, rows: np.ndarray) -> "Part":
        """Return some of the rows."""
        said = Answers(self.answers.values[rows], self.answers.states[rows])
        seen = None if self.seen is None else self.seen[rows]
        return Part(self.X[rows], self.scores[rows], said, self.truth[rows], self.errors[rows], seen)


@dataclass(frozen=True, eq=False)
class Rival:
    """A method that asks one entity, under one or several settings.

    Args:
        settings: what tells them apart, such as the fee weight.
        choose: shape (s, n, |A|), scores of the rows that settings are chosen by.
        test: shape (s, m, |A|), scores of the test rows.
    """

    settings: tuple[float, ...]
    choose: Float[np.ndarray, "s n a"]
    test: Float[np.ndarray, "s m a"]


@dataclass(frozen=True, eq=False)
class Scored:
    """One seed of an experiment, ready for `frontiers`.

    Args:
        panel: who can be asked, and their fees; in one stage the labels come first, free.
        task: regression takes roots of mean squared errors.
        learn: rows that k(x) learns from; their scores come from policies that never saw them.
        choose: rows that nothing learned from: k and λ are chosen here, never on test rows.
        test: rows for the figures.
        width: the largest committee to look at; the whole panel unless said.
        rivals: by name.
    """

    panel: Panel
    task: Task
    learn: Part
    choose: Part
    test: Part
    width: int | None = None
    rivals: Mapping[str, Rival] = field(default_factory=dict[str, Rival])

    @property
    def widest(self) -> int:
        """The largest committee."""
        return min(self.width or len(self.panel), len(self.panel))

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The paper's three, and where votes can tie the other rule."""
        return REGRESSION if self.task == "regression" else CLASSIFICATION

    def prefixes(
        self, part: Part, order: Order, metric: Metric, *, weigh_by: FloatTable | None = None
    ) -> tuple[FloatRanks, FloatRanks]:
        """Return what committees of every size get and pay, each (n, K).

        Args:
            part: the rows.
            order: shape (n, K), whom to ask, best first.
            metric: what a committee's error is.
            weigh_by: shape (n, |A|), whose softmax weighs the members; the policy's scores unless said.
        """
        paid = np.cumsum(self.panel.fees[order], axis=1)
        if metric.combine is None:
            return best_of_k(in_order(part.errors, order)), paid
        committee = Committee(self.panel, order, part.answers, part.scores if weigh_by is None else weigh_by)
        error = "squared" if self.task == "regression" else "zero-one"
        return prefix_errors(committee, part.truth, combine=metric.combine, error=error, ties=metric.ties), paid
