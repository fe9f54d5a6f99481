"""Trials: what is noted in one that fails is taken back, but for what values from outside of it rely on."""

from __future__ import annotations

import random

import pytest

from tolcost.algebra import Cond, Poly, const, ge, length, the_symbol
from tolcost.diagnostics import NOWHERE
from tolcost.elaborate.environment import Notes, Scope

CONDITIONS: list[Cond] = [ge(length("n") - k) for k in range(2, 8)]
N, M, K = (length(name) for name in "nmk")


def noted(notes: Notes, condition: Cond) -> None:
    notes.record(condition, "needed", "why", NOWHERE)


def play(
    notes: Notes, rng: random.Random, trials: list[int], alive: dict[int, tuple[Cond, set[int]]]
) -> None:
    """Note and try at random; ``alive`` has what must be left, each with the trials that can take it back."""
    for _ in range(rng.randint(1, 5)):
        if rng.random() < 0.5 or len(trials) > 4:
            before, notes.level = notes.level, rng.randint(0, len(trials))
            one = rng.choice(CONDITIONS)
            alive[len(alive) + rng.getrandbits(60)] = one, set(trials[: notes.level])
            noted(notes, one)
            notes.level = before
            continue
        before, notes.level = notes.level, rng.randint(0, len(trials))
        own, outer = rng.getrandbits(60), trials[: notes.level]
        with notes.attempt(Scope()) as trial:
            play(notes, rng, [*trials, own], alive)
            if rng.random() < 0.5:
                trial.keep()
        for key, (one, belongs) in list(alive.items()):
            if own in belongs and trial.kept:
                alive[key] = one, set(outer)
            elif own in belongs:
                del alive[key]
        notes.level = before


@pytest.mark.parametrize("seed", range(300))
def test_what_is_left_is_what_no_failed_trial_owned(seed: int) -> None:
    notes, alive = Notes(), dict[int, tuple[Cond, set[int]]]()
    play(notes, random.Random(seed), [], alive)
    assert notes.conditions.keys() == {one for one, _ in alive.values()}
    assert (notes.level, notes.trials) == (0, [])


def test_equal_lengths_are_taken_back_with_a_trial() -> None:
    notes = Notes()
    notes.adopt(the_symbol(K), N + 1)
    with notes.attempt(Scope()):
        notes.adopt(the_symbol(N), 2 * M)
        assert notes.equal == {the_symbol(K): 2 * M + 1, the_symbol(N): 2 * M}
    assert notes.equal == {the_symbol(K): N + 1}


def test_a_value_from_outside_keeps_its_notes() -> None:
    """NodeValue on first use, inside of a trial that fails, it stays computed, and so do its equations."""
    notes = Notes()
    with notes.attempt(Scope()):
        notes.adopt(the_symbol(M), const(3))
        notes.level = 0
        notes.adopt(the_symbol(N), K)
    found: dict[object, Poly] = dict(notes.equal)
    assert found == {the_symbol(N): K}
