"""Whole programs and operators: binding inputs, evaluating outputs, calling operators, and the last pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import AlgebraBudget, Cond, Poly, Symbol, const, substitute, substitute_cond
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import (
    Bindings,
    blocks,
    children,
    constant_symbols,
    defined_length,
    map_static,
    map_type,
    own_symbols,
    program_nodes,
    roots,
    schedules,
    static_parts,
    type_symbols,
    with_operands,
)
from tolcost.atoms.nodes import Block, Charge, Input, JointWork, Node, Output, Part, Program, Type, Var
from tolcost.atoms.nodes import Input as InputNode
from tolcost.atoms.recurrence import Recurrence
from tolcost.diagnostics import NOWHERE, Diagnostic, InternalError, Source, Span
from tolcost.elaborate import (  # noqa: F401 - importing them registers their rules with ``evaluate``
    choose,
    maps,
    reduce,
    shape_primitives,
    tol_primitives,
    trip_count,
    whiles,
)
from tolcost.elaborate.amortised import amortised
from tolcost.elaborate.environment import (
    CallsApart,
    Context,
    Env,
    Lazy,
    LoweringRequest,
    OperatorDefinition,
    Scope,
    bind_data,
    force,
)
from tolcost.elaborate.expressions import define_all, delay, dimensions, mentioned, zeros
from tolcost.elaborate.faults import NeedsUnrolling, fail
from tolcost.elaborate.inputs import InputBinder, declared_spaces
from tolcost.elaborate.layout import check_sequence, emit
from tolcost.elaborate.shapes import Shape, recording
from tolcost.elaborate.values import (
    Argument,
    Items,
    Missing,
    NodeValue,
    Seq,
    Tensor,
    Value,
    Vec,
    as_output,
    is_function,
    name_around,
)
from tolcost.syntax import tree

# === The last pass over a lowered program: drop unused nodes, and separate coordinates from values.
#
# A function whose result is used only as a coordinate is charged as ``index``. A function that any value
# depends on is charged as ``data``, and so is every map and reduce: a sort is work even if its result only
# computes indices. Lengths found equal are written in one way. A loop-invariant expression in a body is
# counted at every visit, as the program says; if it is named outside the body, it counts once. A warning
# tells the author where.


def finish(
    env: Env, name: str, inputs: Iterable[Input], outputs: Iterable[Output], symbols: tuple[Symbol, ...]
) -> Program:
    """Return the program, ready to be counted and run."""
    notes = env.context.notes
    pass_ = _Finish(notes.equal, filtered=env.context.names > 0 or bool(notes.loops))
    done = tuple([Output(o.name, pass_.node(o.node, "data"), o.span) for o in outputs])
    bindings = pass_.bindings(env.scope.bindings)
    told = tuple(map(pass_.input, inputs))
    conditions, unproved = tuple(notes.conditions.values()), tuple(notes.unproved.values())
    found = Program(name, told, bindings, done, conditions, symbols, unproved)
    in_all = amortised(found, env.context.falling) if any(env.context.falling.values()) else ()
    return replace(found, in_all=in_all) if in_all else found


def _finished(env: Env, program: Program) -> Program:
    """Return another program that was lowered with this one, ready to be counted."""
    inner = env.building(Scope(bindings=list(program.bindings)))
    return finish(inner, program.name, program.inputs, program.outputs, ())


class _Finish(Struct, eq=False):
    """Rewrites nodes from their uses back to their definitions."""

    equal: Mapping[Symbol, Poly]
    filtered: bool
    """Whether data decides any length; otherwise, as in most programs, mentioned symbols are not tracked."""
    seen: dict[tuple[Node, Charge], Node] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)
    vars: dict[Var, Var] = field(default_factory=dict)
    valued: set[Var] = field(default_factory=set)
    used: set[Var] = field(default_factory=set)
    works: set[JointWork | None] = field(default_factory=set)
    stated: dict[Poly, Poly] = field(default_factory=dict)
    mentioned: set[Symbol] = field(default_factory=set)
    """The symbols in the nodes kept: nodes that define a length among them must be kept, too."""
    restates: bool = False

    def __post_init__(self) -> None:
        """Skip restating in most programs: they have no equal lengths and no length that data decides."""
        self.restates = bool(self.equal) or self.filtered

    def node(self, node: Node, use: Charge) -> Node:
        """Rewrite a node for its use: as a value (``data``) or as a coordinate (``index``)."""
        if type(node) is ir.Ref and not self.restates:  # the usual case
            self._note_use(node.var, use)
            return node
        found = self.seen.get((node, use))
        if found is None:
            found = self.seen[node, use] = self._rewrite(node, use)
        return found

    def _rewrite(self, node: Node, use: Charge) -> Node:
        stated = self._in_remaining_lengths(node) if self.restates else node
        kind = type(stated)
        if kind is ir.Number or kind is ir.Table:
            return stated
        if type(stated) is ir.Ref:
            self._note_use(stated.var, use)
            var = self.var(stated.var)
            return stated if var is stated.var else ir.Ref(var, stated.type)
        if type(stated) is Input:
            return self.input(stated)
        fields = _CHANGES[kind](self, stated, use) if kind in _CHANGES else {}
        operands = children(stated)
        used = _USES[kind](len(operands)) if kind in _USES else repeat(use)
        fresh = tuple(map(self.node, operands, used))
        return with_operands(stated, fresh, **fields) if fields or fresh != operands else stated

    def _note_use(self, var: Var, use: Charge) -> None:
        self.used.add(var)
        if var.work is not None:
            self.works.add(var.work)
        if use == "data":
            self.valued.add(var)

    def block(self, block: Block, use: Charge) -> Block:
        """Rewrite a block: its result first, then the bindings that are needed, last first."""
        result = self.node(block.result, use)
        bindings = self.bindings(block.bindings)
        same = result is block.result and bindings == block.bindings
        return block if same else Block(bindings, result)

    def bindings(self, bindings: Sequence[tuple[Var, Node]]) -> Bindings:
        """Keep the bindings that are used."""
        kept: list[tuple[Var, Node]] = []
        for var, node in reversed(bindings):
            defined = defined_length(node) if self.filtered else None
            told = defined in self.mentioned
            if told and defined is not None and defined.hi is not None:
                self.mentioned.update(defined.hi.free)
            if told or var in self.used or var.work in self.works:
                use: Charge = "data" if var.work is not None or var in self.valued else "index"
                kept.append((self.var(var), self.node(node, use)))
        return tuple(kept[::-1])

    def input(self, node: Input) -> Input:
        """Return the one object for each input."""
        found = self.inputs.get(node.name)
        if found is None:
            kind = self._type(node.type)
            found = node if kind is node.type else Input(node.name, kind, node.within)
            self.inputs[node.name] = found
        return found

    def var(self, var: Var) -> Var:
        """Return the one object for each variable."""
        found = self.vars.get(var)
        if found is None:
            kind = self._type(var.type)
            found = self.vars[var] = var if kind is var.type else Var(var.name, kind, var.work)
        return found

    # ---- lengths found equal -----------------------------------------------------------------

    def _in_remaining_lengths(self, node: Node) -> Node:
        """Rewrite a node in the lengths that remain after equal ones were merged."""
        if self.equal:
            return map_static(node, self._poly, self._cond)
        self.mentioned.update(type_symbols(node.type))
        for part in static_parts(node):
            self.mentioned.update(constant_symbols(part))
        return node

    def _type(self, types: Type) -> Type:
        if self.equal:
            return map_type(types, self._poly)
        if self.filtered:
            self.mentioned.update(type_symbols(types))
        return types

    def _poly(self, p: Poly) -> Poly:
        if self.filtered:
            self.mentioned.update(p.free)
        if self.equal.keys().isdisjoint(p.free):
            return p
        found = self.stated.get(p)
        if found is None:
            found = self.stated[p] = self._poly(substitute(p, self.equal))
        return found

    def _cond(self, c: Cond) -> Cond:
        if self.filtered:
            self.mentioned.update(constant_symbols(c))
        return substitute_cond(c, self.equal)


_CHANGES: Mapping[type, Callable[[_Finish, Any, Charge], dict[str, Any]]] = {
    ir.Lambda: lambda _, node, use: {} if node.charge in ("static", use) else {"charge": use},
    ir.Where: lambda _, node, use: {} if node.charge == use else {"charge": use},
    ir.Build: lambda done, node, _: {"body": done.block(node.body, "data")},
    ir.Fold: lambda done, node, _: {
        "body": done.block(node.body, "data"),
        "accumulator": done.var(node.accumulator),
    },
    ir.Select: lambda done, node, use: {
        "then": done.block(node.then, use),
        "other": done.block(node.other, use),
    },
}
"""The fields to change besides the operands: blocks, the accumulator, the charge."""


_DATA: list[Charge] = ["data"]
_INDEX: list[Charge] = ["index"]
_USES: Mapping[type, Callable[[int], list[Charge]]] = {
    ir.Member: lambda operands: _DATA + _INDEX * (operands - 1),
    ir.Put: lambda operands: _DATA + _INDEX * (operands - 2) + _DATA,
    **dict.fromkeys((ir.Join, ir.Reshape, ir.Filter, ir.Fold), lambda operands: _DATA * operands),
}
"""How nodes use operands: indices as coordinates, whole ToLs as values, all others like the node itself."""


# ---- loop-invariant work ----------------------------------------------------------------------


Needs = frozenset[object]
_MOST_WARNINGS = 20
"""The most warnings about repeated work in one program."""
_REPEATED_HERE = "this is computed again at every step of the {} around it, and never changes"
_REPEATED_BY_CALL = "an operator computes the same again at every step of this {}"


def repeated_work(program: Program, source: Source) -> tuple[Diagnostic, ...]:
    """Warn about each expression of a source that a body computes again although it never changes.

    Work of operators and library files is reported at the body that repeats it.
    """
    finder = _Finder(source)
    for plan in schedules(program):
        for node in plan.nodes:
            if node not in finder.needs:
                finder.needs[node], finder.works[node] = finder.facts(node)
    own = sorted((span for span in finder.repeated if span.source == source), key=lambda s: (s.start, -s.end))
    largest = [span for n, span in enumerate(own) if all(span.end > other.end for other in own[:n])]
    again = (_warn_again(span, _REPEATED_HERE.format(finder.repeated[span])) for span in largest)
    called = (_warn_again(span, _REPEATED_BY_CALL.format(what)) for span, what in finder.called.items())
    return (*again, *called)[:_MOST_WARNINGS]


def _warn_again(span: Span, what: str) -> Diagnostic:
    hint = "give it a name outside, and it counts once"
    return Diagnostic("T0420", what, span, hint=hint, severity="warning")


class _Finder(Struct, eq=False):
    source: Source
    needs: dict[Node, Needs] = field(default_factory=dict)
    works: dict[Node, bool] = field(default_factory=dict)
    repeated: dict[Span, str] = field(default_factory=dict)
    """The loop-invariant expressions of the source, with the kind of body that repeats them."""
    called: dict[Span, str] = field(default_factory=dict)
    """The bodies of the source that repeat loop-invariant work written elsewhere, with their kind."""

    def facts(self, node: Node) -> tuple[Needs, bool]:
        """Return the needs of a node, and whether it works on data, given both for its parts."""
        needs = set(_needs_of_node(node))
        works = isinstance(node, (ir.Lambda, ir.Where)) and node.charge == "data"
        for child in children(node):
            needs |= self.needs[child]
            works |= self.works[child]
        for block in blocks(node):
            inside = {need for root in roots(block) for need in self.needs[root]}
            works |= any(self.works[root] for root in roots(block))
            needs |= inside - {var for var, _ in block.bindings}
        if isinstance(node, (ir.Build, ir.Fold)):
            own = {*node.coords, *((node.accumulator,) if isinstance(node, ir.Fold) else ())}
            if any(extent != 1 for extent in node.extents):
                self._report_invariant_parts(node, node.body, own)
            needs -= own
        return frozenset(needs), works

    def _report_invariant_parts(self, around: ir.Build | ir.Fold, body: Block, own: set[object]) -> None:
        """Record the largest parts of a body that need nothing that the body itself binds."""
        changing = set(own)
        for var, node in body.bindings:
            if _changes(self.needs[node], changing):
                changing.add(var)
        pending = list(roots(body))
        while pending:
            node = pending.pop()
            if not self.works[node]:
                continue
            if not _changes(self.needs[node], changing):
                self._report(node, around)
            elif not isinstance(node, (ir.Build, ir.Fold, ir.Select)):
                pending.extend(children(node))

    def _report(self, node: Node, around: ir.Build | ir.Fold) -> None:
        span: Span = getattr(node, "span", NOWHERE)
        what = "map" if isinstance(around, ir.Build) else "reduce"
        if span is NOWHERE or span == around.span:
            return
        if around.span.source == self.source != span.source:
            self.called.setdefault(around.span, what)
        else:
            self.repeated.setdefault(span, what)


def _changes(needs: Needs, changing: set[object]) -> bool:
    """Whether a value differs between visits; a random number always does."""
    return not changing.isdisjoint(needs) or any(isinstance(need, ir.Lambda) for need in needs)


def _needs_of_node(node: Node) -> frozenset[object]:
    """Return the coordinates and variables that a node itself mentions; a random number needs itself."""
    if isinstance(node, ir.Ref):
        return frozenset((node.var,))
    if isinstance(node, ir.Lambda) and node.function == "rand":
        return frozenset((node,))
    return frozenset(own_symbols(node))


# === Programs and operators.


class Elaborated(Struct, frozen=True, eq=False):
    """A lowered program, the compile-time values of its outputs, and warnings."""

    program: Program
    values: tuple[tuple[str, Value], ...]
    warnings: tuple[Diagnostic, ...] = ()
    equal: Mapping[Symbol, Poly] = field(default_factory=dict)
    open: tuple[Cond | Shape, ...] = ()
    """What was asked and lengths left open: conditions, and whether the lengths of a shape are numbers."""
    named: Mapping[str, Value] = field(default_factory=dict)
    """The values of the program's names, as far as they were computed: lengths, inputs, definitions."""
    recurrence: Recurrence | None = None
    """A function that applies itself to parts of any length: the program takes its result as given."""


