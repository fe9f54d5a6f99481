"""The cost of a model or a program as one HTML page, recomputed when a length changes.

The page contains the data that it computes with: every distinct form once, as a tree that a script
evaluates exactly, and every condition.  If a condition fails, the page says so and shows no figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    Poly,
    Symbol,
    cond_text,
    substitute_cond,
    total_of,
)
from tolcost.cost.derive import DerivationStep, ValueDerivation, derive
from tolcost.cost.device import Duration
from tolcost.cost.engine import engine_of
from tolcost.diagnostics import NOWHERE, Rejected, place, visible
from tolcost.models.analysis import GraphCost
from tolcost.models.lowered import Applied, Lowered
from tolcost.result.compare import match
from tolcost.result.comparison import CostComparison, FigureDifference, explained
from tolcost.result.metrics import AMOUNTS, HELD, IN_BYTES, LEADING, TITLES
from tolcost.result.page_forms import PageForms
from tolcost.result.page_nodes import PageNode, model_of, page_memory, page_nodes, page_parts
from tolcost.result.program import ProgramStudy
from tolcost.result.program_page import function_title, program_parts
from tolcost.result.rows import TableRow
from tolcost.result.study import FUNCTIONS, Located, Study
from tolcost.result.totals import Adder
from tolcost.show.document import Json, form_in, plain
from tolcost.show.html import condition_tree, embedded, layout_script, render

_MOST_PARTS = 8
_MOST_MISSING = 500
"""Limits on the size of a page: derivations of a node, and nodes that are not costed."""


Older = tuple[Located, CostComparison]
"""Another model to show beside the first, and the comparison of the two."""


def cost_page(cost: Located, sweeps: Sequence[str] = (), older: Older | None = None) -> str:
    """Write the page of a model or a program, perhaps beside an older one.

    Growth is shown over the last length swept.
    """
    timed = _Timed.of(cost, older)
    forms = PageForms(timed.parts)
    found = _data(cost, forms, timed, older)
    found["other"] = None if older is None else _other(*older, cost, forms)
    data = {**found, "with": sweeps[-1] if sweeps else None, "forms": forms.trees, "shown": forms.shown}
    layout = layout_script() if data["graph"] else ""
    title, kind = visible(cost.study.name), cost.study.kind
    return render("model", title=title, kind=kind, data=embedded(data), layout=layout)


def _data(cost: Located, forms: PageForms, timed: _Timed, older: Older | None = None) -> dict[str, Json]:
    study = cost.study
    lengths = sorted(study.symbols, key=lambda symbol: symbol.kind == "data")  # data-dependent lengths last
    start = {symbol.name: value for symbol, value in (cost.example or cost).point.values.items()}
    start.update((older and older[1].lengths) or ())  # lengths that both allow
    return {
        "name": visible(study.name),
        "file": visible(study.file),
        "status": cost.status,
        "kind": study.kind,
        "coverage": study.coverage.text if study.kind == "model" else "",
        "head": [[label, visible(value)] for label, value in _head(study)],
        "types": [[way, visible(name), visible(kind)] for way, name, kind in study.types(cost.value)],
        "symbols": [
            {
                "name": s.name,
                "value": start.get(s.name, None if s.kind == "data" else 1),
                "data": s.kind == "data",
                "low": forms.number(s.lo),
                "high": forms.number(s.hi),
            }
            for s in lengths
        ],
        "requires": [
            {
                "text": one.text,
                "reason": visible(one.reason),
                "node": visible(one.place(study.file)),
                "test": condition_tree(one.condition, forms.number),
            }
            for one in study.needed
        ],
        "missing": [
            [one.op, visible(one.name), visible(one.why)] for one in cost.coverage.missing[:_MOST_MISSING]
        ],
        "figures": list(_figures(cost, forms)),
        **(
            program_parts(study, forms)
            if isinstance(study, ProgramStudy)
            else _model_parts(cost, forms, timed)
        ),
    }


def _figures(cost: Located, forms: PageForms) -> Iterator[Json]:
    for one in _anywhere(cost).measures:
        yield {
            "key": one.key,
            "label": one.label,
            "unit": one.number_remark,
            "bytes": one.key in IN_BYTES,
            "form": forms.any(one.form),
        }
    yield from page_parts(cost.study, forms)


def _model_parts(cost: Located, forms: PageForms, timed: _Timed) -> dict[str, Json]:
    """Return the operators and nodes of a model, its values that take memory, and its device."""
    model, is_step = model_of(cost.study), cost.study.report == "training"
    return {
        "amounts": {key: TITLES.get(key, key) for key in AMOUNTS},
        "operators": list(_operators(cost, forms, timed)),
        "memory": list(page_memory(cost.study, forms)),
        "step": is_step,
        "device": _device(cost, forms, timed),
        "graph": None if is_step else _graph(model.cost),
        **_nodes(model.adder, forms, timed),
    }


def _anywhere(cost: Located) -> Located:
    """Return the cost without a point, since lengths of a page may change."""
    return Located(cost.study, cost.study.locate({}), cost.weights, device=cost.device)


def _head(study: Study) -> Iterator[tuple[str, str]]:
    """Yield the facts about a model that precede its figures."""
    for fact in (*study.head(), *study.remarks()):
        yield fact.label, plain(fact.value) + (f" ({fact.remark})" if fact.remark else "")
    yield from (("checked when run", f"{one.text}: {one.reason} ({one.node})") for one in study.checked)


def _other(old: Located, found: CostComparison, cost: Located, forms: PageForms) -> dict[str, Json]:
    """Return an older model's cost by figure and operator, its conditions, and the comparison of the two."""
    symbols, whole = match(old, cost).symbols, found.whole
    names = [Path(file).name for file in (found.old, found.new)]
    needed = [substitute_cond(one.condition, symbols) for one in old.study.needed]
    return {
        "name": visible(names[0] if len(set(names)) > 1 else found.old),
        "than": visible(names[1] if len(set(names)) > 1 else found.new),
        "verdict": found.verdict,
        "said": found.said,
        "notes": [visible(note) for note in (*found.notes, *filter(None, (whole.why,)))],
        "requires": [{"text": cond_text(one), "test": condition_tree(one, forms.number)} for one in needed],
        "figures": list(_figures_beside(_anywhere(old), _anywhere(cost), symbols, found, forms)),
        "operators": [
            {"title": visible(title), LEADING: forms.number(row.old)}
            for row in found.rows
            if (title := _part_of(row)) is not None
        ],
        "layers": [
            [visible(row.part), forms.number(row.old), forms.number(row.new)]
            for row in found.layers
            if row.verdict != "same"
        ],
    }


