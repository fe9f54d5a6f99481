"""An index is refused if it leaves its dimension at some coordinate whatever the length, and only then."""

from itertools import product

import pytest

from tolcost.diagnostics import Rejected, Source
from tolcost.pipeline import lower, read_program

TURNS = list(product((1, 2), (-2, -1, 0, 1, 2), (0, 1), (1, -1, 2), (0, 1)))


def is_refused(factor: int, shift: int, more: int, times: int, plus: int, longer: int) -> bool:
    index = f"({factor} * i + {shift}) % (n + {more}) * {times} + {plus} + {int(times < 0)} * n"
    try:
        lower(
            read_program(Source("turns.tol", f"tol x: R [n]\ny := map(tol[n + {longer}], x[{index}], [i])"))
        )
    except Rejected:
        return True
    return False


def fails_at(n: int, factor: int, shift: int, more: int, times: int, plus: int, longer: int) -> bool:
    places = (
        (factor * i + shift) % (n + more) * times + plus + (n if times < 0 else 0)
        for i in range(1, n + longer + 1)
    )
    return any(not 1 <= place <= n for place in places)


@pytest.mark.parametrize("longer", [0, 1])
def test_only_what_fails_at_every_length_is_refused(longer: int) -> None:
    for turn in TURNS:
        if is_refused(*turn, longer):
            assert all(fails_at(n, *turn, longer) for n in range(1, 13)), turn


@pytest.mark.parametrize("factor", [1, -1])
def test_remainders_that_are_all_met_are_decided(factor: int) -> None:
    """As many coordinates as there are remainders: the least and the greatest are met at every length."""
    for shift, times, plus in product((-3, 0, 1, 2, 7), (1, -1), (0, 1, 2)):
        turn = (factor, shift, 0, times, plus, 0)
        assert is_refused(*turn) == all(fails_at(n, *turn) for n in range(1, 13)), turn
