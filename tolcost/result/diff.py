"""Two costs side by side: the verdict, then what differs, as text, JSON or Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from tolcost.algebra import Witness, to_text
from tolcost.result.compare import Claim, CostComparison, Difference
from tolcost.show.document import Block, Code, Column, Fact, Facts, Lines, Table, write
from tolcost.show.json import Json, document, number

_COLUMNS = (
    Column("part", "part", "code"),
    Column("metric", "metric"),
    Column("old", "old", "form"),
    Column("new", "new", "form"),
    Column("verdict", "verdict"),
)
_VERDICTS = {
    (False, False): "the same EOPs for all lengths",
    (False, True): "never more EOPs, sometimes fewer",
    (False, None): "never more EOPs",
    (True, False): "never fewer EOPs, sometimes more",
    (True, True): "fewer EOPs for some lengths, more for others",
    (True, None): "more EOPs for some lengths; elsewhere not decided",
    (None, False): "never fewer EOPs; whether more is not decided",
    (None, True): "fewer EOPs for some lengths; elsewhere not decided",
    (None, None): "not decided",
}


def diff_written(old: str, new: str, found: CostComparison, form: str) -> str:
    """A comparison in one of the formats."""
    if form == "json":
        changes: list[Json] = [_record(row) for row in found.rows]
        notes: list[Json] = [*found.notes]
        content: dict[str, Json] = {
            "old": old,
            "new": new,
            "verdict": found.verdict,
            "changes": changes,
            "notes": notes,
        }
        return document("diff", content)
    return write(tuple(_blocks(old, new, found, form)), form)


def said_of(claim: Claim) -> str:
    """What is said of the EOPs of the whole."""
    return _VERDICTS[claim.more, claim.less]


def _blocks(old: str, new: str, found: CostComparison, form: str) -> Iterator[Block]:
    """The verdict, then what differs; what is the same is only counted."""
    differing = [row for row in found.rows if row.verdict != "same"]
    yield Lines((f"{old} -> {new}: {said_of(found.whole.claim)}",))
    if differing:
        rows = [(Code(r.part or "total"), r.metric, r.old, r.new, _explained(r)) for r in differing]
        yield Table(_COLUMNS, rows)
    same = len(found.rows) - len(differing)
    if same:
        yield Lines((f"{same} figures are the same" if differing else f"all {same} figures are the same",))
    if found.notes:
        yield Facts(tuple(Fact("note", note) for note in found.notes))


def _explained(row: Difference) -> str:
    words = (("less", row.less), ("more", row.more))
    points = [f"{word} at {_point_text(witness)}" for word, witness in words if witness is not None]
    return f"{row.verdict} ({'; '.join(points)})" if points else row.verdict


def _point_text(witness: Witness) -> str:
    """A point as ``n = 8, m = 1``, and the values there: new, then old."""
    where = ", ".join(f"{s.name} = {v:,}" for s, v in witness.point)
    return f"{where or 'every length'}: {witness.left:,} against {witness.right:,}"


def _record(row: Difference) -> Json:
    return {
        "metric": row.metric,
        "part": row.part,
        "old": to_text(row.old),
        "new": to_text(row.new),
        "verdict": row.verdict,
        "less_at": _point(row.less),
        "more_at": _point(row.more),
    }


def _point(witness: Witness | None) -> Json:
    if witness is None:
        return None
    dims: dict[str, Json] = {symbol.name: number(value) for symbol, value in witness.point}
    return {"dims": dims, "new": number(witness.left), "old": number(witness.right)}
