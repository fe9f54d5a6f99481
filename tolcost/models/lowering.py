"""One operator of a graph, lowered for what is known of its inputs.

Small values are handed to the definition as values, so that shapes can be computed from them;
weights are data.  A definition that must know an integer which only data decides gets a symbol for
it, named after the tensor: the cost then is a formula in that symbol.
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
from tolcost.elaborate import Inputs, Tensor, elaborate
from tolcost.elaborate.values import (
    Cast,
    Data,
    Misfit,
    Missing,
    Quotient,
    Seq,
    StaticNode,
    Value,
    Vec,
    View,
    is_static,
)
from tolcost.models.facts import (
    MOST_STATIC,
    Known,
    as_tensor,
    space_of,
    symbols_in,
)
from tolcost.models.lowered import Given, Lowered, Setting, Told, arguments
from tolcost.spaces import kind_of

_OTHERWISE = "the branch for all other lengths does not fit what follows"


def lower(setting: Setting, node: GraphNode, spec: Spec, given: Given) -> Lowered | Rejected:
    """Lower an operator; a diagnostic says why where that cannot be done.

    Where a graph inside of it cannot be, the branch that was chosen last is chosen the other way; where a
    branch that data decides cannot be run at all, every run takes the other.
    """
    found = _chosen(setting, node, spec, given)
    if not isinstance(found, Rejected) or not spec.branches or given.decided:
        return found
    sides = [
        _chosen(setting, node, spec, replace(given, inputs=(Cast(side, "bool"),))) for side in (TRUE, FALSE)
    ]
    match sides:
        case (Lowered() as one, Misfit()) | (Misfit(), Lowered() as one):
            return _bounded(one)
        case _:
            return found


def _bounded(lowered: Lowered) -> Lowered:
    """Of two branches the only one that can be run at these lengths, whatever the condition."""
    counts = replace(lowered.counts, status="upper bound")
    return replace(lowered, made=Told(counts, lowered.traffic, lowered.outputs))


def _chosen(setting: Setting, node: GraphNode, spec: Spec, given: Given) -> Lowered | Rejected:
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
    return Rejected(*first.diagnostics) if written else first  # at lengths not tried it may fit


def _attempt(
    setting: Setting, choices: Choices, node: GraphNode, spec: Spec, given: Given
) -> Lowered | Rejected:
    try:
        return _lower(setting, choices, node, spec, given)
    except Rejected as rejected:
        return rejected.with_traceback(None)  # where it was raised would keep everything alive
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
        Told(counts, traffic(lowered.program), outputs),
        _relied(lowered.program.conditions, choices) if node.graphs else lowered.program.conditions,
        lowered.equal,
        frozenset(_data(counts, outputs)).difference(*inherited),
        lowered.program,
        tuple(titled),
        tuple(choices.met),
        around.inside,
        any(map(_forgotten, titled.values(), outputs)),
        lowered.open,
        unproved=lowered.program.unproved,
        unlisted=tuple(around.unlisted),
    )


def _as_data(given: Given) -> Iterator[tuple[str, Tensor]]:
    """Values around graphs that are data to nodes inside, as they are to nodes outside."""
    for name, known in given.around.items():
        tensor = known if is_handed(known, together=False) else as_tensor(known)
        if tensor is not known and isinstance(tensor, Tensor):
            yield name, tensor


def _relied(conditions: Sequence[Condition], choices: Choices) -> tuple[Condition, ...]:
    """What an operator with graphs inside relies on: not what the branches need that were not chosen."""
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


# ---- what is known of its outputs ----------------------------------------------------------


def _with_spaces(
    setting: Setting, node: GraphNode, given: Given, found: tuple[Known, ...]
) -> tuple[Known, ...]:
    """Outputs in spaces of ONNX: its schema is asked where the definition found none of them."""
    if not any(map(_is_outside, found)):
        return found
    told = output_spaces(node, setting.opsets.get(node.domain), [space_of(known) for known in given.inputs])
    return tuple(starmap(_told, zip_longest(found, told[: len(found)])))


def _is_outside(known: Known) -> bool:
    if isinstance(known, Inputs):
        return any(map(_is_outside, known.items))
    return isinstance(known, Tensor | Cast) and known.space not in CODE_OF_SPACE


def _told(known: Known, space: str | None) -> Known:
    """What is known, in the space that the operator says where the definition found none of ONNX's."""
    if isinstance(known, Inputs):
        return Inputs(tuple(_told(item, space) for item in known.items))
    if space is None or not isinstance(known, Tensor | Cast) or not _is_outside(known):
        return known
    return replace(known, space=space)


def _known(name: str, value: Value, nodes: Mapping[str, Node]) -> Known:
    """What later nodes may know of an output: its value where that is static, else its shape and space."""
    if isinstance(value, Seq):
        return Inputs(
            tuple(_known(f"{name}.{n}", item, nodes) for n, item in enumerate(value.items, start=1))
        )
    if isinstance(value, Missing | str):
        return value
    part = nodes[name].type[0]
    if is_static(value) and _portable(value) and elements(value) <= MOST_STATIC:
        inner, space = (value.value, value.space) if isinstance(value, Cast) else (value, part.space)
        return Cast(_plain(inner, kind_of(space)), space)
    return Tensor(part.shape, part.space)


def _forgotten(value: Value, known: Known) -> bool:
    """Whether a static value is known by its shape only."""
    if isinstance(value, Seq) and isinstance(known, Inputs):
        return any(map(_forgotten, value.items, known.items))
    return isinstance(known, Tensor) and is_static(value)


def _plain(value: Value, kind: str) -> Value:
    """A static value as any definition may take it: an integer is no fraction, and a real no integer.

    Integers divide otherwise than reals do, even where a real happens to be whole.
    """
    match value:
        case Vec(shape=shape, items=items):
            return Vec(shape, tuple(_plain(item, kind) for item in items))
        case Cast(value=inner):
            return _plain(inner, kind)
        case Fraction(denominator=1, numerator=number) if kind == "Z":
            return const(number)
        case Poly(constant=number) if kind == "R":
            return Quotient(value, const(1)) if number is None else Fraction(number)
        case _:
            return value


def _portable(value: Value) -> bool:
    """Whether a static value means the same outside of the program it comes from."""
    match value:
        case Cast(value=inner):
            return _portable(inner)
        case Vec(items=items):
            return all(_portable(item) for item in items)
        case Data() | View() | StaticNode():
            return False
        case _:
            return True
