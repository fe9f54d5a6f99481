"""Requests of the playground, a page that runs tolcost in a browser: JSON in, JSON out.

Offsets are in units of UTF-16, as scripts count them.  A text is analysed once, however often lengths change.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

from msgspec import Struct

from tolcost.algebra import AlgebraBudget, NotInteger, Symbol, UnboundSymbol, atom, evaluate, to_text
from tolcost.apps.editor.features import completions_at, formatted, hover_at, type_text
from tolcost.apps.editor.reading import Reading, derivation_of, line_costs, read_supposing
from tolcost.apps.editor.small_run import run_small
from tolcost.atoms.text import program_text, unrolled_text
from tolcost.atoms.unroll import unroll
from tolcost.cost.derive import ValueDerivation, typeset
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Source, place, visible
from tolcost.pipeline import as_rejected
from tolcost.platform import with_deep_stack
from tolcost.result.compare import compare, match
from tolcost.result.comparison import CostComparison, FigureDifference, said_of, shown_name
from tolcost.result.program import program_study
from tolcost.result.study import Located, locate_study
from tolcost.show.document import Form, Json, has_mathml, lengths_text, mathml_of, number, text_of
from tolcost.show.shorten import change_text

_MOST_LINES = 400
_LONGEST_FORMULA = 400
_SWEEP = tuple(2**k for k in range(13))
PageRequest = Mapping[str, Any]


def answer(request: str) -> str:
    """Answer a request; a mistake in the program is part of the answer."""
    asked: PageRequest = json.loads(request)
    return answered(lambda: _ANSWERS[asked["do"]](asked))


def answered(find: Callable[[], dict[str, Json]]) -> str:
    """Return an answer as JSON, or the diagnostics of why there is none."""
    try:
        found = find()
    except Exception as error:
        failure = as_rejected(error)
        if not isinstance(failure, Rejected):
            raise
        found = {"failed": [_told(one) for one in failure.diagnostics]}
    return json.dumps(found)


def _reading(text: str) -> Reading:
    return read_supposing(Source("program.tol", text))


def _located(reading: Reading, dims: Mapping[str, int] | None = None) -> Located:
    if reading.analysis is None:
        raise Rejected(*(reading.diagnostics or (Diagnostic("T0212", "there is nothing to analyse"),)))
    study = program_study(reading.analysis)
    known = {symbol.name for symbol in study.symbols}
    return locate_study(Located, study, {name: n for name, n in (dims or {}).items() if name in known})


# ---- a program ---------------------------------------------------------------------------------


def _analysed(asked: PageRequest) -> dict[str, Json]:
    """Return everything that is shown of a program, without numbers."""
    reading = _reading(asked["text"])
    found: dict[str, Json] = {"diagnostics": [_told(one) for one in reading.diagnostics]}
    if reading.analysis is None:
        return found
    cost = _located(reading)
    guessed: list[Json] = [f"{name}: [{', '.join(shape)}]" for name, shape in reading.guessed]
    lines: list[Json] = [{"line": one.line, "eops": one.text} for one in line_costs(reading)]
    there = cost.example
    example: dict[str, Json] = {s.name: n for s, n in cost.study.typical.items()}
    if there is not None:
        example |= {s.name: n for s, n in there.point.values.items()}
    analysis, derivation = reading.analysis, derivation_of(reading)
    return found | {
        "eops": _form(analysis.eops),
        "status": analysis.status,
        "lines": lines,
        "guessed": guessed,
        "inputs": [{"name": one.name, "type": type_text(one.type)} for one in analysis.inputs],
        "outputs": [{"name": one.name, "type": type_text(one.type)} for one in analysis.outputs],
        "conditions": [f"{one.text} ({one.reason})" for one in cost.study.needed],
        "symbols": [symbol.name for symbol in cost.study.symbols if symbol.kind == "length"],
        "example": example,
        "measures": list(_measures(cost)),
        "derivation": [] if derivation is None else [_chain(chain) for chain in derivation.chains],
        "atoms": _cut(_lowered_text(reading)),
    }


def _lowered_text(reading: Reading) -> str:
    lowered = reading.lowered
    return "" if lowered is None else with_deep_stack(lambda: program_text(lowered.program))


def _cut(text: str) -> str:
    lines = text.splitlines()
    return text if len(lines) <= _MOST_LINES else "\n".join((*lines[:_MOST_LINES], "…"))


def _measures(cost: Located) -> Iterable[Json]:
    for measure in cost.measures:
        parts: list[Json] = [
            {"name": f"{part.name} {part.space}".strip(), "form": _form(part.form)} for part in measure.parts
        ]
        yield {
            "key": measure.key,
            "name": measure.label,
            "unit": measure.remark,
            "form": None if measure.form is None else _form(measure.form),
            "headed": measure.headed,
            "parts": parts,
        }


def _form(form: Form) -> Json:
    """Return a form as text, and as MathML where that is possible."""
    text = text_of(form)
    math = mathml_of(form) if has_mathml(form) and len(text) < _LONGEST_FORMULA else None
    return {"text": text, "math": math}


def _chain(chain: ValueDerivation) -> Json:
    steps: list[Json] = []
    for step in chain.steps:
        own = step.span.source is not NOWHERE.source
        where = place(step.span).line if own else None
        file = step.span.source.name if own else None
        whole = () if step.after is None else typeset(step.after)
        pieces: list[Json] = [[piece.kind, visible(piece.content)] for piece in whole]
        told = {"text": step.text_after, "line": where, "file": file, "reason": step.reason}
        steps.append({**told, "pieces": pieces})
    return {"name": chain.name, "steps": steps, "total": to_text(chain.total)}


def _told(found: Diagnostic) -> Json:
    """Return a diagnostic with its place in the text."""
    here = found.span.source.name == "program.tol"
    text = found.span.source.text
    fix: Json = None
    if found.fix is not None and here:
        span = found.fix.span
        ends = {"from": _units(text, span.start), "to": _units(text, span.end)}
        fix = {"title": found.fix.title, **ends, "text": found.fix.text}
    return {
        "code": found.code,
        "severity": found.severity,
        "message": found.message,
        "hint": found.hint,
        "from": _units(text, found.span.start) if here else 0,
        "to": _units(text, found.span.end) if here else 0,
        "line": place(found.span).line if here else None,
        "fix": fix,
    }


def _units(text: str, offset: int) -> int:
    return len(text[:offset].encode("utf-16-le", "surrogatepass")) // 2


def _offset(text: str, units: int) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "replace"))


# ---- numbers -----------------------------------------------------------------------------------


def _numbers(asked: PageRequest) -> dict[str, Json]:
    """Return the figures at lengths, and how EOPs and bytes grow with one of them."""
    reading = _reading(asked["text"])
    cost = _located(reading, asked["dims"])
    figures: dict[str, Json] = {measure.key: _number(cost.value(measure.form)) for measure in cost.measures}
    swept = asked.get("sweep")
    return {
        "figures": figures,
        "lines": [{"line": one.line, "value": _number(cost.value(one.eops))} for one in line_costs(reading)],
        "growth": [] if swept is None else _growth(reading, asked["dims"], swept),
    }


def _growth(reading: Reading, dims: Mapping[str, int], name: str) -> list[Json]:
    rows: list[Json] = []
    for value in _SWEEP:
        try:
            cost = _located(reading, {**dims, name: value})
        except Rejected:  # a condition does not hold there
            continue
        total = cost.total
        rows.append(
            {"at": value, "eops": _number(cost.value(total.eops)), "bytes": _number(cost.value(total.bytes))}
        )
    return rows


def _number(found: Form | None) -> Json:
    """Write a number for the page, which reads a quotient as ``5/8``."""
    if isinstance(found, Fraction) and found.denominator > 1:
        return f"{found.numerator}/{found.denominator}"
    return number(found) if isinstance(found, int | Fraction) else None


# ---- two programs, runs, and help while writing ------------------------------------------------


def _compared(asked: PageRequest) -> dict[str, Json]:
    """Compare two programs for all lengths, with figures at lengths, and curves over one of them."""
    pair = _pair(asked["old"], asked["new"])
    found = pair.found
    values = pair.put(asked.get("dims", {}))
    rows: list[Json] = [
        {"metric": row.metric, "name": shown_name(row.metric), "part": row.part,
         "old": _form(row.old), "new": _form(row.new),
         "verdict": row.verdict, "less": _witness(row.less), "more": _witness(row.more),
         **_at(row, values)}
        for row in found.rows
    ]  # fmt: skip
    notes: list[Json] = [*found.notes]
    lengths = sorted((s.name, n) for s, n in (values or {}).items() if s.kind == "length")
    return {
        "verdict": found.verdict,
        "said": said_of(found.whole.claim, *found.whole.regions),
        "rows": rows,
        "notes": notes,
        "point": None if values is None else lengths_text(lengths),
        **pair.curves(asked.get("dims", {}), asked.get("sweep")),
    }


class _Pair(Struct, frozen=True):
    """Two programs, compared, and the lengths of the old one in terms of those of the new one."""

    old: Located
    new: Located
    found: CostComparison
    lengths: Mapping[str, Symbol]

    def put(self, dims: Mapping[str, int]) -> dict[Symbol, int] | None:
        """Return lengths of both by the names in the old one; None if one of the two has no figures there."""
        values = {s: n for s, n in self.new.study.typical.items() if s.kind == "length"}
        values |= {s: n for s, n in self.old.study.typical.items() if self.lengths.get(s.name) == s}
        values |= {symbol: dims[name] for name, symbol in self.lengths.items() if name in dims}
        sides = (
            (self.old, {name: values[s] for name, s in self.lengths.items() if s in values}),
            (self.new, {s.name: values[s] for s in self.new.study.symbols if s in values}),
        )
        try:
            for cost, given in sides:
                locate_study(Located, cost.study, given)
        except Rejected:  # a condition does not hold there
            return None
        return values

    def gap(self, dims: Mapping[str, int]) -> tuple[int, int] | None:
        """Return the EOPs of both at lengths."""
        values = self.put(dims)
        return None if values is None else _values(self.found.whole, values)

    def curves(self, dims: Mapping[str, int], name: str | None) -> dict[str, Json]:
        """Return the EOPs of both as one length grows, and the values at which the costlier one changes."""
        if name is None or name not in self.lengths:
            return {"curves": [], "turns": []}
        known = ((at, self.gap({**dims, name: at})) for at in _SWEEP)
        rows = [(at, gap) for at, gap in known if gap is not None]
        curves: list[Json] = [{"at": at, "old": number(was), "new": number(now)} for at, (was, now) in rows]
        unequal = [(at, now > was) for at, (was, now) in rows if was != now]
        turns: list[Json] = [
            self._turn(dims, name, left, right) for left, right in pairwise(unequal) if left[1] != right[1]
        ]
        return {"curves": curves, "turns": turns}

    def _turn(
        self, dims: Mapping[str, int], name: str, left: tuple[int, bool], right: tuple[int, bool]
    ) -> Json:
        """Return a value at which the costlier one is the other than at the value before it."""
        low, high = left[0], right[0]
        while high - low > 1:
            middle = (low + high) // 2
            gap = self.gap({**dims, name: middle})
            if gap is not None and gap[0] != gap[1] and (gap[1] > gap[0]) == right[1]:
                high = middle
            else:
                low = middle
        return {"at": high, "costlier": "new" if right[1] else "old"}


@lru_cache(maxsize=4)
def _pair(old_text: str, new_text: str) -> _Pair:
    """Compare two programs once, however often lengths change."""
    old, new = (_located(_reading(text)) for text in (old_text, new_text))
    found = with_deep_stack(lambda: compare(old, new, old_text == new_text))
    lengths: dict[str, Symbol] = {}
    for symbol, form in match(old, new).symbols.items():
        if symbol.kind == "length" and len(form.free) == 1 and form == atom(*form.free):
            lengths[symbol.name] = next(iter(form.free))
    return _Pair(old, new, found, lengths)


def _at(row: FigureDifference, values: Mapping[Symbol, int] | None) -> dict[str, Json]:
    """Return both values of a figure, and the change as a percentage of the old one."""
    known = None if values is None else _values(row, values)
    if known is None:
        return {"was": None, "now": None, "change": None}
    was, now = known
    change = None
    if was and was != now:
        change = change_text(was, now)
    return {"was": number(was), "now": number(now), "change": change}


def _values(row: FigureDifference, values: Mapping[Symbol, int]) -> tuple[int, int] | None:
    try:
        return evaluate(row.old, values), evaluate(row.new, values)
    except (UnboundSymbol, NotInteger, AlgebraBudget):  # data decides it, or it has no figure there
        return None


def _witness(found: Any) -> Json:
    if found is None:
        return None
    return f"{lengths_text(found.point)}: {found.left:,} against {found.right:,}"


def _run(asked: PageRequest) -> dict[str, Json]:
    """Run a program on small inputs, and compare its counts with the closed forms."""
    reading = _reading(asked["text"])
    cost = _located(reading, asked["dims"])
    lowered = reading.lowered
    assert lowered is not None
    found = with_deep_stack(lambda: run_small(lowered.program, asked["inputs"], asked["dims"]))
    outputs: dict[str, Json] = {
        name: json.loads(json.dumps([part.nested() for part in parts]))
        for name, parts in found.outputs.items()
    }
    executed = sum(found.functions.values())
    return {"outputs": outputs, "executed": executed, "closed": _number(cost.value(cost.total.eops))}


def _unrolled(asked: PageRequest) -> dict[str, Json]:
    """Unroll a program at lengths into the five atoms."""
    reading = _reading(asked["text"])
    _located(reading, asked["dims"])
    lowered = reading.lowered
    assert lowered is not None
    return {"text": _cut(with_deep_stack(lambda: unrolled_text(unroll(lowered.program, asked["dims"]))))}


def _format(asked: PageRequest) -> dict[str, Json]:
    return {"text": formatted(Source("program.tol", asked["text"]))}


def _complete(asked: PageRequest) -> dict[str, Json]:
    reading = _reading(asked["text"])
    last = _reading(asked["last"]) if asked.get("last") else None
    found = completions_at(reading, last, _offset(asked["text"], asked["at"]))
    return {"options": [{"label": one.label, "type": one.kind, "detail": one.detail} for one in found]}


def _hover(asked: PageRequest) -> dict[str, Json]:
    found = hover_at(_reading(asked["text"]), _offset(asked["text"], asked["at"]))
    return {"markdown": None if found is None else found.markdown}


_ANSWERS: dict[str, Callable[[PageRequest], dict[str, Json]]] = {
    "analyse": _analysed,
    "numbers": _numbers,
    "compare": _compared,
    "run": _run,
    "unroll": _unrolled,
    "format": _format,
    "complete": _complete,
    "hover": _hover,
}
