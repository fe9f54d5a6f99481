"""The study of a model, with figures computed when they are first asked for."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import Poly, Symbol, atom, const, polys_of, product_of, substitute, to_text, total_of
from tolcost.atoms.nodes import Part
from tolcost.catalogue.graph import Model
from tolcost.catalogue.operand_types import newest_version
from tolcost.catalogue.reading import load_model as read_model
from tolcost.catalogue.specs import open_library
from tolcost.cost.device import CallWork
from tolcost.cost.record import NamedType
from tolcost.cost.span import Depth
from tolcost.diagnostics import quoted, refuse, visible
from tolcost.elaborate import Seq, Tensor
from tolcost.models.analysis import GraphCost, analyze_graph, conditions_of, depth_of, settling, with_forms
from tolcost.models.biases import biased
from tolcost.models.facts import Known, as_tensor, is_version
from tolcost.models.functions import inlined
from tolcost.models.input_shapes import (
    AskedShape,
    check_names,
    entries_of,
    in_lengths,
    with_lengths,
    with_shapes,
)
from tolcost.models.loading import done_at_loading
from tolcost.models.lowered import Applied
from tolcost.models.memory import Holdings, Peak, holdings, peak_memory
from tolcost.models.walking import Session
from tolcost.platform import with_deep_stack
from tolcost.result.assumptions import NOTHING, Assumed, assumed, equation
from tolcost.result.cost import Cost
from tolcost.result.metrics import certainty_of, metrics_in, part_json, whole_json
from tolcost.result.point import Point, Requirement, locate
from tolcost.result.rows import TableRow, scope_of
from tolcost.result.study import (
    ComparedFigure,
    Figures,
    Group,
    Located,
    Show,
    Study,
    at_json,
    form_json,
    locate_study,
    symbol_json,
    weighed_json,
)
from tolcost.result.time import TimedNodes
from tolcost.result.totals import (
    Adder,
    by_operator,
    by_scope,
    coverage,
    fused_work,
    node_rows,
    operator_rows,
    scope_rows,
    steps_of,
    total_figures,
)
from tolcost.show.document import UNKNOWN, Fact, Form, Json, form_at, number

_MOST_NAMED = 3
_INCOMPLETE = {
    "lower bound": "THE TOTAL IS A LOWER BOUND",
    "no bound": "THE TOTAL IS NO BOUND",
    "invalid": "THE MODEL IS INVALID",
}
"""The end of the coverage line if some nodes are not costed, by the status of the total."""
_LARGE = 250_000
"""Files above this size have many nodes, or large weights: pausing the garbage collector pays off there."""


class Wanted(Struct, frozen=True):
    """The settings for a model: lengths by name or position, shapes of inputs, assumptions about lengths.

    ``lenient``: lengths that the model does not have are ignored, since they are meant for other models.
    """

    dims: Mapping[str, int] = field(default_factory=dict)
    shapes: Mapping[str, AskedShape] = field(default_factory=dict)
    lenient: bool = False
    assume: tuple[str, ...] = ()


class ModelStudy(Study, dict=True, frozen=True):
    """A model that was walked; costly figures are computed when they are first asked for, and kept.

    ``walked`` are the lengths that were numbers during the walk, ``told`` those that shapes fix to numbers,
    and ``untold`` is the study without the latter: the largest of many forms is chosen there, so that the
    choice does not depend on how a length was given.
    """

    cost: GraphCost
    adder: Adder
    operators: tuple[Group, ...]
    """Figures by operator, in order of appearance."""
    walked: Mapping[str, int]
    told: Mapping[str, int] = field(default_factory=dict)
    untold: ModelStudy | None = None
    kind = "model"
    report = "model"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the model and its settings; reading it walks the model again."""
        said = (dict(self.walked), dict(self.told), self.assumed.texts)
        folders = tuple(map(str, self.cost.session.library.roots[:-1]))
        return walked_again, (self.file, self.model, folders, *said, self._held())

    def _held(self) -> tuple[Poly | None, ...]:
        return (self.total.eops, self.total.flops, self.total.macs, self.total.bytes)

    @property
    def model(self) -> Model:
        """The graph that was walked."""
        return self.cost.model

    @cached_property
    def holdings(self) -> Holdings:
        """Parameters, inputs and outputs."""
        return holdings(self.cost, self.adder.held(self.cost), self.adder.settle)

    @cached_property
    def peak(self) -> Peak | None:
        """The peak memory of activations."""
        if self.untold is None:
            return peak_memory(self.cost)
        found = self.untold.peak
        return None if found is None else replace(found, bytes=found.bytes.map_forms(self.adder.settle))

    @cached_property
    def depth(self) -> Depth | None:
        """The longest chain of functions, as an upper bound."""
        found = depth_of(self.cost) if self.untold is None else self.untold.depth
        return None if found is None else found.map_forms(self.adder.settle)

    @property
    def merged(self) -> tuple[tuple[str, str], ...]:
        """Lengths of inputs, and data-dependent lengths, that proved equal to others, each with its form."""
        equal = self.cost.equal
        decided = {symbol.name: atom(symbol) for symbol in equal if symbol.kind == "data"}
        return tuple(
            (name, to_text(self.adder.settle(form)))
            for name, form in {**decided, **self.cost.dimensions}.items()
            if name not in self.told
            and not form.free.isdisjoint(equal)
            and form.free.isdisjoint(self.assumed.put)
        )

    @property
    def unlisted(self) -> tuple[str, ...]:
        """Seq of nodes whose types ONNX does not list for the operator, each once."""
        parts = (lowered for applied in self.cost.nodes for lowered, _ in applied.parts)
        return tuple(dict.fromkeys(text for lowered in parts for text in lowered.unlisted))

    def types(self, put: Callable[[Form], Form | None]) -> Iterator[tuple[str, str, str]]:
        """Yield inputs and outputs, as in ``float32 [batch, 768]``."""
        graph = self.model.graph
        for way, names in (("input", [given.name for given in graph.inputs]), ("output", graph.outputs)):
            yield from ((way, name, _type(self.cost.known(name), self.adder.settle)) for name in names)

    def head(self) -> Iterator[Fact]:
        """Yield the coverage, the first invalid node, and the versions of operators."""
        versions = ", ".join(f"{d or 'ai.onnx'} {v}" for d, v in sorted(self.model.opsets.items()))
        partly = f": {_INCOMPLETE[self.total.status]}" if self.coverage.missing else ""
        yield Fact("coverage", f"{self.coverage.text}{partly}")
        wrong = self.coverage.invalid
        if wrong is not None:
            yield Fact("invalid", visible(wrong.name), f"no lengths make this {wrong.op} right: {wrong.why}")
        newest = newest_version("")
        late = self.model.opsets.get("", 0) > newest
        told = f"the definitions are those of ai.onnx {newest} here" if late else ""
        if versions:
            yield Fact("opset", versions, told)
        else:
            yield Fact("opset", "the model names none", "the newest definitions are taken")

    def remarks(self) -> Iterator[Fact]:
        """Yield remarks on equal lengths, optional inputs, sequences, the order of nodes, and bounds."""
        yield from (Fact("one length", f"{name} is {other}") for name, other in self.merged)
        for given in self.model.graph.inputs:
            if given.optional:
                yield Fact("optional", f"{given.name} is taken to be given")
            if given.sequence:
                entries = "1 entry" if given.entries == 1 else f"{given.entries:,} entries"
                said = f"--dim '{entries_of(given.name)}=N' says how many"
                yield Fact("sequence", f"{given.name} is taken to have {entries}", said)
        unsorted = [*dict.fromkeys(body.name or "a graph" for body in self.model.unsorted)]
        if unsorted:
            said = "nodes run in the order in which they need each other, not in that of the file"
            yield Fact("sorted", _first_of(unsorted), said)
        yield from self._about_parameters()
        said = "ONNX does not list this type there; the definition of the operator covers it"
        yield from (Fact("type", text, said) for text in self.unlisted)
        if self.cost.assumed:
            many = len(self.cost.assumed)
            told = f"the shapes of {many:,} values are" if many > 1 else "the shape of 1 value is"
            yield Fact("as declared", f"{told} what the file declares")
        bounds = [
            step.name or step.title
            for step, applied in self.cost.steps
            if any(part.counts.status == "upper bound" for part, _ in applied.parts)
        ]
        if bounds:
            yield Fact("bounded by", _first_of(bounds), "data decides what they compute")

    def _about_parameters(self) -> Iterator[Fact]:
        """Explain why a file may hold fewer or more parameters than the module that it was exported from."""
        shared = self.adder.held(self.cost).shared
        if shared:
            many = total_of(product_of(tensor.shape) for tensor in shared)
            tensors = "1 tensor" if len(shared) == 1 else f"{len(shared):,} tensors"
            said = "tied, or merged by the exporter"
            yield Fact("shared", f"{tensors} of {_digits(many)} parameters", said)
        module = self.model.module
        if module is not None:
            held = self.holdings.parameters
            same = (
                "the file holds as many" if held == module.parameters else f"the file holds {_digits(held)}"
            )
            reasons = "exporters merge equal tensors, fold norms, drop what is not used and keep buffers"
            said = same if held == module.parameters else f"{same}: {reasons}"
            buffers = f", and {module.buffers:,} elements of buffers" if module.buffers else ""
            yield Fact("module", f"{module.parameters:,} parameters of its own{buffers}", said)
            if module.unfused:
                calls = "1 call is" if module.unfused == 1 else f"{module.unfused:,} calls are"
                said = "bytes count the scores in between; a newer --opset keeps attention whole"
                yield Fact("attention", f"{calls} written as several operators", said)
            if module.trains:
                said = "dropout and the statistics of norms count; module.eval() leaves them out"
                yield Fact("mode", "exported in training mode", said)

    def trained(self, optimizer: str, asked: Mapping[str, object], at: Point | None = None) -> Study:
        """Return a step of training of the model."""
        from tolcost.result.training import requested, training_study  # derivatives take time to load

        return training_study(self.without_calls(), requested(optimizer, asked), at)

    def without_calls(self) -> ModelStudy:
        """Return the model with the nodes of its functions in the place of their calls."""
        if not any(map(self.cost.functions.called, self.model.graph.nodes)):
            return self
        said = (self.walked, self.told, self.assumed.texts)
        return _walked_as(self.file, inlined(self.model), self.cost.session, *said)

    def compared_parts(self) -> Iterator[ComparedFigure]:
        """Yield the totals by operator."""
        return compared_by_operator(self, self.operators)

    def groups(self, by: str) -> tuple[Group, ...]:
        """Return figures by node, operator or scope, in order of appearance."""
        if by == "node":
            return tuple(self._nodes())
        if by == "op":
            return self.operators
        return by_scope(self.cost, self.adder, lambda step: scope_of(step, 2))

    def rows(self, by: str, depth: int) -> tuple[TableRow, ...]:
        """Return the rows of a table by operator, node or scope."""
        match by:
            case "node":
                return node_rows(self.cost, self.adder)
            case "scope":
                return scope_rows(self.cost, self.adder, depth)
            case _:
                return operator_rows(self.cost, self.operators, self.adder)

    def _nodes(self) -> Iterator[Group]:
        for step, applied in self.cost.steps:
            yield Group(step.name or step.title, 1, self.adder.node(applied))

    def record(self, cost: Located, metrics: frozenset[str] | None) -> dict[str, Json]:
        """Return the document of ``tolcost model``."""
        return model_record(self, cost, metrics)

    def steps(self, by: str) -> tuple[TimedNodes, ...]:
        """Return the work of nodes: each by itself, or equal nodes together under their operator."""
        return steps_of(self.cost, self.adder, by, self.loaded, self.joined)

    @cached_property
    def loaded(self) -> frozenset[int]:
        """The places of nodes of parameters alone, which take time at loading and not in a run."""
        return done_at_loading(self.cost)

    @cached_property
    def joined(self) -> Mapping[int, str]:
        """The places of nodes that one kernel may compute with another, with an option that tells how."""
        return biased(self.cost)

    @property
    def untimed(self) -> str:
        """Which of its nodes take no time in a run, in words; nothing if all do."""
        many = len(self.loaded)
        nodes = "1 node" if many == 1 else f"{many:,} nodes"
        return f"without {nodes} of parameters alone, computed at loading" if many else ""

    def fused(self) -> CallWork | None:
        """Return the work of the fused model: all products, and the bytes of sources and outputs alone."""
        return fused_work(self.cost, self.adder, self.total, self.loaded)

    @property
    def general(self) -> Mapping[str, Symbol]:
        """The lengths that stayed symbols; none if other lengths may need another walk."""
        taken = any(symbol.kind == "data" for symbol in self.cost.equal)  # where it is 1, they may differ
        if self.walked or self.told or self.coverage.missing or taken:
            return {}
        return super().general

    @property
    def names(self) -> set[str]:
        """The names that may be given numbers: all lengths, and those that equal a form in others."""
        return {*self.cost.dimensions, *(symbol.name for symbol in (*self.symbols, *self._settled_data()))}

    def _settled_data(self) -> Iterator[Symbol]:
        """Yield data-dependent lengths that figures need not mention: those of equations and conditions."""
        needed = (s for one in self.requirements for form in polys_of(one.condition) for s in form.free)
        return (s for s in (*self.cost.equal, *needed) if s.kind == "data")

    def check_names(self, dims: Iterable[str]) -> None:
        """Accept any name: its meaning is found when the model is located at lengths."""

    def at(self, dims: Mapping[str, int]) -> tuple[Study, Point]:
        """Locate the model at lengths; if its general form does not hold there, walk it with numbers."""
        if self.assumed.texts:
            return self._assumed_at(dims)
        shaped, asked = self._asked(dims)
        named = {**self.told, **asked}
        changed = shaped.graph.inputs != self.model.graph.inputs
        if self.told and not asked and not changed:
            return self, self.locate(named)
        fresh = self.walked or changed or not asked.keys().isdisjoint(self.told)
        general = walked(self.file, shaped, self.cost.session) if fresh else self
        check_names(self.model, named, general.names)
        point = general.locate(named)
        if not named or not (point.problems or general.coverage.missing or _broadcasts(general, point)):
            return general, point
        # A length for which conditions leave only 0 has no solution: 3*n == 2*n fits no n.
        solved = {name: point.dims[name] for name in general.cost.dimensions if point.dims.get(name, 0) > 0}
        for numbers in _numbers_tried(named, {**solved, **named}):
            again = walked(self.file, shaped, self.cost.session, numbers)
            there = again.locate({**named, **numbers})
            if _better(again, there, general, point):
                return again, replace(there, given=named)
        return general, point.checked()

    def _asked(self, dims: Mapping[str, int]) -> tuple[Model, Mapping[str, int]]:
        """Return the model with new numbers for lengths that it fixes, and the other lengths by name."""
        shaped, asked = with_lengths(self.model, dims)
        return shaped, in_lengths(asked, self.cost.formed)

    def _assumed_at(self, dims: Mapping[str, int]) -> tuple[Study, Point]:
        """Locate the model at lengths under its assumptions; ``Rejected`` where its form does not hold."""
        shaped, asked = self._asked(dims)
        study = self
        if shaped.graph.inputs != self.model.graph.inputs:
            study = walked(self.file, shaped, self.cost.session, self.walked).assuming(self.assumed.texts)
        check_names(self.model, {**self.told, **asked}, study.names)
        return study, study.locate({**self.told, **asked}).checked()

    def with_numbers(self, told: Mapping[str, int]) -> ModelStudy:
        """Substitute numbers for lengths; the figures equal those at the resulting point."""
        there, point = self.at(told)
        assert isinstance(there, ModelStudy)
        point.checked()
        own = {symbol for form in there.cost.dimensions.values() for symbol in form.free}
        numbers = {symbol: const(value) for symbol, value in point.values.items() if symbol in own}
        made = _study(self.file, with_forms(there.cost, numbers), there.walked)
        return replace(made, told=told, untold=there)

    def assuming(self, texts: Sequence[str], lenient: bool = False) -> ModelStudy:
        """Return the model under assumptions, with their forms substituted for lengths everywhere."""
        if not texts:
            return self
        names = {symbol.name: atom(symbol) for symbol in self.symbols}
        given = {name: substitute(form, self.cost.equal) for name, form in self.cost.dimensions.items()}
        found = assumed(texts, {**names, **given}, lenient)
        study = _study(self.file, with_forms(self.cost, found.put), self.walked, found)
        untold = None if self.untold is None else self.untold.assuming(texts, lenient)
        return replace(study, told=self.told, untold=untold)

    def locate(self, dims: Mapping[str, int]) -> Point:
        """Return the point of the general form at lengths given by name."""
        own = {s.name: s for s in self._settled_data()}
        own |= {s.name: s for form in self.cost.dimensions.values() for s in form.free}
        return locate(self.symbols, self.requirements, dims, own, self._equal(), self.assumed.put)

    def ties(self) -> Mapping[Symbol, Poly]:
        """Return lengths that equal forms in others, in the model or by assumption."""
        return {**self._equal(), **self.assumed.put}

    def _equal(self) -> dict[Symbol, Poly]:
        """Return the lengths that the model makes equal to forms; conditions cover versions."""
        return {
            symbol: form
            for symbol, form in self.cost.equal.items()
            if symbol not in self.assumed.put and not is_version(symbol, form)
        }


