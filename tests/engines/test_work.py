"""The work on a batch: what the policy itself says of the same rows, whatever the batches; sums in any order."""

import json

import numpy as np
import pyarrow as pa
import pytest

from askwho.data import Table, read_log, table_of
from askwho.engines import Artefact, Combine, Evaluate, Merge, Next, Route, figures_from
from askwho.evaluation import evaluate
from askwho.exceptions import InvalidInputError
from askwho.persistence import save
from askwho.policy import Target
from tests import policies

PRICE = Target(fee_weight=0.2)


@pytest.fixture(scope="module", params=["classes", "numbers, own base"])
def place(request, tmp_path_factory):
    """A saved policy, new rows with ids, and an artefact."""
    folder = tmp_path_factory.mktemp("engines") / "policy"
    policy = policies.fitted(request.param)
    save(policy, folder)
    table = policies.queries(request.param, 120)
    return policy, batch_of({"id": np.array([f"q{i}" for i in range(120)]), **table}), Artefact.at(folder)


def batch_of(table: Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({name: pa.array(list(values)) for name, values in table.items()})


def halves(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    return [batch.slice(0, 50), batch.slice(50)]


def rows_of(*batches: pa.RecordBatch) -> list[dict]:
    return [row for batch in batches for row in batch.to_pylist()]


def test_routes_are_those_of_the_policy_whatever_the_batches(place):
    policy, batch, artefact = place
    work = Route(artefact, PRICE)
    made = work(batch)
    told = policy.decide(table_of(batch), PRICE).to_columns()
    assert made.to_pydict() == {**made.to_pydict(), **told}
    assert rows_of(*map(work, halves(batch))) == rows_of(made)


def test_steps_are_those_of_the_policy(place):
    policy, batch, artefact = place
    asked = batch.drop_columns([name for name in batch.schema.names if name == "answer_both"])
    work = Next(artefact, PRICE)
    made = work(asked)
    told = policy.next(table_of(asked), target=PRICE).next_columns()
    assert made.to_pydict() == {**made.to_pydict(), **told}
    assert rows_of(*map(work, halves(asked))) == rows_of(made)


def test_who_is_there_is_told_by_names_or_by_columns_of_the_batch(place):
    policy, batch, artefact = place
    masks = {name: np.arange(120) % 3 == j % 3 for j, name in enumerate(policy.panel.names)}
    masks[policy.panel.names[0]] = np.ones(120, dtype=bool)
    told = batch_of(table_of(batch) | {f"there_{name}": mask for name, mask in masks.items()})
    assert Route(artefact, PRICE, available="there_*")(told).to_pydict() == (
        policy.decide(table_of(batch), PRICE, available=masks).to_columns()
    )
    steps = Next(artefact, PRICE, available="there_*")(told).to_pydict()
    assert steps == {**steps, **policy.next(table_of(batch), target=PRICE, available=masks).next_columns()}
    names = Route(artefact, PRICE, available="both")(batch).to_pydict()
    assert names == policy.decide(table_of(batch), PRICE, available=["both"]).to_columns()


def test_routes_and_answers_in_the_same_rows_are_combined(place):
    policy, batch, artefact = place
    routes = Route(artefact, PRICE)(batch)
    answers = [name for name in batch.schema.names if name.startswith("answer_")]
    joined = pa.RecordBatch.from_arrays(
        [*routes.columns, *(batch.column(name) for name in answers)], names=[*routes.schema.names, *answers]
    )
    work = Combine(artefact)
    made = work(joined)
    told = policy.combine(policy.read(table_of(routes)), table_of(batch)).outcome_columns()
    assert made.to_pydict() == told
    assert rows_of(*map(work, halves(joined))) == rows_of(made)
    assert made.cast(work.schema(joined.schema)).num_rows == 120


def test_schemas_are_told_before_any_row(place):
    _, batch, artefact = place
    away = Route(artefact, PRICE, available="!both")
    assert "there" in away(batch).schema.names
    for work in (Route(artefact, PRICE), Next(artefact, PRICE), away):
        made, told = work(batch), work.schema(batch.schema)
        assert told.names == made.schema.names
        assert not any(pa.types.is_null(kind) for kind in told.types)
        # A column of which nothing was seen fits whatever is told of it; any other is of that very type.
        known = [name for name in told.names if not pa.types.is_null(made.schema.field(name).type)]
        assert [told.field(name).type for name in known] == [made.schema.field(name).type for name in known]


def test_sums_of_batches_in_any_order_are_the_evaluation(place):
    policy, batch, artefact = place
    work, merge = Evaluate(artefact, draws=20), Merge(artefact)
    parts = [work(batch.slice(start, 40)) for start in (0, 40, 80)]
    one = figures_from(policy, parts)
    assert figures_from(policy, parts[::-1]) == one
    rows = pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
    assert merge(rows).num_rows == parts[0].num_rows
    # An engine cuts rows where it likes.
    merged = figures_from(policy, [merge(rows.slice(start, 50)) for start in range(0, rows.num_rows, 50)][::-1])
    whole = evaluate(policy, read_log(table_of(batch), policy.columns), draws=20)
    for found in (one, merged):
        assert found["n"] == whole["n"] == 120
        for name in ("fixed_k", "adaptive", "sequential"):
            for a, b in zip(found[name], whole[name], strict=True):
                assert (a["error"], a["mean_fee"]) == pytest.approx((b["error"], b["mean_fee"]))
    json.dumps(one)


def test_rows_of_different_batches_are_resampled_apart(place):
    _, batch, artefact = place
    # Rows without groups are resampled by their place, which no worker knows: as if all were the first batch, the two
    # halves of a resample would go up and down together.
    sums = [Evaluate(artefact, draws=200)(part).column("rows").drop_null()[0].as_py() for part in halves(batch)]
    drawn = np.array(sums)
    assert abs(np.corrcoef(drawn[0][1:], drawn[1][1:])[0, 1]) < 0.3


def test_exploring_draws_the_same_again_and_other_rows_otherwise(place):
    _, batch, artefact = place
    work = Route(artefact, Target(k=1), explore=0.5, seed=3)
    assert work(batch).equals(work(batch))
    first, second = (work(part).column("propensity").to_pylist() for part in (batch.slice(0, 50), batch.slice(60, 50)))
    assert first != second


def test_queries_without_names_are_refused(place):
    _, batch, artefact = place
    with pytest.raises(InvalidInputError, match="a worker that starts again would make up other names"):
        Route(artefact, PRICE)(batch.drop_columns(["id"]))


def test_a_policy_that_changed_is_refused_and_none_is_sent(place, tmp_path):
    policy, _, _ = place
    save(policy, tmp_path / "policy")
    artefact = Artefact.at(tmp_path / "policy")
    assert artefact.load() is artefact.load()
    assert set(artefact.__getstate__()) == {"folder", "digest", "allow"}
    save(policies.fitted("votes"), tmp_path / "policy")
    with pytest.raises(InvalidInputError, match="must stay as it is"):
        Artefact(artefact.folder, artefact.digest).load()
