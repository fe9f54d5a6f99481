"""The study of a program: a model of one node, counted by the lines of its source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from tolcost.algebra import ZERO, Poly, Symbol, atom, restricting, to_text, total_of
from tolcost.cost.count import CountKey, Counts, Term
from tolcost.cost.record import Analysis, NamedType, analysis_with, shipped
from tolcost.cost.span import Depth
from tolcost.cost.weights import Weighed, weigh
from tolcost.diagnostics import Source, place, quoted, refuse, visible
from tolcost.result.assumptions import assumed
from tolcost.result.claims import Certainty
from tolcost.result.point import line_in, requirements
from tolcost.result.rows import TableRow
from tolcost.result.study import (
    FUNCTIONS,
    Coverage,
    Figures,
    Group,
    Located,
    Measure,
    Portion,
    Show,
    Study,
    at_json,
    bound_of,
    bytes_measure,
    figures_of,
    functions_json,
    intensity_measure,
    symbol_json,
)
from tolcost.result.time import TimedNodes, largest_of, work_of
from tolcost.show.document import Code, Fact, Form, Json, text_of
from tolcost.syntax import read_source

METRICS = ("eops", "flops", "macs", "bytes", "span", "index", "atoms")
_TREES = "associative reduces as trees"
_MOST_BOUNDS = 3


class ProgramStudy(Study, frozen=True):
    """A program that was analysed."""

    analysis: Analysis
    kind = "program"

    def types(self, put: Callable[[Form], Form | None]) -> Iterator[tuple[str, str, str]]:
        """Inputs and outputs, as in ``R [n, k]``; a numeric is just its space."""
        for way, tensors in (("input", self.analysis.inputs), ("output", self.analysis.outputs)):
            yield from ((way, tensor.name, _type(tensor, put)) for tensor in tensors)

    def head(self) -> Iterator[Fact]:
        """Nothing else: a program is its inputs and outputs."""
        yield from ()

    @property
    def idle(self) -> tuple[Symbol, ...]:
        """Attributes that only values depend on, mostly."""
        return self.analysis.idle

    @property
    def depth(self) -> Depth | None:
        """The longest chain of functions; None where it is not known."""
        return None if self.analysis.span is None else self.analysis.span.chain

    def remarks(self) -> Iterator[Fact]:
        """The lines that make counts upper bounds."""
        for span in self.analysis.counts.bounded[:_MOST_BOUNDS]:
            text = span.text.split("\n")[0]
            code = Code(f"{line_in(span, self.file)}: {visible(text)}")
            yield Fact("bounded by", code, "data decides what it computes")

    def measures(self, weighed: Iterable[tuple[str, Weighed]]) -> tuple[Measure, ...]:
        """Every figure with its parts."""
        total, analysis = self.total, self.analysis
        atoms = tuple(Portion(name, "", form) for name, form in total.atoms.items())
        found = [
            Measure("eops", "EOPs", total.eops, parts=_counted(total.histogram)),
            Measure("flops", "FLOPs", total.flops),
            Measure("macs", "MACs", total.macs),
            *(Measure("weights", name, value, value.unit) for name, value in weighed),
            *_traffic(analysis, total.status),
            *_span(analysis, total.status),
        ]
        if total.index:
            found.append(Measure("index", "index", None, parts=_counted(total.index), headed=False))
        found.append(Measure("atoms", "atoms", None, parts=atoms, headed=False))
        return tuple(found)

    def compared(self) -> Iterator[tuple[str, str, Poly]]:
        """The totals, then counts by function and space."""
        total = self.total
        yield from (("", "eops", total.eops), ("", "flops", total.flops), ("", "macs", total.macs))
        if total.bytes is not None:
            yield "", "bytes", total.bytes
        for (name, space), form in total.histogram.items():
            yield FUNCTIONS, f"{name}:{space}", form

    def groups(self, by: str) -> tuple[Group, ...]:
        """EOPs and FLOPs by the lines they come from, in order; or all of them together.

        What moves, and MACs, are no line's: they belong to inputs, outputs and whole folds.
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
            Group(f"{file}:{line}" if file else f"line {line}", len(terms), self._of(terms))
            for (file, line), terms in sorted(lines.items())
        )

    def _of(self, terms: Sequence[Term]) -> Figures:
        counts: dict[CountKey, list[Poly]] = {}
        for term in terms:
            counts.setdefault((term.function, term.space), []).append(term.count)
        histogram = {key: total_of(forms) for key, forms in counts.items()}
        atoms = dict.fromkeys(self.total.atoms, ZERO) | {"lambda": total_of(histogram.values())}
        own = Counts(histogram, {}, atoms, ZERO, (), "exact")
        flops = weigh(own, shipped("flops")).numerator
        return replace(self.total, histogram=histogram, index={}, atoms=atoms, macs=ZERO, flops=flops)

    def record(self, cost: Located, metrics: frozenset[str] | None) -> dict[str, Json]:
        """An entry of the document of ``analyze``."""
        analysis, wanted = self.analysis, frozenset(METRICS) if metrics is None else metrics
        weighed = tuple((model.name, self.weighed(model)) for model in cost.weights)

        def figures(show: Show) -> dict[str, Json]:
            return _figures_json(analysis, wanted, weighed, show)

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
        """The program is one step."""
        total, largest = self.total, largest_of(self.inputs)
        work = work_of(self.name, total.traffic, total.histogram, total.macs, largest)
        return () if work is None else (TimedNodes(self.name, 1, work),)

    def assuming(self, texts: Sequence[str], lenient: bool = False) -> ProgramStudy:
        """The program under assumptions: every form with what is assumed put in place."""
        if not texts:
            return self
        named = {s.name: atom(s) for s in (*self.symbols, *self.idle)}
        found = assumed(texts, named, lenient, self.requirements)
        gone = found.put.keys()
        fresh = {s for form in found.put.values() for s in form.free} - set(self.symbols)
        symbols = (*(s for s in self.symbols if s not in gone), *sorted(fresh, key=lambda s: s.key))
        study = program_study(replace(analysis_with(self.analysis, found.change), symbols=symbols))
        return replace(study, requirements=found.conditions(self.requirements), assumed=found)

    def rows(self, by: str, depth: int) -> tuple[TableRow, ...]:
        """The program is one row."""
        return (TableRow(self.name, 1, {**self.total.amounts, "parameters": ZERO}),)


