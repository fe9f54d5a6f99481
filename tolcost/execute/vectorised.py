"""The vectorised interpreter: it evaluates whole coordinate grids at a time, and counts as it runs.

It computes the values of the reference interpreter (exactly on integers and truth values, and up to the order
of additions on floats) and the same counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from tolcost.algebra import Poly
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import Indices, is_fixed
from tolcost.atoms.nodes import Node, Part, Program
from tolcost.diagnostics import Rejected
from tolcost.execute.batch import (
    Batch,
    GridIndex,
    choose,
    clipped,
    concatenate,
    constant,
    each,
    gathered,
    in_spaces,
    lift,
    replaced,
    reshaped,
    stays_in_range,
    strided,
    with_fault,
)
from tolcost.execute.dtypes import Array, as_places, convert, holding
from tolcost.execute.folds import fold
from tolcost.execute.functions import apply_checked, uniform
from tolcost.execute.grid import (
    SINGLE,
    Affine,
    Grid,
    NeedsLoop,
    affine_on_grid,
    cond_on_grid,
    constant_on_grid,
    poly_on_grid,
    restrict,
    varying,
)
from tolcost.execute.inputs import DEFAULT_STEPS, InputArrays, Met, execute, length_of
from tolcost.execute.machine import GridRules, Machine, build
from tolcost.execute.values import Execution, Piece, first_fault, kept_rows, range_length, tidy, within


def run_vectorised(
    program: Program,
    inputs: InputArrays | Met,
    dims: Mapping[str, int] | None = None,
    max_steps: int = DEFAULT_STEPS,
) -> Execution:
    """Run a program over whole arrays.

    ``dims`` has, by name, lengths that no input determines.  A run that takes too long stops with a
    diagnostic once it has spent ``max_steps``.
    """
    return execute(
        program, inputs, dims, lambda arrays, lengths: Machine(program, arrays, lengths, max_steps, RULES)
    )


# ---- plain nodes ---------------------------------------------------------------------------------


def given(machine: Machine, node: ir.Input, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Return an input, which is the same at every point."""
    return lift(Batch(tuple(Piece(array) for array in machine.arrays[node.name]), 0), grid.depth)


