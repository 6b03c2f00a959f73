"""Trees laid out for many rows, to be walked by compiled code: where numba is installed, by the extra `fast`.

What it gives has the bits of `TreeLayout` and of the graph of one row: the same comparisons, and the leaves added in
the same order.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int, UInt16, UInt32

from askwho import _validation as check
from askwho._threads import processors
from askwho.exceptions import InvalidInputError
from askwho.learners._tree_layout import TreeLayout
from askwho.learners._tree_nodes import TreeNodes

# Rows that go through all trees together: as many as have so many features (640 KiB), which stay in a processor's
# second cache. Of fewer, fetching the trees takes longer than walking them; of more, the totals leave the cache.
_CELLS, _FEWEST, _MOST = 10 << 14, 1 << 10, 1 << 14
# The share of leaves as deep as which all rows go down together, by hand: to look who is there, and to gather those who
# are not, takes as long as a few steps do.
_ALL_TOGETHER, _FEW_STEPS = 0.8, 3
# A node has 16 bits for its left child, and as many for its feature, counted in eights.
_MOST_NODES, _MOST_FEATURES = 1 << 16, 1 << 13


def lay_out(model: bytes) -> "TreeLayout | TreeWalk":
    """Return the trees of a graph laid out for many rows: for compiled code where it is installed and they fit."""
    walk = _walk()
    if walk is None:
        return TreeLayout(model)
    trees = TreeNodes(model)
    most = max(end - start for start, end in trees.nodes)
    fits = most <= _MOST_NODES and trees.features <= _MOST_FEATURES and {b"LEAF", b"BRANCH_LEQ"}.issuperset(trees.modes)
    return TreeWalk(trees, walk) if fits else TreeLayout(model)


class TreeWalk:
    """Trees in which no step is a branch.

    Args:
        trees: as a graph has them.
        walk: `askwho.learners._compiled.walk`.
    """

    def __init__(self, trees: TreeNodes, walk: Any) -> None:  # noqa: ANN401 - numba's functions have no types
        from askwho.learners import _compiled  # noqa: PLC0415 - the one seam to this optional dependency

        self._walk, self._trees, self._features = walk, len(trees), trees.features
        self.outputs = trees.table.shape[1]
        self._width = -(-self.outputs // _compiled.FOUR) * _compiled.FOUR
        order, levels = _by_levels(trees)
        self._starts = np.array([0, *(end for _, end in trees.nodes)], dtype=np.uint64)
        at_leaf, place = trees.leaf[order], np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        start = np.repeat(self._starts[:-1].astype(np.int64), np.diff(self._starts).astype(np.int64))
        # A leaf leads to itself; the other child of a node is the one behind.
        child = np.where(at_leaf, np.arange(len(order)), place[start + trees.true[order]]) - start
        key = np.where(at_leaf, _compiled.LEAF, _keys(trees.threshold[order])).astype(np.uint64)
        feature = np.where(at_leaf, 0, trees.feature[order]) * _compiled.TOGETHER
        self._nodes = key | child.astype(np.uint64) << np.uint64(32) | feature.astype(np.uint64) << np.uint64(48)
        self._levels = np.array(
            [_first_and_depth(levels[a:b][at_leaf[a:b]]) for a, b in trees.nodes], dtype=np.uint64
        ).reshape(-1, 2)
        self._leaves = _places_of_leaves(trees)[order]
        self._columns, self._table = _spoken(trees, self._width, _compiled.FOUR)
        self._block = min(max(_FEWEST, _CELLS // trees.features), _MOST)

    def predict(self, X: Float32[np.ndarray, "n d"]) -> Float[np.ndarray, "n m"]:
        """Return the mean of the leaves, shape (n, outputs): block by block, on every processor there is."""
        check.same_shape(X, "X", (len(X), self._features), "the features that the trees were learned from")
        said = np.empty((len(X), self.outputs))

        def work(start: int) -> None:
            rows = np.ascontiguousarray(X[start : start + self._block], dtype=np.float32)
            total = np.zeros((len(rows), self._width), dtype=np.float32)
            given = (self._nodes, self._starts, self._levels, self._leaves, self._columns, self._table)
            self._walk(*given, rows.view(np.uint32), total)
            total /= np.float32(self._trees)
            said[start : start + self._block] = total[:, : self.outputs]

        starts = range(0, len(X), self._block)
        with ThreadPoolExecutor(max(1, min(len(starts), processors()))) as pool:
            for _ in pool.map(work, starts):
                pass
        return said


def _walk() -> Any:  # noqa: ANN401 - numba's functions have no types
    """The compiled walk; None where numba is not installed, or does not know the NumPy that is."""
    try:
        from askwho.learners._compiled import walk  # noqa: PLC0415 - the one seam to this optional dependency
    except ImportError:
        return None
    return walk


def _by_levels(trees: TreeNodes) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " m"]]:
    """The nodes of each tree from the root down, the two children of a node side by side, and how deep each lies."""
    starts = np.array([start for start, _ in trees.nodes])
    tree, here, found = np.arange(len(trees)), starts, []
    seen, depth = 0, 0
    while len(here) and seen + len(here) <= len(trees.leaf):
        found.append((tree, here, np.full(len(here), depth)))
        seen, depth = seen + len(here), depth + 1
        inner = ~trees.leaf[here]
        tree, here = tree[inner].repeat(2), here[inner]
        here = np.column_stack([trees.true[here], trees.false[here]]).ravel() + starts[tree]
    order = np.concatenate([each[1] for each in found])
    if len(here) or seen < len(trees.leaf):
        raise InvalidInputError("`model` must hold trees in which a root leads to every node, and each node once.")
    by_tree = np.argsort(np.concatenate([each[0] for each in found]), kind="stable")
    return order[by_tree], np.concatenate([each[2] for each in found])[by_tree]


def _first_and_depth(leaves: Int[np.ndarray, " l"]) -> tuple[int, int]:
    """How deep four in five of the leaves lie, and the deepest; twice the deepest where that is a few steps more."""
    most, deepest = int(np.quantile(leaves, _ALL_TOGETHER)), int(leaves.max())
    return (deepest if deepest - most <= _FEW_STEPS else most), deepest


def _keys(threshold: Float32[np.ndarray, " m"]) -> UInt32[np.ndarray, " m"]:
    """Thresholds as whole numbers of the same order, as `_compiled` has features."""
    bits = (threshold + np.float32(0.0)).view(np.uint32)
    return np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))


def _places_of_leaves(trees: TreeNodes) -> UInt16[np.ndarray, " m"]:
    """The place of every leaf among those of its tree, over nodes."""
    place = np.zeros(len(trees.leaf), dtype=np.uint16)
    place[trees.leaf] = np.concatenate([np.arange(end - start) for start, end in trees.leaves])
    return place


def _spoken(trees: TreeNodes, width: int, four: int) -> tuple[np.ndarray, Float32[np.ndarray, " c"]]:
    """Where each tree's table begins, its first column and how many there are, in fours; and the tables, flat.

    A tree that boosting made speaks of one output alone, so that the four columns around it do; the zeros beside it
    change no bits of a sum that began with one.
    """
    table = np.pad(trees.table, ((0, 0), (0, width - trees.table.shape[1])))
    columns, tables, begin = [], [], 0
    for start, end in trees.leaves:
        spoken = np.flatnonzero(table[start:end].any(axis=0))
        first = int(spoken[0]) // four * four if len(spoken) else 0
        wide = (int(spoken[-1]) // four + 1) * four - first if len(spoken) else four
        columns.append((begin, first, wide))
        tables.append(np.ascontiguousarray(table[start:end, first : first + wide], dtype=np.float32).ravel())
        begin += len(tables[-1])
    return np.array(columns, dtype=np.uint64).reshape(-1, 3), np.concatenate(tables)
