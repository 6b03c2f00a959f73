"""Two processes train what one does, to rounding, and go on from each other's checkpoints."""

import pytest

torch = pytest.importorskip("torch")

from askwho import InvalidInputError  # noqa: E402
from askwho._processes import is_first, under_torchrun  # noqa: E402
from askwho.engine._crew import Crew, own_device  # noqa: E402
from tests.engine.problem import assert_same_weights  # noqa: E402
from tests.engine.together import PLANS, KilledError, trained  # noqa: E402
from tests.launching import torchrun  # noqa: E402

# Sums in another order: a few units of float32's last place, and what Adam makes of them.
CLOSE = {"rtol": 2e-4, "atol": 2e-5}


@pytest.fixture(scope="module")
def one():
    """What one process makes of every plan."""
    return {plan: trained(plan) for plan in PLANS}


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """What two processes make of them, the first's and the second's, and of a checkpoint that one process left."""
    place = tmp_path_factory.mktemp("two")
    with pytest.raises(KilledError):
        trained("uneven", place / "checkpoint", stop=4)
    assert (place / "checkpoint").exists()
    torchrun("-m", "tests.engine.together", place)
    assert not (place / "checkpoint").exists()
    return [torch.load(place / f"{rank}.pt", weights_only=True) for rank in range(2)]


@pytest.mark.parametrize("plan", PLANS)
def test_two_processes_train_what_one_does(plan, one, two):
    (held, weights), (others, theirs) = two[0][plan], two[1][plan]
    assert two[0]["size"] == 2
    # Among themselves they agree to the last bit.
    assert torch.equal(held, others)
    assert_same_weights(weights, theirs)
    torch.testing.assert_close(held, one[plan][0], **CLOSE)
    assert_same_weights(weights, one[plan][1], **CLOSE)


def test_two_processes_go_on_where_one_was_killed(one, two):
    (held, weights), (whole, right) = two[0]["on"], one["uneven"]
    # What came before is read, not made again.
    assert torch.equal(held[:3], whole[:3])
    torch.testing.assert_close(held, whole, **CLOSE)
    assert_same_weights(weights, right, **CLOSE)


def test_parts_of_a_batch_make_the_batch():
    batch = torch.arange(14).reshape(2, 7)
    parts = [Crew(rank, 3).part(batch) for rank in range(3)]
    assert torch.equal(torch.cat(parts, dim=1), batch)
    losses = torch.rand(7)
    weighed = [Crew(0, 3).weighed(losses[part[0]].mean(), part, batch) for part in parts]
    torch.testing.assert_close(torch.stack(weighed).mean(), losses.mean())
    # Too few to share: everybody takes them all.
    few = batch[:, :5]
    assert all(Crew(rank, 3).part(few) is few for rank in range(3))


def test_a_process_by_itself_is_alone(monkeypatch):
    for name in ("TORCHELASTIC_RUN_ID", "WORLD_SIZE", "RANK"):
        monkeypatch.delenv(name, raising=False)
    cpu = torch.device("cpu")
    crew = Crew.found(cpu)
    assert (crew, crew.alone, crew.first, is_first()) == (Crew(0, 1), True, True, True)
    batch = torch.arange(3)
    assert crew.part(batch) is batch
    assert crew.total(batch) is batch
    assert crew.chance(5) == 5
    assert own_device(torch.device("cuda")) == torch.device("cuda")
    # Variables of another launcher are no business of ours, nor is a crew of one.
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert not under_torchrun()
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "here")
    monkeypatch.setenv("RANK", "1")
    assert under_torchrun()
    assert not is_first()
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert not under_torchrun()


def test_processes_that_would_go_on_from_different_places_are_refused(monkeypatch):
    monkeypatch.setattr(
        "torch.distributed.all_reduce", lambda value, op: value.add_(op == torch.distributed.ReduceOp.MAX)
    )
    with pytest.raises(InvalidInputError, match="`checkpoint` must be the same file for every process"):
        Crew(0, 2).agree(3, "ab", torch.device("cpu"))
