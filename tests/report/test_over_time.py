"""The section over time: errors and fees by block, what moved, and nothing where nobody said when."""

import dataclasses
import re

import numpy as np
import pytest

from askwho import fit, read_log, write_report
from askwho.data import moment
from askwho.evaluation import Resamples
from askwho.report._findings import Decided
from askwho.report._over_time import Blocks, _starts
from askwho.report._write import default_target
from tests.drifting import COLUMNS, FEES, TIMELESS, drifting, rows
from tests.report.parsing import Page

STRANGE = "<b>turns & co</b>"


@pytest.fixture(scope="module")
def made():
    """A policy of the past, and a log in which everything moves later on."""
    table = drifting(800, seed=2)
    table["answer_" + STRANGE] = table.pop("answer_turns")
    table["when"] = np.datetime64("2026-01-01") + np.arange(800).astype("timedelta64[D]")
    columns = dataclasses.replace(COLUMNS, fees={STRANGE: 0.1, **{k: v for k, v in FEES.items() if k != "turns"}})
    policy = fit(read_log(rows(table, slice(200)), columns), learner="linear", base="none", cv=2)
    return policy, read_log(table, columns)


def text_of(policy, log, out):
    return write_report(policy, log, out, draws=20).out.read_text(encoding="utf-8")


def test_a_log_with_time_has_a_section_over_it(made, tmp_path):
    pytest.importorskip("matplotlib")
    text = text_of(*made, tmp_path / "report.html")
    page = Page(text)
    assert page.bad == []
    assert "#over-time" in page.links
    assert len(set(page.ids)) == len(page.ids)
    assert (tmp_path / "report_figures").is_dir()
    assert any(path.name.startswith("over-time") for path in (tmp_path / "report_figures").iterdir())
    inside = text[text.index('<section id="over-time"') :]
    inside = inside[: inside.index("</section>")]
    assert "Errors that moved" in inside
    assert "Features that moved" in inside
    # What a stranger wrote is escaped, and every block says when it begins.
    assert "<b>turns" not in text
    assert "&lt;b&gt;turns &amp; co&lt;/b&gt;" in inside
    assert inside.count("<tr>") == 1 + 8 + 1 + 3
    assert moment(float(made[1].sampling.time[200]), dated=True) in inside
    assert "200 rows left out: not after 2026-07-19" in text


@pytest.mark.usefixtures("undrawn")
def test_there_is_none_where_nobody_said_when(made, tmp_path):
    policy, log = made
    timeless = dataclasses.replace(log, sampling=dataclasses.replace(log.sampling, time=None))
    text = text_of(policy, timeless, tmp_path / "report.html")
    assert "over-time" not in text
    # Nor where a block would be of too few rows; with time and without figures it is there in words.
    assert 'id="over-time"' not in text_of(policy, log.rows(np.arange(730, 800)), tmp_path / "few.html")
    assert 'id="over-time"' in text_of(policy, log.rows(np.arange(700, 800)), tmp_path / "more.html")


def test_a_log_of_which_nothing_is_told_has_a_page_all_the_same(made, tmp_path):
    policy, log = made
    text = text_of(policy, log.rows(np.arange(790, 800)), tmp_path / "report.html")
    assert "settings are not told" in text
    assert 'id="over-time"' not in text


def test_blocks_are_what_their_rows_say(made):
    policy, log = made
    log = log.rows(np.arange(200, 800))
    decided = Decided.of(policy, log, default_target(policy, "dear"))
    blocks = Blocks.of(decided, Resamples.of(log.groups, log.unit, draws=20))
    assert blocks.sizes == (75,) * 8
    for b in range(8):
        inside = slice(75 * b, 75 * (b + 1))
        assert blocks.errors[b][0] == pytest.approx(decided.errors[inside].mean())
        assert blocks.fees[b][0] == pytest.approx(decided.fees[inside].mean())
        for j in range(3):
            error, (low, high) = blocks.entities[j][b]
            assert error == pytest.approx(log.errors[inside, j].mean())
            assert low <= error <= high
    assert [each.name for each in blocks.features] == ["x_1"]
    assert [each.name for each in blocks.drifted] == [STRANGE]


def test_an_entity_that_few_rows_tell_of_is_not_told(made):
    policy, log = made
    log = log.rows(np.arange(200, 800))
    asked = np.arange(600) % 4 == 0
    answers = dataclasses.replace(log.answers, states=np.where(asked[:, None], log.answers.states, 0).astype(np.int8))
    few = dataclasses.replace(log, errors=np.where(asked[:, None], log.errors, np.nan), answers=answers)
    decided = Decided.of(policy, few, default_target(policy, "dear"))
    blocks = Blocks.of(decided, Resamples.of(few.groups, few.unit, draws=5))
    assert all(told == (None, [None, None]) for entity in blocks.entities for told in entity)


def test_moments_are_as_short_as_they_can_be():
    day = 86400.0
    assert _starts([0.0, day], dated=True) == ("1970-01-01", "1970-01-02")
    assert _starts([0.0, 3600.0], dated=True) == ("1970-01-01", "1970-01-01T01:00")
    assert _starts([0.5, 0.25], dated=False) == ("0.5", "0.25")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", moment(1e9 - 1e9 % day, dated=True))


@pytest.mark.usefixtures("undrawn")
def test_a_policy_without_time_still_shows_a_log_that_has_it(tmp_path):
    table = drifting(300)
    policy = fit(read_log(rows(table, slice(100)), TIMELESS), learner="linear", base="none", cv=2)
    text = text_of(policy, read_log(rows(table, slice(100, None)), COLUMNS), tmp_path / "report.html")
    assert 'id="over-time"' in text
    assert "left out" not in text
