"""Lower one operator of a graph for the known facts about its inputs.

Small values are passed to the definition as values, so that shapes can be computed from them; weights are
data.  Where a definition must know an integer that only data decides, it gets a symbol named after the
tensor: the cost is then a formula in that symbol.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import starmap, zip_longest

from msgspec.structs import replace

from tolcost.algebra import (
    FALSE,
    TRUE,
    AlgebraBudget,
    Poly,
    Symbol,
    cond_text,
    const,
    prove,
)
from tolcost.atoms.nodes import Condition, Node
from tolcost.catalogue.binding import bind, elements, is_handed, places
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.operand_types import output_spaces
from tolcost.catalogue.specs import Spec
from tolcost.catalogue.subgraphs import (
    MOST_CHOICES,
    Choices,
    Surroundings,
    graph_functions,
    is_open,
)
from tolcost.catalogue.types import CODE_OF_SPACE
from tolcost.cost import Counts, count, traffic
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.elaborate import Tensor, elaborate
from tolcost.elaborate.faults import Misfit
from tolcost.elaborate.values import Cast, Missing, NodeValue, Quotient, Seq, Value, Vec, View, is_static
from tolcost.models.facts import (
    MOST_STATIC,
    Known,
    as_tensor,
    space_of,
    symbols_in,
)
from tolcost.models.lowered import ComputedCost, Given, Lowered, Setting, arguments, options_of
from tolcost.spaces import kind_of

_OTHERWISE = "the branch for all other lengths does not fit what follows"


def lower(setting: Setting, node: GraphNode, spec: Spec, given: Given) -> Lowered | Rejected:
    """Lower an operator; the result is a diagnostic if that fails.

    If a nested graph cannot be lowered, the most recent choice of a branch is reversed; if a data-dependent
    branch cannot be run at all, every run takes the other.
    """
    found = _lower_with_choices(setting, node, spec, given)
    if not isinstance(found, Rejected) or not spec.branches or given.decided:
        return found
    sides = [
        _lower_with_choices(setting, node, spec, replace(given, inputs=(Cast(side, "bool"),)))
        for side in (TRUE, FALSE)
    ]
    match sides:
        case (Lowered() as one, Misfit()) | (Misfit(), Lowered() as one):
            return _as_upper_bound(one)
        case _:
            return found


def _as_upper_bound(lowered: Lowered) -> Lowered:
    """Mark the cost of the only branch that can run at these lengths as an upper bound."""
    counts = replace(lowered.counts, status="upper bound")
    return replace(lowered, made=ComputedCost(counts, lowered.traffic, lowered.outputs))


def _lower_with_choices(setting: Setting, node: GraphNode, spec: Spec, given: Given) -> Lowered | Rejected:
    written: frozenset[str] = frozenset()
    first: Rejected | None = None
    for _ in range(MOST_CHOICES):
        choices = Choices(setting.assumed, written)
        found = _attempt(setting, choices, node, spec, given)
        if not isinstance(found, Rejected):
            return found
        first, written = first or choices.failed or found, choices.written
        if not choices.met or not isinstance(found, Misfit):
            break
        written |= {cond_text(next(reversed(choices.met)))}
    assert first is not None
    return Rejected(*first.diagnostics) if written else first  # it may fit at lengths that were not tried


def _attempt(
    setting: Setting, choices: Choices, node: GraphNode, spec: Spec, given: Given
) -> Lowered | Rejected:
    try:
        return _lower(setting, choices, node, spec, given)
    except Rejected as rejected:
        return rejected.with_traceback(None)  # a traceback would keep everything alive
    except AlgebraBudget as budget:
        return Rejected(Diagnostic("T0504", f"{node.op} takes more algebra than allowed: {budget}"))
    except RecursionError:
        return Rejected(Diagnostic("T0505", f"{node.op} nests too deeply"))


def _lower(setting: Setting, choices: Choices, node: GraphNode, spec: Spec, given: Given) -> Lowered:
    library = setting.library
    inputs = arguments(spec, given, bool(node.graphs))
    if spec.branches and inputs and isinstance(inputs[0], Cast):
        inputs[0] = choices.decided(inputs[0])
    resumes = spec.branches and bool(inputs) and not is_open(inputs[0])
    around = Surroundings(
        library, setting.opsets, {}, choices, setting.body_of, resumes=resumes, repeats=not spec.branches
    )
    bound = bind(node, spec, inputs, graph_functions(node, around))
    lowered = elaborate(
        spec.program,
        bound,
        name=spec.name,
        library=spec.library,
        operators=library.operators(),
        outputs=node.asked,
        around=given.around,
        data=dict(_as_data(given)),
        title=node.label,
    )
    counts = count(lowered.program)
    nodes = {output.name: output.node for output in lowered.program.outputs}
    titled = dict(places(lowered, spec))
    found = tuple(_known(title, value, nodes) for title, value in titled.items())
    outputs = _with_spaces(setting, node, given, found)
    inherited = map(symbols_in, (*given.inputs, *given.around.values()))  # other nodes decide these
    return Lowered(
        node.op,
        node.domain,
        ComputedCost(counts, traffic(lowered.program), outputs),
        _conditions_of(lowered.program.conditions, choices) if node.graphs else lowered.program.conditions,
        lowered.equal,
        frozenset(_data(counts, outputs)).difference(*inherited),
        lowered.program,
        tuple(titled),
        tuple(choices.met),
        around.inside,
        any(map(_is_known_by_shape_only, titled.values(), outputs)),
        lowered.open,
        unproved=lowered.program.unproved,
        unlisted=tuple(around.unlisted),
        options=options_of(node, spec, tuple(titled)),
    )


def _as_data(given: Given) -> Iterator[tuple[str, Tensor]]:
    """Yield outer values that are data to nested nodes, as they are to nodes outside."""
    for name, known in given.around.items():
        tensor = known if is_handed(known, together=False) else as_tensor(known)
        if tensor is not known and isinstance(tensor, Tensor):
            yield name, tensor


def _conditions_of(conditions: Sequence[Condition], choices: Choices) -> tuple[Condition, ...]:
    """Return the conditions of an operator with nested graphs, without those of branches not chosen."""
    used = tuple(Condition(c, _OTHERWISE, "case") for c in choices.used)
    general = tuple(c for c in conditions if c.kind == "case")
    kept = (
        c
        for c in conditions
        if c in general
        or (
            prove(c.condition, tuple(choices.used)) is not True
            and not any(prove(c.condition, (g.condition,)) is False for g in general)
        )
    )
    return (*kept, *used)


def _data(counts: Counts, outputs: tuple[Known, ...]) -> Iterator[Symbol]:
    shapes = (d for known in outputs if isinstance(known, Tensor) for d in known.shape)
    for poly in (*shapes, *counts.atoms.values(), *counts.index.values(), *counts.histogram.values()):
        yield from (symbol for symbol in poly.free if symbol.kind == "data")


# ---- facts about its outputs ---------------------------------------------------------------


def _with_spaces(
    setting: Setting, node: GraphNode, given: Given, found: tuple[Known, ...]
) -> tuple[Known, ...]:
    """Return outputs in spaces of ONNX: where the definition gives another, the operator's schema decides."""
    if not any(map(_is_outside, found)):
        return found
    told = output_spaces(node, setting.opsets.get(node.domain), [space_of(known) for known in given.inputs])
    return tuple(starmap(_in_schema_space, zip_longest(found, told[: len(found)])))


