"""The study of a program: a model of one node, counted by the lines of its source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from tolcost.algebra import ZERO, Poly, Symbol, atom, restricting, to_text, total_of
from tolcost.cost.count import CountKey, Counts, Term
from tolcost.cost.record import Analysis, FormRatio, NamedType, shipped
from tolcost.cost.span import Depths
from tolcost.cost.weights import weigh
from tolcost.diagnostics import Source, place, quoted, refuse, visible
from tolcost.result.assumptions import assumed
from tolcost.result.metrics import HELD, whole_json
from tolcost.result.point import line_in, requirements
from tolcost.result.rows import TableRow
from tolcost.result.study import (
    FUNCTIONS,
    ComparedFigure,
    Coverage,
    Figures,
    Group,
    Located,
    Show,
    Study,
    at_json,
    figures_of,
    symbol_json,
    weighed_json,
)
from tolcost.result.time import TimedNodes, largest_of, work_of
from tolcost.show.document import Code, Fact, Form, Json, text_of
from tolcost.syntax import read_source

_MOST_BOUNDS = 3
"""At most this many lines are named that make counts upper bounds."""


class ProgramStudy(Study, frozen=True):
    """The study of an analysed program."""

    analysis: Analysis
    kind = "program"
    report = "program"

    def types(self, put: Callable[[Form], Form | None]) -> Iterator[tuple[str, str, str]]:
        """Yield inputs and outputs, as in ``R [n, k]``; a numeric has only its space."""
        for way, tensors in (("input", self.analysis.inputs), ("output", self.analysis.outputs)):
            yield from ((way, tensor.name, _type(tensor, put)) for tensor in tensors)

    def head(self) -> Iterator[Fact]:
        """Yield nothing: the inputs and outputs of a program say everything."""
        yield from ()

    @property
    def at_least(self) -> Poly | None:
        """The fewest EOPs, where recursion is told between two powers."""
        return self.analysis.least

    @property
    def idle(self) -> tuple[Symbol, ...]:
        """Lengths and attributes that no figure depends on, mostly attributes that only affect values."""
        return self.analysis.idle

    @property
    def span(self) -> Depths | None:
        """The depth, with reduces as chains and as trees; None if it is not known."""
        return self.analysis.span

    @property
    def parallelism(self) -> FormRatio | None:
        """EOPs over the depth; None if the depth is 0 at all lengths."""
        return self.analysis.parallelism

    @property
    def parallelism_tree(self) -> FormRatio | None:
        """EOPs over the depth with associative reduces as trees."""
        return self.analysis.parallelism_tree

    def remarks(self) -> Iterator[Fact]:
        """Yield the lines that make counts upper bounds."""
        for span in self.analysis.counts.bounded[:_MOST_BOUNDS]:
            text = span.text.split("\n")[0]
            code = Code(f"{line_in(span, self.file)}: {visible(text)}")
            yield Fact("bounded by", code, "data decides what it computes")

    def compared_parts(self) -> Iterator[ComparedFigure]:
        """Yield the counts by function and space."""
        for (name, space), form in self.total.histogram.items():
            yield ComparedFigure(FUNCTIONS, f"{name}:{space}", form, self.total.status)

    def groups(self, by: str) -> tuple[Group, ...]:
        """Return EOPs and FLOPs by source line, in order; or everything as one group.

        Bytes and MACs have no line: they belong to inputs, outputs and whole folds.
        """
        if by != "line":
            return (Group(self.name, 1, self.total),)
        lines: dict[tuple[str, int], list[Term]] = {}
        for term in self.analysis.counts.terms:
            if term.kind == "data":
                source = term.span.source.name
                where = ("" if source == self.file else visible(source), place(term.span).line)
                lines.setdefault(where, []).append(term)
        return tuple(
            Group(f"{file}:{line}" if file else f"line {line}", len(terms), self.of_terms(terms))
            for (file, line), terms in sorted(lines.items())
        )

    def of_terms(self, terms: Sequence[Term]) -> Figures:
        """Return the figures of some places in the source, limited to those that are counted by line."""
        counts: dict[CountKey, list[Poly]] = {}
        for term in terms:
            counts.setdefault((term.function, term.space), []).append(term.count)
        histogram = {key: total_of(forms) for key, forms in counts.items()}
        atoms = dict.fromkeys(self.total.atoms, ZERO) | {"lambda": total_of(histogram.values())}
        own = Counts(histogram, {}, atoms, ZERO, (), self.total.status)
        return replace(self.total, counts=own, flops=weigh(own, shipped("flops")).numerator)

    def record(self, cost: Located, metrics: frozenset[str] | None) -> dict[str, Json]:
        """Return the program's entry in the document of ``tolcost analyze``."""
        analysis = self.analysis

        def figures(show: Show) -> dict[str, Json]:
            return {**whole_json(self, show, metrics), **weighed_json(cost, show)}

        return {
            "name": self.name,
            "file": self.file,
            "inputs": [_tensor_json(tensor) for tensor in analysis.inputs],
            "outputs": [_tensor_json(tensor) for tensor in analysis.outputs],
            "symbols": [symbol_json(symbol) for symbol in self.symbols],
            **figures(Show(cost)),
            "status": cost.status,
            "conditions": self._conditions("needed"),
            "unproved": self._conditions("checked"),
            **({"assumptions": list(self.assumed.texts)} if self.assumed.texts else {}),
            **at_json(cost, figures),
        }

    def _conditions(self, kind: str) -> list[Json]:
        found = (one for one in self.requirements if one.kind == kind)
        return [{"condition": c.text, "reason": visible(c.reason), "line": c.line} for c in found]

    def steps(self, by: str) -> tuple[TimedNodes, ...]:
        """Return the program as a single step."""
        total, largest = self.total, largest_of(self.inputs)
        work = work_of(self.name, total.traffic, total.histogram, total.macs, largest, self.analysis.obstacle)
        return () if work is None else (TimedNodes(self.name, 1, work),)

    def assuming(self, texts: Sequence[str], lenient: bool = False) -> ProgramStudy:
        """Return the program under assumptions, substituted into every form."""
        if not texts:
            return self
        named = {s.name: atom(s) for s in (*self.symbols, *self.idle)}
        found = assumed(texts, named, lenient, self.requirements)
        gone = found.put.keys()
        fresh = {s for form in found.put.values() for s in form.free} - set(self.symbols)
        symbols = (*(s for s in self.symbols if s not in gone), *sorted(fresh, key=lambda s: s.key))
        study = program_study(replace(self.analysis.map_forms(found.change), symbols=symbols))
        return replace(study, requirements=found.conditions(self.requirements), assumed=found)

    def rows(self, by: str, depth: int) -> tuple[TableRow, ...]:
        """Return the program as a single row."""
        return (TableRow(self.name, 1, {**self.total.amounts, HELD: ZERO}, status=self.total.status),)


