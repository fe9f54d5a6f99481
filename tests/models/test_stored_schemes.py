"""Schemes that come with tolcost: the same as those made anew, and nothing rests on them."""

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from tolcost.catalogue.reading import load_model
from tolcost.catalogue.specs import FILE, NOTHING_STORED, Library, new_library, open_library
from tolcost.models.analysis import analyze_graph
from tolcost.models.schemes import Schemes
from tolcost.models.stored_schemes import NO_SCHEME, pattern_text
from tolcost.models.walking import Session
from tolcost.platform import specs_root
from tolcost.result.model import walked
from tools.models.scheme_texts import node_of_pattern
from tools.models.store_schemes import (
    Operator,
    anew,
    stored_before,
    text_of_scheme,
)

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
SPECS = Path(str(specs_root()))
COMMON = tuple(
    LIGHT / f"light_{name}.onnx" for name in ("resnet50", "densenet121", "inception_v2", "shufflenet")
)
EXAMPLES = tuple(sorted((Path(__file__).parents[2] / "examples").glob("*.onnx")))

TEXTS = stored_before(SPECS)
STORED: list[tuple[Operator, str, str]] = [
    (operator, pattern, text)
    for operator, texts in sorted(TEXTS.items())
    for pattern, text in sorted(texts.items())
]
OPERATORS = [(domain, name) for domain in open_library().domains() for name in open_library().names(domain)]


def _sample() -> list[tuple[Operator, str, str]]:
    """One pattern of each operator; all of them in ``make soak``."""
    if "TOLCOST_SOAK" in os.environ:
        return STORED
    rng, by = (
        random.Random(21),
        {operator: [s for s in STORED if s[0] == operator] for operator, *_ in STORED},
    )
    return [rng.choice([s for s in listed if s[2] != NO_SCHEME] or listed) for listed in by.values()]


def test_what_is_stored_fits_the_definitions() -> None:
    """Where this fails, a definition was changed: ``make schemes`` makes them again."""
    assert [name for name in OPERATORS if open_library().stored(*name) is NOTHING_STORED] == []


def test_every_scheme_is_what_lowering_gives_now() -> None:
    library = open_library()
    for operator, pattern, text in _sample():
        assert text_of_scheme(anew(library, operator, pattern, text)) == text, (operator, pattern)


def test_a_pattern_is_read_as_it_was_written() -> None:
    for operator, pattern, _ in STORED:
        since, node, inputs = node_of_pattern(pattern, operator[1], operator[0])
        assert pattern_text(node, since, inputs) == pattern


@pytest.mark.parametrize("path", COMMON + EXAMPLES, ids=lambda path: path.stem)
def test_nothing_is_lowered_for_common_models(path: Path, calls: Counter[str]) -> None:
    """Work counted, not timed: what a cold process has to do."""
    library = new_library(())
    study = walked(path.stem, load_model(path), Session(library))
    assert study.measures(())
    assert not calls
    assert "_definitions" not in vars(library), "no definition was read, either"


@pytest.mark.parametrize("name", ["shufflenet", "squeezenet"])
def test_figures_are_the_same_without(name: str) -> None:
    model = load_model(LIGHT / f"light_{name}.onnx")
    one, other = (
        walked(name, model, Session(open_library(), schemes=Schemes(stored=stored)))
        for stored in (True, False)
    )
    assert [str(m.form) for m in one.measures(())] == [str(m.form) for m in other.measures(())]
    assert one.total.histogram == other.total.histogram
    assert one.total.atoms == other.total.atoms


@pytest.fixture(name="copy")
def _copy(tmp_path: Path) -> Path:
    for folder in ("onnx", "lib"):
        shutil.copytree(SPECS / folder, tmp_path / folder)
    shutil.copy(SPECS / FILE, tmp_path)
    return tmp_path


def test_a_changed_definition_makes_what_is_stored_void(copy: Path) -> None:
    assert Library((copy,)).stored("", "Conv").any_scheme
    with (copy / "lib" / "windows.tol").open("a") as file:
        file.write("\n# another remark\n")
    assert Library((copy,)).stored("", "Conv") is NOTHING_STORED
    assert Library((copy,)).stored("", "Relu").any_scheme


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "a bit of each scheme": lambda raw: raw.replace(b"lambda", b"lambdb"),
    "a bit of what is said of definitions": lambda raw: raw.replace(b'"tol",false', b'"tol",true'),
    "a pattern of another": lambda raw: raw.replace(
        b'onnx/Relu [1,1,{},[["tensor","float32"', b'onnx/Relu [1,1,{},[["tensor","float64"'
    ),
    "cut off": lambda raw: raw[: len(raw) // 2],
    "tabs lost": lambda raw: raw.replace(b"\t", b" "),
    "lines lost": lambda raw: raw.replace(b"\n", b"\t"),
    "empty": lambda raw: b"",
    "a pickle": lambda raw: b"\x80\x04" + raw,
    "a list": lambda raw: b"[]\n",
    "lines missing": lambda raw: raw[: raw.index(b"\n") + 1],
    "fields missing": lambda raw: raw.replace(b'"heads"', b'"hands"'),
    "another format": lambda raw: raw.replace(b"format 9", b"format 8"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_damaged_is_not_there(copy: Path, damage: Callable[[bytes], bytes]) -> None:
    file, told = copy / FILE, TEXTS["", "Relu"]
    whole, before = Library((copy,)).stored("", "Relu"), file.read_bytes()
    file.write_bytes(damage(before))
    library = Library((copy,))
    found = library.stored("", "Relu")
    given = {pattern: found.scheme(pattern) for pattern in told}
    assert file.read_bytes() != before
    assert found.heads in ({}, whole.heads)
    assert all(text in (None, told[pattern]) for pattern, text in given.items())
    assert None in given.values() or damage is DAMAGE["a pattern of another"]
    cost = analyze_graph(load_model(LIGHT / "light_squeezenet.onnx"), Session(library))
    assert not any(applied.uncosted for applied in cost.nodes)


def test_definitions_of_a_user_come_before(tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "Relu.tol").write_text("operator Relu\ntol X: R [...]\nY := map(X, max(*, 0) + 1)\n")
    model = load_model(LIGHT / "light_squeezenet.onnx")
    plain, own = (walked("", model, Session(open_library(folders))) for folders in ((), (tmp_path,)))
    assert own.total.eops.constant is not None
    assert plain.total.eops.constant is not None
    assert own.total.eops.constant > plain.total.eops.constant
