"""Checking that a program of the atomic IR is well formed.

A broken rule is a mistake of the compiler, never of the user, so it is an ``InternalError``
that names the rule.  Lengths are compared only as far as they are plain numbers: whether two
symbolic lengths agree is a matter of the program's conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tolcost.algebra import Cond, Poly, Symbol, symbols_of_cond
from tolcost.atoms.nodes import (
    Block,
    Build,
    Component,
    Constant,
    Convert,
    Embed,
    Filter,
    Fold,
    Input,
    Join,
    Lambda,
    Member,
    Node,
    Number,
    Pack,
    Part,
    Program,
    Put,
    Ref,
    Reshape,
    Select,
    Table,
    Type,
    Var,
    Where,
)
from tolcost.atoms.walk import operands
from tolcost.diagnostics import InternalError
from tolcost.elementary import FUNCTIONS
from tolcost.spaces import SPACES


def verify(program: Program) -> None:
    """Check every rule; raise ``InternalError`` at the first one broken."""
    checker = _Checker(program)
    results = tuple(output.node for output in program.outputs)
    pending = [checker.walk(_in_order(program.bindings, results), ())]
    while pending:
        inner = next(pending[-1], None)
        if inner is None:
            pending.pop()
        else:
            block, coords, var = inner
            pending.append(checker.enter(block, coords, var))


def demand(holds: bool, rule: str, node: object) -> None:
    """Stop if a rule does not hold."""
    if not holds:
        raise InternalError(f"the IR is broken: {rule} ({type(node).__name__})")


_Inner = tuple[Block, tuple[Symbol, ...], Var | None]
_Plan = dict[Node, list[Var]]
"""The nodes of a block, operands before their users, each with the variables that name it."""


def _in_order(bindings: tuple[tuple[Var, Node], ...], results: tuple[Node, ...]) -> _Plan:
    plan: _Plan = {}
    for var, root in bindings:
        _place(root, plan)
        plan[root].append(var)
    for root in results:
        _place(root, plan)
    return plan


def _place(root: Node, plan: _Plan) -> None:
    pending: list[tuple[Node, bool]] = [(root, False)]
    while pending:
        node, ready = pending.pop()
        if node in plan:
            continue
        children = () if ready else operands(node)
        if children:
            pending.append((node, True))
            pending.extend([(child, False) for child in reversed(children)])
        else:
            plan[node] = []


class _Checker:
    """What is in scope while walking."""

    def __init__(self, program: Program) -> None:
        self.inputs = {needed.name: needed for needed in program.inputs}
        demand(len(self.inputs) == len(program.inputs), "inputs have different names", program)
        names = {output.name for output in program.outputs}
        demand(len(names) == len(program.outputs), "outputs have different names", program)
        self.vars: set[Var] = set()
        self.coords: set[Symbol] = set()

    def enter(self, block: Block, coords: tuple[Symbol, ...], var: Var | None) -> Iterator[_Inner]:
        """Walk a block with coordinates and perhaps an accumulator in scope."""
        demand(len(set(coords)) == len(coords), "coordinates of a quantifier differ", block)
        demand(self.coords.isdisjoint(coords), "a coordinate is bound once", block)
        self.coords.update(coords)
        plan = _in_order(block.bindings, (block.result,))
        yield from self.walk(plan, () if var is None else (var,))
        self.coords.difference_update(coords)

    def walk(self, plan: _Plan, given: tuple[Var, ...]) -> Iterator[_Inner]:
        """Check the nodes in order, handing out the blocks inside on the way."""
        local = list(given)
        for var in given:
            self.vars.add(var)
            self.type(var.type, var)
        for node, names in plan.items():
            self.type(node.type, node)
            check_node(node)
            self.scope(node)
            yield from _inner_blocks(node)
            for var in names:
                demand(var not in self.vars, "a variable is bound once", node)
                demand(alike(var.type, node.type), "a variable has the type of its value", node)
                self.vars.add(var)
                local.append(var)
        self.vars.difference_update(local)

    def type(self, types: Type, node: object) -> None:
        """Check that spaces exist and that lengths mention coordinates in scope."""
        demand(bool(types), "a value has a component", node)
        for part in types:
            demand(part.space in SPACES, f"the space {part.space} exists", node)
            self.polys(part.shape, node)

    def polys(self, polys: Iterable[Poly], node: object) -> None:
        """Check that static integers mention only coordinates in scope."""
        for p in polys:
            self.symbols(p.free, node)

    def symbols(self, symbols: frozenset[Symbol], node: object) -> None:
        """Check that coordinates are in scope; lengths always are."""
        for symbol in symbols:
            if symbol.kind == "coord":
                demand(symbol in self.coords, f"the coordinate {symbol.name} is in scope", node)

    def constant(self, value: Constant, node: object) -> None:
        """Check what a static numeric mentions."""
        if isinstance(value, Poly):
            self.symbols(value.free, node)
        elif isinstance(value, Cond):
            self.symbols(symbols_of_cond(value), node)

    def scope(self, node: Node) -> None:
        """Check that everything a node mentions by name is in scope."""
        match node:
            case Ref(var=var):
                demand(var in self.vars, f"the variable {var.name} is in scope", node)
            case Input(name=name):
                demand(name in self.inputs, f"the input {name} is declared", node)
                demand(alike(node.type, self.inputs[name].type), "an input has its declared type", node)
            case Number(value=value):
                self.constant(value, node)
            case Table(values=values):
                for value in values:
                    self.constant(value, node)
            case Member(at=at) | Put(at=at):
                self.polys((index for index in at if isinstance(index, Poly)), node)
            case Build(extents=extents):
                self.polys(extents, node)
            case Fold(extents=extents, coords=coords):
                own = frozenset(coords)
                for extent in extents:  # a later extent may depend on an earlier coordinate
                    self.symbols(extent.free - own, node)
            case Select(condition=condition) if isinstance(condition, Cond):
                self.symbols(symbols_of_cond(condition), node)
            case _:
                pass


def _inner_blocks(node: Node) -> Iterator[_Inner]:
    match node:
        case Build(body=body, coords=coords):
            yield body, coords, None
        case Fold(body=body, coords=coords, accumulator=accumulator):
            yield body, coords, accumulator
        case Select(then=then, other=other):
            yield then, (), None
            yield other, (), None
        case _:
            pass


# ---- rules about one node --------------------------------------------------------------------


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
    return len(a) == len(b) and not any(x != y and (x - y).constant for x, y in zip(a, b, strict=True))


def numeric(types: Type) -> bool:
    """Tell whether a type is that of one number."""
    return len(types) == 1 and not types[0].shape


def check_node(node: Node) -> None:
    """Check that a node fits its operands."""
    match node:
        case Input() | Ref():
            pass
        case Number():
            demand(numeric(node.type), "a number is a numeric", node)
        case Table():
            _check_table(node)
        case Lambda() | Where():
            _check_function(node)
        case Member() | Put():
            _check_access(node)
        case Component() | Pack():
            _check_list(node)
        case Join() | Embed() | Reshape() | Convert() | Filter():
            _check_whole(node)
        case Build() | Fold() | Select():
            _check_quantifier(node)


def _check_table(node: Table) -> None:
    demand(len(node.type) == 1, "a table has one component", node)
    volume = 1
    for length in node.type[0].shape:
        demand(length.constant is not None, "a table has a concrete shape", node)
        volume *= length.constant or 0
    demand(volume == len(node.values), "a table has as many values as its shape says", node)


def _check_function(node: Lambda | Where) -> None:
    demand(node.space in SPACES, f"the space {node.space} exists", node)
    if isinstance(node, Where):
        demand(numeric(node.condition.type), "a condition is a numeric", node)
        demand(shaped_alike(node.then.type, node.type), "the first value has the result's shape", node)
        demand(shaped_alike(node.other.type, node.type), "the second value has the result's shape", node)
        return
    demand(node.function in FUNCTIONS, f"the function {node.function} exists", node)
    least, most = FUNCTIONS[node.function].arity
    demand(least <= len(node.args) <= most, f"{node.function} takes {least} to {most} arguments", node)
    demand(all(numeric(arg.type) for arg in node.args), "functions apply to numerics", node)
    demand(numeric(node.type), "a function gives a numeric", node)


def _check_access(node: Member | Put) -> None:
    for index in node.at:
        demand(isinstance(index, Poly) or numeric(index.type), "an index is a numeric", node)
    ranks = {len(part.shape) for part in node.tol.type}
    if isinstance(node, Member):
        demand(ranks == {len(node.at)}, "a member has a full coordinate", node)
        expected = tuple(Part((), part.space) for part in node.tol.type)
        demand(alike(node.type, expected), "a member has the type of the ToL's members", node)
        return
    demand(all(len(node.at) <= rank for rank in ranks), "a coordinate is not longer than the rank", node)
    demand(alike(node.type, node.tol.type), "replacing keeps the type", node)
    members = tuple(Part(part.shape[len(node.at) :], part.space) for part in node.tol.type)
    demand(shaped_alike(node.value.type, members), "what is put has the shape of what it replaces", node)


def _check_list(node: Component | Pack) -> None:
    if isinstance(node, Pack):
        parts = tuple(part for item in node.items for part in item.type)
        demand(bool(node.items) and alike(node.type, parts), "a list has the components of its items", node)
        return
    demand(1 <= node.j <= len(node.value.type), "a component is one of the list's", node)
    demand(alike(node.type, (node.value.type[node.j - 1],)), "a component has its own type", node)


def _check_whole(node: Join | Embed | Reshape | Convert | Filter) -> None:
    match node:
        case Join():
            _check_join(node)
        case Embed():
            expected = tuple(Part((*part.shape, _ONE), part.space) for part in node.value.type)
            demand(alike(node.type, expected), "embedding adds a last dimension of length 1", node)
        case Reshape():
            _check_reshape(node)
        case Convert():
            demand(shaped_alike(node.type, node.value.type), "converting keeps the shape", node)
        case Filter():
            demand(len(node.mask.type) == 1 and len(node.mask.type[0].shape) == 1, "a mask is a vector", node)
            demand(all(part.shape for part in node.tol.type), "what is filtered has a dimension", node)
            count = Poly({(node.length,): 1})
            kept = tuple(Part((count, *part.shape[1:]), part.space) for part in node.tol.type)
            demand(alike(node.type, kept), "filtering changes the first length only", node)


_ONE = Poly({(): 1})


def _check_join(node: Join) -> None:
    sides = (node.left.type, node.right.type)
    demand(len(sides[0]) == len(sides[1]) == len(node.type), "joined values have the same capacity", node)
    for left, right, part in zip(*sides, node.type, strict=True):
        ranks = {len(left.shape), len(right.shape), len(part.shape)}
        demand(len(ranks) == 1, "joined values have one rank", node)
        demand(1 <= node.d <= len(part.shape), "a join is along one of the dimensions", node)
        d = node.d - 1
        rest = [shape[:d] + shape[d + 1 :] for shape in (left.shape, right.shape, part.shape)]
        fits = same_shape(rest[0], rest[1]) and same_shape(rest[0], rest[2])
        demand(fits, "joined values agree in the other dimensions", node)
        total = left.shape[d] + right.shape[d]
        demand(same_shape((total,), part.shape[d : d + 1]), "joined lengths add up", node)


def _check_reshape(node: Reshape) -> None:
    demand(len(node.type) == len(node.value.type), "reshaping keeps the capacity", node)
    for new, old in zip(node.type, node.value.type, strict=True):
        demand(new.space == old.space, "reshaping keeps the space", node)
        volumes = [_constant_volume(part.shape) for part in (new, old)]
        demand(None in volumes or volumes[0] == volumes[1], "reshaping keeps the volume", node)


def _constant_volume(shape: tuple[Poly, ...]) -> int | None:
    volume = 1
    for length in shape:
        if length.constant is None:
            return None
        volume *= length.constant
    return volume


def _check_quantifier(node: Build | Fold | Select) -> None:
    match node:
        case Build():
            demand(len(node.coords) == len(node.extents), "every coordinate has an extent", node)
            body = node.body.result.type
            built = tuple(Part((*node.extents, *part.shape), part.space) for part in body)
            demand(alike(node.type, built), "a build has the extents, then the shape of its members", node)
        case Fold():
            demand(len(node.coords) == len(node.extents), "every coordinate has an extent", node)
            sizes = {len(types) for types in (node.type, node.accumulator.type, node.start.type)}
            demand(len(sizes) == 1, "an accumulator keeps its capacity", node)
            demand(len(node.body.result.type) in sizes, "a step gives an accumulator", node)
            ranks = [
                [len(part.shape) for part in types]
                for types in (node.type, node.accumulator.type, node.start.type, node.body.result.type)
            ]
            demand(all(rank == ranks[0] for rank in ranks), "an accumulator keeps its rank", node)
        case Select():
            sides = (node.then.result.type, node.other.result.type)
            ranks = [[len(part.shape) for part in types] for types in (*sides, node.type)]
            demand(ranks[0] == ranks[1] == ranks[2], "both sides of a choice have the result's rank", node)
            if isinstance(node.condition, Node):
                demand(numeric(node.condition.type), "a condition is a numeric", node)
