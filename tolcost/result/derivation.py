"""The derivation of a cost: a chain of equalities for every name, each step with its line and reason.

Other evidence for a closed form stands beside it: the count of a run, and sympy's own derivation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from tolcost.algebra import Symbol, to_text
from tolcost.cost.derive import Derivation, DerivationStep, ValueDerivation
from tolcost.cost.record import Analysis
from tolcost.diagnostics import visible
from tolcost.result.point import line_in, requirements
from tolcost.show.document import (
    Cell,
    Code,
    Column,
    Document,
    Form,
    Heading,
    Json,
    Lines,
    ReportTable,
    document,
    form_at,
    text_of,
    write,
)
from tolcost.show.fit import BOLD, DIM, FitCell, FitColumn, fit, paint
from tolcost.show.tables import csv_text
from tolcost.show.text import hanging, plain_table, text

if TYPE_CHECKING:
    from tolcost.cost.second_opinion import Opinion
    from tolcost.execute.values import RunCounts

_WIDEST = 72
"""The widest formula that a step shows as a whole; of a wider one it shows the term that it derives."""
_WHOLE, _TERM = "  = ", "      "
"""What stands before a whole formula, and before a term of one."""
_REASON = 16
"""The least width of a reason beside a formula."""


def derivation_text(
    derivation: Derivation, name: str, file: str, colour: bool = False, width: int | None = None
) -> str:
    """Write the chains of all named values, their sum, and the conditions under which they hold."""
    where = _holds_where(derivation, file)
    told = [["holds where", *one] for one in where[:1]] + [["", *one] for one in where[1:]]
    cells = [[FitCell(said, style=DIM * (n == 2)) for n, said in enumerate(row)] for row in told]
    held = fit([FitColumn()] * 3, cells, width, colour).lines
    head = text((Heading(name, file),), colour, width)
    return "\n".join((head, *chain_lines(derivation, file, colour, width), *held, *[""] * bool(held)))


def _holds_where(derivation: Derivation, file: str) -> list[tuple[str, str]]:
    """Return the conditions on lengths that the program relies on, and their reasons."""
    return [
        (visible(one.text), f"{visible(one.reason)} ({one.place(file)})")
        for one in requirements(derivation.conditions, ())
    ]


def chain_lines(
    derivation: Derivation, file: str, colour: bool = False, width: int | None = None
) -> list[str]:
    """Write the chains of all named values, and their sum, with an empty line after each."""
    lines: list[str] = []
    chains = _worth_showing(derivation)
    alike = [(chain, sum(1 for _ in same)) for chain, same in groupby(chains)]
    for chain, times in alike:
        title = _title(chain) + (f"  ({times} times)" if times > 1 else "")
        titles = [title] if width is None else hanging(title, width)
        lines += [paint(line, BOLD * colour) for line in titles]
        lines += [*_chain(chain, file, colour, width), ""]
    costly = [(chain, times) for chain, times in alike if chain.total != 0]
    if [times for _, times in costly] != [1]:
        parts = [f"{times}*{_title(chain)}" if times > 1 else _title(chain) for chain, times in costly]
        whole = f"{' + '.join(parts) or 'EOPs of the whole program'} = {_total(derivation)}"
        lines += [*([whole] if width is None else hanging(whole, width)), ""]
    return lines


def _worth_showing(derivation: Derivation) -> tuple[ValueDerivation, ...]:
    """Leave out outputs that only mention a value derived already."""
    named = {chain.name for chain in derivation.chains if chain.total != 0}
    kept = [chain for chain in derivation.chains if chain.total != 0 or chain.name not in named]
    return tuple(kept)


def _chain(chain: ValueDerivation, file: str, colour: bool, width: int | None) -> Iterator[str]:
    """Write the steps of a chain; on a terminal a long formula continues below, and loses nothing."""
    steps = list(_lines_of(chain, file))
    if width is not None:
        rows = [
            [
                FitCell(form if len(form) > width // 3 else _joined(form), prefix=prefix),
                FitCell(where, "number", style=DIM),
                FitCell(reason, style=DIM, floor=_REASON),
            ]
            for prefix, form, where, reason in steps
        ]
        yield from fit([FitColumn()] * 3, rows, width, colour).lines
        return
    shown = [(f"{prefix}{_joined(form)}", where, reason) for prefix, form, where, reason in steps]
    aligned = max((len(form) for form, _, _ in shown if len(form) <= _WIDEST + len(_WHOLE)), default=0)
    places = max((len(where) for _, where, _ in shown), default=0)
    for form, where, reason in shown:
        said = paint(f"{where.ljust(places)}  {reason}".rstrip(), DIM * colour)
        yield f"{form.ljust(aligned)}  {said}".rstrip()


def _joined(form: str) -> str:
    """Put a step that has two lines into one."""
    return form.replace("\n", " ")


def _lines_of(chain: ValueDerivation, file: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield what stands before a step, its formula, its line, and its reason.

    Equal steps in a row are one.  Before the closed form stands a long formula with all of its terms derived.
    """
    before = _WHOLE

    def rule(step: DerivationStep) -> tuple[str, ...]:
        prefix, form = _shown(step)
        return prefix, line_in(step.span, file), visible(step.reason), form * (prefix == _TERM)

    for (prefix, where, reason, _), same in groupby(chain.steps, key=rule):
        alike = list(same)
        if before == _TERM and not alike[0].term_before and chain.complete:
            yield _WHOLE, visible(alike[0].text_before), "", "all terms together"
        times = f" ({len(alike)} times)" if len(alike) > 1 else ""
        yield prefix, _shown(alike[-1])[1], where, reason + times
        before = prefix


