"""Random programs that go by halves or thirds: closed forms are what runs count, for any number of levels."""

import random

import pytest

from tolcost.algebra import evaluate
from tolcost.cost import count
from tolcost.diagnostics import Source
from tolcost.execute import run_vectorised
from tolcost.execute.inputs import random_arrays
from tolcost.pipeline import lower, read_program

LEVELS = range(7)


def random_program(rng: random.Random) -> str:
    """Levels that shrink, grow or keep a length, with work that depends on the level."""
    base = rng.choice((2, 2, 3))
    members = [f"t[{base} * i - {k}]" for k in range(base)]
    length, element, start = rng.choice(
        (
            (f"{base}^(p - s)", f" {rng.choice('+-*')} ".join(members), f"{base}^p"),
            (f"{base}^s", f"t[(i + {base - 1}) / {base}] * 2", "1"),
            (f"{base}^p", f"t[i] + t[max(i - {base}^(s - 1), 1)]", f"{base}^p"),
            (f"{base}^p", f"where(i > {base}^(s - 1), t[i] * t[1], t[i])", f"{base}^p"),
        )
    )
    more = rng.choice(("", " + s", " + reduce(tol[s], (a, z) => a + t[1], 0)", f" * {base}^(p - s)"))
    step = f"map(tol[{length}], {element}{more}, [i])"
    return f"attr p: N\ntol x: R [{start}]\ny := reduce(tol[p], (t, z) => {step}, x, [s])\n"


@pytest.mark.parametrize("seed", range(12))
def test_the_count_of_every_number_of_levels(seed: int) -> None:
    text = random_program(random.Random(seed))
    program = lower(read_program(Source("levels.tol", text))).program
    closed = count(program)
    for levels in LEVELS:
        dims = {"p": levels}
        run = run_vectorised(program, random_arrays(program, {}, dims, seed), dims)
        assert evaluate(closed.eops, run.bindings) == run.counts.eops, (text, levels)
