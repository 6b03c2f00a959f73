"""Every kind of bad input ends in one error, whose message says what was expected, what came, and what to do."""

import importlib

import pytest

from tests.refusals import (
    INF,
    NAN,
    case,
    refuses,
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        case(
            "whole-number scores",
            lambda torch, losses: losses.comp_sum(torch.tensor([[1, 2]])),
            "`scores` must be a floating-point tensor of shape (..., entities), got torch.int64 of shape (1, 2).",
        ),
        case(
            "scores without an axis",
            lambda torch, losses: losses.comp_sum(torch.tensor(1.0)),
            "`scores` must be a floating-point tensor of shape (..., entities), got torch.float32 of shape ().",
        ),
        case(
            "u below zero",
            lambda torch, losses: losses.comp_sum(torch.zeros(1, 2), u=-1.0),
            "`u` must be a finite number of at least 0, got -1.0: 1 is the logistic loss.",
        ),
        case(
            "row shift with a mask",
            lambda torch, losses: losses.deferral_weights(torch.zeros(1, 2), mask=torch.ones(1, 2, dtype=torch.bool)),
            "`shift` must be a number where answers are missing, got 'max': it would depend on who was asked. "
            "Pass `panel.cost_bound(...)`.",
        ),
        case(
            "shape of the mask",
            lambda torch, losses: losses.deferral_weights(
                torch.zeros(1, 2), shift=1.0, mask=torch.ones(2, dtype=torch.bool)
            ),
            "`mask` must have the shape of `scores`, got (2,) for (1, 2).",
        ),
        case(
            "type of the mask",
            lambda torch, losses: losses.deferral_weights(torch.zeros(1, 2), shift=1.0, mask=torch.ones(1, 2)),
            "`mask` must be torch.bool, got torch.float32.",
        ),
        case(
            "nobody asked",
            lambda torch, losses: losses.deferral_weights(
                torch.zeros(1, 2), shift=1.0, mask=torch.zeros(1, 2, dtype=torch.bool)
            ),
            "`mask` must be true once in every row: drop queries that nobody was asked.",
        ),
        case(
            "NaN costs",
            lambda torch, losses: losses.deferral_weights(torch.tensor([[0.0, NAN]])),
            "`costs` must be finite, got 1 cells that are not: pass `mask=` to leave out entities that were not asked.",
        ),
        case(
            "shift below a cost",
            lambda torch, losses: losses.deferral_weights(torch.tensor([[0.0, 3.0]]), shift=1.0),
            "`shift` must be at least every cost, got 1.0 for costs up to 3: "
            "a negative weight would push the score of a good entity down without end.",
        ),
        case(
            "shape of costs",
            lambda torch, losses: losses.deferral_surrogate(torch.zeros(1, 2), torch.zeros(1, 3)),
            "`costs` must have the shape of `scores`, got (1, 3) for (1, 2).",
        ),
        case(
            "sum of costs below zero",
            lambda torch, losses: losses.deferral_weights(torch.tensor([[0.5, -1.0]]), shift="sum"),
            "`costs` must not be below zero with shift='sum': use shift='max'.",
        ),
        case(
            "unknown shift",
            lambda torch, losses: losses.deferral_weights(torch.zeros(1, 2), shift="mean"),
            "`shift` must be 'max', 'sum', a number or a tensor, got 'mean'.",
        ),
        case(
            "shift by entity",
            lambda torch, losses: losses.deferral_weights(torch.zeros(3, 2), shift=torch.ones(3, 2)),
            "`shift` must be one number, or one a row ((3,)), got shape (3, 2): it must not differ between entities.",
        ),
        case(
            "shape of set losses",
            lambda torch, losses: losses.cardinality_surrogate(torch.zeros(1, 2), torch.zeros(1, 3)),
            "`set_losses` must have the shape of `scores`, got (1, 3) for (1, 2).",
        ),
        case(
            "unknown normalisation",
            lambda torch, losses: losses.cardinality_surrogate(
                torch.zeros(1, 2), torch.zeros(1, 2), normalization="row"
            ),
            "`normalization` must be 'shift' or a finite number of at least every set loss (0), got 'row'.",
        ),
        case(
            "row normalisation with a mask",
            lambda torch, losses: losses.cardinality_surrogate(
                torch.zeros(1, 2), torch.zeros(1, 2), mask=torch.ones(1, 2, dtype=torch.bool)
            ),
            "`normalization` must be a number where answers are missing, got 'shift': a row's own maximum would "
            "depend on who was asked. Pass a bound on every set loss.",
        ),
        case(
            "normalisation below a set loss",
            lambda torch, losses: losses.cardinality_surrogate(torch.zeros(1, 2), torch.ones(1, 2), normalization=0.5),
            "`normalization` must be 'shift' or a finite number of at least every set loss (1), got 0.5.",
        ),
        case(
            "expert weight for several experts",
            lambda torch, losses: losses.mozannar_sontag(
                torch.zeros(1, 4), torch.tensor([[0.0, 1.0, 1.0, 1.0]]), n_labels=2, expert_weight=0.5
            ),
            "`expert_weight` must be 1 for several experts, got 0.5: it was published for one.",
        ),
        case(
            "costs of post-hoc",
            lambda torch, losses: losses.post_hoc(torch.zeros(1, 2), torch.tensor([[0.0, -1.0]])),
            "`costs` must be finite and at least 0, got values from -1 to 0.",
        ),
        case(
            "shape of the costs of post-hoc",
            lambda torch, losses: losses.post_hoc(torch.zeros(1, 2), torch.zeros(1, 3)),
            "`costs` must have the shape of `scores`, got (1, 3) for (1, 2).",
        ),
        case(
            "errors between 0 and 1",
            lambda torch, losses: losses.one_vs_all(torch.zeros(1, 3), torch.tensor([[0.0, 1.0, 0.5]]), n_labels=2),
            "`errors` must be 0 or 1 for this method, got 0.5: `mao_one_stage` takes general costs.",
        ),
        case(
            "two right labels",
            lambda torch, losses: losses.mozannar_sontag(torch.zeros(1, 3), torch.zeros(1, 3), n_labels=2),
            "`errors` must be 0 for exactly one label of a row and 1 for the others, got 2 to 2 right labels.",
        ),
        case(
            "shape of errors",
            lambda torch, losses: losses.asymmetric_softmax(torch.zeros(1, 3), torch.zeros(1, 2), n_labels=2),
            "`errors` must have the shape of `scores`, got (1, 2) for (1, 3).",
        ),
        case(
            "one label",
            lambda torch, losses: losses.asymmetric_softmax_shares(torch.zeros(1, 3), n_labels=1),
            "`n_labels` must be between 2 and 3, got 1.",
        ),
        case(
            "more labels than entities",
            lambda torch, losses: losses.mao_one_stage(torch.zeros(1, 3), torch.ones(1, 3), n_labels=4),
            "`n_labels` must be between 2 and 3, got 4.",
        ),
    ],
)
def test_losses(call, message):
    torch = pytest.importorskip("torch")
    losses = importlib.import_module("askwho.losses")
    refuses(lambda: call(torch, losses), message)


