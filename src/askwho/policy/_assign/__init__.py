"""A batch given out under limits, at once or one query at a time."""

from askwho.policy._assign._assign import Assigned, Given, assign
from askwho.policy._assign._limits import Limit

__all__ = ["Assigned", "Given", "Limit", "assign"]
