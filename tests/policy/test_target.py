"""What can be aimed at: said once, checked once."""

import dataclasses
import itertools

import numpy as np
import pytest

from askwho import InvalidInputError, Target

VALUES = {"k": 2, "fee_weight": 0.1, "budget": 0.3, "max_error": 0.2}
ALLOWED = [
    {"k"},
    {"k", "fee_weight"},
    {"fee_weight"},
    {"budget"},
    {"max_error"},
    {"budget", "max_error"},
]
EVERY = [set(names) for size in range(5) for names in itertools.combinations(VALUES, size)]


@pytest.mark.parametrize("names", ALLOWED, ids=lambda names: "+".join(sorted(names)))
def test_what_goes_together(names):
    target = Target(**{name: VALUES[name] for name in names})
    for name, value in VALUES.items():
        assert getattr(target, name) == (value if name in names else None)
    assert target.searched == bool(names & {"budget", "max_error"})
    assert target.confidence is None


@pytest.mark.parametrize(
    "names", [names for names in EVERY if names not in ALLOWED], ids=lambda names: "+".join(sorted(names)) or "none"
)
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_what_does_not(names, confidence):
    with pytest.raises(InvalidInputError) as error:
        Target(**{name: VALUES[name] for name in names}, confidence=confidence)
    got = [name for name in VALUES if name in names] + ([] if confidence is None else ["confidence"])
    assert str(error.value) == (
        "One target must be given: `k` (with or without `fee_weight`), `fee_weight`, `budget`, `max_error`, or "
        f"`budget` and `max_error`; got {got or 'none'}."
    )


@pytest.mark.parametrize("names", [{"budget"}, {"max_error"}, {"budget", "max_error"}])
def test_a_promise_is_of_a_budget_an_error_or_both(names):
    target = Target(**{name: VALUES[name] for name in names}, confidence=0.95)
    assert target.confidence == 0.95


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"k": 1, "confidence": 0.9},
            "`confidence` must come with `budget` or `max_error`, of which it is the promise; got `k`.",
        ),
        (
            {"fee_weight": 1.0, "confidence": 0.9},
            "`confidence` must come with `budget` or `max_error`, of which it is the promise; got `fee_weight`.",
        ),
        ({"budget": 0.5, "confidence": 0.0}, "`confidence` must be above 0 and below 1, got 0."),
        ({"budget": 0.5, "confidence": 1}, "`confidence` must be above 0 and below 1, got 1."),
        ({"max_error": 0.5, "confidence": 95}, "`confidence` must be above 0 and below 1, got 95."),
        ({"budget": 0.5, "confidence": np.nan}, "`confidence` must be a finite number, got nan."),
        ({"budget": -0.5}, "`budget` must be a finite number of at least 0, got -0.5."),
        ({"max_error": -0.5}, "`max_error` must be a finite number of at least 0, got -0.5."),
        ({"fee_weight": -1.0}, "`fee_weight` must be a finite number of at least 0, got -1.0."),
        ({"fee_weight": np.nan}, "`fee_weight` must be a finite number of at least 0, got nan."),
        ({"budget": np.inf}, "`budget` must be a finite number of at least 0, got inf."),
        (
            {"budget": 0.5, "confidence": 0.9, "max_fee": -1.0},
            "`max_fee` must be a finite number of at least 0, got -1.0.",
        ),
        (
            {"max_error": 0.5, "confidence": 0.9, "max_loss": np.inf},
            "`max_loss` must be a finite number of at least 0, got inf.",
        ),
        ({"budget": 0.5, "max_fee": 1.0}, "`max_fee` must come with `confidence`: only a promise needs a cap."),
        ({"max_error": 0.5, "max_loss": 1.0}, "`max_loss` must come with `confidence`: only a promise needs a cap."),
        (
            {"budget": 1.0, "confidence": 0.9, "max_group": 0},
            "`max_group` must be a whole number of at least 1, got 0.",
        ),
        ({"budget": 1.0, "max_group": 3}, "`max_group` must come with `confidence`: only a promise needs a cap."),
        ({"k": 1, "max_loss": 1.0}, "`max_loss` must come with `confidence`: only a promise needs a cap."),
        ({"k": 0}, "`k` must be a whole number of at least 1, got 0."),
        ({"k": -2}, "`k` must be a whole number of at least 1, got -2."),
    ],
)
def test_values_that_mean_nothing(given, message):
    with pytest.raises(InvalidInputError) as error:
        Target(**given)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        (Target(k=2), "k=2"),
        (Target(k=3, fee_weight=0.25), "k=3, fee_weight=0.25"),
        (Target(budget=0.1, confidence=0.95), "budget=0.1, confidence=0.95"),
        (Target(max_error=0.05), "max_error=0.05"),
        (Target(budget=1, confidence=0.9, max_fee=7), "budget=1, confidence=0.9, max_fee=7"),
        (Target(budget=1, confidence=0.9, max_group=12), "budget=1, confidence=0.9, max_group=12"),
        (Target(max_error=1, confidence=0.9, max_loss=2.5), "max_error=1, confidence=0.9, max_loss=2.5"),
        (Target(budget=1.0, max_error=1e-06), "budget=1, max_error=1e-06"),
    ],
)
def test_it_reads_as_it_is_written(target, shown):
    assert repr(target) == f"Target({shown})"
    assert str(target) == shown.replace(", ", " ")
    assert eval(repr(target), {"Target": Target}) == target  # noqa: S307 - what it says can be typed


def test_equal_targets_are_one_and_none_can_be_changed():
    assert len({Target(budget=0.1), Target(budget=0.1), Target(budget=0.2), Target(max_error=0.1)}) == 3
    assert Target(budget=1) == Target(budget=1.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Target(k=1).k = 2