def _shown(step: DerivationStep) -> tuple[str, str]:
    """Return what a step shows: the whole formula, or if that is long, the term that it derives."""
    if len(step.text_after) <= _WIDEST or not step.term_before:
        return _WHOLE, visible(step.text_after)
    return _TERM, f"{visible(step.term_before)}\n= {visible(step.term_after)}"


def derivation_document(derivation: Derivation, name: str, file: str) -> Document:
    """Return the chains as tables, and their sum."""
    chains = [chain for chain in _worth_showing(derivation) if chain.steps]
    tables = [
        ReportTable(
            (Column("form", _title(chain), "code"), Column("line", "line"), Column("reason", "because")),
            [(Code(step.text_after), line_in(step.span, file), step.reason) for step in chain.steps],
        )
        for chain in chains
    ]
    where = [(Code(text), reason) for text, reason in _holds_where(derivation, file)]
    held = [ReportTable((Column("condition", "holds where", "code"), Column("reason", "because")), where)]
    return (Heading(name, file), *tables, Lines((f"in all: {_total(derivation)}",)), *(held if where else ()))


def _total(derivation: Derivation) -> str:
    """Write the sum of the chains, and whether it is only a bound."""
    return to_text(derivation.total) + (", at most" if derivation.bounded else "")


def derivation_json(derivation: Derivation, name: str, file: str) -> str:
    """Write the chains as a JSON document."""
    chains: list[Json] = [
        {
            "name": chain.name,
            "eops": to_text(chain.total),
            "steps": [
                {"form": step.text_after, "line": line_in(step.span, file), "reason": step.reason}
                for step in chain.steps
            ],
        }
        for chain in _worth_showing(derivation)
    ]
    total = to_text(derivation.total)
    exact = not derivation.bounded
    conditions: list[Json] = [
        {"condition": one.text, "reason": visible(one.reason), "line": one.line}
        for one in requirements(derivation.conditions, ())
    ]
    content: dict[str, Json] = {"name": name, "file": file, "eops": total, "exact": exact}
    return document("derivation", {**content, "conditions": conditions, "chains": chains})


def _title(chain: ValueDerivation) -> str:
    """Name the derived value, or quote the source of a value without a name."""
    return f"EOPs({visible(chain.source)})"


# ---- the count of a run ----------------------------------------------------------------------