def program_study(analysis: Analysis) -> ProgramStudy:
    """Return the study of an analysis, with forms simplified by the conditions under which they hold."""
    needed = requirements(analysis.conditions, analysis.unproved)
    return replace(counted_study(_where_it_holds(analysis)), requirements=needed)


def counted_study(analysis: Analysis) -> ProgramStudy:
    """Return the study of an analysis, with forms as they were counted."""
    return ProgramStudy(
        name=analysis.name,
        file=analysis.file,
        inputs=analysis.inputs,
        symbols=analysis.symbols,
        total=figures_of(analysis),
        requirements=(),
        coverage=Coverage(1, ()),
        analysis=analysis,
    )


def _where_it_holds(analysis: Analysis) -> Analysis:
    """Simplify the forms of an analysis by its conditions."""
    facts = tuple(one.condition for one in analysis.conditions)
    return analysis.map_forms(cache(restricting(facts))) if facts else analysis


def _type(tensor: NamedType, put: Callable[[Form], Form | None]) -> str:
    parts = []
    for part in tensor.type:
        shape = ", ".join(text_of(found) for d in part.shape if (found := put(d)) is not None)
        parts.append(f"{part.space} [{shape}]" if part.shape else part.space)
    return ", ".join(parts)


# ---- JSON ----------------------------------------------------------------------------------


def _tensor_json(tensor: NamedType) -> dict[str, Json]:
    """Return a ToL with its space and shape; a list of several components has these for each component."""
    parts: list[Json] = [
        {"space": part.space, "shape": [to_text(d) for d in part.shape]} for part in tensor.type
    ]
    first = parts[0] if len(parts) == 1 else None
    return {"name": tensor.name, **(first if isinstance(first, dict) else {"components": parts})}


def program_source(path: str | Path) -> Source:
    """Read a program; the error for a model names the command for models."""
    if Path(path).suffix == ".onnx":
        hint = f"`tolcost model {path}`; in Python, `tolcost.load_model`"
        refuse("T0003", f"{quoted(str(path))} is a model, not a program", hint=hint)
    return read_source(path)
