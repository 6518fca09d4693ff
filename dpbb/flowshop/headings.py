"""What the headings of a table say: what its rows are, and which columns are no times.

A heading is split into words: ``Due_Date (h)`` has due, date and h, ``OrderQty`` order
and qty.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from dpbb.errors import refuse

_TABLE = """
job         job order part item product lot
            auftrag auftraege auftragsnummer auftragsnr teil teilenummer artikel produkt
machine     machine mach station workstation workcenter workcentre resource equipment
            maschine maschinen stationen anlage anlagen arbeitsplatz arbeitsplaetze
            arbeitsstation werkzeugmaschine ressource ressourcen
number      id name no nr number index nummer bezeichnung
operation   operation op step arbeitsgang vorgang
none        due duedate deadline tardiness lateness release released releasedate ready
            readytime arrival weight qty quantity amount count batch
            batchsize lotsize priority prio setup changeover customer client
            date start begin end position price cost value revenue family size piece pcs
            completion makespan slack tardy leadtime rj dj wj needed comment remark note
            faellig faelligkeit faelligkeitsdatum termin termine endtermin starttermin
            liefertermin liefertermine lieferdatum lieferfrist frist freigabe
            freigabetermin freigabedatum verfuegbar gewicht gewichte gewichtung menge
            mengen stueckzahl losgroesse auftragsmenge prioritaet prioritaeten ruesten
            ruestzeit ruestzeiten kunde kunden kundennummer kundennr datum
            auftragsdatum preis kosten wert anzahl lieferwoche
            wunschtermin bemerkung kommentar
calendar    calendar shift break holiday kalender schicht pause feiertag
sum         total sum average mean summe summen gesamt mittel
filler      time day hour h min mins minute s sec second d kg g t lb pc unit by
            eur usd of the in per planned earliest latest requested promised
            delivery need required shipping ship wish lead liefer wunsch
            machine maschine st stk stueck tage stunden minuten
"""
"""Words of headings by what they say; those of "none" that a column has no times.

In small letters, without the s of a plural, and with ae, oe, ue, ss for German letters.
Words of "filler" say nothing with one of "none", as do numbers.
"""

_WORDS: dict[str, set[str]] = {}
_kind = ""
for _line in _TABLE.strip().splitlines():
    _kind = _line[:12].strip() or _kind
    _WORDS.setdefault(_kind, set()).update(_line[12:].split())

_JOBS, _MACHINES, _NONE = (_WORDS[kind] for kind in ("job", "machine", "none"))
_NAMED = _JOBS | _MACHINES | {"name", "bezeichnung"}
_LABELS = _NAMED | _WORDS["number"]
_CALENDARS = tuple(_WORDS["calendar"])
_SETUPS = {"setup", "setups", "changeover", "ruesten", "ruestzeit", "ruestzeiten"}
_FILLERS = _WORDS["filler"] | _JOBS | _WORDS["number"] | _WORDS["sum"]
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def _words_of(heading: object) -> list[str]:
    """Return the words and numbers of a heading as they stand in the table."""
    text = re.sub(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])", " ", str(heading))
    words = re.findall(r"[^\W_]+", text.lower().translate(_GERMAN))
    return [re.sub(r"(?<=\w{3})(ies|s)$", _singular, word) for word in words]


def _singular(end: re.Match[str]) -> str:
    return "y" if end[0] == "ies" else ""


def is_label(heading: object) -> bool:
    """Whether a heading is that of a column that names the rows."""
    words = _words_of(heading)
    return str(heading).strip() in ("#", "Unnamed: 0") or _all_in(_LABELS, words)


def label_of(headings: Sequence[str]) -> int | None:
    """Return the place of the column that names the rows; None if no heading says so.

    Of several the first that is not only of their numbers.
    """
    found = [at for at, heading in enumerate(headings) if is_label(heading)]
    named = (at for at in found if _NAMED.intersection(_words_of(headings[at])))
    return next(named, found[0] if found else None)


def is_number(heading: str) -> bool:
    """Whether a heading is of a column that numbers the rows."""
    return heading == "#" or _all_in(_WORDS["number"], _words_of(heading))


def is_setups(title: str) -> bool:
    """Whether a sheet is called as one of set-up times."""
    words = _words_of(title)
    return not _SETUPS.isdisjoint([*words, "".join(words[:2])])


def refuse_calendar(title: str, where: str, hint: str) -> None:
    """Raise InstanceError where a column or sheet is one of a calendar or of shifts.

    ``hint``: how it is left out.
    """
    if any(word.endswith(_CALENDARS) for word in _words_of(title)):
        expected = (
            "no calendars and shifts: count working time alone, or take PyJobShop, "
            "whose machines have breaks"
        )
        refuse(where, expected, f"{title!r}; {hint}")


DATES = ("release", "due", "weight")
"""Columns of a table that are no machines', as they are called in files."""

