"""Write the outcome of a check as text for a terminal, or as Markdown for a job summary or a comment.

Hosts cut or refuse long texts.  So the Markdown starts with the largest changes, and stays below the limit of
the strictest host.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from itertools import accumulate, groupby
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tolcost.check.records import (
    FINE,
    KINDS,
    UNDECIDED,
    BlamedLine,
    ChangeKind,
    CostChange,
    Example,
    GateReport,
    HeldBudget,
    file_of,
    severity,
)
from tolcost.cost.device import is_time
from tolcost.diagnostics import visible
from tolcost.result.metrics import IN_BYTES
from tolcost.show.document import Caution, Cell, Column, ReportTable, ShortForm, Verdict
from tolcost.show.document import cut as shortened
from tolcost.show.fit import BOLD, GREEN, RED, YELLOW, cut_form, paint
from tolcost.show.shorten import change_text, si, time_texts
from tolcost.show.tables import markdown_code, markdown_text
from tolcost.show.text import fitted_table, hanging, style_of

# === The wording of findings, which all writers share.
#
# Names and forms come from programs and lock files, which are untrusted: control characters are escaped,
# and long texts are cut.


GATE_FORMATS = ("text", "md", "github", "gitlab", "sarif", "junit", "json", "badge", "svg")
LONGEST_FORM = 40
_VERDICTS = {0: "ok", 1: "costlier", 2: "not readable", 3: "undecided"}


def cut(text: str, longest: int = LONGEST_FORM) -> str:
    """Make text from a program or a lock file safe to show: escape control characters, and cut it."""
    return shortened(visible(text), longest, "…")


def form_text(form: str, longest: int = LONGEST_FORM) -> str:
    """Make a closed form safe to show; it is cut between its terms, so that numbers stay whole."""
    return cut_form(visible(form), longest)


def headline(report: GateReport) -> str:
    """Return the outcome in one line."""
    programs = _count(len(report.programs), "program")
    if report.written is not None:
        word = f"{report.written} written"
    elif report.exit_code == FINE:
        word = "ok"
    else:
        word = _failing_word(report)
    parts = [f"{n:,} {kind}" for kind, n in kinds(report).items()]
    over = sum(held.kind != "within" for held in report.budgets)
    parts += [f"{_count(over, 'budget')} not kept"] if over else []
    parts.append(f"{len(report.unchanged):,} unchanged")
    return f"{word}: {', '.join(parts)} ({programs} against {report.against})"


def _failing_word(report: GateReport) -> str:
    found = {severity(c, report.new_fails, report.strict): c.kind for c in reversed(report.changes)}
    kind = found.get(report.exit_code)
    if kind in ("new", "gone", "renamed", "cheaper", "not costlier", "narrower"):
        return "out of date"
    if kind in ("rules", "excluded"):
        return "other rules"
    if kind is None:
        return "over budget" if report.exit_code == 1 else "undecided"
    return _VERDICTS[report.exit_code]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def kinds(report: GateReport) -> dict[str, int]:
    """Count the programs by the kind of their worst change."""
    worst: dict[str, str] = {}
    for change in report.changes:
        kind = "under other rules" if change.kind == "rules" else change.kind
        worst.setdefault(change.name, "accepted" if change.why is not None else kind)
    return dict(Counter(worst.values()))


_PLAIN_VERDICTS: Mapping[ChangeKind, str] = {
    "cheaper": "cheaper (never costlier)",
    "not costlier": "never costlier",
    "rules": "the rules changed",
    "undecided": "undecided",
    "narrower": "allows fewer lengths",
    "excluded": "no longer checked",
    "broken": "cannot be read",
    "same": "same",
}


def verdict(change: CostChange, report: GateReport) -> str:
    """Return the verdict on one change."""
    match change.kind:
        case "costlier":
            where = f" {change.region.text}" if change.region else " (never cheaper)"
            return f"costlier{where}"
        case "crosses":
            return _crossing(change)
        case "new":
            return f"not in {report.against}" if report.written is None else f"added to {report.written}"
        case "gone":
            return "gone, and dropped" if report.pruned else "gone"
        case "renamed":
            return f"renamed from {cut(change.old)}"
        case "undecided" if change.equal_bounds:
            return "undecided: the upper bounds are equal"
        case kind:
            return _PLAIN_VERDICTS[kind]


def _crossing(change: CostChange) -> str:
    if change.region is None:
        return "costlier at some shapes, cheaper at others"
    where = "only if " if change.region.exact else ""
    return f"costlier {where}{change.region.text}{'' if change.region.exact else ' (sampled)'}"


class Detail(Struct, frozen=True):
    """A line about a change: numbers at a shape, a line of a source, or another remark."""

    text: str
    kind: Literal["numbers", "source", "remark"] = "remark"


def details(change: CostChange) -> list[Detail]:
    """Return the lines that explain a change below its verdict."""
    lines = [Detail(cut(change.new, 200))] if change.kind == "broken" and change.new else []
    examples = [e for e in (change.example, change.other) if e is not None]
    lines += [Detail(at(example, change.metric), "numbers") for example in examples]
    if change.kind == "undecided" and change.tried:
        costlier = change.example is not None and change.example.new > change.example.old
        shapes = f"at {change.tried:,} shapes tried, and not proved"
        lines.append(Detail(shapes, "numbers") if costlier else Detail(f"not costlier {shapes}"))
    if change.place is not None and change.place.remark:
        lines.append(Detail(place_text(change.place)))
        lines += [Detail(change.place.text, "source")] if change.place.text else []
    lines += [Detail(cut(note, 200)) for note in change.notes]
    if change.why is not None:
        lines.append(Detail(f"accepted: {cut(change.why, 300)}"))
    return lines


def at(example: Example, metric: str) -> str:
    """Return the old and the new number at a shape, and their difference in percent."""
    old, new = _numbers(metric, example.old, example.new)
    return f"at {cut(example.at, 120)}: {old} before, {new} now{_ratio(example)}"


def _numbers(metric: str, *values: int) -> tuple[str, ...]:
    """Write values of a metric: times in a readable unit, and of any other metric every digit."""
    return time_texts(*values) if is_time(metric) else tuple(map(_number, values))


def _number(value: int) -> str:
    return f"{value:,}" if value.bit_length() < 400 else f"about 2**{value.bit_length() - 1}"


def _ratio(example: Example) -> str:
    if example.old <= 0 or example.new == example.old:
        return ""
    return f" ({change_text(example.old, example.new)})"


def place_text(place: BlamedLine) -> str:
    """Return a line of a source, and the remark on its contribution."""
    where = f"{cut(place.file, 100)}:{place.line}: " if place.file else ""
    return f"{where}{cut(place.remark, 240)}"


def held_text(held: HeldBudget) -> str:
    """Return the verdict on a budget."""
    match held.kind:
        case "within":
            return "kept"
        case "exceeded":
            return "exceeded" + (f" {held.region.text}" if held.region else "")
        case "crosses":
            exact = held.region is not None and held.region.exact
            where = held.region.text if held.region else "at some shapes"
            return f"exceeded {'only if ' if exact else ''}{where}"
        case "overstated":
            return "more than it costs" + (f" where {held.region.text}" if held.region else "")
        case "undecided":
            if held.example is not None and held.example.new > held.example.old:
                return "undecided: the most that it may cost is more at some shapes"
            tried = f": kept at {held.tried:,} shapes tried, and not proved" if held.tried else ""
            return f"undecided{tried}"


def held_at(held: HeldBudget) -> str | None:
    """Return the actual and the allowed number at a budget's example, if it has one."""
    if held.example is None:
        return None
    example = held.example
    new, old = _numbers(held.metric, example.new, example.old)
    return f"at {cut(example.at, 120)}: {new}, allowed {old}"


