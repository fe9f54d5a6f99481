"""Traversal of a graph: every node by the definition of its operator, each distinct case lowered once.

Each fact about a value has a number (``facts``).  The key of a node is its operator, its attributes and the
fact numbers of its inputs; a node whose key was seen before costs one lookup.  Lengths that a node makes
equal are merged from there on.  Functions are traversed once for each set of inputs, and never inlined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    AlgebraBudget,
    Cond,
    Poly,
    Symbol,
    atom,
    const,
    data_symbol,
    length,
    substitute,
    the_symbol,
)
from tolcost.algebra.parse import parse_text
from tolcost.catalogue.binding import input_names
from tolcost.catalogue.graph import (
    Declared,
    Graph,
    GraphNode,
    ModelFunction,
    Weight,
)
from tolcost.catalogue.operand_types import check_node, types_of
from tolcost.catalogue.specs import Library, Spec
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, quoted, refuse, visible
from tolcost.elaborate import Seq, Tensor
from tolcost.elaborate.values import MOST_IN_SEQUENCE, name_around
from tolcost.models.facts import NOTHING, UNKNOWN, Known, ValueTable, enlarged, pinned, shape_of, space_of
from tolcost.models.functions import Functions
from tolcost.models.impossible import impossible_types, why_impossible
from tolcost.models.input_shapes import is_form
from tolcost.models.lowered import (
    HELD,
    Applied,
    Given,
    Lowered,
    Setting,
    Uncosted,
    gathered,
    is_anybodys,
    not_costed,
    read_once,
    renamed,
    with_sums,
)
from tolcost.models.scheme import Instance
from tolcost.models.schemes import Lasting, NodeKey, Schemes, Seen, lasting, lowered_alone

if TYPE_CHECKING:
    from tolcost.catalogue.schemas import TensorType


def known_weight(weight: Weight) -> Known:
    """Return the fact about a tensor stored in the model."""
    if weight.value is not None:
        return weight.value
    return Tensor(tuple(map(const, weight.shape)), weight.space)


_NOTHING: Mapping[Symbol, Poly] = MappingProxyType({})

_FORMED = frozenset("*+(")
"""Characters that no name contains."""

OF_THE_PROCESS = Schemes()
"""Stands for the schemes that sessions share."""

MOST_WALKED = 4_000_000
"""Limit on visited nodes; the nodes of a function count once for every set of inputs."""

MOST_NESTED = 60
"""Limit on the nesting of calls of functions in a model."""


class Session:
    """State that is kept from model to model: definitions, and everything lowered so far.

    ``schemes`` are those of the process unless given; with None every distinct node is lowered alone.
    """

    def __init__(self, library: Library, schemes: Schemes | None = OF_THE_PROCESS) -> None:
        """Continue with the caches of these definitions."""
        known = lasting(library) if schemes is OF_THE_PROCESS else Lasting(library, schemes)
        self.library = library
        self.schemes, self.table, self.checked = known.schemes, known.table, known.checked
        self._done = known.done
        self._own: WeakKeyDictionary[Functions, dict[NodeKey, Seen]] = WeakKeyDictionary()
        self.on_node: Callable[[int, int, str], object] | None = None
        """Called before a node that takes time, with its place, the number of nodes and its name."""

    def seen(
        self, opsets: Mapping[str, int], functions: Functions, assumed: frozenset[Cond]
    ) -> tuple[Seen, Seen]:
        """Return results for nodes under the same versions: those shared by all models, and this one's.

        Data-dependent lengths are named after values of a model, and a model's functions belong to it alone.
        """
        key = (*sorted(opsets.items()), *assumed)
        own = self._own.setdefault(functions, {}).setdefault(key, {})
        return own if functions.given else self._done.setdefault(key, {}), own


class Walk(Struct):
    """The traversal of one graph or one function."""

    session: Session
    opsets: Mapping[str, int]
    functions: Functions
    names: ValueTable
    dims: Mapping[str, int] = field(default_factory=dict)
    assumed: frozenset[Cond] = frozenset()
    callers: tuple[int, ...] = ()
    dimensions: dict[str, Poly] = field(default_factory=dict)
    formed: dict[str, Poly] = field(default_factory=dict)
    """Lengths that an exporter wrote as forms in others, by the text written."""
    declared: Mapping[str, Declared] = field(default_factory=dict)
    assumed_shapes: list[str] = field(default_factory=list)
    dimension_names: set[str] = field(default_factory=set)
    _done: Seen = field(default_factory=dict)
    _own: Seen = field(default_factory=dict)
    _asked: dict[tuple[str, str, Poly | None, Poly | None], Symbol] = field(default_factory=dict)
    """Numbers in tensors that nodes had to know, by their names and bounds."""
    used_names: dict[str, Symbol | None] = field(default_factory=dict)
    """The names of lengths in use: data-dependent ones with their symbol, those of the inputs with None."""
    _specs: dict[tuple[str, str], Spec | None] = field(default_factory=dict)
    _setting: Setting | None = None

    # ---- the start ----

    def enter(self, graph: Graph) -> None:
        """Record the inputs and stored tensors of a graph."""
        self.declared = graph.declared
        self.dimension_names = {d for given in graph.inputs for d in given.shape or () if isinstance(d, str)}
        for given in graph.inputs:
            self.names.define(given.name, self._number(given))
        self.used_names |= dict.fromkeys(self.dimensions)
        for weight in graph.weights.values():
            self.hold(weight)

    def hold(self, weight: Weight) -> None:
        """Record a tensor stored in the file."""
        self.names.define(weight.name, self._held(weight))

    def leave(self, graph: Graph) -> None:
        """Refuse a graph with an output that nothing defines."""
        for name in graph.outputs:
            if name not in self.names.numbers and name not in self.names.unknown:
                refuse("T0662", f"the model gives {quoted(name)}, which nothing defines")

    def _number(self, given: Declared) -> int:
        shape = given.shape
        lengths = () if shape is None else tuple([d for d in shape if isinstance(d, int)])
        if shape is None or given.sequence or len(lengths) < len(shape):
            return self.session.table.number(self._input(given))
        return self.session.table.tensor(lengths, given.space)

    def _held(self, weight: Weight) -> int:
        if weight.value is None:
            return self.session.table.tensor(weight.shape, weight.space)
        return self.session.table.number(weight.value)

    def _input(self, given: Declared) -> Known:
        if given.shape is None:
            message = f"the model does not say the type and rank of its input {quoted(given.name)}"
            refuse("T0677", message, hint=f"say its shape: --shape {visible(given.name)}=...")
        tensor = self._tensor(given, given.shape)
        if not given.sequence:
            return tensor
        _check_sequence(given.entries)
        return Seq((tensor,) * given.entries)

    def _tensor(self, given: Declared, shape: tuple[int | str | None, ...]) -> Tensor:
        return Tensor(tuple(self._dimension(given.name, n, d) for n, d in enumerate(shape)), given.space)

    def _dimension(self, name: str, axis: int, declared: int | str | None) -> Poly:
        if isinstance(declared, int):
            return const(declared)
        form = None if declared is None else self._form(declared)
        if declared is not None and form is not None:
            return self.formed.setdefault(declared, form)
        place = f"{name}[{axis}]"
        title = declared or place
        given = self.dims.get(title, self.dims.get(place))
        return self.dimensions.setdefault(title, const(given) if given is not None else length(title))

    def _form(self, declared: str) -> Poly | None:
        """Parse a length that an exporter wrote as a form in others, such as ``4*h`` or ``past + 1``."""
        if not is_form(declared):
            return None
        try:
            found = parse_text(declared)
        except (Rejected, AlgebraBudget):
            return None
        names = {symbol.name for symbol in found.free}
        certain = names <= self.dimension_names or not _FORMED.isdisjoint(declared)  # `batch-size` is a name
        if not names or found.den != 1 or not certain:
            return None
        return substitute(found, {s: self._dimension(s.name, 0, s.name) for s in found.free})

    # ---- nodes ----

    def run(self, steps: Sequence[GraphNode]) -> list[Applied]:
        """Traverse nodes in order; facts about the outputs of each are known to later nodes."""
        self._done, self._own = done, own = self.session.seen(self.opsets, self.functions, self.assumed)
        overloaded = self.functions.overloaded
        self._budget(len(steps))
        names, number_of = self.names, self.names.numbers
        found: list[Applied] = []
        for node in steps:
            op, domain, _, inputs, outputs, _, attributes, asked, free, *_ = node
            try:
                numbers = [number_of[name] for name in inputs]
                if free:
                    numbers += [number_of[name] for name in free]
                if names.moved or names.larger:
                    numbers = list(map(names.now, numbers))
            except KeyError:
                found.append(self._without_input(node))
                continue
            key = (op, domain, asked, attributes, *numbers)
            if overloaded:
                key = (*key, node.overload)
            applied = done.get(key) or own.get(key)
            if applied is None:
                self._report_progress(node, len(found), len(steps))
                applied = self._first_result(node, key, numbers)
            elif applied.data:
                applied = self._relabel(node, applied)
            if applied.data:
                applied = self._rename_duplicates(self._merge_entries(node, applied))
            if applied.equal:
                names.adopt(applied.equal)
            if len({*inputs, *free}) < len(inputs) + len(free):
                applied = self._read_once(node, key, numbers, applied)
            found.append(applied)
            for name, number in zip(outputs, applied.outputs, strict=False):
                names.define(name, number if number != UNKNOWN else self._as_declared(name))
        return with_sums(steps, found, self._spec)

    def _report_progress(self, node: GraphNode, done: int, of: int) -> None:
        """Tell whoever waits for a model how far it is; functions inside of it are not counted."""
        if self.session.on_node is not None and not self.callers:
            self.session.on_node(done, of, node.name)

    def follow(self, node: GraphNode) -> None:
        """Traverse one node; if that fails, nothing is known of its outputs."""
        try:
            self.run((node,))
        except Rejected:
            self.names.unknown.update(node.outputs)

    def _budget(self, steps: int) -> None:
        self.functions.walked += steps
        if self.functions.walked > MOST_WALKED:
            refuse("T0506", f"the model has more than {MOST_WALKED:,} nodes to look at")

    def _as_declared(self, name: str) -> int:
        """Return the fact that the file declares for a value about which nothing else is known."""
        declared = self.declared.get(name)
        if declared is None or declared.shape is None or declared.sequence:
            return UNKNOWN
        self.assumed_shapes.append(name)
        return self.session.table.number(self._tensor(declared, declared.shape))

    def _without_input(self, node: GraphNode) -> Applied:
        """Return the result for a node with an unknown input; an undefined input is refused."""
        name = next(n for n in (*node.inputs, *node.free) if n not in self.names.numbers)
        if name not in self.names.unknown:
            refuse("T0662", f"{node.shown} uses {quoted(name)}, which nothing defines")
        why = Diagnostic("T0679", f"nothing is known of its input {quoted(name)}")
        for output in node.outputs:
            self.names.define(output, self._as_declared(output))
        return Applied((), (), (Uncosted(node.title, 1, why, waits=name),))

    # ---- a node not seen before ----

    def _first_result(self, node: GraphNode, key: NodeKey, numbers: Sequence[int]) -> Applied:
        function = self.functions.called(node)
        if function is not None:
            applied = self._function(node, function, numbers)
        else:
            applied = self._operator(node, numbers)
        if is_anybodys(applied):
            self._done[key] = applied
        elif not applied.data or len(applied.parts) == 1:
            self._own[key] = applied
        return applied

    def _spec(self, node: GraphNode) -> Spec | None:
        """Return the definition of a node's operator, if it has one."""
        if node.held is not None or self.functions.called(node) is not None:
            return None
        return self._defined(node)

    def _defined(self, node: GraphNode) -> Spec | None:
        key = (node.domain, node.op)
        if key not in self._specs:
            self._specs[key] = self.session.library.find(*key, self.opsets.get(node.domain))
        return self._specs[key]

    def _operator(self, node: GraphNode, numbers: Sequence[int]) -> Applied:
        if node.held is not None:
            return Applied((self._held(node.held),), ((HELD, 1),))
        spec = self._defined(node)
        if spec is None:
            return self._fallback(node, numbers)
        instance = self._instance(node, spec, numbers)
        if instance is not None:
            return instance
        held = [weight.key for weight in node.weights()]
        named = (
            node.op,
            node.domain,
            node.key,
            *numbers,
            node.name,
            node.inputs,
            node.outputs,
            node.free,
            *held,
        )
        found = self._done.get(named) or self._lowered(node, spec, numbers)
        if not is_anybodys(found):  # nodes with the same names share it
            self._done[named] = found
        return found

    def _lowered(self, node: GraphNode, spec: Spec, numbers: Sequence[int]) -> Applied:
        try:
            _check_sequence(len(node.inputs))  # before a value is made for each
            given = self._given(node, numbers)
            unlisted = self._unlisted(node, numbers)
        except Rejected as rejected:
            return not_costed(node, rejected.diagnostics[0], impossible=impossible_types(rejected))
        by = lowered_alone if self.session.schemes is None else self.session.schemes.lower
        lowered = by(self._around(), node, spec, given)
        if isinstance(lowered, Rejected):
            impossible = why_impossible(self._around(), node, spec, given, lowered)
            return not_costed(node, lowered.diagnostics[0], impossible=impossible)
        if unlisted:
            lowered = replace(lowered, unlisted=unlisted)
        if len(lowered.outputs) < node.asked:
            message = f"{node.shown} gives {len(lowered.outputs)} outputs, not {node.asked}"
            return not_costed(node, Diagnostic("T0664", message))
        return self._applied(_name_after_node(node, lowered))

    def _given(self, node: GraphNode, numbers: Sequence[int]) -> Given:
        """Return what is known of a node's inputs, and of the names that its graphs take from outside."""
        known = [self.session.table.facts[n] for n in numbers]
        inputs, around = known[: len(node.inputs)], known[len(node.inputs) :]
        outside = {name: value for name, value in zip(node.free, around, strict=True) if value is not None}
        if node.graphs:
            weights = (*node.weights(), *self.functions.weights)
            outside.update((weight.key, known_weight(weight)) for weight in weights)
        return Given(tuple(inputs), node.inputs, outside)

    def _read_once(self, node: GraphNode, key: NodeKey, numbers: Sequence[int], applied: Applied) -> Applied:
        """Count a tensor that a node takes at several places, as a square does, as read once."""
        pairs = zip((*node.inputs, *node.free), numbers, strict=True)
        tensors = [name for name, n in pairs if isinstance(self.session.table.facts[n], Tensor)]
        spec = self._spec(node) if len(set(tensors)) < len(tensors) else None
        if spec is None or len(applied.parts) != 1:
            return applied
        names = (*node.inputs, *node.free)
        key = (*key, "once", *map(names.index, names))
        if applied.data or key not in self._own:
            self._own[key] = self._with_single_read(node, spec, numbers, applied)
        return self._own[key]

    def _with_single_read(
        self, node: GraphNode, spec: Spec, numbers: Sequence[int], applied: Applied
    ) -> Applied:
        ((lowered, times),) = applied.parts
        by_itself: Lowered | Rejected = lowered
        if lowered.is_instance:  # in a scheme, each input has lengths of its own
            by_itself = lowered_alone(self._around(), node, spec, self._given(node, numbers))
        if isinstance(by_itself, Rejected):
            return applied
        values = dict(zip(input_names(spec, len(node.inputs)), node.inputs, strict=False))
        values.update((name_around(name), name) for name in node.free)
        return replace(applied, parts=((read_once(lowered, by_itself.program, values), times),))

    def _around(self) -> Setting:
        if self._setting is None:
            self._setting = Setting(self.session.library, self.opsets, self.functions.body_of, self.assumed)
        return self._setting

    def _instance(self, node: GraphNode, spec: Spec, numbers: Sequence[int]) -> Applied | None:
        """Instantiate a node like an earlier one with other constant lengths."""
        schemes, table = self.session.schemes, self.session.table
        if schemes is None or node.graphs:
            return None
        lowered = schemes.instance(self._around(), node, spec, [table.plain[n] for n in numbers])
        made = None if lowered is None else lowered.made
        if lowered is None or not isinstance(made, Instance) or not made.layout.gives(node.asked):
            return None
        outputs = tuple([table.tensor(*shape) for shape in made.shapes])
        unlisted = self._unlisted(node, numbers)
        if unlisted:
            lowered = replace(lowered, unlisted=unlisted)
        return Applied(outputs, ((lowered, 1),), (), _NOTHING)

    def _applied(self, lowered: Lowered) -> Applied:
        """Make the result for a node of one operator; its conditions narrow the ranges of lengths."""
        numbers = tuple(map(self.session.table.number, lowered.outputs))
        needed = [c.condition for c in lowered.conditions]
        certain = [c.condition for c in lowered.conditions if c.kind != "case"]
        equal = {**enlarged(needed), **pinned(certain), **lowered.equal}
        return Applied(numbers, ((lowered, 1),), (), equal, bool(lowered.data))

    def _unlisted(self, node: GraphNode, numbers: Sequence[int]) -> tuple[str, ...]:
        """Return inputs in types that ONNX does not list for the operator; impossible types are refused."""
        facts = self.session.table.facts
        spaces = tuple([space_of(facts[n]) for n in numbers[: len(node.inputs)]])
        opset = self.opsets.get(node.domain)
        key = (node.op, node.domain, opset, node.key, spaces)
        found = self.session.checked.get(key)
        if found is None:
            found = self.session.checked[key] = check_node(node, opset, spaces)
        return found

    def _fallback(self, node: GraphNode, numbers: Sequence[int]) -> Applied:
        """Cost an operator without a definition by the function body that ONNX has for it, if it has one."""
        from tolcost.catalogue.operand_types import skeleton

        known = [self.session.table.facts[n] for n in numbers[: len(node.inputs)]]
        opset = self.opsets.get(node.domain)
        if types_of(node.op, node.domain, opset) is not None:
            from tolcost.catalogue.schemas import body_of  # this loads onnx, which knows the operator

            function = body_of(node, opset, _types(known))
            if function is not None:
                return self._function(node, function, numbers)
        before = ""
        try:
            reason = self.session.library.outside(node.domain).get(node.op)
            later = self.session.library.versions(node.domain, node.op)
            before = f" before version {later[0].since}" if later else ""
        except Rejected as rejected:  # the domain cannot be the name of a folder
            reason = rejected.diagnostics[0].message
        shapes = map(shape_of, known)
        ranks = [None if shape is None else len(shape) for shape in shapes]
        start = skeleton(node, ranks) if reason is None else None
        message = f"{node.title} is not costed: {reason or f'it has no definition{before}'}"
        return not_costed(node, Diagnostic("T0678", message, hint=start), defined=False)

    def _relabel(self, node: GraphNode, applied: Applied) -> Applied:
        """Reuse the result for an equal node, with new symbols for data-dependent lengths."""
        ((lowered, _),) = applied.parts
        entries = _entries(node, lowered)
        fresh = {
            s: atom(s) if s in entries else _with_name(s, _fresh_name(s, node.label)) for s in lowered.data
        }
        return self._applied(renamed(lowered, fresh))

    def _merge_entries(self, node: GraphNode, applied: Applied) -> Applied:
        """Merge symbols of a number in a tensor that an earlier node needed, too: it gets one symbol."""
        if len(applied.parts) != 1:
            return applied
        ((lowered, _),) = applied.parts
        first = {s: self._asked.setdefault((s.name, s.base, s.lo, s.hi), s) for s in _entries(node, lowered)}
        if all(s is one for s, one in first.items()):
            return applied
        return self._applied(renamed(lowered, {s: atom(first.get(s, s)) for s in lowered.data}))

    def _rename_duplicates(self, applied: Applied) -> Applied:
        """Rename data-dependent lengths whose name is taken, since nodes may have equal names."""
        if len(applied.parts) != 1:
            return applied
        ((lowered, _),) = applied.parts
        by = {s: s if s.role == "entry" else self._unused_symbol(s) for s in lowered.data}
        if all(s is one for s, one in by.items()):
            return applied
        return self._applied(renamed(lowered, {s: atom(one) for s, one in by.items()}))

    def _unused_symbol(self, symbol: Symbol) -> Symbol:
        """Return a length under its own name, or with a number appended if another length has the name."""
        name = symbol.name
        for n in count(2):
            if self.used_names.get(name, symbol) is symbol:
                break
            name = f"{symbol.name}_{n}"
        found = symbol if name == symbol.name else the_symbol(_with_name(symbol, name))
        self.used_names[name] = found
        return found

    # ---- functions ----

    def _function(self, node: GraphNode, function: ModelFunction, numbers: Sequence[int]) -> Applied:
        if len(self.callers) >= MOST_NESTED or id(function) in self.callers:
            message = f"the function {quoted(function.name)} calls itself, or nests too deeply"
            return not_costed(node, Diagnostic("T0692", message))
        inner = walk_of(
            self.session, {**self.opsets, **function.opsets}, self.functions, (*self.callers, id(function))
        )
        inner.assumed, inner.used_names = self.assumed, self.used_names
        for name, number in zip(function.inputs, (*numbers, *[NOTHING] * len(function.inputs)), strict=False):
            inner.names.define(name, number)
        try:
            found = inner.run(self.functions.nodes(function, node))
        except Rejected as rejected:
            return not_costed(node, rejected.diagnostics[0])
        return gathered(found, tuple(map(inner.names.number_of, function.outputs)), inner.names.learned())


