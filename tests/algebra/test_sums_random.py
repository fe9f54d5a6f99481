"""Random sums with floors, clips and guards, each against adding up one by one."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algebra.support import Over, brute_sum, build, trees
from tolcost.algebra import Poly, as_poly, coordinate, disj, eq, ge, length, negate, evaluate, the_symbol, total


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_sum_equals_adding_up(data: st.DataObject) -> None:
    low = data.draw(st.sampled_from([0, 1]))
    names: dict[str, Poly] = {"n": length("n", low), "m": length("m", low)}
    over: list[tuple[object, Poly, Poly]] = []
    for letter in "ijk"[: data.draw(st.integers(1, 3))]:
        lo = as_poly(1) if data.draw(st.booleans()) else _linear(data, names)
        hi = data.draw(st.sampled_from(list(names.values()))) if data.draw(st.booleans()) else _linear(data, names)
        names[letter] = coordinate(letter, hi, lo)
        over.append((the_symbol(names[letter]), lo, hi))
    body = build(data.draw(trees(list(names), leaves=4)), names)
    guards = [_guard(data, names) for _ in range(data.draw(st.integers(0, 2)))]
    result = total(body, over, guards)  # type: ignore[arg-type]
    for a in (low, low + 1, 3, 4):
        for b in (low, 2, 5):
            point = {the_symbol(names["n"]): a, the_symbol(names["m"]): b}
            assert evaluate(result, point) == brute_sum(body, _typed(over), guards, point)


def _typed(over: object) -> Over:
    return over  # type: ignore[return-value]


def _linear(data: st.DataObject, names: dict[str, Poly]) -> Poly:
    result = as_poly(data.draw(st.integers(-3, 4)))
    for name in names.values():
        result = result + name * data.draw(st.sampled_from([0, 0, 1, 1, -1, 2, 3]))
    return result


def _guard(data: st.DataObject, names: dict[str, Poly]) -> object:
    first, second = _linear(data, names), _linear(data, names)
    kind = data.draw(st.sampled_from(["ge", "ge", "ge", "eq", "ne", "or", "floor"]))
    match kind:
        case "ge":
            return ge(first)
        case "eq":
            return eq(first)
        case "ne":
            return negate(eq(first))
        case "or":
            return disj(ge(first), ge(second))
    return ge(first // 2 - second)
