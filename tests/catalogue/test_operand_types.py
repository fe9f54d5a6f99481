"""Which types operators take and give: the tables against the installed onnx."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import defs

from tests.catalogue.recorded_schemas import recorded_schema
from tolcost.catalogue.cases import recorded_cases
from tolcost.catalogue.operand_types import FOLDER, OperatorTypes, check_node, types_of
from tolcost.catalogue.schemas import types_of_schema
from tolcost.catalogue.specs import FURTHER_DOMAINS, open_library
from tolcost.catalogue.types import space_of_dtype
from tolcost.platform import specs_root
from tools.catalogue.store_types import tables

MANY = 600


def test_tables_say_what_onnx_says() -> None:
    """Where this fails, onnx is another: ``make schemes`` makes the tables again."""
    place = Path(str(specs_root())) / FOLDER
    assert {file.stem: file.read_text("utf-8") for file in place.iterdir()} == tables()


def test_every_version_is_found() -> None:
    looked = 0
    for schema in defs.get_all_schemas_with_history():
        found = types_of(schema.name, schema.domain, schema.since_version)
        assert found is not None
        assert found == types_of_schema(schema)
        looked += 1
    assert looked > MANY


@pytest.mark.parametrize("domain", FURTHER_DOMAINS)
def test_recorded_schemas_say_the_same_without_onnx(domain: str) -> None:
    for op in open_library().names(domain):
        schema = recorded_schema(domain, op)
        assert schema is None or _sorted(types_of(op, domain, 1)) == types_of_schema(schema), op


def _sorted(found: OperatorTypes | None) -> OperatorTypes | None:
    if found is None:
        return None
    inputs, outputs = (
        tuple(operand._replace(types=tuple(sorted(operand.types))) for operand in listed)
        for listed in (found.inputs, found.outputs)
    )
    return found._replace(inputs=inputs, outputs=outputs)


@pytest.mark.parametrize("domain", FURTHER_DOMAINS)
def test_what_was_recorded_is_of_types_that_operators_take(domain: str) -> None:
    """Of several inputs each may have a type: QLinearConcat takes tensors, scales and zero points."""
    for case in recorded_cases(open_library(), domain):
        given = [space_of_dtype(one.dtype) if isinstance(one, np.ndarray) else None for one in case.inputs]
        check_node(case.node, case.opset, given)


def test_a_name_that_no_operator_has_is_not_looked_for() -> None:
    assert types_of("Abs\t{}\nAdd", "", 13) is None
    assert types_of("Nothing", "", 13) is None
    assert types_of("Abs", "", 0) == types_of("Abs", "", None)


def test_onnx_is_not_loaded_for_types() -> None:
    """Loading it takes longer than costing most models."""
    code = "import sys; from tolcost.catalogue.operand_types import types_of; types_of('Add', '', 13); "
    subprocess.run([sys.executable, "-c", code + "assert 'onnx' not in sys.modules"], check=True)
