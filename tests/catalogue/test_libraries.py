"""Libraries of programs: found, read, costed and told; every one is gated and says what it is."""

from pathlib import Path

import pytest

from tolcost.catalogue.listing import library_names, read_library
from tolcost.cli import run
from tolcost.diagnostics import Rejected

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", library_names())
def test_a_library_says_what_it_is_and_its_tests_exist(name: str) -> None:
    library = read_library(name)
    assert library.title
    assert library.about.endswith(".")
    assert library.programs
    for program in library.programs:
        assert program.about, program.name
        assert not program.tests or (ROOT / program.tests).is_file(), program.tests
        assert bool(program.agreed) == bool(program.tests), program.name


@pytest.mark.parametrize(
    "name", ["circuits", "lambda", "matlang", "motifs", "polybench", "relational", "textbook", "turing"]
)
def test_programs_of_other_domains_are_held_to_something_on_a_hundred_inputs(name: str) -> None:
    """The tests that are named hold to these numbers themselves."""
    for program in read_library(name).programs:
        assert program.agreed, program.name
        assert (program.inputs or 0) >= 100, program.name


def test_every_library_is_in_the_index() -> None:
    index = (ROOT / "docs" / "libraries.md").read_text("utf-8")
    assert all(f"../specs/{name})" in index for name in library_names())


def test_a_program_is_found_by_its_path_or_its_name() -> None:
    library = read_library("examples")
    assert library.find("matmul").lines == 6
    with pytest.raises(Rejected, match="matmul"):
        library.find("matmuls")


@pytest.mark.parametrize("form", ["text", "md", "json"])
def test_lists_and_pages(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["all"], ["examples"], ["examples", "matmul"]):
        assert run(["ops", "--library", *arguments, "--format", form]) == 0
        assert capsys.readouterr().out
    assert run(["ops", "--library", "example"]) == 2
    assert "did you mean `examples`" in capsys.readouterr().err