def elaborate(
    program: tree.Module,
    given: Mapping[str, Argument] | None = None,
    *,
    name: str = "program",
    library: Iterable[tree.Module] = (),
    operators: Mapping[str, OperatorDefinition] | None = None,
    outputs: int | None = None,
    around: Mapping[str, Argument] | None = None,
    data: Mapping[str, Tensor] | None = None,
    title: str = "",
    apart: CallsApart | None = None,
    recurrences: bool = False,
) -> Elaborated:
    """Lower a program.

    ``given`` are its arguments: a ``Tensor`` has a shape and a space, any other value is static. Lengths that
    nothing gives become symbols with the program's names. ``outputs`` is the number of outputs wanted, None
    for all. ``around`` are values of a surrounding graph that the graphs among the attributes see without
    being passed; ``data`` are those of them that are known, as data for programs that need not know them.
    ``title`` prefixes the names of symbols whose values only a run determines.  ``apart`` keeps calls as
    single nodes, whose insides are not lowered here. With ``recurrences``, the cost of recursion may be told
    by that of its parts.
    """
    called = call_operator if apart is None else apart.of_operator
    seen: list[InputNode] = []
    outer = {name: _from_outside(name, value, seen) for name, value in (around or {}).items()}
    as_data = {name: _from_outside(name, tensor, seen) for name, tensor in (data or {}).items()}
    context = Context(LoweringRequest(operators or {}, called, apart, outer, as_data), title=title)
    context.recurrences = [] if recurrences else None
    top = Env(context, Scope(), {})
    try:
        with recording() as left_open:
            asked = [s for s in program.statements if isinstance(s, tree.Define) and s.output]
            top.names["outputs"] = const(outputs if outputs is not None else max(len(asked), 1))
            env, inputs = _enter(top, program, dict(given or {}), library)
            _force_in_order(env, program)
            values = _results(env, program, outputs)
            named = tuple(_outputs(env, values))  # binds further nodes
            solved = context.recurrences[0] if context.recurrences else None
            made = () if solved is None else [Output("", node) for node in solved.first]
            done = finish(env, name, (*inputs, *seen), (*named, *made), _symbols(env, inputs))
            if not title and (context.names or context.notes.loops):
                _require_defined(done, given or {})
    except NeedsUnrolling as needs:
        fail("T0304", "something is looked up here that must be known while compiling", needs.span)
    except AlgebraBudget as budget:
        where = program.span if budget.span is NOWHERE else budget.span
        fail("T0504", f"a formula grows too large: {budget}", where)
    open_, warnings = tuple(left_open), tuple(context.notes.warnings)
    if solved is not None:
        solved = replace(solved, own=_finished(top, solved.own), last=_finished(top, solved.last))
    return Elaborated(done, values, warnings, context.notes.equal, open_, _named_values(env), solved)


