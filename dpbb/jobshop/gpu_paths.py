"""Longest paths between all pairs on a GPU; the kernels say how."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import OptionError
from dpbb.jobshop.gpu_batch import HERE
from dpbb.jobshop.longest_paths import Method
from dpbb.kernels.nvrtc import load_module, require_gpu

TILE, BLOCK = 64, 256
NARROW_LIMIT = 2**13
"""Makespans below it fit 16 bits: twice of them stay below the distance of no path."""

LIMIT = 2**29
"""The same for 32 bits."""


def closure(
    matrix: NDArray[np.int32], method: Method, *, longest: int, device: int = 0
) -> NDArray[np.int32]:
    """Return the longest paths of a matrix of arcs; see ``longest_paths``.

    Parameters
    ----------
    longest
        Length of the longest path, which chooses between 16 and 32 bits.
    """
    cupy = require_gpu(device)
    with cupy.cuda.Device(device):
        paths = GpuPaths(len(matrix), method, longest=longest, device=device)
        paths.matrix = cupy.asarray(matrix)
        paths.run()
        result: NDArray[np.int32] = paths.matrix.get()
    return result


class GpuPaths:
    """The kernels for matrices of one size.

    Parameters
    ----------
    size
        Rows and columns: the operations and 1.
    method, longest, device
        As of ``closure``.

    Attributes
    ----------
    matrix : CuPy array of int32, shape (size, size)
        To be set before ``run``, which overwrites it with the longest paths.
    """

    def __init__(
        self, size: int, method: Method, *, longest: int, device: int = 0
    ) -> None:
        if method is not Method.FLOYD_WARSHALL and longest >= LIMIT:
            raise OptionError(
                f"method: expected floyd_warshall for makespans of {LIMIT:,} or more"
            )
        cupy = require_gpu(device)
        self.matrix: Any = None
        self._size, self._method = size, method
        narrow = longest < NARROW_LIMIT
        module = load_module([HERE / "paths.cu"], {"NARROW": int(narrow)}, device)
        self._get = module.get_function
        self._tiles = -(-size // TILE)
        self._words = TILE // (2 if narrow else 1)
        self._shared = 2 * TILE * (self._words + 1) * 4
        if method is not Method.FLOYD_WARSHALL:
            shape = (self._tiles * TILE, self._tiles * self._words)
            self._packed = cupy.empty(shape, np.uint32)
        if method is Method.SQUARING:
            self._spare = cupy.empty(shape, np.uint32)

    def run(self) -> None:
        """Find the longest paths; launches only, nothing is waited for."""
        if self._method is Method.FLOYD_WARSHALL:
            step = self._get("floyd_step")
            size = np.int32(self._size)
            threads = min(1024, -(-self._size // 32) * 32)
            for k in range(self._size):
                step((self._size,), (threads,), (self.matrix, size, np.int32(k)))
            return
        size, tiles = np.int32(self._size), self._tiles
        self._get("pack_paths")(
            (tiles * TILE,),
            (BLOCK,),
            (self.matrix, size, self._packed, np.int32(tiles)),
        )
        packed = self._blocked() if self._method is Method.BLOCKED else self._squared()
        self._get("unpack_paths")(
            (self._size,), (BLOCK,), (packed, np.int32(tiles), self.matrix, size)
        )

    def _blocked(self) -> Any:
        tiles = self._tiles
        others = tiles - 1
        for t in range(tiles):
            for name, blocks in (
                ("close_tile", 1),
                ("cross_tiles", 2 * others),
                ("rest_tiles", others * others),
            ):
                if blocks:
                    arguments = (self._packed, np.uint32(tiles), np.uint32(t))
                    self._tile_kernel(name, blocks, arguments)
        return self._packed

    def _squared(self) -> Any:
        tiles, reach = self._tiles, 1
        before, after = self._packed, self._spare
        while reach < self._size:  # no path has more arcs
            arguments = (before, after, np.uint32(tiles))
            self._tile_kernel("square_tiles", tiles * tiles, arguments)
            before, after = after, before
            reach *= 2
        return before

    def _tile_kernel(self, name: str, blocks: int, arguments: tuple[Any, ...]) -> None:
        self._get(name)((blocks,), (BLOCK,), arguments, shared_mem=self._shared)