DATED = "a column of due dates is called due, one of release dates release"
"""What helps where dates are not taken."""

_COLUMNS = {
    "release": "release",
    "releasedate": "release",
    "due": "due",
    "duedate": "due",
    "weight": "weight",
}


def date_of(heading: object) -> str | None:
    """Return which column of dates or weights a heading is of; None: of none."""
    return _COLUMNS.get("".join(_words_of(heading)))


class Placed(NamedTuple):
    """A heading, and where it stands."""

    where: str
    text: str
    n_dates: int = 0


def check_headings(
    corner: Placed,
    rows: Sequence[Placed],
    columns: Sequence[Placed],
    orientation: str | None,
) -> None:
    """Check that headings are those of jobs and of machines.

    Parameters
    ----------
    corner
        Heading of the column that names the rows; its text may be empty.
    rows, columns
        What names them; empty where nothing does.
    orientation
        ``"jobs_rows"`` or ``"machines_rows"``; None: jobs, unless a heading says
        machines.

    Raises
    ------
    InstanceError
        The rows are machines and nobody said so; or a heading is of something else.
    """
    if orientation is None and (said := _says_machines(corner, rows, columns)):
        refuse(
            said.where,
            "rows that are jobs; say orientation machines_rows (--orientation "
            "machines_rows) if they are machines, else jobs_rows",
            f"the heading {said.text!r}",
        )
    turned = orientation == "machines_rows"
    machines, jobs = (rows, columns) if turned else (columns, rows)
    for one in machines:
        hint = f"remove the column, or say --skip-columns {one.text!r}"
        refuse_calendar(one.text, one.where, hint)
    if strange := [one for one in machines if _no_machine(one.text)]:
        names = ", ".join(repr(one.text) for one in strange)
        if turned:
            expected = "a machine's times (dates and weights take rows that are jobs)"
            refuse(strange[0].where, expected, f"the heading {names}; remove the row")
        texts = [f'"{one.text}"' if "," in one.text else one.text for one in strange]
        hint = f"; {DATED}" if any(one.n_dates for one in strange) else ""
        got = f"the heading {names}; remove it, or say --skip-columns "
        got += repr(",".join(texts)) + hint
        refuse(strange[0].where, "a machine's times, release, due or weight", got)
    for one in jobs:
        if _is_sum(one.text):
            refuse(one.where, "a job's times", f"{one.text!r}; remove the row")


def _no_machine(heading: str) -> bool:
    """Whether a heading is not that of a machine's times."""
    words = _words_of(heading)
    words = [whole] if (whole := "".join(words)) in _NONE else words  # such as r_j
    others = (
        word for word in words if word not in _NONE and not re.match(r"m?\d", word)
    )
    if _NONE.intersection(words) and _FILLERS.issuperset(others):
        return True
    return is_label(heading) or _is_sum(heading) or _all_in(_WORDS["operation"], words)


def _is_sum(heading: str) -> bool:
    """Whether a heading is that of a row or column computed of the others."""
    words = _words_of(heading)
    return _all_in(_WORDS["sum"] | {"time"}, words) and words != ["time"]


def _all_in(known: set[str], words: Sequence[str]) -> bool:
    return bool(words) and known.issuperset(words)


def _says_machines(
    corner: Placed, rows: Sequence[Placed], columns: Sequence[Placed]
) -> Placed | None:
    """Return the heading by which rows are machines; None if nothing says so.

    Of a corner such as ``job / machine`` the first word is of the rows.
    """
    known = [word for word in _words_of(corner.text) if word in _JOBS | _MACHINES]
    if known:
        return corner if known[0] in _MACHINES else None
    of_rows, of_columns = (
        [all(_is_one(one.text, *kind) for one in names) for kind in _KINDS]
        if names
        else [False, False]
        for names in (rows, columns)
    )
    if of_rows[1] and not of_columns[1]:
        return rows[0]
    return columns[0] if of_columns[0] and not of_rows[0] else None


_KINDS = ((_JOBS, "j"), (_MACHINES, "m"))


def _is_one(heading: str, words: set[str], letter: str) -> bool:
    """Whether a heading is such as ``machine 3`` or ``M3``."""
    first, *_ = _words_of(heading) or [""]
    return first.rstrip("0123456789") in words | {letter}
