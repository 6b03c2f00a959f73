"""Whom to ask next, at many prices, and where that leads."""

from typing import no_type_check

import numpy as np

from askwho._fast._compiled import compiled


@compiled
@no_type_check
def bent(table, offsets) -> None:  # noqa: ANN001
    """Add to every row, and raise what is below 0 to it.

    Args:
        table: shape (m, d), to be written to.
        offsets: shape (d,).
    """
    for i in range(len(table)):
        row = table[i]
        for c in range(len(offsets)):
            row[c] = max(row[c] + offsets[c], np.float32(0.0))


@compiled
@no_type_check
def least(found, entities, rates, fees, closed, rows, first, nothing, best, lowest) -> None:  # noqa: ANN001
    """Write who changes the cost to the least, the first among equals, and to what.

    Args:
        found: shape (e, p, m), what asking each changes but for its fee.
        entities: shape (e,), who they are.
        rates: shape (p,), what a fee weighs.
        fees: shape (n, a).
        closed: shape (n, a), who cannot be asked.
        rows: shape (m,), which of the n they are.
        first: the number of the first price.
        nothing: what a change must be less than.
        best: shape (prices, n), to be written to.
        lowest: likewise.
    """
    count = len(rows)
    paid, low, who = np.empty((len(entities), count)), np.empty(count), np.empty(count, np.int64)
    for e in range(len(entities)):
        entity, charged = entities[e], paid[e]
        for i in range(count):
            # Of whoever is closed a sum is infinite, or no number: neither is less than anything.
            charged[i] = np.inf if closed[rows[i], entity] else fees[rows[i], entity]
    for p in range(len(rates)):
        low[:], who[:], rate = nothing, 0, rates[p]
        for e in range(len(entities)):
            # Each by a name: what the loop reads by an index it must read anew, for it may have written there.
            entity, charged, changed = entities[e], paid[e], found[e, p]
            for i in range(count):
                now = changed[i] + rate * charged[i]
                less = now < low[i]
                low[i] = now if less else low[i]
                who[i] = entity if less else who[i]
        for i in range(count):
            best[first + p, rows[i]], lowest[first + p, rows[i]] = who[i], low[i]


@compiled
@no_type_check
def wanted_by_any(wanted, block, first, last, places):  # noqa: ANN001, ANN202
    """Return how many of a block's states are wanted at some of the prices; write which, as places in the block.

    Args:
        wanted: shape (p, n).
        block: shape (m,), which of the n.
        first: the first price.
        last: the one after the last.
        places: shape (at least m,), to be written to.
    """
    count = 0
    for i in range(len(block)):
        for p in range(first, last):
            if wanted[p, block[i]]:
                places[count] = i
                count += 1
                break
    return count


@compiled
@no_type_check
def advanced(under_way, price, at, best, lowest, below, there, rows, count, end, after, found):  # noqa: ANN001, ANN202
    """Return how many go on; write where the others end, and move those that go on to the front.

    Args:
        under_way: shape (q,), whose query and price each is, as a place in `end`.
        price: shape (q,).
        at: shape (q,), in which state it is.
        best: shape (p, m), whom to ask next.
        lowest: shape (p, m), what that changes.
        below: what it must be less than to be asked.
        there: shape (n, e), whose answers are known.
        rows: shape (m,), the query of each state.
        count: how many states there were before these.
        end: where each query and price ends, to be written to.
        after: shape (q,), likewise: the number of the state that follows, for those that go on.
        found: shape (m * e,), likewise: which of those there are.
    """
    size, left = there.shape[1], np.int64(0)
    for i in range(len(at)):
        p, state = price[i], at[i]
        j, goes = best[p, state], lowest[p, state] < below
        if goes and there[rows[state], j]:
            under_way[left], price[left], after[left] = under_way[i], p, state * size + j
            found[state * size + j] = True
            left += 1
        else:
            end[under_way[i]] = 2 * (count + state) + goes
    return left


@compiled
@no_type_check
def numbered(found, places, numbers) -> None:  # noqa: ANN001
    """Write the number of each place among those that were found.

    Args:
        found: shape (s,), which there are.
        places: shape (q,), some of them.
        numbers: shape (q,), to be written to.
    """
    number, count = np.empty(len(found), np.int64), 0
    for place in range(len(found)):
        number[place] = count
        count += found[place]
    for i in range(len(places)):
        numbers[i] = number[places[i]]
