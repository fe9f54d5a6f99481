"""The programs that come with tolcost are found in a checkout, in a wheel, and nowhere else."""

from pathlib import Path

import pytest

from tolcost.diagnostics import InternalError
from tolcost.platform import (
    NoSuchSpec,
    locate_specs,
    read_spec,
    spec_names,
    specs_root,
    stored_conformance,
    stored_general,
)


def make(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def test_an_installed_package_uses_its_own_copy(tmp_path: Path) -> None:
    make(tmp_path / "specs")
    packed = make(tmp_path / "tolcost" / "_specs")
    assert locate_specs(tmp_path / "tolcost") == packed


def test_a_checkout_uses_the_folder_beside_the_package(tmp_path: Path) -> None:
    package, beside = make(tmp_path / "tolcost"), make(tmp_path / "specs")
    assert locate_specs(package) == beside


def test_without_specs_the_installation_is_broken(tmp_path: Path) -> None:
    with pytest.raises(InternalError):
        locate_specs(make(tmp_path / "tolcost"))


def test_every_listed_name_can_be_read() -> None:
    names = spec_names("paper/onnx")
    assert len(names) > 60
    assert all(read_spec("paper/onnx", name).text for name in names)


@pytest.mark.parametrize(
    "kind, name",
    [
        ("paper/onnx", "NoSuchOperator"),
        ("paper/onnx", "../section5/matmul.printed"),
        ("paper/../paper/onnx", "Relu.printed"),
        ("/", "Relu.printed"),
        ("", ""),
        ("paper/onnx", "Relu.printed\0"),
        ("nowhere", "Relu"),
    ],
)
def test_nothing_outside_is_looked_up(kind: str, name: str) -> None:
    with pytest.raises(NoSuchSpec):
        read_spec(kind, name)
    assert spec_names("..") == ()


def test_the_root_holds_the_papers_programs() -> None:
    assert specs_root().joinpath("paper", "tables.csv").is_file()


def test_what_the_tests_said_comes_along(tmp_path: Path) -> None:
    package = make(tmp_path / "tolcost")
    assert stored_conformance(package) is None
    (make(tmp_path / "reports" / "data") / "conformance.json").write_text("beside")
    assert stored_conformance(package) == "beside"
    (make(package / "_data") / "conformance.json").write_text("packed")
    assert stored_conformance(package) == "packed"
    assert (stored_conformance() or "").startswith("{")
    assert stored_general(package) is None
    assert (stored_general() or "").startswith("{")