def program_study(analysis: Analysis) -> ProgramStudy:
    """Bring an analysis into the form that everything is shown and compared in: as it is where it holds."""
    analysis = _where_it_holds(analysis)
    return ProgramStudy(
        name=analysis.name,
        file=analysis.file,
        inputs=analysis.inputs,
        symbols=analysis.symbols,
        total=figures_of(analysis),
        requirements=requirements(analysis.conditions, analysis.unproved),
        coverage=Coverage(1, ()),
        analysis=analysis,
    )


def _where_it_holds(analysis: Analysis) -> Analysis:
    """Forms without what the conditions of an analysis settle."""
    facts = tuple(one.condition for one in analysis.conditions)
    return analysis_with(analysis, cache(restricting(facts))) if facts else analysis


def _counted(counts: Mapping[CountKey, Poly]) -> tuple[Portion, ...]:
    return tuple(Portion(name, space, form) for (name, space), form in sorted(counts.items()))


def _traffic(analysis: Analysis, status: Certainty) -> Iterator[Measure]:
    moved = analysis.traffic
    ways = (("read", moved.read), ("written", moved.written))
    parts = tuple(Portion(way, space, form) for way, spaces in ways for space, form in spaces.items())
    yield bytes_measure("bytes", moved, parts)
    if analysis.intensity is not None and moved.total != 0:
        yield intensity_measure(analysis.intensity, moved, status)


