"""Trees walked without guessing: compiled by numba, which the extra `fast` installs; imported by `_tree_walk` alone.

A processor guesses where a row goes next before it knows, and in a tree it guesses wrong every second time. Here no
step is a branch: the next node is the left child, plus one where the row goes right, and a leaf leads to itself. Eight
rows go down side by side, so that each waits for its loads while the others go on.
"""

from typing import Any, no_type_check

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from askwho._fast._compiled import compiled

# Unsigned throughout: of a signed index numba asks whether it counts from the end.
U = np.uint64
LEAF = np.uint32(0xFFFFFFFF)
"""The key of a leaf, which no feature's is above: whoever is there stays there."""
TOGETHER = 8
"""Rows that go down side by side: as many as the registers of a processor hold."""
FOUR = 4
"""Numbers that are added at a time."""
# Steps between two looks at who has reached a leaf.
_STEPS = 3
# Of the bits of a float32 its sign, and those of infinity: what is above them is no number (IEEE 754).
_SIGN, _INFINITE = np.uint32(0x80000000), np.uint32(0x7F800000)


def _adding(count: int) -> Any:  # noqa: ANN401 - an intrinsic of numba
    """How so many numbers are added as one instruction."""

    @no_type_check
    def add(_context, total, at, table, place):  # noqa: ANN001, ANN202 - numba calls it with its own types
        """total[at : at + count] += table[place : place + count]."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ANN401 - likewise
            many = ir.VectorType(ir.FloatType(), count)
            arrays = (context.make_array(signature.args[i])(context, builder, values[i]) for i in (0, 2))
            spots = [
                builder.gep(each.data, [index]) for each, index in zip(arrays, (values[1], values[3]), strict=True)
            ]
            spots = [builder.bitcast(spot, many.as_pointer()) for spot in spots]
            added = builder.fadd(*(builder.load(spot, align=4) for spot in spots))
            builder.store(added, spots[0], align=4)
            return context.get_dummy_value()

        return types.void(total, at, table, place), generate

    return intrinsic(add)


add_four, add_eight = _adding(FOUR), _adding(2 * FOUR)


@compiled
@no_type_check
def key(bits):  # noqa: ANN001, ANN202 - as above
    """The bits of a float32 as a number of the same order; both zeros are one, and NaN is above all there is."""
    if bits == _SIGN:
        return _SIGN
    if (bits & ~_SIGN) > _INFINITE:
        return LEAF
    return ~bits if bits & _SIGN else bits | _SIGN


@compiled
@no_type_check
def _step(nodes, x, row, at):  # noqa: ANN001, ANN202 - as above
    """The next node of a row: a node holds its feature, its left child and its key, from the highest bits down."""
    node = nodes[at]
    return ((node >> U(32)) & U(0xFFFF)) + U(x[(node >> U(48)) + row] > np.uint32(node))


@compiled
@no_type_check
def _few_steps(nodes, x, eight, place, rows) -> None:  # noqa: ANN001 - as above
    """Take eight rows, wherever they are, a few steps further."""
    a_row, b_row, c_row, d_row = U(rows[U(0)]), U(rows[U(1)]), U(rows[U(2)]), U(rows[U(3)])
    e_row, f_row, g_row, h_row = U(rows[U(4)]), U(rows[U(5)]), U(rows[U(6)]), U(rows[U(7)])
    a, b, c, d = U(place[a_row]), U(place[b_row]), U(place[c_row]), U(place[d_row])
    e, f, g, h = U(place[e_row]), U(place[f_row]), U(place[g_row]), U(place[h_row])
    a_x, b_x = (a_row >> U(3)) * eight + (a_row & U(7)), (b_row >> U(3)) * eight + (b_row & U(7))
    c_x, d_x = (c_row >> U(3)) * eight + (c_row & U(7)), (d_row >> U(3)) * eight + (d_row & U(7))
    e_x, f_x = (e_row >> U(3)) * eight + (e_row & U(7)), (f_row >> U(3)) * eight + (f_row & U(7))
    g_x, h_x = (g_row >> U(3)) * eight + (g_row & U(7)), (h_row >> U(3)) * eight + (h_row & U(7))
    for _ in range(_STEPS):
        a = _step(nodes, x, a_x, a)
        b = _step(nodes, x, b_x, b)
        c = _step(nodes, x, c_x, c)
        d = _step(nodes, x, d_x, d)
        e = _step(nodes, x, e_x, e)
        f = _step(nodes, x, f_x, f)
        g = _step(nodes, x, g_x, g)
        h = _step(nodes, x, h_x, h)
    place[a_row], place[b_row], place[c_row], place[d_row] = a, b, c, d
    place[e_row], place[f_row], place[g_row], place[h_row] = e, f, g, h


@compiled
@no_type_check
def _go_on(nodes, x, eight, place, going, left) -> None:  # noqa: ANN001 - as above
    """Take the rows that have not reached a leaf a few steps at a time, until nobody is left; most of them have."""
    while True:
        still = U(0)
        for q in range(left):
            row = U(going[q])
            going[still] = row
            still += U(np.uint32(nodes[U(place[row])]) != LEAF)
        left = still
        if left == U(0):
            break
        # The last eight are filled up with the last row: it is taken the same way more than once.
        for q in range(left, (left + U(7)) & ~U(7)):
            going[q] = going[left - U(1)]
        for q in range(U(0), left, U(TOGETHER)):
            _few_steps(nodes, x, eight, place, going[q : q + U(TOGETHER)])


@compiled
@no_type_check
def walk(nodes, starts, levels, leaves, columns, table, X, total) -> None:  # noqa: ANN001 - as above
    """Add to `total` what the trees say of some rows, tree after tree.

    Args:
        nodes: of all trees, shape (m,), 64 bits each; features are given by their place among eights of rows.
        starts: where each tree begins and the last ends, shape (t + 1,).
        levels: how far all rows go down a tree before anybody looks who is there, and how deep it is, shape (t, 2).
        leaves: the place of a leaf in its tree's table, shape (m,).
        columns: of each tree, where its table begins, the first column that it speaks of, and how many, shape (t, 3).
        table: what the leaves say, tree after tree, flat.
        X: the bits of the features, shape (n, d), n at most 65,536.
        total: shape (n, m), m a multiple of four.
    """
    count, features, width = U(X.shape[0]), U(X.shape[1]), U(total.shape[1])
    said = total.ravel()
    # Eights of rows, each feature of the eight beside each other: their addresses are a few bytes apart.
    eight = features * U(TOGETHER)
    eights = (X.shape[0] + TOGETHER - 1) // TOGETHER
    x = np.zeros(eights * X.shape[1] * TOGETHER, np.uint32)
    place = np.zeros(eights * TOGETHER, np.uint16)
    going = np.zeros(eights * TOGETHER, np.uint16)
    for row in range(count):
        spot = (row >> U(3)) * eight + (row & U(7))
        for feature in range(features):
            x[spot + (feature << U(3))] = key(X[row, feature])
    for tree in range(U(len(levels))):
        start, end = starts[tree], starts[tree + U(1)]
        here, leaf = nodes[start:end], leaves[start:end]
        first, depth = levels[tree, U(0)], levels[tree, U(1)]
        for row in range(U(0), count, U(TOGETHER)):
            y = x[(row >> U(3)) * eight :]
            # Names and no array: what has a name stays in a register.
            a = b = c = d = e = f = g = h = U(0)
            for _ in range(first):
                a = _step(here, y, U(0), a)
                b = _step(here, y, U(1), b)
                c = _step(here, y, U(2), c)
                d = _step(here, y, U(3), d)
                e = _step(here, y, U(4), e)
                f = _step(here, y, U(5), f)
                g = _step(here, y, U(6), g)
                h = _step(here, y, U(7), h)
            place[row], place[row + U(1)], place[row + U(2)], place[row + U(3)] = a, b, c, d
            place[row + U(4)], place[row + U(5)], place[row + U(6)], place[row + U(7)] = e, f, g, h
        if depth > first:
            for row in range(count):
                going[row] = row
            _go_on(here, x, eight, place, going, count)
        base, column, wide = columns[tree, U(0)], columns[tree, U(1)], columns[tree, U(2)]
        for row in range(count):
            spoken, at = base + U(leaf[U(place[row])]) * wide, row * width + column
            for more in range(U(0), wide, U(FOUR)):
                add_four(said, at + more, table, spoken + more)
