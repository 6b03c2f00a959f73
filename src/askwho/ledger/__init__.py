"""The ledger: every query, decision, hold, answer, fee, verdict and outcome, and budgets that are never overspent."""

from askwho._money import amount, nanos
from askwho.ledger._booking import Booked, Call, Status
from askwho.ledger._budgets import Balance, Period
from askwho.ledger._database import LedgerError
from askwho.ledger._ledger import Ledger, open_ledger, read_ledger

__all__ = [
    "Balance",
    "Booked",
    "Call",
    "Ledger",
    "LedgerError",
    "Period",
    "Status",
    "amount",
    "nanos",
    "open_ledger",
    "read_ledger",
]
