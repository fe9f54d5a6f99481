"""Compulsory traffic: the bytes that must come in and go out, however well a machine caches.

Every input that the program uses is read once and every output written once.  Nothing between
is counted: it may stay near the functions that use it.  A tensor of elements narrower than a
byte is packed and padded to a whole byte.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from tolcost.algebra import ZERO, Poly, product_of, total_of
from tolcost.atoms.kit import inner_nodes, roots
from tolcost.atoms.nodes import Input, Part, Program
from tolcost.spaces import SPACES


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Bytes in and out, by space.  Texts have no size: ``unsized`` names the spaces left out."""

    read: Mapping[str, Poly]
    written: Mapping[str, Poly]
    unsized: tuple[str, ...] = ()

    @property
    def total(self) -> Poly | None:
        """All bytes, in and out; None where something that moves has no size."""
        return None if self.unsized else total_of((*self.read.values(), *self.written.values()))


def traffic(program: Program) -> Traffic:
    """Count the bytes of the inputs that a program uses and of its outputs."""
    used = used_inputs(program)
    read = [part for given in used for part in given.type]
    written = [part for out in program.outputs for part in out.node.type]
    unsized = sorted({part.space for part in (*read, *written) if bits_of(part.space) is None})
    return Traffic(_by_space(read), _by_space(written), tuple(unsized))


def used_inputs(program: Program) -> tuple[Input, ...]:
    """Give the inputs that a program reads, in the order it declares them."""
    read = {node.name for node in inner_nodes(roots(program)) if isinstance(node, Input)}
    return tuple(given for given in program.inputs if given.name in read)


def _by_space(parts: Iterable[Part]) -> Mapping[str, Poly]:
    result: dict[str, Poly] = {}
    for part in parts:
        bits = bits_of(part.space)
        if bits is not None:
            result[part.space] = result.get(part.space, ZERO) + bytes_of(part.shape, bits)
    return MappingProxyType({space: result[space] for space in sorted(result)})


def bytes_of(shape: tuple[Poly, ...], bits: int) -> Poly:
    """Give the bytes of one tensor of elements of some bits.

    >>> from tolcost.algebra import const, length
    >>> bytes_of((length("n"),), 16), bytes_of((const(3),), 4)
    (2*n, 2)
    """
    volume = product_of(shape)
    return volume * (bits // 8) if bits % 8 == 0 else (volume * bits + 7) // 8


def bits_of(space: str) -> int | None:
    """Give the bits of one element: its own where finite, else by the table of widths; None for texts."""
    known = SPACES[space]
    if known.bits is not None:
        return known.bits
    width = _widths().get(known.kind)
    return None if width is None else 8 * width


@cache
def _widths() -> Mapping[str, int]:
    text = Path(__file__).with_name("widths.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text)["bytes"])
