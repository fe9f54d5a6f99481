"""Time on a device, by hand: what each kind of work takes, which candidates count, and how calls add up."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tolcost.algebra import Poly, as_poly, evaluate, is_nonnegative, length, the_symbol
from tolcost.cost.device import UNIT, CallWork, Weighed, added, bound, parse_device, predicted, tidy
from tolcost.diagnostics import Rejected

DEVICE = parse_device("""
name = "by hand"
[peak]
bytes = 2.5
cache = 30
[peak.macs]
float32 = 7
float16 = 9
[fitted]
bandwidth = 10
gap = 3
prologue = 5
[[fitted.group]]
pattern = "stream"
quantity = "bytes"
start = 2
rate = 7.5
[[fitted.group]]
pattern = "product"
spaces = ["float32"]
quantity = "macs"
start = 4
rate = 6
[[fitted.group]]
pattern = "product"
spaces = ["bfloat16", "float16"]
quantity = "macs"
start = 5
rate = 0.5
[[fitted.group]]
pattern = "normalise"
quantity = "bytes"
start = 1
rate = 4
error = 0.25
points = 8
[[fitted.group]]
pattern = "gather"
quantity = "elements"
start = 6
rate = 1.5
[fitted.operators]
Softmax = { pattern = "normalise", kernels = 3, passes = 2 }
LpNorm = { pattern = "normalise" }
Gather = { pattern = "gather", passes = 3 }
Reshape = { kernels = 0 }
""")
F = Fraction
ROWS = [(0, 1, 0, 1), (40, 8, 30, 3), (5, 90, 5, 200), (17, 17, 17, 1000)]


@pytest.mark.parametrize("read, written, largest, macs", ROWS)
def test_predictions(read: int, written: int, largest: int, macs: int) -> None:
    moved = read + written
    streamed = F(moved, 10)

    def taken(op: str, products: int, spaces: set[str], width: int = 4) -> tuple[Fraction, Fraction | None]:
        forms = (as_poly(one) for one in (read, read, written, largest, products))
        start, limits = predicted(DEVICE.fitted, CallWork(op, *forms, frozenset(spaces), width))  # type: ignore[arg-type]
        return start, max((one.at({}) for _, one in limits), default=None)

    assert taken("Add", 0, {"float32"}) == (2, F(moved * 2, 15))
    assert taken("MatMul", macs, {"float32"}) == (4, max(streamed, F(macs * 4 + written * 5, 24)))
    assert taken("MatMul", macs, {"float16"}, 2) == (5, max(streamed, F(macs * 2 + written * 5, 1)))
    assert taken("MatMul", macs, {"int8"}, 1) == (4, max(streamed, F(macs + written * 5, 6)))
    assert taken("Softmax", 0, {"float32"}) == (1 + 2 * 3, F(moved + 2 * max(largest, written), 4))
    assert taken("LpNorm", 0, {"float32"}) == (1, F(moved, 4))
    assert taken("Gather", 0, {"float32"}) == (6, max(streamed, F(3 * max(read, written), 6)))
    assert taken("Reshape", 0, {"float32"}) == (0, None)


def test_a_product_waits_for_the_sum_of_a_result() -> None:
    """Each result of a product of n by k and k by m is a sum of k terms; 64 of them go one by one."""
    groups = tuple(
        replace(group, term=F(1, 8), split=64) if group.title == "product float32" else group
        for group in (DEVICE.fitted.groups if DEVICE.fitted else ())
    )
    fitted = replace(DEVICE.fitted, groups=groups)  # type: ignore[type-var]

    def taken(n: Poly, k: Poly, m: Poly) -> Fraction:
        zero, spaces = as_poly(0), frozenset({"float32"})
        work = CallWork("MatMul", zero, zero, 4 * n * m, zero, n * k * m, spaces, 4)
        start, candidates = predicted(fitted, work)
        assert start == 4
        point = {the_symbol(length(name)): number for name, number in (("n", 3), ("k", 40), ("m", 5))}
        return max(form.at(point) for _, form in candidates)

    plain = F(3 * 40 * 5 + 5 * 3 * 5, 6)
    forms, numbers = map(length, "nkm"), map(as_poly, (3, 40, 5))
    assert taken(*forms) == taken(*numbers) == plain + 5
    more = F(3 * 400 * 5 + 5 * 3 * 5, 6)
    assert taken(as_poly(3), as_poly(400), as_poly(5)) == more + 8


@pytest.mark.parametrize("read, written, largest, macs", ROWS)
def test_bounds(read: int, written: int, largest: int, macs: int) -> None:
    def least(products: int, *spaces: str) -> Fraction:
        forms = (as_poly(one) for one in (read + 1000, read, written, largest, products))
        return max(one.at({}) for _, one in bound(DEVICE, CallWork("Any", *forms, frozenset(spaces), 4)))  # type: ignore[arg-type]

    moved = max(F(read), F(read + written - 30)) / F(5, 2)
    assert least(0, "float32") == least(macs, "int8") == least(macs, "float32", "int8") == moved
    assert least(macs, "float32") == max(moved, F(macs, 7))
    assert least(macs, "float32", "float16") == max(moved, F(macs, 9))


def test_a_device_is_read_in_full() -> None:
    groups = DEVICE.fitted.groups if DEVICE.fitted else ()
    assert [group.title for group in groups] == [
        "stream", "product float32", "product float16", "normalise", "gather",
    ]  # fmt: skip
    assert [(group.error, group.points) for group in groups[2:]] == [(None, 0), (F(1, 4), 8), (None, 0)]
    for zero in ("bytes = 0", "bytes = true"):
        with pytest.raises(Rejected):
            parse_device(f"[peak]\n{zero}")
    with pytest.raises(Rejected, match="quantity is one of"):
        parse_device(
            '[peak]\nbytes = 1\n[fitted]\nbandwidth = 1\n[[fitted.group]]\npattern = "stream"\nrate = 1'
        )


STREAMS = """[peak]
bytes = 1
[fitted]
bandwidth = 1
[[fitted.group]]
pattern = "stream"
quantity = "bytes"
start = 1
rate = 1
"""
MISTAKES = [
    ("name = 3\n[peak]\nbytes = 1", "name is a text of one line"),
    ('name = "two\\nlines"\n[peak]\nbytes = 1', "name is a text of one line"),
    ("[peak]\nbytes = 1\ncache = 1.5", "peak.cache is an integer"),
    ("[peak]\nbytes = 1\n[fitted]\nbandwidth = 1\ngroup = 3", r"written as \[\[fitted.group\]\]"),
    ("[peak]\nbytes = 1\n[fitted]\nbandwidth = 1\ngroup = [3]", r"written as \[\[fitted.group\]\]"),
    (STREAMS + "spaces = 3", "spaces is a list"),
    (STREAMS + 'spaces = "float32"', "spaces is a list"),
    (STREAMS + 'spaces = ["float33"]', "`float33` is no space"),
    (STREAMS + '[fitted.operators]\nAdd = { pattern = "streem" }', "has the pattern `streem`"),
    (STREAMS + "[fitted.operators]\nAdd = { passes = 1.5 }", "passes is an integer"),
]


@pytest.mark.parametrize("text, told", MISTAKES)
def test_what_a_device_cannot_mean_is_told(text: str, told: str) -> None:
    """A misspelt pattern was taken for a stream, a space for its letters, and a number was a traceback."""
    assert parse_device(STREAMS).fitted is not None
    with pytest.raises(Rejected, match=told):
        parse_device(text)


N, M = length("n"), length("m")
FORMS = [N, M, N + M, 2 * N, N * M, M + 5, 3 * M, N * N, as_poly(4)]
WEIGHED = st.builds(lambda p, k: Weighed(p, k, UNIT), st.sampled_from(FORMS), st.integers(1, 3))
CALLS = st.lists(st.tuples(st.integers(1, 3), st.lists(WEIGHED, max_size=3)), max_size=5)


@settings(max_examples=40)
@given(st.integers(0, 9), CALLS)
def test_calls_add_up(constant: int, calls: list[tuple[int, list[Weighed]]]) -> None:
    """Nothing is lost with candidates that others are never below, nor by adding up what is alone."""
    whole = added(F(constant, 4), [*calls, *calls[:1]])
    for candidates in (tidy(some) for _, some in calls):
        for a, b in product(candidates, repeat=2):
            assert a is b or not is_nonnegative(a.numerator * b.denominator - b.numerator * a.denominator)
    assert sum(len(candidates) == 1 for _, candidates in whole.terms) <= 3
    for n, m in ((1, 1), (2, 9), (50, 3)):
        there = {the_symbol(N): n, the_symbol(M): m}
        expected = F(constant, 4) + sum(
            (times * max(one.at(there) for one in some) for times, some in (*calls, *calls[:1]) if some),
            F(0),
        )
        assert 0 <= expected - whole.at(there) < F(1, 10**6)
        assert 0 <= expected - F(evaluate(whole.attoseconds, there), 10**12) < F(1, 10**6)


def test_a_duration_as_text() -> None:
    one, two = Weighed(N, 2, UNIT), Weighed(M, 1, UNIT)
    assert str(added(F(0), [])) == "0"
    assert str(added(F(3, 2), [(1, [one])])) == "1.5 + n/2"
    assert str(added(F(0), [(2, [one, two])])) == "2*Max(n/2, m)"
    assert str(added(F(0), [(1, [one, two])])) == "Max(n/2, m)"
