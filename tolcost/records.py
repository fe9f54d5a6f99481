"""Records with a field that does not take part in equality, such as a place in a source."""

from __future__ import annotations

import copyreg
from abc import ABCMeta
from types import MappingProxyType
from typing import ClassVar

from msgspec import Struct, StructMeta


class Record(Struct, frozen=True, eq=False):
    """A frozen record that is equal to another one if all fields agree, except those in ``ignored``."""

    ignored: ClassVar[frozenset[str]] = frozenset({"span"})

    def _compared(self) -> list[object]:
        return [getattr(self, name) for name in self.__struct_fields__ if name not in self.ignored]

    def __eq__(self, other: object) -> bool:
        """Compare type and fields."""
        return self is other or (type(self) is type(other) and self._compared() == other._compared())

    def __hash__(self) -> int:
        """Hash type and fields."""
        return hash((type(self), *self._compared()))


class AbstractMeta(StructMeta, ABCMeta):
    """The metaclass of records with abstract methods."""


def _read_only(items: dict[object, object]) -> MappingProxyType[object, object]:
    return MappingProxyType(items)


# Records hold read-only mappings, which pickle cannot serialise by itself.
copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))
