"""Trees laid out for many rows, to be walked by compiled code: where numba is installed, by the extra `fast`.

What it gives has the bits of `TreeLayout` and of the graph of one row: the same comparisons, and the leaves added in
the same order.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Float32

from askwho import _validation as check
from askwho._threads import on_each
from askwho.learners._tree_layout import TreeLayout
from askwho.learners._tree_nodes import TreeNodes

# Sums of a row are as many as a multiple of this: so many numbers are added at a time.
_FOUR = 4


def lay_out(model: bytes) -> "TreeLayout | TreeWalk":
    """Return the trees of a graph laid out for many rows: for compiled code where it is installed and they fit."""
    ways = _ways()
    if not ways:
        return TreeLayout(model)
    trees = TreeNodes(model)
    if {b"LEAF", b"BRANCH_LEQ"}.issuperset(trees.modes):
        for way in ways:
            if way.fit(trees):
                return TreeWalk(trees, way)
    return TreeLayout(model)


class TreeWalk:
    """Trees that compiled code walks.

    Args:
        trees: as a graph has them.
        way: one of `_ways`, which they fit.
    """

    def __init__(self, trees: TreeNodes, way: Any) -> None:  # noqa: ANN401 - what it compiles has no types
        self._trees, self._features, self.outputs = len(trees), trees.features, trees.table.shape[1]
        self._width = -(-self.outputs // _FOUR) * _FOUR
        self._way = way(trees, self._width)
        self._block: int = self._way.block

    def predict(self, X: Float32[np.ndarray, "n d"]) -> Float[np.ndarray, "n m"]:
        """Return the mean of the leaves, shape (n, outputs): block by block, on every processor there is."""
        check.same_shape(X, "X", (len(X), self._features), "the features that the trees were learned from")
        said = np.empty((len(X), self.outputs))

        def work(start: int) -> None:
            rows = np.ascontiguousarray(X[start : start + self._block], dtype=np.float32)
            total = np.zeros((len(rows), self._width), dtype=np.float32)
            self._way.add(rows.view(np.uint32), total)
            total /= np.float32(self._trees)
            said[start : start + self._block] = total[:, : self.outputs]

        on_each(work, range(0, len(X), self._block))
        return said


def _ways() -> tuple[Any, ...]:
    """The ways to lay trees out for compiled code, the fastest first; none where numba is not installed, or too old."""
    try:
        # The one seam to this optional dependency.
        from askwho.learners._tree_eights import Eights  # noqa: PLC0415
        from askwho.learners._tree_tiles import Tiles  # noqa: PLC0415
    except ImportError:
        return ()
    return Tiles, Eights
