"""Holding the programs of `specs/textbook` to another implementation, and their closed forms to runs.

Every program has a trial of its name in a module for its folder: a function of a random generator and a size
that draws inputs, and says what NumPy, networkx or plain Python makes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tools.specs.library_programs import ready

Array: TypeAlias = np.ndarray[Any, Any]


class Trial(NamedTuple):
    """Inputs, the outputs that are expected, and lengths that no input tells."""

    inputs: Mapping[str, Any]
    outputs: tuple[Any, ...]
    lengths: Mapping[str, int] = {}


TrialOf: TypeAlias = Callable[[np.random.Generator, int], Trial]
SIZES = 6


def trial_of(name: str) -> TrialOf:
    """Find what draws the trials of a program, by its path in the library."""
    folder, _, short = name.partition("/")
    found: TrialOf = getattr(import_module(f"tools.textbook.{folder}_trials"), short)
    return found


def hold(name: str, trials: int, seed: int = 0) -> None:
    """Run a program so many times: its values are those expected, its counts those of the closed form."""
    program, draw = ready("textbook", name), trial_of(name)
    rng = np.random.default_rng(seed)
    for number in range(trials):
        trial = draw(rng, number % SIZES + 1)
        outputs = program.run(trial.inputs, counted=True, **trial.lengths)
        for (output, value), expected in zip(outputs.items(), trial.outputs, strict=True):
            where = f"{name}: {output}, {trial.lengths}"
            np.testing.assert_allclose(value, expected, 1e-7, 1e-9, err_msg=where)
