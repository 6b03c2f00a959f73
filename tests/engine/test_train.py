"""The training loop: many members as each alone, every member's best weights, and what stops it."""

import pytest

torch = pytest.importorskip("torch")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch import nn  # noqa: E402

from askwho import InvalidInputError  # noqa: E402
from askwho.engine import Alone, Mlp, Training, apply, pick_device, train  # noqa: E402
from askwho.engine._train import _batches  # noqa: E402
from askwho.exceptions import DivergedError  # noqa: E402
from tests.engine.problem import (  # noqa: E402
    HELD,
    INPUTS,
    ROWS,
    TARGETS,
    D,
    M,
    N,
    assert_same_weights,
    cross_entropy,
    held_losses,
    same_weights,
    weights_of,
)

PLAN = Training(epochs=6, batch=16, rate=1e-2)
SEEDS = (3, 1, 4)
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def perceptrons(seeds=SEEDS, hidden=(8,)):
    return Mlp(D, M, hidden=hidden, seeds=seeds)


def fit(network, targets=TARGETS, *, loss=cross_entropy, rows=ROWS, held=HELD, training=PLAN, **options):
    return train(network, INPUTS, [targets], loss, rows=rows, held=held, training=training, device="cpu", **options)


def per_member(generator_seed=1, members=3):
    return torch.rand(members, N, M, generator=torch.Generator().manual_seed(generator_seed))


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("schedule", ["cosine", "constant"])
def test_members_side_by_side_end_where_each_ends_alone(schedule, weight_decay):
    plan = Training(epochs=6, batch=16, rate=1e-2, schedule=schedule, weight_decay=weight_decay)
    together = perceptrons()
    start = weights_of(together)
    history = fit(together, training=plan, random_state=5)
    for member, seed in enumerate(SEEDS):
        alone = perceptrons((seed,))
        own = fit(alone, training=plan, random_state=5)
        assert_same_weights(weights_of(together, member), weights_of(alone), **CLOSE)
        torch.testing.assert_close(history.held[:, member], own.held[:, 0], **CLOSE)
        assert history.best_epoch[member] == own.best_epoch[0]
    assert not same_weights(start, weights_of(together))


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_each_member_has_its_own_learning_rate(weight_decay):
    rates = (1e-2, 1e-3, 5e-2)
    plan = Training(epochs=6, batch=16, rate=rates, weight_decay=weight_decay)
    together = perceptrons()
    history = fit(together, training=plan)
    for member, (seed, rate) in enumerate(zip(SEEDS, rates, strict=True)):
        alone = perceptrons((seed,))
        own = fit(alone, training=Training(epochs=6, batch=16, rate=rate, weight_decay=weight_decay))
        assert_same_weights(weights_of(together, member), weights_of(alone), rtol=1e-4, atol=2e-6)
        torch.testing.assert_close(history.held[:, member], own.held[:, 0], rtol=1e-4, atol=2e-6)


def test_each_member_can_have_its_own_rows_and_its_own_targets():
    targets = per_member()
    order = torch.stack([torch.randperm(N, generator=torch.Generator().manual_seed(i)) for i in range(3)])
    rows, held = order[:, :40], order[:, 40:]
    together = perceptrons()
    history = fit(together, targets, rows=rows, held=held)
    for member, seed in enumerate(SEEDS):
        alone = perceptrons((seed,))
        own = fit(alone, targets[member : member + 1], rows=rows[member], held=held[member])
        assert_same_weights(weights_of(together, member), weights_of(alone), **CLOSE)
        torch.testing.assert_close(history.held[:, member], own.held[:, 0], **CLOSE)


def test_own_rows_go_with_shared_targets_and_shared_rows_with_own_targets():
    own_rows = torch.stack([ROWS, ROWS.flip(0), ROWS.roll(7)])
    mixed, plain = perceptrons(), perceptrons()
    fit(mixed, rows=own_rows)
    fit(plain, rows=own_rows, held=HELD.expand(3, -1))
    assert_same_weights(weights_of(mixed), weights_of(plain), **CLOSE)

    targets = per_member()
    shared = perceptrons()
    fit(shared, targets)
    for member, seed in enumerate(SEEDS):
        alone = perceptrons((seed,))
        fit(alone, targets[member : member + 1])
        assert_same_weights(weights_of(shared, member), weights_of(alone), **CLOSE)