def _is_outside(known: Known) -> bool:
    if isinstance(known, Seq):
        return any(map(_is_outside, known.items))
    return isinstance(known, Tensor | Cast) and known.space not in CODE_OF_SPACE


def _in_schema_space(known: Known, space: str | None) -> Known:
    """Return a fact in the space from the schema, if the definition's space is not one of ONNX's."""
    if isinstance(known, Seq):
        return Seq(tuple(_in_schema_space(item, space) for item in known.items))
    if space is None or not isinstance(known, Tensor | Cast) or not _is_outside(known):
        return known
    return replace(known, space=space)


def _known(name: str, value: Value, nodes: Mapping[str, Node]) -> Known:
    """Return what later nodes may know of an output: its value if it is static, else its shape and space."""
    if isinstance(value, Seq):
        return Seq(tuple(_known(f"{name}.{n}", item, nodes) for n, item in enumerate(value.items, start=1)))
    if isinstance(value, Missing | str):
        return value
    part = nodes[name].type[0]
    if is_static(value) and _is_portable(value) and elements(value) <= MOST_STATIC:
        inner, space = (value.value, value.space) if isinstance(value, Cast) else (value, part.space)
        return Cast(_normalise(inner, kind_of(space)), space)
    return Tensor(part.shape, part.space)


def _is_known_by_shape_only(value: Value, known: Known) -> bool:
    """Whether a static value is known by its shape only."""
    if isinstance(value, Seq) and isinstance(known, Seq):
        return any(map(_is_known_by_shape_only, value.items, known.items))
    return isinstance(known, Tensor) and is_static(value)


def _normalise(value: Value, kind: str) -> Value:
    """Normalise a static value for other definitions: integers are not fractions, and reals are not integers.

    Division of integers differs from that of reals, even of a real that happens to be whole.
    """
    match value:
        case Vec(shape=shape, items=items):
            return Vec(shape, tuple(_normalise(item, kind) for item in items))
        case Cast(value=inner):
            return _normalise(inner, kind)
        case Fraction(denominator=1, numerator=number) if kind == "Z":
            return const(number)
        case Poly(constant=number) if kind == "R":
            return Quotient(value, const(1)) if number is None else Fraction(number)
        case _:
            return value


def _is_portable(value: Value) -> bool:
    """Whether a static value has a meaning outside the program it comes from."""
    match value:
        case Cast(value=inner):
            return _is_portable(inner)
        case Vec(items=items):
            return all(_is_portable(item) for item in items)
        case NodeValue() | View():
            return False
        case _:
            return True