def hints(report: GateReport) -> list[str]:
    """Return the commands that would make the check pass."""
    found = {change.kind for change in report.changes if change.why is None}
    if report.written is not None:
        return []
    lines = []
    if report.new_fails and found & {
        "rules",
        "new",
        "cheaper",
        "not costlier",
        "narrower",
        "gone",
        "renamed",
        "excluded",
    }:
        prune = " --prune" if found & {"gone", "excluded"} else ""
        lines.append(f"to keep what is new: tolcost check --update{prune}")
    if found & _AGREED:
        lines.append(f'to agree to it: tolcost accept {_to_accept(report)} -m "why"{_base(report)}')
    return lines


_AGREED = frozenset(("costlier", "crosses", "rules", "undecided", "excluded"))
"""The changes that somebody can agree to."""


def _to_accept(report: GateReport) -> str:
    """Return the name of the only program that there is something to agree to, for a shell; else NAME."""
    names = {change.name for change in report.changes if change.kind in _AGREED and change.why is None}
    (name,) = names if len(names) == 1 else ("NAME",)
    return shlex.quote(name) if name == visible(name) else "NAME"


def _base(report: GateReport) -> str:
    """Return the option by which another command compares with the same revision."""
    return "" if report.new_fails else f" --base {shlex.quote(report.against.removeprefix('git '))}"


