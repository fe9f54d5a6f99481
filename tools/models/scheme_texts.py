"""Schemes as text, for ``specs/schemes.tsv``: written when the package is made, and read to make it again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources.abc import Traversable
from typing import Any

from tolcost.algebra import AlgebraBudget, Poly, Symbol
from tolcost.atoms.nodes import Program
from tolcost.catalogue.graph import Attribute, GraphNode, Weight
from tolcost.catalogue.specs import FORMAT, Head, digest_of, line_digest_of
from tolcost.catalogue.types import array_of
from tolcost.cost import depths
from tolcost.cost.count import CountKey
from tolcost.cost.macs import find_mac_flow
from tolcost.diagnostics import Rejected
from tolcost.elaborate.values import Cast
from tolcost.models.facts import Known
from tolcost.models.lowered import mac_flow_names
from tolcost.models.scheme import Scheme
from tolcost.models.stored_schemes import PARTS, NotStored, Reader, Writer, text_of


def stored_lines(
    root: Traversable,
    operator: str,
    files: Iterable[str],
    heads: Mapping[int, Head],
    schemes: Mapping[str, str],
) -> Iterator[tuple[str, str]]:
    """The names and texts of an operator: one about its definitions, and one for each pattern."""
    about = {
        "from": {file: digest_of(root.joinpath(*file.split("/")).read_bytes()) for file in files},
        "heads": {str(since): head for since, head in heads.items()},
        "schemes": len(schemes),
    }
    yield operator, json.dumps(about, separators=(",", ":"))
    yield from ((f"{operator} {pattern}", text) for pattern, text in schemes.items())


def stored_file(lines: Iterable[tuple[str, str]]) -> str:
    """The text of the file: sorted lines, each with its digest."""
    sealed = (f"{name}\t{text}\t{line_digest_of(name, text)}" for name, text in sorted(lines))
    return "\n".join((f"format {FORMAT}", *sealed, ""))


def node_of_pattern(text: str, op: str, domain: str) -> tuple[int, GraphNode, tuple[Known | None, ...]]:
    """A node of a pattern with its inputs, and the version of its definition."""
    since, asked, attributes, known, table = json.loads(text)
    reader = Reader(table)
    inputs = tuple(None if one is None else reader.known(one) for one in known)
    given = {name: _attribute(reader, value) for name, value in attributes.items()}
    names = tuple(f"x{n}" if one is not None else "" for n, one in enumerate(inputs))
    outputs = tuple(f"y{n}" for n in range(asked))
    return since, GraphNode(op, domain, "", names, outputs, given, text.encode(), asked), inputs


def _attribute(reader: Reader, data: Any) -> Attribute:
    if data[0] != "weight":
        return reader.known(data)
    value = reader.known(data[1])
    if not isinstance(value, Cast):
        raise NotStored(data)
    array = array_of(value)
    return Weight("", value.space, array.shape, lambda: array, value)


def scheme_text(scheme: Scheme) -> str | None:
    """The text of a scheme; None where it has something that is not stored, or holds nowhere."""
    general, writer = scheme.general, Writer()
    counts, traffic = general.counts, general.traffic
    plain = counts.status == "exact" and not (general.inside or general.data)
    held = [(case, scheme.held[case]) for case, at in scheme.examples.items() if _is_told(at)]
    if not plain or not any(holds for _, holds in held):
        return None
    try:
        chain = depths(general.program).chain.candidates
        data = {
            "counts": _by_function(writer, counts.histogram),
            "index": _by_function(writer, counts.index),
            "atoms": {name: writer.form(form) for name, form in counts.atoms.items()},
            "macs": writer.form(counts.macs),
            "read": _by_space(writer, traffic.read),
            "written": _by_space(writer, traffic.written),
            "least": None if traffic.least is None else _by_space(writer, traffic.least),
            "unsized": traffic.unsized,
            "outputs": list(map(writer.known, general.outputs)),
            "titles": general.titles,
            "relies": [[writer.condition(c.condition), c.reason, c.kind] for c in general.conditions],
            "asks": list(map(writer.condition, scheme.cases.conditions)),
            "sizes": writer.forms(scheme.cases.sizes),
            "static": writer.forms(scheme.cases.static),
            "shares": [
                [writer.generator(s.whole), s.parts, writer.generator(s.symbol)] for s in scheme.shares
            ],
            "chain": writer.forms(chain),
            "passes": _passes(general.program),
            "unproved": list(map(writer.condition, scheme.unproved)),
            "doubts": list(map(writer.condition, scheme.doubts)),
            "full": writer.forms(traffic.full),
        }
        cases = [
            ([int(one) if isinstance(one, bool) else one for one in case], holds) for case, holds in held
        ]
        examples = [_example(writer, scheme.examples[case]) for case, _ in held]
        told = {**data, "held": cases, "table": writer.table}
        return f"{text_of([told[part] for part in PARTS])}\t{text_of(examples)}"
    except (NotStored, Rejected, AlgebraBudget, RecursionError):
        return None


def _by_function(writer: Writer, counts: Mapping[CountKey, Poly]) -> list[object]:
    return [[*key, writer.form(form)] for key, form in counts.items()]


def _by_space(writer: Writer, moved: Mapping[str, Poly]) -> dict[str, object]:
    return {space: writer.form(form) for space, form in moved.items()}


def _passes(program: Program) -> list[object]:
    """What a program sums and passes on."""
    found = mac_flow_names(find_mac_flow(program))
    outputs = {title: sorted(names) for title, names in found.outputs.items()}
    return [sorted(found.added), outputs, sorted(found.products)]


def _is_told(lengths: Mapping[Symbol, Poly]) -> bool:
    """Whether all lengths of a node can be written; those of a formula that data has a part in cannot."""
    try:
        Writer().forms(lengths.values())
    except NotStored:
        return False
    return True


def _example(writer: Writer, lengths: Mapping[Symbol, Poly]) -> list[object]:
    """The lengths of a node; where they are formulas, with a table of what these are made of."""
    own = Writer()
    rows = [[writer.generator(symbol), own.form(form)] for symbol, form in lengths.items()]
    return [rows, own.table] if own.table else [rows]


def examples_of(text: str) -> list[dict[Symbol, Poly]]:
    """The lengths of the nodes that the cases of a stored scheme were held to."""
    scheme, _, examples = text.partition("\t")
    reader = Reader(json.loads(scheme)[-1])  # the table is the last of what a scheme says, in every format
    return [
        {reader.symbol(place): own.form(form) for place, form in rows}
        for rows, *table in json.loads(examples)
        for own in [Reader(*table or [[]])]
    ]
