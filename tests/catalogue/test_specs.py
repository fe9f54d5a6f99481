"""Definitions are found by domain, name and version, a user's before ours."""

import shutil
from pathlib import Path

import pytest

from tolcost.catalogue.specs import Library, Spec, new_library, open_library
from tolcost.diagnostics import Rejected
from tolcost.platform import read_spec, spec_names, specs_root
from tolcost.syntax import parse, tree
from tolcost.syntax.parser import _LibraryFile


def write(folder: Path, name: str, text: str) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


TWICE = "operator Twice {since}\ntol X: R [...]\nY := map(X, * * {factor})\n"


def test_the_newest_meaning_that_is_not_newer(tmp_path: Path) -> None:
    write(tmp_path, "onnx/Twice.tol", TWICE.format(since=13, factor=2))
    write(tmp_path, "onnx/Twice@7.tol", TWICE.format(since=7, factor=3))
    library = open_library([tmp_path])
    found = [library.find("", "Twice", opset) for opset in (6, 7, 12, 13, 99)]
    assert [spec and spec.since for spec in found] == [None, 7, 7, 13, 13]


def test_our_own_operators_are_found() -> None:
    library = open_library()
    spec = library.find("ai.onnx", "ReduceSum", 11)
    assert spec is not None
    assert [a.name for a in spec.attributes] == ["axes", "keepdims"]
    assert library.find("", "NoSuchOperator") is None


def test_a_users_folder_comes_first(tmp_path: Path) -> None:
    write(tmp_path, "onnx/Relu.tol", "operator Relu\ntol X: R [...]\nY := map(X, abs)\n")
    spec = open_library([tmp_path]).find("", "Relu", 14)
    assert spec is not None
    assert "abs" in spec.source.text


@pytest.mark.parametrize(
    "files, chosen",
    [
        ({"Add.tol": "Add"}, {6: True, 7: True, 14: True, None: True}),  # it is the newest meaning
        ({"Add.tol": "Add 7"}, {6: False, 7: True, 14: True, None: True}),
        ({"Add@1.tol": "Add 1"}, {6: True, 7: False, 14: False, None: False}),
        ({"Add.tol": "Add 13", "Add@1.tol": "Add 1"}, {6: True, 7: False, 12: False, 13: True, None: True}),
        ({"Add.tol": "Add 5", "Add@9.tol": "Add 9"}, {4: False, 6: True, 8: True, 9: True, None: True}),
    ],
    ids=str,
)
def test_a_users_newest_meaning_is_the_newest(
    tmp_path: Path, files: dict[str, str], chosen: dict[int | None, bool]
) -> None:
    """What came with tolcost for a later version was taken instead, unless a header said that version."""
    for name, header in files.items():
        write(tmp_path, f"onnx/{name}", f"operator {header}\ntol A: R [...]\ntol B: R [...]\nC := A\n")
    library = open_library([tmp_path])
    found = {opset: library.find("", "Add", opset) for opset in chosen}
    assert {opset: spec is not None and not spec.shipped for opset, spec in found.items()} == chosen


def test_library_files_bring_what_they_use(tmp_path: Path) -> None:
    write(tmp_path, "lib/low.tol", "one(x) = x + 1\n")
    write(tmp_path, "lib/high.tol", "use low\ntwo(x) = one(one(x))\n")
    write(tmp_path, "mine/Two.tol", "operator Two\ntol X: R [...]\nuse high\nY := map(X, two(*))\n")
    spec = open_library([tmp_path]).find("mine", "Two")
    assert spec is not None
    assert [s.name for s in spec.library[0].statements] == ["one", "two"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "name, text, code",
    [
        ("Bad.tol", "tol X: R [n]\nY := X\n", "T0652"),
        ("Bad.tol", "operator Good\ntol X: R [n]\nY := X\n", "T0652"),
        ("Bad@3.tol", "operator Bad 4\ntol X: R [n]\nY := X\n", "T0652"),
        ("Bad.tol", "operator Bad\ntol X: R [n]\nuse nowhere\nY := X\n", "T0211"),
        ("Bad.tol", "operator Bad\ntol X: R [n]\nuse lib_of_evil\nY := X\n", "T0211"),
        ("Bad.tol", "operator Bad\ntol X: R [n]\nY := nonsense(X)\n", "T0201"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, name: str, text: str, code: str) -> None:
    write(tmp_path, f"onnx/{name}", text)
    with pytest.raises(Rejected) as caught:
        open_library([tmp_path]).find("", "Bad")
    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize("domain", ["../etc", "/", "a/b", "a\0b"])
def test_a_domain_cannot_leave_the_folder(domain: str) -> None:
    with pytest.raises(Rejected):
        open_library().find(domain, "Relu")


def test_every_definition_that_ships_can_be_read() -> None:
    library = open_library()
    for domain in ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"):
        for name in library.names(domain):
            assert library.versions(domain, name)
            assert name not in library.outside(domain)


@pytest.mark.parametrize("name", spec_names("lib"))
def test_the_statements_of_a_library_file_are_found_by_their_first_words(name: str) -> None:
    source = read_spec("lib", name)
    file = _LibraryFile(source)
    found = [file.statement(piece) for piece in file.pieces]
    assert [(s, s.span) for s in found] == [(s, s.span) for s in parse(source).statements]
    for piece, statement in zip(file.pieces, found, strict=True):
        defined = statement.name if isinstance(statement, tree.Define) else "use"
        assert isinstance(statement, tree.Define | tree.Use)
        assert piece.word == defined


def shipped(library: Library) -> list[Spec]:
    return [s for d in library.domains() for name in library.names(d) for s in library.versions(d, name)]


def test_what_is_read_of_library_files_is_all_that_a_definition_needs() -> None:
    library = new_library(())
    for spec in shipped(library):
        assert spec.stored is not None, f"make schemes: {spec.domain} {spec.name}"
        library.check_names(spec.program, spec.library)
    slices = library.find("", "Slice")
    assert slices is not None
    read, *_ = slices.library
    assert 0 < len(read.statements) < len(library.used("axes").statements) / 2


def test_a_library_file_that_was_changed_is_read_as_a_whole(tmp_path: Path) -> None:
    for folder in ("onnx", "lib"):
        shutil.copytree(specs_root().joinpath(folder), tmp_path / folder)  # type: ignore[call-overload]
    shutil.copy(specs_root().joinpath("schemes.tsv"), tmp_path)  # type: ignore[call-overload]
    library = tmp_path / "lib" / "windows.tol"
    library.write_text(library.read_text() + "\nbroken = (\n")
    with pytest.raises(Rejected):
        Library((tmp_path,)).find("", "Pad").program  # type: ignore[union-attr]  # noqa: B018
    assert Library((tmp_path,)).find("", "Relu").program  # type: ignore[union-attr]
