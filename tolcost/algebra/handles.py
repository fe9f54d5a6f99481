"""What stands for a generator where it must not be kept alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tolcost.algebra.symbols import Generator


class Handle:
    """Held by its generator, and weakly by the table of generators: mypyc has no weak references."""

    __slots__ = ("__weakref__", "generator")
    generator: Generator
