"""Who can be asked, in what order, at what price."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho import Entity, InvalidInputError, Panel

amounts = st.floats(0, 100, allow_nan=False)
weights = st.lists(st.tuples(amounts, amounts), min_size=1, max_size=6)


def panel_of(weights):
    """Experts with these error weights and fees, then a reject entity with the first one's error weight."""
    experts = [Entity(f"e{j}", error_weight=weight, fee=fee) for j, (weight, fee) in enumerate(weights)]
    return Panel((*experts, Entity("stop", "reject", error_weight=weights[0][0])))


def test_an_entity_is_a_free_expert_unless_said():
    assert Entity("gpt") == Entity("gpt", "expert", error_weight=1.0, fee=0.0, label=None)


def test_an_entity_keeps_its_weights_as_floats():
    assert type(Entity("gpt", fee=2).fee) is float


def test_an_entity_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Entity("gpt").fee = 1.0


@pytest.mark.parametrize("label", [0, "", False, 0.0])
def test_a_false_label_is_a_label(label):
    assert Entity("first", "label", label=label).label == label


def test_reject_has_its_price_in_error():
    assert Entity("stop", "reject", error_weight=0.3).error_weight == 0.3


def test_one_stage_puts_labels_before_experts():
    assert Panel.one_stage(["cat", "dog"], ["a", "b"]).names == ("cat", "dog", "a", "b")


def test_one_stage_keeps_the_labels_as_they_came():
    assert Panel.one_stage([3, 1], ["a"]).labels == (3, 1)


def test_one_stage_names_labels_by_their_text():
    assert Panel.one_stage([3, 1], ["a"]).names == ("3", "1", "a")


def test_one_stage_may_be_labels_alone():
    assert Panel.one_stage([0, 1], []).labels == (0, 1)


def test_one_stage_labels_are_free():
    assert Panel.one_stage([0, 1], {"a": 2.0}).fees.tolist() == [0.0, 0.0, 2.0]


def test_two_stage_puts_the_base_first():
    assert Panel.two_stage(["a", "b"]).names == ("base", "a", "b")


def test_two_stage_has_no_labels():
    assert Panel.two_stage(["a"]).labels == ()


def test_two_stage_takes_another_name_for_the_base():
    assert Panel.two_stage(["a"], base="mine").entities[0] == Entity("mine", "base")


def test_two_stage_takes_a_base_with_a_fee():
    assert Panel.two_stage(["a"], base=Entity("g", "base", fee=0.1)).fees.tolist() == [0.1, 0.0]


def test_two_stage_may_be_the_base_alone():
    assert Panel.two_stage([]).names == ("base",)


@pytest.mark.parametrize(
    "experts",
    [["a", "b"], ("a", "b"), {"a": 0.0, "b": 0.0}, [Entity("a"), Entity("b")], ["a", Entity("b")]],
    ids=["list", "tuple", "mapping", "entities", "both"],
)
def test_experts_in_every_form_make_the_same_panel(experts):
    assert Panel.two_stage(experts) == Panel((Entity("base", "base"), Entity("a"), Entity("b")))


def test_experts_may_come_one_by_one():
    assert Panel.two_stage(name for name in "ab").names == ("base", "a", "b")


def test_a_mapping_keeps_its_own_order():
    assert Panel.two_stage({"z": 1.0, "a": 2.0}).fees.tolist() == [0.0, 1.0, 2.0]


def test_expert_entities_keep_their_weights():
    panel = Panel.two_stage([Entity("a", error_weight=2.0, fee=0.5)])
    assert (panel.error_weights.tolist(), panel.fees.tolist()) == ([1.0, 2.0], [0.0, 0.5])


def test_selective_puts_reject_last():
    assert Panel.selective(["cat", "dog"], penalty=0.2).names == ("cat", "dog", "reject")


def test_selective_takes_another_name_for_reject():
    assert Panel.selective([0, 1], penalty=0.2, name="human").names[-1] == "human"


def test_selective_weighs_the_error_of_abstaining():
    assert Panel.selective([0, 1], penalty=0.2).error_weights.tolist() == [1.0, 1.0, 0.2]


def test_selective_costs_no_money():
    assert Panel.selective([0, 1], penalty=0.2).fees.tolist() == [0.0, 0.0, 0.0]


def test_equal_panels_have_one_hash():
    assert len({Panel.two_stage(["a"]), Panel.two_stage(["a"])}) == 1


