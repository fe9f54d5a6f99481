"""Whole programs and operators: binding inputs, evaluating outputs, calling one from another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from tolcost.algebra import Cond, Poly, Symbol, const, length, symbols_of
from tolcost.atoms.nodes import Input as InputNode
from tolcost.atoms.nodes import Output, Part, Program
from tolcost.diagnostics import Diagnostic, Span
from tolcost.elaborate.context import Context, Env, Lazy, Scope, fail, force, space_name
from tolcost.elaborate.evaluate import evaluate
from tolcost.elaborate.expressions import as_length, define_all, delay, dimensions, is_callable_name, zeros
from tolcost.elaborate.finish import finish
from tolcost.elaborate.folding import truth
from tolcost.elaborate.layout import materialise
from tolcost.elaborate.lengths import unify
from tolcost.elaborate.order import mentioned, value_order
from tolcost.elaborate.shapes import first, shape_text
from tolcost.elaborate.values import (
    Data,
    Missing,
    Opaque,
    Results,
    Seq,
    Spaces,
    Value,
    Vec,
    View,
    is_function,
)
from tolcost.spaces import SPACES, kind_of
from tolcost.syntax import tree


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input of which only the shape and the space are known."""

    shape: tuple[Poly, ...]
    space: str


@dataclass(frozen=True, slots=True)
class Known:
    """A static input whose element type matters: what it is, and the space it comes in."""

    value: Value
    space: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """Several inputs under one name: a variadic input or a sequence."""

    items: tuple[Tensor | Value, ...]


Argument = Tensor | Known | Inputs | Value


@dataclass(frozen=True, slots=True)
class Elaborated:
    """A lowered program, the values of its outputs while compiling, and what to warn about."""

    program: Program
    values: tuple[tuple[str, Value], ...]
    warnings: tuple[Diagnostic, ...] = ()
    equal: Mapping[Symbol, Poly] = field(default_factory=dict)


def elaborate(
    program: tree.Program,
    given: Mapping[str, Argument] | None = None,
    *,
    name: str = "program",
    library: Iterable[tree.Program] = (),
    operators: Mapping[str, tree.Program] | None = None,
    outputs: int | None = None,
) -> Elaborated:
    """Lower a program.

    ``given`` says what is known of its inputs: a ``Tensor`` has a shape and a space, any other
    value is static.  Lengths that nothing gives are symbols named as the program names them.
    ``outputs`` is how many outputs are asked for, all of them if None.
    """
    context = Context(operators or {}, call_operator)
    top = Env(context, Scope(), {})
    asked = [s for s in program.statements if isinstance(s, tree.Define) and s.output]
    top.names["outputs"] = const(outputs if outputs is not None else max(len(asked), 1))
    env, inputs = _enter(top, program, dict(given or {}), library)
    _force_in_order(env, program)
    values = _results(env, program, outputs)
    named = tuple(_outputs(env, values))
    lowered = Program(
        name,
        tuple(inputs),
        tuple(env.scope.bindings),
        named,
        tuple(context.notes.conditions.values()),
        _symbols(env, inputs),
        tuple(context.notes.unproved.values()),
    )
    done = finish(context, lowered)
    return Elaborated(done, values, tuple(context.warnings), context.notes.equal)


def _symbols(env: Env, inputs: Iterable[InputNode]) -> tuple[Symbol, ...]:
    """The lengths and attributes left open, in the order the program mentions them."""
    found: dict[Symbol, None] = {}
    for node in inputs:
        for part in node.type:
            for d in part.shape:
                found.update(dict.fromkeys(sorted(symbols_of(d), key=lambda s: s.key)))
    names = env.parent.names if env.parent is not None else {}
    for value in names.values():
        for item in value.items if isinstance(value, Vec) else (value,):
            if isinstance(item, Poly):
                found.update(dict.fromkeys(sorted(symbols_of(item), key=lambda s: s.key)))
    return tuple(s for s in found if s.kind == "length" and s not in env.context.notes.equal)