def number(machine: Machine, node: ir.Number, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Return a static number at every point."""
    try:
        return constant(constant_on_grid(node.value, node.type[0].space, grid, machine.env), grid.depth)
    except Rejected as rejected:
        raise rejected.at(node.span) from None


def component(machine: Machine, node: ir.Component, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Take a component of a list."""
    machine.tally.atoms["member"] += times * grid.points
    return Batch((args[0].pieces[node.j - 1],), grid.depth)


def pack(machine: Machine, node: ir.Pack, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Make a list of the components of the operands."""
    machine.tally.atoms["join"] += (len(args) - 1) * times * grid.points
    return Batch(tuple(piece for value in args for piece in value.pieces), grid.depth)


def embed(machine: Machine, node: ir.Embed, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Add a last dimension of length 1."""
    machine.tally.atoms["embed"] += times * grid.points
    return each(args[0], lambda array: array[..., np.newaxis])


def convert_node(machine: Machine, node: ir.Convert, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Convert values to other spaces."""
    machine.reassemble(node.value.type, args[0], grid, times)
    value = in_spaces(args[0], node.type, node.bits)
    spaces = [part.space for part in node.type]
    return Batch(within(machine.faults, node, spaces, args[0].pieces, value.pieces), value.depth)


def laid_out(machine: Machine, node: ir.Table, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Evaluate a static ToL, whose entries may depend on coordinates, at every point."""
    if is_fixed(node):
        if node not in machine.tables:
            machine.tables[node] = entries(machine, node, SINGLE)
        return lift(machine.tables[node], grid.depth)
    return entries(machine, node, grid)


def entries(machine: Machine, node: ir.Table, grid: Grid) -> Batch:
    """Evaluate the entries of a table and lay them out."""
    part = node.type[0]
    try:
        found = [constant_on_grid(value, part.space, grid, machine.env) for value in node.values]
    except Rejected as rejected:
        raise rejected.at(node.span) from None
    own = tuple(length_of(length, machine.env) for length in part.shape)
    leading = np.broadcast_shapes(*(entry.shape for entry in found), (1,) * grid.depth)
    filled = np.empty((*leading, len(found)), holding(part.space, found))
    for k, entry in enumerate(found):
        filled[..., k] = entry
    return Batch((Piece(filled.reshape(leading + own)),), grid.depth)


def apply(machine: Machine, node: ir.Lambda, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Apply an elementary function at every point."""
    machine.tally.apply(node.function, node.space, node.charge, times * grid.points)
    pieces = [value.pieces[0] for value in args]
    result = node.type[0].space
    data = [piece.data for piece in pieces]
    faults = [piece.fault for piece in pieces]
    if node.function == "rand":
        value = constant(convert(drawn(machine, node, data, grid), result), grid.depth).pieces[0].data
    else:
        value, wrong = apply_checked(node.function, node.space, result, data)
        if wrong is not None:
            there = wrong if grid.mask is None else np.where(grid.mask, wrong, 0)
            source = f"`{node.function}` gives"
            faults.append(tidy(machine.faults.of_numbers(there, node.span, source, result)))
    return Batch((Piece(value, first_fault(faults)),), grid.depth)


def drawn(machine: Machine, node: ir.Lambda, args: Sequence[Array], grid: Grid) -> Array:
    """Draw random numbers, one for every point, even along coordinates that nothing else depends on."""
    around = [
        grid.coordinate(grid.places[symbol]) if symbol in grid.places else machine.env[symbol]
        for symbol in machine.nest
    ]
    return uniform(machine.sites[node], around, args)


def where(machine: Machine, node: ir.Where, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Choose between two values at every point."""
    machine.tally.apply("where", node.space, node.charge, times * grid.points)
    condition = args[0].pieces[0]
    then, other = (in_spaces(value, node.type) for value in args[1:])
    return with_fault(choose(condition.data != 0, then, other), condition.fault)


def select(machine: Machine, node: ir.Select, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Evaluate each branch at the points that take it."""
    condition = guard(machine, node, args, grid)
    taken = restrict(grid, condition)
    if taken.points == grid.points:
        return in_spaces(machine.visit(node.then, grid, times), node.type)
    if taken.points == 0:
        return in_spaces(machine.visit(node.other, grid, times), node.type)
    then = in_spaces(machine.visit(node.then, taken, times), node.type)
    opposite = np.logical_not(condition)
    other = in_spaces(machine.visit(node.other, restrict(grid, opposite), times), node.type)
    return choose(np.asarray(condition), then, other)


def guard(machine: Machine, node: ir.Select, args: list[Batch], grid: Grid) -> bool | Array:
    """Evaluate the condition of a Select at every point."""
    if not isinstance(node.condition, Node):
        return cond_on_grid(node.condition, grid, machine.env)
    machine.faults.check(args[0].pieces)
    return np.asarray(args[0].pieces[0].data != 0)


def join(machine: Machine, node: ir.Join, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Join two values; the length of the first must not vary."""
    machine.tally.atoms["join"] += times * grid.points
    machine.demand_fixed([part.shape[node.d - 1] for part in node.left.type], grid)
    return concatenate([in_spaces(value, node.type) for value in args], grid.depth + node.d - 1)


def reshape(machine: Machine, node: ir.Reshape, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Reshape a value; neither shape may vary."""
    shapes = [length for types in (node.value.type, node.type) for part in types for length in part.shape]
    machine.demand_fixed(shapes, grid)
    shaped = (
        reshaped(piece, tuple(length_of(length, machine.env) for length in part.shape), grid.depth)
        for piece, part in zip(args[0].pieces, node.type, strict=True)
    )
    result = Batch(tuple(shaped), grid.depth)
    machine.reassemble(node.type, result, grid, times)
    taken = (bool(a.shape) - bool(b.shape) for a, b in zip(node.value.type, node.type, strict=True))
    machine.tally.atoms["member"] += sum(taken) * grid.points * times
    return result


# ---- members -------------------------------------------------------------------------------------


def member(machine: Machine, node: ir.Member, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Read a member at every point."""
    machine.tally.atoms["member"] += times * grid.points
    tol = args[0]
    index, fault = _indices(machine, node.at, args[1:], grid)
    lengths = _lengths(machine, node.tol.type[0], tol.own(), grid)
    if stays_in_range(index, lengths, grid):
        return strided(tol, [form for form in index if isinstance(form, Affine)], grid)
    number = partial(machine.faults.out_of_range, node.span, "read")
    inside, outside = clipped(index, lengths, tol.own(), grid, number)
    return gathered(tol, inside, first_fault([fault, outside]), grid)


def put(machine: Machine, node: ir.Put, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Replace a member at every point."""
    tol, value = args[0], in_spaces(args[-1], node.type)
    machine.reassemble(node.type, tol, grid, times)
    for j, part in enumerate(node.value.type):
        if tol.own(j):
            machine.tally.atoms["member"] += ((len(node.type) > 1) - (not part.shape)) * grid.points * times
    index, fault = _indices(machine, node.at, args[1:-1], grid)
    number = partial(machine.faults.out_of_range, node.span, "replaced")
    lengths = _lengths(machine, node.tol.type[0], tol.own(), grid)
    inside, outside = clipped(index, lengths, tol.own(), grid, number)
    return replaced(tol, inside, value, first_fault([fault, outside]), grid)


def filtered(machine: Machine, node: ir.Filter, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Keep the entries that a mask chooses; the mask must be the same at all points."""
    tol, mask = args
    shapes = (*(piece.data.shape for piece in tol.pieces), mask.pieces[0].data.shape)
    moving = frozenset().union(*(varying(shape[: grid.depth], grid) for shape in shapes))
    if moving:
        raise NeedsLoop(moving)
    bounds = [node.length.hi] if node.repeats and node.length.hi is not None else []
    machine.demand_fixed([*bounds, *(part.shape[0] for part in node.tol.type)], grid)
    machine.faults.check(mask.pieces)
    marks, rows = mask.pieces[0].data.reshape(-1), (piece.data.shape[grid.depth] for piece in tol.pieces)
    chosen = kept_rows(machine.faults, node, marks, rows, machine.env)
    machine.define(node.length, chosen.size, grid)
    machine.tally.atoms["norm"] += times * grid.points
    kept = each(tol, lambda array: np.take(array, chosen, axis=grid.depth))
    machine.reassemble(node.type, kept, grid, times)
    return kept


def ranged(machine: Machine, node: ir.Length, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Define the length of a range; it must be the same at all points."""
    moving = varying(args[0].pieces[0].data.shape[: grid.depth], grid)
    if moving:
        raise NeedsLoop(moving)
    machine.demand_fixed([] if node.length.hi is None else [node.length.hi], grid)
    machine.faults.check(args[0].pieces)
    size = range_length(machine.faults, node, args[0].pieces[0].data, machine.env)
    machine.define(node.length, size, grid)
    return args[0]


def _indices(
    machine: Machine, at: Indices, values: Sequence[Batch], grid: Grid
) -> tuple[list[GridIndex], Array | None]:
    """Return the indices at every point, and the faults of computed indices."""
    computed = iter(values)
    found: list[GridIndex] = []
    faults: list[Array | None] = []
    for index in at:
        if isinstance(index, Poly):
            form = affine_on_grid(index, grid, machine.env)
            found.append(np.asarray(poly_on_grid(index, grid, machine.env)) if form is None else form)
        else:
            piece = next(computed).pieces[0]
            found.append(as_places(piece.data))
            faults.append(piece.fault)
    return found, first_fault(faults)


def _lengths(machine: Machine, part: Part, own: Sequence[int], grid: Grid) -> list[int | Array]:
    """Return the true lengths: those found, unless they vary over the grid."""
    return [
        size if length.free.isdisjoint(grid.places) else poly_on_grid(length, grid, machine.env)
        for length, size in zip(part.shape, own, strict=True)
    ]


RULES: GridRules = {
    ir.Input: given,
    ir.Number: number,
    ir.Table: laid_out,
    ir.Ref: lambda machine, node, args, grid, times: lift(machine.vars[node.var], grid.depth),
    ir.Lambda: apply,
    ir.Where: where,
    ir.Member: member,
    ir.Component: component,
    ir.Pack: pack,
    ir.Join: join,
    ir.Embed: embed,
    ir.Build: lambda machine, node, args, grid, times: build(machine, node, grid, times),
    ir.Fold: lambda machine, node, args, grid, times: fold(machine, node, args[0], grid, times),
    ir.Select: select,
    ir.Reshape: reshape,
    ir.Convert: convert_node,
    ir.Put: put,
    ir.Filter: filtered,
    ir.Length: ranged,
}
"""The rule that evaluates each kind of node at every point of a grid."""
