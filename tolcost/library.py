"""The programs that come with tolcost: where ``specs/`` is, and the text of one of its files.

In a checkout (and in an editable install of one) they are the ``specs/`` folder beside the
package; in an installed wheel they are the copy inside it.  The same holds for what ONNX's tests
said of them when they were last run, and for devices.  This module only finds and reads text: it does
not parse, and it keeps nothing.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tolcost.diagnostics import InternalError, Source

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class NoSuchSpec(LookupError):
    """No file of that kind and name comes with tolcost."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"there is no {name!r} in specs/{kind}")
        self.kind = kind
        self.name = name


def package_folder() -> Traversable:
    """The folder of this package.  What finds it in an archive takes long to load: most are in none."""
    folder = Path(__file__).parent
    if folder.is_dir():
        return folder
    from importlib.resources import files

    return files("tolcost")


@cache
def specs_root() -> Traversable:
    """The folder ``specs/``, wherever this tolcost keeps it.

    >>> specs_root().joinpath("paper").is_dir()
    True
    """
    return locate_specs(package_folder())


def locate_specs(package: Traversable) -> Traversable:
    """The specs that belong to a package folder: its own copy, or else the folder beside it."""
    packed = package.joinpath("_specs")
    if packed.is_dir():
        return packed
    if isinstance(package, Path) and (beside := package.parent / "specs").is_dir():
        return beside
    raise InternalError("the specs that belong to tolcost are not where they were installed")


def read_spec(kind: str, name: str) -> Source:
    """The program ``specs/KIND/NAME.tol``; raises ``NoSuchSpec`` where there is none.

    The name may come from a user's program, so nothing that could leave ``specs/`` is looked up.

    >>> read_spec("paper/section5", "matmul.printed").name
    'specs/paper/section5/matmul.printed.tol'
    >>> read_spec("lib", "../../etc/passwd")
    Traceback (most recent call last):
    tolcost.library.NoSuchSpec: there is no '../../etc/passwd' in specs/lib
    """
    folder = _folder(kind)
    if folder is None or not _PART.fullmatch(name):
        raise NoSuchSpec(kind, name)
    file = folder.joinpath(f"{name}.tol")
    if not file.is_file():
        raise NoSuchSpec(kind, name)
    return Source(f"specs/{kind}/{name}.tol", file.read_text(encoding="utf-8"))


def spec_names(kind: str) -> tuple[str, ...]:
    """The names that ``read_spec`` knows under a kind, sorted; none for an unknown kind.

    >>> "matmul.printed" in spec_names("paper/section5")
    True
    """
    folder = _folder(kind)
    if folder is None or not folder.is_dir():
        return ()
    return tuple(sorted(f.name.removesuffix(".tol") for f in folder.iterdir() if f.name.endswith(".tol")))


def stored_conformance(package: Traversable | None = None) -> str | None:
    """What ``tolcost verify`` wrote about the programs that come with tolcost; None where it is not there."""
    return _stored("conformance.json", package)


def stored_general(package: Traversable | None = None) -> str | None:
    """What ``tolcost verify --general`` wrote about them; None where it is not there."""
    return _stored("general.json", package)


def _stored(name: str, package: Traversable | None) -> str | None:
    inside = package or package_folder()
    packed = inside.joinpath("_data", name)
    if packed.is_file():
        return packed.read_text(encoding="utf-8")
    beside = inside.parent / "reports" / "data" / name if isinstance(inside, Path) else None
    return beside.read_text(encoding="utf-8") if beside is not None and beside.is_file() else None


def schema_text(kind: str) -> str:
    """The JSON schema of a kind of document, as text: one of ``docs/schemas``, or the copy of a wheel.

    >>> "tolcost analyze" in schema_text("analysis")
    True
    """
    package = package_folder()
    packed = package.joinpath("_schemas", f"{kind}.json")
    if packed.is_file() or not isinstance(package, Path):
        return packed.read_text(encoding="utf-8")
    return (package.parent / "docs" / "schemas" / f"{kind}.json").read_text(encoding="utf-8")


def device_names(package: Traversable | None = None) -> tuple[str, ...]:
    """The names of the devices that come with tolcost, sorted.

    >>> device_names()
    ('h200',)
    """
    folder = locate_devices(package or package_folder())
    return tuple(sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")))


def read_device(name: str) -> str | None:
    """The text of a device that comes with tolcost; None where there is none of that name."""
    if name not in device_names():
        return None
    return locate_devices(package_folder()).joinpath(f"{name}.toml").read_text(encoding="utf-8")


def locate_devices(package: Traversable) -> Traversable:
    """The devices that belong to a package folder: its own copy, or else the folder beside it."""
    packed = package.joinpath("_devices")
    if packed.is_dir() or not isinstance(package, Path):
        return packed
    return package.parent / "devices"


def _folder(kind: str) -> Traversable | None:
    parts = kind.split("/")
    return specs_root().joinpath(*parts) if all(map(_PART.fullmatch, parts)) else None
