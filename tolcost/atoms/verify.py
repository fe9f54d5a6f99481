"""Verification that a program of the atomic IR is well formed.

A broken rule is a mistake of the compiler, never of the user, so it is an ``InternalError`` that names the
rule. Lengths are compared only if their difference is a number: whether two symbolic lengths agree is the
subject of the program's conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, NoReturn

from tolcost.algebra import ONE, Cond, Poly, Symbol, atom, symbols_of_cond
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import (
    REGIONS,
    STATIC_FIELD,
    Region,
    Schedule,
    children,
    is_numeric,
    schedule_block,
    schedule_program,
    static_parts,
)
from tolcost.atoms.nodes import Node, Part, Program, Type, Var
from tolcost.diagnostics import InternalError
from tolcost.elementary import FUNCTIONS
from tolcost.spaces import SPACES


def verify(program: Program) -> None:
    """Check every rule; raise ``InternalError`` at the first broken rule."""
    checker = _Checker(program)
    pending = [checker.walk(schedule_program(program))]
    while pending:
        inner = next(pending[-1], None)
        if inner is None:
            pending.pop()
        else:
            pending.append(checker.walk(schedule_block(inner.block), inner.coords, inner.accumulator))


def broken(rule: str, node: object) -> NoReturn:
    """Raise an error that names the broken rule."""
    raise InternalError(f"the IR is broken: {rule} ({type(node).__name__})")


class _Checker:
    """The names in scope during the walk."""

    def __init__(self, program: Program) -> None:
        self.inputs = {needed.name: needed for needed in program.inputs}
        if len(self.inputs) != len(program.inputs):
            broken("inputs have different names", program)
        if len({output.name for output in program.outputs}) != len(program.outputs):
            broken("outputs have different names", program)
        self.vars: set[Var] = set()
        self.symbols: set[Symbol] = set()
        """The coordinates in scope, and all other symbols met so far."""
        self.anywhere: set[int] = set()
        """Types already checked that mention no coordinate, by identity: most nodes share a few types."""

    def walk(
        self, plan: Schedule, coords: tuple[Symbol, ...] = (), accumulator: Var | None = None
    ) -> Iterator[Region]:
        """Check the nodes of a block in order, yielding the blocks inside on the way."""
        local: list[Var] = []
        if coords:
            if len(set(coords)) != len(coords):
                broken("coordinates of a quantifier differ", plan)
            if not self.symbols.isdisjoint(coords):
                broken("a coordinate is bound once", plan)
            self.symbols.update(coords)
        if accumulator is not None:
            self.vars.add(accumulator)
            local.append(accumulator)
            self.type(accumulator.type, accumulator)
        for node, _, _, binds in plan.steps:
            if id(node.type) not in self.anywhere:
                self.type(node.type, node)
            fits, is_scoped, inside = _CHECKS[type(node)]
            if fits is not None:
                fits(node)
            if is_scoped is not None:
                is_scoped(self, node)
            if inside is not None:
                yield from inside(node)
            if binds:
                self.bind(binds, node)
                local += binds
        self.vars.difference_update(local)
        self.symbols.difference_update(coords)

    def bind(self, names: tuple[Var, ...], node: Node) -> None:
        """Bring the variables bound to a node into scope."""
        for var in names:
            if var in self.vars:
                broken("a variable is bound once", node)
            if not alike(var.type, node.type):
                broken("a variable has the type of its value", node)
            self.vars.add(var)

    def type(self, types: Type, node: object) -> None:
        """Check that spaces exist and that lengths mention only coordinates in scope."""
        if not types:
            broken("a value has a component", node)
        inside = False
        for part in types:
            if part.space not in SPACES:
                broken(f"the space {part.space} exists", node)
            if part.shape and self.mentions(part.shape, node):
                inside = True
        if not inside:
            self.anywhere.add(id(types))

    def mentions(self, forms: Iterable[Poly | Cond], node: object, besides: tuple[Symbol, ...] = ()) -> bool:
        """Check that the coordinates in the forms are in scope; return whether there are any."""
        found = False
        for form in forms:
            for symbol in form.free if isinstance(form, Poly) else symbols_of_cond(form):
                if symbol.kind != "coord":
                    self.symbols.add(symbol)
                    continue
                found = True
                if symbol not in self.symbols and symbol not in besides:
                    broken(f"the coordinate {symbol.name} is in scope", node)
        return found

    def variable(self, node: ir.Ref) -> None:
        """Check that a variable is in scope."""
        if node.var not in self.vars:
            broken(f"the variable {node.var.name} is in scope", node)

    def input(self, node: ir.Input) -> None:
        """Check that an input is declared."""
        if node.name not in self.inputs:
            broken(f"the input {node.name} is declared", node)
        if not alike(node.type, self.inputs[node.name].type):
            broken("an input has its declared type", node)

    def extents(self, node: ir.Fold) -> None:
        """Check the extents of a fold; a later extent may depend on an earlier coordinate."""
        self.mentions(node.extents, node, besides=node.coords)

    def static(self, node: Node) -> None:
        """Check the static integers and conditions of a node."""
        held = getattr(node, STATIC_FIELD[type(node)])
        for part in held if isinstance(held, tuple) else (held,):
            if not isinstance(part, Poly) or not part.free <= self.symbols:
                self.mentions(static_parts(node), node)
                return


_SCOPES: Mapping[type, Callable[[_Checker, Any], None]] = {
    **dict.fromkeys(STATIC_FIELD, _Checker.static),
    ir.Ref: _Checker.variable,
    ir.Input: _Checker.input,
    ir.Fold: _Checker.extents,
}
"""How to check the scope of the names in a node; kinds that are missing mention no names."""


# ---- comparing types -------------------------------------------------------------------------


_shape = attrgetter("shape")


def alike(a: Type, b: Type) -> bool:
    """Whether two types have the same components: spaces, ranks and constant lengths."""
    return a is b or (
        len(a) == len(b)
        and all(x.space == y.space and same_shape(x.shape, y.shape) for x, y in zip(a, b, strict=True))
    )


def shaped_alike(a: Type, b: Type) -> bool:
    """Whether two types agree except for their spaces."""
    return len(a) == len(b) and all(same_shape(x.shape, y.shape) for x, y in zip(a, b, strict=True))


def same_shape(a: tuple[Poly, ...], b: tuple[Poly, ...]) -> bool:
    """Whether two shapes have the same rank and no lengths that are known to differ."""
    return len(a) == len(b) and (
        a == b or not any(x != y and (x - y).constant for x, y in zip(a, b, strict=True))
    )


def same_ranks(*types: Type) -> bool:
    """Whether types have the same number of components, with the same ranks."""
    ranks = [[*map(len, map(_shape, parts))] for parts in types]
    return ranks.count(ranks[0]) == len(ranks)


def _constant_volume(shape: tuple[Poly, ...]) -> int | None:
    volume = 1
    for length in shape:
        if length.constant is None:
            return None
        volume *= length.constant
    return volume


# ---- rules about one node --------------------------------------------------------------------


def _check_number(node: ir.Number) -> None:
    if not is_numeric(node.type):
        broken("a number is a numeric", node)


def _check_table(node: ir.Table) -> None:
    if len(node.type) != 1:
        broken("a table has one component", node)
    volume = _constant_volume(node.type[0].shape)
    if volume is None:
        broken("a table has a concrete shape", node)
    if volume != len(node.values):
        broken("a table has as many values as its shape says", node)


def _check_lambda(node: ir.Lambda) -> None:
    if node.space not in SPACES:
        broken(f"the space {node.space} exists", node)
    if node.function not in FUNCTIONS:
        broken(f"the function {node.function} exists", node)
    least, most = FUNCTIONS[node.function].arity
    if not (least <= len(node.args) <= most):
        broken(f"{node.function} takes {least} to {most} arguments", node)
    for arg in node.args:
        if not is_numeric(arg.type):
            broken("functions apply to numerics", node)
    if not is_numeric(node.type):
        broken("a function gives a numeric", node)


def _check_where(node: ir.Where) -> None:
    if node.space not in SPACES:
        broken(f"the space {node.space} exists", node)
    if not is_numeric(node.condition.type):
        broken("a condition is a numeric", node)
    if not shaped_alike(node.then.type, node.type):
        broken("the first value has the result's shape", node)
    if not shaped_alike(node.other.type, node.type):
        broken("the second value has the result's shape", node)


def _check_index(node: ir.Member | ir.Put) -> None:
    for index in node.at:
        if not (isinstance(index, Poly) or is_numeric(index.type)):
            broken("an index is a numeric", node)


def _check_member(node: ir.Member) -> None:
    _check_index(node)
    if len(node.type) != len(node.tol.type):
        broken("a member has the capacity of the ToL's members", node)
    for own, part in zip(node.type, node.tol.type, strict=True):
        if len(part.shape) != len(node.at):
            broken("a member has a full coordinate", node)
        if own.shape or own.space != part.space:
            broken("a member has the type of the ToL's members", node)


def _check_put(node: ir.Put) -> None:
    _check_index(node)
    if any(len(node.at) > len(part.shape) for part in node.tol.type):
        broken("a coordinate is not longer than the rank", node)
    if not alike(node.type, node.tol.type):
        broken("replacing keeps the type", node)
    members = tuple(Part(part.shape[len(node.at) :], part.space) for part in node.tol.type)
    if not shaped_alike(node.value.type, members):
        broken("what is put has the shape of what it replaces", node)


def _check_component(node: ir.Component) -> None:
    if not (1 <= node.j <= len(node.value.type)):
        broken("a component is one of the list's", node)
    if not alike(node.type, (node.value.type[node.j - 1],)):
        broken("a component has its own type", node)


def _check_pack(node: ir.Pack) -> None:
    parts = tuple(part for item in node.items for part in item.type)
    if not (bool(node.items) and alike(node.type, parts)):
        broken("a list has the components of its items", node)


def _check_join(node: ir.Join) -> None:
    sides = (node.left.type, node.right.type)
    if not (len(sides[0]) == len(sides[1]) == len(node.type)):
        broken("joined values have the same capacity", node)
    if not same_ranks(*sides, node.type):
        broken("joined values have one rank", node)
    d = node.d - 1
    for left, right, part in zip(*sides, node.type, strict=True):
        if not (1 <= node.d <= len(part.shape)):
            broken("a join is along one of the dimensions", node)
        rest = [shape[:d] + shape[d + 1 :] for shape in (left.shape, right.shape, part.shape)]
        if not (same_shape(rest[0], rest[1]) and same_shape(rest[0], rest[2])):
            broken("joined values agree in the other dimensions", node)
        total = left.shape[d] + right.shape[d]
        if not same_shape((total,), part.shape[d : d + 1]):
            broken("joined lengths add up", node)


def _check_embed(node: ir.Embed) -> None:
    expected = tuple(Part((*part.shape, ONE), part.space) for part in node.value.type)
    if not alike(node.type, expected):
        broken("embedding adds a last dimension of length 1", node)


def _check_reshape(node: ir.Reshape) -> None:
    if len(node.type) != len(node.value.type):
        broken("reshaping keeps the capacity", node)
    for new, old in zip(node.type, node.value.type, strict=True):
        if new.space != old.space:
            broken("reshaping keeps the space", node)
        volumes = [_constant_volume(part.shape) for part in (new, old)]
        if not (None in volumes or volumes[0] == volumes[1]):
            broken("reshaping keeps the volume", node)


def _check_convert(node: ir.Convert) -> None:
    if not shaped_alike(node.type, node.value.type):
        broken("converting keeps the shape", node)


def _check_filter(node: ir.Filter) -> None:
    if not (len(node.mask.type) == 1 and len(node.mask.type[0].shape) == 1):
        broken("a mask is a vector", node)
    if not all(part.shape for part in node.tol.type):
        broken("what is filtered has a dimension", node)
    count = atom(node.length)
    kept = tuple(Part((count, *part.shape[1:]), part.space) for part in node.tol.type)
    if not alike(node.type, kept):
        broken("filtering changes the first length only", node)


def _check_length(node: ir.Length) -> None:
    if not is_numeric(node.value.type) or node.type != node.value.type:
        broken("a length is a number", node)


def _check_build(node: ir.Build) -> None:
    if len(node.coords) != len(node.extents):
        broken("every coordinate has an extent", node)
    members = node.body.result.type
    if len(node.type) != len(members):
        broken("a build has the capacity of its members", node)
    for own, part in zip(node.type, members, strict=True):
        if own.space != part.space or not same_shape(own.shape, (*node.extents, *part.shape)):
            broken("a build has the extents, then the shape of its members", node)


def _check_fold(node: ir.Fold) -> None:
    if len(node.coords) != len(node.extents):
        broken("every coordinate has an extent", node)
    types = (node.type, node.accumulator.type, node.start.type, node.body.result.type)
    if len(set(map(len, types))) != 1:
        broken("an accumulator keeps its capacity", node)
    if not same_ranks(*types):
        broken("an accumulator keeps its rank", node)
    if node.ends is not None and (node.extents != (atom(node.ends),) or node.type[0].shape):
        broken("a fold that ends by a condition runs over its own length, and starts with a numeric", node)


def _check_select(node: ir.Select) -> None:
    if not same_ranks(node.then.result.type, node.other.result.type, node.type):
        broken("both sides of a choice have the result's rank", node)
    for condition in children(node):
        if not is_numeric(condition.type):
            broken("a condition is a numeric", node)


_RULES: Mapping[type, Callable[[Any], None] | None] = {
    ir.Input: None,
    ir.Ref: None,
    ir.Number: _check_number,
    ir.Table: _check_table,
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
    ir.Length: _check_length,
}
"""How each kind of node must fit its operands; for inputs and variables only the scope is checked."""

_CHECKS = {kind: (rule, _SCOPES.get(kind), REGIONS.get(kind)) for kind, rule in _RULES.items()}
"""All checks of a node, with a function that returns the blocks inside it."""
