"""Holding a program of `specs/` to a twin in Python, on random inputs, and its closed forms to runs.

Many inputs of the same lengths are run at once: the statements of a program become the body of a `map`
over a batch.
"""

from __future__ import annotations

import inspect
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from msgspec import Struct

from tolcost.algebra import evaluate
from tolcost.atoms.nodes import Part, Program
from tolcost.catalogue.listing import read_library
from tolcost.cost import Counts, count
from tolcost.diagnostics import Source
from tolcost.elaborate.inputs import PlainValue, arguments
from tolcost.execute import Execution, run_vectorised
from tolcost.pipeline import lower, read_program
from tools.programs.road import arrays, lengths_of, same_counts, same_shapes
from tools.specs.library_programs import possibly_empty

SPECS = Path(__file__).parents[2] / "specs"
BATCH = 25
REFUSALS = (ArithmeticError, LookupError, TypeError, ValueError, Warning, nx.NetworkXException)

Inputs = dict[str, Any]
Twin = Callable[..., Any]
Change = Callable[[Inputs, np.random.Generator], Inputs]


def unchanged(given: Inputs, rng: np.random.Generator) -> Inputs:
    """Inputs as they were drawn."""
    return given


class Held(Struct, dict=True):
    """A program of `specs/` with some attributes given: as it is, and over a batch of inputs."""

    name: str
    attrs: Mapping[str, PlainValue]

    @cached_property
    def text(self) -> str:
        return (SPECS / f"{self.name}.tol").read_text("utf-8")

    def lowered(self, text: str) -> Program:
        parsed = read_program(Source(f"{self.name}.tol", text))
        return lower(parsed, arguments(parsed.program, None, self.attrs)).program

    @cached_property
    def program(self) -> Program:
        return self.lowered(self.text)

    @cached_property
    def batched(self) -> Program:
        return self.lowered(batched(self.text))

    @cached_property
    def counts(self) -> Counts:
        return count(self.program)


