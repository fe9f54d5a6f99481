"""Checking that a program of the atomic IR is well formed.

A broken rule is a mistake of the compiler, never of the user, so it is an ``InternalError``
that names the rule.  Lengths are compared only as far as they are plain numbers: whether two
symbolic lengths agree is a matter of the program's conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tolcost.algebra import ONE, Poly, Symbol, atom
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import (
    REGIONS,
    STATIC_FIELD,
    Region,
    Schedule,
    constant_symbols,
    schedule_block,
    schedule_program,
    static_parts,
)
from tolcost.atoms.nodes import Node, Part, Program, Type, Var
from tolcost.diagnostics import InternalError
from tolcost.elementary import FUNCTIONS
from tolcost.spaces import SPACES


def verify(program: Program) -> None:
    """Check every rule; raise ``InternalError`` at the first one broken."""
    checker = _Checker(program)
    pending = [checker.walk(schedule_program(program))]
    while pending:
        inner = next(pending[-1], None)
        if inner is None:
            pending.pop()
        else:
            pending.append(checker.walk(schedule_block(inner.block), inner.coords, inner.accumulator))


def demand(holds: bool, rule: str, node: object, *about: object) -> None:
    """Stop if a rule does not hold; what it is ``about`` is put into its words only then."""
    if not holds:
        raise InternalError(f"the IR is broken: {rule.format(*about)} ({type(node).__name__})")


class _Checker:
    """What is in scope while walking."""

    def __init__(self, program: Program) -> None:
        self.inputs = {needed.name: needed for needed in program.inputs}
        demand(len(self.inputs) == len(program.inputs), "inputs have different names", program)
        names = {output.name for output in program.outputs}
        demand(len(names) == len(program.outputs), "outputs have different names", program)
        self.vars: set[Var] = set()
        self.coords: set[Symbol] = set()

    def walk(
        self, plan: Schedule, coords: tuple[Symbol, ...] = (), accumulator: Var | None = None
    ) -> Iterator[Region]:
        """Check the nodes of a block in order, handing out the blocks inside on the way."""
        local: list[Var] = []
        if coords:
            demand(len(set(coords)) == len(coords), "coordinates of a quantifier differ", plan)
            demand(self.coords.isdisjoint(coords), "a coordinate is bound once", plan)
            self.coords.update(coords)
        if accumulator is not None:
            self.vars.add(accumulator)
            local.append(accumulator)
            self.type(accumulator.type, accumulator)
        for node, _, _, binds in plan.steps:
            kind = type(node)
            self.type(node.type, node)
            _RULES[kind](node)
            if kind in _SCOPES:
                _SCOPES[kind](self, node)
            if kind in REGIONS:
                yield from REGIONS[kind](node)
            for var in binds:
                demand(var not in self.vars, "a variable is bound once", node)
                demand(alike(var.type, node.type), "a variable has the type of its value", node)
                self.vars.add(var)
                local.append(var)
        self.vars.difference_update(local)
        self.coords.difference_update(coords)

    def type(self, types: Type, node: object) -> None:
        """Check that spaces exist and that lengths mention coordinates in scope."""
        if not types:
            demand(False, "a value has a component", node)
        for part in types:
            if part.space not in SPACES:
                demand(False, "the space {} exists", node, part.space)
            for length in part.shape:
                if not self.coords.issuperset(length.free):
                    self.symbols(length.free, node)

    def symbols(self, symbols: Iterable[Symbol], node: object) -> None:
        """Check that coordinates are in scope; lengths always are."""
        for symbol in symbols:
            if symbol.kind == "coord" and symbol not in self.coords:
                demand(False, "the coordinate {} is in scope", node, symbol.name)

    def variable(self, node: ir.Ref) -> None:
        """Check that a variable is in scope."""
        demand(node.var in self.vars, "the variable {} is in scope", node, node.var.name)

    def input(self, node: ir.Input) -> None:
        """Check that an input is declared."""
        demand(node.name in self.inputs, "the input {} is declared", node, node.name)
        demand(alike(node.type, self.inputs[node.name].type), "an input has its declared type", node)

    def extents(self, node: ir.Fold) -> None:
        """Check what the extents of a fold mention: a later one may depend on an earlier coordinate."""
        for extent in node.extents:
            self.symbols(extent.free.difference(node.coords), node)

    def static(self, node: Node) -> None:
        """Check what the static integers and conditions of a node mention."""
        for part in static_parts(node):
            self.symbols(constant_symbols(part), node)


_SCOPES: Mapping[type, Callable[[_Checker, Any], None]] = {
    **dict.fromkeys(STATIC_FIELD, _Checker.static),
    ir.Ref: _Checker.variable,
    ir.Input: _Checker.input,
    ir.Fold: _Checker.extents,
}
"""How what a node of some kinds mentions by name has to be in scope; the others mention nothing."""


# ---- comparing types -------------------------------------------------------------------------


def alike(a: Type, b: Type) -> bool:
    """Tell whether two types have the same components: spaces, ranks and constant lengths."""
    return a is b or (
        len(a) == len(b)
        and all(x.space == y.space and same_shape(x.shape, y.shape) for x, y in zip(a, b, strict=True))
    )


def shaped_alike(a: Type, b: Type) -> bool:
    """Tell whether two types agree in all but spaces."""
    return len(a) == len(b) and all(same_shape(x.shape, y.shape) for x, y in zip(a, b, strict=True))


def same_shape(a: tuple[Poly, ...], b: tuple[Poly, ...]) -> bool:
    """Tell whether two shapes have one rank and no lengths that certainly differ."""
    return len(a) == len(b) and (
        a == b or not any(x != y and (x - y).constant for x, y in zip(a, b, strict=True))
    )


def same_ranks(*types: Type) -> bool:
    """Tell whether types have as many components, of the same ranks."""
    return len({tuple([len(part.shape) for part in parts]) for parts in types}) == 1


def numeric(types: Type) -> bool:
    """Tell whether a type is that of one number."""
    return len(types) == 1 and not types[0].shape


def _constant_volume(shape: tuple[Poly, ...]) -> int | None:
    volume = 1
    for length in shape:
        if length.constant is None:
            return None
        volume *= length.constant
    return volume


# ---- rules about one node --------------------------------------------------------------------


def _check_number(node: ir.Number) -> None:
    demand(numeric(node.type), "a number is a numeric", node)


def _check_table(node: ir.Table) -> None:
    demand(len(node.type) == 1, "a table has one component", node)
    volume = _constant_volume(node.type[0].shape)
    demand(volume is not None, "a table has a concrete shape", node)
    demand(volume == len(node.values), "a table has as many values as its shape says", node)


def _check_lambda(node: ir.Lambda) -> None:
    demand(node.space in SPACES, "the space {} exists", node, node.space)
    demand(node.function in FUNCTIONS, "the function {} exists", node, node.function)
    least, most = FUNCTIONS[node.function].arity
    demand(least <= len(node.args) <= most, "{} takes {} to {} arguments", node, node.function, least, most)
    demand(all(numeric(arg.type) for arg in node.args), "functions apply to numerics", node)
    demand(numeric(node.type), "a function gives a numeric", node)


def _check_where(node: ir.Where) -> None:
    demand(node.space in SPACES, "the space {} exists", node, node.space)
    demand(numeric(node.condition.type), "a condition is a numeric", node)
    demand(shaped_alike(node.then.type, node.type), "the first value has the result's shape", node)
    demand(shaped_alike(node.other.type, node.type), "the second value has the result's shape", node)


def _check_index(node: ir.Member | ir.Put) -> None:
    for index in node.at:
        demand(isinstance(index, Poly) or numeric(index.type), "an index is a numeric", node)


def _check_member(node: ir.Member) -> None:
    _check_index(node)
    ranks = {len(part.shape) for part in node.tol.type}
    demand(ranks == {len(node.at)}, "a member has a full coordinate", node)
    spaces = [part.space for part in node.tol.type]
    fits = spaces == [part.space for part in node.type if not part.shape] and len(spaces) == len(node.type)
    demand(fits, "a member has the type of the ToL's members", node)


def _check_put(node: ir.Put) -> None:
    _check_index(node)
    fits = all(len(node.at) <= len(part.shape) for part in node.tol.type)
    demand(fits, "a coordinate is not longer than the rank", node)
    demand(alike(node.type, node.tol.type), "replacing keeps the type", node)
    members = tuple(Part(part.shape[len(node.at) :], part.space) for part in node.tol.type)
    demand(shaped_alike(node.value.type, members), "what is put has the shape of what it replaces", node)


def _check_component(node: ir.Component) -> None:
    demand(1 <= node.j <= len(node.value.type), "a component is one of the list's", node)
    demand(alike(node.type, (node.value.type[node.j - 1],)), "a component has its own type", node)


def _check_pack(node: ir.Pack) -> None:
    parts = tuple(part for item in node.items for part in item.type)
    demand(bool(node.items) and alike(node.type, parts), "a list has the components of its items", node)


def _check_join(node: ir.Join) -> None:
    sides = (node.left.type, node.right.type)
    demand(len(sides[0]) == len(sides[1]) == len(node.type), "joined values have the same capacity", node)
    demand(same_ranks(*sides, node.type), "joined values have one rank", node)
    d = node.d - 1
    for left, right, part in zip(*sides, node.type, strict=True):
        demand(1 <= node.d <= len(part.shape), "a join is along one of the dimensions", node)
        rest = [shape[:d] + shape[d + 1 :] for shape in (left.shape, right.shape, part.shape)]
        fits = same_shape(rest[0], rest[1]) and same_shape(rest[0], rest[2])
        demand(fits, "joined values agree in the other dimensions", node)
        total = left.shape[d] + right.shape[d]
        demand(same_shape((total,), part.shape[d : d + 1]), "joined lengths add up", node)


def _check_embed(node: ir.Embed) -> None:
    expected = tuple(Part((*part.shape, ONE), part.space) for part in node.value.type)
    demand(alike(node.type, expected), "embedding adds a last dimension of length 1", node)


def _check_reshape(node: ir.Reshape) -> None:
    demand(len(node.type) == len(node.value.type), "reshaping keeps the capacity", node)
    for new, old in zip(node.type, node.value.type, strict=True):
        demand(new.space == old.space, "reshaping keeps the space", node)
        volumes = [_constant_volume(part.shape) for part in (new, old)]
        demand(None in volumes or volumes[0] == volumes[1], "reshaping keeps the volume", node)


def _check_convert(node: ir.Convert) -> None:
    demand(shaped_alike(node.type, node.value.type), "converting keeps the shape", node)


def _check_filter(node: ir.Filter) -> None:
    demand(len(node.mask.type) == 1 and len(node.mask.type[0].shape) == 1, "a mask is a vector", node)
    demand(all(part.shape for part in node.tol.type), "what is filtered has a dimension", node)
    count = atom(node.length)
    kept = tuple(Part((count, *part.shape[1:]), part.space) for part in node.tol.type)
    demand(alike(node.type, kept), "filtering changes the first length only", node)


def _check_build(node: ir.Build) -> None:
    demand(len(node.coords) == len(node.extents), "every coordinate has an extent", node)
    built = tuple([Part((*node.extents, *part.shape), part.space) for part in node.body.result.type])
    demand(alike(node.type, built), "a build has the extents, then the shape of its members", node)


def _check_fold(node: ir.Fold) -> None:
    demand(len(node.coords) == len(node.extents), "every coordinate has an extent", node)
    types = (node.type, node.accumulator.type, node.start.type, node.body.result.type)
    demand(len(set(map(len, types))) == 1, "an accumulator keeps its capacity", node)
    demand(same_ranks(*types), "an accumulator keeps its rank", node)


def _check_select(node: ir.Select) -> None:
    fits = same_ranks(node.then.result.type, node.other.result.type, node.type)
    demand(fits, "both sides of a choice have the result's rank", node)
    if isinstance(node.condition, Node):
        demand(numeric(node.condition.type), "a condition is a numeric", node)


def _anything(node: ir.Input | ir.Ref) -> None:
    """Scope is all there is to check."""


_RULES: Mapping[type, Callable[[Any], None]] = {
    ir.Input: _anything,
    ir.Number: _check_number,
    ir.Table: _check_table,
    ir.Ref: _anything,
    ir.Lambda: _check_lambda,
    ir.Where: _check_where,
    ir.Member: _check_member,
    ir.Component: _check_component,
    ir.Pack: _check_pack,
    ir.Join: _check_join,
    ir.Embed: _check_embed,
    ir.Build: _check_build,
    ir.Fold: _check_fold,
    ir.Select: _check_select,
    ir.Reshape: _check_reshape,
    ir.Convert: _check_convert,
    ir.Put: _check_put,
    ir.Filter: _check_filter,
}
"""How a node of each kind has to fit its operands."""
