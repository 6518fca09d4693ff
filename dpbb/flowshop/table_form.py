"""How a table of a file is to be read: which columns, and what its cells mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Literal, NoReturn, get_args

from dpbb.errors import refuse, shown
from dpbb.flowshop.headings import DATED
from dpbb.flowshop.text_formats import number_in
from dpbb.text.clock import EXAMPLE, Clock, Unit, is_date, read_date

_CLOCK = re.compile(r"(\d{1,9}):([0-5]\d)(?::([0-5]\d)(\.\d+)?)?")
_DECIMALS = re.compile(r"\+?(\d{1,18}\.?\d{0,18}|\.\d{1,18})")
_OTHER_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}( .*)?")
_THOUSANDS = re.compile(r"\d{1,3}([., '\u00a0\u2019]\d{3})+")
_COMMA = re.compile(r"([+-]?\d+),(\d*)")

NEAR = Fraction(1, 10**6)
"""What workbooks compute is as near to whole numbers."""

Mark = Literal[".", ","]
"""Of decimals."""

Blank = Literal["refuse", "zero"]
"""What a blank cell of times is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableForm:
    """How CSV files and workbooks are read; ``dpbb help tables`` has the same options.

    Parameters
    ----------
    columns
        Headings of the columns that are read, machines in this order; default: all.
        The column that names the rows is found.
    skip_columns
        Headings of columns that are not read.
    sheet
        Name of the sheet of a workbook; besides it those of set-ups are read.
    decimal, thousands
        Marks in numbers that are texts. Default: a point, but a comma where semicolons
        or tabs separate columns; and none.
    scale
        Times are multiplied by it, as are set-ups, and release and due dates that are
        numbers: 60 makes minutes of hours, and of ``1:24``.
    blank
        ``"zero"``: blank cells of times are 0; ``"refuse"``.
    origin, unit
        Dates in columns of release and due dates are counted from the origin (a
        ``datetime`` or an ISO text) in a unit (``s``, ``min``, ``h`` or ``d``), in
        which times are. Schedules then show dates.

    Raises
    ------
    InstanceError
        Says which one, what is allowed and what came.

    Examples
    --------
    >>> TableForm(scale=60).value("1:24", "A1", "cut", "time", True)
    84
    """

    columns: Sequence[str] | None = None
    skip_columns: Sequence[str] = ()
    sheet: str | None = None
    decimal: Mark | None = None
    thousands: str | None = None
    scale: int = 1
    blank: Blank = "refuse"
    origin: datetime | str | None = None
    unit: Unit | None = None

    def __post_init__(self) -> None:
        for name, texts in (
            ("columns", self.columns),
            ("skip_columns", self.skip_columns),
        ):
            if texts is not None and (
                isinstance(texts, str) or not all(isinstance(one, str) for one in texts)
            ):
                refuse(name, "a list of headings", shown(texts))
        if self.decimal not in (None, *get_args(Mark)):
            refuse("decimal", "'.' or ','", shown(self.decimal))
        if (mark := self.thousands) is not None:
            if len(mark) != 1 or mark.isalnum() or mark in "+-:":
                refuse("thousands", "a mark such as ',' or '.'", shown(mark))
            if mark == self.decimal:
                refuse("thousands", "another mark than that of decimals", shown(mark))
        if type(self.scale) is not int or not 1 <= self.scale <= 10**9:
            refuse("scale", "a whole number from 1 to 10**9", shown(self.scale))
        if self.blank not in get_args(Blank):
            refuse("blank", " or ".join(get_args(Blank)), shown(self.blank))
        if (self.origin is None) != (self.unit is None):
            given = "unit" if self.origin is None else "origin"
            refuse("origin, unit", "both or none (a date, and what 1 is)", given)
        if self.origin is not None and not isinstance(self.origin, datetime):
            object.__setattr__(self, "origin", read_date(str(self.origin), "origin"))
        _ = self.clock  # which checks them

    @property
    def clock(self) -> Clock | None:
        """What times mean as dates; None: nobody said so."""
        if self.unit is None or not isinstance(self.origin, datetime):
            return None
        return Clock(self.origin, self.unit)

    def plain(self, text: str, where: str, decimal: str = ".") -> str:
        """Return a number with a decimal point and no other mark; other texts as is.

        ``decimal``: the mark of decimals unless one was said, or follows from that of
        thousands.

        InstanceError: it has a decimal point where a comma was said.
        """
        said = self.decimal or {",": ".", ".": ","}.get(self.thousands or "")
        mark, text = said or decimal, text.strip()
        if self.thousands is not None:
            by, end = re.escape(self.thousands), re.escape(mark)
            if re.fullmatch(rf"[+-]?\d{{1,3}}({by}\d{{3}})+({end}\d*)?", text):
                text = text.replace(self.thousands, "")
        if mark != ",":
            return text
        if said and re.fullmatch(r"[+-]?\d+(\.\d+)+(,\d*)?", text):
            expected = "a number with a decimal comma"
            refuse(where, expected, f"{text!r}; --thousands . takes points out")
        return _COMMA.sub(r"\1.\2", text) if _COMMA.fullmatch(text) else text

    def value(
        self, cell: str, where: str, heading: str, kind: str, needed: bool
    ) -> int:
        """Return what a cell means: its whole number >= 0, or the time of a date.

        ``kind``: ``"time"``, ``"release"``, ``"due"`` or ``"weight"``. ``needed``:
        whether its column has other numbers, so that it is not to be left out.

        InstanceError: names what takes it; or there is no origin to count from.
        """
        if not cell and kind != "time":
            named = kind if kind == "weight" else f"{kind} date"
            return number_in(cell, where, f"; every job needs its {named}")
        if not cell and self.blank == "zero":
            return 0
        if kind in ("release", "due") and is_date(cell):
            date = read_date(cell, where)
            if self.clock is None:
                got = f"the date {cell!r}; --origin {EXAMPLE} --unit min takes dates"
                refuse(where, "a whole number >= 0", got)
            return self.clock.time(date, where)
        clock = _CLOCK.fullmatch(cell)
        scale = 1 if kind == "weight" else self.scale
        if scale == 1 or not (clock or _DECIMALS.fullmatch(cell)):
            return number_in(cell, where, self._hint(cell, heading, needed))
        if clock:
            hours, minutes, seconds, part = clock.groups()
            value = Fraction(int(hours)) + Fraction(int(minutes), 60)
            value += (int(seconds or 0) + Fraction(part or 0)) / 3600
        else:
            value = Fraction(cell)
        value *= scale
        found = round(value)
        if abs(value - found) > NEAR:
            expected = f"a time that is whole when multiplied by {scale}"
            hint = "a larger --scale, with a smaller --unit, is finer"
            refuse(where, expected, f"{cell!r}; {hint}")
        return found

    def _hint(self, cell: str, heading: str, needed: bool) -> str:
        """Return which option would take a cell that is no whole number."""
        scale = "; --scale 60 multiplies all times and set-ups, as minutes of hours"
        if not cell:
            return "; --blank zero takes it as 0"
        if is_date(cell):
            return f"; {DATED}"
        if _OTHER_DATE.fullmatch(cell):
            return f"; texts of dates are such as {EXAMPLE}"
        if _CLOCK.fullmatch(cell):
            return scale
        if _THOUSANDS.fullmatch(cell):
            mark = next(one for one in cell if not one.isdecimal())
            return f"; --thousands {mark!r} or --decimal {mark!r} says what it means"
        if _COMMA.fullmatch(cell):
            return "; --decimal , takes it"
        if _DECIMALS.fullmatch(cell):
            return scale
        left_out = f"; --skip-columns {heading!r} leaves the column out"
        return left_out if heading and not needed else ""

    def chosen(self, headings: Sequence[str], where: str) -> list[int]:
        """Return the places of the columns to read, machines in their order.

        ``headings``: empty where there are none.

        InstanceError: one of those that were said is not there.
        """
        named = {" ".join(one.split()): at for at, one in enumerate(headings) if one}
        for flag, texts in (
            ("--columns", self.columns or ()),
            ("--skip-columns", self.skip_columns),
        ):
            for text in texts:
                if " ".join(text.split()) not in named:
                    _refuse_heading(flag, text, headings, where)
        read = [*range(len(headings))]
        if self.columns is not None:
            read = [named[" ".join(text.split())] for text in self.columns]
        return [at for at in dict.fromkeys(read) if not self.skips(headings[at])]

    def skips(self, heading: str) -> bool:
        """Whether a column is not to be read."""
        return heading.split() in [text.split() for text in self.skip_columns]


def _refuse_heading(
    flag: str, text: str, headings: Sequence[str], where: str
) -> NoReturn:
    known = ", ".join(filter(None, headings))
    expected = f"one of the headings {known}" if known else "a line of headings"
    refuse(where, f"{expected} for {flag}", shown(text))


AS_IT_IS = TableForm()
"""Nothing was said."""
