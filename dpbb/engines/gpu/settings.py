"""The settings of a session: what its tuner says, and the kernels that belong to it.

What has been found is kept for the process: the next session for the same shape of
instance on the same device starts with it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

from dpbb.engines.gpu.tuning import SLICES_S, Autotuner, Setting
from dpbb.options import Tuning

if TYPE_CHECKING:
    from dpbb.engines.gpu.kernels import Kernels

logger = logging.getLogger(__name__)

BLOCK_SIZE = 128
"""Threads of a block, to begin with."""

BLOCK_SIZES = (256, 512)
"""What is tried as well."""

_found: dict[Hashable, Setting] = {}


class Settings:
    """Setting and kernels of the next slice.

    Parameters
    ----------
    kernels
        To begin with.
    tuning
        What is given is not tuned.
    tunes_launch
        Whether explorers and block size may change during the session.
    """

    def __init__(self, kernels: Kernels, tuning: Tuning, *, tunes_launch: bool) -> None:
        shape = kernels.shape
        self._first = kernels
        self._made: dict[int, Kernels | None] = {shape.threads: kernels}
        self._making: set[int] = set()
        self._key: Hashable = None
        self._tuner: Autotuner | None = None
        start = Setting(tuning.slice_s or SLICES_S[1], 1.0, shape.threads)
        if (tuning.slice_s, tuning.explorers, tuning.block_size) == (None, None, None):
            self._key = (kernels.exploration, kernels.device, replace(shape, warps=1))
            found = _found.get(self._key)
            if found is not None:
                self._fixed = found
                return
        self._fixed = start
        # other blocks hold other multiples of warps than the explorers that were given
        is_free = tuning.block_size is None and tuning.explorers is None
        self._tuner = Autotuner(
            start,
            tunes_slice=tuning.slice_s is None,
            tunes_explorers=tunes_launch and tuning.explorers is None,
            block_sizes=BLOCK_SIZES if tunes_launch and is_free else (),
            prepare=self._prepare,
        )

    @property
    def now(self) -> Setting:
        """The setting of the next slice."""
        return self._fixed if self._tuner is None else self._tuner.setting

    @property
    def kernels(self) -> Kernels:
        """Kernels of that setting."""
        size = self.now.block_size
        if size not in self._made:
            self._make(size)
        return self._made[size] or self._first

    def note(self, nodes: int, seconds: float, *, steady: bool) -> None:
        """Take in a slice; see ``Autotuner.note``."""
        tuner = self._tuner
        if tuner is None:
            return
        tuner.note(nodes, seconds, steady=steady)
        if tuner.done:
            self._fixed, self._tuner = tuner.best, None
            if self._key is not None:
                _found[self._key] = tuner.best
            logger.info("device %d: tuned to %s", self._first.device, tuner.best)

    def _prepare(self, block_size: int) -> bool | None:
        if block_size in self._made:
            return None if self._made[block_size] is None else True
        if block_size not in self._making:
            self._making.add(block_size)
            # the compiler takes seconds, and lets the others work meanwhile
            threading.Thread(
                target=self._make, args=(block_size,), name="dpbb-nvrtc", daemon=True
            ).start()
        return False

    def _make(self, block_size: int) -> None:
        try:
            kernels = self._first.of_block(block_size)
        except Exception as error:  # noqa: BLE001
            # whatever it is, the session goes on with what it has, and the tuner, which
            # waits for an answer, with the next candidate
            logger.warning("no blocks of %d threads: %s", block_size, error)
            self._made[block_size] = None
        else:
            self._made[block_size] = kernels