def test_rows_of_one_member_may_have_its_axis():
    once, twice = (Alone(nn.Linear(D, M)) for _ in range(2))
    twice.load_state_dict(weights_of(once))
    fit(once)
    fit(twice, rows=ROWS[None], held=HELD[None])
    assert_same_weights(weights_of(once), weights_of(twice))


def test_the_same_seed_gives_the_same_weights_and_another_others():
    once, twice, other = perceptrons(), perceptrons(), perceptrons()
    first, second = fit(once, random_state=2), fit(twice, random_state=2)
    third = fit(other, random_state=3)
    assert_same_weights(weights_of(once), weights_of(twice))
    assert torch.equal(first.held, second.held)
    assert not torch.equal(first.held, third.held)
    assert not same_weights(weights_of(once), weights_of(other))


def with_dropout():
    network = Alone(nn.Sequential(nn.Linear(D, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, M)))
    generator = torch.Generator().manual_seed(0)
    for parameter in network.parameters():
        nn.init.uniform_(parameter, -0.5, 0.5, generator=generator)
    return network


def test_dropout_draws_from_the_seed_too_and_leaves_chance_alone():
    once, twice, other = with_dropout(), with_dropout(), with_dropout()
    fit(once, random_state=2)
    torch.rand(977)
    before = torch.get_rng_state()
    fit(twice, random_state=2)
    assert torch.equal(torch.get_rng_state(), before)
    assert_same_weights(weights_of(once), weights_of(twice))
    fit(other, random_state=3)
    assert not same_weights(weights_of(once), weights_of(other))


def test_dropout_differs_from_epoch_to_epoch():
    masks = []
    network = with_dropout()
    network.module[1].register_forward_hook(lambda m, i, o: masks.append((o != 0).float()) if m.training else None)
    fit(network, training=Training(epochs=2, batch=N))
    assert len(masks) == 2
    assert not torch.equal(masks[0], masks[1])


def test_every_member_ends_with_the_weights_of_its_own_best_epoch():
    # Targets of noise and large steps: held-out losses rise and fall, and members are best at different times.
    targets = per_member(8)
    plan = Training(epochs=14, batch=16, rate=(3e-3, 3e-2, 0.1), schedule="constant")
    network = perceptrons(hidden=(32,))
    history = fit(network, targets, training=plan)
    assert history.held.shape == (14, 3)
    assert len(set(history.best_epoch.tolist())) > 1
    assert (history.best_epoch < 13).any()
    torch.testing.assert_close(history.best, history.held.min(dim=0).values)
    assert torch.equal(history.best_epoch, history.held.argmin(dim=0))
    torch.testing.assert_close(held_losses(network, targets), history.best, rtol=1e-6, atol=1e-6)
    # The weights of the last epoch would not do.
    assert (history.held[-1] - history.best).max() > 0.01


def test_a_module_of_its_own_ends_with_its_best_weights_and_statistics():
    network = Alone(nn.Sequential(nn.Linear(D, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, M)))
    for i, parameter in enumerate(network.parameters()):
        nn.init.normal_(parameter, std=0.5, generator=torch.Generator().manual_seed(i))
    history = fit(network, per_member(8, 1), training=Training(epochs=10, batch=16, rate=0.1, schedule="constant"))
    assert history.best_epoch[0] < 9
    torch.testing.assert_close(held_losses(network, per_member(8, 1)), history.best, rtol=1e-6, atol=1e-6)
    assert not network.training


