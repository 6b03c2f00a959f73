"""The page "How a query flows" says what is called: every hop, in its order."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from askwho import Columns, Policy, Target, fit, read_log

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "flow.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "askwho"
_HOP = re.compile(r"^\| \d+ \| `([^`]+)` \| `([^`]+)` \|", re.MULTILINE)


def hops(title: str) -> list[tuple[str, str]]:
    """Return file and function of each hop under a title of the page."""
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    return [(file, function) for file, function in _HOP.findall(section)]


def called(action: Callable[[], object]) -> list[tuple[str, str]]:
    """Return file and function of everything of ours that an action calls, in order."""
    found: list[tuple[str, str]] = []

    def listen(frame, event, _argument):
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            place = Path(frame.f_code.co_filename).relative_to(SOURCE).as_posix()
            found.append((place, frame.f_code.co_name))

    before = sys.getprofile()
    sys.setprofile(listen)
    try:
        action()
    finally:
        sys.setprofile(before)
    return found


def made_log(n: int = 260) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    truth = np.where(x + 0.7 * rng.normal(size=n) > 0, "yes", "no")
    wrong = np.where(truth == "yes", "no", "yes")
    return {
        "id": np.array([f"q{i}" for i in range(n)]),
        "x": x,
        "truth": truth,
        "answer_a": np.where(rng.random(n) < 0.8, truth, wrong),
        "answer_b": np.where(rng.random(n) < 0.9, truth, wrong),
    }


COLUMNS = Columns(truth="truth", answers="answer_*", features="x", id="id", fees={"a": 1.0, "b": 3.0})


@pytest.fixture(scope="module")
def policy() -> Policy:
    return fit(read_log(made_log(), COLUMNS), learner="linear")


def follows(wanted: list[tuple[str, str]], heard: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the hops that were not heard in their order."""
    rest, missed = iter(heard), []
    for hop in wanted:
        if not any(each == hop for each in rest):
            missed.append(hop)
            rest = iter(())
    return missed


def test_deciding_takes_the_hops_of_the_page(policy):
    queries = {"x": np.linspace(-1, 1, 20)}
    heard = called(lambda: policy.decide(queries, Target(budget=2.0)))
    assert not follows(hops("Deciding at once"), heard)
    assert heard.count(("data/_encoder.py", "transform")) == 1


def test_one_query_takes_the_same_hops_up_to_the_fees(policy):
    heard = called(lambda: policy.decide({"x": 0.3}, Target(fee_weight=0.02)))
    assert not follows([*hops("Deciding at once")[:7], ("policy/_one.py", "decide_one")], heard)


def test_combining_takes_the_hops_of_the_page(policy):
    log = made_log()
    decisions = policy.decide({name: log[name][:20] for name in ("id", "x")}, Target(budget=2.0))
    came = {name: log[name][:20] for name in ("id", "answer_a", "answer_b")}
    heard = called(lambda: policy.combine(decisions, came))
    assert not follows(hops("Combining what came back"), heard)
    assert not {("data/_encoder.py", "transform"), ("policy/_judge.py", "judge")} & set(heard)


def test_a_step_takes_the_hops_of_the_page(policy):
    log = made_log()
    queries = {name: log[name][:20] for name in ("id", "x", "answer_a")}
    heard = called(lambda: policy.next(queries, target=Target(budget=2.0)))
    assert not follows(hops("Asking in turn"), heard)


def test_fitting_takes_the_hops_of_the_page():
    heard = called(lambda: fit(read_log(made_log(), COLUMNS), learner="linear"))
    assert not follows(hops("From a log to a policy"), heard)


@pytest.mark.parametrize("title", ["Deciding at once", "Combining what came back", "Asking in turn"])
def test_the_page_has_hops(title):
    assert len(hops(title)) > 5


def test_a_hop_that_is_not_taken_is_found():
    assert follows([("a", "b"), ("c", "d")], [("c", "d"), ("a", "b")]) == [("c", "d")]
