"""The calls of a program: which operators and functions it applies, how often, and the work of each.

Each is kept as one node while the program is lowered, and is lowered by itself, once for each kind of
operands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import Cond, Poly, Symbol, negate
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import bound_nodes, children, inner_nodes, program_nodes, schedules, static_condition
from tolcost.atoms.nodes import Block, Node, Part, Program, Type, Var
from tolcost.catalogue.specs import Library, Spec
from tolcost.cost import Analysis, analyze_program
from tolcost.diagnostics import Source, Span
from tolcost.elaborate import Argument, Elaborated, Tensor, elaborate
from tolcost.elaborate.environment import Env, Scope
from tolcost.elaborate.inputs import arguments
from tolcost.elaborate.layout import emit
from tolcost.elaborate.values import (
    Closure,
    Items,
    Missing,
    NodeValue,
    Value,
    View,
    frozen,
    is_static,
    single,
)
from tolcost.pipeline import Parsed, read_shipped
from tolcost.syntax import tree

MARK = "call "
"""What the nodes of calls are named, before their numbers: no elementary function has a blank in its name."""


Scopes = tuple[tuple[Symbol, Poly] | Cond, ...]
"""The coordinates around a call with their extents, and the conditions under which it happens."""


class CallKind(Struct, frozen=True, eq=False):
    """Calls that are alike: what is called, with its program, and what one costs."""

    name: str
    operands: tuple[str, ...]
    """The inputs of the program that depend on data, in the order of the types of ``inputs``."""
    inputs: tuple[Type, ...]
    outputs: tuple[Type, ...]
    program: Program
    analysis: Analysis
    spec: Spec | None
    """The operator; None for a function."""
    settings: Mapping[str, Argument]
    """What is known of its inputs and attributes."""


class ProgramCall(Struct, frozen=True, eq=False):
    """A call in a program: its kind, its place, what is around it, and the inputs that it reads."""

    kind: CallKind
    span: Span
    scopes: Scopes
    reads: tuple[tuple[str, ...], ...]
    """For each operand, the inputs of the program that it is a part of, if nothing is computed between."""
    node: ir.Lambda


class CalledProgram(Struct, frozen=True, eq=False):
    """A program as its calls, with what it computes besides."""

    program: Program
    calls: tuple[ProgramCall, ...]
    inputs: tuple[ir.Input, ...]
    """The inputs that something is computed from."""
    declared: Mapping[str, Span]
    """Where each input is declared."""
    kinds: Mapping[object, CallKind]
    """The kinds of its calls, by what is called with what."""


def called_program(
    parsed: Parsed,
    attrs: Mapping[str, object],
    functions: Collection[str],
    space: str,
    known: Mapping[object, CallKind],
) -> CalledProgram:
    """Lower a program down to its calls; ``functions`` are those of its libraries that count as calls.

    Reals are taken to be in ``space`` within a call. Kinds that are ``known`` are not lowered again.
    """
    uses = [name for s in parsed.program.statements if isinstance(s, tree.Use) for name in s.names]
    given = arguments(parsed.program, None, attrs)  # type: ignore[arg-type]  # values of attributes

    def lowered(kinds: _Kinds) -> Program:
        operators = parsed.specs.operators()
        return elaborate(
            parsed.program, given, name="plan", library=parsed.library, operators=operators, apart=kinds
        ).program

    kinds = _Kinds(parsed.specs, tuple(uses), frozenset(functions), space, dict(known))
    program = lowered(kinds)
    read = _results_read(program)
    if any(read.get(n, 1) < len(kind.outputs) for n, kind in enumerate(kinds.made)):
        # what comes of a call is known when all is lowered: again, without results that nothing reads
        kinds = _Kinds(kinds.specs, kinds.uses, kinds.functions, space, kinds.known, read)
        program = lowered(kinds)
    stated = parsed.program.statements
    declared = {one.name: one.span for one in stated if isinstance(one, tree.InputDecl)}
    return _walked(program, kinds, declared)


def _results_read(program: Program) -> dict[int, int]:
    """Return for the number of a call how many of its results, from the first on, are read."""
    bound, found = bound_nodes(program, schedules(program)), dict[int, int]()
    for _, node in _nodes(program):
        if isinstance(node, ir.Component):
            of = bound.get(node.value.var) if isinstance(node.value, ir.Ref) else node.value
            if isinstance(of, ir.Lambda) and of.function.startswith(MARK):
                n = int(of.function.removeprefix(MARK))
                found[n] = max(found.get(n, 1), node.j)
    return found


class _Kinds(Struct, eq=False):
    """Makes a node of each call, and lowers each kind of call once."""

    specs: Library
    uses: tuple[str, ...]
    functions: frozenset[str]
    space: str
    known: dict[object, CallKind] = field(default_factory=dict)
    read: Mapping[int, int] | None = None
    """How many results of a call are read, by its number; None if that is not known yet."""
    made: list[CallKind] = field(default_factory=list)

    @property
    def wanted(self) -> int | None:
        """The number of results of the next call that are read; None for all."""
        return None if self.read is None else self.read.get(len(self.made), 1)

    def keeps(self, name: str) -> bool:
        return name in self.functions

    def of_operator(
        self, env: Env, name: str, args: tuple[Value, ...], named: dict[str, Value], span: Span
    ) -> Value | Items:
        """Return the results of an operator, without its inside."""
        spec = env.context.request.operators[name]
        assert isinstance(spec, Spec)
        inputs = [s for s in spec.program.statements if isinstance(s, tree.InputDecl) and s.kind != "attr"]
        given: dict[str, Value] = dict(zip([s.name for s in inputs], args, strict=False)) | named

        def lowered(own: dict[str, Argument]) -> Elaborated:
            return self.specs.lowered(spec, own, self.wanted)

        return self._call(env, name, given, lowered, span, spec)

    def of_function(self, env: Env, function: Closure, args: Sequence[Value], span: Span) -> Value:
        """Return the result of a function, without its inside."""
        tables = ((_of_table(env, arg, span) if isinstance(arg, View) else arg) for arg in args)
        given = dict(zip(function.params, tables, strict=True))

        def lowered(own: dict[str, Argument]) -> Elaborated:
            parsed = read_shipped(Source(function.name, self._text(function, own)), self.specs)
            operators = self.specs.operators()
            return elaborate(
                parsed.program, own, name=function.name, library=parsed.library, operators=operators
            )

        found = self._call(env, function.name, given, lowered, span)
        return single(found)

    def _text(self, function: Closure, given: Mapping[str, Argument]) -> str:
        """Write a program of one call."""
        lines = [f"{_declared(name, given[name])}\n" for name in function.params]
        called = f"{function.name}({', '.join(function.params)})"
        return f"{''.join(lines)}use {', '.join(self.uses)}\nresult := {called}\n"

    def _call(
        self,
        env: Env,
        name: str,
        given: Mapping[str, Value],
        lowered: Callable[[dict[str, Argument]], Elaborated],
        span: Span,
        spec: Spec | None = None,
    ) -> Value | Items:
        nodes: list[Node] = []
        operands: list[str] = []
        own: dict[str, Argument] = {}
        for key, value in given.items():
            if isinstance(value, Missing):
                continue
            if is_static(value):
                own[key] = value
                continue
            node = emit(env, value, span)
            nodes.append(node)
            operands.append(key)
            own[key] = Tensor(node.type[0].shape, self._inside(node.type[0].space))
        key_of: tuple[object, ...] = (name, tuple((key, frozen(value)) for key, value in own.items()))
        kind = self.known.get(key_of)
        if kind is not None and self.wanted is not None and self.wanted < len(kind.outputs):
            key_of = (*key_of, self.wanted)
            kind = self.known.get(key_of)
        if kind is None:
            done = lowered(own)
            types = tuple(out.node.type for out in done.program.outputs)
            analysis = analyze_program(done.program, name, depth=False)
            kind = CallKind(
                name, tuple(operands), tuple(node.type for node in nodes), types,
                _closed(done.program, env.scope), analysis, spec, own,
            )  # fmt: skip
            self.known[key_of] = kind
        self.made.append(kind)
        parts = tuple(Part(part.shape, self._outside(part.space)) for t in kind.outputs for part in t)
        whole = ir.Lambda(f"{MARK}{len(self.made) - 1}", tuple(nodes), "R", parts, "static", span)
        bound = env.scope.bind(whole, name)
        if len(parts) == 1:
            return NodeValue(bound)
        return tuple(NodeValue(ir.Component(bound, j, (part,))) for j, part in enumerate(parts, start=1))

    def _inside(self, space: str) -> str:
        return self.space if space == "R" else space

    def _outside(self, space: str) -> str:
        return "R" if space == self.space else space


def _of_table(env: Env, table: View, span: Span) -> NodeValue:
    """Return the node of a table: a call takes all its entries, whether they depend on data or not."""
    return NodeValue(emit(env, table, span))


def _closed(program: Program, around: Scope) -> Program:
    """Bind in a program what it takes from the block around its call: numbers that only a run determines."""
    inside = bound_nodes(program, schedules(program))
    taken: dict[Var, Node] = {}
    pending = list(program_nodes(program))
    while pending:
        node = pending.pop()
        if isinstance(node, ir.Ref) and node.var not in inside and node.var not in taken:
            named = around.named(node.var)
            if named is not None:
                taken[node.var] = named
                pending += inner_nodes((named,))
    return replace(program, bindings=(*reversed(taken.items()), *program.bindings)) if taken else program


def _declared(name: str, value: Argument) -> str:
    match value:
        case Tensor(shape=shape, space=space):
            return f"tol {name}: {space} [{', '.join(f'{name}_{n}' for n in range(len(shape)))}]"
        case str():
            return f"attr {name}: S"
        case Poly():
            return f"attr {name}: Z"
        case _:
            return f"attr {name}: B"


def _walked(program: Program, kinds: _Kinds, declared: Mapping[str, Span]) -> CalledProgram:
    """Find the calls of a lowered program, with what is around each."""
    plan = schedules(program)
    bound = bound_nodes(program, plan)
    used: dict[str, ir.Input] = {}
    calls: list[ProgramCall] = []
    for scopes, node in _nodes(program):
        if isinstance(node, ir.Input):
            used[node.name] = node
        elif isinstance(node, ir.Lambda) and node.function.startswith(MARK):
            kind = kinds.made[int(node.function.removeprefix(MARK))]
            reads = tuple(tuple(sorted(_origins(arg, bound))) for arg in node.args)
            calls.append(ProgramCall(kind, node.span, scopes, reads, node))
    told = tuple(used[given.name] for given in program.inputs if given.name in used)
    return CalledProgram(program, tuple(calls), told, declared, kinds.known)


def _nodes(program: Program) -> Iterator[tuple[Scopes, Node]]:
    """Yield each node of a program once for each block that it is in, with what is around it."""
    top = (*(node for _, node in program.bindings), *(out.node for out in program.outputs))
    pending: list[tuple[Scopes, tuple[Node, ...]]] = [((), top)]
    while pending:
        scopes, roots = pending.pop()
        seen: set[Node] = set()
        waiting = list(reversed(roots))
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            yield scopes, node
            waiting += children(node)
            pending += [((*scopes, *around), _roots(block)) for around, block in entered(node)]


def entered(node: Node) -> Iterator[tuple[Scopes, Block]]:
    """Yield the blocks in a node, each with what is around it."""
    match node:
        case ir.Build(body=body) | ir.Fold(body=body):
            yield tuple(zip(node.coords, node.extents, strict=True)), body
        case ir.Select(then=then, other=other):
            condition = static_condition(node)
            yield (() if condition is None else (condition,)), then
            yield (() if condition is None else (negate(condition),)), other
        case _:
            return


def _roots(block: Block) -> tuple[Node, ...]:
    return (*(node for _, node in block.bindings), block.result)


def _origins(node: Node, bound: Mapping[Var, Node]) -> set[str]:
    """Return the inputs that an operand consists of, as far as nothing is computed between."""
    found: set[str] = set()
    pending, seen = [node], set()
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        match one:
            case ir.Input(name=name):
                found.add(name)
            case ir.Ref(var=var) if var in bound:
                pending.append(bound[var])
            case ir.Lambda():
                continue
            case ir.Build(body=body):
                pending.append(body.result)
            case ir.Member(tol=tol):
                pending.append(tol)
            case ir.Select(then=then, other=other):
                pending += [then.result, other.result]
            case _:
                pending += children(one)
    return found