def growth(change: CostChange) -> Fraction:
    """Return the relative growth at a change's example, by which reports are sorted."""
    example = change.points[0] if change.points else change.example
    return Fraction(0) if example is None else Fraction(example.new - example.old, max(example.old, 1))


MessageLevel = Literal["error", "warning", "note"]

RULES = {
    "costlier": "A program costs more than before.",
    "crosses": "A program costs more than before at some shapes.",
    "rules": "What figures are counted by changed.",
    "undecided": "Whether a program costs more than before is not proved.",
    "new": "A program is not in the lock file.",
    "gone": "A program of the lock file is not there any more.",
    "renamed": "A program has another name than in the lock file.",
    "cheaper": "A program costs less than the lock file says.",
    "not costlier": "A program costs at most what the lock file says.",
    "narrower": "A program allows fewer lengths than before.",
    "excluded": "Something is no longer checked.",
    "broken": "A program cannot be read.",
    "budget": "A program exceeds its budget.",
}


class Finding(Struct, frozen=True):
    """One problem; ``why`` where someone accepted it."""

    rule: str
    level: MessageLevel
    program: str
    file: str
    line: int
    title: str
    message: str
    why: str | None = None

    @property
    def fingerprint(self) -> str:
        """A digest by which hosts recognise a problem, whichever line it moves to."""
        return sha256("\0".join((self.rule, self.program, self.title)).encode("utf-8", "replace")).hexdigest()


def findings(report: GateReport) -> Iterator[Finding]:
    """Give the problems of a check, errors before warnings and notes; accepted changes become notes."""
    return iter(sorted(_findings(report), key=lambda one: _ORDER.index(one.level)))


_ORDER: tuple[MessageLevel, ...] = ("error", "warning", "note")


def _findings(report: GateReport) -> Iterator[Finding]:
    for change in report.changes:
        code = severity(change, report.new_fails, report.strict)
        if code != FINE or change.why is not None or change.kind == "narrower":
            known = change.why is not None or code == FINE
            level: MessageLevel = "note" if known else "warning" if code == UNDECIDED else "error"
            yield _of_change(change, report, level)
    for held in report.budgets:
        if held.kind != "within":
            yield _of_budget(held)


def _of_change(change: CostChange, report: GateReport, level: MessageLevel) -> Finding:
    figure = f" {change.metric}" if change.metric else ""
    told = change.metric and change.old and not is_time(change.metric)
    forms = f"was {form_text(change.old)}, is {form_text(change.new)}" if told else ""
    said = [line.text for line in details(change) if line.kind != "source"]
    message = "; ".join(part for part in (verdict(change, report), forms, *said) if part)
    place = change.place
    known = place is not None and place.file == change.file
    return Finding(
        rule=change.kind,
        level=level,
        program=change.name,
        file=change.file or change.name,
        line=place.line if place is not None and known and place.line > 0 else 1,
        title=f"{cut(change.name, 200)}{figure}",
        message=message,
        why=change.why,
    )


def _of_budget(held: HeldBudget) -> Finding:
    numbers = held_at(held)
    message = f"budget {cut(held.budget, 200)}: {held_text(held)}" + (f"; {numbers}" if numbers else "")
    level: MessageLevel = "warning" if held.kind == "undecided" else "error"
    title = f"{cut(held.name, 200)} {held.metric} budget {cut(held.budget, 120)}"
    return Finding("budget", level, held.name, held.file or file_of(held.name), 1, title, message)