def _enter(
    top: Env, program: tree.Program, given: dict[str, Argument], library: Iterable[tree.Program]
) -> tuple[Env, list[InputNode]]:
    """The environment of a program: library, lengths, inputs, definitions."""
    base = top
    for file in library:
        base = define_all(base, file.statements)
    declared = base.child(_declared_space_names(program))
    inputs: list[InputNode] = []
    env = define_all(declared, program.statements)
    _bind_inputs(env, declared.names, program, given, inputs)
    if given:
        fail("T0412", f"there is no input called `{next(iter(given))}`", program.span)
    for statement in program.statements:
        if isinstance(statement, tree.Zeros):
            _declare_zeros(env, statement, program)
    return env, inputs


def _declared_space_names(program: tree.Program) -> dict[str, Lazy | Value]:
    """Spaces and lists the program declares, each standing for the spaces it is made of."""
    spaces: dict[str, Lazy | Value] = {}
    for statement in program.statements:
        match statement:
            case tree.SpaceDecl(name=name, space=space):
                spaces[name] = Spaces(_base_spaces(spaces, space))
            case tree.ListDecl(name=name, spaces=names):
                spaces[name] = Spaces(tuple(base for n in names for base in _base_spaces(spaces, n)))
            case _:
                pass
    return spaces


def _base_spaces(known: Mapping[str, Lazy | Value], name: str) -> tuple[str, ...]:
    found = known.get(name)
    return found.names if isinstance(found, Spaces) else (name,)


def _declare_zeros(env: Env, statement: tree.Zeros, program: tree.Program) -> None:
    """``tol name = [...]``; a definition of the same name fills it, and sees the empty one."""
    empty = Lazy(statement.name, env, lambda: zeros(_declared_shape(env, statement.shape)))
    for other in program.statements:
        if isinstance(other, tree.Define) and other.name == statement.name and other.params is None:
            inner = env.child({statement.name: empty})
            env.names[statement.name] = delay(inner, statement.name, other.value)
            return
    env.names[statement.name] = empty


def _declared_shape(env: Env, expr: tree.Expr) -> tuple[Poly, ...]:
    items = expr.items if isinstance(expr, tree.Bracket) else (tree.Splice(expr, expr.span),)
    return dimensions(env, items, expr.span)


def _force_in_order(env: Env, program: tree.Program) -> None:
    """Compute long chains of definitions from their start, so that none is forced deep in another."""
    if len(program.statements) < 200:
        return
    for name in value_order(program):
        found = env.names.get(name)
        if isinstance(found, Lazy):
            force(found)


# ---- inputs ------------------------------------------------------------------------------


def _bind_inputs(
    env: Env,
    names: dict[str, Lazy | Value],
    program: tree.Program,
    given: dict[str, Argument],
    inputs: list[InputNode],
) -> None:
    """Give every declared input, and every length its shape mentions, its value in ``names``."""
    declared = [s for s in program.statements if isinstance(s, tree.Input)]
    # Plain names of lengths bind first, whichever input mentions them; expressions are equations.
    for statement in declared:
        _bind_lengths(env, names, statement, given.get(statement.name))
    for statement in declared:
        argument = given.pop(statement.name, None)
        if isinstance(argument, Known):
            names[space_name(statement.name)] = Spaces((argument.space,))
            argument = argument.value
        names[statement.name] = _bind_input(env, statement, argument, inputs)


def _shape_given(argument: Argument | None) -> tuple[Poly, ...] | None:
    match argument:
        case Known(value=value):
            return _shape_given(value)
        case Tensor(shape=shape):
            return shape
        case Vec(shape=numbers):
            return tuple(const(n) for n in numbers)
        case Data(node=node):
            return node.type[0].shape
        case View(shape=shape):
            return shape
        case None | Missing() | Inputs() | Seq():
            return None
        case _:
            return ()


def _bind_lengths(
    env: Env, names: dict[str, Lazy | Value], statement: tree.Input, argument: Argument | None
) -> None:
    shape = _shape_given(argument)
    if shape is not None:
        for entry, actual in _pairs(statement, shape):
            if isinstance(entry, tree.Name):
                names.setdefault(entry.name, actual)
    elif argument is not None or statement.variadic or statement.optional:
        return
    for entry in statement.shape:
        if not isinstance(entry, tree.Ellipsis):
            for name in mentioned(entry):
                if not _is_defined(env, name):
                    names[name] = length(name)


def _is_defined(env: Env, name: str) -> bool:
    return any(True for _ in env.lookups(name)) or is_callable_name(env, name)


