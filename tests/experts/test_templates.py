"""Templates: what a query holds becomes a value, and nothing else."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho import InvalidInputError
from askwho.experts import ExpertError
from askwho.experts._network import checked_url
from askwho.experts._templates import at_path, fill, places, plain


@given(st.text(), st.text())
def test_a_text_is_a_value_whatever_it_holds(first, second):
    made = fill({"a": "{x}", "b": "<{x}|{y}>", "c": {"{x}": [1, "{y}"]}}, {"x": first, "y": second})
    # Nothing of a query is filled in again, breaks out of its text, or becomes a key.
    assert json.loads(json.dumps(made)) == {"a": first, "b": f"<{first}|{second}>", "c": {"{x}": [1, second]}}


@pytest.mark.parametrize("value", [3, 2.5, True, None, [1, 2], "text", np.int64(3), np.float32(0.5), np.array([1.5])])
def test_a_place_alone_keeps_the_type(value):
    made = fill("{x}", {"x": value})
    assert json.loads(json.dumps(made)) == plain(value)


def test_what_json_has_not_is_null():
    assert fill(["{x}", "{y}"], {"x": float("nan"), "y": np.inf}) == [None, None]


def test_doubled_braces_are_braces():
    assert fill("{{x}} {x}", {"x": 1}) == "{x} 1"


@pytest.mark.parametrize("place", ["{x.__class__}", "{x[0]}", "{x!r}", "{}", "{y}"])
def test_a_query_reaches_into_nothing(place):
    with pytest.raises(ExpertError, match="must be a column of the query") as error:
        fill(f"a {place}", {"x": "b"})
    assert error.value.charged == "no"


def test_the_columns_that_a_template_needs_are_known():
    assert places({"a": ["{x} and {y}"], "b": "{{z}}", "c": 3}) == {"x", "y"}


@pytest.mark.parametrize(
    ("path", "found"), [("a.0.b", 1), ("a.-1.b", 2), ("a.7.b", None), ("a.b", None), ("c", None), ("a.0.b.c", None)]
)
def test_a_path_leads_to_a_value_or_to_nothing(path, found):
    assert at_path({"a": [{"b": 1}, {"b": 2}]}, path) == found


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/",
        "host/path",
        "http://",
        "http://host/{x}",
        "http://{host}/",
        "http://host/a b",
        "http://user:secret@host/",
        "http://host:99999/",
        "file:///etc/passwd",
    ],
)
def test_a_url_that_could_be_filled_in_or_holds_a_secret_is_refused(url):
    with pytest.raises(InvalidInputError, match="`url` must") as error:
        checked_url(url)
    assert "secret" not in str(error.value)


def test_a_url_is_left_as_it_is():
    assert checked_url("https://host:8443/v1?a=b") == "https://host:8443/v1?a=b"