# === Text and Markdown.


_GOOD: Mapping[ChangeKind, bool | None] = {
    "cheaper": True,
    "not costlier": True,
    "same": None,
    "new": None,
    "renamed": None,
    "costlier": False,
    "broken": False,
}
"""The kinds of changes that are good news, bad news or neither; all others need a decision."""


def gate_text(
    report: GateReport, colour: bool = False, width: int | None = None, reasons: bool = True
) -> str:
    """Write the report as text; unchanged programs are only counted.

    Without ``reasons``, the diagnostics of what cannot be read stand elsewhere.
    """
    if not reasons:
        report = replace(report, changes=tuple(map(_without_reason, report.changes)))
    head = _painted(headline(report), RED if report.exit_code else GREEN, colour, width)
    blocks = ["\n".join(head)]
    by_program: dict[str, list[CostChange]] = {}
    for change in report.changes:  # the worst first
        by_program.setdefault(change.name, []).append(change)
    blocks += ["\n".join(_program(name, found, report, colour, width)) for name, found in by_program.items()]
    over = [held for held in report.budgets if held.kind != "within"]
    blocks += ["\n".join(_budget(held, colour, width)) for held in over]
    ending = [f"note: {cut(note, 300)}" for note in report.notes] + hints(report)
    blocks += ["\n".join(shown for line in ending for shown in _fitted(line, width))] if ending else []
    return "\n\n".join(blocks) + "\n"


def _fitted(line: str, width: int | None) -> list[str]:
    return [line] if width is None else hanging(line, width)


def _painted(line: str, style: str, colour: bool, width: int | None) -> list[str]:
    return [paint(shown, style if colour else "") for shown in _fitted(line, width)]


def _news(change: CostChange, report: GateReport) -> Verdict:
    """Return the verdict on a change, with the kind of news that it is."""
    said = verdict(change, report)
    if change.why is not None or change.kind in _GOOD:
        return Verdict(said, None if change.why is not None else _GOOD[change.kind])
    return Caution(said)


def _without_reason(change: CostChange) -> CostChange:
    return replace(change, new="", place=None, notes=()) if change.kind == "broken" else change


def _program(
    name: str, changes: Sequence[CostChange], report: GateReport, colour: bool, width: int | None
) -> Iterable[str]:
    yield from _painted(cut(name, 200), BOLD, colour, width)
    for change in changes:
        if not change.metric:
            news = _news(change, report)
            yield from _painted(f"  {news}", style_of(news), colour, width)
            for line in details(change):
                yield from _fitted(f"    {line.text}", width)
    figures = [change for change in changes if change.metric]
    if figures:
        columns = _FIGURES if width is None else (*_FIGURES[:1], *_FIGURES[2:], _FIGURES[1])
        rows = [dict(zip(_KEYS, _row(change, report), strict=True)) for change in figures]
        table = ReportTable(columns, [tuple(row[column.key] for column in columns) for row in rows])
        found = fitted_table(table, colour, None if width is None else width - 2)
        yield from (f"  {line}".rstrip() for line in found.lines)
    seen: set[str] = set()
    for change in figures:
        shown_anyway = change.why is not None or change.kind in ("cheaper", "not costlier")
        if severity(change, report.new_fails) or shown_anyway:
            for line in details(change):
                shown = _indented(change.metric, line)
                if shown not in seen:
                    seen.add(shown)
                    yield from _fitted(shown, width)


_FIGURES = (
    Column("metric", "metric"),
    Column("verdict", "verdict"),
    Column("old", "old", "code"),
    Column("new", "new", "code"),
    Column("difference", "difference", "code"),
)


_KEYS = tuple(column.key for column in _FIGURES)
"""A terminal has the verdict at the end, where it may continue below."""


def _indented(metric: str, line: Detail) -> str:
    before = {"numbers": f"    {metric} ", "source": "      | ", "remark": "    "}
    return f"{before[line.kind]}{line.text}"


def _row(change: CostChange, report: GateReport) -> tuple[Cell, ...]:
    given = (change.old, change.new, change.difference)
    forms: list[Cell] = ["" if is_time(change.metric) else ShortForm(form_text(form), form) for form in given]
    return (change.metric, _news(change, report), *forms)  # times are shown at lengths, in units


