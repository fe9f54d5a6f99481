"""Whole programs and operators: binding inputs, evaluating outputs, calling one from another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter

from tolcost.algebra import AlgebraBudget, Cond, Poly, Symbol, const
from tolcost.atoms.nodes import Input as InputNode
from tolcost.atoms.nodes import Output, Part, Program
from tolcost.dataclass import dataclass, field
from tolcost.diagnostics import NOWHERE, Diagnostic, Span
from tolcost.elaborate import (  # noqa: F401 - for the rules that they register with ``evaluate``
    calls,
    choose,
    filter_primitives,
    maps,
    reduce,
    shape_primitives,
    tol_primitives,
    trip_count,
)
from tolcost.elaborate.context import (
    Context,
    Env,
    Lazy,
    OperatorDefinition,
    Scope,
    bind_data,
    force,
)
from tolcost.elaborate.expressions import define_all, delay, dimensions, mentioned, zeros
from tolcost.elaborate.faults import NeedsUnrolling, fail
from tolcost.elaborate.finish import finish
from tolcost.elaborate.input_binder import InputBinder, declared_spaces
from tolcost.elaborate.layout import check_sequence, materialise
from tolcost.elaborate.values import (
    Argument,
    Data,
    Missing,
    Results,
    Seq,
    Tensor,
    Value,
    Vec,
    as_output,
    is_function,
)
from tolcost.syntax import tree


@dataclass(frozen=True, slots=True, eq=False)
class Elaborated:
    """A lowered program, the values of its outputs while compiling, and what to warn about."""

    program: Program
    values: tuple[tuple[str, Value], ...]
    warnings: tuple[Diagnostic, ...] = ()
    equal: Mapping[Symbol, Poly] = field(default_factory=dict)
    open: tuple[Cond, ...] = ()
    """Conditions on lengths alone that were asked for and could not be decided."""
    named: Mapping[str, Value] = field(default_factory=dict)
    """The values that the program has names for, as far as it needed them: lengths, inputs, definitions."""


def elaborate(
    program: tree.Module,
    given: Mapping[str, Argument] | None = None,
    *,
    name: str = "program",
    library: Iterable[tree.Module] = (),
    operators: Mapping[str, OperatorDefinition] | None = None,
    outputs: int | None = None,
    around: Mapping[str, Tensor | Value] | None = None,
    title: str = "",
) -> Elaborated:
    """Lower a program.

    ``given`` says what is known of its inputs: a ``Tensor`` has a shape and a space, any other
    value is static.  Lengths that nothing gives are symbols named as the program names them.
    ``outputs`` is how many outputs are asked for, all of them if None.  ``around`` are values that
    the graphs among the attributes see though nobody passes them: those of the graph around.  ``title`` is
    what symbols are called after whose values only running tells.
    """
    try:
        return _elaborate(
            program,
            dict(given or {}),
            name,
            tuple(library),
            {} if operators is None else operators,
            outputs,
            around or {},
            title,
        )
    except NeedsUnrolling as needs:
        fail("T0304", "something is looked up here that must be known while compiling", needs.span)
    except AlgebraBudget as budget:
        fail("T0504", f"a formula grows too large: {budget}", program.span)


def _elaborate(
    program: tree.Module,
    given: dict[str, Argument],
    name: str,
    library: tuple[tree.Module, ...],
    operators: Mapping[str, OperatorDefinition],
    outputs: int | None,
    around: Mapping[str, Tensor | Value],
    title: str,
) -> Elaborated:
    context = Context(operators, call_operator, title=title)
    top = Env(context, Scope(), {})
    asked = [s for s in program.statements if isinstance(s, tree.Define) and s.output]
    top.names["outputs"] = const(outputs if outputs is not None else max(len(asked), 1))
    seen = _around(top, around)
    env, inputs = _enter(top, program, given, library)
    _force_in_order(env, program)
    values = _results(env, program, outputs)
    named = tuple(_outputs(env, values))
    lowered = Program(
        name,
        (*inputs, *seen),
        tuple(env.scope.bindings),
        named,
        tuple(context.notes.conditions.values()),
        _symbols(env, inputs),
        tuple(context.notes.unproved.values()),
    )
    done = finish(context, lowered)
    return Elaborated(
        done, values, tuple(context.warnings), context.notes.equal, tuple(context.open), dict(_named(env))
    )


def _named(env: Env) -> Iterable[tuple[str, Value]]:
    """What the definitions of a program, its inputs and the lengths that these declare came to."""
    declared = env.parent.names if env.parent is not None else {}
    for name, found in (*declared.items(), *env.names.items()):
        value = found.value if isinstance(found, Lazy) else found
        if value is not None and not isinstance(value, Results) and not is_function(value):
            yield name, value


def _symbols(env: Env, inputs: Iterable[InputNode]) -> tuple[Symbol, ...]:
    """The lengths and attributes left open, in the order the program mentions them."""
    told = [d for node in inputs for part in node.type for d in part.shape]
    names = env.parent.names if env.parent is not None else {}
    for value in names.values():
        items = value.items if isinstance(value, Vec) else (value,)
        told += [item for item in items if isinstance(item, Poly)]
    found: dict[Symbol, None] = {}
    for d in told:
        found.update(dict.fromkeys(sorted(d.free, key=attrgetter("key"))))
    return tuple(s for s in found if s.kind == "length" and s not in env.context.notes.equal)


def _around(top: Env, around: Mapping[str, Tensor | Value]) -> tuple[InputNode, ...]:
    """Make the values of a surrounding graph known to the graphs inside; the tensors are inputs."""
    nodes: list[InputNode] = []
    for name, value in around.items():
        if isinstance(value, Tensor):
            nodes.append(InputNode(f"around {name}", (Part(value.shape, value.space),)))
            top.context.around[name] = Data(nodes[-1])
        else:
            top.context.around[name] = value
    return tuple(nodes)


def _enter(
    top: Env, program: tree.Module, given: dict[str, Argument], library: Iterable[tree.Module]
) -> tuple[Env, tuple[InputNode, ...]]:
    """The environment of a program: library, lengths, inputs, definitions."""
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
    """``tol name = [...]``; a definition of the same name fills it, and sees the empty one."""
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
    """Compute long chains of definitions from their start, so that none is forced deep in another."""
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
    return tuple((s.name, _result(env, s)) for s in chosen)


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
            yield Output(name, materialise(env, value, _written(env, name)))


def _written(env: Env, name: str) -> Span:
    """Where the text says what an output is."""
    found = env.names.get(name)
    return found.expr.span if isinstance(found, Lazy) and found.expr is not None else NOWHERE


# ---- operators called from programs ------------------------------------------------------


def call_operator(
    env: Env, name: str, args: tuple[Value, ...], named: dict[str, Value], span: Span
) -> Value | Results:
    """An operator applied in the middle of another program, in its block."""
    operator = env.context.operators[name]
    given = _arguments(operator.program, args, named, name, span)
    values = apply_program(env, operator.program, given, operator.library, None)
    return values[0] if len(values) == 1 else Results(values)


def apply_program(
    env: Env,
    program: tree.Module,
    given: Mapping[str, Argument],
    library: Iterable[tree.Module],
    outputs: int | None,
) -> tuple[Value, ...]:
    """The outputs of a program applied in the block of ``env``, each computed once there."""
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
    """The names of a program's definitions, what is mentioned before what mentions it.

    Found without recursion, so that a chain of 10,000 definitions is no deeper than two.
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