def _require_defined(program: Program, given: Mapping[str, Argument]) -> None:
    """Check that the program has every loop whose turns it mentions, and every filter whose length.

    Without it they would cost nothing, and a run would not know them. What is ``given`` comes from elsewhere.
    """
    nodes = program_nodes(program)
    told = {symbol for value in given.values() if isinstance(value, Poly) for symbol in value.free}
    told.update(type_symbols(tuple([part for node in program.inputs for part in node.type])))
    told.update(filter(None, map(defined_length, nodes)))
    for node in nodes:
        for symbol in (*own_symbols(node), *type_symbols(node.type)):
            if symbol.role in _DEFINED_BY_NODES and symbol not in told:
                raise InternalError(f"nothing in the program tells `{symbol.name}`")


_DEFINED_BY_NODES = {"turns", "kept", "range"}
"""The roles of symbols for what data decides in the program itself."""


def _named_values(env: Env) -> dict[str, Value]:
    """Return the values, as far as computed, of a program's definitions, inputs and declared lengths."""
    named: dict[str, Value] = {}
    for names in (env.parent.names if env.parent is not None else {}, env.names):
        for name, found in names.items():
            value = found.value if isinstance(found, Lazy) else found
            if value is not None and not isinstance(value, tuple) and not is_function(value):
                named[name] = value
    return named