def test_held_out_losses_are_means_whatever_the_size_of_a_block():
    network = perceptrons()
    history = fit(network, held=HELD.repeat(600), training=Training(epochs=1))
    torch.testing.assert_close(history.held[0], held_losses(network), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("patience", [1, 3])
def test_patience_stops_when_nobody_got_better_for_so_long(patience):
    # Rates at which the first steps are the best ones.
    plan = Training(epochs=60, batch=16, rate=(0.5, 0.05, 0.3), schedule="constant", patience=patience)
    history = fit(perceptrons(hidden=(32,)), per_member(8), training=plan)
    assert len(history.held) < 60
    assert len(history.held) == int(history.best_epoch.max()) + 1 + patience
    assert torch.equal(history.best_epoch, history.held.argmin(dim=0))


def test_patience_changes_nothing_before_it_ends():
    plan = {"epochs": 30, "batch": 16, "rate": 0.1, "schedule": "constant"}
    patient, endless = perceptrons(), perceptrons()
    short = fit(patient, per_member(8), training=Training(**plan, patience=2))
    long = fit(endless, per_member(8), training=Training(**plan))
    assert len(short.held) < 30 == len(long.held)
    assert torch.equal(long.held[: len(short.held)], short.held)


def test_the_first_epoch_has_the_whole_rate_and_later_ones_less():
    def after(epochs, schedule):
        network = perceptrons(hidden=())
        return fit(network, training=Training(epochs=epochs, batch=16, rate=1e-2, schedule=schedule)).held

    assert torch.equal(after(1, "cosine"), after(1, "constant"))
    cosine, constant = after(5, "cosine"), after(5, "constant")
    assert torch.equal(cosine[0], constant[0])
    assert (cosine[1:] != constant[1:]).all()
    steps = cosine.diff(dim=0).abs()
    assert (steps[-1] < 0.5 * steps[0]).all()


@pytest.mark.parametrize("member", [0, 1, 2])
def test_a_loss_that_is_no_number_names_the_member(member):
    targets = per_member().clone()
    targets[member, 10] = torch.nan
    with pytest.raises(DivergedError) as error:
        fit(perceptrons(), targets)
    assert str(error.value) == (
        f"Training diverged in epoch 1: the loss of member {member} of 3 is no finite number. Lower the learning rate, "
        "scale the features, or raise u to 1 or more."
    )


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("row", [3, 50], ids=["learned from", "held out"])
def test_inputs_that_are_no_numbers_stop_it_at_once(row, bad):
    inputs = INPUTS.clone()
    inputs[row, 1] = bad
    with pytest.raises(DivergedError, match="in epoch 1: the loss of member 0 of 3"):
        train(perceptrons(), inputs, [TARGETS], cross_entropy, rows=ROWS, held=HELD, training=PLAN, device="cpu")


@pytest.mark.parametrize("epoch", [1, 3, 6])
def test_the_epoch_that_diverges_is_named_as_progress_counts_it(epoch):
    lines = []

    def loss(scores, weights):
        poison = torch.nan if len(lines) == epoch - 1 else 1.0
        return cross_entropy(scores, weights) * poison

    with pytest.raises(DivergedError, match=f"in epoch {epoch}: the loss of member 0 of 3"):
        fit(perceptrons(), loss=loss, progress=lines.append)
    assert [line.split(":")[0] for line in lines] == [f"epoch {i}/6" for i in range(1, epoch)]


def test_progress_tells_the_mean_held_out_loss():
    lines = []
    history = fit(perceptrons(), progress=lines.append)
    said = [f"epoch {i + 1}/6: held-out loss {float(held.mean()):.5f}" for i, held in enumerate(history.held)]
    assert lines == said


@pytest.mark.parametrize("rates", [(0.1, 0.1), (0.1, 0.1, 0.1, 0.1), (0.1,)])
def test_as_many_rates_as_members(rates):
    with pytest.raises(InvalidInputError) as error:
        fit(perceptrons(), training=Training(rate=rates))
    assert str(error.value) == f"`rate` must be one number, or 3, one a member, got {len(rates)}."


@pytest.mark.parametrize("name", ["rows", "held"])
def test_there_must_be_rows(name):
    with pytest.raises(InvalidInputError, match=f"`{name}` must hold one row at the least, got none"):
        fit(perceptrons(), **{name: torch.arange(0)})


@given(count=st.integers(1, 200), size=st.integers(1, 64))
def test_batches_hold_every_row_once_and_none_holds_a_single_one(count, size):
    order = torch.arange(count)
    batches = list(_batches(order, size))
    assert torch.equal(torch.cat(batches), order)
    assert all(len(batch) == size for batch in batches[:-1])
    assert 1 <= len(batches[-1]) <= size + 1
    if size > 1 and count > 1:
        assert len(batches[-1]) > 1


@given(count=st.integers(1, 200), size=st.integers(1, 64))
def test_whole_batches_are_of_one_size_and_leave_out_less_than_one(count, size):
    order = torch.arange(count)
    batches = list(_batches(order, size, whole=True))
    seen = torch.cat(batches)
    assert torch.equal(seen, order[: len(seen)])
    assert len({len(batch) for batch in batches}) == 1
    assert count - len(seen) < size
    assert len(batches[0]) == min(size, count)


def test_one_row_left_over_is_no_reason_for_a_batch_norm_to_fail():
    network = Alone(nn.Sequential(nn.Linear(D, 8), nn.BatchNorm1d(8), nn.Linear(8, M)))
    assert len(ROWS) % 11 == 1
    history = fit(network, training=Training(epochs=2, batch=11))
    assert torch.isfinite(history.held).all()


def test_only_what_asks_for_gradients_is_trained():
    network = Alone(nn.Sequential(nn.Linear(D, 8), nn.ReLU(), nn.Linear(8, M)))
    network.module[0].requires_grad_(requires_grad=False)
    before = weights_of(network)
    fit(network, training=Training(epochs=2, batch=16, rate=0.1))
    after = weights_of(network)
    assert torch.equal(before["module.0.weight"], after["module.0.weight"])
    assert not torch.equal(before["module.2.weight"], after["module.2.weight"])


def test_inputs_can_be_images_and_targets_can_be_several():
    images = INPUTS.reshape(N, 2, 2, 1)
    network, flat = Alone(nn.Sequential(nn.Flatten(), nn.Linear(D, M))), Alone(nn.Linear(D, M))
    flat.module.load_state_dict(network.module[1].state_dict())
    half = lambda scores, a, b: cross_entropy(scores, 0.5 * a + 0.5 * b)
    train(network, images, [TARGETS, TARGETS], half, rows=ROWS, held=HELD, training=PLAN, device="cpu")
    fit(flat)
    assert_same_weights(weights_of(network.module[1]), weights_of(flat.module))


def test_bfloat16_stays_close_and_keeps_its_weights_in_full():
    exact, rough = perceptrons(), perceptrons()
    full = fit(exact, training=Training(epochs=4, batch=16, rate=1e-2, precision="float32"))
    half = fit(rough, training=Training(epochs=4, batch=16, rate=1e-2, precision="bfloat16"))
    assert all(value.dtype == torch.float32 for value in weights_of(rough).values())
    assert not torch.equal(full.held, half.held)
    torch.testing.assert_close(half.held, full.held, rtol=0.02, atol=0.02)
    assert_same_weights(weights_of(exact), weights_of(rough), rtol=0.1, atol=0.03)


def test_on_a_cpu_the_precision_is_full_by_itself():
    exact, auto = perceptrons(), perceptrons()
    fit(exact, training=Training(epochs=2, precision="float32"))
    fit(auto, training=Training(epochs=2))
    assert_same_weights(weights_of(exact), weights_of(auto))


@given(rows=st.integers(1, N), batch=st.integers(1, 70))
@settings(max_examples=25)
def test_outputs_in_blocks_are_outputs_as_a_whole(rows, batch):
    network, module = perceptrons(), nn.Sequential(nn.Linear(D, 5), nn.BatchNorm1d(5), nn.Dropout(0.5))
    inputs = INPUTS[:rows]
    whole = apply(network, inputs, device="cpu")
    assert whole.shape == (3, rows, M)
    torch.testing.assert_close(apply(network, inputs, batch=batch, device="cpu"), whole)
    torch.testing.assert_close(whole, network(inputs).detach())
    plain = apply(module, inputs, batch=batch, device="cpu")
    assert plain.shape == (rows, 5)
    torch.testing.assert_close(plain, module.eval()(inputs).detach())


def test_applying_learns_nothing():
    module = nn.Sequential(nn.Linear(D, 5), nn.BatchNorm1d(5)).train()
    before = weights_of(module)
    outputs = apply(module, INPUTS, batch=8, device="cpu")
    assert_same_weights(before, weights_of(module))
    assert not outputs.requires_grad


def test_the_callers_threads_are_as_they_were_whatever_happens():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        fit(perceptrons())
        assert torch.get_num_threads() == 2
        with pytest.raises(DivergedError):
            fit(perceptrons(), torch.full_like(TARGETS, torch.nan))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_the_device_is_the_one_asked_for():
    assert pick_device("cpu").type == "cpu"
    assert pick_device().type == ("cuda" if torch.cuda.is_available() else "cpu")
