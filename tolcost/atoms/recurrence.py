"""A function that applies itself to parts of any length, as what it does besides."""

from __future__ import annotations

from msgspec import Struct

from tolcost.algebra import Poly, Symbol
from tolcost.atoms.nodes import Node, Program


class Recurrence(Struct, frozen=True, eq=False):
    """What a function does at any size: it applies itself to ``parts``, and does its ``own`` work.

    The inputs of ``own`` are its arguments and the results of its applications; its outputs are its result
    and the arguments that it makes.
    """

    name: str
    size: Symbol
    """The length that says how far it goes."""
    parts: tuple[Poly, ...]
    """The sizes that it applies itself to, at any size of 2 and more."""
    own: Program
    last: Program
    """What it does at size 1, where it does not apply itself."""
    first: tuple[Node, ...]
    """The arguments of its first application, in the program around it: outputs without a name."""
