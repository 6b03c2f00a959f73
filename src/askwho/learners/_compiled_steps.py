"""What one step among tiles is to a processor: instructions that numba would not find; for `_compiled_tiles` alone.

A tile is fifteen nodes: a lane of a register for each. The features that the nodes ask for are brought into their lanes
by one instruction, compared with their thresholds by another, and each of up to sixteen exits knows which answers lead
to it. So a row takes one round of loads for what would be four or five steps.

A crown is the first fifteen nodes of a tree, to which every row comes: so it is asked node by node of sixteen rows at
once, which takes less than half of what it takes to ask all of it of row by row.

What numba has compiled it keeps by the file of whoever calls: who changes anything here touches `_compiled_tiles`, too.
"""

from typing import Any, no_type_check

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from askwho.learners._compiled import U

LANES = 16
"""Numbers of 32 bits in a register; lane 0 of a tile asks nothing, for so many questions have one exit more."""
LINE = 64
"""Bytes that a processor fetches at a time, and that a register holds."""
TILE = np.dtype(
    [
        ("keys", np.uint32, LANES),
        ("asked", np.uint32, LANES),
        ("yes", np.uint32, LANES),
        ("exits", np.uint16, LANES),
        ("features", np.uint8, LANES),
        ("nothing", np.uint8, LANES),
    ]
)
"""Thresholds; of each exit whose answers count, and which of them are yes; where it leads; the nodes' features.

Four lines of the cache: with nothing behind, every tile begins with one.
"""
SIZE = U(TILE.itemsize)
"""Bytes of a tile."""
SIDE = 4
"""Registers of rows that go through a crown side by side: each waits for its answers while the others go on."""
ROWS = SIDE * LANES
"""Rows of them."""
# Numbers as LLVM has them, and a register of them.
_BITS16, _BITS32, _BITS64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
# The lanes of a register.
_LANES = ir.VectorType(_BITS32, LANES)


def _loaded(builder: Any, spot: Any, kind: Any, align: int = LINE) -> Any:  # noqa: ANN401 - what LLVM is told has no types
    """What stands at a place."""
    return builder.load(builder.bitcast(spot, kind.as_pointer()), align=align)


def _everywhere(builder: Any, value: Any) -> Any:  # noqa: ANN401 - likewise
    """A number in all lanes."""
    nothing, first = ir.Constant(_LANES, ir.Undefined), ir.Constant(_BITS32, 0)
    return builder.shuffle_vector(
        builder.insert_element(nothing, value, first), nothing, ir.Constant(_LANES, [0] * LANES)
    )


def _called(builder: Any, name: str, result: Any, given: list[Any]) -> Any:  # noqa: ANN401 - likewise
    """What an instruction of the processor gives."""
    kind = ir.FunctionType(result, [each.type for each in given])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), given)


