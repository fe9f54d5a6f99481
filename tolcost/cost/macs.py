"""Multiply–accumulate: multiplications whose product a fold adds up, found in the IR's structure.

A multiplication counts when its product reaches the accumulator of a fold through additions
alone: as ``acc + x*w`` in the step, or as the element of a built ToL that the step adds
(``reduce(map(..., mul), add, 0)``).  Names, static choices, and the copies of reshape and convert
may lie between.  The accumulator may be a list or a ToL whose members are added up, as in a transposed
convolution that puts ``t[p] + x*w`` back into ``t``.  A fold over few entries may have been unrolled:
its accumulators are then variables of one ``JointWork``.  The step may first scale the accumulator by
one number for all its members (``acc*f + x*w``); a number for each, as a gate is, ends the sum.
A product that data selects, or that is added outside a fold, does not count, and neither does a square.

The sum may be in another node of a model.  For that case ``find_mac_flow`` finds the inputs that the folds
of a program add up directly, and the products and inputs that its outputs consist of.  Across nodes, a
product with a single number is a scale and does not count, and no additions may lie between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import NamedTuple

from msgspec import Struct

from tolcost.algebra import (
    Poly,
    Symbol,
)
from tolcost.atoms.kit import (
    Schedules,
    blocks,
    bound_nodes,
    children,
    inner_nodes,
    parts_first,
    reached,
    resolve_name,
    schedules,
)
from tolcost.atoms.nodes import (
    Build,
    Component,
    Convert,
    Embed,
    Fold,
    Input,
    Join,
    JointWork,
    Lambda,
    Member,
    Node,
    Number,
    Pack,
    Program,
    Put,
    Ref,
    Reshape,
    Select,
    Var,
)

_PRODUCT = ("mul", "data")
_SUMS = ("add", "sub")


def accumulated_products(program: Program, found: Schedules) -> set[Node]:
    """Return the multiplications whose products folds add up directly.

    Where one node of a graph multiplies and another adds, a product with a single number is a scale and does
    not count.
    """
    bound = bound_nodes(program, found)
    products = {
        node
        for added in _all_added(bound, found)
        for node in _direct_operands(added.term, bound, added.step)
        if isinstance(node, Lambda) and (node.of == added.of or not _is_scalar_factor(node, bound))
    }
    return {node for node in products if not _is_square(node, bound)}


def _is_scalar_factor(product: Lambda, bound: dict[Var, Node]) -> bool:
    """Whether one factor of a product is a single number for all products."""
    return any(_is_single(factor, bound) for factor in product.args)


def _is_square(product: Lambda, bound: dict[Var, Node]) -> bool:
    """Whether both factors are the same number, read or computed twice."""
    one, other = product.args
    pairs: list[tuple[Node | Poly, Node | Poly]] = [(one, other)]
    while pairs:
        a, b = (resolve_name(side, bound) for side in pairs.pop())
        if a is b:
            continue
        match a, b:
            case Poly(), Poly():
                same = a == b
            case Input(), Input():
                same = a.name == b.name
            case Number(), Number():
                same = a.value == b.value
            case Ref(), Ref():
                same = a.var is b.var
            case Member(), Member():
                same = len(a.at) == len(b.at)
                pairs += [(a.tol, b.tol), *zip(a.at, b.at, strict=False)]
            case Component(), Component():
                same = a.j == b.j
                pairs.append((a.value, b.value))
            case Lambda(), Lambda():
                same = (a.function, a.space, len(a.args)) == (b.function, b.space, len(b.args))
                pairs += zip(a.args, b.args, strict=False)
            case _:
                same = False
        if not same:
            return False
    return True


def _all_added(bound: dict[Var, Node], found: Schedules) -> Iterator[_Added]:
    """Yield the terms that fold steps add to their accumulators."""
    for plan in found:
        for node in plan.nodes:
            if isinstance(node, Fold):
                yield from _added_terms(node.body.result, dict(node.body.bindings), node.accumulator)
    for var, node in bound.items():
        if var.work is not None:
            yield from _added_terms(node, bound, var.work)


InputNames = frozenset[str]


class OutputSources(Struct, frozen=True):
    """The elements of an output: products, each with the inputs among its factors, and inputs themselves."""

    products: Mapping[Node, tuple[InputNames, ...]]
    inputs: InputNames


class MacFlow(Struct, frozen=True):
    """The flow of products through a program: inputs that its folds add up, and elements of its outputs."""

    added: InputNames
    outputs: Mapping[str, OutputSources]


def find_mac_flow(program: Program) -> MacFlow:
    """Find the inputs that a program adds up, and the outputs whose products a later node may add up."""
    found = schedules(program)
    bound = bound_nodes(program, found)
    outputs = {}
    for output in program.outputs:
        leaves = _direct_operands(output.node, bound)
        products: dict[Node, tuple[InputNames, ...]] = {
            leaf: tuple(_inputs(_direct_operands(factor, bound)) for factor in leaf.args)
            for leaf in leaves
            if isinstance(leaf, Lambda) and not _is_scalar_factor(leaf, bound)
        }
        outputs[output.name] = OutputSources(products, _inputs(leaves))
    added = {leaf for one in _all_added(bound, found) for leaf in _direct_operands(one.term, bound)}
    return MacFlow(_inputs(added), outputs)


def gives_products(program: Program) -> bool:
    """Whether an output has products among its elements, which may be added up where it is used."""
    bound = bound_nodes(program, schedules(program))
    leaves = (leaf for output in program.outputs for leaf in _direct_operands(output.node, bound))
    return any(isinstance(leaf, Lambda) for leaf in leaves)


def _is_single(node: Node, bound: dict[Var, Node]) -> bool:
    """Whether a factor is one number for all products: a scale, which could be applied to the sum instead."""
    match node:
        case Number(value=value):
            return not isinstance(value, Poly) or all(s.kind != "coord" for s in value.free)
        case Input(type=type_):
            return all(d.constant == 1 for part in type_ for d in part.shape)
        case Ref(var=var) if var in bound:
            return _is_single(bound[var], bound)
        case Member(tol=value) | Reshape(value=value) | Convert(value=value):
            return _is_single(value, bound)
        case _:
            return False


def _inputs(leaves: set[Node]) -> InputNames:
    return frozenset(leaf.name for leaf in leaves if isinstance(leaf, Input))


class _Added(NamedTuple):
    """A term added to an accumulator, the names its step binds, and the graph node that adds it."""

    term: Node
    step: Mapping[Var, Node]
    of: int


def _added_terms(result: Node, bound: dict[Var, Node], accumulator: Var | JointWork) -> list[_Added]:
    """Return the terms that a step adds to its accumulator, or to members of it, looking through names.

    Terms beside the accumulator itself come first, then those beside multiples of it.
    """
    order = _additions(result, bound)
    reaching: set[Node] = set()
    for node, summands in order:
        if _is_carried(node, accumulator) or any(summand in reaching for summand in summands):
            reaching.add(node)
    plain = _terms_beside(reaching, order, bound)
    below = _all_summands((one.term for one in plain), dict(order))
    coords = {coord for node, _ in order if isinstance(node, Build) for coord in node.coords}
    scaled: set[Node] = set()
    for node, summands in order:
        if node not in below and not (isinstance(node, Lambda) and node in reaching):
            is_first = isinstance(node, Lambda) and _is_scaled(node, bound, accumulator, coords)
            if is_first or any(summand in scaled for summand in summands):
                scaled.add(node)
    return plain + _terms_beside(scaled, order, bound)


def _terms_beside(
    reaching: set[Node], order: list[tuple[Node, tuple[Node, ...]]], bound: dict[Var, Node]
) -> list[_Added]:
    """Return the terms of sums of which exactly one other term contains the accumulator."""
    return [
        _Added(arg, bound, node.of)
        for node, _ in order
        if isinstance(node, Lambda) and sum(arg in reaching for arg in _sum_of(node)) == 1
        for arg in node.args
        if arg not in reaching
    ]


def _all_summands(tops: Iterable[Node], summands: Mapping[Node, tuple[Node, ...]]) -> set[Node]:
    return set(reached(tops, lambda node: summands.get(node, ())))


def _is_scaled(
    node: Lambda, bound: Mapping[Var, Node], accumulator: Var | JointWork, coords: Set[Symbol]
) -> bool:
    """Whether a product is the accumulator, or a member of it, times one number for all its members."""
    if (node.function, node.charge) != _PRODUCT:
        return False
    factors = [factor for factor in node.args if not _is_part_of(factor, bound, accumulator)]
    return len(factors) == 1 and not coords & _symbols_under(factors[0], bound)


def _is_part_of(node: Node, bound: Mapping[Var, Node], accumulator: Var | JointWork) -> bool:
    """Whether a value is the accumulator, or taken out of it, under any name."""
    while not _is_carried(node, accumulator):
        match node:
            case Ref(var=var) if var in bound and var.work is None:
                node = bound[var]
            case Member(tol=value) | Component(value=value) | Reshape(value=value) | Convert(value=value):
                node = value
            case _:
                return False
    return True


def _symbols_under(top: Node, bound: Mapping[Var, Node]) -> set[Symbol]:
    """Return the symbols of the static numbers and indices that a value is computed from."""
    forms = [
        form
        for node in inner_nodes((top,), bound)
        for form in (
            node.at if isinstance(node, Member) else (node.value,) if isinstance(node, Number) else ()
        )
    ]
    return {symbol for form in forms if isinstance(form, Poly) for symbol in form.free}


def _is_carried(node: Node, accumulator: Var | JointWork) -> bool:
    """Whether a node is the accumulator of this fold, or one of the accumulators of this work."""
    return isinstance(node, Ref) and accumulator in (node.var, node.var.work)


def _sum_of(node: Lambda) -> tuple[Node, ...]:
    """Return the terms of a sum or a difference; hardware subtracts a product in the same step, too."""
    return node.args if node.function in _SUMS and node.charge == "data" else ()


def _additions(result: Node, bound: dict[Var, Node]) -> list[tuple[Node, tuple[Node, ...]]]:
    """Return the nodes whose sum is the result of a step, each with its summands, in topological order."""

    def entered(node: Node) -> tuple[Node, ...]:
        for block in blocks(node):
            bound.update(block.bindings)
        return _summands(node, bound)

    return [(node, _summands(node, bound)) for node in parts_first((result,), entered)]


def _summands(node: Node, bound: dict[Var, Node]) -> tuple[Node, ...]:
    """Return the summands or members of a value; nothing for any other kind of value.

    A variable of a ``JointWork`` is not looked through: the work has its own accumulators, as a fold has.
    """
    match node:
        case Ref(var=var) if var in bound and var.work is None:
            return (bound[var],)
        case Lambda():
            return _sum_of(node)
        case Build() | Select():
            return tuple(block.result for block in blocks(node))
        case Member(tol=tol):
            return (tol,)
        case Put(tol=tol, value=value):
            return (tol, value)
        case Pack() | Join() | Component() | Embed() | Reshape() | Convert():
            return children(node)
        case _:
            return ()


def _direct_operands(
    term: Node, bound: Mapping[Var, Node], step: Mapping[Var, Node] | None = None
) -> set[Node]:
    """Return the multiplications and inputs that a value, or the elements of a ToL, consist of.

    A term that a step adds may itself be a sum, if this step computes it; the elements of a ToL were added up
    before the step, so their sums are not followed.
    """

    def sources(at: tuple[Node, int, bool]) -> list[tuple[Node, int, bool]]:
        node, place, here = at
        if _is_direct(node):
            return []
        if isinstance(node, Lambda):
            return [(arg, 0, True) for arg in _sum_of(node) if here]
        here = here and not isinstance(node, Member | Build) and not _is_outside(node, step)
        return [(value, part, here) for value, part in _source_components(node, place, bound)]

    return {node for node, _, _ in reached([(term, 0, step is not None)], sources) if _is_direct(node)}


def _is_direct(node: Node) -> bool:
    """Whether a node is an input or a product of data."""
    return isinstance(node, Input) or (isinstance(node, Lambda) and (node.function, node.charge) == _PRODUCT)


def _is_outside(node: Node, step: Mapping[Var, Node] | None) -> bool:
    return isinstance(node, Ref) and (step is None or node.var not in step)


def _source_components(node: Node, place: int, bound: Mapping[Var, Node]) -> list[tuple[Node, int]]:
    """Return the values, each with a component index, whose elements one component of a value copies."""
    match node:
        case Ref(var=var) if var in bound:
            return [(bound[var], place)]
        case Component(value=value, j=j):
            return [(value, j - 1)]
        case Pack(items=items):
            parts = [(item, j) for item in items for j in range(len(item.type))]
            return [parts[place]]
        case Member(tol=value) | Reshape(value=value) | Convert(value=value) | Embed(value=value):
            return [(value, place)]
        case Join(left=one, right=other) | Put(tol=one, value=other):
            return [(one, place), (other, place)]
        case Build() | Select():
            return [(block.result, place) for block in blocks(node)]
        case _:
            return []
