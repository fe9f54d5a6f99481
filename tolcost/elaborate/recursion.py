"""Functions that apply themselves: each time, a length or a number known while compiling is smaller.

At known lengths the applications are written out, one inside of the other, as those of any function are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, repeat
from typing import NoReturn

from tolcost.algebra import Cond, Poly, bounds, ge, to_text
from tolcost.diagnostics import Rejected, Span, quoted
from tolcost.elaborate.environment import CALL_DEPTH, Activation, ArgumentSizes, Env, Lazy, force
from tolcost.elaborate.faults import OpenRecursion, fail
from tolcost.elaborate.shapes import component_shapes, facts_here, try_prove
from tolcost.elaborate.values import Closure, Missing, Seq, Value, Vec, entry, is_function, plain

_MOST_TOLD = 3
"""The most arguments that a message names."""
_FEW = 8
"""The longest static vector whose entries may be what gets smaller."""


def check_smaller(env: Env, inner: Activation, outer: Activation) -> None:
    """Reject an application inside of one of the same function unless something gets smaller.

    One with another function as an argument is no recursion of its own: a fold inside of the step of a fold
    may be written with one function. What gets smaller must have been 0 or more. Where lengths leave open
    whether there is this application at all, a number has to bound it, or all of them could never be
    written out.
    """
    if any(map(_is_other_function, inner.args, outer.args, repeat(inner.span))):
        return
    before, now, facts = _sizes(outer), _sizes(inner), facts_here(env)
    smaller = [
        size
        for name, size in now.items()
        if name in before and _holds(before[name] - size - 1, facts) and _holds(before[name], facts)
    ]
    name = quoted(inner.function.name)
    if not smaller:
        _refuse(name, inner.span, before, now)
    if env.context.cases > outer.cases and all(map(_is_open, smaller)):
        lengths = sorted({symbol.name for size in smaller for symbol in size.free})
        names = " and ".join(map(quoted, lengths[:_MOST_TOLD]))
        hint = (
            "give lengths as numbers, or as powers where they are halved: --shape x=8, --shape x=2**p; "
            "a list of any length n can be filled up to `2^halvings(n)`"
        )
        if env.context.attributes.issuperset(lengths):
            given = ", ".join(f"--attr {length}=8" for length in lengths[:_MOST_TOLD])
            hint = f"give the number: {given}" if len(lengths) == 1 else f"give the numbers: {given}"
        told = f"how often {name} applies itself depends on {names}"
        fail("T0425", told, inner.span, hint, kind=OpenRecursion)


def _is_other_function(arg: Lazy | Value, was: Lazy | Value, span: Span) -> bool:
    """Whether an argument is a function of the program, and not the one that it was."""
    try:
        now, before = plain(entry(force(arg, span))), plain(entry(force(was, span)))
    except Rejected:
        return False
    return isinstance(now, Closure) and isinstance(before, Closure) and now.body is not before.body


def _holds(p: Poly, facts: tuple[Cond, ...]) -> bool:
    return p.constant >= 0 if p.constant is not None else try_prove(ge(p), facts) is True


def _is_open(size: Poly) -> bool:
    """Whether no number bounds a size, so that writing out all applications would never end."""
    most = bounds(size)[1]
    return most is None or most > CALL_DEPTH


def _refuse(name: str, span: Span, before: ArgumentSizes, now: ArgumentSizes) -> NoReturn:
    """Reject an application with what became of some of its arguments."""
    told = []
    for argument, size in now.items():
        was = before.get(argument)
        if was is None or " - " in argument:
            continue
        text = to_text(size)
        if was.constant is not None and was.constant < 0 and size != was:
            hint = f"end it for all of {argument} below some number: `where(n <= 0, ...)`"
            fail("T0424", f"{name} goes on below 0: {argument} is {to_text(was)}, then {text}", span, hint)
        told.append(
            f"{argument} is {text} again" if was == size else f"{argument} is {to_text(was)}, then {text}"
        )
    hint = "each time, a length or a number that is known while compiling has to get smaller"
    why = ", ".join(told[:_MOST_TOLD]) or "data alone decides when it ends"
    fail("T0424", f"{name} applies itself, and no argument gets smaller: {why}", span, hint)


def _sizes(call: Activation) -> ArgumentSizes:
    """Return the sizes of all arguments of an application."""
    if call.sizes is None:
        numbers: ArgumentSizes = {}
        lengths: ArgumentSizes = {}
        for name, arg in zip(call.function.params, call.args, strict=True):
            value = _value(arg, call.span)
            if isinstance(value, Poly):
                numbers[name] = value
            elif value is not None:
                lengths.update(_lengths(name, value, call))
        pairs = permutations(numbers.items(), 2)
        apart = {f"{a} - {b}": p - q for (a, p), (b, q) in pairs}
        call.sizes = {**{quoted(name): size for name, size in numbers.items()}, **lengths, **apart}
    return call.sizes


def _value(arg: Lazy | Value, span: Span) -> Value | None:
    """Return an argument; None if it is a fault, which its use will report, or has no size."""
    try:
        value = plain(entry(force(arg, span)))
    except Rejected:
        return None
    return None if is_function(value) or isinstance(value, (Missing, Seq, str)) else value


def _lengths(name: str, value: Value, call: Activation) -> Iterator[tuple[str, Poly]]:
    if isinstance(value, Vec) and len(value.items) <= _FEW:
        for n, item in enumerate(value.items, start=1):
            if isinstance(item, Poly):
                yield f"`{name}[{n}]`", item
    shapes = component_shapes(call.function.env, value, call.span)
    for j, shape in enumerate(shapes, start=1):
        for d, size in enumerate(shape, start=1):
            of = f"`{name}`" if len(shapes) == 1 else f"`{name}`[{j}]'"
            yield (f"the length of {of}" if len(shape) == 1 else f"length {d} of {of}"), size
