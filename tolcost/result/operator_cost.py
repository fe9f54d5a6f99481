"""What one operator costs, as a cost like that of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tolcost.atoms.verify import verify
from tolcost.catalogue.listing import Entry, entries
from tolcost.catalogue.specs import Library, Spec, open_library
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.elaborate import Elaborated, elaborate
from tolcost.elaborate.arguments import PlainShape, PlainValue, arguments
from tolcost.library import stored_conformance
from tolcost.pipeline import analyze_lowered
from tolcost.result.conformance import conformance_of
from tolcost.result.cost import Cost
from tolcost.result.operator_page import Record
from tolcost.result.operators import RankForm, forms_by_rank
from tolcost.result.program import program_study
from tolcost.result.study import locate_study


def operator_cost(
    name: str,
    rank: int,
    shapes: Mapping[str, PlainShape | Sequence[PlainShape]] | None,
    attrs: Mapping[str, PlainValue] | None,
    specs: Sequence[str | Path],
) -> Cost:
    """The cost of an operator for tensors of a rank, or for shapes and attributes that are given."""
    library = open_library(specs)
    entry = entries(library, [name])[0]
    if entry.spec is None:
        raise Rejected(Diagnostic("T0661", f"{quoted(entry.title)} has no definition: {entry.about}"))
    if shapes or attrs:
        lowered = _as_given(entry.spec, library, shapes, attrs)
    else:
        lowered = _of_rank(entry, entry.spec, library, rank)
    return locate_study(Cost, program_study(analyze_lowered(lowered, entry.spec.source.name)))


def _as_given(
    spec: Spec,
    library: Library,
    shapes: Mapping[str, PlainShape | Sequence[PlainShape]] | None,
    attrs: Mapping[str, PlainValue] | None,
) -> Elaborated:
    given = arguments(spec.program, shapes, attrs)
    lowered = elaborate(
        spec.program, given, name=spec.name, library=spec.library, operators=library.operators(), outputs=1
    )
    verify(lowered.program)
    return lowered


def _of_rank(entry: Entry, spec: Spec, library: Library, rank: int) -> Elaborated:
    stored = stored_conformance()
    record = Record(None if stored is None else conformance_of(stored))
    form = forms_by_rank(spec, library, record.of(entry), (rank,))[0]
    if isinstance(form, RankForm) and form.lowered is not None:
        return form.lowered
    reason = "it needs values that only a node has" if isinstance(form, RankForm) else form.reason
    message = f"{quoted(entry.title)} has no form for {rank} open lengths: {reason}"
    raise Rejected(Diagnostic("T0667", message, hint="give `shapes` and `attrs`"))
