"""How often a step of a fold is elaborated: again only where its first result is no guess that holds."""

from __future__ import annotations

import pytest

from tolcost.cost import count_functions
from tolcost.diagnostics import Source
from tolcost.elaborate import maps
from tolcost.elaborate.environment import Env
from tolcost.elaborate.values import Value
from tolcost.pipeline import lower, read_program
from tolcost.platform import read_spec

PROGRAMS = {
    "a sum": ("reduce(x, (a, e) => a + x[i], 0, [i])", 1),
    "through names and functions": ("reduce(x, (a, e) => {f(k) = x[k] / 2; t = a * f(i); t}, 1, [i])", 1),
    "as long as there are steps": ("reduce(x, (a, e) => [*a, a[i] + x[i]], [0], [i])", 1),
    "by two a step": ("reduce(x, (a, e) => {t = a[i] + x[i]; [*a, t, 1]}, [0], [i])", 1),
    "lists, as many as there are steps": (
        "reduce(tol[n], (s, z) => {(p, q) = s[i]; [*s, (p / 2.5, x[i] - q)]}, [(1, 0)], [i])[2]'",
        1,
    ),
    "each component needs another, and one is data": (
        "reduce(tol[n], (s, z) => {t = s[2]' / 2; (t, x[i], [*s[3]', t])}, (0, 0, []), [i])[3]'",
        1,
    ),
    "what seems to be data is not": (
        "reduce(tol[n], (s, z) => (where(n < 0, x[i], s[1]' / 2.5), x[i]), (1, 0), [i])[1]'",
        3,
    ),
    "one is data because the other is": (
        "reduce(tol[n], (s, z) => (where(n < 0, x[i], s[2]'), s[1]'), (1, 0), [i])[1]'",
        2,
    ),
    "one component is data, and then the one before": (
        "reduce(x, (s, e) => (x[i], s[1]', s[2]', [*s[4]', s[3]']), (0, 0, 0, []), [i])[4]'",
        1,
    ),
    "one component is data and one is not": ("reduce(x, (s, e) => (s[1]' / 2.5, x[i]), (1, 0), [i])[2]'", 3),
    "data on one side of a choice": ("reduce(x, (a, e) => a / 2.5 + where(2 * i < n, x[i], 1), 1, [i])", 2),
}


ALIKE = {
    "a choice between equals": "where(p > 1, p, p) + x[i]",
    "a choice between equal numbers": "where(p > 1, 2, 2) * x[i]",
    "a question whether it is known": "where(known(p), 1, x[i] * x[i]) * x[i]",
    "a quotient": "p / 2 + x[i]",
}


@pytest.mark.parametrize("made", ALIKE.values(), ids=ALIKE)
@pytest.mark.parametrize("listed", [False, True])
def test_what_turns_out_to_be_data_costs_as_what_was_data_from_the_start(made: str, listed: bool) -> None:
    """A number that a step makes data, alone and in a list."""

    def counted(start: str) -> object:
        fold = (
            f"(l, z) => {{p = l[1]'; ({made}, 1)}}, ({start}, 1)" if listed else f"(p, z) => {made}, {start}"
        )
        text = f"tol x: float64 [n]\ny := reduce(tol[n], {fold}, [i])\n"
        return count_functions(lower(read_program(Source("p.tol", text))).program).histogram

    assert counted("0") == counted("x[1]")


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


@pytest.mark.parametrize("kernel, folds", [("adi", 5), ("deriche", 4), ("nussinov", 3)])
def test_the_folds_of_a_kernel_are_elaborated_once(
    monkeypatch: pytest.MonkeyPatch, kernel: str, folds: int
) -> None:
    """Of ``adi`` the one over time, and two along each of two lines."""
    assert _steps(monkeypatch, read_spec("polybench", kernel).text) == folds


def test_names_that_are_used_twice_are_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    doubled = "; ".join(f"t{k + 1} = t{k} + t{k}" for k in range(60))
    assert (
        _steps(monkeypatch, f"attr n: N\ny := reduce(tol[n], (s, z) => {{t0 = s; {doubled}; t60}}, 1)\n") == 2
    )
