"""``where`` and ``choose``: a choice between two values by a condition that is known, undecided, or data.

A decided condition evaluates one side. An undecided condition on lengths or coordinates evaluates both sides,
each with its case as a fact, and merges them. A condition on data is an elementary function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice
from typing import NoReturn

from msgspec.structs import replace

from tolcost.algebra import (
    FALSE,
    TRUE,
    Cond,
    Eq,
    Ge,
    Poly,
    Symbol,
    atom,
    bounds,
    by_case,
    const,
    data_symbol,
    either,
    exact_div,
    negate,
    substitute,
)
from tolcost.algebra.conditions import asks_coordinates
from tolcost.atoms.nodes import Node, Number, Part, Select, Where
from tolcost.diagnostics import Span
from tolcost.elaborate.apply import check_condition, check_numbers
from tolcost.elaborate.environment import Env, bind_data, evaluate, form, results
from tolcost.elaborate.faults import Fault, Misfit, RankMismatch, fail
from tolcost.elaborate.layout import (
    element,
    emit,
    emit_map,
    grid,
    in_spaces,
    index_node,
    joined_spaces,
    leaves,
    made_of,
    not_there,
    rebuild_sequence,
)
from tolcost.elaborate.shapes import (
    at_all_places,
    capacity,
    component_shapes,
    components,
    decide,
    facts_here,
    is_reached,
    is_told_by_data,
    joint_space,
    known,
    label_operands,
    shape_of,
    shape_text,
    solve,
    space_of,
    split_if_uneven,
    unify,
)
from tolcost.elaborate.static_numbers import as_number, truth
from tolcost.elaborate.tol_primitives import reshape_value
from tolcost.elaborate.values import (
    Items,
    Missing,
    NodeValue,
    Quotient,
    Seq,
    Spaces,
    Value,
    ValueList,
    Vec,
    View,
    cast_of,
    entry,
    is_data,
    is_function,
    is_static,
    is_tol,
    plain,
    recast,
)
from tolcost.spaces import join_spaces
from tolcost.syntax import tree

# === Merging two cases into one value, under an undecided condition on lengths or coordinates.
#
# Equal parts are kept, formulas merge, and everything else becomes a Select.


Side = tuple[Env, Value]


def merge(env: Env, condition: Cond, then: Side, other: Side, span: Span) -> Value:
    """Merge two values: ``then`` where the condition holds, and ``other`` elsewhere."""
    then_env, other_env = then[0], other[0]
    sides = (then[1], other[1])
    if any(map(cast_of, sides)) and all(map(is_static, sides)):
        found = merge(env, condition, (then_env, plain(then[1])), (other_env, plain(other[1])), span)
        return recast(found, joint_space(sides))
    a, b = alike(then[1], other[1])
    then, other = (then_env, a), (other_env, b)
    if a is b:
        return a
    if _ranks(env, a, span) != _ranks(env, b, span):
        general = _assume_general_case(env, condition, then, other, span)
        if general is not None:
            return general
    if isinstance(a, Seq) and isinstance(b, Seq):
        return choose_sequence(env, condition, then, other, span)
    if is_told_by_data(then_env.scope, a) or is_told_by_data(other_env.scope, b):
        return select(env, condition, then, other, span, static=False)  # only loops of the side taken run
    if isinstance(a, Vec) and isinstance(b, Vec) and a.shape == b.shape and is_static(a) and is_static(b):
        items = _merge_each(env, condition, then, other, zip(a.items, b.items, strict=True), span)
        return Vec(a.shape, items, a.loose and b.loose)
    if (
        isinstance(a, ValueList)
        and isinstance(b, ValueList)
        and len(a.items) == len(b.items)
        and is_static(a)
        and is_static(b)
    ):
        return ValueList(_merge_each(env, condition, then, other, zip(a.items, b.items, strict=True), span))
    if any(is_function(side) or isinstance(side, str) for side in (a, b)):
        _require_equal(a, b, span)
        return a
    if is_static(a) and is_static(b):
        merged = _merge_static(env, condition, then, other, span)
        if merged is not None:
            # The parts of a static side are free, and may be read outside their case.
            env.scope.absorb(then_env.scope)
            env.scope.absorb(other_env.scope)
            return merged
    return select(env, condition, then, other, span)


def _require_equal(a: Value, b: Value, span: Span) -> None:
    """Reject cases that differ in a function or in a text."""
    if a != b:
        hint = (
            "choose what they give: `(v) => where(c, f(v), g(v))`"
            if is_function(a) and is_function(b)
            else "a condition that is known decides: give the attributes in it by --attr"
        )
        fail("T0407", "these cases differ in something that must be known while compiling", span, hint=hint)


def choose_sequence(
    env: Env, condition: Cond | Node, then: Side, other: Side, span: Span, static: bool = True
) -> Value:
    """Choose between sequences of equal length, as one list, so that each side is computed once."""
    (then_env, a), (other_env, b) = then, other
    left, right = leaves(a), leaves(b)
    if len(left) != len(right):
        fail("T0407", "the two cases give sequences of different lengths", span)
    if not left:
        return a
    for x, y in zip(left, right, strict=True):
        _check_capacities(capacity(x), capacity(y), span)
    chosen = select(env, condition, (then_env, ValueList(left)), (other_env, ValueList(right)), span, static)
    node = env.scope.bind(emit(env, chosen, span))
    parts = components(env, NodeValue(node), span)
    return rebuild_sequence(a, _group_components(iter(parts), map(capacity, left)))


def _group_components(parts: Iterator[Value], sizes: Iterable[int]) -> Iterator[Value]:
    """Group consecutive components into values of the given capacities."""
    for size in sizes:
        yield next(parts) if size == 1 else ValueList(tuple(islice(parts, size)))


def _merge_each(
    env: Env, condition: Cond, then: Side, other: Side, pairs: Iterable[tuple[Value, Value]], span: Span
) -> tuple[Value, ...]:
    """Merge static entries one by one; their parts are free, and computed in both cases."""
    for side, _ in (then, other):
        env.scope.absorb(side.scope)
    found = []
    for pair in pairs:
        sides = [
            (side.building(replace(side.scope, parent=env.scope, bindings=[])), value)
            for (side, _), value in zip((then, other), pair, strict=True)
        ]
        found.append(merge(env, condition, sides[0], sides[1], span))
    return tuple(found)


def _ranks(env: Env, value: Value, span: Span) -> tuple[int, ...]:
    """Return the ranks of all ToLs in a value, including those in lists and sequences."""
    found: list[int] = []
    for leaf in leaves(value):
        value = plain(leaf)
        no_tol = is_function(value) or isinstance(value, (Missing, str, Spaces))
        found += [-1] if no_tol else map(len, component_shapes(env, value, span))
    return tuple(found)


def _assume_general_case(env: Env, condition: Cond, then: Side, other: Side, span: Span) -> Value | None:
    """If two cases differ in rank and one holds for a single length only, assume the other and record it."""
    for holds, (side_env, value) in ((negate(condition), other), (condition, then)):
        equation = _equation(negate(holds))
        if equation is not None and not any(s.kind == "coord" for s in equation.free):
            env.context.notes.record(
                holds, "case", "the other case, for one length alone, has another rank", span
            )
            env.scope.absorb(side_env.scope)
            return value
    return None


def alike(a: Value, b: Value) -> tuple[Value, Value]:
    """Replace a loose vector of one entry by its entry, where the other value is not a ToL."""
    return _entry_beside(a, b), _entry_beside(b, a)


def _entry_beside(value: Value, other: Value) -> Value:
    if isinstance(value, Vec) and value.loose and value.shape == (1,) and not is_tol(other):
        return value.items[0]
    return value


def _merge_static(env: Env, condition: Cond, then: Side, other: Side, span: Span) -> Value | None:
    a, b = then[1], other[1]
    if isinstance(a, Cond) and isinstance(b, Cond):
        return by_case(condition, a, b)
    a, b = as_number(a), as_number(b)
    if isinstance(a, Poly) and isinstance(b, Poly):
        return merge_integers(condition, a, b)
    if isinstance(a, (Fraction, float, Quotient)) and a == b:
        return a
    if is_tol(a) and is_tol(b):
        shape = _merged_shape(env, condition, shape_of(env, a, span), shape_of(env, b, span), span)
        _check_capacities(capacity(a), capacity(b), span)
        return View(
            shape,
            lambda here, at: _merge_elements(here, condition, a, b, at, span),
            True,
            join_spaces(space_of(a), space_of(b)),
            capacity=capacity(a),
        )
    return None


def _merge_elements(
    env: Env, condition: Cond, a: Value, b: Value, at: tuple[Value, ...], span: Span
) -> Value:
    sides = []
    for value, fact in ((a, condition), (b, negate(condition))):
        inner = env.building(env.scope.inner(fact))
        sides.append((inner, element(inner, value, at, span, checked=True)))
    return merge(env, condition, sides[0], sides[1], span)


def merge_integers(condition: Cond, then: Poly, other: Poly) -> Poly:
    """Return one formula for both cases; if one is right in the other's case too, this one.

    >>> from tolcost.algebra import const, ge, length
    >>> n = length("n")
    >>> merge_integers(ge(1 - n), const(1), n * n), merge_integers(ge(n - 2), n * n, const(1))
    (n**2, n**2)
    """
    if then == other:
        return then
    if _agree_where(condition, then, other):
        return other
    if _agree_where(negate(condition), then, other):
        return then
    return either(condition, then, other)


def _agree_where(condition: Cond, a: Poly, b: Poly) -> bool:
    """Whether two formulas are equal where a condition holds, either an equation or a bound on a length."""
    equation = _equation(condition)
    try:
        if equation is None:
            return _agree_within(condition, a, b)
        solved = solve(equation)
        if solved is None:
            return exact_div(a - b, equation) is not None
        symbol, value = solved
        return _at_equality(a, symbol, value) == _at_equality(b, symbol, value)
    except ZeroDivisionError:
        return False


def _agree_within(condition: Cond, a: Poly, b: Poly) -> bool:
    """Whether two formulas are equal under ``s <= c``: in that range, floors of s may become numbers."""
    if not isinstance(condition, Ge):
        return False
    symbol = next(iter(condition.p.free))
    if symbol.kind == "coord":
        return False
    most = (condition.p + atom(symbol)).constant
    return most is not None and substitute(a - b, {symbol: data_symbol("few", symbol.lo, most)}) == 0


def _equation(condition: Cond) -> Poly | None:
    """Return the polynomial that is 0 if and only if a condition holds, as for ``n <= 1`` on a length."""
    match condition:
        case Eq(p=p):
            return p
        case Ge(p=p) if bounds(p)[1] == 0:
            return p
        case _:
            return None


def _at_equality(p: Poly, symbol: Symbol, value: Poly) -> Poly:
    """Substitute a value for a length; a coordinate whose range shrinks to one place becomes that place."""
    swap = {symbol: value}
    for s in p.free:
        if s.kind == "coord" and s.lo is not None and s.hi is not None:
            lo, hi = substitute(s.lo, swap), substitute(s.hi, swap)
            if lo == hi:
                swap = {**swap, s: lo}
    return substitute(p, swap)


def _merged_shape(
    env: Env, condition: Cond | Node, a: tuple[Poly, ...], b: tuple[Poly, ...], span: Span
) -> tuple[Poly, ...]:
    if len(a) != len(b):
        fail(
            "T0308",
            f"the two cases have different ranks: {shape_text(a)} and {shape_text(b)}",
            span,
            hint="which case holds must be known while compiling where the rank depends on it",
            kind=RankMismatch,
        )
    if not isinstance(condition, Cond):
        return tuple(
            unify(env, x, y, "both cases of a choice must have one shape", span)
            for x, y in zip(a, b, strict=True)
        )
    return tuple(merge_integers(condition, x, y) for x, y in zip(a, b, strict=True))


def select(
    env: Env, condition: Cond | Node, then: Side, other: Side, span: Span, static: bool = True
) -> Value:
    """Build a Select; if the condition is ``static`` and both values are, the result stays static.

    A condition is one on lengths and coordinates (``Cond``), or is computed by a node, which is ``static`` if
    data has no part in it. A condition on data is computed, and counts, even if both sides are equal.
    """
    (then_env, a), (other_env, b) = then, other
    if isinstance(a, Seq) or isinstance(b, Seq):
        fail("T0407", "a sequence cannot depend on a condition that is not known while compiling", span)
    left, right = align(then_env, a, other_env, b, span)
    if left is right and static:
        return NodeValue(left)
    parts = tuple(
        Part(_merged_shape(env, condition, p.shape, q.shape, span), p.space)
        for p, q in zip(left.type, right.type, strict=True)
    )
    node = Select(condition, then_env.scope.block(left), other_env.scope.block(right), parts, span)
    return made_of(env, node, a, b) if static else NodeValue(node)


def align(then_env: Env, a: Value, other_env: Env, b: Value, span: Span) -> tuple[Node, Node]:
    """Materialise two values with equal spaces for each component."""
    left, right = emit(then_env, a, span), emit(other_env, b, span)
    _check_capacities(len(left.type), len(right.type), span)
    spaces = joined_spaces(left.type, right.type)
    return in_spaces(left, spaces), in_spaces(right, spaces)


def _check_capacities(left: int, right: int, span: Span) -> None:
    """Reject two cases with different numbers of components."""
    if left != right:
        fail("T0315", f"lists of capacity {left} and {right} in the two cases", span, kind=Misfit)


# === The forms ``where`` and ``choose``.


MOST_CASES = 40
"""The deepest nesting of choices with conditions that stay undecided at compile time.

