"""Folds: what ``reduce`` becomes, by what is known of its domain, its start and its step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from tolcost.algebra import (
    Cond,
    Poly,
    const,
    coordinate,
    data_symbol,
    eq,
    ge,
    prove,
    symbols_of,
    symbols_of_cond,
    the_symbol,
    to_text,
    total,
)
from tolcost.atoms.nodes import Block, Fold, Node, Part, Ref, Type, Var
from tolcost.diagnostics import Diagnostic, Rejected, Span
from tolcost.elaborate.binders import UNROLL_LIMIT, Pattern, fresh, pattern_of
from tolcost.elaborate.calls import arity, call_values, function_of, is_functional
from tolcost.elaborate.context import Element, Env, Lazy, NeedsUnrolling, bind_data, fail
from tolcost.elaborate.elements import as_static, element, pick_component
from tolcost.elaborate.evaluate import evaluate, form
from tolcost.elaborate.layout import build, component, grid, in_spaces, inside, materialise
from tolcost.elaborate.lengths import facts_here, settle, unify
from tolcost.elaborate.order import mentioned
from tolcost.elaborate.retype import leans_on, retyped
from tolcost.elaborate.shapes import cast_of, entry, first, known, recast, shape_of, shape_text, volume
from tolcost.elaborate.values import Data, Pieces, Seq, Spaces, Value, Vec, View, is_static
from tolcost.spaces import join_spaces
from tolcost.syntax import tree

_PASSES = 8


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of a reduce: from an accumulator and a coordinate to the next accumulator."""

    env: Env
    over: Value
    expr: tree.Expr
    pattern: Pattern
    span: Span
    cast: str | None = None

    def looks_at_elements(self) -> bool:
        """Whether the step may use the elements, and not only where they are."""
        return _mentions_element(self.env, self.expr)

    def at(self, env: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        """The next accumulator; bindings go to the block of ``env``."""
        item = Lazy("", env, lambda: recast(element(env, self.over, at, self.span, checked=True), self.cast))
        names = self.pattern.bind(at, self.span)
        inner = Env(env.context, env.scope, names, self.env, Element(item, at))
        if not is_functional(inner, self.expr):
            fail(
                "T0406",
                "`reduce` needs a function of the accumulator and the element",
                self.expr.span,
                hint="name one, such as add, or write (a, e) => a + e",
            )
        function = function_of(inner, self.expr)
        low, _ = arity(inner, function)
        args: tuple[Lazy | Value, ...] = (accumulator, item)
        if low == 3:
            args = (accumulator, item, Vec((len(at),), at, loose=True))
        return entry(call_values(inner, function, args, self.span))


def _mentions_element(env: Env, expr: tree.Expr) -> bool:
    """Whether a step, as written, uses the element; unless it is plain that it does not, it does."""
    if isinstance(expr, tree.Lambda) and len(expr.params) == 2:
        return expr.params[1] in mentioned(expr.body)
    return True


class _NotAList(Rejected):
    """A sequence of sequences, or one whose length changes: only taking the steps one by one will do."""

    def __init__(self, span: Span) -> None:
        message = "this accumulator is a sequence that cannot be a list, so the steps must be few and known"
        super().__init__(Diagnostic("T0331", message, span))


class _Listwise(Step):
    """A step whose accumulator is a sequence, seen as one on a list of the same values."""

    def __init__(self, step: Step) -> None:
        super().__init__(step.env, step.over, step.expr, step.pattern, step.span, step.cast)

    def at(self, env: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        """The next list."""
        parts = accumulator.items if isinstance(accumulator, Pieces) else (accumulator,)
        result = Step.at(self, env, Seq(parts), at)
        if not isinstance(result, Seq):
            raise _NotAList(self.span)
        return Pieces(result.items) if len(result.items) > 1 else result.items[0]


@form("reduce")
def reduce_form(env: Env, expr: tree.Call) -> Value:
    """``reduce(t, f, init, iter)``."""
    if not 2 <= len(expr.args) <= 4:
        fail("T0203", f"`reduce` takes 3 to 4 arguments, not {len(expr.args)}", expr.span)
    outer = env.indexing(False)
    given = evaluate(outer, expr.args[0])
    over = bind_data(outer, first(given))
    if len(expr.args) == 2:
        fail("T0325", "`reduce` needs a value to start from", expr.span, hint="for a sum: reduce(t, add, 0)")
    start = entry(evaluate(outer, expr.args[2]))
    pattern = pattern_of(expr.args[3] if len(expr.args) == 4 else None)
    step = Step(outer, over, expr.args[1], pattern, expr.span, cast_of(given))
    return fold_value(outer, step, bind_data(outer, start), shape_of(outer, over, expr.span))


def fold_value(env: Env, step: Step, start: Value, shape: tuple[Poly, ...]) -> Value:
    """The fold of a step over a shape."""
    if isinstance(step.over, Seq):
        return _entry_by_entry(env, step, start, [(n + 1,) for n in range(len(step.over.items))])
    numbers = known(shape)
    few = numbers is not None and math.prod(numbers) <= UNROLL_LIMIT
    if numbers is not None and math.prod(numbers) == 0:
        return start
    if few and isinstance(step.over, Vec) and _is_table(step.over):
        return _entry_by_entry(env, step, start, grid(numbers or ()))
    try:
        if is_static(start) and (is_static(step.over) or not step.looks_at_elements()):
            found = _static_fold(env, step, start, shape)
            if found is not None:
                return found
        if isinstance(start, Seq):
            return _sequence_fold(env, step, start, shape)
        folded = _fold_under_coordinates(env, step, start, shape, static=False)
        assert folded is not None
        return folded
    except _NotAList:
        if not few:
            raise
        return _entry_by_entry(env, step, start, grid(numbers or ()))
    except NeedsUnrolling:
        if few:
            return _entry_by_entry(env, step, start, grid(numbers or ()))
        if env.context.looking_up:
            raise
        return _looking_up(env, step, start, shape)


def _looking_up(env: Env, step: Step, start: Value, shape: tuple[Poly, ...]) -> Value:
    """A fold too long to be taken entry by entry: tables are looked up instead."""
    env.context.looking_up = True
    try:
        return fold_value(env, step, start, shape)
    finally:
        env.context.looking_up = False


def _is_table(over: Vec) -> bool:
    """Whether the entries are of different making, so that only one by one will do."""
    return bool(over.items)


def _sequence_fold(env: Env, step: Step, start: Seq, shape: tuple[Poly, ...]) -> Value:
    """A fold whose accumulator is a sequence of tensors, as one on a list of the same tensors."""
    if not start.items or any(isinstance(item, Seq) for item in start.items):
        raise _NotAList(step.span)
    listed = Pieces(start.items) if len(start.items) > 1 else start.items[0]
    folded = _fold_under_coordinates(env, _Listwise(step), listed, shape, static=False)
    assert folded is not None
    bound = bind_data(env, folded)
    return Seq(tuple(pick_component(env, bound, j + 1, step.span) for j in range(len(start.items))))


def _entry_by_entry(env: Env, step: Step, start: Value, points: list[tuple[int, ...]]) -> Value:
    """Run the steps one by one."""
    value = start
    for at in points:
        value = bind_data(env, step.at(env, value, tuple(const(a) for a in at)))
    return value


# ---- static folds ------------------------------------------------------------------------


def _static_fold(env: Env, step: Step, start: Value, shape: tuple[Poly, ...]) -> Value | None:
    """A fold of statics: by numbers, a sum in closed form, or a free Fold.

    The data fold if a step turns out to be data; None if that must be elaborated anew.
    """
    free = _probe(env, step, start, shape)
    if free is None or not is_static(free):
        return free
    numbers = known(shape)
    if numbers is not None and math.prod(numbers) <= UNROLL_LIMIT:
        return _entry_by_entry(env, step, start, grid(numbers))
    if isinstance(start, Seq | str | Spaces):
        return None  # too long to take one by one, and nothing in the IR stands for them
    if isinstance(first(start), Poly):
        summed = _sum(env, step, first(start), shape)
        if summed is not None:
            return summed
    steady = None if isinstance(start, Pieces | Vec | View | Seq) else _steady(env, step, start, shape)
    return free if steady is None else steady


def _probe(env: Env, step: Step, start: Value, shape: tuple[Poly, ...]) -> Value | None:
    """The fold as a free one, if its steps stay static."""
    if isinstance(start, Seq | str | Spaces):
        return _probe_words(env, step, start, shape)
    return _fold_under_coordinates(env, step, start, shape, static=True)


def _probe_words(env: Env, step: Step, start: Value, shape: tuple[Poly, ...]) -> Value | None:
    """Sequences and text have no IR, so only the first step can tell whether a fold of them is static."""
    inner = env.child(scope=env.scope.inner())
    with env.context.attempt(inner.scope):
        value = step.at(inner, start, tuple(const(1) for _ in shape))
    return start if known(shape) is not None and is_static(value) else None


def _steady(env: Env, step: Step, start: Value, shape: tuple[Poly, ...]) -> Value | None:
    """A fold that reaches its final value at the first step, such as a maximum of equal numbers."""
    if prove(ge(volume(shape) - 1), facts_here(env)) is not True:
        return None
    coords = fresh(step.pattern, shape)
    inner = inside(env, shape)
    with env.context.attempt(inner.scope) as trial:
        value = first(step.at(inner, start, coords))
        if not isinstance(value, Poly | Cond | Fraction | float) or _mentions(value, coords):
            return None
        if first(step.at(inner, value, coords)) != value:
            return None
        trial.keep()
    return value


def _mentions(value: Value, coords: tuple[Poly, ...]) -> bool:
    own = {the_symbol(c) for c in coords}
    if isinstance(value, Poly):
        return not own.isdisjoint(symbols_of(value))
    return isinstance(value, Cond) and not own.isdisjoint(symbols_of_cond(value))


def _sum(env: Env, step: Step, start: Value, shape: tuple[Poly, ...]) -> Value | None:
    accumulator = data_symbol("accumulator", None, None)
    symbol = the_symbol(accumulator)
    coords = fresh(step.pattern, shape)
    inner = inside(env, shape)
    with env.context.attempt(inner.scope) as trial:
        value = first(step.at(inner, accumulator, coords))
        if not isinstance(value, Poly):
            return None
        added = value - accumulator
        if symbol in symbols_of(added):
            return None
        trial.keep()
    over = [(the_symbol(c), const(1), d) for c, d in zip(coords, shape, strict=True)]
    assert isinstance(start, Poly)
    return start + total(added, over, facts=facts_here(env))


# ---- folds in the IR ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Growth:
    """An accumulator's type: its parts at the start, and by how much each length grows per step."""

    parts: Type
    by: tuple[tuple[Poly, ...], ...]

    def after(self, steps: Poly) -> Type:
        """The type after some steps."""
        return tuple(
            Part(tuple(d + g * steps for d, g in zip(p.shape, grows, strict=True)), p.space)
            for p, grows in zip(self.parts, self.by, strict=True)
        )


def _fold_under_coordinates(
    env: Env, step: Step, start: Value, shape: tuple[Poly, ...], static: bool
) -> Value | None:
    """The Fold of a step; a ``static`` one sees its accumulator as static, and is None if a step is not."""
    begin = materialise(env, start, step.span)
    listed = isinstance(start, Pieces)
    growth = _Growth(begin.type, tuple(tuple(const(0) for _ in p.shape) for p in begin.type))
    for _ in range(_PASSES):
        body = _Pass(env, step, shape, growth, listed, static)
        with env.context.attempt(body.inner.scope) as trial:
            result = body.run()
            if static and not is_static(result) and leans_on(body.block, body.var):
                return None
            settled = body.settle()
            if settled.by == growth.by and _same_shapes(settled.parts, growth.parts):
                trial.keep()
                fold = body.finish(begin, settled)
                if static and is_static(result):
                    return _as_value(env, env.scope.bind(fold), listed, True)
                return Data(fold)
        growth = settled
    fail(
        "T0326",
        "the accumulator's shape does not settle",
        step.span,
        hint="each step may add a fixed amount to a length, nothing else",
    )


def _same_shapes(left: Type, right: Type) -> bool:
    return all(a.shape == b.shape for a, b in zip(left, right, strict=True))


class _Pass:
    """One elaboration of a step under coordinates, with a guess of the accumulator's type."""

    def __init__(
        self, env: Env, step: Step, shape: tuple[Poly, ...], growth: _Growth, listed: bool, static: bool
    ) -> None:
        self.env, self.step, self.shape, self.growth = env, step, shape, growth
        self.coords = fresh(step.pattern, shape)
        self.inner = inside(env, shape)
        self.done = _position(self.coords, shape)
        self.var = Var("accumulator", growth.after(self.done))
        self.accumulator = _as_value(self.inner, Ref(self.var, self.var.type), listed, static)
        self.block: Block

    def run(self) -> Value:
        """The step's result; it becomes the body."""
        result = self.step.at(self.inner, self.accumulator, self.coords)
        self.block = self.inner.scope.block(materialise(self.inner, result, self.step.span))
        return result

    def settle(self) -> _Growth:
        """The accumulator's type as the result suggests it."""
        return _adjust(self.inner, self.growth, self.block.result, self.done, self.step)

    def finish(self, begin: Node, growth: _Growth) -> Node:
        """The Fold; spaces that turned out wider are put in without elaborating again."""
        spaces = tuple(p.space for p in growth.parts)
        var, body = self.var, self.block
        while tuple(p.space for p in var.type) != spaces:
            wider = Var(var.name, tuple(Part(p.shape, s) for p, s in zip(var.type, spaces, strict=True)))
            body = retyped(body, var, wider)
            spaces = tuple(join_spaces(s, p.space) for s, p in zip(spaces, body.result.type, strict=True))
            var = wider
        body = Block(body.bindings, in_spaces(body.result, spaces))
        kind = growth.after(volume(self.shape))
        kind = tuple(Part(p.shape, s) for p, s in zip(kind, spaces, strict=True))
        start = in_spaces(_spread(begin, growth.parts, self.env, self.step), spaces)
        symbols = tuple(the_symbol(c) for c in self.coords)
        return Fold(symbols, self.shape, var, start, body, kind, self.step.span)


def _as_value(env: Env, node: Node, listed: bool, static: bool) -> Value:
    """An accumulator as the step sees it: a list stays a list of components, what is static stays free."""
    if len(node.type) > 1 and listed:
        return Pieces(
            tuple(_as_value(env, component(node, j + 1), False, static) for j in range(len(node.type)))
        )
    return as_static(env, node) if static else Data(node)


def _position(coords: tuple[Poly, ...], shape: tuple[Poly, ...]) -> Poly:
    """How many steps came before a coordinate, in row-major order."""
    position = const(0)
    for c, d in zip(coords, shape, strict=True):
        position = position * d + c - 1
    return position


def _adjust(env: Env, growth: _Growth, node: Node, done: Poly, step: Step) -> _Growth:
    """The accumulator's type as the step's result suggests it."""
    if len(node.type) != len(growth.parts):
        fail(
            "T0327",
            f"the accumulator is a list of {len(growth.parts)}, but a step gives {len(node.type)}",
            step.span,
        )
    parts, by = [], []
    expected = growth.after(done + 1)
    for was, want, grows, now in zip(growth.parts, expected, growth.by, node.type, strict=True):
        space = join_spaces(was.space, now.space)
        if len(was.shape) != len(now.shape):
            if was.shape:
                fail(
                    "T0327",
                    f"the accumulator has shape {shape_text(was.shape)}, but a step gives "
                    f"{shape_text(now.shape)}",
                    step.span,
                )
            parts.append(Part(now.shape, space))
            by.append(tuple(const(0) for _ in now.shape))
            continue
        parts.append(Part(was.shape, space))
        by.append(
            tuple(_grow(env, w, n, g, step) for w, n, g in zip(want.shape, now.shape, grows, strict=True))
        )
    return _Growth(tuple(parts), tuple(by))


def _grow(env: Env, want: Poly, now: Poly, grows: Poly, step: Step) -> Poly:
    difference = settle(env.context, now) - settle(env.context, want)
    if difference == const(0):
        return grows
    verdict = prove(eq(difference), facts_here(env))
    steady = not any(s.kind != "length" for s in symbols_of(difference))
    if steady and (verdict is False or prove(ge(difference - 1)) is True) and grows == const(0):
        return difference
    if verdict is not True and not steady:
        fail(
            "T0326",
            f"the accumulator's length {to_text(want)} becomes {to_text(now)}, not by a fixed amount a step",
            step.span,
            hint="each step may add a fixed amount to a length, nothing else",
        )
    if verdict is not True:
        unify(env, now, want, "each step must keep the accumulator's shape", step.span)
    return grows


def _spread(begin: Node, parts: Type, env: Env, step: Step) -> Node:
    """A scalar start for an accumulator that is a ToL: the same number everywhere."""
    if len(parts) != 1 or begin.type[0].shape or not parts[0].shape:
        return begin
    value = env.scope.bind(begin)
    coords = tuple(coordinate(f"i{n + 1}", d) for n, d in enumerate(parts[0].shape))
    return build(coords, parts[0].shape, env.scope.inner().block(value), step.span)
