"""Parse rules: an answer that is there, or the reason why there is none; never a guess."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho import InvalidInputError
from askwho.experts import Parse
from askwho.experts._parsing import checked_parse

CHOICES = Parse(choices=("spam", "not spam", "ham"))


@pytest.mark.parametrize(
    ("rule", "text", "answer"),
    [
        (Parse(), "  cat \n", "cat"),
        (Parse(regex=r"answer:\s*(\w+)"), "answer: cat ... answer: dog", "dog"),
        (Parse(regex=r"\d+"), "about 17", "17"),
        (Parse(regex=r"(-?[\d.,]+)", number=True), "it costs 1,250.50", 1250.5),
        (Parse(number=True), "42", 42),
        (Parse(json="label"), '{"label": "cat"}', "cat"),
        (Parse(json="a.0.b"), '{"a": [{"b": 3}]}', 3),
        (Parse(json="label"), '```json\n{"label": "cat"}\n```', "cat"),
        (CHOICES, "This is Not Spam.", "not spam"),
        (CHOICES, "SPAM", "spam"),
        (CHOICES, "ham!", "ham"),
    ],
)
def test_an_answer_that_is_there_is_found(rule, text, answer):
    found = rule.read(text)
    assert found.answer == answer
    assert type(found.answer) is type(answer)
    assert not found.why


@pytest.mark.parametrize(
    ("rule", "text", "why"),
    [
        (Parse(), "  ", "no answer"),
        (Parse(regex=r"answer: (\w+)"), "I do not know", "does not occur"),
        (Parse(json="label"), '{"label": "ca', "must be JSON"),
        (Parse(json="label"), '{"other": 1}', "nothing at 'label'"),
        (Parse(json="label"), '{"label": {"a": 1}}', "text or a number"),
        (Parse(json="label"), '{"label": null}', "nothing at"),
        (Parse(number=True), "NaN", "must be a number"),
        (Parse(number=True), "twelve", "must be a number"),
        (Parse(json="n", number=True), '{"n": true}', "must be a number"),
        (Parse(json="n", number=True), '{"n": 1e999}', "must be a number"),
        (CHOICES, "spam or ham", "none of its choices alone"),
        (CHOICES, "not spam, or rather spam", "several of its choices"),
        (CHOICES, "hamster", "none of its choices"),
    ],
)
def test_where_none_is_the_reason_is_told(rule, text, why):
    found = rule.read(text)
    assert found.answer is None
    assert why in found.why


def test_what_comes_with_an_answer_is_a_number_or_nothing():
    rule = Parse(json="label", info="sure")
    assert rule.read('{"label": "a", "sure": 0.75}').info == 0.75
    for other in ("true", '"0.7"', "null", "1e999"):
        assert rule.read(f'{{"label": "a", "sure": {other}}}').info is None


@given(st.text())
def test_no_text_breaks_a_rule(text):
    for rule in (Parse(), Parse(number=True), Parse(json="a.b"), Parse(regex=r"(\w+)"), CHOICES):
        found = rule.read(text)
        assert (found.answer is None) == bool(found.why)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"regex": "("}, "regular expression"),
        ({"regex": "a", "json": "b"}, "one of regex, json and choices"),
        ({"json": "a..b"}, "must be a path"),
        ({"info": "a"}, "must come with `parse.json`"),
        ({"choices": ["a", "A"]}, "differ in more than their case"),
        ({"choices": "ab"}, "list of texts"),
        ({"number": "yes"}, "true or false"),
        ({"regex": 3}, "must have texts"),
        ({"rule": "a"}, "must have some of"),
    ],
)
def test_a_rule_that_is_none_is_refused(given, message):
    with pytest.raises(InvalidInputError, match=message):
        checked_parse(given)