def _part_of(row: FigureDifference) -> str | None:
    """Return the title of the operator or the function that a row is about; None for other rows."""
    if row.part == FUNCTIONS:
        return function_title(row.metric)
    return row.part or None if row.metric == LEADING else None


def _figures_beside(
    old: Located, new: Located, symbols: Mapping[Symbol, Poly], found: CostComparison, forms: PageForms
) -> Iterator[Json]:
    """Yield the figures that both models have, in the lengths of the new one, each with its verdict."""
    verdicts = {row.metric: explained(row) for row in found.rows if not row.part}
    before = {(one.key, one.label): one for one in old.measures}
    for one in new.measures:
        other = before.get((one.key, one.label))
        if other is None or other.form is None or one.form is None:
            continue
        yield {
            "key": one.key,
            "label": one.label,
            "unit": one.number_remark,
            "bytes": one.key in IN_BYTES,
            "old": forms.any(form_in(other.form, symbols)),
            "new": forms.any(one.form),
            "verdict": verdicts.get(one.key, ""),
        }


# ---- times ----------------------------------------------------------------------------------


class _Timed(Struct):
    """Times on the device that add up: of each node, of operators and of the whole, as far as they are known.

    All are whole in ``parts`` of a microsecond; ``wait`` is what any part of the work takes besides.
    """

    listed: Sequence[PageNode] = ()
    nodes: Sequence[Duration | None] = ()
    operators: Mapping[str, Duration | None] = field(default_factory=dict)
    whole: Duration | None = None
    wait: Fraction = Fraction(0)
    parts: int = 1

    @staticmethod
    def of(cost: Located, older: Older | None) -> _Timed:
        """Work out the times of a model; none without a device."""
        times, listed = cost.times, page_nodes(cost.study, cost.times is not None)
        if times is None:
            return _Timed(listed)
        known: dict[tuple[int, int, bool], Duration | None] = {}
        nodes = []
        for node in listed:
            key = id(node.applied), node.times, node.work == ()
            if key not in known:
                alone = None if node.work is None else replace(times, steps=node.work, sized=True)
                known[key] = None if alone is None else alone.added_up()
            nodes.append(known[key])
        operators = {title: own.added_up() for title, own in times.by_title().items()}
        measures = (*cost.measures, *(() if older is None else older[0].measures))
        forms = [one.form for one in measures if isinstance(one.form, Duration)]
        every = (*forms, *filter(None, (*known.values(), *operators.values())))
        below = lcm(times.wait.denominator, *(one.denominator for one in every))
        return _Timed(listed, nodes, operators, times.added_up(), times.wait, below)


def _operators(cost: Located, forms: PageForms, timed: _Timed) -> Iterator[Json]:
    """Yield operators, the costliest first; with a device, also the time of each on it."""
    for group in cost.groups("op"):
        yield {
            "title": visible(group.title),
            "nodes": group.nodes,
            **forms.figures(group.figures),
            "time": forms.time(timed.operators.get(group.title)),
        }


