"""What a report on a model shows: figures with their units, groups with their shares, conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tolcost.algebra import Poly, Symbol, cond_text, substitute, to_text
from tolcost.diagnostics import visible
from tolcost.elaborate import Inputs, Tensor
from tolcost.models.facts import Known, as_tensor
from tolcost.models.study import ModelStudy
from tolcost.models.totals import Figures, Group, by_scope
from tolcost.result.forms import Form, form_at

BY = ("node", "op", "scope")


@dataclass(frozen=True, slots=True)
class Line:
    """A figure: its key for programs, its name for people, its closed form and its value."""

    key: str
    label: str
    form: Form | None
    value: Form | None
    unit: str = ""


def lines(study: ModelStudy) -> tuple[Line, ...]:
    """The figures of a whole model."""
    total, held = study.total, study.holdings
    peak, depth = study.peak, study.depth
    rows: tuple[tuple[str, str, Form | None, str], ...] = (
        ("eops", "EOPs", total.eops, ""),
        ("flops", "FLOPs", total.flops, ""),
        ("macs", "MACs", total.macs, ""),
        ("index", "index functions", total.index_ops, ""),
        ("bytes", "bytes, node by node", total.bytes, ""),
        ("model_bytes", "bytes of the model", held.bytes, "parameters, inputs and outputs"),
        ("params", "parameters", held.parameters, ""),
        ("param_bytes", "parameter bytes", held.parameter_bytes, ""),
        ("peak_bytes", "peak activations", None if peak is None else peak.bytes, _peak_unit(study)),
        ("depth", "depth", depth, "at most"),
        ("intensity", "intensity", total.intensity, "FLOPs per byte"),
    )
    return tuple(Line(key, label, form, value_of(study, form), unit) for key, label, form, unit in rows)


def _peak_unit(study: ModelStudy) -> str:
    if study.peak is None:
        return ""
    return "bytes" if study.peak.exact else "bytes, perhaps more"


def value_of(study: ModelStudy, form: Form | None) -> Form | None:
    """A form at the lengths of the study; None where it has none."""
    return None if form is None else form_at(form, study.place.values)


def share(study: ModelStudy, figures: Figures) -> Fraction | None:
    """What part of all EOPs some nodes have, where every length is known."""
    own, whole = value_of(study, figures.eops), value_of(study, study.total.eops)
    if isinstance(own, int) and isinstance(whole, int) and whole:
        return Fraction(own, whole)
    return None


def percent(part: Fraction | None) -> str:
    """A share for the eye.

    >>> percent(Fraction(1, 3)), percent(None)
    ('33.3 %', '')
    """
    return "" if part is None else f"{float(part) * 100:.1f} %"


def groups(study: ModelStudy, by: str, depth: int = 2) -> tuple[Group, ...]:
    """Figures by node, operator or scope; the costliest first, but nodes in their order."""
    if by == "node":
        return tuple(_nodes(study))
    found = study.operators if by == "op" else by_scope(study.cost, study.adder, depth)
    return tuple(sorted(found, key=lambda group: -_size(study, group.figures.eops)))


def _nodes(study: ModelStudy) -> Iterator[Group]:
    for step, applied in zip(study.model.graph.steps, study.cost.nodes, strict=True):
        yield Group(step.name or step.title, 1, study.adder.node(applied))


def _size(study: ModelStudy, form: Poly) -> int:
    """A number to sort by: the value, or that where open lengths are 512."""
    found = form_at(form, {**dict.fromkeys(form.free, 512), **study.place.values})
    return found if isinstance(found, int) else 0


# ---- values of the graph -------------------------------------------------------------------


def type_of(known: Known | None, study: ModelStudy) -> str:
    """The space and shape of something known, as in ``float32 [batch, 768]``."""
    if isinstance(known, Inputs):
        return f"sequence of {', '.join(type_of(item, study) for item in known.items)}"
    found = None if known is None else as_tensor(known)
    if not isinstance(found, Tensor):
        return "not known"
    shape = ", ".join(to_text(substitute(d, study.cost.equal)) for d in found.shape)
    return f"{found.space} [{shape}]" if found.shape else found.space


def inputs_of(study: ModelStudy) -> tuple[tuple[str, str], ...]:
    """Names and types of the inputs."""
    return tuple((g.name, type_of(study.cost.known(g.name), study)) for g in study.model.graph.inputs)


def outputs_of(study: ModelStudy) -> tuple[tuple[str, str], ...]:
    """Names and types of the outputs."""
    return tuple((name, type_of(study.cost.known(name), study)) for name in study.model.graph.outputs)


def merged(study: ModelStudy) -> tuple[tuple[str, str], ...]:
    """Lengths of inputs that turned out to be others, and which."""
    return tuple(
        (name, to_text(substitute(form, study.cost.equal)))
        for name, form in study.cost.dimensions.items()
        if not form.free.isdisjoint(study.cost.equal)
    )


def conditions(study: ModelStudy) -> tuple[tuple[str, str, str], ...]:
    """What the forms rely on: the condition, why, and the node that needs it first."""
    return tuple((cond_text(r.condition), visible(r.reason), visible(r.node)) for r in study.conditions)


def by_data(study: ModelStudy) -> tuple[Symbol, ...]:
    """The symbols that only data decides."""
    return tuple(symbol for symbol in study.symbols if symbol.kind == "data")


def coverage_text(study: ModelStudy) -> str:
    """How much of a model is costed, in words."""
    found = study.coverage
    whole = 100 * found.costed // found.nodes if found.nodes else 100
    return f"{found.costed:,} of {found.nodes:,} nodes costed ({whole} %)"
