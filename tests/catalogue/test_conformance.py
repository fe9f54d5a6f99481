"""Cases pass for right definitions and fail, with the right cause, for wrong ones."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tolcost.algebra import const
from tolcost.catalogue.cases import Case, derive, load_cases
from tolcost.catalogue.conformance import Result, as_record, check, verify
from tolcost.catalogue.specs import Library, open_library
from tolcost.cli import run

pytestmark = pytest.mark.node_cases

SOFTMAX = (Path(__file__).parents[2] / "specs" / "onnx" / "Softmax.tol").read_text()


@pytest.fixture(name="cases", scope="module")
def _cases() -> dict[str, Case]:
    return {case.name: case for case in load_cases()}


@pytest.fixture(name="library", scope="module")
def _library() -> Library:
    return open_library()


def with_softmax(folder: Path, text: str) -> Library:
    (folder / "onnx").mkdir()
    (folder / "onnx" / "Softmax.tol").write_text(text)
    return open_library([folder])


def test_what_is_asked_for_is_all_there_without_the_rest(cases: dict[str, Case]) -> None:
    """In a process that has made no cases yet: the pools, which take onnx longest, are not made."""
    asked = ("Scan", "Relu", "Cast")
    code = (
        "import sys; from tolcost.catalogue.cases import load_cases;"
        f"print(*(case.name for case in load_cases({asked})));"
        "print('onnx.backend.test.case.node.averagepool' in sys.modules)"
    )
    names, pools = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert set(names.split()) == {name for name, case in cases.items() if case.node.op in asked}
    assert pools == "False"


def test_the_suite_is_all_there(cases: dict[str, Case]) -> None:
    assert len(cases) > 1300
    assert not any("_expanded" in name for name in cases)


@pytest.mark.parametrize(
    "name, form",
    [
        ("test_matmul_2d", "2*A_1*A_2*B_2"),
        ("test_matmul_3d", "2*A_1*A_2*A_3*B_3"),
        ("test_softmax_axis_1", "5*input_1*input_2*input_3"),
        ("test_reduce_sum_keepdims_random", "data_1*data_2*data_3"),
        ("test_argmax_keepdims_random", "2*data_1*data_2*data_3"),
        ("test_gemm_default_matrix_bias", "2*A_1*A_2*B_2"),
        ("test_add_bcast", "A_1*A_2*A_3"),
        ("test_transpose_default", "0"),
    ],
)
def test_the_forms_are_what_one_would_write(
    cases: dict[str, Case], library: Library, name: str, form: str
) -> None:
    result = check(cases[name], library)
    assert (result.status, result.eops, result.concrete) == ("pass", form, ())


def failing(cases: dict[str, Case], library: Library) -> Result:
    result = check(cases["test_softmax_axis_1"], library)
    assert result.status == "fail"
    assert result.cause
    return result


def test_a_wrong_value_is_seen(cases: dict[str, Case], tmp_path: Path) -> None:
    result = failing(cases, with_softmax(tmp_path, SOFTMAX.replace("add, 0", "add, 1")))
    assert (result.value, result.shape, result.count) == (False, True, True)


def test_a_wrong_shape_is_seen(cases: dict[str, Case], tmp_path: Path) -> None:
    wrong = SOFTMAX.replace("output := ", "softened = ") + "output := [softened]\n"
    assert failing(cases, with_softmax(tmp_path, wrong)).shape is False


def test_a_wrong_element_type_is_seen(cases: dict[str, Case], tmp_path: Path) -> None:
    wrong = SOFTMAX.replace("output := ", "softened = ") + "output := convert(softened, float64)\n"
    assert "element type float64, not float32" in (failing(cases, with_softmax(tmp_path, wrong)).cause or "")


def test_a_definition_that_cannot_be_compiled_says_why(cases: dict[str, Case], tmp_path: Path) -> None:
    result = failing(cases, with_softmax(tmp_path, SOFTMAX.replace("max, -Inf", "max, missing")))
    assert "missing" in (result.cause or "")
    assert "Softmax.tol:" in (result.detail or "")


def test_lengths_that_decide_a_rank_are_numbers_and_named(cases: dict[str, Case], tmp_path: Path) -> None:
    text = "operator Softmax 13\ntol input: R [...]\nattr axis: Z = -1\n"
    text += "n = |input|[2]\noutput := reshape(input, [*map(tol[n], 1), *|input|])\n"
    library = with_softmax(tmp_path, text)
    case = cases["test_softmax_axis_1"]
    spec = library.find("", "Softmax", 13)
    assert spec is not None
    assert derive(case, spec, library).concrete == ("input_2",)


def test_cases_that_lowering_cannot_tell_apart_share_it(cases: dict[str, Case], library: Library) -> None:
    """Other elements make no difference, unless lowering looks at them; attributes and outputs do."""
    case = cases["test_reduce_sum_keepdims_example"]
    spec = library.find("", "ReduceSum", case.opset)
    assert spec is not None
    data, axes = case.inputs
    assert isinstance(axes, np.ndarray)
    assert isinstance(data, np.ndarray)
    derived = derive(case, spec, library)
    assert derive(cases["test_reduce_sum_keepdims_random"], spec, library).lowered is derived.lowered
    others = [
        replace(case, inputs=(data, axes - 1)),
        replace(case, inputs=(data.astype(np.float64), axes)),
        replace(case, inputs=(data[:1], axes)),
        replace(case, inputs=(data[:0], axes)),
        replace(case, inputs=(data, None)),
        replace(case, node=case.node._replace(attributes={"keepdims": const(0)})),
        replace(case, node=case.node._replace(asked=0)),
    ]
    found = [derive(other, spec, library).lowered for other in others]
    assert len({id(lowered) for lowered in (derived.lowered, *found)}) == 1 + len(others)


def test_operators_outside_and_undefined_are_told(
    cases: dict[str, Case], library: Library, tmp_path: Path
) -> None:
    outside = check(cases["test_string_concat"], library)
    assert (outside.status, outside.value) == ("outside", None)
    assert outside.cause
    case = cases["test_softmax_axis_1"]
    newer = with_softmax(tmp_path, "operator Softmax 99\ntol input: R [...]\noutput := input\n")
    result = check(case, Library(newer.roots[:1]))
    assert (result.status, result.cause) == ("fail", "Softmax has no definition for opset 13")


def test_verify_gives_one_record_per_case() -> None:
    told: list[int] = []
    report = verify(
        ["Softmax", "test_relu"],
        jobs=2,
        progress=lambda done, of, result: told.append(done),
        recorded=True,
    )
    record = as_record(report)
    assert record["summary"] == {"cases": 8, "pass": 8, "fail": 0, "outside": 0, "concrete": 0}
    assert told == list(range(1, 9))
    assert report.failures == ()


def test_all_there_is_to_say_has_the_form_of_every_test(capsys: pytest.CaptureFixture[str]) -> None:
    for options, forms in ((["--verbose"], ["  test_relu: X_1*X_2*X_3"]), ([], [])):
        assert run(["verify", "test_relu", "--jobs", "1", *options]) == 0
        assert capsys.readouterr().out.splitlines()[:-1] == ["Relu: 1 of 1", *forms]
