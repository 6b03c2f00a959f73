"""Names for queries that nobody named: none comes twice, in this process or in one that it forked."""

import os
import subprocess
import sys

import pytest

from askwho.policy._ids import made_up_ids

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
