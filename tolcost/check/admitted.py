"""Which shapes a program admitted before and admits no longer.

A figure says nothing of the shapes at which a program is refused: one that costs the same, but needs
longer inputs than before, fails where it did not.
"""

from __future__ import annotations

from collections.abc import Iterator

from tolcost.algebra import AlgebraBudget, Cond, const, negate, polys_of, prove
from tolcost.check.matching import Meeting, meetings
from tolcost.check.records import LockEntry
from tolcost.diagnostics import Rejected
from tolcost.result.regions import try_shapes


def narrowed(old: LockEntry, new: LockEntry) -> tuple[str, ...]:
    """What a program needs now and did not need before, each in words; nothing where it admits as much."""
    if (old.inputs, old.where) == (new.inputs, new.where):
        return ()
    try:
        return min((tuple(_needs(one)) for one in meetings(old, new)), key=len)
    except (Rejected, AlgebraBudget, RecursionError):  # of which the verdicts tell
        return ()


def _needs(meeting: Meeting) -> Iterator[str]:
    yield from meeting.fixed
    for text, condition in meeting.asked:
        if not prove(condition, meeting.known):
            shape = _refused(condition, meeting.known)
            yield f"it needs {text}" + (
                f": {shape} was right before" if shape else ", for all that is proved"
            )


def _refused(condition: Cond, known: tuple[Cond, ...]) -> str | None:
    """A shape that was admitted and is not any more, if one is found."""
    mentioned = sum(polys_of(condition), const(0))
    found = next(try_shapes(mentioned, mentioned, (*known, negate(condition))), None)
    return None if found is None else ", ".join(f"{s.name}={value}" for s, value in found.point.items())
