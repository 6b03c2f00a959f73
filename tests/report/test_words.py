import pytest

from askwho.core import CostMatrix, unit_of
from askwho.report._html import Html, element, name_of, plain, quoted
from askwho.report._words import headline_of, number, share

COSTS = CostMatrix.of({"fraud": {"fine": 20}})


def head(task="classification", error="auto", **changes):
    found = {
        "best_single_error": 0.2,
        "fee_to_match_best_single": 0.31,
        "fee_saved": 0.69,
        "fee_saved_interval": [0.6, 0.75],
        "error_saved": 0.18,
        "error_saved_interval": [0.12, 0.25],
        "untold": [],
    }
    return {"unit": unit_of(error, task).to_json(), "headline": found | changes}


@pytest.mark.parametrize(
    ("result", "graded", "says"),
    [
        (head(), False, "Matches the best single ({best}) for 0.31 of its fee; at its fee 18% fewer errors."),
        (head(), True, "Matches the best single ({best}) for 0.31 of its fee; at its fee 18% less error."),
        (
            head("regression"),
            False,
            "Matches the best single ({best}) for 0.31 of its fee; at its fee an RMSE 18% lower.",
        ),
        (
            head(error=COSTS),
            False,
            "Matches the best single ({best}) for 0.31 of its fee; at its fee 18% less cost.",
        ),
        (head(fee_saved=1.0), False, "Matches the best single ({best}) for nothing; at its fee 18% fewer errors."),
        (
            head(fee_saved=0.998),
            False,
            "Matches the best single ({best}) for less than a hundredth of its fee; at its fee 18% fewer errors.",
        ),
        (
            head(fee_saved=-0.2),
            False,
            "Matches the best single ({best}) for 1.2 times its fee; at its fee 18% fewer errors.",
        ),
        (head(fee_saved=0.0), False, "Matches the best single ({best}) for its fee; at its fee 18% fewer errors."),
        (
            head(error_saved=0.0),
            False,
            "Matches the best single ({best}) for 0.31 of its fee; at its fee the same error.",
        ),
        (
            head(fee_to_match_best_single=None, fee_saved=None, error_saved=-0.02, error_saved_interval=[-0.06, 0.02]),
            False,
            "Does not reach the error of the best single ({best}); at its fee 2% more errors.",
        ),
        (
            head(error=COSTS, fee_to_match_best_single=None, fee_saved=None, error_saved=0.0),
            False,
            "Does not reach the cost of the best single ({best}); at its fee the same cost.",
        ),
        (
            head(untold=["fee_to_match_best_single", "fee_saved"], fee_to_match_best_single=None, fee_saved=None),
            False,
            "Too few rows to tell what matches the error of the best single ({best}); at its fee 18% fewer errors.",
        ),
        (
            head(fee_saved=None, fee_saved_interval=[None, None], error_saved=None, error_saved_interval=[None, None]),
            False,
            "Matches the best single ({best}), which is free.",
        ),
    ],
)
def test_the_headline_in_words(result, graded, says):
    assert headline_of(result, graded=graded).says == says


def test_the_intervals_in_words():
    assert headline_of(head(), graded=False).intervals == (
        "95% intervals: 0.25 to 0.4 of the fee for the same error; 12% to 25% fewer errors at its fee."
    )
    worse = head(error_saved=-0.02, error_saved_interval=[-0.06, 0.02])
    assert headline_of(worse, graded=False).intervals.endswith(
        "−2% to 6% more errors at its fee, so that it may be chance."
    )
    nothing = head(fee_saved=1.0, fee_saved_interval=[1.0, 1.0])
    assert headline_of(nothing, graded=False).intervals == "95% intervals: 12% to 25% fewer errors at its fee."


def test_an_interval_without_an_end_says_so():
    some_never = head(fee_saved_interval=[None, 0.75])
    assert headline_of(some_never, graded=False).intervals.startswith("95% intervals: 0.25 or more of the fee")
    not_reached = head(fee_to_match_best_single=None, fee_saved=None, fee_saved_interval=[None, 0.1])
    found = headline_of(not_reached, graded=False)
    assert found.says.startswith("Does not reach the error of the best single")
    assert found.intervals.startswith("95% intervals: 0.9 or more of the fee for the same error")


@pytest.mark.parametrize(
    ("value", "shown"), [(float("nan"), "–"), (None, "–"), (12345.6, "12,346"), (0.00012, "0.00012")]
)
def test_numbers(value, shown):
    assert number(value) == shown


def test_shares():
    assert [share(v) for v in (0.0, 0.0004, 0.004, 0.5, 1.0, None)] == ["0%", "<0.1%", "0.4%", "50%", "100%", "–"]


def test_what_is_no_markup_is_escaped():
    assert element("p", "<b>&", Html("<i>x</i>"), title='"') == '<p title="&quot;">&lt;b&gt;&amp;<i>x</i></p>'
    assert quoted("<b>") == "<bdi>&lt;b&gt;</bdi>"
    assert quoted("") == "<bdi>(empty)</bdi>"


def test_text_is_made_fit_to_be_shown():
    assert plain("a\n\tb\x00c\u202ed\ud800") == "a b\ufffdc\ufffdd\ufffd"
    assert plain("x" * 10_000_000, 5) == "xxxx…"
    assert len(name_of("family-of-models-" + "y" * 100, 20)) == 20
    assert name_of("short", 20) == "short"


def test_where_nothing_is_told_no_finding_is_stated():
    nothing = dict.fromkeys(head()["headline"]) | {
        "fee_saved_interval": [None, None],
        "error_saved_interval": [None, None],
    }
    found = headline_of(head(**nothing), graded=False)
    assert found.says == "Too few rows to tell the error of the best single ({best}), or of any setting."
    assert (found.intervals, found.match) == ("", None)