def batched(text: str) -> str:
    """The same program for all entries of a first dimension that each input gets; its outputs as a list."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    heads = [line for line in lines if re.match(r"(tol \w+:|(attr|static|use|list|space)\b)", line)]
    body = "\n".join(f"  {line}" for line in lines if line not in heads)
    inputs = [line for line in heads if line.startswith("tol")]
    names = [re.match(r"tol (\w+)", line)[1] for line in inputs]  # type: ignore[index]
    wide = [widened(line) for line in inputs]
    outputs = re.findall(r"^  (\w+) :=", body, re.M)
    body = re.sub(r"^  (\w+) :=", r"  \1_ =", body, flags=re.M)
    entries = "\n".join(f"  {name} = {name}_all[batch_]" for name in names)
    result = ", ".join(f"{name}_" for name in outputs)
    rest = [line for line in heads if line not in inputs]
    return "\n".join(
        [*wide, *rest, f"all := map(tol[batch], {{\n{entries}\n{body}\n  ({result})\n}}, [batch_])", ""]
    )


def widened(line: str) -> str:
    """The declaration of an input with one more dimension in front."""
    name, space, shape = re.fullmatch(r"tol (\w+): ([^\[#]+?) *(?:\[(.*?)\])? *(?:#.*)?", line).groups()  # type: ignore[union-attr]
    return f"tol {name}_all: {space} [{', '.join(filter(None, ['batch', shape]))}]"


def drawn(program: Program, dims: Mapping[str, int], rng: np.random.Generator) -> Inputs:
    """Random values for every input at the lengths given; reals that are no small fractions."""
    symbols = {symbol: dims[symbol.name] for symbol in lengths_of(program)}

    def value(part: Part) -> np.ndarray[Any, Any]:
        if part.space in ("R", "float64"):
            return rng.normal(size=tuple(evaluate(length, symbols) for length in part.shape))
        return arrays(part, symbols, rng)

    found = {needed.name: tuple(map(value, needed.type)) for needed in program.inputs}
    return {name: parts[0] if len(parts) == 1 else parts for name, parts in found.items()}


def points(program: Program, longest: int, fixed: Mapping[str, int], seed: int) -> Iterator[dict[str, int]]:
    """Lengths: all of them 1, then random ones, then the longest."""
    rng = np.random.default_rng(seed)
    names = sorted({symbol.name for symbol in lengths_of(program) if symbol.kind != "data"})
    yield {**dict.fromkeys(names, 1), **fixed}
    for _ in range(2):
        yield {**{name: int(rng.integers(1, longest + 1)) for name in names}, **fixed}
    yield {**dict.fromkeys(names, longest), **fixed}


def expected_of(twin: Twin, known: Inputs) -> tuple[Any, ...]:
    """What the twin gives for copies of what it has parameters for."""
    code = twin.__code__
    wanted = known if code.co_flags & inspect.CO_VARKEYWORDS else code.co_varnames[: code.co_argcount]
    given = {
        key: np.array(known[key], copy=True) if isinstance(known[key], np.ndarray) else known[key]
        for key in wanted
    }
    found = twin(**given)
    return found if isinstance(found, tuple) else (found,)


def outputs_of(run: Execution) -> list[np.ndarray[Any, Any]]:
    """All outputs, the components of lists one by one."""
    return [part for v in run.outputs.values() for part in (v if isinstance(v, tuple) else (v,))]


def same_values(found: Any, expected: Any, where: str, rtol: float) -> None:
    np.testing.assert_allclose(real(found), real(expected), rtol, 1e-9, err_msg=where)


def real(value: Any) -> np.ndarray[Any, Any]:
    """Numbers as reals; complex ones as two."""
    array = np.asarray(value)
    return np.stack([array.real, array.imag]) if array.dtype.kind == "c" else array.astype(np.float64)


def hold(
    name: str,
    twin: Twin,
    change: Change = unchanged,
    *,
    longest: int = 4,
    attrs: Mapping[str, PlainValue] | None = None,
    fixed: Mapping[str, int] | None = None,
    rtol: float = 1e-8,
    one_by_one: bool = False,
    at: Sequence[Mapping[str, int]] | None = None,
    batch: int = BATCH,
    none: Mapping[str, int] | None = None,
    refused: bool = False,
) -> None:
    """A program and its twin give the same on a hundred inputs, and the closed forms what runs count.

    The twin takes inputs by name, and those lengths and attributes that it has parameters for.  Lengths
    that only data decides cannot be those of a batch: such programs run one by one.  ``at`` gives lengths
    where they may not be any.  One input more has no elements, where not ``none`` says otherwise; or the
    twin has no answer to that and is ``refused`` by what it is made of.  All in all there are as many
    inputs as the library says.
    """
    held = Held(name, attrs or {})
    seed = zlib.crc32(name.encode())
    rng = np.random.default_rng(seed)
    done = 0
    for dims in at or points(held.program, longest, fixed or {}, seed):
        given = [change(drawn(held.program, dims, rng), rng) for _ in range(batch)]
        with warnings.catch_warnings():  # as that there is no number to give
            warnings.simplefilter("ignore")
            wanted = [expected_of(twin, {**dims, **(attrs or {}), **one}) for one in given]
        singles = given if one_by_one else given[:1]
        for one, expected in zip(singles, wanted, strict=False):
            run = run_vectorised(held.program, one, dims)
            same_counts(held.counts, run, dims)
            same_shapes(held.program, run, dims)
            for a, b in zip(outputs_of(run), expected, strict=True):
                same_values(a, b, f"{name} at {dims}", rtol)
        if not one_by_one:
            hold_batch(held, given, wanted, dims, rtol)
        done += len(given)
    hold_empty(held, twin, change, {**(fixed or {}), **(none or {})}, rtol, refused)
    library, _, program = name.partition("/")
    assert done >= (read_library(library).find(program).inputs or 0) >= 100


def hold_empty(
    held: Held, twin: Twin, change: Change, known: Mapping[str, int], rtol: float, refused: bool
) -> None:
    """Inputs without elements; they are refused without an answer, or with one and a warning."""
    shapes = {
        s.name for needed in held.program.inputs for part in needed.type for d in part.shape for s in d.free
    }
    dims = {s.name: 0 if s.name in shapes else 1 for s in lengths_of(held.program)} | known
    with warnings.catch_warnings(), pytest.raises(REFUSALS) if refused else nullcontext():
        warnings.simplefilter("error")
        given = change(drawn(held.program, dims, np.random.default_rng(1)), np.random.default_rng(2))
        wanted = expected_of(twin, {**dims, **held.attrs, **given})
    if refused:
        return
    program = held.program
    if not all(dims[name] for name in shapes):
        parsed = read_program(Source(f"{held.name}.tol", held.text))
        attributes = arguments(parsed.program, None, held.attrs)
        program = lower(parsed, {**attributes, **possibly_empty(program)}).program
    run = run_vectorised(program, given, dims)
    same_counts(count(program), run, dims)
    for a, b in zip(outputs_of(run), wanted, strict=True):
        if np.size(a) or np.size(b):
            same_values(a, b, f"{held.name} at {dims}", rtol)


def stacked(values: list[Any]) -> Any:
    """Values of one shape as one array, or each of their components."""
    if isinstance(values[0], tuple):
        return tuple(map(np.array, zip(*values, strict=True)))
    return np.array(values)


def hold_batch(
    held: Held, given: list[Inputs], wanted: list[tuple[Any, ...]], dims: Mapping[str, int], rtol: float
) -> None:
    """All inputs of the same lengths at once: their values, and as many functions as for each of them."""
    whole = {f"{key}_all": stacked([one[key] for one in given]) for key in given[0]}
    run = run_vectorised(held.batched, whole, {**dims, "batch": len(given)})
    for a, b in zip(outputs_of(run), zip(*wanted, strict=True), strict=True):
        same_values(a, b, f"{held.name} at {dims}", rtol)
    single = run_vectorised(held.program, given[0], dims)
    if held.counts.status == "exact":
        many = {key: times * len(given) for key, times in single.counts.histogram.items()}
        assert run.counts.histogram == many
