"""Trees laid out in tiles: fifteen nodes that are asked at once; imported by `_tree_walk` alone, for it needs numba.

A tile begins at a node, and takes in whichever child the most leaves lie below, until it has fifteen nodes: so that
hardly a row goes through more than three or four tiles, however deep the leaf is that it ends in.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Int, Shaped, UInt32, UInt64
from numba.core.registry import cpu_target

from askwho.learners import _compiled, _compiled_tiles
from askwho.learners._tree_nodes import TreeNodes

# Rows that go through all trees together: so many that a KiB of trees is fetched for each, which takes a twentieth of
# walking them. Of fewer, the trees of a small forest are fetched in no time; of more, a place has not bits enough.
_FETCHED, _FEWEST, _MOST = 1 << 10, 1 << 13, 1 << 15
# All rows go through a tree's next tile together as long as so few of its leaves, by share, were reached before: to
# gather those that go on takes about as long as a tile of as many rows.
_THERE = 0.1
# What the compiled loop takes of a processor: tiles of 512 bits, and masks of lanes of 16.
_NEEDED = ("+avx512f", "+avx512bw", "+avx512vl")
# A place is 16 bits: of a tile, or behind the tiles of its tree of a leaf.
_MOST_PLACES = 1 << 16


class Tiles:
    """Trees in tiles.

    Args:
        trees: as a graph has them.
        width: of a row of sums.
    """

    def __init__(self, trees: TreeNodes, width: int) -> None:
        cut = _cut(trees)
        by_tree = np.argsort(trees.tree[cut.roots], kind="stable")
        roots, tiles, exits, tier = (part[by_tree] for part in cut)
        tree = trees.tree[roots]
        starts = np.searchsorted(tree, np.arange(len(trees) + 1))
        there, at_leaf = exits >= 0, (exits >= 0) & trees.leaf[exits]
        place = np.zeros(len(trees.leaf), dtype=np.int64)
        place[roots] = np.arange(len(roots)) - starts[tree]
        place[trees.leaf] = (trees.places() + np.diff(starts)[trees.tree])[trees.leaf]
        tiles["exits"] = np.where(there, place[exits], 0)
        self._tiles = _aligned(tiles.nbytes)
        self._tiles[:] = tiles.view(np.uint8)
        self._starts = starts.astype(np.uint64)
        self._together = _together(at_leaf.sum(axis=1), tier, tree, len(trees))
        self._columns, self._table = trees.spoken(width, _compiled.FOUR)
        self.block = min(max(_FEWEST, (self._tiles.nbytes + self._table.nbytes) // _FETCHED), _MOST)
        self._stride = -(-trees.features // _compiled_tiles.LANES) * _compiled_tiles.LANES

    @staticmethod
    def fit(trees: TreeNodes) -> bool:
        """Return whether the trees can be laid out so, and this processor can walk them."""
        # What numba compiles for: the processor's own, unless a setting of numba's says less.
        compiler: Any = cpu_target.target_context
        able = set(compiler.codegen().magic_tuple()[2].split(",")).issuperset(_NEEDED)
        # Every tile has a node of its own, and every leaf is one: there are never more places than nodes.
        small = max(end - start for start, end in trees.nodes) <= _MOST_PLACES
        return able and small and trees.features <= 2 * _compiled_tiles.LANES

    def add(self, bits: UInt32[np.ndarray, "n d"], total: Float32[np.ndarray, "n w"]) -> None:
        """Add to `total` what the trees say of rows whose features have these bits."""
        keys = _aligned(4 * len(bits) * self._stride).view(np.uint32).reshape(len(bits), self._stride)
        given = (self._tiles, self._starts, self._together, self._columns, self._table)
        _compiled_tiles.walk(*given, bits, keys, total)


class _Cut(NamedTuple):
    """The nodes that tiles begin at, the tiles, where their exits lead to, −1 for nowhere, and how many lie above."""

    roots: Int[np.ndarray, " t"]
    tiles: Shaped[np.ndarray, " t"]
    exits: Int[np.ndarray, "t 16"]
    tier: Int[np.ndarray, " t"]


def _cut(trees: TreeNodes) -> _Cut:
    """The tiles of all trees, from the roots down; where they lead to is not yet written in them."""
    under, keys = _leaves_under(trees), trees.keys()
    here, roots, tiles, exits = np.array([start for start, _ in trees.nodes]), [], [], []
    while len(here):
        tile, ends = np.zeros(len(here), _compiled_tiles.TILE), np.full((len(here), _compiled_tiles.LANES), -1)
        tile["keys"], ends[:, 0] = _compiled.LEAF, here
        # Nobody leaves by an exit that nobody has made: of no bits none is set.
        tile["yes"][:, 1:] = 1
        for lane in range(1, _compiled_tiles.LANES):
            below = np.where(ends >= 0, under[ends], 0)
            exit_ = below.argmax(axis=1)
            some = np.flatnonzero(below[np.arange(len(here)), exit_])
            exit_, bit = exit_[some], np.uint16(1 << lane)
            node = ends[some, exit_]
            tile["keys"][some, lane], tile["features"][some, lane] = keys[node], trees.feature[node]
            asked, yes = tile["asked"][some, exit_] | bit, tile["yes"][some, exit_]
            tile["asked"][some, exit_] = tile["asked"][some, lane] = asked
            tile["yes"][some, lane] = yes | bit
            ends[some, exit_], ends[some, lane] = trees.children[node].T
        roots.append(here)
        tiles.append(tile)
        exits.append(ends)
        here = ends[ends >= 0]
        here = here[~trees.leaf[here]]
    tier = np.repeat(np.arange(len(roots)), [len(each) for each in roots])
    return _Cut(np.concatenate(roots), np.concatenate(tiles), np.concatenate(exits), tier)


def _leaves_under(trees: TreeNodes) -> Int[np.ndarray, " m"]:
    """How many leaves lie below each node; 0 of a leaf, which asks nothing."""
    under = trees.leaf.astype(np.int64)
    for here in reversed(trees.levels()):
        inner = here[~trees.leaf[here]]
        under[inner] = under[trees.children[inner]].sum(axis=1)
    return np.where(trees.leaf, 0, under)


def _together(
    leaves: Int[np.ndarray, " t"], tier: Int[np.ndarray, " t"], tree: Int[np.ndarray, " t"], count: int
) -> UInt64[np.ndarray, " trees"]:
    """Through how many tiles of each tree all rows go, whoever is at a leaf: one at the least."""
    reached = np.zeros((count, int(tier.max()) + 2))
    np.add.at(reached, (tree, tier + 1), leaves)
    share: Bool[np.ndarray, "trees d"] = reached.cumsum(axis=1) <= _THERE * reached.sum(axis=1, keepdims=True)
    return np.maximum(share.sum(axis=1), 1).astype(np.uint64)


def _aligned(size: int) -> np.ndarray:
    """So many bytes, zeros, from the beginning of a line of the cache on: across two of them a load takes twice."""
    room = np.zeros(size + _compiled_tiles.LINE, dtype=np.uint8)
    start = -room.ctypes.data % _compiled_tiles.LINE
    return room[start : start + size]
