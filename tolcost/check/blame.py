"""Find the source line behind a change: the line whose contribution grew most at the example's shape.

Lines of the two sources are matched as in a diff: equal lines with equal lines, and the lines between them
in order.  Without the old source, the line with the largest cost is named, and labelled as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import TypeAlias

from msgspec.structs import replace

from tolcost.algebra import (
    ZERO,
    AlgebraBudget,
    NotInteger,
    Poly,
    Symbol,
    UnboundSymbol,
    evaluate,
    to_text,
    total_of,
)
from tolcost.check.records import BlamedLine, Example
from tolcost.check.targets import Contribution
from tolcost.check.text import cut, form_text
from tolcost.diagnostics import NOWHERE, Source, place
from tolcost.show.fit import tail

_LONGEST = 100
_LONGEST_FORM = 60
_LONGEST_NODE, _LONGEST_NAME = 40, 60
_MOST_LINES = 5_000
"""Longer sources are not matched line by line, because the time of ``SequenceMatcher`` is quadratic."""

LineKey: TypeAlias = tuple[str, int, str]
"""A source, a line number, and a part: a function on that line, or an operator of a model."""


def blame(
    old: Sequence[Contribution] | None, new: Sequence[Contribution], metric: str, example: Example
) -> BlamedLine | None:
    """Return the place whose contribution to a metric grew most at a shape, or None if none grew."""
    now = _by_line(new, metric)
    if not now:
        return None
    was = {} if old is None else _as_now(_by_line(old, metric), old, new)
    values = dict(example.dims)
    grown = {line: _growth(was.get(line, ZERO), form, values) for line, form in now.items()}
    line = max(grown, key=lambda key: (grown[key], key))
    if grown[line] <= 0:
        return None
    found = _place(line, None if old is None else was.get(line, ZERO), now[line], new)
    edits = "" if old is None else _edited(line, _sources(old), _sources(new))
    more = edits or _nodes_behind(old, new, line[2], metric, values)
    return replace(found, remark=f"{found.remark}; {more}") if more else found


def _edited(line: LineKey, before: Mapping[str, Source], after: Mapping[str, Source]) -> str:
    """Name the first edited line, unless the line that grew is itself an edited line."""
    found = [
        (name, number)
        for name in sorted(before.keys() & after.keys())
        for number in _changed_lines(before[name], after[name])
    ]
    if not found or line[:2] in found:
        return ""
    name, number = found[0]
    text = cut(after[name].text.splitlines()[number - 1].strip(), _LONGEST)
    where = f"line {number}" if name == line[0] else f"{name}:{number}"
    more = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
    return f"edited: {where}{more}, {text}"


def _changed_lines(old: Source, new: Source) -> list[int]:
    """Return the numbers, from 1, of the non-blank lines of the new text that a diff reports as changed."""
    before, after = old.text.splitlines(), new.text.splitlines()
    if max(len(before), len(after)) > _MOST_LINES:
        return []
    matched = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    fresh = (n for tag, _, _, start, end in matched if tag != "equal" for n in range(start, end))
    return [n + 1 for n in fresh if after[n].strip()]


def _by_line(parts: Iterable[Contribution], metric: str) -> dict[LineKey, Poly]:
    found: dict[LineKey, list[Poly]] = {}
    for part in parts:
        if metric in part.counts:
            found.setdefault((*_where(part), part.what), []).append(part.counts[metric])
    return {line: total_of(forms) for line, forms in found.items()}


def _where(part: Contribution) -> tuple[str, int]:
    span = part.span
    return ("", 0) if span.source is NOWHERE.source else (span.source.name, place(span).line)


def _growth(old: Poly, new: Poly, values: Mapping[str, int]) -> int:
    """Return the growth of a form at a shape; 0 where it has no value, so that no such line is blamed."""
    try:
        return evaluate(new, _point(new, values)) - evaluate(old, _point(old, values))
    except (AlgebraBudget, NotInteger, UnboundSymbol):
        return 0


def _point(form: Poly, values: Mapping[str, int]) -> dict[Symbol, int]:
    return {symbol: values[symbol.name] for symbol in form.free if symbol.name in values}


# ---- lines of the old source in terms of the new ---------------------------------------------------


def _as_now(
    was: Mapping[LineKey, Poly], old: Sequence[Contribution], new: Sequence[Contribution]
) -> dict[LineKey, Poly]:
    """Return the old contributions under the corresponding lines of the new source."""
    before, after = _sources(old), _sources(new)
    moved = {name: _line_map(before[name], after[name]) for name in before.keys() & after.keys()}
    lonely = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
    renamed = dict(zip(*lonely, strict=False))  # usually a renamed file
    moved |= {name: _line_map(before[name], after[now]) for name, now in renamed.items()}
    found: dict[LineKey, Poly] = {}
    for (name, line, what), form in was.items():
        at = moved.get(name, {}).get(line, line)
        key = (renamed.get(name, name), at, what)
        found[key] = found.get(key, ZERO) + form
    return found


def _sources(parts: Iterable[Contribution]) -> dict[str, Source]:
    return {
        part.span.source.name: part.span.source for part in parts if part.span.source is not NOWHERE.source
    }


def _line_map(old: Source, new: Source) -> dict[int, int]:
    """Map the lines of the old text, counted from 1, to lines of the new one; deleted lines map to 0."""
    before, after = old.text.splitlines(), new.text.splitlines()
    if before == after or max(len(before), len(after)) > _MOST_LINES:
        return {}
    found: dict[int, int] = {}
    for tag, i, i_end, j, j_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag in ("equal", "replace"):
            pairs = zip(range(i + 1, i_end + 1), range(j + 1, j_end + 1), strict=False)
            found.update(pairs)
    gone = {line: 0 for line in range(1, len(before) + 1) if line not in found}
    return found | gone


# ---- nodes of models -------------------------------------------------------------------------------


NodeChange: TypeAlias = tuple[Contribution | None, Contribution]
"""A node as it was, or None if it is new, and as it is."""


def _nodes_behind(
    old: Sequence[Contribution] | None,
    new: Sequence[Contribution],
    op: str,
    metric: str,
    values: Mapping[str, int],
) -> str:
    """Name the node of an operator that grew most at a shape, and how many more grew; nothing if none did."""
    after = _nodes_of(new, op, metric)
    before = None if old is None else _nodes_of(old, op, metric)
    pairs = [(None, node) for node in after] if before is None else _paired_nodes(before, after, metric)
    growths = [
        (_growth(ZERO if was is None else was.counts[metric], now.counts[metric], values), was, now)
        for was, now in pairs
    ]
    grown = [one for one in growths if one[0] > 0]
    if not grown or len(after) == 1:
        return ""
    _, was, now = max(grown, key=lambda one: one[0])
    form = form_text(to_text(now.counts[metric]), _LONGEST_NODE)
    if was is None:
        change = form if before is None else f"new, {form}"
    else:
        change = f"was {form_text(to_text(was.counts[metric]), _LONGEST_NODE)}, is {form}"
    others = len(grown) - 1
    more = f" and in {others:,} more node{'s' if others > 1 else ''}" if others and before is not None else ""
    return f"most in {tail(now.what, _LONGEST_NAME)} ({change}){more}"


def _nodes_of(parts: Sequence[Contribution], op: str, metric: str) -> list[Contribution]:
    return [node for part in parts if part.what == op for node in part.nodes() if metric in node.counts]


def _paired_nodes(old: Sequence[Contribution], new: Sequence[Contribution], metric: str) -> list[NodeChange]:
    """Pair nodes by their names, or if few names stayed, by what they cost, in order."""
    named = {node.what: node for node in old}
    stayed = sum(node.what in named for node in new)
    if len(named) == len(old) and 2 * stayed > min(len(old), len(new)):
        return [(named.get(node.what), node) for node in new]
    if max(len(old), len(new)) > _MOST_LINES:
        return []
    before, after = ([to_text(node.counts[metric]) for node in nodes] for nodes in (old, new))
    found: list[NodeChange] = []
    for _, i, i_end, j, j_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        found += ((old[i + n] if i + n < i_end else None, node) for n, node in enumerate(new[j:j_end]))
    return found


# ---- the report -----------------------------------------------------------------------------------


def _place(line: LineKey, old: Poly | None, new: Poly, parts: Sequence[Contribution]) -> BlamedLine:
    name, number, what = line
    source = _sources(parts).get(name)
    lines = [] if source is None else source.text.splitlines()
    text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    now = form_text(to_text(new), _LONGEST_FORM)
    was = "" if old is None else form_text(to_text(old), _LONGEST_FORM)
    change = f"is {now}, the most of all" if old is None else f"was {was}, is {now}"
    return BlamedLine(name, number, cut(text, _LONGEST), f"{what} {change}")
