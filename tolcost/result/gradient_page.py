"""The gradients of an operator as text: the derived program, what it costs and keeps, and a written one."""

from __future__ import annotations

from collections.abc import Iterator

from tolcost.algebra import Poly
from tolcost.atoms.nodes import Program
from tolcost.atoms.tolang import tolang
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.specs import Library
from tolcost.diagnostics import Diagnostic, quoted, refuse
from tolcost.result.catalogue_page import Listed, page_of
from tolcost.show.document import Code
from tolcost.show.shorten import short_form
from tolcost.spaces import kind_of
from tolcost.training.backward_pass import BackwardPass
from tolcost.training.passes import derived_pass, pass_written
from tolcost.training.written import DefinedNode, has_gradients, lower_written

_LONGEST = 120
"""The longest form in a line; longer ones are cut to their leading terms."""


def gradients_of(listed: Listed, library: Library) -> str:
    """Write the gradients of an operator, at the lengths of its page."""
    spec, page = listed.entry.spec, page_of(listed, library)
    form = page.explained
    if spec is None or form is None or form.lowered is None:
        refuse("T0901", f"{quoted(listed.entry.title)} has no closed form, and so no gradients")
    program = form.lowered.program
    node = GraphNode(spec.name, spec.domain, "", form.inputs, (form.output,), {})
    defined = DefinedNode(library, node, spec)
    wanted, of = _asked(program, defined)
    found = derived_pass(program, spec.name, wanted, of)
    if found is None:
        refuse("T0901", f"there is nothing to differentiate in {quoted(listed.entry.title)}")
    if isinstance(found, Diagnostic):
        refuse(found.code, found.message, found.span)
    of_forward = _said("forward", form.eops, form.macs, "")
    assumed = f", {form.assumed}" if form.assumed else ""
    lines = [
        f"{listed.entry.title}: {', '.join(form.inputs)} -> {form.output}{assumed}",
        of_forward,
        _of_pass("derived backward", found),
    ]
    written = "" if form.assumed else "".join(_written(defined, program, wanted, of))
    return "".join(f"# {line}\n" for line in lines) + tolang(found.program, "") + written


def _asked(program: Program, defined: DefinedNode) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the inputs that have a gradient, and the first output of an operator."""
    parsed = defined.backward
    there = None if parsed is None else has_gradients(parsed)
    real = [given.name for given in program.inputs if kind_of(given.type[0].space) == "R"]
    wanted = tuple([name for name in real if there is None or name in there])
    return wanted, (program.outputs[0].name,)


def _written(
    defined: DefinedNode, program: Program, wanted: tuple[str, ...], of: tuple[str, ...]
) -> Iterator[str]:
    """Yield the written backward pass beside the derived one, and what it costs."""
    parsed = defined.backward
    made = None if parsed is None else lower_written(parsed, defined, program, wanted, of)
    if parsed is not None and made is not None:
        yield f"\n# {_of_pass('written backward, which training takes', pass_written(made))}\n"
        yield parsed.source.text


def _of_pass(title: str, found: BackwardPass) -> str:
    counts = found.cost.counts
    return _said(title, counts.eops, counts.macs, ", ".join(sorted(found.reads)) or "nothing")


def _said(title: str, eops: Poly, macs: Poly, keeps: str) -> str:
    kept = f"; keeps {keeps}" if keeps else ""
    return f"{title}: {_short(eops)} EOPs, {_short(macs)} MACs{kept}"


def _short(form: Poly) -> str:
    found = short_form(form, _LONGEST)
    return found.text if isinstance(found, Code) else str(found)
