"""Recursion on parts of any length: what a function does besides, for a cost that is solved from it.

The sizes of its parts may differ, as those of halves of an odd length do. Such applications have no loops
that stand for all of them, so the result of the first is taken as given.
"""

from __future__ import annotations

from collections.abc import Sequence

from tolcost.algebra import Poly, Symbol, atom, const, ge
from tolcost.atoms.kit import program_nodes, regions
from tolcost.atoms.nodes import Fold, Input, Node, Output, Program, Ref, Type
from tolcost.atoms.recurrence import Recurrence
from tolcost.diagnostics import Rejected, Span
from tolcost.elaborate.environment import Env, Lazy, Scope, bind_data, force
from tolcost.elaborate.layout import emit
from tolcost.elaborate.levels import NotByLevels, Recursion, fit, holder, require_equal, sizes_of
from tolcost.elaborate.values import (
    Closure,
    NodeValue,
    Seq,
    Unknown,
    Value,
    ValueList,
    entry,
    is_function,
    is_static,
)

_SIZES_TRIED = 3
"""The sizes above 1 that are elaborated to find out the shape of the result at any size."""


def by_parts(env: Env, function: Closure, given: Sequence[Lazy | Value], span: Span) -> Value | None:
    """Take the result of a function as given, and note how it goes; None if its parts are not told."""
    context = env.context
    if context.recurrences is None or context.recurrences or not _is_outermost(env.scope):
        return None
    try:
        args = tuple([bind_data(env, entry(force(arg, span))) for arg in given])
        sizes = list(sizes_of(env, args, span))
    except Rejected:
        return None
    symbols = [symbol for size in sizes for symbol in size.free if size == atom(symbol)]
    for symbol in dict.fromkeys(one for one in symbols if one.kind == "length"):
        recursion = Recursion(function, args, span, symbol, end=1, calls=1, parts=[])
        try:
            found, result = _studied(env, recursion)
        except (NotByLevels, Rejected):
            continue
        context.recurrences.append(found)
        return NodeValue(Input(f"{function.name} of {symbol.name}", result))
    return None


def _is_outermost(scope: Scope) -> bool:
    """Whether a block is the program itself, of which every part is computed once."""
    *_, top = scope.around()
    return scope.bindings is top.bindings and not scope.facts


def _studied(env: Env, recursion: Recursion) -> tuple[Recurrence, Type]:
    """Find out what a function does at size 1 and above, and the type of its first result."""
    args, size = recursion.args, recursion.level
    assert isinstance(size, Symbol)
    recursion.data = [k for k, arg in enumerate(args) if not is_function(arg) and not is_static(arg)]
    if any(isinstance(args[k], (ValueList, Seq, Unknown)) for k in recursion.data):
        raise NotByLevels
    last, _ = _at_size(env, recursion, const(1), {})
    types = {1: _result_type(last)}
    for n in range(2, 2 + _SIZES_TRIED):
        types[n] = _result_type(_at_size(env, recursion, const(n), types)[0])
    fit(env, recursion, list(types.values()))
    own, parts = _at_size(env, recursion, atom(size), None)
    for part, like in zip(_result_type(own), recursion.result, strict=True):
        for d, e in zip(part.shape, like.shape, strict=True):
            require_equal(env, d, e)
    first = tuple([emit(env, args[k], recursion.span) for k in recursion.data])
    return Recurrence(recursion.function.name, size, parts, own, last, first), recursion.result


def _result_type(program: Program) -> Type:
    return program.outputs[0].node.type


def _at_size(
    env: Env, recursion: Recursion, size: Poly, below: dict[int, Type] | None
) -> tuple[Program, tuple[Poly, ...]]:
    """Return what the function does at a size, and the sizes of its parts.

    The results of its applications are inputs, of the types ``below``, or of the type at any size.
    """
    facts = () if size.constant is not None else (ge(size - 2),)
    here = env.building(Scope().inner(*facts))
    notes = env.context.notes
    noted = len(notes.conditions), len(notes.equal), len(notes.loops)
    inputs: list[Input] = []
    made: list[Node] = []
    assert recursion.parts is not None
    recursion.parts.clear()

    def added(type_: Type) -> NodeValue:
        inputs.append(Input(f"{recursion.function.name} {len(inputs)}", type_))
        return NodeValue(inputs[-1])

    def taken(there: Env, args: list[Value], span: Span) -> Value:
        made.extend(emit(there, arg, span) for arg in args)
        part = recursion.parts[-1]  # type: ignore[index]  # it was just noted
        known = None if below is None else below.get(part.constant or 0)
        if below is not None and known is None:
            raise NotByLevels
        return added(recursion.type_at(part) if known is None else known)

    with env.context.notes.attempt(here.scope):
        data = [added(holder(env, recursion, k, size).type) for k in recursion.data]
        result = emit(here, recursion.body(here, size, data, taken), recursion.span)
        now = env.context.notes
        if (len(now.conditions), len(now.equal), len(now.loops)) != noted:
            raise NotByLevels  # conditions would have to hold at every size
        outputs = tuple(Output(f"y{n}", node) for n, node in enumerate((result, *made)))
        program = Program(recursion.function.name, tuple(inputs), tuple(here.scope.bindings), outputs, (), ())
    if _needs_others(program):
        raise NotByLevels
    return program, tuple(recursion.parts)


def _needs_others(program: Program) -> bool:
    """Whether a program mentions a value that is computed outside of it."""
    nodes = program_nodes(program)
    bound = {var for var, _ in program.bindings}
    bound |= {var for node in nodes for region in regions(node) for var, _ in region.block.bindings}
    bound |= {node.accumulator for node in nodes if isinstance(node, Fold)}
    return any(isinstance(node, Ref) and node.var not in bound for node in nodes)
