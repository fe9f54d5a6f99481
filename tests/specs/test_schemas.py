"""Every version of an operator that a model can mean is defined, in the schema's names."""

from __future__ import annotations

from typing import Any

import onnx

from tolcost.catalogue.specs import hints, open_library

LIBRARY = open_library()
WITHOUT_MEANING = (("LpPool-1", "kernel_shape"),)
"""What a schema allows a node to leave out, though it means nothing then."""


def versions() -> list[Any]:
    """The schemas of all versions, but for operators that are no longer there."""
    found = sorted(onnx.defs.get_all_schemas_with_history(), key=lambda s: s.since_version)
    return [schema for schema in found if not schema.deprecated]


VERSIONS = versions()


def named(schema: Any) -> str:
    return f"{schema.domain}.{schema.name}-{schema.since_version}".lstrip(".")


def test_a_version_has_a_definition_or_a_reason() -> None:
    looked_at = 0
    for schema in VERSIONS:
        if schema.name in LIBRARY.outside(schema.domain):
            continue
        spec = LIBRARY.find(schema.domain, schema.name, schema.since_version)
        assert spec is not None, named(schema)
        inputs = [s.name for s in spec.inputs][: len(schema.inputs)]
        for mine, theirs in zip(inputs, schema.inputs, strict=True):  # one is named like an attribute
            assert mine in (theirs.name, f"{theirs.name}_"), named(schema)
        told = {a.name for a in schema.attributes.values()} - hints(schema.domain)
        assert told <= {s.name for s in spec.attributes}, named(schema)
        for statement in () if schema.domain else spec.attributes:  # those of ai.onnx.ml say little
            if not statement.optional and statement.default is None and statement.name in schema.attributes:
                missing = (named(schema), statement.name)
                assert schema.attributes[statement.name].required or missing in WITHOUT_MEANING, missing
        looked_at += 1
    assert looked_at > 600


def test_its_outputs_have_the_names_of_the_schema() -> None:
    for schema in VERSIONS:
        spec = LIBRARY.find(schema.domain, schema.name, schema.since_version)
        if spec is None:
            continue
        assert len(spec.outputs) >= len(schema.outputs), named(schema)
        for mine, theirs in zip(spec.outputs, schema.outputs, strict=False):
            # a few outputs are named like inputs, or like nothing that ToLang can name
            name = theirs.name.removesuffix("...")
            allowed = (name, f"{name}_", f"running_{name}")
            assert mine.name in allowed, (named(schema), mine.name)
