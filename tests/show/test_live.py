"""The trees that the browser evaluates: the same values as the algebra gives."""

from typing import Any

import pytest

from tolcost.algebra import Poly, ceil_log2, evaluate, floordiv, length, maximum, to_browser
from tolcost.algebra.parse import parse_text
from tolcost.algebra.powers import powers
from tolcost.show.document import mathml_of

N, M = length("n"), length("m")


def value(tree: Any, values: dict[str, int]) -> int:
    """What the script in the page does, in Python."""
    match tree:
        case int() | str():
            return int(tree)
        case {"v": name}:
            return values[name]
        case ["+", *parts]:
            return sum(value(part, values) for part in parts)
        case ["*", *parts]:
            result = 1
            for part in parts:
                result *= value(part, values)
            return result
        case ["/", top, bottom]:
            quotient, rest = divmod(value(top, values), value(bottom, values))
            assert rest == 0
            return quotient
        case ["f", top, bottom]:
            return value(top, values) // value(bottom, values)
        case ["m", inside]:
            return max(value(inside, values), 0)
        case ["l", inside]:
            return (value(inside, values) - 1).bit_length()
        case ["p", base, power]:
            result = base ** value(power, values)
            assert isinstance(result, int)
            return result
        case ["s", body, name, low, high]:
            ends = value(low, values), value(high, values)
            return sum(value(body, {**values, name: i}) for i in range(ends[0], ends[1] + 1))
        case _:
            raise AssertionError(tree)


FORMS = [
    0 * N,
    N + 1,
    2 * N * M - 3 * M + 7,
    floordiv(N * (N + 1), 2),
    floordiv(N - M, 3) * M,
    maximum(N - 4 * M, 5) ** 2,
    N**3 * (2**70 + 1),
    ceil_log2(N * M + 1) * M,
    powers(2, N) * M + powers(3, M),
    parse_text("Sum(floor(i*m/n), (i, 1, n))", {"n": N, "m": M}),
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_tree_is_worth_what_its_form_is(form: Poly) -> None:
    tree = to_browser(form)
    for n in (1, 2, 5, 12):
        for m in (1, 3, 8):
            point = {s: {"n": n, "m": m}[s.name] for s in form.free}
            assert value(tree, {"n": n, "m": m}) == evaluate(form, point)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_mathml_is_well_formed(form: Poly) -> None:
    from xml.etree.ElementTree import fromstring

    assert fromstring(mathml_of(form)).tag == "math"


def test_names_are_escaped_in_mathml() -> None:
    assert "<script>" not in mathml_of(length("<script>"))
    assert mathml_of(length("X_12")) == "<math><msub><mi>X</mi><mn>12</mn></msub></math>"
