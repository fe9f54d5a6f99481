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


@pytest.mark.parametrize("longer", [0, 1])
def test_only_what_fails_at_every_length_is_refused(longer: int) -> None:
    for factor, shift, more, times, plus in TURNS:
        if is_refused(factor, shift, more, times, plus, longer):
            for n in range(1, 13):
                places = (
                    (factor * i + shift) % (n + more) * times + plus + (n if times < 0 else 0)
                    for i in range(1, n + longer + 1)
                )
                assert any(not 1 <= place <= n for place in places), (factor, shift, more, times, plus, n)


def test_what_fails_beside_an_end_is_refused() -> None:
    assert is_refused(1, 1, 0, 1, 0, 0)  # 0 where i is n - 1
    assert is_refused(1, -2, 0, 1, 0, 0)  # 0 where i is 2
    assert not is_refused(1, 1, 0, 1, 1, 0)