def _symbols(env: Env, inputs: Iterable[InputNode]) -> tuple[Symbol, ...]:
    """Return the lengths and attributes that stay open, in the order in which the program mentions them."""
    told = [d for node in inputs for part in node.type for d in part.shape]
    names = env.parent.names if env.parent is not None else {}
    for value in names.values():
        if isinstance(value, Poly):
            told.append(value)
        elif isinstance(value, Vec):
            told += [item for item in value.items if isinstance(item, Poly)]
    found: dict[Symbol, None] = {}
    for d in told:
        free = d.free
        if not free <= found.keys():  # most lengths mention only symbols already found
            found.update(dict.fromkeys(sorted(free, key=attrgetter("key")) if len(free) > 1 else free))
    return tuple([s for s in found if s.kind == "length" and s not in env.context.notes.equal])


def _from_outside(name: str, value: Argument, inputs: list[InputNode]) -> Value:
    """Return a value of a surrounding graph as the graphs inside see it; its tensors become inputs."""
    match value:
        case Tensor(shape=shape, space=space):
            inputs.append(InputNode(name_around(name), (Part(shape, space),)))
            return NodeValue(inputs[-1])
        case Seq(items=items):
            return Seq(tuple(_from_outside(f"{name}.{n}", item, inputs) for n, item in enumerate(items, 1)))
        case _:
            return value