def compare_counts(executed: RunCounts, values: Mapping[Symbol, int], analysis: Analysis) -> tuple[str, bool]:
    """Return a table of counts, and whether every count agrees with its closed form.

    If the form is an upper bound, the count must not exceed it.
    """
    bound = analysis.status == "upper bound"
    table = [("", "executed", "at most" if bound else "closed form", "")]
    agree = True
    for label, count, form in _counts(executed, values, analysis):
        fits = isinstance(form, int) and (count <= form if bound else count == form)
        agree = agree and fits
        shown = "not known" if form is None else text_of(form, grouped=True)
        table.append((label, text_of(count, grouped=True), shown, "" if fits else "differs"))
    return plain_table(table[0], table[1:], right=(1, 2)) + "\n", agree


def _counts(
    executed: RunCounts, values: Mapping[Symbol, int], analysis: Analysis
) -> Iterator[tuple[str, int, Form | None]]:
    """Yield each count in words, its value in the run, and its closed form there."""
    yield "EOPs", sum(executed.histogram.values()), form_at(analysis.eops, values)
    both = (
        ("", executed.histogram, analysis.counts.histogram),
        ("index ", executed.index, analysis.counts.index),
    )
    for kind, counted, forms in both:
        for key in sorted(counted.keys() | forms.keys()):  # a key that one side lacks counts 0 there
            form = form_at(forms[key], values) if key in forms else 0
            yield f"  {kind}{key[0]} {key[1]}", counted.get(key, 0), form
    for name, form in analysis.counts.atoms.items():
        yield f"  atom {name}", executed.atoms.get(name, 0), form_at(form, values)


# ---- sympy's derivations ---------------------------------------------------------------------


Opinions: TypeAlias = "tuple[str, tuple[Opinion, ...]]"
"""A file, and the verdicts of both derivations on every function that it applies."""

_OPINION_COLUMNS = (
    Column("file", "program", shown=False),
    Column("function", "function"),
    Column("space", "space"),
    Column("sympy", "by sympy", "code"),
    Column("tolcost", "by tolcost", "form"),
    Column("verdict", "the same"),
    Column("reason", "why not more"),
)


def write_opinions(found: Sequence[Opinions], form: str, colour: bool, width: int | None) -> str:
    """Write sympy's derivations of some programs, beside those of tolcost."""
    if form == "json":
        return document("opinions", {"engine": "sympy", "programs": [_opinion_json(one) for one in found]})
    if form == "csv":
        return csv_text(_opinion_table([row for one in found for row in _opinion_rows(one)]))
    return write(tuple(block for one in found for block in _opinion_document(one)), form, colour, width)


def _opinion_document(one: Opinions) -> Document:
    file, opinions = one
    agreed = sum(opinion.verdict == "for all lengths" for opinion in opinions)
    said = f"{agreed} of {len(opinions)} counts are the same for all lengths"
    return (Heading(visible(file), "by sympy"), _opinion_table(_opinion_rows(one)), Lines((said,)))


def _opinion_table(rows: list[tuple[Cell, ...]]) -> ReportTable:
    return ReportTable(_OPINION_COLUMNS, rows, name="opinions")


def _opinion_rows(one: Opinions) -> list[tuple[Cell, ...]]:
    file, opinions = one
    return [
        (file, *opinion.function, Code(_theirs(opinion)), opinion.ours, opinion.verdict, opinion.reason)
        for opinion in opinions
    ]


def _theirs(opinion: Opinion) -> str:
    return "" if opinion.theirs is None else str(opinion.theirs)


def _opinion_json(one: Opinions) -> Json:
    file, opinions = one
    return {
        "file": file,
        "functions": [
            {
                "function": opinion.function[0],
                "space": opinion.function[1],
                "sympy": _theirs(opinion) or None,
                "tolcost": text_of(opinion.ours),
                "verdict": opinion.verdict,
                "reason": opinion.reason or None,
            }
            for opinion in opinions
        ],
    }