def _digits(form: Poly) -> str:
    """Write a form; a number is grouped by commas."""
    return to_text(form) if form.constant is None else f"{form.constant:,}"


def _first_of(names: Sequence[str]) -> str:
    """Write the first names of a list, and the number of the others."""
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def compared_by_operator(study: Study, operators: Iterable[Group]) -> Iterator[ComparedFigure]:
    """Yield the figures by operator that a comparison of models lists; None if they are not costed."""
    for group in operators:
        for metric in metrics_in("diff of operators"):
            sure = certainty_of(metric.basis, study, group.figures, study.reaches)
            yield ComparedFigure(group.title, metric.key, group.figures.told_of(metric), sure)


def _numbers_tried(named: Mapping[str, int], solved: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
    """Yield numbers to walk with if no general form holds: given lengths up to 1, all given, all solved ones.

    Lengths up to 1 come first because they may broadcast.  A length that stays a symbol has its general cost;
    numbers make more values of the model known.
    """
    few = {name: number for name, number in named.items() if number <= 1}
    yield from ([few] if 0 < len(few) < len(named) else [])
    yield named
    yield solved


def _better(again: ModelStudy, there: Point, general: ModelStudy, point: Point) -> bool:
    """Whether a walk with numbers tells more than the general form.

    Two lengths may be equal in general and still differ where one of them is 1, and a rank may depend on a
    length.  A condition that is only checked at run time does not refute one that fails here.
    """
    if there.problems or not _unproved(again) <= _unproved(general):
        return False
    fewer = len(general.coverage.missing) - len(again.coverage.missing)
    return fewer >= 0 if point.problems or _broadcasts(general, point) else fewer > 0


def _broadcasts(study: ModelStudy, point: Point) -> bool:
    """Whether a data-dependent length was equated with a form that is 1 here, and so may differ from it."""
    taken = (form for symbol, form in study.cost.equal.items() if symbol.kind == "data")
    return any(form_at(form, point.values) == 1 for form in taken)


def _unproved(study: ModelStudy) -> set[int]:
    """Return the nodes with conditions at every coordinate that could not be proved."""
    nodes = enumerate(study.cost.nodes)
    return {n for n, applied in nodes if any(part.unproved for part, _ in applied.parts)}


def walked(file: str, model: Model, session: Session, numbers: Mapping[str, int] | None = None) -> ModelStudy:
    """Walk a model, with numbers for some lengths from the start."""
    return _study(file, analyze_graph(model, session, numbers), numbers or {})


def walked_again(
    file: str,
    model: Model,
    folders: Sequence[str],
    numbers: Mapping[str, int],
    told: Mapping[str, int],
    texts: Sequence[str],
    held: tuple[Poly | None, ...],
) -> ModelStudy:
    """Walk a pickled study again; ``Rejected`` if definitions have changed its cost since."""
    session = Session(open_library(folders))
    study = with_deep_stack(lambda: _walked_as(file, model, session, numbers, told, texts))
    if study._held() != held:
        message = f"what was kept of {quoted(file)} is not what it costs by the definitions that are here"
        refuse("T0669", message, hint="analyse the model anew")
    return study


def _walked_as(
    file: str,
    model: Model,
    session: Session,
    numbers: Mapping[str, int],
    told: Mapping[str, int],
    texts: Sequence[str],
) -> ModelStudy:
    """Walk a model as another one was walked: with its numbers and its assumptions."""
    study = walked(file, model, session, numbers)
    return (study.with_numbers(told) if told else study).assuming(texts)


def _study(file: str, cost: GraphCost, numbers: Mapping[str, int], assuming: Assumed = NOTHING) -> ModelStudy:
    relied = conditions_of(cost)
    needed = tuple(
        Requirement(r.condition, r.reason, "checked" if r.checked else "needed", node=r.node) for r in relied
    )
    adder = Adder(settling(cost, relied, assuming.facts))
    covered = coverage(cost, general=not numbers)
    operators = by_operator(cost, adder)
    total = total_figures([group.figures for group in operators], bool(covered.missing))
    if covered.invalid is not None:
        total = replace(total, counts=replace(total.counts, status="invalid"))
    return ModelStudy(
        name=cost.model.name,
        file=file,
        inputs=tuple(_inputs(cost)),
        symbols=_symbols(cost, total),
        total=total,
        requirements=assuming.conditions(needed) if assuming.texts else needed,
        coverage=covered,
        cost=cost,
        adder=adder,
        operators=operators,
        walked=numbers,
        assumed=assuming,
    )


def _symbols(cost: GraphCost, total: Figures) -> tuple[Symbol, ...]:
    """Return the symbols in totals, and the remaining lengths of inputs."""
    moved = (*total.traffic.read.values(), *total.traffic.written.values())
    forms = (total.eops, total.macs, *total.atoms.values(), *total.index.values(), *moved)
    given = (substitute(form, cost.equal) for form in cost.dimensions.values())
    found = frozenset().union(*(form.free for form in (*forms, *given))) - cost.equal.keys()
    return tuple(sorted((s for s in found if s.kind != "coord"), key=lambda s: s.key))


def _inputs(cost: GraphCost) -> Iterator[NamedType]:
    """Yield the inputs of a model whose types are known, in the remaining lengths."""
    for declared in cost.model.graph.inputs:
        parts = tuple(_parts(cost.known(declared.name), cost))
        if parts:
            yield NamedType(declared.name, parts)


def _parts(known: Known | None, cost: GraphCost) -> Iterator[Part]:
    match known:
        case Tensor(shape=shape, space=space):
            yield Part(tuple(substitute(d, cost.equal) for d in shape) if cost.equal else shape, space)
        case Seq(items=items):
            for item in items:
                yield from _parts(item, cost)
        case _:
            return


def _type(known: Known | None, settle: Callable[[Poly], Poly]) -> str:
    """Write the space and shape of a known value."""
    if isinstance(known, Seq):
        return f"sequence of {', '.join(_type(item, settle) for item in known.items) or 'nothing'}"
    found = None if known is None else as_tensor(known)
    if not isinstance(found, Tensor):
        return UNKNOWN
    shape = ", ".join(to_text(settle(d)) for d in found.shape)
    return f"{found.space} [{shape}]" if found.shape else found.space


# ---- from a file to its cost -----------------------------------------------------------------


def model_cost(model: Model, file: str, session: Session, wanted: Wanted) -> Cost:
    """Return the cost of a model under the given settings."""
    opened, told, forms = with_shapes(model, wanted.shapes)
    shaped, dims = with_lengths(opened, wanted.dims, told)
    study = walked(file, shaped, session)
    if told:
        both = in_lengths({**dims, **told}, study.cost.formed)
        study = study.with_numbers({name: n for name, n in both.items() if name in told or name not in dims})
    assume = (*(equation(name, form) for name, form in forms.items()), *wanted.assume)
    study = study.assuming(assume, wanted.lenient)
    if wanted.lenient:
        names = {*study.cost.dimensions, *(symbol.name for symbol in study.symbols)}
        dims = {name: value for name, value in dims.items() if name in names}
    return locate_study(Cost, study, dims)


def study_file(path: Path, session: Session, wanted: Wanted | None = None) -> ModelStudy:
    """Return the study behind the cost of a model file."""
    return of_model(file_cost(path, session, wanted))


def of_model(cost: Located) -> ModelStudy:
    """Return the study behind a cost, which must be that of a model."""
    assert isinstance(cost.study, ModelStudy)
    return cost.study


def file_cost(path: Path, session: Session, wanted: Wanted | None = None) -> Cost:
    """Read a model file and return its cost; the error for a program names the command for programs."""
    if path.suffix == ".tol":
        hint = f"`tolcost analyze {path}`; in Python, `tolcost.analyze`"
        refuse("T0673", f"{quoted(str(path))} is a program, not an ONNX model", hint=hint)
    with _without_collector() if _is_large(path) else nullcontext():
        return model_cost(read_model(path), str(path), session, wanted or Wanted())


def _is_large(path: Path) -> bool:
    try:
        return path.stat().st_size > _LARGE
    except OSError:  # reading the file reports the error
        return False


@contextmanager
def _without_collector() -> Iterator[None]:
    """Pause the garbage collector: reading makes no garbage, and collection takes a third of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


# === The model as data: a document of figures, groups and nodes, and notes for its file.


def model_record(study: ModelStudy, cost: Located, metrics: frozenset[str] | None = None) -> dict[str, Json]:
    """Return the document of ``tolcost model``; ``metrics`` are the figures that were asked for."""
    types: dict[str, list[Json]] = {"input": [], "output": []}
    for way, name, kind in study.types(cost.value):
        types[way].append({"name": name, "type": kind})

    def totals(show: Show) -> dict[str, Json]:
        return {**whole_json(study, show, metrics), **weighed_json(cost, show)}

    return {
        "name": study.name,
        "file": study.file,
        "opsets": {domain or "ai.onnx": n for domain, n in sorted(study.model.opsets.items())},
        "inputs": types["input"],
        "outputs": types["output"],
        "symbols": [symbol_json(symbol) for symbol in study.symbols],
        "totals": totals(Show(cost)),
        "leading": form_json(study.leading),
        "status": cost.status,
        "coverage": _coverage_json(study),
        "conditions": list(map(_condition_json, study.needed)),
        "unproved": list(map(_condition_json, study.checked)),
        "equal": dict(study.merged),
        "notes": [
            {"about": one.label, "value": str(one.value), "note": one.remark} for one in study.remarks()
        ],
        **({"assumptions": list(study.assumed.texts)} if study.assumed.texts else {}),
        "by_data": [symbol.name for symbol in study.symbols if symbol.kind == "data"],
        **_example_json(cost),
        **at_json(cost, totals),
        "by_op": [group_json(cost, group, "op", metrics) for group in cost.groups("op")],
        "by_scope": [group_json(cost, group, "scope", metrics) for group in cost.groups("scope")],
        "nodes": _nodes_json(study, cost, metrics),
    }


def _example_json(cost: Located) -> dict[str, Json]:
    """Return typical lengths, at which a report in text has its figures; nothing if no length is open."""
    there = None if cost.point.complete else cost.example
    if there is None:
        return {}
    dims: dict[str, Json] = {name: number(value) for name, value in sorted(there.point.given.items())}
    return {"example": dims}


def _condition_json(one: Requirement) -> Json:
    return {"condition": one.text, "reason": visible(one.reason), "node": visible(one.node)}


def _coverage_json(study: ModelStudy) -> dict[str, Json]:
    found = study.coverage
    return {
        "nodes": found.nodes,
        "costed": found.costed,
        "uncosted": [item.name for item in found.missing],
        "operators": dict(found.operators),
        "reasons": [{"node": m.name, "op": m.op, "reason": m.why, "behind": m.behind} for m in found.missing],
        "declared": list(study.cost.assumed),
        "invalid": None if found.invalid is None else found.invalid.name,
    }


def _nodes_json(study: ModelStudy, cost: Located, metrics: frozenset[str] | None) -> list[Json]:
    """Return every node; nodes of one kind share their figures, which are computed once."""
    cache: dict[Applied, dict[str, Json]] = {}
    found: list[Json] = []
    for step, applied in study.cost.steps:
        if applied not in cache:
            figures = study.adder.node(applied)
            shown = part_json(figures, Show(cost), metrics, node=True)
            record: dict[str, Json] = {**shown, "status": figures.status}
            if cost.point.complete:
                record["at"] = part_json(figures, Show(cost, at_point=True), metrics, node=True)
            if applied.uncosted:
                record["problem"] = applied.uncosted[0].why.message
            cache[applied] = record
        named: dict[str, Json] = {
            "name": step.name,
            "op": step.title,
            "scope": "/".join(step.path),
            "outputs": list(step.outputs),
        }
        found.append({**named, **cache[applied]})
    return found


def group_json(
    cost: Located, group: Group, by: str, metrics: frozenset[str] | None = None
) -> dict[str, Json]:
    """Return a group in closed forms, and in numbers if every length is known."""
    figures = part_json(group.figures, Show(cost), metrics, node=False)
    named: dict[str, Json] = {by: group.title, "nodes": group.nodes}
    found = {**named, **figures, "status": group.figures.status}
    if cost.point.complete:
        part = cost.share(group.figures)
        found["at"] = part_json(group.figures, Show(cost, at_point=True), metrics, node=True)
        found["share"] = None if part is None else f"{float(part):.6f}"
    return found


def node_notes(study: ModelStudy, cost: Located) -> tuple[list[dict[str, str]], dict[str, str]]:
    """Return notes for every node and for the whole model: numbers if every length is known."""

    def notes(figures: Figures) -> dict[str, str]:
        known = cost.point.complete
        found = {
            name: to_text(form) if not known or (n := cost.number(form)) is None else str(n)
            for name, form in figures.told.items()
            if form is not None
        }
        return {**found, "status": figures.status}

    covered = f"{study.coverage.costed} of {study.coverage.nodes} nodes"
    nodes = [notes(study.adder.node(applied)) for applied in study.cost.nodes]
    return nodes, {**notes(cost.total), "coverage": covered}
