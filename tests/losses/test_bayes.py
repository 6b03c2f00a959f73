"""The minimiser of a consistent surrogate ranks the entities by expected cost, so its top k are Bayes for every k."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from askwho.core import rank  # noqa: E402
from askwho.losses import (  # noqa: E402
    SURROGATES,
    asymmetric_softmax_shares,
    cardinality_surrogate,
    deferral_surrogate,
    deferral_weights,
    weighted_comp_sum,
)
from tests import finite  # noqa: E402

US = [0.0, 0.5, 1.0, 1.5]
REGIMES = {"one-stage": finite.one_stage, "two-stage": finite.two_stage, "selective": finite.selective}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shift", ["max", "sum"])
@pytest.mark.parametrize("u", US)
@pytest.mark.parametrize("regime", REGIMES)
def test_the_top_k_surrogate_recovers_the_bayes_order(regime, u, shift, seed):
    rng = np.random.default_rng(seed)
    costs, probabilities = REGIMES[regime](rng)
    if regime == "one-stage":
        costs = costs * rng.uniform(0.5, 1.0, costs.shape[1]) + rng.uniform(0, 0.2, costs.shape[1])
    scores = finite.minimiser(lambda s, c: deferral_surrogate(s, c, u=u, shift=shift), costs, probabilities)
    assert finite.orders_alike(scores, probabilities @ costs)


PUBLISHED = [
    (name, u)
    for name, entry in SURROGATES.items()
    if name != "top-k" and entry.ranks == "all"
    for u in (US if "u" in entry.options else [1.0])
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "u"), PUBLISHED)
def test_every_published_surrogate_that_ranks_all_recovers_the_bayes_order(name, u, seed):
    entry, rng = SURROGATES[name], np.random.default_rng(100 + seed)
    tables, probabilities = finite.one_stage(rng) if entry.regime == "one-stage" else finite.two_stage(rng)
    options = {"u": u} if "u" in entry.options else {}
    if "n_labels" in entry.options:
        options["n_labels"] = 3
    if name == "mao-one-stage":
        tables[:, 3:] = 0.8 * tables[:, 3:] + [0.05, 0.2]
    scores = finite.minimiser(lambda s, t: entry.function(s, t, **options), tables, probabilities)
    assert finite.orders_alike(scores, probabilities @ tables)


@pytest.mark.parametrize("seed", range(4))
def test_the_asymmetric_softmax_ranks_the_best_by_score_and_all_by_share(seed):
    errors, probabilities = finite.one_stage(np.random.default_rng(seed))
    entry = SURROGATES["asymmetric-softmax"]
    scores = finite.minimiser(lambda s, e: entry.function(s, e, n_labels=3), errors, probabilities)
    expected = probabilities @ errors
    shares = asymmetric_softmax_shares(torch.tensor(scores[None]), n_labels=3).numpy()[0]
    np.testing.assert_allclose(shares, 1 - expected, atol=5e-3)
    assert entry.ranks == "all by shares"
    assert scores.argmax() == expected.argmin()
    assert finite.orders_alike(shares, expected)


def test_the_asymmetric_softmax_misses_the_second_best_by_score():
    # P(y) = (.5, .3, .2), and an expert that is right with probability .35: third by score, second by right.
    labels = 1.0 - np.eye(3)
    errors = np.concatenate([np.repeat(labels, 2, axis=0), np.tile([0.0, 1.0], 3)[:, None]], axis=1)
    probabilities = np.outer([0.5, 0.3, 0.2], [0.35, 0.65]).ravel()
    entry = SURROGATES["asymmetric-softmax"]
    scores = finite.minimiser(lambda s, e: entry.function(s, e, n_labels=3), errors, probabilities)
    assert rank(-(probabilities @ errors)[None])[0].tolist() == [0, 3, 1, 2]
    assert rank(scores[None])[0].tolist() == [0, 1, 3, 2]


def asking(masks, probabilities, costs):
    """Every outcome with every set of asked entities, asking independent of the costs: tables with NaN."""
    tables = np.array([np.where(mask, row, np.nan) for row in costs for mask in masks])
    return tables, np.tile(probabilities, len(costs)) / len(costs)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("u", US)
def test_with_missing_answers_the_masked_surrogate_recovers_the_order(u, seed):
    rng = np.random.default_rng(seed)
    costs, _ = finite.two_stage(rng)
    masks = rng.random((5, 4)) < 0.6
    masks[:2] = [[True, True, False, False], [False, True, True, True]]
    masks = masks[masks.any(axis=1)]
    tables, probabilities = asking(masks, rng.dirichlet(np.ones(len(masks))), costs)
    scores = finite.minimiser(
        lambda s, t: deferral_surrogate(s, t, u=u, shift=1.0, mask=~torch.isnan(t)), tables, probabilities
    )
    assert finite.orders_alike(scores, costs.mean(axis=0))


def test_unasked_entities_left_in_the_softmax_push_the_best_expert_last():
    costs = np.array([[0.3, 0.1, 0.4]])
    masks = np.array([[True, True, True], [True, False, True]])
    tables, probabilities = asking(masks, [0.2, 0.8], costs)

    def left_in(scores, table):
        asked = ~torch.isnan(table)
        return weighted_comp_sum(scores, deferral_weights(table, shift=1.0, mask=asked))

    def restricted(scores, table):
        return deferral_surrogate(scores, table, shift=1.0, mask=~torch.isnan(table))

    assert rank(finite.minimiser(left_in, tables, probabilities)[None])[0].tolist() == [0, 2, 1]
    assert rank(finite.minimiser(restricted, tables, probabilities)[None])[0].tolist() == [1, 0, 2]


def row_level(table, reduce):
    """M taken over the asked entities of each row: what the masked surrogate must not do."""
    asked = ~torch.isnan(table)
    filled = table.masked_fill(~asked, 0.0)
    return filled.amax(dim=-1, keepdim=True) if reduce == "max" else filled.sum(dim=-1, keepdim=True)


@pytest.mark.parametrize(
    ("reduce", "masks", "probabilities", "costs", "best", "worse"),
    [
        ("sum", [[0, 1, 1, 0], [1, 0, 1, 1]], [0.5, 0.5], [[0.2, 0.3, 0.9, 0.9]], 0, 1),
        (
            "max",
            [[1, 1, 0], [0, 1, 1]],
            [0.55, 0.45],
            [[0.2, 1.0, 0.9], [0.4, 0.1, 0.1], [0.0, 0.8, 0.5], [0.2, 0.4, 0.1]],
            0,
            2,
        ),
    ],
)
def test_a_shift_over_the_asked_ranks_the_worse_expert_first(reduce, masks, probabilities, costs, best, worse):
    tables, weights = asking(np.array(masks, dtype=bool), probabilities, np.array(costs))

    def over_asked(scores, table):
        return deferral_surrogate(scores, table, shift=row_level(table, reduce), mask=~torch.isnan(table))

    def over_panel(scores, table):
        return deferral_surrogate(scores, table, shift=1.0, mask=~torch.isnan(table))

    assert np.mean(costs, axis=0)[best] < np.mean(costs, axis=0)[worse] - 0.05
    wrong, right = (finite.minimiser(loss, tables, weights) for loss in (over_asked, over_panel))
    assert wrong[worse] > wrong[best] + 0.1
    assert right[best] > right[worse]


SET_LOSSES = np.array([[0.0, 0.1], [1.0, 0.5]])


@pytest.mark.parametrize("u", US)
@pytest.mark.parametrize("normalization", ["shift", 1.0, 3.0])
def test_a_row_shift_or_a_global_scale_keeps_the_better_cardinality(normalization, u):
    scores = finite.minimiser(
        lambda s, t: cardinality_surrogate(s, t, u=u, normalization=normalization), SET_LOSSES, [0.5, 0.5]
    )
    assert scores.argmax() + 1 == 2


def test_scaling_each_row_by_its_own_size_reverses_it():
    scaled = SET_LOSSES / SET_LOSSES.max(axis=1, keepdims=True)
    scores = finite.minimiser(lambda s, t: cardinality_surrogate(s, t, normalization=1.0), scaled, [0.5, 0.5])
    assert scores.argmax() + 1 == 1


@pytest.mark.parametrize("u", US)
def test_unknown_set_losses_are_masked_without_moving_the_best_cardinality(u):
    tables = np.array([[0.6, 0.2, 0.5], [0.6, 0.2, np.nan], [0.5, np.nan, np.nan]])
    scores = finite.minimiser(
        lambda s, t: cardinality_surrogate(s, t, u=u, normalization=1.0, mask=~torch.isnan(t)), tables, [0.3, 0.3, 0.4]
    )
    assert rank(scores[None])[0].tolist() == [1, 2, 0]
