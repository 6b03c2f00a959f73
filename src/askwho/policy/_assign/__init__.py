"""A batch given out under limits, at once or one query at a time."""

from askwho.policy._assign._assign import Assigned, Given, assign
from askwho.policy._assign._limits import Limit
from askwho.policy._assign._online import Online

__all__ = ["Assigned", "Given", "Limit", "Online", "assign"]