def _pairs(statement: tree.Input, shape: tuple[Poly, ...]) -> list[tuple[tree.Expr, Poly]]:
    """Declared lengths beside the actual ones; an ellipsis takes what is left over."""
    declared = statement.shape
    gap = next((n for n, e in enumerate(declared) if isinstance(e, tree.Ellipsis)), None)
    head = declared if gap is None else declared[:gap]
    tail = () if gap is None else declared[gap + 1 :]
    if len(shape) < len(head) + len(tail) or (gap is None and len(shape) != len(head)):
        fail(
            "T0328",
            f"`{statement.name}` is declared with {len(head) + len(tail)} lengths, "
            f"but has shape {shape_text(shape)}",
            statement.span,
        )
    pairs = [*zip(head, shape, strict=False), *zip(tail, shape[len(shape) - len(tail) :], strict=True)]
    return [(e, d) for e, d in pairs if not isinstance(e, tree.Ellipsis)]


def _bind_input(env: Env, statement: tree.Input, argument: Argument | None, inputs: list[InputNode]) -> Value:
    if argument is None or isinstance(argument, Missing):
        return _absent(env, statement, inputs)
    if isinstance(argument, Inputs):
        items = tuple(
            _one(env, statement, item, f"{statement.name}.{n}", inputs)
            for n, item in enumerate(argument.items, start=1)
        )
        return Seq(items)
    assert not isinstance(argument, Known)
    if statement.variadic and not isinstance(argument, Seq):
        return Seq((_one(env, statement, argument, f"{statement.name}.1", inputs),))
    return _one(env, statement, argument, statement.name, inputs)


def _one(
    env: Env, statement: tree.Input, argument: Tensor | Value, name: str, inputs: list[InputNode]
) -> Value:
    shape = _shape_given(argument)
    if shape is not None and not isinstance(argument, Seq):
        for entry, actual in _pairs(statement, shape):
            _equate(env, statement, entry, actual)
    if isinstance(argument, Tensor):
        if statement.kind == "static":
            fail("T0413", f"the value of `{name}` must be known while compiling", statement.span)
        node = InputNode(name, (Part(argument.shape, argument.space),))
        inputs.append(node)
        return Data(node)
    return _static_argument(statement, argument)


def _equate(env: Env, statement: tree.Input, entry: tree.Expr, actual: Poly) -> None:
    names = env.parent.names if env.parent is not None else {}
    if isinstance(entry, tree.Name) and isinstance(known := names.get(entry.name), Poly):
        unify(env, actual, known, f"the declared shape of `{statement.name}`", entry.span)
        return
    wanted = as_length(env, evaluate(env, entry), entry.span)
    unify(env, actual, wanted, f"the declared shape of `{statement.name}`", entry.span)


def _static_argument(statement: tree.Input, value: Value) -> Value:
    """A static value in the space its input declares: truth values for B, exact reals for R."""
    if isinstance(value, Vec):
        return Vec(value.shape, tuple(_static_argument(statement, v) for v in value.items), value.loose)
    if statement.space == "B" and not isinstance(value, Cond | Data):
        return truth(value) or value
    if (
        isinstance(value, Poly)
        and value.constant is not None
        and kind_of_declared(statement.space) == "R"
        and statement.kind == "attr"
    ):
        return Fraction(value.constant)
    return value


def kind_of_declared(space: str) -> str:
    """The family of a declared space; a list or a program's own space counts as R."""
    return kind_of(space) if space in SPACES else "R"


def _absent(env: Env, statement: tree.Input, inputs: list[InputNode]) -> Value:
    if statement.default is not None:
        return _static_argument(statement, evaluate(env, statement.default))
    if statement.optional:
        return Missing(statement.name)
    if statement.variadic:
        fail(
            "T0414",
            f"how many `{statement.name}` there are must be said",
            statement.span,
            hint="give their shapes",
        )
    if statement.kind == "tol":
        return _symbolic(env, statement, inputs)
    if statement.shape or statement.kind == "static":
        return _symbolic_vector(env, statement)
    return _symbolic_attribute(env, statement, inputs)


