"""Two costs side by side: the verdicts on each figure, on parts and on the whole, and their display."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec import Struct

from tolcost.algebra import Poly, Witness, to_text
from tolcost.cost.device import is_time, time_text
from tolcost.result.claims import Claim, Relation
from tolcost.result.judgement import FormJudgement
from tolcost.result.metrics import LEADING
from tolcost.result.regions import EVERYWHERE
from tolcost.result.study import FUNCTIONS
from tolcost.show.document import (
    Cell,
    Code,
    Column,
    Fact,
    Facts,
    Json,
    Lines,
    ReportTable,
    Section,
    Verdict,
    document,
    lengths_text,
    number,
    write,
)
from tolcost.show.shorten import percent_text, shortened, si

_FORM = 40
_MOST_PARTS = 20
_THERE = "at these lengths"
_VERDICTS = {
    (False, False): f"the same EOPs {EVERYWHERE}",
    (False, True): "never more EOPs, fewer {less}",
    (False, None): "never more EOPs",
    (True, False): "never fewer EOPs, more {more}",
    (True, True): "fewer EOPs {less}, more {more}",
    (True, None): "more EOPs {more}; elsewhere not decided",
    (None, False): "never fewer EOPs; whether more is not decided",
    (None, True): "fewer EOPs {less}; elsewhere not decided",
    (None, None): "not decided",
}


class FigureDifference(Struct, frozen=True):
    """A figure before and after, and the verdict on the difference."""

    metric: str
    part: str
    old: Poly
    new: Poly
    judged: FormJudgement
    less_where: str = ""
    more_where: str = ""
    """The exact regions where it is less and where it is more, in words; empty if there are none known."""
    at: tuple[int, int] | None = None
    """Its old and new values at the point that the comparison shows."""
    why: str = ""
    """Why it is undecided, and what would decide it."""

    @property
    def claim(self) -> Claim:
        """Whether it is more somewhere, and whether it is less."""
        return self.judged.claim

    @property
    def less(self) -> Witness | None:
        """A point where it is less, if there is one."""
        return self.judged.less

    @property
    def more(self) -> Witness | None:
        """A point where it is more, if there is one."""
        return self.judged.more

    @property
    def verdict(self) -> Relation:
        """The verdict in one word."""
        return self.judged.relation


class CostComparison(Struct, frozen=True):
    r"""Every figure of two costs, old beside new, and the assumptions made to compare them.

    ``layers`` are the EOPs of parts of two models; ``point`` names the lengths at which figures are shown.

    >>> import tolcost
    >>> found = tolcost.diff("tol x: R [n]\ny := map(x, exp(*))", "tol x: R [n]\ny := map(x, * * * + 1)")
    >>> found.whole.verdict, found.whole.old, found.whole.new
    ('costlier', n, 2*n)
    >>> found
    <CostComparison <text> -> <text>: more EOPs for all lengths>
    """

    old: str
    new: str
    rows: tuple[FigureDifference, ...]
    notes: tuple[str, ...] = ()
    complete: bool = True
    layers: tuple[FigureDifference, ...] = ()
    point: str | None = None
    settled: bool = False
    """Whether all lengths of both are given, so that the verdict is about these lengths only."""

    def written(self, form: str) -> str:
        """Write the comparison as ``text``, ``md``, ``json``, ``html`` or a ``fragment`` of a page."""
        return _written(self, form)

    def __str__(self) -> str:
        """The output of ``tolcost diff``."""
        return self.written("text")

    def __repr__(self) -> str:
        """The names of the two, and the verdict on the whole."""
        return f"<CostComparison {self.old} -> {self.new}: {self.said}>"

    def _repr_html_(self) -> str:
        """The output of ``tolcost diff``, for notebooks."""
        return self.written("fragment")

    @property
    def whole(self) -> FigureDifference:
        """The EOPs of the whole."""
        return next(row for row in self.rows if row.metric == LEADING and not row.part)

    @property
    def verdict(self) -> Relation:
        """The verdict on the whole, in one word."""
        return self.whole.verdict

    @property
    def said(self) -> str:
        """The verdict on the whole, in a sentence."""
        said = said_of(self.whole.claim, self.whole.less_where, self.whole.more_where)
        return said.replace(EVERYWHERE, _THERE) if self.settled else said


def _written(found: CostComparison, form: str) -> str:
    """Write a comparison in one of the formats."""
    if form == "json":
        return document("diff", _record(found))
    blocks = tuple(_blocks(found))
    if form == "html":
        from tolcost.show.html import document_page

        return document_page(f"{found.old} and {found.new}", write(blocks, "fragment"))
    return write(blocks, form)


def said_of(claim: Claim, less_where: str = "", more_where: str = "") -> str:
    """Write the verdict on the EOPs of the whole.

    >>> said_of(Claim(more=True, less=True), "from h = 10 on", "where h < 9")
    'fewer EOPs from h = 10 on, more where h < 9'
    >>> said_of(Claim(more=True, less=True))
    'fewer EOPs for some lengths, more for others'
    """
    sure = {(False, True): less_where, (True, False): more_where}.get((bool(claim.more), bool(claim.less)))
    if sure == EVERYWHERE and None not in (claim.more, claim.less):
        return f"{'more' if claim.more else 'fewer'} EOPs {EVERYWHERE}"
    less = less_where or "for some lengths"
    more = more_where or ("for others" if claim.less else "for some lengths")
    return _VERDICTS[claim.more, claim.less].format(less=less, more=more)


def _blocks(found: CostComparison) -> Iterator[Section]:
    """Yield the verdict, then the figures that differ; equal figures are only counted."""
    yield Lines((f"{found.old} -> {found.new}: {found.said}",))
    differing = [row for row in found.rows if row.verdict != "same"]
    figures = [row for row in differing if not row.part]
    parts = [row for row in differing if row.part and row.metric != "macs"]
    yield from _table("figure", "metric", figures, found.point, forms=True)
    yield from _table("part", "part", parts, found.point, forms=found.point is None or not found.layers)
    changed = [row for row in found.layers if row.verdict != "same"]
    yield from _table("layer", "part", changed, found.point, forms=found.point is None)
    same = len(found.rows) - len(differing)
    if same:
        counted = f"{same} {'figure is' if same == 1 else 'figures are'} the same"
        yield Lines((counted if differing else f"all {counted}",))
    reasons = dict.fromkeys(row.why for row in (found.whole, *figures) if row.why)
    yield Facts((*(Fact("undecided", why) for why in reasons), *(Fact("note", note) for note in found.notes)))


def _table(
    title: str, key: str, rows: Sequence[FigureDifference], point: str | None, forms: bool
) -> Iterator[Section]:
    if not rows:
        return
    shown = sorted(rows, key=lambda row: -abs(row.at[1] - row.at[0]) if row.at else 0)
    shown = list(rows) if key == "metric" else shown[:_MOST_PARTS]
    several = key == "part" and len({row.metric for row in rows if row.part != FUNCTIONS}) > 1
    at = f"at {point}" if point else "value"
    columns = (
        Column(key, title, "code"),
        Column("metric", "metric", shown=several),
        Column("old", "old", "code", shown=forms),
        Column("new", "new", "code", shown=forms),
        Column("at", at, "number", shown=point is not None),
        Column("change", "change", "number", shown=point is not None),
        Column("verdict", "verdict"),
    )
    yield ReportTable(columns, [(*_cells(row, key), explained(row)) for row in shown])
    if len(rows) > len(shown):
        yield Lines((f"and {len(rows) - len(shown):,} more: --format json",))


def _cells(row: FigureDifference, key: str) -> tuple[Cell, ...]:
    shown = time_text if is_time(row.metric) else si
    at = "" if row.at is None else f"{shown(row.at[0])} -> {shown(row.at[1])}"
    name = row.metric if key == "metric" or row.part == FUNCTIONS else row.part
    return Code(name), row.metric, _form(row.old), _form(row.new), at, _percent(row)


def _form(form: Poly) -> Code:
    return Code(shortened(form, _FORM))


def _percent(row: FigureDifference) -> Cell:
    """Return the change as a percentage of the old figure."""
    if row.at is None or not any(row.at):
        return ""
    if not row.at[0]:
        return Verdict("new", good=False)
    part = Fraction(row.at[1] - row.at[0], row.at[0])
    return Verdict(f"{'-' if part < 0 else '+'}{percent_text(abs(part))}", None if not part else part < 0)


def explained(row: FigureDifference) -> str:
    """Write the verdict on a figure, with the lengths at which it is less and more, where they are known."""
    where = (("cheaper", row.less_where), ("costlier", row.more_where))
    said = ", ".join(f"{word} {text}" for word, text in where if text and text != EVERYWHERE)
    if said:
        return said
    words = (("less", row.less), ("more", row.more))
    points = [
        f"{word} at {lengths_text(witness.point) or 'every length'}"
        for word, witness in words
        if witness is not None
    ]
    return f"{row.verdict}: {'; '.join(points)}" if points and row.verdict == "crosses" else row.verdict


def _record(found: CostComparison) -> dict[str, Json]:
    changes: list[Json] = [_row_json(row) for row in found.rows]
    layers: list[Json] = [_row_json(row) for row in found.layers]
    notes: list[Json] = [*found.notes]
    return {
        "old": found.old,
        "new": found.new,
        "verdict": found.verdict,
        "at": found.point,
        "changes": changes,
        "layers": layers,
        "notes": notes,
    }


def _row_json(row: FigureDifference) -> Json:
    return {
        "metric": row.metric,
        "part": row.part,
        "old": to_text(row.old),
        "new": to_text(row.new),
        "verdict": row.verdict,
        "less_at": _point(row.less),
        "more_at": _point(row.more),
        "less_where": row.less_where or None,
        "more_where": row.more_where or None,
        "old_value": None if row.at is None else number(row.at[0]),
        "new_value": None if row.at is None else number(row.at[1]),
        "why": row.why or None,
    }


def _point(witness: Witness | None) -> Json:
    if witness is None:
        return None
    dims: dict[str, Json] = {symbol.name: number(value) for symbol, value in witness.point}
    return {"dims": dims, "new": number(witness.left), "old": number(witness.right)}
