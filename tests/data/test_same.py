"""When two answers are the same: keys of texts, as numbers and without case, and logs read by them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho import Columns, InvalidInputError, read_log
from askwho.core import Answers, Cell, Panel
from askwho.data import commonest, describe, keyed, keys_of, read_logs, write_table
from askwho.data._numerals import folded, numeral
from tests import own_same

COLUMNS = {"truth": "truth", "answers": "answer_*", "features": "x"}
OWN = "tests.own_same:last_word"


def decimals(number):
    """Ways to write a number that ends after three places."""
    thousandths = abs(number.numerator) * 1000 // number.denominator
    sign = "-" if number < 0 else ""
    whole, rest = divmod(thousandths, 1000)
    yield from (f"{sign}{whole}.{rest:03d}", f"{sign}{whole:,}.{rest:03d}00", f"{sign}{thousandths}e-3")
    yield from (
        f"{sign}{thousandths} x 10^{{-3}}",
        f"\N{MINUS SIGN}{whole}.{rest:03d}" if sign else f"+{whole}.{rest:03d}",
    )


def ratios(number):
    """Ways to write any number as a ratio."""
    above, below = number.numerator, number.denominator
    sign = "-" if above < 0 else ""
    yield from (f"{above}/{below}", f"{3 * above} / {3 * below}", rf"\frac{{{above}}}{{{below}}}")
    yield from (rf"{sign}\dfrac{{{abs(above)}}}{{{below}}}", rf"$\tfrac{{{2 * above}}}{{{2 * below}}}$")
    whole, rest = divmod(abs(above), below)
    yield from (f"{sign}{whole} {rest}/{below}", rf"{sign}{whole}\frac{{{rest}}}{{{below}}}")


def dressed(text):
    """The same number with what people and models put around it."""
    yield from (text, f"  {text}\n", f"{text}.", f"{text}%", rf"{text}\%", rf"\boxed{{{text}}}", f"x = {text}")
    yield from (
        f"**{text}**",
        f"$ {text} $",
        rf"\({text}\)",
        f"So it is \\boxed{{{text}}}.",
        f"{text}°",
        rf"\text{{{text}}}",
    )


NUMBERS = st.fractions(max_denominator=60) | st.integers(-(10**9), 10**9).map(lambda n: Fraction(n, 1000))


@given(NUMBERS)
def test_spellings_of_one_number_have_one_key(number):
    ways = list(ratios(number))
    if 1000 % number.denominator == 0:
        ways += decimals(number)
    keys = {numeral(spelled) for way in ways for spelled in dressed(way)}
    assert len(keys) == 1
    (key,) = keys
    assert Fraction(key) == number


@given(NUMBERS, NUMBERS)
def test_different_numbers_have_different_keys(one, other):
    assert (numeral(f"{one}") == numeral(rf"\frac{{{other.numerator}}}{{{other.denominator}}}")) == (one == other)


@given(st.text(max_size=40) | st.text("0123456789.,/%$e+-= \\{}frac½²x", max_size=20))
def test_a_key_is_its_own_key(text):
    assert folded(folded(text)) == folded(text)
    assert numeral(numeral(text)) == numeral(text)
    assert folded(f" {text.upper().lower()}  ") == folded(text.upper().lower())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0.333", "1/3"),
        ("1,23", "123"),
        ("0,5", "0.5"),
        ("5²", "52"),
        ("3½", "31/2"),
        ("a=1, b=2", "2"),
        ("x<=5", "5"),
        ("50%", "0.5"),
        ("5 km", "5"),
        ("1/0", "0"),
        ("x", "y"),
        ("1e9999", "1e9998"),
    ],
)
def test_what_is_not_the_same(one, other):
    assert numeral(one) != numeral(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("£1,234.50", "1234.5"),
        ("½", "0.5"),
        ("-3½", "-3.5"),
        ("128-24+2=106", "106"),
        (r"\dfrac12", ".5"),
        ("1{,}000", "1e3"),
        ("007", "7"),
        ("-0", "0"),
        ("10" + 49 * "0", "1e50"),
        (r"\text{Yes}.", " YES"),
        (r"\dfrac{\sqrt{3}}{2}", r"\boxed{\frac{\sqrt{3}}{2}}"),
    ],
)
def test_what_is_the_same(one, other):
    assert numeral(one) == numeral(other)


def test_case_and_space_and_width():
    assert folded("  New\tYORK ") == folded("new york") == folded("Ｎｅｗ york")
    assert folded("STRASSE") == folded("straße")
    assert folded("newyork") != folded("new york")


def table(n=24):
    """Truths as numbers, answers as texts, one of them empty and one of nothing but space."""
    truth = np.arange(n) % 3
    spelled = np.array(["0.0", "1.", "4/2"], dtype=object)[truth]
    shy = spelled.copy()
    shy[0], shy[1] = None, "  "
    return {
        "x": np.arange(n) / n,
        "truth": truth,
        "answer_a": spelled,
        "answer_b": shy,
        "answer_c": truth.astype(float),
    }


def test_a_log_of_numbers_and_texts_is_compared_as_numbers():
    log = read_log(table(), Columns(**COLUMNS, same="numeric"))
    assert log.task == "classification"
    assert set(log.truth.tolist()) == {"0", "1", "2"}
    assert log.answers.states[:3, 1].tolist() == [Cell.NOT_ASKED, Cell.NO_ANSWER, Cell.ANSWERED]
    assert log.answers.spelled[2].tolist() == ["4/2", "4/2", "2"]
    expected = np.zeros((24, 3))
    expected[0, 1], expected[1, 1] = np.nan, 1.0
    np.testing.assert_array_equal(log.errors, expected)
    with pytest.raises(InvalidInputError, match="must be of one type"):
        read_log(table(), Columns(**COLUMNS))


def test_a_part_of_a_log_knows_how_it_was_spelled():
    log = read_log(table(), Columns(**COLUMNS, same="numeric"))
    assert log.rows(np.array([2, 5])).answers.spelled.tolist() == [["4/2", "4/2", "2"]] * 2
    assert log.seated(["c", "b", "a"]).answers.spelled[2].tolist() == ["2", "4/2", "4/2"]
    assert commonest(log.answers, ["2", "1", "9"]) == {"1": "1.", "2": "4/2"}


def test_batches_are_compared_as_the_whole_is(tmp_path):
    columns = Columns(**COLUMNS, task="classification", same="numeric")
    write_table(tmp_path / "log.csv", table())
    whole = read_log(tmp_path / "log.csv", columns)
    usual = dict.fromkeys("abc", 0.0)
    batches = list(read_logs(tmp_path / "log.csv", columns, usual=usual, rows=7))
    assert len(batches) == 4
    np.testing.assert_array_equal(np.concatenate([batch.errors for batch in batches]), whole.errors)
    assert np.concatenate([batch.truth for batch in batches]).tolist() == whole.truth.tolist()


def test_a_truth_that_says_nothing_is_none():
    given = table() | {"truth": np.array(["", " ", *(str(i % 3) for i in range(22))], dtype=object)}
    given |= {"answer_c": given["answer_a"]}
    log = read_log(given, Columns(**COLUMNS, same="casefold"))
    assert log.audited.tolist() == [False, False, *([True] * 22)]


def test_check_compares_by_the_rule():
    few = describe(table(), Columns(**COLUMNS, same="numeric"))
    assert few.usable
    assert few.summary["task"] == "classification"
    # Of fewer than thirty answers nothing is told.
    assert [(entity["scored"], entity["error"]) for entity in few.entities] == [(24, None), (23, None), (24, None)]
    found = describe({name: np.tile(column, 2) for name, column in table().items()}, Columns(**COLUMNS, same="numeric"))
    assert [round(entity["error"] * 46) for entity in found.entities] == [0, 2, 0]
    assert not describe(table(), Columns(**COLUMNS)).usable


def test_check_names_the_rule_that_mends_numbers():
    given = table(600)
    given["truth"] = np.array([f"{value}.0" for value in given["truth"]], dtype=object)
    given |= {name: np.array(given["truth"]) for name in ("answer_a", "answer_b", "answer_c")}
    given["answer_a"] = np.array([text.removesuffix(".0") for text in given["truth"]], dtype=object)
    messages = [problem.message for problem in describe(given, Columns(**COLUMNS)).problems]
    assert any(message.endswith("or take them as the same with --same numeric") for message in messages)


def test_keys_are_made_once_for_each_text():
    own_same.SEEN.clear()
    column = np.array(["a cat", "the CAT", None, "a cat", "say nothing"] * 5, dtype=object)
    assert keys_of(column, OWN).tolist() == ["cat", "cat", None, "cat", ""] * 5
    assert sorted(own_same.SEEN) == ["a cat", "say nothing", "the CAT"]


def test_answers_that_are_keys_stay_as_they_are():
    answers = Answers.from_table([["a cat", "the CAT"], ["nothing", "my dog"]], Panel.two_stage(["b"]))
    once = keyed(answers, OWN)
    assert once.values.tolist() == [["cat", "cat"], ["", "dog"]]
    assert once.states.tolist() == [[0, 0], [2, 0]]
    assert keyed(once, OWN) is once
    assert keyed(answers, "exact") is answers


@pytest.mark.parametrize("same", ["fuzzy", "", "no function", ":f", "m:", "os:system now"])
def test_a_rule_nobody_knows(same):
    with pytest.raises(InvalidInputError, match=r"`same` must be exact, casefold, numeric or your own module:function"):
        Columns(**COLUMNS, same=same)


def test_what_a_rule_cannot_be_beside():
    with pytest.raises(InvalidInputError, match="`same` must be 'exact' with `grades`, got 'numeric'"):
        Columns(grades="grade_*", features="x", same="numeric")
    with pytest.raises(InvalidInputError, match="`same` must be 'exact' with `task` 'regression'"):
        Columns(**COLUMNS, task="regression", same="numeric")
    with pytest.raises(InvalidInputError, match="`error` must be 'zero-one' with `same`, got 'squared'"):
        Columns(**COLUMNS, error="squared", same="casefold")


@pytest.mark.parametrize(
    ("same", "message"),
    [
        ("tests.own_same:length", "`same` must give a text or None, got int from 'tests.own_same:length'"),
        ("tests.own_same:broken", r"`same` must take every answer, got KeyError .* from 'tests.own_same:broken'"),
        (
            "tests.own_same:missing",
            "`same` must name a function that can be imported here, got 'tests.own_same:missing'",
        ),
        ("tests.own_same:NO_FUNCTION", "`same` must name a function that can be imported here"),
        ("no_such_module:f", "`same` must name a function that can be imported here, got 'no_such_module:f'"),
    ],
)
def test_a_rule_of_ones_own_that_is_none(same, message):
    with pytest.raises(InvalidInputError, match=message):
        read_log(table(), Columns(**COLUMNS, same=same))
    problems = describe(table(), Columns(**COLUMNS, same=same)).problems
    assert [problem.severity for problem in problems] == ["error"]
