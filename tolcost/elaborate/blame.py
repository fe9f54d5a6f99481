"""Saying where shapes came from: labels for the operands of whatever does not fit together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tolcost.diagnostics import Diagnostic, Label, Rejected, Span
from tolcost.elaborate.context import Env, Impossible, Lazy
from tolcost.elaborate.shapes import first, shape_of, shape_text
from tolcost.elaborate.values import Missing, Value, is_function, is_static
from tolcost.syntax import tree

SHAPE_CODES = frozenset(
    {"T0301", "T0302", "T0303", "T0307", "T0308", "T0312", "T0315", "T0316", "T0319", "T0327", "T0329"}
)

Operands = Iterable[tuple[tree.Expr, Value]]


def blamed(rejected: Rejected, env: Env, span: Span, operands: Operands) -> Rejected:
    """If shapes do not fit at ``span``: the same, saying what shape each operand has, declared where."""
    head, *rest = rejected.diagnostics
    if head.code not in SHAPE_CODES or head.labels or head.span != span:
        return rejected
    labels = tuple(dict.fromkeys(label for expr, value in operands for label in _labels(env, expr, value)))
    told = Diagnostic(head.code, head.message, head.span, labels, head.hint, head.severity)
    return (Impossible if isinstance(rejected, Impossible) else Rejected)(told, *rest)


def _labels(env: Env, expr: tree.Expr, value: Value) -> Iterator[Label]:
    value = first(value)
    if (
        is_function(value)
        or isinstance(value, Missing)
        or (is_static(value) and not isinstance(expr, tree.Name))
    ):
        return
    shape = shape_of(env, value, expr.span)
    if not shape and not isinstance(expr, tree.Name):
        return
    told = f"has shape {shape_text(shape)}" if shape else "is a number"
    declared = _declared(env, expr.name) if isinstance(expr, tree.Name) else None
    if isinstance(expr, tree.Name) and declared is not None:
        yield Label(declared, f"`{expr.name}` {told}")
    else:
        yield Label(expr.span, f"this {told}")


def _declared(env: Env, name: str) -> Span | None:
    """Where a name is defined in the text, if it is."""
    found = env.nearest(name)
    if isinstance(found, Lazy) and found.expr is not None:
        return found.expr.span
    return env.context.declared.get(name)