def _symbolic(env: Env, statement: tree.Input, inputs: list[InputNode]) -> Value:
    if any(isinstance(entry, tree.Ellipsis) for entry in statement.shape):
        fail(
            "T0408",
            f"the rank of `{statement.name}` is not declared",
            statement.span,
            hint=f"say its shape: --shape {statement.name}=n,m",
        )
    shape = tuple(
        as_length(env, evaluate(env, e), e.span) for e in statement.shape if not isinstance(e, tree.Ellipsis)
    )
    node = InputNode(statement.name, tuple(Part(shape, s) for s in _declared_spaces(env, statement)))
    inputs.append(node)
    return Data(node)


def _declared_spaces(env: Env, statement: tree.Input) -> tuple[str, ...]:
    found = next(iter(env.lookups(statement.space)), None)
    return found.names if isinstance(found, Spaces) else (statement.space,)


def _symbolic_vector(env: Env, statement: tree.Input) -> Value:
    sizes = [
        as_length(env, evaluate(env, e), e.span).constant
        for e in statement.shape
        if not isinstance(e, tree.Ellipsis)
    ]
    if len(sizes) > 1 or None in sizes:
        fail(
            "T0413",
            f"the value of `{statement.name}` must be known while compiling",
            statement.span,
            hint=f"give it: --attr {statement.name}=...",
        )
    if not sizes:
        return _length_for(statement, statement.name)
    count = sizes[0] or 0
    return Vec((count,), tuple(_length_for(statement, f"{statement.name}{n + 1}") for n in range(count)))


def _length_for(statement: tree.Input, name: str) -> Poly:
    space = SPACES.get(statement.space)
    lo = space.lo if space is not None else None
    return length(name, int(lo)) if lo is not None else length(name, -(2**31))


def _symbolic_attribute(env: Env, statement: tree.Input, inputs: list[InputNode]) -> Value:
    kind = kind_of_declared(statement.space)
    if kind == "Z":
        return _length_for(statement, statement.name)
    if kind in ("B", "S"):
        fail(
            "T0413",
            f"the value of `{statement.name}` must be known while compiling",
            statement.span,
            hint=f"give it: --attr {statement.name}=...",
        )
    node = InputNode(statement.name, (Part((), statement.space),))
    inputs.append(node)
    return Opaque(node, statement.space)


# ---- outputs -----------------------------------------------------------------------------


def _results(env: Env, program: tree.Program, asked: int | None) -> tuple[tuple[str, Value], ...]:
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
    value = first(force(env.names[statement.name], statement.span))
    if is_function(value):
        fail("T0402", f"the output `{statement.name}` is a function", statement.span)
    return value


def _outputs(env: Env, values: tuple[tuple[str, Value], ...]) -> Iterable[Output]:
    for name, value in values:
        if isinstance(value, Seq):
            for n, item in enumerate(value.items, start=1):
                yield Output(f"{name}.{n}", materialise(env, item))
        elif isinstance(value, str | Missing):
            continue
        else:
            yield Output(name, materialise(env, value))


# ---- operators called from programs ------------------------------------------------------


def call_operator(env: Env, name: str, args: tuple[Value, ...], named: dict[str, Value], span: Span) -> Value:
    """An operator applied in the middle of another program, in its block."""
    program = env.context.operators[name]
    given = _arguments(program, args, named, name, span)
    top = Env(env.context, env.scope, {"outputs": const(1)})
    libraries = [
        env.context.operators[f"use {n}"]
        for s in program.statements
        if isinstance(s, tree.Use)
        for n in s.names
    ]
    inner, _ = _enter(top, program, dict(given), libraries)
    values = tuple(value for _, value in _results(inner, program, None))
    return values[0] if len(values) == 1 else Results(values)


def _arguments(
    program: tree.Program, args: tuple[Value, ...], named: dict[str, Value], name: str, span: Span
) -> dict[str, Argument]:
    inputs = [s for s in program.statements if isinstance(s, tree.Input) and s.kind != "attr"]
    given: dict[str, Argument] = dict(named)
    rest = list(args)
    for statement in inputs:
        if statement.variadic:
            given[statement.name] = Seq(tuple(rest))
            rest = []
        elif rest:
            given[statement.name] = rest.pop(0)
    if rest:
        fail("T0203", f"`{name}` takes {len(inputs)} inputs, not {len(args)}", span)
    return given
