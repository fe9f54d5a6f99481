"""A program of a library, lowered once, to be run again and again and held to what it should give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tolcost.catalogue.libraries import read_library
from tolcost.cost import Analysis
from tolcost.elaborate import Elaborated
from tolcost.elaborate.arguments import arguments
from tolcost.execute import run_vectorised
from tolcost.pipeline import analyze_lowered, lower, read_program
from tolcost.result.derivation import compare_counts

Array: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Ready:
    """A lowered program with its closed forms."""

    lowered: Elaborated
    analysis: Analysis

    def run(self, inputs: Mapping[str, Any], counted: bool = False, **dims: int) -> dict[str, Any]:
        """Give its outputs; if ``counted``, what the run counted is what the closed forms say."""
        execution = run_vectorised(self.lowered.program, inputs, dims)
        if counted:
            text, agree = compare_counts(execution.counts, execution.bindings, self.analysis)
            assert agree, text
        return dict(execution.outputs)

    def result(self, inputs: Mapping[str, Any], counted: bool = False, **dims: int) -> Array:
        """Give its only output."""
        (value,) = self.run(inputs, counted, **dims).values()
        return np.asarray(value)


def ready(library: str, name: str, **attrs: Any) -> Ready:
    """A program of a library, with values for its attributes."""
    program = read_library(library).find(name)
    parsed = read_program(program.source)
    lowered = lower(parsed, arguments(parsed.program, program.shapes, {**program.attrs, **attrs}))
    return Ready(lowered, analyze_lowered(lowered, program.source.name))
