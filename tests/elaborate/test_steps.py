"""How often a step of a fold is elaborated: again only where its first result is no guess that holds."""

from __future__ import annotations

import pytest

from tolcost.diagnostics import Source
from tolcost.elaborate import maps
from tolcost.elaborate.values import Env, Value
from tolcost.pipeline import lower, read_program
from tolcost.platform import read_spec

PROGRAMS = {
    "a sum": ("reduce(x, (a, e) => a + x[i], 0, [i])", 1),
    "through names and functions": ("reduce(x, (a, e) => {f(k) = x[k] / 2; t = a * f(i); t}, 1, [i])", 1),
    "as long as there are steps": ("reduce(x, (a, e) => [*a, a[i] + x[i]], [0], [i])", 2),
    "one component is data, and then the one before": (
        "reduce(x, (s, e) => (x[i], s[1]', s[2]', [*s[4]', s[3]']), (0, 0, 0, []), [i])[4]'",
        2,
    ),
    "one component is data and one is not": ("reduce(x, (s, e) => (s[1]' / 2.5, x[i]), (1, 0), [i])[2]'", 2),
    "data on one side of a choice": ("reduce(x, (a, e) => a / 2.5 + where(2 * i < n, x[i], 1), 1, [i])", 2),
}


def _steps(monkeypatch: pytest.MonkeyPatch, text: str) -> int:
    taken = []
    at = maps.WrittenStep.at

    def counted(self: maps.WrittenStep, env: Env, accumulator: Value, at_: tuple[Value, ...]) -> Value:
        taken.append(self)
        return at(self, env, accumulator, at_)

    monkeypatch.setattr(maps.WrittenStep, "at", counted)
    lower(read_program(Source("p.tol", text)))
    return len(taken)


@pytest.mark.parametrize("expression, steps", PROGRAMS.values(), ids=PROGRAMS)
def test_so_many_steps_are_elaborated(monkeypatch: pytest.MonkeyPatch, expression: str, steps: int) -> None:
    assert _steps(monkeypatch, f"tol x: float64 [n]\ny := {expression}\n") == steps


def test_the_folds_of_a_kernel_are_elaborated_twice_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one over time once, and two along each of two lines twice."""
    assert _steps(monkeypatch, read_spec("polybench", "adi").text) == 9


def test_names_that_are_used_twice_are_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    doubled = "; ".join(f"t{k + 1} = t{k} + t{k}" for k in range(60))
    assert (
        _steps(monkeypatch, f"attr n: N\ny := reduce(tol[n], (s, z) => {{t0 = s; {doubled}; t60}}, 1)\n") == 2
    )
