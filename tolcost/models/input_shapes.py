"""What a user says of a model's inputs: whole shapes, and single lengths by name or by place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from tolcost.algebra import LARGEST_LENGTH
from tolcost.catalogue.graph import Declared, Model
from tolcost.diagnostics import Diagnostic, Rejected, quoted

Shape = Sequence[int | str]


def with_shapes(model: Model, shapes: Mapping[str, Shape]) -> Model:
    """The model with other shapes for some of its inputs."""
    known = {given.name for given in model.graph.inputs}
    for name in shapes:
        if name not in known:
            raise Rejected(
                Diagnostic("T0693", f"the model has no input {quoted(name)}", hint=_listed(sorted(known)))
            )
    inputs = tuple(_reshaped(given, shapes.get(given.name)) for given in model.graph.inputs)
    return replace(model, graph=replace(model.graph, inputs=inputs))


def _reshaped(given: Declared, shape: Shape | None) -> Declared:
    if shape is None:
        return given
    if given.shape is not None and len(given.shape) != len(shape):
        message = f"{quoted(given.name)} has {len(given.shape)} dimensions, not {len(shape)}"
        raise Rejected(Diagnostic("T0693", message))
    return replace(given, shape=tuple(shape), space=given.space or "float32")


def with_lengths(model: Model, dims: Mapping[str, int]) -> tuple[Model, dict[str, int]]:
    """The model with numbers in place of lengths it fixes, and the other lengths by name.

    ``x[0]`` is the first length of the input ``x``, whatever it is called there.
    """
    places = {
        f"{given.name}[{n}]": (given, n)
        for given in model.graph.inputs
        for n in range(len(given.shape or ()))
    }
    names = {d for given in model.graph.inputs for d in given.shape or () if isinstance(d, str)}
    fixed: dict[str, list[int | str | None]] = {}
    open_: dict[str, int] = {}
    for name, value in dims.items():
        if not 0 <= value <= LARGEST_LENGTH:
            raise Rejected(Diagnostic("T0343", f"{quoted(name)} = {value:,} is no length"))
        given, axis = places.get(name, (None, 0))
        if name in names or given is None or given.shape is None:
            _put(open_, name, value)
        elif isinstance(given.shape[axis], int):
            fixed.setdefault(given.name, list(given.shape))[axis] = value
        else:
            _put(open_, str(given.shape[axis] or name), value)
    changed = tuple(
        replace(g, shape=tuple(fixed[g.name])) if g.name in fixed else g for g in model.graph.inputs
    )
    return replace(model, graph=replace(model.graph, inputs=changed)), open_


def _put(dims: dict[str, int], name: str, value: int) -> None:
    if dims.setdefault(name, value) != value:
        raise Rejected(Diagnostic("T0343", f"{quoted(name)} is given as {dims[name]:,} and as {value:,}"))


def check_names(model: Model, dims: Iterable[str], known: Collection[str]) -> None:
    """Refuse lengths that a model does not have; ``known`` are those it turned out to have."""
    for name in dims:
        if name not in known:
            places = (
                f"{given.name}[{n}]" for given in model.graph.inputs for n in range(len(given.shape or ()))
            )
            hint = _listed(sorted(known) or sorted(places))
            raise Rejected(Diagnostic("T0412", f"the model has no length {quoted(name)}", hint=hint))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(quoted, names[:12]))
    return f"it has {shown}{', …' if len(names) > 12 else ''}" if names else "it has none"
