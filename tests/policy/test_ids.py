"""Names for queries that nobody named: none comes twice, in this process or in one that it forked."""

import os
import subprocess
import sys

import numpy as np
import pytest

from askwho import InvalidInputError
from askwho.policy._ids import checked_ids, made_up_ids

FORKS = """
import os
from askwho.policy._ids import made_up_ids
made_up_ids(1)
child = os.fork()
if child:
    os.waitpid(child, 0)
print(made_up_ids(1)[0], flush=True)
# A fork has none of the threads that libraries wait for when a process ends as usual.
os._exit(0)
"""


def test_no_name_is_given_twice():
    names = [name for _ in range(50) for name in made_up_ids(3)]
    assert len(set(names)) == 150
    assert all(isinstance(name, str) for name in names)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system knows no forks")
def test_a_fork_does_not_go_on_with_the_names_of_its_parent():
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=True)
    first, second = done.stdout.split()
    assert first != second


def texts(*entries):
    return np.array(entries, dtype=object)


def test_texts_are_ids_as_they_are_and_nobody_elses_array():
    given = texts("a", " b", "1")
    found = checked_ids(given, 3)
    given[0] = "other"
    assert found.tolist() == ["a", " b", "1"]


@pytest.mark.parametrize("given", [["a", "b"], np.array(["a", "b"]), texts("a", "b")], ids=["list", "words", "objects"])
def test_the_same_ids_in_any_column(given):
    assert checked_ids(given, 2).tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (texts("a", " "), "must not be empty"),
        (texts("a", None), "must not be empty"),
        (texts("a", "a"), "each query once"),
        (texts("a"), "one for each of the 2"),
    ],
)
def test_ids_that_name_nobody_or_two_are_refused(given, words):
    with pytest.raises(InvalidInputError, match=words):
        checked_ids(given, 2)