@intrinsic
@no_type_check
def left_by(_context, tiles, at, keys, row, second):  # noqa: ANN001, ANN202 - numba calls it with its own types
    """Where a row leaves a tile to: the tile begins at byte `at`, the row at place `row`, its 17th key `second` behind.

    Where there is no 17th, `second` is 0: no lane asks for it.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ANN401 - likewise
        tile, first = (
            builder.gep(context.make_array(signature.args[i])(context, builder, values[i]).data, [values[i + 1]])
            for i in (0, 2)
        )
        fields: Any = TILE.fields
        part = {name: builder.gep(tile, [ir.Constant(_BITS64, place)]) for name, (_, place) in fields.items()}
        features = _loaded(builder, part["features"], ir.VectorType(ir.IntType(8), LANES), LANES)
        # Of the 32 numbers in two registers those that the lanes ask for.
        row_ = [_loaded(builder, spot, _LANES) for spot in (first, builder.gep(first, [values[4]]))]
        given = [row_[0], builder.zext(features, _LANES), row_[1]]
        picked = _called(builder, "llvm.x86.avx512.vpermi2var.d.512", _LANES, given)
        answers = builder.icmp_unsigned(">", picked, _loaded(builder, part["keys"], _LANES))
        # From a register of answers to all lanes of another is one instruction, of lanes of 32 bits.
        answers = _everywhere(builder, builder.zext(builder.bitcast(answers, _BITS16), _BITS32))
        counted = builder.and_(answers, _loaded(builder, part["asked"], _LANES))
        leads = builder.icmp_unsigned("==", counted, _loaded(builder, part["yes"], _LANES))
        exit_ = builder.cttz(builder.zext(builder.bitcast(leads, _BITS16), _BITS32), ir.Constant(ir.IntType(1), 1))
        exits = builder.bitcast(part["exits"], _BITS16.as_pointer())
        return builder.zext(builder.load(builder.gep(exits, [builder.zext(exit_, _BITS64)])), _BITS64)

    return types.uint64(tiles, at, keys, row, second), generate


@intrinsic
@no_type_check
def either(_context, which, yes, no):  # noqa: ANN001, ANN202 - likewise
    """`yes` where `which` is 1, `no` where it is 0, and no branch: LLVM would make one, which nobody can guess."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:  # noqa: ANN401 - likewise
        # Through a register of which LLVM is told nothing.
        mask = builder.asm(ir.FunctionType(_BITS64, [_BITS64]), "", "=r,0", [values[0]], side_effect=False)
        return builder.xor(values[2], builder.and_(builder.xor(values[1], values[2]), builder.neg(mask)))

    return types.uint64(which, yes, no), generate


@intrinsic
@no_type_check
def fetch(_context, table, at):  # noqa: ANN001, ANN202 - likewise
    """Fetch the line of the cache in which a place of a table lies, without waiting for it."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ANN401 - likewise
        spot = builder.gep(context.make_array(signature.args[0])(context, builder, values[0]).data, [values[1]])
        # To read, into a near cache, and no code.
        how = [ir.Constant(_BITS32, value) for value in (0, 2, 1)]
        _called(builder, "llvm.prefetch.p0", ir.VoidType(), [builder.bitcast(spot, ir.IntType(8).as_pointer()), *how])
        return context.get_dummy_value()

    return types.void(table, at), generate


@intrinsic
@no_type_check
def through_crown(_context, keys, features, split, exits, columns, begin, row, place):  # noqa: ANN001, ANN202 - likewise
    """Write where `ROWS` rows from `row` on leave a crown to; their keys, column by column, begin at `begin`.

    Node by node, and all rows at once: whoever is at the exit that a node splits, and answers yes, goes on to the exit
    of the node's own number.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ANN401 - likewise
        key, feature, splits, exit_, column, to = (
            context.make_array(signature.args[i])(context, builder, values[i]).data for i in (0, 1, 2, 3, 4, 7)
        )

        def further(spot: Any, count: int) -> Any:  # noqa: ANN401 - likewise
            return builder.gep(spot, [ir.Constant(_BITS64, count)])

        at: list[Any] = [ir.Constant(_LANES, [0] * LANES)] * SIDE
        for node in range(1, LANES):
            threshold, parted = (_everywhere(builder, builder.load(further(each, node))) for each in (key, splits))
            asked = builder.mul(builder.zext(builder.load(further(feature, node)), _BITS64), ir.Constant(_BITS64, ROWS))
            spot = builder.gep(column, [builder.add(asked, values[5])])
            for i in range(SIDE):
                yes = builder.icmp_unsigned(">", _loaded(builder, further(spot, i * LANES), _LANES), threshold)
                here = builder.icmp_unsigned("==", at[i], parted)
                at[i] = builder.select(builder.and_(yes, here), ir.Constant(_LANES, [node] * LANES), at[i])
        places, first = _loaded(builder, exit_, _LANES), builder.gep(to, [values[6]])
        for i in range(SIDE):
            there = _called(builder, "llvm.x86.avx512.permvar.si.512", _LANES, [places, at[i]])
            words = ir.VectorType(_BITS16, LANES)
            spot = builder.bitcast(further(first, i * LANES), words.as_pointer())
            builder.store(builder.trunc(there, words), spot, align=2)
        return context.get_dummy_value()

    return types.void(keys, features, split, exits, columns, begin, row, place), generate
