"""Settings for the whole suite, and the policy that many tests ask; hypothesis is deterministic and without a clock."""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=40
)
settings.register_profile("smoke", parent=settings.get_profile("suite"), max_examples=5)
# The same laws on examples that nobody has seen: `make random`, and many of them: `make torture`.
settings.register_profile(
    "random", parent=settings.get_profile("suite"), derandomize=False, print_blob=True, max_examples=60
)
settings.register_profile("torture", parent=settings.get_profile("random"), max_examples=2000)
settings.load_profile("suite")

try:
    import torch
except ImportError:
    pass
else:
    torch.set_num_threads(1)


# The package is imported within, so that whoever wraps its functions in type checks can do so first.
@pytest.fixture(scope="session")
def log():
    """Past answers: two regions, an expert for each, a dear one for both, and noise."""
    from askwho.data import read_log  # noqa: PLC0415
    from tests import synthetic  # noqa: PLC0415

    return read_log(synthetic.classification(900), synthetic.COLUMNS)


@pytest.fixture(scope="session")
def policy(log):
    """What that log teaches; frozen, and so shared by all tests."""
    from askwho.fitting import fit  # noqa: PLC0415

    return fit(log, learner="linear", base="none", cv=3)


@pytest.fixture(scope="session")
def promising():
    """The same of a longer log, of which some rows were kept for promises."""
    from askwho.data import read_log  # noqa: PLC0415
    from askwho.fitting import fit  # noqa: PLC0415
    from tests import synthetic  # noqa: PLC0415

    log = read_log(synthetic.classification(1500), synthetic.COLUMNS)
    return fit(log, learner="linear", base="none", cv=3, promise=0.4)


@pytest.fixture(scope="session")
def new():
    """New queries, with what everybody would say."""
    from tests import synthetic  # noqa: PLC0415

    return synthetic.classification(400, seed=1)