def _span(analysis: Analysis, status: Certainty) -> Iterator[Measure]:
    depth = analysis.span
    if depth is None:
        yield Measure("span", "depth", None)
        return
    differs = depth.tree != depth.chain
    tree = (Portion("tree", "", depth.tree, _TREES),) if differs else ()
    exact, full = depth.chain.exact, depth.chain.full
    bound = None if exact else bound_of("span", status)
    yield Measure("span", "depth", depth.chain, "", tree, full=full, bound=bound)
    if analysis.parallelism is not None and analysis.parallelism_tree is not None and analysis.eops != 0:
        wide = (Portion("tree", "", analysis.parallelism_tree),) if differs else ()
        bound = None if exact else bound_of("parallelism", status)
        yield Measure("parallelism", "parallelism", analysis.parallelism, "", wide, full=full, bound=bound)


def _type(tensor: NamedType, put: Callable[[Form], Form | None]) -> str:
    parts = []
    for part in tensor.type:
        shape = ", ".join(text_of(found) for d in part.shape if (found := put(d)) is not None)
        parts.append(f"{part.space} [{shape}]" if part.shape else part.space)
    return ", ".join(parts)


# ---- JSON ----------------------------------------------------------------------------------


def _tensor_json(tensor: NamedType) -> dict[str, Json]:
    """A ToL has a space and a shape; a list of several components has them one by one."""
    parts: list[Json] = [
        {"space": part.space, "shape": [to_text(d) for d in part.shape]} for part in tensor.type
    ]
    first = parts[0] if len(parts) == 1 else None
    return {"name": tensor.name, **(first if isinstance(first, dict) else {"components": parts})}


def _figures_json(
    analysis: Analysis,
    wanted: frozenset[str],
    weighed: Sequence[tuple[str, Weighed]],
    show: Show,
) -> dict[str, Json]:
    """The figures asked for; the same keys for closed forms and for numbers."""
    groups: dict[str, Callable[[], dict[str, Json]]] = {
        "eops": lambda: {
            "eops": show(analysis.eops),
            "histogram": functions_json(analysis.counts.histogram, show),
        },
        "flops": lambda: {"flops": show(analysis.flops)},
        "macs": lambda: {"macs": show(analysis.counts.macs)},
        "bytes": lambda: _bytes_json(analysis, show),
        "span": lambda: _span_json(analysis, show),
        "index": lambda: {"index": functions_json(analysis.counts.index, show)},
        "atoms": lambda: {"atoms": {name: show(form) for name, form in analysis.counts.atoms.items()}},
    }
    found: dict[str, Json] = {}
    for metric, group in groups.items():
        found.update(group() if metric in wanted else {})
    if weighed:
        found["weighed"] = {name: {"value": show(one), "unit": one.unit} for name, one in weighed}
    return found


def _bytes_json(analysis: Analysis, show: Show) -> dict[str, Json]:
    moved = analysis.traffic
    return {
        "bytes": show(moved.total),
        "bytes_exact": not moved.open and show.reaches(moved.full),
        "traffic": {
            "read": {space: show(form) for space, form in moved.read.items()},
            **({"certain": {s: show(form) for s, form in moved.least.items()}} if moved.least else {}),
            "written": {space: show(form) for space, form in moved.written.items()},
        },
        "intensity": show(analysis.intensity),
    }


def _span_json(analysis: Analysis, show: Show) -> dict[str, Json]:
    depth = analysis.span
    return {
        "span": show(None if depth is None else depth.chain),
        "span_tree": show(None if depth is None else depth.tree),
        "span_exact": depth is not None and depth.chain.exact and show.reaches(depth.chain.full),
        "parallelism": show(analysis.parallelism),
        "parallelism_tree": show(analysis.parallelism_tree),
    }


def program_source(path: str | Path) -> Source:
    """Read a program; a model is pointed to where it belongs."""
    if Path(path).suffix == ".onnx":
        hint = f"`tolcost model {path}`; in Python, `tolcost.load_model`"
        refuse("T0003", f"{quoted(str(path))} is a model, not a program", hint=hint)
    return read_source(path)
