"""Differences in cost as text, JSON and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from tolcost.algebra import Witness, to_text
from tolcost.diagnostics import visible
from tolcost.models.difference import Change, verdict_of
from tolcost.report.model_tables import markdown_table
from tolcost.report.model_text import columns
from tolcost.show.escape import markdown_code, markdown_text
from tolcost.show.json import Json, document, number

_WIDEST = 60


def diff_text(old: str, new: str, rows: Sequence[Change]) -> str:
    """The verdict, then what differs; what is the same is only counted."""
    differing = [row for row in rows if row.verdict != "same"]
    head = f"{visible(old)} -> {visible(new)}: {_verdict(verdict_of(rows))}"
    if not differing:
        return f"{head}\nall {len(rows)} figures are the same\n"
    table = [["", "", "old", "new", "verdict"]]
    table += [
        [visible(r.part) or "total", r.metric, _short(r.old), _short(r.new), _explained(r)] for r in differing
    ]
    same = len(rows) - len(differing)
    return f"{head}\n\n{columns(table, set())}\n" + (f"\n{same} figures are the same\n" if same else "")


def _short(form: object) -> str:
    text = str(form)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _verdict(word: str) -> str:
    return {
        "same": "the same EOPs for all lengths",
        "cheaper": "never more EOPs, sometimes fewer",
        "costlier": "never fewer EOPs, sometimes more",
        "crosses": "fewer EOPs for some lengths, more for others",
        "undecided": "not decided",
    }[word]


def _explained(row: Change) -> str:
    points = [
        f"{word} at {point_text(w)}" for word, w in (("less", row.less), ("more", row.more)) if w is not None
    ]
    return f"{row.verdict} ({'; '.join(points)})" if points else row.verdict


def point_text(witness: Witness) -> str:
    """A point as ``n = 8, m = 1``, and the values there: new, then old."""
    where = ", ".join(f"{visible(s.name)} = {v:,}" for s, v in witness.point)
    return f"{where or 'every length'}: {witness.left:,} against {witness.right:,}"


def diff_json(old: str, new: str, rows: Sequence[Change]) -> str:
    """The document of a difference."""
    return document(
        "diff", {"old": old, "new": new, "verdict": verdict_of(rows), "changes": [_record(r) for r in rows]}
    )


def _record(row: Change) -> dict[str, Json]:
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


def diff_markdown(old: str, new: str, rows: Sequence[Change]) -> str:
    """What differs, as a table."""
    table = [["part", "metric", "old", "new", "verdict"]]
    for row in rows:
        if row.verdict != "same":
            cells = [
                markdown_code(to_text(row.old)),
                markdown_code(to_text(row.new)),
                markdown_text(_explained(row)),
            ]
            table.append([markdown_code(row.part or "total"), row.metric, *cells])
    head = f"{markdown_code(old)} → {markdown_code(new)}: {_verdict(verdict_of(rows))}"
    return f"{head}\n\n{markdown_table(table)}\n"
