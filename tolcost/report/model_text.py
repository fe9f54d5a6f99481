"""A model's cost as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from tolcost.algebra import LARGEST_LENGTH
from tolcost.diagnostics import visible
from tolcost.elaborate.trip_count import TURNS
from tolcost.models.growth import Growth
from tolcost.models.study import ModelStudy
from tolcost.report.model_view import (
    Line,
    by_data,
    conditions,
    coverage_text,
    groups,
    inputs_of,
    lines,
    merged,
    outputs_of,
    percent,
    share,
    value_of,
)
from tolcost.result.forms import Form, text_of

_MOST_MISSING = 20
_MOST_CONDITIONS = 12
_BAR = 40
_WIDE = 96
"""How many characters of a closed form stand on a line."""
_MOST_LINES = 8
_CELL = 72
UNKNOWN = "not known"


def model_text(study: ModelStudy, by: str = "op", growth: Growth | None = None) -> str:
    """The report on one model."""
    blocks = [_head(study), *_figures(study), _table(study, by), _standing(study)]
    if growth is not None:
        blocks.append(growth_text(growth))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _head(study: ModelStudy) -> str:
    model = study.model
    versions = ", ".join(f"{visible(d) or 'ai.onnx'} {v}" for d, v in sorted(model.opsets.items()))
    rows = [
        (
            "coverage",
            coverage_text(study) + ("" if not study.coverage.missing else ": THE TOTAL IS A LOWER BOUND"),
        ),
        ("opset", versions),
        *(("input", f"{visible(name)}: {kind}") for name, kind in inputs_of(study)),
        *(("output", f"{visible(name)}: {kind}") for name, kind in outputs_of(study)),
    ]
    return f"{visible(model.name)}  {visible(study.file)}\n" + _aligned(rows)


def _aligned(rows: Iterable[tuple[str, str]]) -> str:
    listed = list(rows)
    width = max((len(label) for label, _ in listed), default=0)
    inset = "\n" + " " * (width + 4)
    return "\n".join(
        f"{label.ljust(width)}  {value}".rstrip().replace("\n", inset) for label, value in listed
    )


def wrapped(text: str) -> str:
    """A long closed form on several lines, broken between terms; a very long one is cut, and says so.

    >>> wrapped("n + 1")
    'n + 1'
    """
    rows = [""]
    for term in _terms(text):
        for part in [term] if len(term) <= _WIDE else _terms(term, 1):
            if rows[-1] and len(rows[-1]) + len(part) > _WIDE:
                rows.append("")
            rows[-1] += part if rows[-1] else part.lstrip()
    if len(rows) > _MOST_LINES:
        rows = [*rows[:_MOST_LINES], "… and more: --format json has all of it"]
    return "\n".join(rows)


def _terms(text: str, deep: int = 0) -> Iterator[str]:
    """The terms of a form, each with the sign before it; what deeper parentheses hold stays together."""
    start = depth = 0
    for n, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth <= deep and n > start and (text[n : n + 3] in (" + ", " - ") or text[n - 1 : n + 1] == ", "):
            yield text[start:n]
            start = n
    yield text[start:]


def cut(text: str) -> str:
    """A closed form for a cell of a table: what does not fit is left out, visibly.

    >>> cut("n + 1"), len(cut("n*" * 100))
    ('n + 1', 72)
    """
    return text if len(text) <= _CELL else f"{text[: _CELL - 2]} …"


def _figures(study: ModelStudy) -> Iterable[str]:
    found = lines(study)
    if study.symbols:
        rows = [(line.label, _shown(line, found[0])) for line in found]
        leading = text_of(study.leading)
        if len(leading) < max(_WIDE, len(text_of(study.total.eops)) // 2):
            rows.insert(1, ("  grows as", wrapped(leading)))
        yield _aligned(rows)
    if study.dims or study.place.complete:
        heading = ", ".join(f"{visible(n)} = {v:,}" for n, v in sorted(study.place.dims.items()))
        open_ = ", ".join(visible(s.name) for s in study.place.missing)
        title = f"at {heading}" if heading else "in numbers"
        rows = [(line.label, _with_unit(line.value, line.unit)) for line in found]
        yield f"{title}{f' ({open_} open)' if open_ else ''}\n" + _aligned(rows)


def _shown(line: Line, eops: Line) -> str:
    """A closed form for people: long ones broken, and not twice what they are already told."""
    text = _with_unit(line.form, line.unit)
    if len(text) <= _WIDE or line.form is None:
        return text
    if line.key == "intensity":
        return "FLOPs over bytes, node by node"
    if line is not eops and line.form == eops.form:
        return "as many as EOPs"
    return wrapped(text)


def _with_unit(form: Form | None, unit: str) -> str:
    if form is None:
        return UNKNOWN
    text = text_of(form, grouped=True)
    about = f"about {float(form):.4g}" if isinstance(form, Fraction) and "/" in text else ""
    remark = ", ".join(part for part in (unit, about) if part)
    return f"{text}  {remark}" if remark else text


def _table(study: ModelStudy, by: str) -> str:
    """Nodes, EOPs, MACs and shares for each group."""
    known = study.place.complete
    titles = [
        {"op": "operator", "scope": "scope", "node": "node"}[by],
        "nodes",
        "EOPs",
        "MACs",
        "share" if known else "",
    ]
    rows = [titles]
    for group in groups(study, by):
        forms = (group.figures.eops, group.figures.macs)
        cells = [cut(_cell(value_of(study, form) if known else form)) for form in forms]
        rows.append([visible(group.title), f"{group.nodes:,}", *cells, percent(share(study, group.figures))])
    table = columns(rows, {1, 4} | ({2, 3} if known else set()))
    return table if " …" not in table else f"{table}\n… is more of a form than fits: --format json"


def _cell(form: Form | None) -> str:
    return UNKNOWN if form is None else text_of(form, grouped=True)


def columns(rows: Sequence[Sequence[str]], right: set[int]) -> str:
    """Rows of cells, aligned; the columns in ``right`` to the right."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if n in right else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _standing(study: ModelStudy) -> str:
    rows: list[tuple[str, str]] = [("status", study.total.status)]
    rows += [
        ("by data", _range(symbol.name, symbol.lo, symbol.hi) + _meaning(symbol.name))
        for symbol in by_data(study)[:_MOST_CONDITIONS]
    ]
    rows += [("one length", f"{visible(name)} is {other}") for name, other in merged(study)]
    shown = conditions(study)
    rows += [("holds where", f"{text}  {why} ({node})") for text, why, node in shown[:_MOST_CONDITIONS]]
    if len(shown) > _MOST_CONDITIONS:
        rows.append(("", f"and {len(shown) - _MOST_CONDITIONS} more conditions: --format json"))
    if study.cost.assumed:
        rows.append(
            ("as declared", f"the shapes of {len(study.cost.assumed):,} values are those the file declares")
        )
    missing = study.coverage.missing
    rows += [
        ("not costed", f"{visible(m.op)} {visible(m.name)}: {visible(m.why)}")
        for m in missing[:_MOST_MISSING]
    ]
    if len(missing) > _MOST_MISSING:
        rows.append(("", f"and {len(missing) - _MOST_MISSING:,} more nodes"))
    return _aligned(rows)