def _device(cost: Located, forms: PageForms, timed: _Timed) -> Json:
    """Return the peaks of the device, per microsecond, and what times are counted in."""
    if cost.device is None:
        return None
    kernels = [] if cost.device.fitted is None else [f"times {engine_of(cost.device.engine).assumed}"]
    return {
        "name": cost.device.name,
        "description": "; ".join((cost.device.description, *kernels)),
        "bytes": int(cost.device.bytes),
        "macs": {space: int(rate) for space, rate in cost.device.macs.items()},
        "predicts": cost.device.fitted is not None,
        "parts": str(timed.parts),
        "wait": str(int(timed.wait * timed.parts)),
        "whole": forms.time(timed.whole),
    }


# ---- nodes -----------------------------------------------------------------------------------


def _nodes(adder: Adder, forms: PageForms, timed: _Timed) -> dict[str, Json]:
    """Return every node with its scopes and kind, every kind with its figures, and the totals of scopes."""
    numbers: dict[tuple[object, ...], int] = {}
    kinds: list[Json] = []
    nodes: list[Json] = []
    scopes: dict[tuple[str, ...], list[PageNode]] = {}
    derived = _Derived()
    for n, node in enumerate(timed.listed):
        key = (id(node.applied), node.row.op, node.row.amounts[HELD])
        if key not in numbers:
            numbers[key] = len(kinds)
            time = forms.time(timed.nodes[n]) if timed.nodes else None
            kinds.append({**_kind(node.applied, node.row, forms, derived), "time": time})
        for depth in range(len(node.path) + 1):
            scopes.setdefault(node.path[:depth], []).append(node)
        nodes.append([visible(node.row.title), numbers[key], [visible(part) for part in node.path]])
    sums: list[Json] = [_sum(adder, path, inside, forms) for path, inside in scopes.items()]
    known: dict[str, Json] = {"derived": derived.found, "sources": derived.sources}
    return {"kinds": kinds, "nodes": nodes, "scopes": sums, **known}


def _graph(cost: GraphCost) -> Json:
    """Return which nodes read what others make, and the inputs and outputs of the model; None without such.

    Each node has a list of what it reads: how many nodes before it the value is made, or 0, -1, … for the
    first, the second, … input of the model.
    """
    graph = cost.model.graph
    made = {given.name: ~place for place, given in enumerate(graph.inputs)}
    reads: list[Json] = []
    linked = False
    for n, step in enumerate(graph.nodes):
        found = {made[name] for name in (*step.inputs, *step.free) if name in made}
        reads.append([*sorted(n - one if one >= 0 else one + 1 for one in found)])
        linked |= any(one >= 0 for one in found)
        made.update(dict.fromkeys(filter(None, step.outputs), n))
    if not linked:
        return None
    outputs: list[Json] = [[visible(name), made[name]] for name in graph.outputs if made.get(name, -1) >= 0]
    return {"inputs": [visible(given.name) for given in graph.inputs], "outputs": outputs, "reads": reads}


def _kind(applied: Applied, row: TableRow, forms: PageForms, derived: _Derived) -> dict[str, Json]:
    return {
        "op": visible(row.op),
        "type": visible(f"{row.type} {row.shape}".strip()),
        **{key: forms.number(form) for key, form in row.amounts.items()},
        "problem": visible(applied.uncosted[0].why.message) if applied.uncosted else None,
        "derived": [[derived.number(part), times] for part, times in applied.parts[:_MOST_PARTS]],
    }


def _sum(adder: Adder, path: Sequence[str], inside: Sequence[PageNode], forms: PageForms) -> dict[str, Json]:
    """Return the total of the nodes in a scope."""
    works: Counter[Lowered] = Counter()
    for node in inside:
        for lowered, times in node.applied.parts:
            works[lowered] += times * node.times
    held = [form for node in inside if (form := node.row.amounts[HELD]) is not None]
    parameters = forms.number(total_of(held))
    return {"path": [visible(part) for part in path], **forms.figures(adder.add(works)), HELD: parameters}


class _Derived(Struct):
    """The derivation of every lowered operator, and the definitions that its steps refer to."""

    found: list[Json] = field(default_factory=list)
    sources: dict[str, Json] = field(default_factory=dict)
    _numbers: dict[int, int] = field(default_factory=dict)

    def number(self, lowered: Lowered) -> int:
        """Return the index of an operator's derivation, adding it if it is new."""
        if id(lowered) not in self._numbers:
            self._numbers[id(lowered)] = len(self.found)
            self.found.append(
                {
                    "op": visible(lowered.op),
                    "chains": [
                        {"name": visible(chain.name), "steps": [self._step(step) for step in chain.steps]}
                        for chain in _chains(lowered)
                        if chain.steps
                    ],
                }
            )
        return self._numbers[id(lowered)]

    def _step(self, step: DerivationStep) -> Json:
        source = step.span.source
        if source is NOWHERE.source:
            return [visible(step.text_after), visible(step.reason), "", 0]
        self.sources.setdefault(source.name, source.text)
        return [visible(step.text_after), visible(step.reason), source.name, place(step.span).line]


def _chains(lowered: Lowered) -> tuple[ValueDerivation, ...]:
    try:
        return derive(lowered.program, lowered.put).chains
    except Rejected:  # too large to derive: the closed form is shown without a derivation
        return ()
