"""The compiled build: what becomes of data classes on the way, and that every module can take it."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from native.records import written_out
from native.tree import INTERPRETED, compiled_modules

ROOT = Path(__file__).parents[2]

MODULE = '''
from collections import defaultdict
from dataclasses import dataclass, field
from typing import ClassVar

def _quiet():
    """Give a field."""
    return field(default="", compare=False)

@dataclass(slots=True)
class Plain:
    """Some fields."""

    first: int
    second: list[int] = field(default_factory=list)
    third: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    fourth: float = 1.5
    kind: ClassVar[str] = "plain"
    double: int = field(init=False, compare=False)
    note: str = _quiet()

    def __post_init__(self):
        self.double = 2 * self.first

@dataclass(slots=True, eq=False)
class Same:
    value: object = None
'''


def module(text: str, name: str) -> ModuleType:
    made = ModuleType(name)
    sys.modules[name] = made
    exec(text, made.__dict__)  # noqa: S102  # the text above
    return made


before, after = module(MODULE, "records_before"), module(written_out(MODULE), "records_after")


@pytest.mark.parametrize("arguments", [(3,), (3, [1]), (3, [1], {"a": [2]}, 0.5, "said")], ids=len)
def test_the_same_class(arguments: tuple[object, ...]) -> None:
    old, new = before.Plain(*arguments), after.Plain(*arguments)
    assert repr(new) == repr(old)
    assert new.double == 6
    assert new == after.Plain(*arguments[:4], note="another")
    assert (new == after.Plain(4)) is (old == before.Plain(4)) is False
    assert pickle.loads(pickle.dumps(new)) == new  # noqa: S301  # made the line before


def test_what_is_made_for_a_field_is_made_each_time() -> None:
    assert after.Plain(1).second is not after.Plain(1).second
    assert after.Plain(1).third["absent"] == []


def test_parameters_keep_their_order() -> None:
    kept = list(inspect.signature(before.Plain).parameters)
    assert list(inspect.signature(after.Plain).parameters) == kept


def test_identity_is_kept() -> None:
    assert after.Same() != after.Same()


def test_a_class_that_is_not_there_yet_is_not_handed_over() -> None:
    text = """
if TYPE_CHECKING:
    from elsewhere import Later

@dataclass(frozen=True, slots=True)
class Holds:
    later: Later = field(repr=False)
"""
    (kind,) = (node for node in ast.parse(written_out(text)).body if isinstance(node, ast.ClassDef))
    assert kind.decorator_list == []
    assert ast.unparse(kind.body[0]) == "later: Later"


def test_inherited_fields_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="Child"):
        written_out("@dataclass\nclass Child(Parent):\n    n: int")


@pytest.mark.parametrize("path", compiled_modules(ROOT), ids=str)
def test_every_compiled_module_can_be_written_out(path: Path) -> None:
    text = written_out((ROOT / path).read_text("utf-8"))
    assert "slots=True" not in text
    compile(text, str(path), "exec")


@pytest.mark.parametrize("path", compiled_modules(ROOT), ids=str)
def test_sets_and_the_keys_of_dictionaries_are_not_mixed(path: Path) -> None:
    """What comes out is a set, whatever its type says."""
    assert not re.search(r" [-&|^] \S+\.(keys|items)\(\)", (ROOT / path).read_text("utf-8"))


def test_what_stays_interpreted_exists() -> None:
    assert [name for name in INTERPRETED if not (ROOT / "tolcost" / name).is_file()] == []
