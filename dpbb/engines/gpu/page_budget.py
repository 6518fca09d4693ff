"""For how many explorers the free pages of device memory suffice.

An explorer searches depth first and can say how many pages it will ever hold, but all
explorers of a device together seldom come near to that, and most instances would get
few of them if every one had its pages set aside. So all of them begin, and leave some
pages free. When only those are left, fewer explorers go on and leave half of them, and
so on, until what is free is enough for the worst case of those that are left.
"""

SPARE_SHARE = 4
"""One in so many pages is left free by all explorers."""
FEWER = 4
"""One in so many explorers goes on when pages are used up."""
CLAIM = 64
"""Pages that an explorer may have at hand beside those it fills."""


class PageBudget:
    """Bounds on the explorers of the next launch.

    Attributes
    ----------
    limit : int or None
        Most explorers; None: all. While there is a limit, pages of deep nodes have to
        be explored first: only then is the worst case that of an explorer.
    spare : int
        Pages that they have to leave free.

    Parameters
    ----------
    n_pages
        All pages.
    pages_per_warp
        Pages that one explorer can ever hold.
    """

    def __init__(self, n_pages: int, pages_per_warp: int) -> None:
        self._need = pages_per_warp + CLAIM
        self._spare_of_all = max(self._need, n_pages // SPARE_SHARE)
        self._plenty = (n_pages + self._spare_of_all) // 2
        self.limit: int | None = None
        self.spare = self._spare_of_all

    @property
    def is_last(self) -> bool:
        """Whether there is nothing left to give up: one explorer, no spare page."""
        return self.limit == 1 and self.spare == 0

    def loadable(self, free: int, *, explores: bool) -> int:
        """Pages that new roots may fill; none while explorers are short of pages."""
        if explores and self.limit is not None:
            return 0
        return free - self._spare_of_all

    def look(self, free: int) -> None:
        """Before a launch: take back a limit that the free pages have made needless."""
        if self.limit is None:
            return
        enough = free // self._need
        if free >= self._plenty:
            self.limit, self.spare = None, self._spare_of_all
        elif enough >= self.limit:
            self.limit, self.spare = enough, 0

    def used_up(self, explorers: int, free: int) -> None:
        """After a launch of so many explorers that has run out of pages."""
        if self.limit is None:  # all of them need more than that
            self._plenty = max(self._plenty, free + 1)
        enough = max(1, free // self._need)
        fewer = explorers // FEWER
        if fewer <= enough or free // 2 < self._need:
            self.limit, self.spare = enough, 0
        else:
            self.limit, self.spare = fewer, free // 2