def _enter(
    top: Env, program: tree.Module, given: dict[str, Argument], library: Iterable[tree.Module]
) -> tuple[Env, tuple[InputNode, ...]]:
    """Build the environment of a program: library, lengths, inputs, definitions."""
    base = top
    for file in library:
        base = define_all(base, file.statements)
    declared = base.child(declared_spaces(base, program))
    env = define_all(declared, program.statements)
    inputs = InputBinder(program, env, declared.names).bind(given)
    if given:
        fail("T0412", f"there is no input called `{next(iter(given))}`", program.span)
    for statement in program.statements:
        if isinstance(statement, tree.ZerosDecl):
            _declare_zeros(env, statement, program)
    return env, inputs


def _declare_zeros(env: Env, statement: tree.ZerosDecl, program: tree.Module) -> None:
    """Bind ``tol name = [...]``; a definition of the same name fills it, and sees the empty ToL."""
    empty = Lazy(statement.name, env, lambda env: zeros(_declared_shape(env, statement.shape)))
    for other in program.statements:
        if isinstance(other, tree.Define) and other.name == statement.name and other.params is None:
            inner = env.child({statement.name: empty})
            env.names[statement.name] = delay(inner, statement.name, other.value)
            return
    env.names[statement.name] = empty


def _declared_shape(env: Env, expr: tree.Expr) -> tuple[Poly, ...]:
    items = expr.items if isinstance(expr, tree.Bracket) else (tree.Splice(expr, expr.span),)
    return dimensions(env, items, expr.span)


