"""Trees laid out in tiles: fifteen nodes that are asked at once; imported by `_tree_walk` alone, for it needs numba.

A tile begins at a node, and takes in whichever child the most leaves lie below, until it has fifteen nodes: so that
hardly a row goes through more than three or four of them, however deep the leaf is that it ends in. The first of a
tree, its crown, is asked in a way of its own.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Int, Shaped, UInt32, UInt64
from numba.core.registry import cpu_target

from askwho.learners import _compiled, _compiled_tiles
from askwho.learners._compiled_steps import LANES, LINE, ROWS, TILE
from askwho.learners._tree_nodes import TreeNodes

# Rows that go through all trees together: so many that a KiB of trees is fetched for each, which takes a twentieth of
# walking them. Of fewer, the trees of a small forest are fetched in no time; of more, a place has not bits enough.
_FETCHED, _FEWEST, _MOST = 1 << 10, 1 << 13, 1 << 15
# All rows go through a tree's next tile together as long as so few of its leaves, by share, were reached before: to
# gather those that go on takes about as long as a tile of as many rows.
_THERE = 0.1
# What the compiled loop takes of a processor: tiles of 512 bits, and answers that are brought to all lanes at once.
_NEEDED = ("+avx512f", "+avx512bw", "+avx512vl", "+avx512cd")
# A place is 16 bits: of a tile, or behind the tiles of its tree of a leaf.
_MOST_PLACES = 1 << 16


class Tiles:
    """Trees in tiles.

    Args:
        trees: as a graph has them.
        width: of a row of sums.
    """

    def __init__(self, trees: TreeNodes, width: int) -> None:
        under = _leaves_under(trees)
        crown = _grown(trees, under, np.array([start for start, _ in trees.nodes]))
        cut = _cut(trees, under, crown.ends)
        by_tree = np.argsort(trees.tree[cut.roots], kind="stable")
        roots, tiles, exits, tier = (part[by_tree] for part in cut)
        tree = trees.tree[roots]
        starts = np.searchsorted(tree, np.arange(len(trees) + 1))
        place = np.zeros(len(trees.leaf), dtype=np.int64)
        place[roots] = np.arange(len(roots)) - starts[tree]
        place[trees.leaf] = (trees.places() + np.diff(starts)[trees.tree])[trees.leaf]
        tiles["exits"] = np.where(exits >= 0, place[exits], 0)
        self._tiles = _aligned(tiles.nbytes)
        self._tiles[:] = tiles.view(np.uint8)
        self._starts = starts.astype(np.uint64)
        crowns = np.array([*crown[:3], np.where(crown.ends >= 0, place[crown.ends], 0)], dtype=np.uint32)
        self._crowns = _aligned(crowns.nbytes).view(np.uint32).reshape(crowns.shape)
        self._crowns[:] = crowns
        self._together = _together(_at_leaf(trees, crown.ends), _at_leaf(trees, exits), tier, tree)
        self._columns, self._table = trees.spoken(width, _compiled.FOUR)
        self.block = min(max(_FEWEST, (self._tiles.nbytes + self._table.nbytes) // _FETCHED), _MOST)
        self._stride = -(-trees.features // LANES) * LANES

    @staticmethod
    def fit(trees: TreeNodes) -> bool:
        """Return whether the trees can be laid out so, and this processor can walk them."""
        # What numba compiles for: the processor's own, unless a setting of numba's says less.
        compiler: Any = cpu_target.target_context
        able = set(compiler.codegen().magic_tuple()[2].split(",")).issuperset(_NEEDED)
        # Every tile has a node of its own, and every leaf is one: there are never more places than nodes.
        small = max(end - start for start, end in trees.nodes) <= _MOST_PLACES
        return able and small and trees.features <= 2 * LANES

    def add(self, bits: UInt32[np.ndarray, "n d"], total: Float32[np.ndarray, "n w"]) -> None:
        """Add to `total` what the trees say of rows whose features have these bits."""
        by_row = _aligned(4 * len(bits) * self._stride).view(np.uint32).reshape(len(bits), self._stride)
        shape = -(-len(bits) // ROWS), bits.shape[1], ROWS
        by_column = _aligned(4 * math.prod(shape)).view(np.uint32).reshape(shape)
        given = (self._crowns, self._tiles, self._starts, self._together, self._columns, self._table)
        _compiled_tiles.walk(*given, bits, by_row, by_column, total)


class _Grown(NamedTuple):
    """Nodes from roots down: the key and the feature of each, which exit it splits; where exits lead to, −1 nowhere."""

    keys: UInt32[np.ndarray, "r 16"]
    features: UInt32[np.ndarray, "r 16"]
    split: UInt32[np.ndarray, "r 16"]
    ends: Int[np.ndarray, "r 16"]


class _Cut(NamedTuple):
    """The nodes that tiles begin at, the tiles, where their exits lead to, and how many tiles lie above."""

    roots: Int[np.ndarray, " t"]
    tiles: Shaped[np.ndarray, " t"]
    exits: Int[np.ndarray, "t 16"]
    tier: Int[np.ndarray, " t"]


def _grown(trees: TreeNodes, under: Int[np.ndarray, " m"], roots: Int[np.ndarray, " r"]) -> _Grown:
    """Up to fifteen nodes from each root down: whichever exit the most leaves lie behind is split next."""
    keys, every = np.full((len(roots), LANES), _compiled.LEAF), trees.keys()
    features, split = np.zeros_like(keys), np.zeros_like(keys)
    ends = np.full(keys.shape, -1)
    ends[:, 0] = roots
    for lane in range(1, LANES):
        below = np.where(ends >= 0, under[ends], 0)
        exit_ = below.argmax(axis=1)
        some = np.flatnonzero(below[np.arange(len(roots)), exit_])
        exit_ = exit_[some]
        node = ends[some, exit_]
        keys[some, lane], features[some, lane], split[some, lane] = every[node], trees.feature[node], exit_
        ends[some, exit_], ends[some, lane] = trees.children[node].T
    return _Grown(keys, features, split, ends)


def _cut(trees: TreeNodes, under: Int[np.ndarray, " m"], above: Int[np.ndarray, "r 16"]) -> _Cut:
    """The tiles of all trees, from below their crowns down; where they lead to is not yet written in them."""
    here, roots = _inner(trees, above), [np.empty(0, dtype=np.int64)]
    tiles, exits = [np.empty(0, dtype=TILE)], [np.empty((0, LANES), dtype=np.int64)]
    while len(here):
        grown = _grown(trees, under, here)
        tile = np.zeros(len(here), TILE)
        tile["keys"], tile["features"] = grown.keys, grown.features
        # Nobody leaves by an exit that nobody has made: of no bits none is set.
        tile["yes"][:, 1:] = 1
        for lane in range(1, LANES):
            some = np.flatnonzero(grown.ends[:, lane] >= 0)
            exit_, bit = grown.split[some, lane], np.uint32(1 << lane)
            asked, yes = tile["asked"][some, exit_] | bit, tile["yes"][some, exit_]
            tile["asked"][some, exit_] = tile["asked"][some, lane] = asked
            tile["yes"][some, lane] = yes | bit
        roots.append(here)
        tiles.append(tile)
        exits.append(grown.ends)
        here = _inner(trees, grown.ends)
    tier = np.repeat(np.arange(len(roots)) - 1, [len(each) for each in roots])
    return _Cut(np.concatenate(roots), np.concatenate(tiles), np.concatenate(exits), tier)


def _inner(trees: TreeNodes, ends: Int[np.ndarray, "r 16"]) -> Int[np.ndarray, " i"]:
    """The nodes among some ends that are no leaves."""
    here = ends[ends >= 0]
    return here[~trees.leaf[here]]


def _at_leaf(trees: TreeNodes, ends: Int[np.ndarray, "r 16"]) -> Int[np.ndarray, " r"]:
    """How many of the ends of each row are leaves."""
    return ((ends >= 0) & trees.leaf[ends]).sum(axis=1)


def _leaves_under(trees: TreeNodes) -> Int[np.ndarray, " m"]:
    """How many leaves lie below each node; 0 of a leaf, which asks nothing."""
    under = trees.leaf.astype(np.int64)
    for here in reversed(trees.levels()):
        inner = here[~trees.leaf[here]]
        under[inner] = under[trees.children[inner]].sum(axis=1)
    return np.where(trees.leaf, 0, under)


def _together(
    crown: Int[np.ndarray, " trees"],
    leaves: Int[np.ndarray, " t"],
    tier: Int[np.ndarray, " t"],
    tree: Int[np.ndarray, " t"],
) -> UInt64[np.ndarray, " trees"]:
    """Through how many tiles of each tree all rows go, whoever is at a leaf.

    Args:
        crown: how many exits of each tree's crown are leaves.
        leaves: likewise of each tile.
        tier: how many tiles lie above each.
        tree: whose each is.
    """
    reached = np.zeros((len(crown), int(tier.max(initial=-1)) + 2))
    reached[:, 0] = crown
    np.add.at(reached, (tree, tier + 1), leaves)
    so_far, every = reached.cumsum(axis=1), reached.sum(axis=1, keepdims=True)
    go_on: Bool[np.ndarray, "trees d"] = (so_far <= _THERE * every) & (so_far < every)
    return go_on.sum(axis=1).astype(np.uint64)


def _aligned(size: int) -> np.ndarray:
    """So many bytes, zeros, from the beginning of a line of the cache on: across two of them a load takes twice."""
    room = np.zeros(size + LINE, dtype=np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + size]
