"""Schemes as text, from ``specs/schemes``: read when a node asks for one.

They are written when the package is made (``tests/models/scheme_texts.py``).  A pattern says all that a node
of it needs, so that the operator can be lowered anew.  After a tab, to be read when schemes are made again,
follow the lengths of the nodes that the cases of a scheme were held to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from tolcost.atoms.nodes import Condition, Program
from tolcost.catalogue.graph import GraphNode
from tolcost.cost import Counts, Traffic
from tolcost.models.facts import Known
from tolcost.models.lowered import Lowered, Passes, Told
from tolcost.models.patterns import Cases
from tolcost.models.plain_data import NotStored, Reader, Writer, text_of
from tolcost.models.scheme import Scheme, Share, forms_of

PARTS = (
    "counts", "index", "atoms", "macs", "read", "written", "least", "unsized", "outputs", "titles", "relies",
    "asks", "sizes", "static", "shares", "chain", "passes", "unproved", "doubts", "full", "held", "table",
)  # fmt: skip
"""What the text of a scheme says, in this order."""

NO_SCHEME = "null"
"""The text of a pattern that has no scheme."""


def pattern_text(node: GraphNode, since: int, inputs: Sequence[Known | None]) -> str | None:
    """The text of a pattern, the same for all nodes of it; None where none is stored."""
    writer = Writer()
    try:
        attributes = {name: writer.known(value) for name, value in sorted(node.attributes.items())}
        known = list(map(writer.known, inputs))
        return text_of([since, node.asked, attributes, known, writer.table])
    except NotStored:
        return None


def read_scheme(text: str, node: GraphNode, program: Callable[[], Program]) -> Scheme:
    """The scheme of a text; ``program`` lowers the operator under the symbols of its pattern."""
    data = dict(zip(PARTS, json.loads(text.partition("\t")[0]), strict=True))
    reader = Reader(data["table"])
    form, symbol = reader.form, reader.symbol
    counts, index = (
        {(function, space): form(count) for function, space, count in data[kind]}
        for kind in ("counts", "index")
    )
    atoms = {name: form(count) for name, count in data["atoms"].items()}
    read, written, least = (
        None if data[way] is None else {space: form(moved) for space, moved in data[way].items()}
        for way in ("read", "written", "least")
    )
    general = Lowered(
        op=node.op,
        domain=node.domain,
        made=Told(
            Counts(counts, index, atoms, form(data["macs"]), (), "exact"),
            Traffic(
                read or {},
                written or {},
                tuple(data["unsized"]),
                bool(data["doubts"]),
                least,
                reader.forms(data["full"]),
            ),
            tuple(map(reader.known, data["outputs"])),
        ),
        conditions=tuple(Condition(reader.condition(one), *told) for one, *told in data["relies"]),
        equal={},
        data=frozenset(),
        lowered=program,
        titles=tuple(data["titles"]),
    )
    return Scheme(
        general,
        forms_of(general),
        Cases(
            tuple(map(reader.condition, data["asks"])),
            reader.forms(data["sizes"]),
            reader.forms(data["static"]),
        ),
        tuple(Share(symbol(whole), parts, symbol(part)) for whole, parts, part in data["shares"]),
        tuple(map(reader.condition, data["unproved"])),
        reader.forms(data["chain"]),
        Passes(
            frozenset(data["passes"][0]),
            {title: frozenset(names) for title, names in data["passes"][1].items()},
            frozenset(data["passes"][2]),
        ),
        tuple(map(reader.condition, data["doubts"])),
        {tuple(case): holds for case, holds in data["held"]},
    )