def _force_in_order(env: Env, program: tree.Module) -> None:
    """Compute a long chain of definitions from its start, so that no value is forced deep inside another."""
    if len(program.statements) < 200:
        return
    for name in value_order(program):
        found = env.names.get(name)
        if isinstance(found, Lazy):
            force(found)


# ---- outputs -----------------------------------------------------------------------------


def _results(env: Env, program: tree.Module, asked: int | None) -> tuple[tuple[str, Value], ...]:
    defines = [s for s in program.statements if isinstance(s, tree.Define)]
    chosen = [s for s in defines if s.output and s.params is None]
    if not chosen:
        values = [s for s in defines if s.params is None]
        if not values:
            fail(
                "T0210",
                "this program computes nothing: it has no value and no output",
                program.span,
                hint="mark the result with :=",
            )
        chosen = values[-1:]
    if asked is not None and not chosen[-1].variadic:
        chosen = chosen[:asked]
    return tuple([(s.name, _result(env, s)) for s in chosen])


def _result(env: Env, statement: tree.Define) -> Value:
    value = force(env.names[statement.name], statement.span)
    if is_function(value):
        fail("T0402", f"the output `{statement.name}` is a function", statement.span)
    return as_output(value)


def _outputs(env: Env, values: tuple[tuple[str, Value], ...]) -> Iterable[Output]:
    for name, value in values:
        if isinstance(value, Seq):
            entries = ((f"{name}.{n}", item) for n, item in enumerate(value.items, start=1))
            yield from _outputs(env, tuple(entries))
        elif isinstance(value, Missing):
            continue
        else:
            yield Output(name, emit(env, value, _place_of_output(env, name)))


def _place_of_output(env: Env, name: str) -> Span:
    """Return the place of the expression that defines an output."""
    found = env.names.get(name)
    return found.expr.span if isinstance(found, Lazy) and found.expr is not None else NOWHERE


# ---- operators called from programs ------------------------------------------------------


def call_operator(
    env: Env, name: str, args: tuple[Value, ...], named: dict[str, Value], span: Span
) -> Value | Items:
    """Apply an operator inside another program, in its block."""
    operator = env.context.request.operators[name]
    given = _arguments(operator.program, args, named, name, span)
    values = apply_program(env, operator.program, given, operator.library, None)
    return values[0] if len(values) == 1 else values


def apply_program(
    env: Env,
    program: tree.Module,
    given: Mapping[str, Argument],
    library: Iterable[tree.Module],
    outputs: int | None,
) -> tuple[Value, ...]:
    """Apply a program in the block of ``env``; return its outputs, each computed once there."""
    top = Env(env.context, env.scope, {"outputs": const(1 if outputs is None else outputs)})
    inner, _ = _enter(top, program, dict(given), library)
    return tuple(bind_data(env, value) for _, value in _results(inner, program, outputs))


def _arguments(
    program: tree.Module, args: tuple[Value, ...], named: dict[str, Value], name: str, span: Span
) -> dict[str, Argument]:
    inputs = [s for s in program.statements if isinstance(s, tree.InputDecl) and s.kind != "attr"]
    given: dict[str, Argument] = dict(named)
    rest = list(args)
    for statement in inputs:
        if statement.variadic:
            check_sequence(len(rest), span)
            given[statement.name] = Seq(tuple(rest))
            rest = []
        elif rest:
            given[statement.name] = rest.pop(0)
    if rest:
        fail("T0203", f"`{name}` takes {len(inputs)} inputs, not {len(args)}", span)
    return given


def value_order(program: tree.Module) -> list[str]:
    """Return the names of a program's definitions, each after the names it mentions.

    The order is found without recursion, so a chain of 10,000 definitions needs no deep stack.
    """
    defines = {s.name: s for s in program.statements if isinstance(s, tree.Define)}
    needs = {name: [n for n in mentioned(s.value) if n in defines] for name, s in defines.items()}
    order: dict[str, None] = {}
    for start in defines:
        path, open_ = [(start, iter(needs[start]))], {start}
        while path:
            name, rest = path[-1]
            needed = next((n for n in rest if n not in order and n not in open_), None)
            if needed is None:
                order[name] = None
                path.pop()
            else:
                open_.add(needed)
                path.append((needed, iter(needs[needed])))
    return list(order)
