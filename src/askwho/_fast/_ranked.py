"""Orders of a few entities for many queries, and what committees in such orders come to."""

from typing import no_type_check

import numpy as np

from askwho._fast._compiled import compiled


@compiled
@no_type_check
def _behind(a, i, b, j):  # noqa: ANN001, ANN202
    """Whether entity i at cost a comes after entity j at cost b: ties to the smaller index, NaN last."""
    if np.isnan(a):
        return not np.isnan(b) or i > j
    return a > b or (a == b and i > j)


@compiled
@no_type_check
def orders(worth, fees, absent, prices, rows, order, place):  # noqa: ANN001, ANN202
    """Return how many orders there are as fees weigh more, each once for as long as it stays the same; write them.

    Args:
        worth: shape (n, a), what each costs without its fee.
        fees: shape (n, a).
        absent: shape (n, a), what is added to the cost of who is not there.
        prices: shape (p,), what a fee weighs.
        rows: shape (at most p * n,), which query each order is of, to be written to.
        order: shape (at most p * n, K), likewise.
        place: shape (p, n), which order each query has at each price, likewise.
    """
    n, size = worth.shape
    width, count = order.shape[1], 0
    now, costs = np.empty((n, size), np.int64), np.empty(size)
    for i in range(n):
        for j in range(size):
            now[i, j] = j
    for p in range(len(prices)):
        for i in range(n):
            for j in range(size):
                costs[j] = worth[i, j] + prices[p] * fees[i, j]
                if absent.shape[0]:
                    costs[j] += absent[i, j]
            moved = p == 0
            for r in range(1, size):
                who, at = now[i, r], r
                while at and _behind(costs[now[i, at - 1]], now[i, at - 1], costs[who], who):
                    now[i, at] = now[i, at - 1]
                    at -= 1
                now[i, at] = who
                # Whoever moved to, or within, the first so many changed them.
                moved |= at < r and at < width
            if moved:
                rows[count], place[p, i] = i, count
                for r in range(width):
                    order[count, r] = now[i, r]
                count += 1
            else:
                place[p, i] = place[p - 1, i]
    return count


@compiled
@no_type_check
def sizes(curves, paid, place, prices, found) -> None:  # noqa: ANN001
    """Write the size of least cost at each price, the smaller among equals.

    Args:
        curves: shape (m, K), what committees of an order are expected to err.
        paid: shape (m, K), what they charge.
        place: shape (p, n), which order each query has.
        prices: shape (p,).
        found: shape (p, n), to be written to.
    """
    for p in range(len(prices)):
        for i in range(place.shape[1]):
            end, best = place[p, i], 0
            least = curves[end, 0] + prices[p] * paid[end, 0]
            for k in range(1, curves.shape[1]):
                cost = curves[end, k] + prices[p] * paid[end, k]
                if cost < least:
                    best, least = k, cost
            found[p, i] = best + 1


@compiled
@no_type_check
def cheapest(curve, paid, rates, most, found) -> None:  # noqa: ANN001
    """Write the size of least cost of each query, the smaller among equals; a cost that is no number is the least.

    Args:
        curve: shape (n, K), what committees are expected to err.
        paid: shape (n, K), what they charge.
        rates: shape (n,), what a fee weighs.
        most: shape (n,), the largest committee of each.
        found: shape (n,), to be written to.
    """
    for i in range(len(curve)):
        best, least = 0, curve[i, 0] + rates[i] * paid[i, 0]
        for k in range(1, min(most[i], curve.shape[1])):
            cost = curve[i, k] + rates[i] * paid[i, k]
            less = (cost < least) | (np.isnan(cost) & (not np.isnan(least)))
            best, least = k if less else best, cost if less else least
        found[i] = best + 1


@compiled
@no_type_check
def argsorted(table, order) -> None:  # noqa: ANN001
    """Write the columns of each row from the smallest cell up, ties to the smaller index, NaN last.

    Args:
        table: shape (n, a).
        order: shape (n, a), to be written to.
    """
    # Each is compared with all before it, and no comparison is a branch: a processor would guess every other one wrong.
    rank = np.empty(table.shape[1], np.int64)
    for i in range(len(table)):
        row = table[i]
        for j in range(len(rank)):
            own, before = row[j], j
            for k in range(j):
                after = (not row[k] <= own) & (own == own)  # noqa: PLR0124 - NaN alone is not itself
                rank[k] += after
                before -= after
            rank[j] = before
        for j in range(len(rank)):
            order[i, rank[j]] = j


@compiled
@no_type_check
def gathered(table, rows, order, found) -> None:  # noqa: ANN001
    """Write the cells of a table that an order names.

    Args:
        table: shape (n, a).
        rows: shape (m,), which row each order is of; none for one after the other.
        order: shape (m, K).
        found: shape (m, K), to be written to.
    """
    size = table.shape[1]
    for i in range(len(order)):
        row = rows[i] if len(rows) else i
        for r in range(order.shape[1]):
            j = order[i, r]
            found[i, r] = table[row, j if j >= 0 else j + size]
