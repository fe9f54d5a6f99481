"""Parameters of primitives: each converts an argument into the form that a primitive needs, or rejects it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tolcost.algebra import Poly
from tolcost.diagnostics import Span
from tolcost.elaborate.environment import PRIMITIVES, Env
from tolcost.elaborate.faults import fail, wrong_arity
from tolcost.elaborate.layout import describe, emit, in_one_tol, integers, spread
from tolcost.elaborate.shapes import split_if_uneven
from tolcost.elaborate.values import (
    Missing,
    NodeValue,
    Seq,
    Spaces,
    Value,
    Vec,
    cast_of,
    is_function,
    is_static,
    plain,
    recast,
)
from tolcost.spaces import bounds_of
from tolcost.syntax.names import BUILTINS

Parameter = Callable[[Env, Value, Span], Any]
"""Converts an argument for a primitive."""


def primitive(
    name: str, *parameters: Parameter, elements: tuple[int, ...] = (), place: int = 0
) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Register a primitive.

    It is called with its environment, its span, and a converted argument for each parameter.

    A primitive that only rearranges ``elements`` of some arguments keeps the space that they came in. If data
    decides which elements are meant (``place`` is the number of that argument), they are looked up in a ToL
    of that space.
    """

    def register(run: Callable[..., Value]) -> Callable[..., Value]:
        def checked(env: Env, args: tuple[Value, ...], span: Span) -> Value:
            if not BUILTINS[name].takes(len(args)):
                wrong_arity(f"`{name}`", BUILTINS[name], len(args), span)
            if cast_of(args[0]) and 0 < place < len(args) and not is_static(args[place]):
                args = (NodeValue(emit(env, args[0], span)), *args[1:])
            given, space = list(args), None
            if elements and any(map(cast_of, args)):
                values, space = in_one_tol(env, [args[k] for k in elements], span)
                for k, one in zip(elements, values, strict=True):
                    given[k] = one
            result = run(env, span, *[take(env, a, span) for take, a in zip(parameters, given, strict=False)])
            return recast(result, space)

        PRIMITIVES[name] = checked
        return run

    return register


def anything(env: Env, value: Value, span: Span) -> Value:
    """Take any value, with the space it came in."""
    return value


def tol(env: Env, value: Value, span: Span) -> Value:
    """Take a value with a shape: a number, a ToL, a list or a sequence.

    ToLs that differ in shape are separated.
    """
    value = plain(value)
    if isinstance(value, (Missing, Spaces)) or is_function(value):
        fail("T0403", f"{describe(value)} stands where a ToL is needed", span)
    return split_if_uneven(env, value)


def no_sequence(env: Env, value: Value, span: Span) -> Value:
    """Take a value with a shape other than a sequence.

    A map is the way to treat all entries of a sequence.
    """
    value = tol(env, value, span)
    if isinstance(value, Seq):
        fail("T0403", f"{describe(value)} stands where a ToL is needed", span)
    return value


def vector(env: Env, value: Value, span: Span) -> tuple[Value, ...]:
    """Take the entries of a vector of known length, or a single number."""
    return spread(env, tol(env, value, span), span)


def integer(env: Env, value: Value, span: Span) -> Poly:
    """Take a single integer known at compile time."""
    found = integers(env, tol(env, value, span), span)
    if len(found) != 1:
        fail("T0310", f"one integer is needed here, not {len(found)}", span)
    return found[0]


def space_names(env: Env, value: Value, span: Span) -> tuple[str, ...]:
    """Take the names of one or more spaces."""
    names: tuple[str, ...] = ()
    if isinstance(value, Spaces):
        names = value.names
    elif isinstance(value, Vec) and all(isinstance(item, Spaces) for item in value.items):
        names = tuple(name for item in value.items if isinstance(item, Spaces) for name in item.names)
    if not names:
        fail("T0410", "a space such as R, or a list of spaces, is needed here", span)
    return names


def space_list(env: Env, value: Value, span: Span) -> Spaces:
    """Take one or more spaces, each with its bounds."""
    names = space_names(env, value, span)
    given = [
        item for item in (value.items if isinstance(value, Vec) else (value,)) if isinstance(item, Spaces)
    ]
    return Spaces(names, tuple(b for item in given for b in item.within or map(bounds_of, item.names)))


def space_name(env: Env, value: Value, span: Span) -> str:
    """Take the name of a single space."""
    names = space_names(env, value, span)
    if len(names) != 1:
        fail("T0410", f"one space is needed here, not {len(names)}", span)
    return names[0]


def text(env: Env, value: Value, span: Span) -> str:
    """Take a text."""
    if not isinstance(value, str):
        fail("T0411", "text is needed here", span)
    return value
