"""Settings for the estimators' tests."""

import joblib
import pytest


@pytest.fixture(autouse=True)
def one_thread():
    """Threads cost more than they bring on so few rows; and forests on several add up their trees in any order."""
    with joblib.parallel_config(backend="sequential"):
        yield
