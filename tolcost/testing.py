"""Assertions for the tests of operators and models: a cost equals a formula, for all lengths."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tolcost.algebra import Poly, Witness, atom, const, to_text
from tolcost.algebra.parse import parse_text
from tolcost.api import analyze, load_model
from tolcost.certainty import Certainty
from tolcost.cost.span import Depth
from tolcost.diagnostics import quoted, refuse
from tolcost.elaborate.inputs import PlainShapes, PlainValue
from tolcost.result.compare import difference
from tolcost.result.cost import Cost
from tolcost.result.point import facts_of
from tolcost.show.document import lengths_text, text_of

__all__ = ["assert_cost"]


def assert_cost(
    subject: Cost | str | Path,
    *,
    dims: Mapping[str, int] | None = None,
    shapes: PlainShapes | None = None,
    attrs: Mapping[str, PlainValue] | None = None,
    status: Certainty = "exact",
    **figures: int | str,
) -> None:
    r"""Assert what a program or a model costs: each figure equals a formula for all lengths.

    A formula that starts with ``<=`` is a limit.  Where bytes are an upper bound, only a limit can be
    asserted.  The figures are those of a ``Cost``: ``eops``, ``flops``, ``macs``, ``bytes``, ``depth``,
    ``params`` and so on.  ``status`` is the certainty that the counts have to have.

    >>> text = "tol x: R [n, k]\ny := map(x, exp(*) + 1)"
    >>> assert_cost(text, eops="2*n*k", macs=0, bytes="<= 100*n*k")
    >>> assert_cost(text, eops="3*n*k")
    Traceback (most recent call last):
    AssertionError: <text>: eops is 2*k*n, not 3*n*k: at k = 1, n = 1 it is 2 and not 3
    """
    __tracebackhide__ = True
    cost = _cost(subject, dims, shapes, attrs)
    wrong = [found for name, formula in figures.items() if (found := _mistake(cost, name, str(formula)))]
    if cost.status != status:
        wrong.append(f"the counts are {cost.status}, not {status}")
    if wrong:
        raise AssertionError(f"{cost.name}: {'; '.join(wrong)}")


def _cost(
    subject: Cost | str | Path,
    dims: Mapping[str, int] | None,
    shapes: PlainShapes | None,
    attrs: Mapping[str, PlainValue] | None,
) -> Cost:
    if isinstance(subject, Cost):
        return subject.subs(dims)
    if str(subject).endswith(".onnx"):
        return load_model(subject, dims, {name: tuple(shape) for name, shape in (shapes or {}).items()})  # type: ignore[arg-type]  # a model says what is wrong with a shape
    return analyze(subject, dims, shapes, attrs)


def _mistake(cost: Cost, name: str, formula: str) -> str | None:
    """Return how a figure differs from a formula, or None if it does not."""
    actual, limit = _form(cost, name), formula.strip().removeprefix("<=").strip()
    expected = parse_text(limit, {symbol.name: atom(symbol) for symbol in cost.study.symbols})
    unknown = sorted({symbol.name for symbol in expected.free} - set(cost.symbols))
    if unknown:
        hint = f"it has {', '.join(map(quoted, cost.symbols)) or 'none'}"
        refuse("T0412", f"{quoted(cost.name)} has no length {quoted(unknown[0])}", hint=hint)
    found = difference(name, "", expected, actual, facts_of(one.condition for one in cost.where))
    at_most = formula.strip().startswith("<=")
    if name == "bytes" and not at_most and not cost.moves_all:
        return f"bytes is at most {to_text(actual)}, and {limit} can be asserted as <= {limit} only"
    if found.claim.more is False and (at_most or found.claim.less is False):
        return None
    sign, shown = ("not at most", found.more) if at_most else ("not", found.more or found.less)
    return f"{name} is {to_text(actual)}, {sign} {limit}{_shown(shown)}"


def _shown(witness: Witness | None) -> str:
    if witness is None:
        return ", and whether they are the same is not decided"
    where = lengths_text(witness.point)
    return f": {f'at {where} ' if where else ''}it is {witness.left:,} and not {witness.right:,}"


def _form(cost: Cost, name: str) -> Poly:
    """Return a figure at the point of the cost, as a polynomial."""
    if name not in cost.forms:
        refuse("T0412", f"there is no figure {quoted(name)}", hint=f"there are {', '.join(cost.forms)}")
    form = cost.value(cost.forms[name])
    match form:
        case Poly():
            return form
        case int():
            return const(form)
        case Depth(candidates=(only,)):
            return only
        case _:
            shown = "not known" if form is None else text_of(form)
            refuse("T0412", f"{quoted(name)} cannot be held to a formula: it is {shown}")
