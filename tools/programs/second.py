"""A second reading of a program: the compiler's values, shapes and counts beside those of the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from tolcost.algebra import Cond
from tolcost.atoms.kit import defined_length, index_nodes, schedules
from tolcost.atoms.nodes import Output, Program, Put, Select
from tolcost.cost import depths
from tolcost.cost.traffic import elements_read
from tolcost.diagnostics import Source
from tolcost.execute import Execution
from tolcost.syntax import parse
from tools.cost.brute_depth import brute_depth
from tools.programs.oracle import Oracle
from tools.programs.oracle_values import Frame, Unknown, Value, arrays_of, numbers_in, shape_of, spaces_of
from tools.programs.road import Mismatch, at, inputs_for


class Dearer(Mismatch):
    """The compiler counts more than the oracle: it took something static for data."""


class Cheaper(Mismatch):
    """The compiler counts less than the oracle, in a program where nothing can be left out."""


def read_twice(text: str, program: Program, run: Execution, dims: Mapping[str, int], seed: int) -> bool:
    """Compare both readings of a program, which ran at these lengths; tells whether they counted the same."""
    given = inputs_for(program, dims, seed)
    oracle = Oracle()
    found = oracle.run(parse(Source("case.tol", text)), given, dims)
    try:
        for name, value in run.outputs.items():
            same_values(name, value if isinstance(value, tuple) else (value,), arrays_of(found[name]))
    except Mismatch:
        if oracle.empty or (oracle.uneven and "/" in text):  # ranks, or whether to round down
            raise Unknown("this depends on something that was not looked at") from None
        raise
    if not (oracle.blurred or oracle.empty or oracle.unsure):
        for output in program.outputs:
            same_spaces(output, found[output.name])
    alike = compare_counts(run, oracle)
    if alike:  # nothing was left out
        hold_reads(program, run, oracle, found)
        hold_depths(program, run, found)
    return alike


def hold_reads(program: Program, run: Execution, oracle: Oracle, found: Mapping[str, Value]) -> None:
    """Every element that the oracle looked at, or hands out, is among those that are said to be read.

    What only one side of a choice uses is computed for both, and read for one.  Where data decides which
    elements are replaced, they are taken to be different ones, which are not read then.
    """
    nodes = [node for plan in schedules(program) for node in plan.nodes]
    if any(isinstance(node, Select) or (isinstance(node, Put) and index_nodes(node.at)) for node in nodes):
        return
    looked_at = Frame(needed=[oracle.root, oracle.frame]).looked_at()
    looked_at |= {n.source for name in run.outputs for n in numbers_in(found[name]) if n.source is not None}
    told = elements_read(program)
    for name, many in Counter(name for name, _ in looked_at).items():
        said = sum(at(form, run) for _, form in told.get(name, ()))
        if said < many:
            raise Mismatch(f"elements read: {said} of {name}, and {many} are looked at")


def hold_depths(program: Program, run: Execution, found: Mapping[str, Value]) -> None:
    """The depth is what walking every coordinate finds, and no less than that of any number."""
    deepest = max((n.deep for name in run.outputs for n in numbers_in(found[name])), default=0)
    told, walkable = depths(program), not _data_decides(program)
    for depth, trees in ((told.chain, False), (told.tree, True)):
        said = max(at(candidate, run) for candidate in depth.candidates)
        walked = brute_depth(program, run.bindings, trees) if walkable else None
        exact = walkable and depth.is_exact(run.bindings)
        if walked is not None and (said < walked or (exact and said != walked)):
            raise Mismatch(f"depth: {depth} is {said}, walked {walked}, trees {trees}")
        if not trees and not run.counts.index and said < deepest:
            raise Mismatch(f"depth of a number: {depth} is {said}, and one is {deepest} deep")


def _data_decides(program: Program) -> bool:
    """Whether data decides what is computed, or how often."""
    nodes = (node for plan in schedules(program) for node in plan.nodes)
    return any(
        not isinstance(node.condition, Cond) if isinstance(node, Select) else defined_length(node) is not None
        for node in nodes
    )


def same_spaces(output: Output, theirs: Value) -> None:
    ours = tuple(part.space for part in output.node.type)
    if ours != spaces_of(theirs) and 0 not in shape_of(theirs):
        raise Mismatch(f"space of {output.name}: {', '.join(ours)} and {', '.join(spaces_of(theirs))}")


def same_values(name: str, ours: tuple[np.ndarray, ...], theirs: list[np.ndarray]) -> None:
    if ours[0].size == 0:
        return  # the oracle does not infer what an empty ToL would hold
    if len(ours) != len(theirs):
        raise Mismatch(f"capacity of {name}: {len(ours)} and {len(theirs)}")
    for mine, other in zip(ours, theirs, strict=True):
        if mine.shape != other.shape:
            raise Mismatch(f"shape of {name}: {mine.shape} and {other.shape}")
        with np.errstate(all="ignore"):
            kind = complex if mine.dtype.kind == "c" else float
            other = other.astype(mine.dtype).astype(kind)  # what overflows there does so here
            if not np.allclose(mine.astype(kind), other, 1e-4, 1e-4, equal_nan=True):
                raise Mismatch(f"value of {name}: {mine} and {other}")


def compare_counts(run: Execution, oracle: Oracle) -> bool:
    """The compiler may see that a choice is no choice, or that part of a list is not needed.

    So it may count less than the oracle; it never counts more.
    """
    ours: Counter[tuple[str, str]] = Counter()
    for histogram in (run.counts.histogram, run.counts.index):
        ours += Counter(histogram)
    theirs = Frame(needed=[oracle.root, oracle.frame]).total()
    if oracle.blurred or oracle.empty:
        ours, theirs = map(by_name, (ours, theirs))
    if (more := ours - theirs) and not (oracle.unsure or oracle.empty):
        raise Dearer(f"counted too often: {dict(more)}")
    return ours == theirs


def by_name(counts: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """Functions, whatever space they compute in."""
    found = Counter[tuple[str, str]]()
    for (function, _), times in counts.items():
        found[function, ""] += times
    return found