LOSSES_OF_TABLES = {
    "mao_two_stage": ("costs", {}),
    "mao_two_stage_regression": ("costs", {}),
    "mao_one_stage": ("costs", {"n_labels": 2}),
    "post_hoc": ("costs", {}),
    "deferral_surrogate": ("costs", {}),
    "cardinality_surrogate": ("set_losses", {}),
    "weighted_comp_sum": ("weights", {}),
    "mozannar_sontag": ("errors", {"n_labels": 2}),
    "one_vs_all": ("errors", {"n_labels": 2}),
    "asymmetric_softmax": ("errors", {"n_labels": 2}),
}


@pytest.mark.parametrize("shape", [(2, 2), (1, 3), (3,), (2, 3, 1)], ids=str)
@pytest.mark.parametrize("name", LOSSES_OF_TABLES)
def test_table_of_another_shape(name, shape):
    torch = pytest.importorskip("torch")
    loss = getattr(importlib.import_module("askwho.losses"), name)
    table, options = LOSSES_OF_TABLES[name]
    message = f"`{table}` must have the shape of `scores`, got {shape} for (2, 3)."
    refuses(lambda: loss(torch.zeros(2, 3), torch.ones(shape), **options), message)


@pytest.mark.parametrize("dtype", ["int64", "int32", "bool"])
@pytest.mark.parametrize("name", LOSSES_OF_TABLES)
def test_table_of_whole_numbers(name, dtype):
    torch = pytest.importorskip("torch")
    loss = getattr(importlib.import_module("askwho.losses"), name)
    table, options = LOSSES_OF_TABLES[name]
    whole = torch.tensor([[0, 1, 1]], dtype=getattr(torch, dtype))
    message = f"`{table}` must be floating point, got torch.{dtype}."
    refuses(lambda: loss(torch.zeros(1, 3), whole, **options), message)


def test_weights_of_whole_numbers():
    torch = pytest.importorskip("torch")
    losses = importlib.import_module("askwho.losses")
    message = "`costs` must be floating point, got torch.int64."
    refuses(lambda: losses.deferral_weights(torch.tensor([[0, 1]])), message)


def test_mask_of_another_shape():
    torch = pytest.importorskip("torch")
    losses = importlib.import_module("askwho.losses")
    mask = torch.ones(3, dtype=torch.bool)
    message = "`mask` must have the shape of `scores`, got (3,) for (2, 3)."
    refuses(lambda: losses.weighted_comp_sum(torch.zeros(2, 3), torch.ones(2, 3), mask=mask), message)


@pytest.mark.parametrize("normalization", [0.0, -1.0, INF, NAN])
def test_a_scale_that_divides_by_nothing_is_refused(normalization):
    torch = pytest.importorskip("torch")
    from askwho.losses import cardinality_surrogate  # noqa: PLC0415

    refuses(
        lambda: cardinality_surrogate(torch.zeros(1, 2), torch.zeros(1, 2), normalization=normalization),
        "`normalization` must be 'shift' or a finite number",
    )


def test_unknown_set_losses_need_a_mask_and_a_mask_must_leave_one():
    torch = pytest.importorskip("torch")
    from askwho.losses import cardinality_surrogate  # noqa: PLC0415

    scores, losses = torch.zeros(1, 2), torch.tensor([[0.1, NAN]])
    refuses(lambda: cardinality_surrogate(scores, losses), "`set_losses` must be finite: pass `mask=`")
    nobody = torch.zeros(1, 2, dtype=torch.bool)
    refuses(
        lambda: cardinality_surrogate(scores, losses, normalization=1.0, mask=nobody),
        "`mask` must be true once in every row",
    )
