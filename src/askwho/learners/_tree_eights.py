"""Trees laid out for eight rows that go down side by side; imported by `_tree_walk` alone, for numba must be there."""

import numpy as np
from jaxtyping import Float32, Int, UInt32

from askwho.learners import _compiled
from askwho.learners._tree_nodes import TreeNodes

# Rows that go through all trees together: as many as have so many features (640 KiB), which stay in a processor's
# second cache. Of fewer, fetching the trees takes longer than walking them; of more, the totals leave the cache.
_CELLS, _FEWEST, _MOST = 10 << 14, 1 << 10, 1 << 14
# The share of leaves as deep as which all rows go down together, by hand: to look who is there, and to gather those who
# are not, takes as long as a few steps do.
_ALL_TOGETHER, _FEW_STEPS = 0.8, 3
# A node has 16 bits for its left child, and as many for its feature, counted in eights.
_MOST_NODES, _MOST_FEATURES = 1 << 16, 1 << 13


class Eights:
    """Trees in which no step is a branch.

    Args:
        trees: as a graph has them.
        width: of a row of sums.
    """

    def __init__(self, trees: TreeNodes, width: int) -> None:
        levels = trees.levels()
        order, depth = np.concatenate(levels), np.repeat(np.arange(len(levels)), [len(each) for each in levels])
        by_tree = np.argsort(trees.tree[order], kind="stable")
        order, depth = order[by_tree], depth[by_tree]
        self._starts = np.array([0, *(end for _, end in trees.nodes)], dtype=np.uint64)
        at_leaf, place = trees.leaf[order], np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        # A leaf leads to itself; the other child of a node is the one behind.
        child = np.where(at_leaf, np.arange(len(order)), place[np.where(at_leaf, 0, trees.children[order, 0])])
        child -= self._starts[trees.tree[order]].astype(np.int64)
        key = np.where(at_leaf, _compiled.LEAF, trees.keys()[order]).astype(np.uint64)
        feature = np.where(at_leaf, 0, trees.feature[order]) * _compiled.TOGETHER
        self._nodes = key | child.astype(np.uint64) << np.uint64(32) | feature.astype(np.uint64) << np.uint64(48)
        self._levels = np.array(
            [_first_and_depth(depth[a:b][at_leaf[a:b]]) for a, b in trees.nodes], dtype=np.uint64
        ).reshape(-1, 2)
        self._leaves = trees.places()[order]
        self._columns, self._table = trees.spoken(width, _compiled.FOUR)
        self.block = min(max(_FEWEST, _CELLS // trees.features), _MOST)

    @staticmethod
    def fit(trees: TreeNodes) -> bool:
        """Return whether the trees can be laid out so."""
        return max(end - start for start, end in trees.nodes) <= _MOST_NODES and trees.features <= _MOST_FEATURES

    def add(self, bits: UInt32[np.ndarray, "n d"], total: Float32[np.ndarray, "n w"]) -> None:
        """Add to `total` what the trees say of rows whose features have these bits."""
        given = (self._nodes, self._starts, self._levels, self._leaves, self._columns, self._table)
        _compiled.walk(*given, bits, total)


def _first_and_depth(leaves: Int[np.ndarray, " l"]) -> tuple[int, int]:
    """How deep four in five of the leaves lie, and the deepest; twice the deepest where that is a few steps more."""
    most, deepest = int(np.quantile(leaves, _ALL_TOGETHER)), int(leaves.max())
    return (deepest if deepest - most <= _FEW_STEPS else most), deepest