def _meaning(name: str) -> str:
    return "  the turns of that loop" if name.endswith(TURNS) else ""


def _range(name: str, low: Form | None, high: Form | None) -> str:
    start = "" if low is None else f"{text_of(low)} <= "
    return f"{start}{visible(name)}" + ("" if high in (None, LARGEST_LENGTH) else f" <= {text_of(high)}")


# ---- growth --------------------------------------------------------------------------------


def growth_text(growth: Growth) -> str:
    """The rows of a sweep with bars, and where parts overtake one another."""
    most = max((row.eops for row in growth.rows if row.eops), default=None)
    rows = [[growth.name, "EOPs", "MACs", "bytes", "peak", ""]]
    for row in growth.rows:
        numbers = (row.eops, row.macs, row.bytes, row.peak)
        cells = [UNKNOWN if number is None else f"{number:,}" for number in numbers]
        rows.append(
            [f"{row.value:,}", *cells, f"outside of {row.broken}" if row.broken else bar(row.eops, most)]
        )
    table = columns(rows, {0, 1, 2, 3, 4})
    crossed = [
        f"{visible(c.later)} overtakes {visible(c.earlier)} at {growth.name} = {c.at:,}"
        for c in growth.crossings
    ]
    return "\n".join([table, *(["", *crossed] if crossed else [])])


def bar(value: int | None, most: int | None) -> str:
    """A bar on a logarithmic scale: every character is a factor."""
    if not value or not most:
        return ""
    return "▇" * max(1, round(_BAR * value.bit_length() / most.bit_length()))
