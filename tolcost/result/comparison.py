"""Two costs side by side: the verdicts on each figure, on parts and on the whole, and their display."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from tolcost.algebra import Poly, Symbol, Witness, quoted, to_text
from tolcost.certainty import INCOMPLETE, Certainty
from tolcost.cost.device import is_time
from tolcost.result.claims import Claim, Relation
from tolcost.result.judgement import FormJudgement
from tolcost.result.metrics import IN_BYTES, LABELS, LEADING
from tolcost.result.regions import EVERYWHERE
from tolcost.result.study import FUNCTIONS
from tolcost.show.document import (
    Caution,
    Cell,
    Code,
    Column,
    Fact,
    Facts,
    Json,
    Lines,
    ReportTable,
    Section,
    ShortForm,
    Verdict,
    document,
    lengths_text,
    number,
    text_of,
    write,
)
from tolcost.show.shorten import change_text, short_form, shortened, si, time_texts

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
    less_from: tuple[Symbol, int] | None = None
    more_from: tuple[Symbol, int] | None = None
    """A length and its value from which on it is less, or more, whatever the other lengths are."""
    turns: tuple[Symbol, int] | None = None
    """The length, and its value nearest to that shown, at which the verdict is another, if all decide it."""
    sure: tuple[Certainty, Certainty] = ("exact", "exact")
    """How certain the two forms are."""
    unknown: tuple[bool, bool] = (False, False)
    """Whether nothing of the old, or of the new figure is known, since no node of the part is costed."""
    at: tuple[int, int] | None = None
    """Its old and new values at the point that the comparison shows."""
    why: str = ""
    """Why it is undecided, and what would decide it."""

    @property
    def claim(self) -> Claim:
        """Whether it is more somewhere, and whether it is less."""
        return self.judged.claim

    @property
    def regions(self) -> tuple[str, str]:
        """Where it is less and where it is more, in words for readers: by one length if one decides it."""
        if self.less_from is not None:
            return _from(self.less_from), self.more_where and _below(self.less_from)
        if self.more_from is not None:
            return self.less_where and _below(self.more_from), _from(self.more_from)
        return self.less_where, self.more_where

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

    ``layers`` are the EOPs of parts of two models; ``lengths`` are those at which figures are shown.

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
    lengths: tuple[tuple[str, int], ...] | None = None
    settled: bool = False
    """Whether all lengths of both are given, so that the verdict is about these lengths only."""
    missing: tuple[str, str] = ("", "")
    """What is not costed of the old one, and of the new one, in words."""

    def written(self, form: str, colour: bool = False, width: int | None = None) -> str:
        """Write the comparison as ``text``, ``md``, ``json``, ``html`` or a ``fragment`` of a page."""
        return _written(self, form, colour, width)

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
    def point(self) -> str | None:
        """The lengths at which figures are shown, in words; None if there are none that both allow."""
        return None if self.lengths is None else lengths_text(self.lengths)

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
        """The verdict on the EOPs of the whole, in a sentence, and on figures of which it tells nothing."""
        said, others = said_of(self.whole.claim, *self.whole.regions), self.others
        if others and self.verdict == "same":
            said = said.removesuffix(f" {EVERYWHERE}")
        texts = [f"{shown_name(row.metric)} {_told(row)}" for row in others[:_MOST_OTHERS]]
        texts += [f"{len(others) - len(texts)} more figures differ"] if len(others) > len(texts) else []
        said = "; ".join((said, *texts))
        return said.replace(EVERYWHERE, _THERE) if self.settled else said

    @property
    def others(self) -> tuple[FigureDifference, ...]:
        """The figures of the whole that differ although EOPs do not, or are more although EOPs are not."""
        if self.verdict not in _NOT_MORE:
            return ()
        apart = ("same", "undecided", *(_NOT_MORE if self.verdict != "same" else ()))
        return tuple(row for row in self.rows if not row.part and row.verdict not in apart)


_NOT_MORE = ("same", "cheaper", "not costlier")
_MOST_OTHERS = 3
_BOUNDS: tuple[Certainty, Certainty] = ("upper bound", "upper bound")


def shown_name(metric: str) -> str:
    """Return the name under which a table shows a metric: its label, as on pages.

    >>> shown_name("span"), shown_name("peak_bytes"), shown_name("time_h200")
    ('depth', 'peak activations', 'time_h200')
    """
    return LABELS.get(metric, metric)


def _told(row: FigureDifference) -> str:
    """Return the verdict on a figure as part of a heading, with its change in percent."""
    everywhere = EVERYWHERE in row.regions and row.verdict in ("cheaper", "costlier")
    change = _percent(row, 0)
    said = f"{row.verdict} {EVERYWHERE}" if everywhere else str(explained(row))
    return f"{said} ({change})" if change else said


def _from(line: tuple[Symbol, int]) -> str:
    return f"from {quoted(line[0].name)} = {line[1]:,} on"


def _below(line: tuple[Symbol, int]) -> str:
    return f"for some lengths where {quoted(line[0].name)} < {line[1]:,}"


def _written(found: CostComparison, form: str, colour: bool, width: int | None) -> str:
    """Write a comparison in one of the formats."""
    if form == "json":
        return document("diff", _record(found))
    blocks = tuple(_blocks(found))
    if form == "html":
        from tolcost.show.html import document_page

        return document_page(f"{found.old} and {found.new}", write(blocks, "fragment"))
    return write(blocks, form, colour, width)


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
    relation: Relation = "crosses" if found.others else found.verdict
    yield Lines((news(f"{found.old} -> {found.new}: {found.said}", relation),))
    differing = [row for row in found.rows if row.verdict != "same" and not _is_same_bound(row)]
    figures = [row for row in differing if not row.part]
    parts = [row for row in differing if row.part and row.metric != "macs"]
    yield from _table("figure", "metric", figures, found.point, forms=True)
    yield from _table("part", "part", parts, found.point, forms=found.point is None or not found.layers)
    changed = [row for row in found.layers if row.verdict != "same"]
    yield from _table("layer", "part", changed, found.point, forms=found.point is None)
    yield from _same(found)
    reasons = dict.fromkeys(row.why for row in (found.whole, *figures) if row.why)
    undecided = (Fact("undecided", Caution(why)) for why in reasons)
    sides = zip((found.old, found.new), found.missing, strict=True)
    lacking = (Fact("not costed", Caution(said), f"in {file}") for file, said in sides if said)
    notes = (*found.notes, *_unit_of_times(found))
    yield Facts((*lacking, *undecided, *(Fact("note", note) for note in notes)))


def _unit_of_times(found: CostComparison) -> Iterator[str]:
    """Tell the unit of the closed forms of times, if there are any."""
    times = [row.metric for row in found.rows if not row.part and is_time(row.metric)]
    if times:
        yield f"closed forms of {' and '.join(times)} are in attoseconds"


def _same(found: CostComparison) -> Iterator[Section]:
    """Name the figures of the whole that are the same, and count those of parts."""
    same = [row for row in found.rows if row.verdict == "same"]
    names = [shown_name(row.metric) for row in same if not row.part]
    parts = sum(bool(row.part) for row in same)
    names += [f"{parts:,} figure{'s' if parts > 1 else ''} of parts"] if parts else []
    bounds = [shown_name(row.metric) for row in found.rows if _is_same_bound(row)]
    lines = (("the same", names), ("the same upper bound", bounds))
    yield Lines(tuple(f"{title}: {', '.join(listed)}" for title, listed in lines if listed))


def _is_same_bound(row: FigureDifference) -> bool:
    """Whether nothing is known of a figure but the same upper bound; EOPs are told in any case."""
    plain = not row.part and row.metric != LEADING and not any(row.unknown)
    return plain and row.verdict == "undecided" and row.old == row.new and row.sure == _BOUNDS


def _table(
    title: str, key: str, rows: Sequence[FigureDifference], point: str | None, forms: bool
) -> Iterator[Section]:
    if not rows:
        return
    shown = sorted(rows, key=lambda row: -abs(row.at[1] - row.at[0]) if row.at else 0)
    shown = list(rows) if key == "metric" else shown[:_MOST_PARTS]
    several = key == "part" and len({row.metric for row in rows if row.part != FUNCTIONS}) > 1
    at = f"at {point}" if point else "value"
    most = max((abs(row.at[1] - row.at[0]) for row in rows if row.at), default=0)
    columns = (
        Column(key, title, "text" if key == "metric" else "code"),
        Column("metric", "metric", shown=several),
        Column("old", "old", "code", shown=forms),
        Column("new", "new", "code", shown=forms),
        Column("at", at, "number", shown=point is not None),
        Column("change", "change", "number", shown=point is not None),
        Column("verdict", "verdict"),
    )
    yield ReportTable(columns, [(*_cells(row, key, most), explained(row)) for row in shown])
    if len(rows) > len(shown):
        yield Lines((f"and {len(rows) - len(shown):,} more: --format json",))


def _cells(row: FigureDifference, key: str, most: int) -> tuple[Cell, ...]:
    values = () if row.at is None else time_texts(*row.at) if is_time(row.metric) else _amounts(row)
    metric = shown_name(row.metric)
    at = [_bounded(text, *side) for text, side in zip(values, _certain(row), strict=False)]
    forms = [_form(form, *side) for form, side in zip((row.old, row.new), _certain(row), strict=True)]
    return (
        metric if key == "metric" else Code(metric if row.part == FUNCTIONS else row.part),
        metric,
        *forms,
        " -> ".join(at),
        _percent(row, most if key == "part" else 0),
    )


def _amounts(row: FigureDifference) -> Iterator[str]:
    unit = "B" if row.metric in IN_BYTES else ""
    return (si(value, unit) for value in row.at or ())


def _certain(row: FigureDifference) -> Iterator[tuple[Certainty, bool]]:
    return zip(row.sure, row.unknown, strict=True)


def _bounded(text: str, sure: Certainty, unknown: bool) -> str:
    """Write a number so that it does not look like the cost if parts are not costed."""
    return "not costed" if unknown else f"at least {text}" if sure == "lower bound" else text


def _form(form: Poly, sure: Certainty, unknown: bool) -> Cell:
    if unknown or sure == "lower bound":
        return "not costed" if unknown else ShortForm(_bounded(shortened(form, _FORM), sure, unknown), form)
    known = form.constant
    return Code(text_of(form, grouped=True)) if known is not None else short_form(form, _FORM)


def _percent(row: FigureDifference, most: int) -> Cell:
    """Return the change as a percentage of the old figure, with its share of the largest change beside it.

    What is not costed, or only in part, has none.
    """
    if row.at is None or not any(row.at) or any(row.unknown) or not INCOMPLETE.isdisjoint(row.sure):
        return ""
    share = float(Fraction(abs(row.at[1] - row.at[0]), most)) if most else None
    if not row.at[0]:
        return Verdict("new", False, share)
    was, now = row.at
    return Verdict(change_text(was, now), None if was == now else (now < was) == (was > 0), share)


def explained(row: FigureDifference) -> Verdict:
    """Return the verdict on a figure in words, with the lengths at which it is less and more."""
    where = zip(("cheaper", "costlier"), row.regions, strict=True)
    said = ", ".join(f"{word} {text}" for word, text in where if text and text != EVERYWHERE)
    if said and row.turns is not None:
        said = f"{said}, turns at {lengths_text([(row.turns[0].name, row.turns[1])])}"
    words = (("less", row.less), ("more", row.more))
    points = [
        f"{word} at {lengths_text(witness.point) or 'every length'}"
        for word, witness in words
        if witness is not None
    ]
    crossing = f"{row.verdict}: {'; '.join(points)}" if points and row.verdict == "crosses" else row.verdict
    return news(said or crossing, row.verdict)


def news(text: str, relation: Relation) -> Verdict:
    """Return a verdict in words: good news if it is never more, bad news if it is never less."""
    if relation in _GOOD:
        return Verdict(text, _GOOD[relation])
    return Caution(text)


_GOOD: Mapping[Relation, bool | None] = {
    "same": None,
    "cheaper": True,
    "not costlier": True,
    "costlier": False,
}


def _record(found: CostComparison) -> dict[str, Json]:
    changes: list[Json] = [_row_json(row) for row in found.rows]
    layers: list[Json] = [_row_json(row) for row in found.layers]
    notes: list[Json] = [*found.notes, *_unit_of_times(found)]
    missing: dict[str, Json] = dict(
        zip(("old", "new"), (said or None for said in found.missing), strict=True)
    )
    return {
        "old": found.old,
        "new": found.new,
        "verdict": found.verdict,
        "at": found.point,
        "changes": changes,
        "layers": layers,
        "notes": notes,
        "said": found.said,
        "not_costed": missing,
    }


def _row_json(row: FigureDifference) -> Json:
    return {
        "metric": row.metric,
        "part": row.part,
        "old": None if row.unknown[0] else to_text(row.old),
        "new": None if row.unknown[1] else to_text(row.new),
        "old_certainty": row.sure[0],
        "new_certainty": row.sure[1],
        "verdict": row.verdict,
        "less_at": _point(row.less),
        "more_at": _point(row.more),
        "less_where": row.less_where or None,
        "more_where": row.more_where or None,
        "old_value": None if row.at is None or row.unknown[0] else number(row.at[0]),
        "new_value": None if row.at is None or row.unknown[1] else number(row.at[1]),
        "why": row.why or None,
    }


def _point(witness: Witness | None) -> Json:
    if witness is None:
        return None
    dims: dict[str, Json] = {symbol.name: number(value) for symbol, value in witness.point}
    return {"dims": dims, "new": number(witness.left), "old": number(witness.right)}
