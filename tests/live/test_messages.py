"""What an Asker is not: each with the reason."""

import pytest

from askwho import InvalidInputError
from askwho.experts import Fake
from askwho.live import Asker
from tests import policies


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "both"}, "`mode` must be one of"),
        ({"hedge": 1.5}, "`hedge` must be above 0 and below 1"),
        ({"budgets": "day"}, "`budgets` must be a list"),
        ({"budgets": ["day"]}, "`budgets` must come with a `ledger`"),
        ({"explore": -1}, "`explore` must be"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    policy = policies.fitted("classes")
    with pytest.raises(InvalidInputError, match=message):
        Asker(policy, [Fake(name) for name in policy.panel.names], **options)
