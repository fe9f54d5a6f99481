"""Read the inputs that a program of ``specs/`` declares, in environments that have no tolcost."""

from __future__ import annotations

import re
from typing import NamedTuple


class Declared(NamedTuple):
    """An input of a program: its space and the names of its lengths, or an attribute."""

    name: str
    space: str
    shape: tuple[str, ...]
    attribute: bool


def read_declared(text: str) -> list[Declared]:
    """Read the inputs that a program declares."""
    found = re.findall(r"^(tol|attr) (\w+): (\S+)(?: \[(.*)\])?$", text, re.M)
    return [
        Declared(name, space, tuple(filter(None, re.split(r", *", shape or ""))), kind == "attr")
        for kind, name, space, shape in found
    ]
