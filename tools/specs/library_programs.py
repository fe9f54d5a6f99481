"""A program of a library, lowered once, to be run again and again and held to what it should give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from tolcost.algebra import Poly, length, substitute
from tolcost.atoms.nodes import Program
from tolcost.catalogue.listing import read_library
from tolcost.cost import Analysis
from tolcost.elaborate import Elaborated, Tensor
from tolcost.elaborate.inputs import Argument, arguments
from tolcost.execute import run_vectorised
from tolcost.pipeline import analyze_lowered, lower, read_program
from tolcost.result.derivation import compare_counts

Array: TypeAlias = np.ndarray[Any, Any]


class Ready(Struct, frozen=True):
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


def ready(library: str, name: str, *, empty: bool = False, **attrs: Any) -> Ready:
    """A program of a library, with values for its attributes; if ``empty``, its lengths may be 0."""
    program = read_library(library).find(name)
    parsed = read_program(program.source)
    given = arguments(parsed.program, program.shapes, {**program.attrs, **attrs})
    lowered = lower(parsed, dict(given))
    if empty:
        lowered = lower(parsed, {**given, **possibly_empty(lowered.program)})
    return Ready(lowered, analyze_lowered(lowered, program.source.name))


def possibly_empty(program: Program) -> dict[str, Argument]:
    """The inputs of a program with lengths from 0 on."""

    def opened(form: Poly) -> Poly:
        return substitute(form, {symbol: length(symbol.name, 0) for symbol in form.free})

    return {
        needed.name: Tensor(tuple(map(opened, part.shape)), part.space)
        for needed in program.inputs
        for part in needed.type
    }
