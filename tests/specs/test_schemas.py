"""Every version of an operator that a model from opset 7 on can mean is defined, in the schema's names."""

from __future__ import annotations

from typing import Any

import onnx

from tolcost.catalogue.specs import open_library

LIBRARY = open_library()
OLDEST = 7


def versions() -> list[Any]:
    """The schemas in force at the oldest opset, and all later ones."""
    found: dict[tuple[str, str, int], Any] = {}
    for schema in sorted(onnx.defs.get_all_schemas_with_history(), key=lambda s: s.since_version):
        since = schema.since_version if schema.domain else max(schema.since_version, OLDEST)
        found[schema.domain, schema.name, since] = schema
    return [schema for schema in found.values() if not schema.deprecated]


VERSIONS = versions()


def named(schema: Any) -> str:
    return f"{schema.domain}.{schema.name}-{schema.since_version}".lstrip(".")


def opset_of(schema: Any) -> int:
    return schema.since_version if schema.domain else max(schema.since_version, OLDEST)


def test_a_version_has_a_definition_or_a_reason() -> None:
    looked_at = 0
    for schema in VERSIONS:
        if schema.name in LIBRARY.outside(schema.domain):
            continue
        spec = LIBRARY.find(schema.domain, schema.name, opset_of(schema))
        assert spec is not None, named(schema)
        inputs = [s.name for s in spec.inputs][: len(schema.inputs)]
        assert inputs == [i.name for i in schema.inputs], named(schema)
        assert {a.name for a in schema.attributes.values()} <= {s.name for s in spec.attributes}, named(
            schema
        )
        for statement in () if schema.domain else spec.attributes:  # those of ai.onnx.ml say little
            if not statement.optional and statement.default is None and statement.name in schema.attributes:
                assert schema.attributes[statement.name].required, (named(schema), statement.name)
        looked_at += 1
    assert looked_at > 500


def test_its_outputs_have_the_names_of_the_schema() -> None:
    for schema in VERSIONS:
        spec = LIBRARY.find(schema.domain, schema.name, opset_of(schema))
        if spec is None:
            continue
        assert len(spec.outputs) >= len(schema.outputs), named(schema)
        for mine, theirs in zip(spec.outputs, schema.outputs, strict=False):
            # a few outputs are named like inputs, or like nothing that ToLang can name
            allowed = (theirs.name, f"{theirs.name}_", f"running_{theirs.name}")
            assert mine.name in allowed, (named(schema), mine.name)
