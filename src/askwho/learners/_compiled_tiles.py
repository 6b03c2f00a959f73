"""Trees walked tile by tile, fifteen questions at once: compiled by numba; imported by `_tree_tiles` alone.

A tile is fifteen nodes: a lane of a register for each. The features that the nodes ask for are brought into their lanes
by one instruction, compared with their thresholds by another, and each of up to sixteen exits knows which answers lead
to it. So a row takes one round of loads for what would be four or five steps.
"""

from typing import Any, no_type_check

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from askwho._fast._compiled import compiled
from askwho.learners._compiled import FOUR, U, add_four, key

LANES = 16
"""Numbers of 32 bits in a register; lane 0 of a tile asks nothing, for so many questions have one exit more."""
LINE = 64
"""Bytes that a processor fetches at a time, and that a register holds."""
TILE = np.dtype(
    [
        ("keys", np.uint32, LANES),
        ("asked", np.uint16, LANES),
        ("yes", np.uint16, LANES),
        ("exits", np.uint16, LANES),
        ("features", np.uint8, LANES),
        ("nothing", np.uint8, LANES),
    ]
)
"""Thresholds; of each exit whose answers count, and which of them are yes; where it leads; the nodes' features.

Three lines of the cache: with nothing behind, every tile begins with one.
"""
SIZE = U(TILE.itemsize)
"""Bytes of a tile."""


@intrinsic
@no_type_check
def _left_by(_context, tiles, at, keys, row, second):  # noqa: ANN001, ANN202 - numba calls it with its own types
    """Where a row leaves a tile to: the tile begins at byte `at`, the row at place `row`, its 17th key `second` behind.

    Where there is no 17th, `second` is 0: no lane asks for it.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ANN401 - likewise
        bits32, bits16, bits64 = ir.IntType(32), ir.IntType(16), ir.IntType(64)
        lanes, words = ir.VectorType(bits32, LANES), ir.VectorType(bits16, LANES)

        def loaded(spot: Any, kind: Any, align: int) -> Any:  # noqa: ANN401 - likewise
            return builder.load(builder.bitcast(spot, kind.as_pointer()), align=align)

        tile, first = (
            builder.gep(context.make_array(signature.args[i])(context, builder, values[i]).data, [values[i + 1]])
            for i in (0, 2)
        )
        fields: Any = TILE.fields
        part = {name: builder.gep(tile, [ir.Constant(bits64, place)]) for name, (_, place) in fields.items()}
        features = builder.zext(loaded(part["features"], ir.VectorType(ir.IntType(8), LANES), LANES), lanes)
        # Of the 32 numbers in two registers those that the lanes ask for.
        picked = builder.call(
            cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(lanes, [lanes] * 3), "llvm.x86.avx512.vpermi2var.d.512"
            ),
            [loaded(first, lanes, LINE), features, loaded(builder.gep(first, [values[4]]), lanes, LINE)],
        )
        answers = builder.bitcast(builder.icmp_unsigned(">", picked, loaded(part["keys"], lanes, LINE)), bits16)
        # Through a register of whole numbers, of which LLVM is told nothing: else it takes the bits apart, one by one.
        answers = builder.asm(
            ir.FunctionType(bits32, [bits32]), "", "=r,0", [builder.zext(answers, bits32)], side_effect=False
        )
        answers = builder.insert_element(
            ir.Constant(words, ir.Undefined), builder.trunc(answers, bits16), ir.Constant(bits32, 0)
        )
        answers = builder.shuffle_vector(
            answers, ir.Constant(words, ir.Undefined), ir.Constant(ir.VectorType(bits32, LANES), [0] * LANES)
        )
        leads = builder.icmp_unsigned(
            "==",
            builder.and_(answers, loaded(part["asked"], words, 2 * LANES)),
            loaded(part["yes"], words, 2 * LANES),
        )
        exit_ = builder.cttz(builder.zext(builder.bitcast(leads, bits16), bits32), ir.Constant(ir.IntType(1), 1))
        exits = builder.bitcast(part["exits"], bits16.as_pointer())
        return builder.zext(builder.load(builder.gep(exits, [builder.zext(exit_, bits64)])), bits64)

    return types.uint64(tiles, at, keys, row, second), generate


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
    # Of few numbers, row after row: a loop within would take longer than what it adds.
    for more in range(U(0), wide, U(FOUR)):
        for row in range(count):
            spoken = base + (U(place[row]) - leaf) * wide + more
            add_four(said, row * width + column + more, table, spoken)


@compiled
@no_type_check
def walk(tiles, starts, together, columns, table, X, keys, total) -> None:  # noqa: ANN001 - as above
    """Add to `total` what the trees say of some rows, tree after tree.

    Args:
        tiles: of all trees, as bytes.
        starts: the first tile of each tree, and the end of the last, shape (t + 1,).
        together: through how many tiles of each tree all rows go before those that go on are gathered, shape (t,).
        columns: of each tree, where its table begins, the first column that it speaks of, and how many, shape (t, 3).
        table: what the leaves say, tree after tree, flat.
        X: the bits of the features, shape (n, d), n at most 65,536.
        keys: zeros, shape (n, 16) or (n, 32), to be written to.
        total: shape (n, m), m a multiple of four.
    """
    count, features, width, stride = U(X.shape[0]), U(X.shape[1]), U(total.shape[1]), U(keys.shape[1])
    second = stride - U(LANES)
    said, x = total.ravel(), keys.ravel()
    for row in range(count):
        for feature in range(features):
            x[row * stride + feature] = key(X[row, feature])
    place, going = np.empty(X.shape[0], np.uint16), np.empty(X.shape[0], np.uint16)
    for tree in range(U(len(together))):
        here = tiles[starts[tree] * SIZE : starts[tree + U(1)] * SIZE]
        # Places from here on are leaves.
        leaf = starts[tree + U(1)] - starts[tree]
        for row in range(count):
            place[row] = _left_by(here, U(0), x, row * stride, second)
        for _ in range(U(1), together[tree]):
            for row in range(count):
                at = U(place[row])
                to = _left_by(here, min(at, leaf - U(1)) * SIZE, x, row * stride, second)
                place[row] = to if at < leaf else at
        left = U(0)
        for row in range(count):
            going[left] = row
            left += U(U(place[row]) < leaf)
        while left > U(0):
            for q in range(left):
                row = U(going[q])
                place[row] = _left_by(here, U(place[row]) * SIZE, x, row * stride, second)
            still = U(0)
            for q in range(left):
                row = U(going[q])
                going[still] = row
                still += U(U(place[row]) < leaf)
            left = still
        _add_leaves(place, leaf, columns[tree], table, said, width)