Both sides are elaborated at every level, so the work may double with each.
"""


@form("where")
def where_form(env: Env, expr: tree.Call) -> Value | Items:
    """Evaluate ``where(c, a, b)``; the branches are not evaluated yet."""
    condition = _condition(env, "where", expr)
    if isinstance(condition, Cond):
        return _static_choice(env, condition, expr)
    if isinstance(condition, NodeValue) and condition.static and not is_tol(condition):
        return _choice_at_run(env, condition, expr)
    then, other = (entry(evaluate(env, a)) for a in expr.args[1:])
    try:
        return choose_by_data(env, condition, then, other, expr.span)
    except Misfit as misfit:
        label_operands(misfit, env, expr.span, zip(expr.args, (condition, then, other), strict=True))
        raise


@form("choose")
def choose_form(env: Env, expr: tree.Call) -> Value | Items:
    """Evaluate ``choose(c, a, b)``: like ``where``, but a condition on data computes only the side taken."""
    condition = _condition(env, "choose", expr)
    if isinstance(condition, Cond):
        return _static_choice(env, condition, expr)
    return _choice_at_run(env, condition, expr)


def _condition(env: Env, name: str, expr: tree.Call) -> Value:
    """Return the condition of a choice: one on lengths, as far as it is decided, or a value."""
    condition = plain(entry(evaluate(env, expr.args[0])))
    holds = truth(condition)
    if holds is not None:
        return decide(env, holds)
    check_condition(name, condition, expr.span)
    return condition


def _static_choice(env: Env, condition: Cond, expr: tree.Call) -> Value | Items:
    _, then, other = expr.args
    if condition is TRUE:
        return results(env, then)
    if condition is FALSE:
        return results(env, other)
    if len(env.scope.facts) >= MOST_CASES:
        fail("T0508", f"choices nest more than {MOST_CASES} deep on conditions that stay open", expr.span)
    env.context.cases += 1
    try:
        return _open_choice(env, condition, expr)
    finally:
        env.context.cases -= 1


def _open_choice(env: Env, condition: Cond, expr: tree.Call) -> Value | Items:
    """Evaluate both sides, each where its case holds, and merge them."""
    _, then, other = expr.args
    sides = []
    for side in (then, other):
        if isinstance(side, tree.Numeral):  # a literal does not depend on the condition
            sides.append((env.building(env.scope.inner()), evaluate(env, side)))
            continue
        fact = condition if side is then else negate(condition)
        inner = env.building(env.scope.inner(fact))
        try:
            with env.context.notes.attempt(inner.scope) as trial:
                sides.append((inner, evaluate(inner, side)))
                trial.keep()
        except Fault as fault:
            if not fault.definite:
                raise
            return _only_case(env, negate(fact), other if side is then else then, fault, side.span)
    return merge(env, condition, sides[0], sides[1], expr.span)


def _only_case(env: Env, condition: Cond, case: tree.Expr, fault: Fault, span: Span) -> Value | Items:
    """Return the value of one case if the other, at ``span``, is a fault for all lengths.

    Its condition must hold everywhere: this becomes a condition on lengths, or, if lengths do not decide it,
    a run stops where it fails.
    """

    def refuse() -> NoReturn:
        raise fault

    scope = env.scope
    if scope.never or not scope.checked:
        return results(env.building(scope.same(condition)), case)
    everywhere = at_all_places(env, condition, refuse)
    local = asks_coordinates(everywhere)
    if local and not scope.naming and is_reached(negate(condition), facts_here(env)):
        refuse()
    if everywhere is not TRUE:
        env.context.notes.record(everywhere, "case", "the other case cannot be", span)
    if not local:
        return results(env.building(scope.same(condition)), case)
    inner, elsewhere = env.building(scope.inner(condition)), env.building(scope.inner(negate(condition)))
    value = entry(evaluate(inner, case))
    if isinstance(value, _NO_TOL) or is_function(value):
        refuse()
    node = emit(inner, value, span)
    stop = not_there(elsewhere, node, fault.diagnostics[0].span)
    return select(env, condition, (inner, value), (elsewhere, made_of(elsewhere, stop, value)), span)


_NO_TOL = (Seq, Missing, Spaces, str)


def _choice_at_run(env: Env, condition: Value, expr: tree.Call) -> Value:
    node, static = index_node(env, condition, expr.span, "a condition"), is_static(condition)
    sides = []
    for side in expr.args[1:]:
        inner = env.building(env.scope.inner())
        sides.append((inner, entry(evaluate(inner, side))))
    (ea, a), (eb, b) = sides
    if static and is_static(a) and is_static(b) and a == b:
        env.context.asked += 1  # no node remains to show that the condition would count if it were data
        return a
    if isinstance(a, Seq) and isinstance(b, Seq):
        if any(isinstance(item, Missing) for item in (*a.items, *b.items)):
            return _fill_missing(*(entry(evaluate(env, side)) for side in expr.args[1:]))
        a, b = _match_ranks(ea, a, eb, b, expr.span)
    holds = _truth_of_data(env, condition)
    if holds is not None and _ranks(ea, a, expr.span) != _ranks(eb, b, expr.span):
        return _take_side(env, holds, sides[0], sides[1], expr.span)
    if isinstance(a, Seq) and isinstance(b, Seq):
        return choose_sequence(env, node, (ea, a), (eb, b), expr.span, static)
    return select(env, node, (ea, a), (eb, b), expr.span, static)


def _truth_of_data(env: Env, condition: Value) -> bool | None:
    """Return whether a condition on data holds, if its value is known all the same; else None.

    What a fold starts with counts as data if a later step makes it data, but the first step knows its value.
    """
    if not is_data(condition) or not isinstance(condition.node, Number):
        return None
    holds = truth(condition.node.value)
    decided = None if holds is None else decide(env, holds)
    return decided is TRUE if decided is TRUE or decided is FALSE else None


def _take_side(env: Env, holds: bool, then: Side, other: Side, span: Span) -> Value:
    """Return the side that every run takes, as data in the spaces that hold both sides."""
    (then_env, a), (other_env, b) = then, other
    left, right = leaves(a), leaves(b)
    if len(left) != len(right):
        fail("T0407", "the two cases give sequences of different lengths", span)
    pairs = [align(then_env, x, other_env, y, span) for x, y in zip(left, right, strict=True)]
    side_env, side = then if holds else other
    env.scope.absorb(side_env.scope)
    return rebuild_sequence(side, (NodeValue(env.scope.bind(pair[0 if holds else 1])) for pair in pairs))


def _fill_missing(a: Value, b: Value) -> Value:
    """Fill the missing entries of one sequence from the other."""
    assert isinstance(a, Seq)
    assert isinstance(b, Seq)
    return Seq(tuple(y if isinstance(x, Missing) else x for x, y in zip(a.items, b.items, strict=True)))


def _match_ranks(then_env: Env, a: Value, other_env: Env, b: Value, span: Span) -> tuple[Value, Value]:
    """Reshape scalars to length-1 vectors where the other branch has one, so that the ranks match."""
    left, right = leaves(a), leaves(b)
    if len(left) != len(right):
        return a, b
    first = [_match_rank(then_env, x, other_env, y, span) for x, y in zip(left, right, strict=True)]
    second = [_match_rank(other_env, y, then_env, x, span) for x, y in zip(left, right, strict=True)]
    return rebuild_sequence(a, iter(first)), rebuild_sequence(b, iter(second))


def _match_rank(env: Env, value: Value, other_env: Env, other: Value, span: Span) -> Value:
    alone = not shape_of(env, value, span) and [d.constant for d in shape_of(other_env, other, span)] == [1]
    return reshape_value(env, value, (const(1),), span) if alone else value


# ---- conditions on data ------------------------------------------------------------------


def choose_by_data(env: Env, condition: Value, then: Value, other: Value, span: Span) -> Value:
    """Choose by a condition on data: one elementary function per condition."""
    check_numbers(env, "where", (condition,), span)
    then, other = alike(then, other)
    shape = shape_of(env, condition, span)
    if not shape:
        return _make_where(env, condition, then, other, span)
    for side in (then, other):
        if isinstance(side, Seq):  # members of a sequence need not be numbers
            emit(env, side, span)
    numbers = known(shape)
    bound = tuple(bind_data(env, v) for v in (condition, then, other))
    if numbers is not None and isinstance(condition, Vec):
        places = grid(numbers, span)
        entries = tuple(_choose_entry(env, bound, tuple(const(n) for n in at), span) for at in places)
        if all(capacity(one) == 1 and not shape_of(env, one, span) for one in entries):  # a vector of numbers
            return Vec(numbers, entries)
    return emit_map(env, shape, lambda here, at: _choose_entry(here, bound, at, span), span)


def _choose_entry(env: Env, values: tuple[Value, ...], at: tuple[Value, ...], span: Span) -> Value:
    condition, then, other = (_entry_at(env, v, at, span) for v in values)
    holds = truth(condition)
    if holds is None:
        return _make_where(env, condition, then, other, span)
    holds = decide(env, holds)
    if holds is TRUE or holds is FALSE:
        return then if holds is TRUE else other
    sides = [env.building(env.scope.inner()) for _ in range(2)]
    return merge(env, holds, (sides[0], then), (sides[1], other), span)


def _entry_at(env: Env, value: Value, at: tuple[Value, ...], span: Span) -> Value:
    """Return the element at a coordinate, of each component of a list; a scalar is broadcast."""
    value = split_if_uneven(env, value)
    if isinstance(value, ValueList):
        return ValueList(tuple(_entry_at(env, item, at, span) for item in value.items))
    return element(env, value, at, span) if shape_of(env, value, span) else value


def _make_where(env: Env, condition: Value, then: Value, other: Value, span: Span) -> Value:
    left, right = align(env, then, env, other, span)
    parts: list[Part] = []
    for p, q in zip(left.type, right.type, strict=True):
        if len(p.shape) != len(q.shape):
            fail(
                "T0308",
                f"the two cases have shapes {shape_text(p.shape)} and {shape_text(q.shape)}",
                span,
                kind=RankMismatch,
            )
        shape = tuple(
            unify(env, x, y, "both cases of a choice must have one shape", span)
            for x, y in zip(p.shape, q.shape, strict=True)
        )
        parts.append(Part(shape, p.space))
    node = Where(emit(env, condition, span), left, right, parts[0].space, tuple(parts), "data", span)
    return NodeValue(node)