def _budget(held: HeldBudget, colour: bool, width: int | None) -> Iterable[str]:
    yield from _painted(cut(held.name, 200), BOLD, colour, width)
    style = YELLOW if held.kind == "undecided" else RED
    yield from _painted(f"  budget {cut(held.budget, 120)}: {held_text(held)}", style, colour, width)
    numbers = held_at(held)
    if held.actual != held.limit and not is_time(held.metric):
        said = f"    {held.metric} {form_text(held.actual)}, allowed {form_text(held.limit)}"
        yield from _fitted(said, width)
    if numbers is not None:
        yield from _fitted(f"    {numbers}", width)


LIMIT = 60_000
"""Bytes: a comment on GitHub holds 65,536 characters, and a job summary a mebibyte."""

_LONGEST_FORM = 200
_ROOM = 2_000
"""Bytes kept free for the line about omitted sections, with a margin."""


MARKER = "<!-- tolcost check -->"
"""The first line of Markdown, by which a comment of an earlier run is found."""
UNCHANGED = "<!-- nothing changed -->"
"""The second line where there is nothing to say: a comment is updated then, but none is made for it."""
_EXACT_DIGITS = 6
"""Numbers up to this length are written in full in the table; the details below it have every number so."""


def gate_markdown(report: GateReport) -> str:
    """Write the report as Markdown of a limited length, for a job summary or a comment."""
    quiet = not report.changes and all(held.kind == "within" for held in report.budgets)
    word, _, counts = headline(report).partition(": ")
    mark = f"{MARKER}\n{UNCHANGED}\n" if quiet else f"{MARKER}\n"
    head = f"{mark}## tolcost: {word}\n\n{markdown_text(counts)}\n"
    tail = "".join(f"\n{markdown_text(line)}\n" for line in (*report.notes[:10], *hints(report)))
    room = LIMIT - _ROOM - len(head.encode()) - len(tail.encode())
    changes = sorted(report.changes, key=lambda c: (KINDS.index(c.kind), -growth(c)))
    rows = [row.text() for row in _merged(row for change in changes for row in _changed(change, report))]
    budgets = list(_budgets(report))
    forms = [_forms_row(change, report) for change in changes if change.metric and not is_time(change.metric)]
    remarks = [remark for change in changes for remark in _remarks(change)]
    blocks = (("", _CHANGED_TITLES, rows), ("### Budgets", "", budgets), (_CLOSED, _FORMS_TITLES, forms))
    written, left = [head], 0
    for title, titles, lines in (*blocks, ("", "", remarks)):
        fitting = _fitting(lines, room)
        left += len(lines) - len(fitting)
        if fitting:
            written += [*([f"{title}\n"] if title else []), *([titles] if titles else []), *fitting, ""]
            room -= sum(len(line.encode()) + 1 for line in fitting)
    written += [_CLOSE] if any(line.startswith(_CLOSED) for line in written) else []
    written += [f"\n{left:,} more are not shown here."] if left else []
    return "\n".join(written).rstrip("\n") + "\n" + tail


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """Return the first lines that fit into a number of bytes."""
    ends = accumulate(len(line.encode()) + 1 for line in lines)
    return [line for line, end in zip(lines, ends, strict=True) if end <= room]


_CLOSED = "<details><summary>Closed forms and details</summary>\n"
_CLOSE = "</details>"


def _titles(*titles: str) -> str:
    return f"| {' | '.join(titles)} |\n|{' --- |' * len(titles)}"


_CHANGED_TITLES = _titles("program", "metric", "verdict", "at", "before", "now", "change", "why")
_FORMS_TITLES = _titles("program", "metric", "old", "new", "difference")


class _Changed(Struct, frozen=True):
    """A line of the first table, with a row for each point."""

    name: str
    metrics: tuple[str, ...]
    verdict: str
    points: tuple[tuple[str, str, str, str], ...]
    reason: str

    def text(self) -> str:
        """Write its rows; the first alone says what holds of all."""
        rows = []
        for n, cells in enumerate(self.points or (("",) * 4,)):
            head = (self.name, ", ".join(self.metrics), self.verdict) if n == 0 else ("",) * 3
            at, *numbers = map(markdown_text, cells)
            shown = (at, *(number.replace(" ", "&nbsp;") for number in numbers))
            rows.append(f"| {' | '.join((*head, *shown, self.reason if n == 0 else ''))} |")
        return "\n".join(rows)


