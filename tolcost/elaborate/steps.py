"""One step of a ``reduce``, as it is written: from an accumulator and an element to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tolcost.algebra import Poly, const
from tolcost.diagnostics import Span
from tolcost.elaborate.calls import call_values, function_of, is_functional, signature
from tolcost.elaborate.context import Element, Env, Lazy, fail
from tolcost.elaborate.expressions import mentioned
from tolcost.elaborate.indexing import element
from tolcost.elaborate.maps import Pattern
from tolcost.elaborate.values import Value, Vec, entry, recast
from tolcost.syntax import tree


class Step(Protocol):
    """One step of a fold: from an accumulator and a coordinate to the next accumulator."""

    @property
    def pattern(self) -> Pattern:
        """How the program names the coordinates."""

    @property
    def span(self) -> Span:
        """Where the fold is written."""

    def at(self, env: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        """The next accumulator; bindings go to the block of ``env``."""

    def confirm(self) -> None:
        """Object to a fold made of this step, if what it was based on has turned out otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class WrappedStep:
    """A step seen as one on another accumulator."""

    step: Step

    @property
    def pattern(self) -> Pattern:
        """How the program names the coordinates."""
        return self.step.pattern

    @property
    def span(self) -> Span:
        """Where the fold is written."""
        return self.step.span

    def confirm(self) -> None:
        """Object if the step itself does."""
        self.step.confirm()


@dataclass(frozen=True, slots=True, eq=False)
class WrittenStep:
    """One step of a ``reduce``, as it is written."""

    env: Env
    over: Value
    expr: tree.Expr
    pattern: Pattern
    span: Span
    cast: str | None = None

    def looks_at_elements(self) -> bool:
        """Whether the step may use the elements, and not only where they are."""
        return mentions_element(self.env, self.expr)

    def at(self, env: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        """The next accumulator; bindings go to the block of ``env``."""
        item = Lazy(
            "", env, lambda env: recast(element(env, self.over, at, self.span, checked=True), self.cast)
        )
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
        low = signature(function).low
        args: tuple[Lazy | Value, ...] = (accumulator, item)
        if low == 3:
            args = (accumulator, item, Vec((len(at),), at, loose=True))
        return entry(call_values(inner, function, args, self.span))

    def confirm(self) -> None:
        """A step as it is written is based on nothing else."""


def mentions_element(env: Env, expr: tree.Expr) -> bool:
    """Whether a step, as written, uses the element; unless it is plain that it does not, it does."""
    if isinstance(expr, tree.Arrow) and len(expr.params) in (2, 3):
        return expr.params[1] in mentioned(expr.body)
    return True


def position(at: tuple[Value, ...], shape: tuple[Poly, ...]) -> Poly:
    """How many steps came before a coordinate, in row-major order."""
    found = const(0)
    for c, d in zip(at, shape, strict=True):
        assert isinstance(c, Poly)
        found = found * d + c - 1
    return found
