"""Shapes of a model's inputs from the user: whole shapes, and single lengths by name or by position."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NoReturn

from msgspec.structs import replace

from tolcost.algebra import LARGEST_LENGTH, Poly, Symbol, evaluate, solve
from tolcost.catalogue.graph import Declared, Model
from tolcost.diagnostics import Diagnostic, UnknownLength, quoted, refuse

AskedShape = Sequence[int | str]
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_NAME = re.compile(r"[^-+*/()%<>=,\s]+")
_NUMBER = re.compile(r"[.0-9]")


def with_shapes(
    model: Model, shapes: Mapping[str, AskedShape]
) -> tuple[Model, dict[str, int], dict[str, str]]:
    """Apply user shapes to a model; also return the numbers and forms given for its lengths.

    Such a length remains in the model: a number is a point at which costs are evaluated, however it was
    given, and a form such as ``32*h`` is an assumption.  A shape for an intermediate value is used where
    nothing else is known about it, in place of the file's declaration.
    """
    if not shapes:
        return model, {}, {}
    shapes, forms = _without_forms(model, shapes)
    known = {given.name for given in model.graph.inputs}
    inner = {name for node in model.graph.nodes for name in node.outputs} & shapes.keys() - known
    for name in shapes:
        if name not in known and name not in inner:
            refuse(
                "T0693", f"the model has no input or value {quoted(name)}", hint=_list_names(sorted(known))
            )
    declared = dict(model.graph.declared)
    for name in inner:
        space = declared[name].space if name in declared else "float32"
        declared[name] = Declared(name, space, tuple(shapes[name]))
    told: dict[str, int] = {}
    unlike: set[str] = set()
    for given in model.graph.inputs:
        for title, number in _given_numbers(given, shapes.get(given.name, ())):
            if told.setdefault(title, number) != number:
                unlike.add(title)
    kept = {title: number for title, number in told.items() if title not in unlike}
    inputs = tuple(_apply_shape(given, shapes.get(given.name), kept) for given in model.graph.inputs)
    return replace(model, graph=replace(model.graph, inputs=inputs, declared=declared)), kept, forms


def is_form(entry: int | str) -> bool:
    """Whether an entry of a shape is more than a name or a number.

    >>> is_form("32*h"), is_form("batch"), is_form(3)
    (True, False, False)
    """
    return isinstance(entry, str) and _NAME.fullmatch(entry) is None


def _names_of_lengths(model: Model) -> set[str]:
    return {d for given in model.graph.inputs for d in given.shape or () if isinstance(d, str)}


def _without_forms(
    model: Model, shapes: Mapping[str, AskedShape]
) -> tuple[Mapping[str, AskedShape], dict[str, str]]:
    """Replace forms in shapes by lengths of the model, and return the form of each of these lengths.

    A form may use a name that the model has: it then means a new length, and the model's is named by its
    position.
    """
    names = _names_of_lengths(model)
    forms: dict[str, str] = {}
    found: dict[str, AskedShape] = {}
    declared = {given.name: given.shape for given in model.graph.inputs}
    entries_said = [entry for shape in shapes.values() for entry in shape if isinstance(entry, str)]
    said = {word for entry in entries_said for word in _WORD.findall(entry)}
    for name, shape in shapes.items():
        before = declared.get(name) or (None,) * len(shape)
        entries: list[int | str] = []
        for axis, entry in enumerate(shape):
            if isinstance(entry, int):
                _check_length(place_of(name, axis), entry)
            elif entry not in names and _NUMBER.match(entry) and not is_form(entry):
                hint = "a length is a name, a whole number, or a form such as 32*h"
                refuse("T0693", f"{quoted(entry)} in the shape of {quoted(name)} is no length", hint=hint)
            if not isinstance(entry, str) or entry in names or not is_form(entry):
                entries.append(entry)
                continue
            own = before[axis] if axis < len(before) else None
            title = own if isinstance(own, str) and own not in said else place_of(name, axis)
            if forms.setdefault(title, entry) != entry:
                refuse("T0693", f"{quoted(title)} is both {quoted(forms[title])} and {quoted(entry)}")
            entries.append(title)
        found[name] = entries
    return found, forms


def _given_numbers(given: Declared, shape: AskedShape) -> Iterator[tuple[str, int]]:
    """Yield the lengths that the model leaves open and to which a shape gives numbers, by name."""
    declared = given.shape or (None,) * len(shape)
    for axis, (before, now) in enumerate(zip(declared, shape, strict=False)):
        if isinstance(now, int) and not isinstance(before, int):
            yield before or place_of(given.name, axis), now


def _apply_shape(given: Declared, shape: AskedShape | None, told: Collection[str]) -> Declared:
    if shape is None:
        return given
    declared = given.shape if given.shape is not None else (None,) * len(shape)
    if len(declared) != len(shape):
        refuse("T0693", f"{quoted(given.name)} has {len(declared)} dimensions, not {len(shape)}")
    titles = {title for title, _ in _given_numbers(given, shape)} & set(told)
    lengths = (
        before if (before or place_of(given.name, axis)) in titles and isinstance(now, int) else now
        for axis, (before, now) in enumerate(zip(declared, shape, strict=True))
    )
    return replace(given, shape=tuple(lengths), space=given.space or "float32")


def place_of(name: str, axis: int) -> str:
    """Name a length without a name after its input and axis."""
    return f"{name}[{axis}]"


def entries_of(name: str) -> str:
    """Name the number of entries of a sequence."""
    return f"|{name}|"


def with_lengths(
    model: Model, dims: Mapping[str, int], told: Mapping[str, int] | None = None
) -> tuple[Model, dict[str, int]]:
    """Replace lengths that the model fixes by numbers; also return the other lengths by name.

    ``x[0]`` is the first length of the input ``x``, whatever its name, and ``|s|`` the number of entries of a
    sequence.  Numbers in ``told``, from elsewhere, must agree.
    """
    if not dims:
        return model, {}
    places = {
        place_of(given.name, n): (given, n)
        for given in model.graph.inputs
        for n in range(len(given.shape or ()))
    }
    names = _names_of_lengths(model)
    fixed: dict[str, list[int | str | None]] = {}
    entries = {entries_of(given.name): given.entries for given in model.graph.inputs if given.sequence}
    open_: dict[str, int] = {}
    for name, value in dims.items():
        _check_length(name, value)
        given, axis = places.get(name, (None, 0))
        if name in entries and name not in names:
            entries[name] = value
        elif name in names or given is None or given.shape is None:
            _put(open_, name, value)
        elif isinstance(given.shape[axis], int):
            fixed.setdefault(given.name, list(given.shape))[axis] = value
        else:
            _put(open_, str(given.shape[axis] or name), value)
    for name, value in (told or {}).items():
        _put(dict(open_), name, value)
    changed = tuple(
        replace(
            g,
            shape=tuple(fixed[g.name]) if g.name in fixed else g.shape,
            entries=entries.get(entries_of(g.name), 1) if g.sequence else 1,
        )
        for g in model.graph.inputs
    )
    return replace(model, graph=replace(model.graph, inputs=changed)), open_


def _check_length(name: str, value: int) -> None:
    if not 0 <= value <= LARGEST_LENGTH:
        refuse("T0343", f"{quoted(name)} = {value:,} is outside its range 0..{LARGEST_LENGTH:,}")


def _put(dims: dict[str, int], name: str, value: int) -> None:
    if dims.setdefault(name, value) != value:
        refuse("T0343", f"{quoted(name)} is given as {dims[name]:,} and as {value:,}")


def in_lengths(dims: Mapping[str, int], formed: Mapping[str, Poly]) -> Mapping[str, int]:
    """Translate lengths written by an exporter as forms: where ``32*h`` is 64, ``h`` is 2.

    >>> from tolcost.algebra import length
    >>> in_lengths({"32*h": 64, "n": 3}, {"32*h": 32 * length("h")})
    {'n': 3, 'h': 2}
    """
    told = {title: value for title, value in dims.items() if title in formed}
    if not told:
        return dims
    plain = {name: value for name, value in dims.items() if name not in formed}
    own = {symbol for title in told for symbol in formed[title].free}
    values, impossible = solve(
        [formed[title] - value for title, value in told.items()],
        {symbol: plain[symbol.name] for symbol in own if symbol.name in plain},
    )
    for title, value in told.items():
        open_ = sorted(symbol.name for symbol in formed[title].free - values.keys())
        if formed[title] - value in impossible or (not open_ and evaluate(formed[title], values) != value):
            _refuse_form(title, value, formed[title], values)
        if open_:
            names = " and ".join(map(quoted, open_))
            hint = f"say {open_[0]} as well: --dim '{open_[0]}=N'"
            refuse("T0412", f"{quoted(title)} = {value:,} does not tell {names}", hint=hint)
    return plain | {symbol.name: values[symbol] for symbol in sorted(own, key=lambda s: s.key)}


def _refuse_form(title: str, value: int, form: Poly, values: Mapping[Symbol, int]) -> NoReturn:
    """Refuse a number for a form that no lengths give, or not the given ones."""
    told = [f"{symbol.name} = {values[symbol]:,}" for symbol in form.free if symbol in values]
    lengths = " and ".join(sorted(quoted(symbol.name) for symbol in form.free if symbol not in values))
    where = f" where {', '.join(sorted(told))}" if told else ""
    whose = f" for any {lengths}" if lengths else ""
    refuse("T0344", f"{quoted(title)} is not {value:,}{whose}{where}")


def check_names(model: Model, dims: Iterable[str], known: Collection[str]) -> None:
    """Refuse lengths that a model does not have; ``known`` are the names it has."""
    for name in dims:
        if name not in known:
            places = (
                place_of(given.name, n) for given in model.graph.inputs for n in range(len(given.shape or ()))
            )
            hint = _list_names(sorted(known) or sorted(places))
            raise UnknownLength(Diagnostic("T0412", f"the model has no length {quoted(name)}", hint=hint))


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(map(quoted, names[:12]))
    return f"it has {shown}{', …' if len(names) > 12 else ''}" if names else "it has none"