def test_order_tells_panels_apart():
    assert Panel.two_stage(["a", "b"]) != Panel.two_stage(["b", "a"])


@pytest.mark.parametrize("column", ["fees", "error_weights"])
def test_weights_cannot_be_written(column):
    with pytest.raises(ValueError, match="read-only"):
        getattr(Panel.two_stage(["a"]), column)[0] = 1.0


def test_is_kind_marks_one_kind():
    assert Panel.one_stage([0, 1], ["a"]).is_kind("expert").tolist() == [False, False, True]


def test_is_kind_marks_several_kinds():
    panel = Panel((Entity("g", "base"), Entity("a"), Entity("stop", "reject")))
    assert panel.is_kind("base", "reject").tolist() == [True, False, True]


def test_is_kind_of_none_marks_nobody():
    assert Panel.two_stage(["a"]).is_kind().tolist() == [False, False]


@given(weights)
def test_length_counts_the_entities(weights):
    panel = panel_of(weights)
    assert len(panel) == len(panel.names) == len(panel.fees) == len(panel.error_weights)


@given(weights)
def test_index_finds_every_name(weights):
    panel = panel_of(weights)
    assert [panel.index(name) for name in panel.names] == list(range(len(panel)))


@given(weights, st.data())
def test_permuting_entities_permutes_fees(weights, data):
    panel = panel_of(weights)
    order = data.draw(st.permutations(range(len(panel))))
    shuffled = Panel(tuple(panel.entities[j] for j in order))
    assert shuffled.fees.tolist() == panel.fees[order].tolist()


def test_cost_bound_is_the_worst_entity_at_its_worst():
    panel = Panel.two_stage([Entity("a", error_weight=2.0, fee=0.5), Entity("b", fee=1.2)])
    assert panel.cost_bound(error_bound=3.0, fee_weight=2.0) == 2.0 * 3.0 + 2.0 * 0.5


def test_cost_bound_is_1_for_free_zero_one_entities():
    assert Panel.two_stage(["a"]).cost_bound() == 1.0


def test_cost_bound_leaves_the_price_of_abstaining_alone():
    panel = Panel((Entity("a", error_weight=0.0), Entity("stop", "reject", error_weight=0.4)))
    assert panel.cost_bound(error_bound=100.0) == 0.4


@given(weights, amounts, amounts)
def test_cost_bound_agrees_with_a_loop(weights, error_bound, fee_weight):
    panel = panel_of(weights)
    worst = max(
        entity.error_weight * (1.0 if entity.kind == "reject" else error_bound) + fee_weight * entity.fee
        for entity in panel.entities
    )
    assert panel.cost_bound(error_bound=error_bound, fee_weight=fee_weight) == worst


@given(weights, amounts, st.integers(0, 2**32 - 1))
def test_no_cost_is_above_the_bound(weights, fee_weight, seed):
    panel = panel_of(weights)
    errors = np.random.default_rng(seed).random((5, len(panel)))
    costs = panel.error_weights * errors + fee_weight * panel.fees
    assert (costs <= panel.cost_bound(fee_weight=fee_weight)).all()


@pytest.mark.parametrize("fee", [-1.0, float("nan"), float("inf")])
def test_a_fee_is_finite_and_not_below_zero(fee):
    with pytest.raises(InvalidInputError, match="`fee of a` must be a finite number of at least 0"):
        Panel.two_stage({"a": fee})


@pytest.mark.parametrize("labels", [["0", "00"], [0, 1.5], [np.int64(3), np.int64(4)], [True, False]], ids=repr)
def test_labels_may_be_texts_and_numbers(labels):
    assert Panel.one_stage(labels, ["e"]).labels == tuple(labels)


@pytest.mark.parametrize("labels", [[1, 1], [0, float("nan")], [0, (1, 2)]], ids=["equal", "NaN", "tuple"])
def test_labels_that_cannot_be_told_apart_are_refused(labels):
    with pytest.raises(InvalidInputError, match="`labels` must be"):
        Panel.one_stage(labels, ["e"])


def test_two_bases_are_refused():
    with pytest.raises(InvalidInputError, match="one base at the most"):
        Panel((Entity("g", "base"), Entity("h", "base")))


@pytest.mark.parametrize("expert", [Entity("z", "base"), Entity("z", "reject"), Entity("z", "label", label=7)])
def test_experts_of_another_kind_are_refused(expert):
    with pytest.raises(InvalidInputError, match="`experts` must be of kind 'expert'"):
        Panel.two_stage([expert])