def _changed(change: CostChange, report: GateReport) -> Iterator[_Changed]:
    """Give the lines of a change: one, or for a new program one for each figure."""
    said = markdown_text(verdict(change, report))
    said = f"{said}, accepted" if change.why is not None else said
    said = f"**{said}**" if severity(change, report.new_fails, report.strict) else said
    for one in change.figures or (change,):
        points = one.points or ((one.example,) if one.example is not None else ())
        values = tuple(_values(point, one) for point in points)
        if one.metric and not values:  # closed forms, as no number is known
            values = (("", form_text(one.old), form_text(one.new), ""),)
        name = markdown_code(cut(change.name, 200))
        yield _Changed(name, (one.metric,), said, values, _reason(change) or _reason(one))


def _merged(lines: Iterable[_Changed]) -> Iterator[_Changed]:
    """Put metrics into one line where nothing but their names differs, as EOPs and FLOPs often do."""
    for _, found in groupby(lines, lambda line: (line.name, line.verdict, line.points, line.reason)):
        first, *others = found
        yield replace(first, metrics=(*first.metrics, *(name for line in others for name in line.metrics)))


def _values(point: Example, change: CostChange) -> tuple[str, str, str, str]:
    """Return a shape, the two numbers there, and their difference in percent."""
    old, new = _numbers(change.metric, point.old, point.new)
    if not is_time(change.metric):
        short = [_short(value, change.metric) for value in (point.old, point.new)]
        old, new = short if point.old == point.new or short[0] != short[1] else (old, new)
    return cut(point.at, 120), "" if change.kind == "new" else old, new, _ratio(point).strip(" ()")


def _short(value: int, metric: str) -> str:
    unit = "B" if metric in IN_BYTES else ""
    return f"{_number(value)} {unit}".rstrip() if abs(value) < 10**_EXACT_DIGITS else si(value, unit)


def _reason(change: CostChange) -> str:
    """Return why a figure changed: the reason that somebody gave, the line of the program, or a remark."""
    found = [] if change.why is None else [markdown_text(cut(change.why, 200))]
    place = change.place
    if place is not None and place.remark:
        where = f"{markdown_code(f'{cut(place.file, 100)}:{place.line}')} " if place.file else ""
        found.append(f"{where}{markdown_text(cut(place.remark, 160))}")
        found += [markdown_code(place.text)] if place.text else []
    if not found:
        lines = (line.text for line in details(change) if line.kind == "remark")
        found = [markdown_text(line) for line in lines][: 3 if change.kind == "broken" else 1]
    return "<br>".join(found)


def _forms_row(change: CostChange, report: GateReport) -> str:
    forms = [
        markdown_code(form_text(f, _LONGEST_FORM)) if f else ""
        for f in (change.old, change.new, change.difference)
    ]
    return f"| {' | '.join((markdown_code(cut(change.name, 200)), change.metric, *forms))} |"


def _remarks(change: CostChange) -> Iterator[str]:
    """Give the details of a change as a list, or nothing if there are none."""
    lines, name = details(change), markdown_code(cut(change.name, 200), in_table=False)
    if lines:
        yield "\n".join(
            [
                f"- {name} {change.metric}".rstrip(),
                *(
                    f"  - {markdown_code(line.text, in_table=False)}"
                    if line.kind == "source"
                    else f"  - {markdown_text(line.text)}"
                    for line in lines
                ),
            ]
        )


def _budgets(report: GateReport) -> Iterator[str]:
    for held in report.budgets:
        if held.kind != "within":
            name = markdown_code(cut(held.name, 200), in_table=False)
            budget = markdown_code(held.budget, in_table=False)
            numbers = held_at(held)
            yield f"- {budget} of {name}: **{markdown_text(held_text(held))}**" + (
                f"; {markdown_text(numbers)}" if numbers else ""
            )
