"""Make ``specs/types`` again: which types the operators of ONNX take and give, as the installed onnx says.

python -m tools.catalogue.store_types
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from onnx import __version__, defs

from tolcost.catalogue.operand_types import FOLDER, OperatorTypes, SchemaOperand
from tolcost.catalogue.schemas import types_of_schema
from tolcost.catalogue.specs import folder_of
from tolcost.platform import specs_root


def tables() -> dict[str, str]:
    """The text of each domain's table, by the name of its folder."""
    versions: dict[str, dict[str, dict[str, object]]] = defaultdict(lambda: defaultdict(dict))
    newest: dict[str, int] = {}
    for schema in sorted(defs.get_all_schemas_with_history(), key=lambda s: (s.name, s.since_version)):
        domain = schema.domain
        versions[domain][schema.name][str(schema.since_version)] = text_of(types_of_schema(schema))
        newest[domain] = max(newest.get(domain, 0), schema.since_version)
    newest[""] = defs.onnx_opset_version()
    found = {}
    for domain, operators in versions.items():
        head = json.dumps({"onnx": __version__, "newest": newest[domain]})
        lines = [f"{name}\t{json.dumps(told, separators=(',', ':'))}" for name, told in operators.items()]
        found[folder_of(domain)] = "".join(f"{line}\n" for line in (head, *lines))
    return found


def text_of(one: OperatorTypes) -> list[object]:
    """What a table has of one version: ``*`` stands for as many as there are, ``~`` for types that differ."""
    operands = (*one.inputs, *one.outputs)
    types = {o.kind: "|".join(o.types) for o in operands if (o.kind,) != o.types}
    return [*([_text(o) for o in listed] for listed in (one.inputs, one.outputs)), types, one.attributes]


def _text(operand: SchemaOperand) -> str:
    return f"{operand.name}{'*' * operand.variadic}{'~' * operand.differ}:{operand.kind}"


if __name__ == "__main__":
    place = Path(str(specs_root())) / FOLDER
    place.mkdir(exist_ok=True)
    for folder, text in tables().items():
        (place / f"{folder}.tsv").write_text(text, "utf-8")
