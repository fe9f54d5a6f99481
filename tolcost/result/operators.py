"""The closed form of an operator for tensors of any lengths, rank by rank, from its definition alone.

Lengths are symbols, attributes have their defaults, and optional inputs are left out.  Other required
values are symbols if the definition allows it, or else come from a node test of ONNX; the form
names them.  This module knows no particular operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from tolcost.algebra import AlgebraBudget, Poly, atom, const, length, substitute, to_text
from tolcost.algebra.parse import parse_text
from tolcost.catalogue.cases import StoredValue
from tolcost.catalogue.conformance import Result
from tolcost.catalogue.specs import Library, Spec
from tolcost.cost import count
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Argument, Elaborated, Seq, Tensor
from tolcost.elaborate.inputs import PlainShape, PlainValue, arguments, kind_of_declared
from tolcost.syntax import tree

RANKS = (1, 2, 3)
_READABLE = 160
"""In characters; for a longer form, attributes get numbers from a test if that halves its length."""


class RankSetting(Struct, frozen=True):
    """Shapes and values for the inputs of an operator; ``assumed`` names those taken from a node test."""

    shapes: Mapping[str, StoredValue]
    values: Mapping[str, StoredValue]
    assumed: str = ""


class RankForm(Struct, frozen=True, eq=False):
    """The closed form of an operator for one rank.

    ``inputs`` and ``output`` are names with their shapes, ``lengths`` is the shape of the output.
    ``test`` is a node test of that rank, if there is one.  ``lowered`` is None for a form that was
    kept from a test, because the operator needs more of the test than shapes and plain values.
    """

    rank: int | None
    inputs: tuple[str, ...]
    output: str
    lengths: tuple[Poly, ...]
    eops: Poly
    macs: Poly
    status: str
    assumed: str
    test: str | None
    lowered: Elaborated | None


class NoForm(Struct, frozen=True):
    """The reason why a rank has no closed form."""

    rank: int | None
    reason: str


def is_rank_generic(spec: Spec) -> bool:
    """Whether a required input is declared with any number of lengths."""
    return _leading(spec) is not None


def forms_by_rank(
    spec: Spec, library: Library, cases: Iterable[Result], ranks: Sequence[int] = RANKS
) -> tuple[RankForm | NoForm, ...]:
    """Return the form of a definition for each rank of its `...`, or its only form.

    If a rank has no form, the highest other rank that ONNX tests is added.
    """
    fitting = sorted(
        (case for case in cases if case.status == "pass" and case.since == spec.since), key=_plainness
    )
    if not is_rank_generic(spec):
        return (_form(spec, library, None, fitting),)
    found = [_form(spec, library, rank, fitting) for rank in ranks]
    if any(isinstance(form, NoForm) for form in found):
        every = (_rank(spec, case.shapes) for case in fitting)
        tested = {rank for rank in every if rank is not None and rank not in ranks}
        found += [_form(spec, library, rank, fitting) for rank in sorted(tested)[-1:]]
    return tuple(found)


def length_along_one(spec: Spec, library: Library, cases: Iterable[Result]) -> str | None:
    """Return the output length of an operator with windows along one dimension, as ``|Y|[3] = ...``.

    Its attributes along the dimension become symbols; those with an entry for each end may be 0.
    """
    named = {s.name: _along(s) for s in spec.attributes if _along(s)}
    for setting in _settings(spec, 1, [], sorted(cases, key=_plainness)) if named else ():
        try:
            lowered = _lower(spec, library, RankSetting(setting.shapes, {**setting.values, **named}))
        except (Rejected, AlgebraBudget):
            continue
        for output in lowered.program.outputs:
            shape = output.node.type[0].shape
            return f"|{output.name}|[{len(shape)}] = {to_text(shape[-1])}" if shape else None
    return None


def _along(statement: tree.InputDecl) -> list[StoredValue]:
    """Return the entries of an attribute for one dimension, as names."""
    if _rank_of_values(statement):
        return [statement.name]
    if (
        kind_of_declared(statement.space) == "Z"
        and len(statement.shape) == 1
        and isinstance(statement.shape[0], tree.Infix)
    ):
        return [f"{statement.name}_{n}>=0" for n in (1, 2)]
    return []


def _plainness(case: Result) -> tuple[int, str]:
    """Sort key of tests: those with the fewest shapes and values come first."""
    return len(case.shapes) + len(case.values), case.name


def _form(spec: Spec, library: Library, rank: int | None, cases: Sequence[Result]) -> RankForm | NoForm:
    here = [case for case in cases if _rank(spec, case.shapes) == rank]
    best: RankForm | None = None
    reason = ""
    for setting in _settings(spec, rank, here, cases):
        try:
            found = _derived(spec, library, setting, rank, here[0].name if here else None)
        except (Rejected, AlgebraBudget) as error:
            reason = reason or (error.message if isinstance(error, Rejected) else str(error))
            continue
        if best is None or _characters(found.eops) < _characters(best.eops) // 2:
            best = found
        if _characters(best.eops) <= _READABLE:
            break
    return best or (_kept(rank, here[0]) if here else NoForm(rank, reason))


def _derived(
    spec: Spec, library: Library, setting: RankSetting, rank: int | None, test: str | None
) -> RankForm:
    lowered = _lower(spec, library, setting)
    counts = count(lowered.program)
    output = next(iter(lowered.program.outputs), None)
    return RankForm(
        rank,
        tuple(
            f"{node.name} [{', '.join(map(to_text, node.type[0].shape))}]" for node in lowered.program.inputs
        ),
        spec.outputs[0].name if output is None else output.name,
        () if output is None else output.node.type[0].shape,
        counts.eops,
        counts.macs,
        counts.status,
        setting.assumed,
        test,
        lowered,
    )


def _kept(rank: int | None, case: Result) -> RankForm:
    """Return the form that a node test left behind."""
    inputs = tuple(f"{name} {shown(shape)}".replace('"', "") for name, shape in case.shapes.items())
    forms = (parse_text(case.eops or "0"), parse_text(case.macs or "0"))
    return RankForm(
        rank, inputs, "", (), *forms, case.certainty or "", f"kept from {case.name}", case.name, None
    )


def _lower(spec: Spec, library: Library, setting: RankSetting) -> Elaborated:
    """Lower a definition for its first output."""
    listed = {s.name: s for s in spec.inputs}
    several = {
        name: _sequence(shape)
        for name, shape in setting.shapes.items()
        if _is_several(shape) and not listed[name].variadic
    }
    shapes = {name: _shape(shape) for name, shape in setting.shapes.items() if name not in several}
    given: dict[str, Argument] = arguments(
        spec.program, shapes, {name: _exact(value) for name, value in setting.values.items()}
    )
    return library.lowered(spec, {**given, **several}, 1)


def _is_several(shape: StoredValue) -> bool:
    return isinstance(shape, list) and any(isinstance(entry, list) for entry in shape)


def _sequence(shapes: StoredValue) -> Seq:
    """Return the tensors of a sequence."""
    found = shapes if isinstance(shapes, list) else []
    lengths = ([const(e) if isinstance(e, int) else length(e) for e in _entries(one)] for one in found)
    return Seq(tuple(Tensor(tuple(shape), "float32") for shape in lengths))


def _shape(shape: StoredValue) -> PlainShape | Sequence[PlainShape]:
    if _is_several(shape) and isinstance(shape, list):
        return [_entries(one) for one in shape]
    return _entries(shape)


def _entries(shape: StoredValue) -> list[int | str]:
    return [entry for entry in shape if isinstance(entry, int | str)] if isinstance(shape, list) else []


def _exact(value: StoredValue) -> PlainValue:
    """Return the exact value of a decimal: 0.6 is three fifths."""
    if isinstance(value, list):
        return [_exact(entry) for entry in value]
    return Fraction(repr(value)) if isinstance(value, float) else value


# ---- inputs of an operator ----------------------------------------------------------------


def _settings(
    spec: Spec, rank: int | None, here: Sequence[Result], cases: Sequence[Result]
) -> Iterator[RankSetting]:
    """Yield settings with everything that an operator requires, those with the fewest numbers first."""
    model = next(iter(here), None) or next(iter(cases), None)
    shapes = {s.name: _symbols(s, rank, spec, model) for s in spec.inputs if _is_needed(s)}
    needed = [s for s in (*spec.inputs, *spec.attributes) if _is_needed(s, value=True)]
    named = {s.name: _named(s, rank, model) for s in needed}
    yield RankSetting(shapes, *_chosen(named, model))
    if model is not None:
        yield RankSetting(shapes, *_chosen({s.name: model.values.get(s.name) for s in needed}, model))
    if here:
        name = here[0].name
        yield RankSetting(here[0].shapes, here[0].values, f"shapes and attributes as in {name}")


def _is_needed(statement: tree.InputDecl, value: bool = False) -> bool:
    """Whether a node requires an input: a tensor, or with ``value`` a value known at compile time."""
    has_value = statement.kind != "tol"
    return has_value == value and not statement.optional and statement.default is None


def _chosen(
    values: Mapping[str, StoredValue | None], model: Result | None
) -> tuple[dict[str, StoredValue], str]:
    """Return the known values, and a note on those that come from a test."""
    found = {name: value for name, value in values.items() if value is not None}
    taken = [name for name, value in found.items() if model is not None and model.values.get(name) == value]
    said = ", ".join(f"{name} = {shown(found[name])}" for name in taken)
    return found, f"{said} as in {model.name}" if model is not None and taken else ""


def shown(value: StoredValue) -> str:
    """Write a value as a definition would.

    >>> shown([1, 0.5, "a"])
    '[1, 0.5, "a"]'
    """
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _named(statement: tree.InputDecl, rank: int | None, model: Result | None) -> StoredValue | None:
    """Return names in place of required integers, and other values as in the test."""
    known = None if model is None else model.values.get(statement.name)
    if isinstance(known, list) and known and all(type(entry) is int for entry in known):
        size = rank if rank is not None and _rank_of_values(statement) else len(known)
        return [f"{statement.name}_{n}" for n in range(1, size + 1)]
    if type(known) is int:
        return None if statement.kind == "attr" else statement.name
    if known is None and rank is not None and _rank_of_values(statement):
        return [f"{statement.name}_{n}" for n in range(1, rank + 1)]
    return known


def _rank_of_values(statement: tree.InputDecl) -> bool:
    """Whether an attribute is a vector of integers whose length only the tensors determine."""
    is_vector = len(statement.shape) == 1 and isinstance(statement.shape[0], tree.Name)
    return statement.kind == "attr" and kind_of_declared(statement.space) == "Z" and is_vector


def _symbols(statement: tree.InputDecl, rank: int | None, spec: Spec, model: Result | None) -> StoredValue:
    """Return a shape of names for a tensor, or several shapes for a variadic input."""
    shape = None if model is None else model.shapes.get(statement.name)
    open_ = _open(statement, rank, spec, model)
    if statement.variadic or (_is_several(shape) if shape is not None else False):
        count = len(shape) if isinstance(shape, list) else 2
        return [_lengths(statement, f"{statement.name}{n}", open_) for n in range(1, count + 1)]
    return _lengths(statement, statement.name, open_)


def _lengths(statement: tree.InputDecl, base: str, open_: int) -> list[StoredValue]:
    entries: list[StoredValue] = []
    for entry in statement.shape:
        count = open_ if isinstance(entry, tree.Ellipsis) else 1
        entries += [_entry(entry, f"{base}_{len(entries) + n}") for n in range(1, count + 1)]
    return entries


def _entry(declared: tree.Expr | tree.Ellipsis, name: str) -> StoredValue:
    text = declared.span.text
    if isinstance(declared, tree.Name):
        return declared.name
    return int(text) if text.isdigit() else name


# ---- ranks -------------------------------------------------------------------------------


def _leading(spec: Spec) -> tree.InputDecl | None:
    """Return the first required tensor whose rank is open."""
    needed = (s for s in spec.inputs if _is_needed(s))
    return next((s for s in needed if s.any_rank), None)


def _rank(spec: Spec, shapes: Mapping[str, StoredValue]) -> int | None:
    """Return the number of lengths that the `...` of the leading input stands for; None if it has none."""
    leading = _leading(spec)
    return None if leading is None else _open_in(leading, shapes)


def _open_in(statement: tree.InputDecl, shapes: Mapping[str, StoredValue]) -> int | None:
    shape = shapes.get(statement.name)
    if not isinstance(shape, list):
        return None
    first = shape[0] if _is_several(shape) or (statement.variadic and shape) else shape
    return len(first) - len(statement.shape) + 1 if isinstance(first, list) else None


def _open(statement: tree.InputDecl, rank: int | None, spec: Spec, model: Result | None) -> int:
    """Return the number of lengths that the `...` of an input stands for, if that of the leading is ``rank``.

    An input that differs in rank from the leading one in a test keeps its rank.
    """
    if model is None or rank is None:
        return rank or 0
    theirs, leading = _open_in(statement, model.shapes), _rank(spec, model.shapes)
    return rank if theirs is None or leading is None or theirs == leading else theirs


class Named(Struct, frozen=True):
    """A form, and the meanings of the names of output lengths in it."""

    form: Poly
    where: tuple[tuple[str, Poly], ...] = ()

    @property
    def text(self) -> str:
        """The form, followed by the meanings of its names."""
        said = ", ".join(f"{name} = {to_text(meaning)}" for name, meaning in self.where)
        return to_text(self.form) + (f"  where {said}" if said else "")


def in_output_lengths(form: Poly, output: str, lengths: Sequence[Poly]) -> Named:
    """Write a form in the lengths of an output, if that makes it shorter.

    >>> x, k, n = length("x"), length("k"), length("n")
    >>> in_output_lengths(2 * n * k * (x - k + 1) * x, "Y", (n, x - k + 1)).text
    '2*k*n*x*(x - k + 1)'
    >>> in_output_lengths(2 * n * k * (x - k + 1), "Y", (n, x - k + 1)).text
    '2*Y_2*k*n  where Y_2 = x - k + 1'
    """
    where: list[tuple[str, Poly]] = []
    found = form
    sums = {f"{output}_{n}": form for n, form in enumerate(lengths, start=1) if len(form.free) > 1}
    for name, meaning in sums.items():
        shorter = min(_substituted(found, name, meaning), key=_characters, default=found)
        if _characters(shorter) < _characters(found):
            found = shorter
            where.append((name, meaning))
    return Named(found, tuple(where))


def _substituted(form: Poly, name: str, meaning: Poly) -> Iterator[Poly]:
    """Yield the form with each symbol of the length replaced by the length's name and the rest."""
    for symbol in sorted(meaning.free, key=lambda one: one.name):
        rest = meaning - atom(symbol)
        if symbol not in rest.free:
            yield substitute(form, {symbol: length(name) - rest})


def _characters(form: Poly) -> int:
    return len(to_text(form))
