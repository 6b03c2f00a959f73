"""Trees walked tile by tile, fifteen questions at once: compiled by numba; imported by `_tree_tiles` alone.

`_compiled_steps` says what tiles and crowns are.
"""

from typing import no_type_check

import numpy as np

from askwho._fast._compiled import compiled
from askwho.learners._compiled import FOUR, U, add_eight, add_four, key
from askwho.learners._compiled_steps import LANES, LINE, ROWS, SIZE, either, fetch, left_by, through_crown

# Numbers of what leaves say in a line of the cache.
_SAID = U(LINE // 4)


@compiled
@no_type_check
def _add_leaves(place, leaf, columns, table, said, width) -> None:  # noqa: ANN001 - as above
    """Add what the leaves say that rows have come to."""
    base, column, wide = columns[U(0)], columns[U(1)], columns[U(2)]
    count = U(len(place))
    if wide > U(2 * FOUR):
        for row in range(count):
            spoken, at = base + (U(place[row]) - leaf) * wide, row * width + column
            for more in range(U(0), wide, U(FOUR)):
                add_four(said, at + more, table, spoken + more)
        return
    # Of few numbers, at once: a loop within would take longer than what it adds.
    if wide == U(FOUR):
        for row in range(count):
            add_four(said, row * width + column, table, base + (U(place[row]) - leaf) * wide)
    else:
        for row in range(count):
            add_eight(said, row * width + column, table, base + (U(place[row]) - leaf) * wide)


@compiled
@no_type_check
def _fetch_lines(table, at, end, line) -> None:  # noqa: ANN001 - as above
    """Fetch what lies between two places of a table, without waiting for it; a line has so many."""
    for place in range(at, end, line):
        fetch(table, place)


@compiled
@no_type_check
def walk(crowns, tiles, starts, together, columns, table, X, by_row, by_column, total) -> None:  # noqa: ANN001 - as above
    """Add to `total` what the trees say of some rows, tree after tree.

    Args:
        crowns: of the first nodes of each tree the keys, features, exits that they split, and where exits lead, shape
            (4, t, 16).
        tiles: of all trees, as bytes.
        starts: the first tile of each tree, and the end of the last, shape (t + 1,).
        together: through how many tiles of each tree all rows go before those that go on are gathered, shape (t,).
        columns: of each tree, where its table begins, the first column that it speaks of, and how many, shape (t, 3).
        table: what the leaves say, tree after tree, flat.
        X: the bits of the features, shape (n, d), n at most 65,536.
        by_row: zeros, shape (n, 16) or (n, 32), to be written to.
        by_column: zeros, shape (n / 64 rounded up, d, 64), likewise.
        total: shape (n, m), m a multiple of four.
    """
    count, features, width, stride = U(X.shape[0]), U(X.shape[1]), U(total.shape[1]), U(by_row.shape[1])
    second, whole = stride - U(LANES), features * U(ROWS)
    said, x, y = total.ravel(), by_row.ravel(), by_column.ravel()
    for row in range(count):
        spot = row // U(ROWS) * whole + row % U(ROWS)
        for feature in range(features):
            x[row * stride + feature] = y[spot + feature * U(ROWS)] = key(X[row, feature])
    place, going = np.empty(by_column.shape[0] * ROWS, np.uint16), np.empty(X.shape[0], np.uint16)
    keys, asked, split, exits = crowns
    trees, parts = U(len(together)), U(by_column.shape[0])
    for tree in range(trees):
        first, end = starts[tree] * SIZE, starts[tree + U(1)] * SIZE
        # Places from here on are leaves.
        here, leaf = tiles[first:end], starts[tree + U(1)] - starts[tree]
        spoken = columns[tree, U(0)]
        silent = columns[tree + U(1), U(0)] if tree + U(1) < trees else U(len(table))
        # The tree comes into the cache while the crown, which is small, is gone through.
        some, more = (
            ((end - first) // parts // U(LINE) + U(1)) * U(LINE),
            ((silent - spoken) // parts // _SAID + U(1)) * _SAID,
        )
        for part in range(parts):
            _fetch_lines(tiles, first + part * some, min(first + part * some + some, end), U(LINE))
            _fetch_lines(table, spoken + part * more, min(spoken + part * more + more, silent), _SAID)
            through_crown(keys[tree], asked[tree], split[tree], exits[tree], y, part * whole, part * U(ROWS), place)
        for _ in range(together[tree]):
            for row in range(count):
                at = U(place[row])
                to = left_by(here, min(at, leaf - U(1)) * SIZE, x, row * stride, second)
                place[row] = either(U(at < leaf), to, at)
        left = U(0)
        for row in range(count):
            going[left] = row
            left += U(U(place[row]) < leaf)
        while left > U(0):
            for q in range(left):
                row = U(going[q])
                place[row] = left_by(here, U(place[row]) * SIZE, x, row * stride, second)
            still = U(0)
            for q in range(left):
                row = U(going[q])
                going[still] = row
                still += U(U(place[row]) < leaf)
            left = still
        _add_leaves(place[:count], leaf, columns[tree], table, said, width)