def walk_of(
    session: Session, opsets: Mapping[str, int], functions: Functions, callers: tuple[int, ...] = ()
) -> Walk:
    """Make a traversal that has not started."""
    return Walk(session, opsets, functions, ValueTable(session.table), callers=callers)


def _types(known: Sequence[Known | None]) -> list[TensorType | None] | None:
    """Return the types of inputs in the terms of ONNX; None if an input is not a tensor."""
    found: list[TensorType | None] = []
    for item in known:
        space, shape = space_of(item), shape_of(item)
        if item is not None and (space is None or shape is None):
            return None
        found.append(None if space is None or shape is None else (space, tuple(d.constant for d in shape)))
    return found


def _check_sequence(size: int) -> None:
    if size > MOST_IN_SEQUENCE:
        from tolcost.elaborate.layout import check_sequence  # this loads the modules that lower

        check_sequence(size, NOWHERE)


def _name_after_node(node: GraphNode, lowered: Lowered) -> Lowered:
    """Name data-dependent lengths after the node, unless they have a name already."""
    bare = [s for s in lowered.data if s.role == "kept" and s.name == s.base]
    if not bare:
        return lowered
    title = node.label
    by = {s: _with_name(s, f"{title}_{s.name}") for s in bare}
    return renamed(lowered, {**{s: atom(s) for s in lowered.data}, **by})


def _entries(node: GraphNode, lowered: Lowered) -> set[Symbol]:
    """Return the data-dependent symbols that are numbers in tensors among a node's inputs."""
    given = {*node.inputs, *node.free}
    return {s for s in lowered.data if s.role == "entry" and s.base in given}


def _with_name(symbol: Symbol, name: str) -> Poly:
    """Return a symbol like another, with a new name."""
    return data_symbol(name, symbol.lo, symbol.hi, symbol.role, symbol.base)


def _fresh_name(symbol: Symbol, title: str) -> str:
    """Return the name of a symbol at another node: ``z1``, ``turns`` and the like get its prefix."""
    if symbol.base and symbol.role != "entry":
        return f"{title}_{symbol.base}"
    return symbol.name if symbol.name.startswith(title) else f"{title}_{symbol.name}"
