"""Where the forms of a scheme stand in what it gives: an instance is made of values by their places."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tolcost.algebra import Poly, const
from tolcost.cost import Counts, Traffic
from tolcost.dataclass import dataclass
from tolcost.elaborate import Tensor
from tolcost.models.facts import Known, changed
from tolcost.models.lowered import Lowered, Told

FormPlaces = tuple[tuple[Hashable, int], ...]
"""Keys of a mapping, with the place of the form of each."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The places of all forms."""

    general: Lowered
    forms: tuple[Poly, ...]
    histogram: FormPlaces
    index: FormPlaces
    atoms: FormPlaces
    macs: int
    read: FormPlaces
    written: FormPlaces
    least: FormPlaces | None
    shapes: tuple[tuple[int, ...] | None, ...]
    """Those of outputs that are tensors."""

    def gives(self, asked: int) -> bool:
        """Whether there are as many outputs as asked for, and all are tensors."""
        return len(self.shapes) >= asked and None not in self.shapes

    def at(self, values: Sequence[Poly]) -> Told:
        """What the scheme gives where its forms have these values."""
        general = self.general
        counts = Counts(
            _mapped(self.histogram, values),
            _mapped(self.index, values),
            _mapped(self.atoms, values),
            values[self.macs],
            (),
            general.counts.status,
            general.counts.bounded,
        )
        least = None if self.least is None else _mapped(self.least, values)
        read, written = _mapped(self.read, values), _mapped(self.written, values)
        traffic = Traffic(read, written, general.traffic.unsized, general.traffic.open, least)
        outputs = [
            self._output(known, shape, values)
            for known, shape in zip(general.outputs, self.shapes, strict=True)
        ]
        return Told(counts, traffic, tuple(outputs))

    def _output(self, known: Known, shape: tuple[int, ...] | None, values: Sequence[Poly]) -> Known:
        if shape is not None and isinstance(known, Tensor):
            return Tensor(tuple([values[place] for place in shape]), known.space)
        return changed(known, dict(zip(self.forms, values, strict=False)).__getitem__)


class Instance:
    """A scheme where its forms have numbers as values; what they stand for is made when it is asked for."""

    __slots__ = ("_told", "layout", "values")
    _told: Told | None

    def __init__(self, layout: Layout, values: Sequence[int]) -> None:
        """Keep the numbers."""
        self.layout = layout
        self.values = values
        self._told = None

    def _made(self) -> Told:
        if self._told is None:
            self._told = self.layout.at(list(map(const, self.values)))
        return self._told

    @property
    def counts(self) -> Counts:
        """What is counted."""
        return self._made().counts

    @property
    def traffic(self) -> Traffic:
        """What moves."""
        return self._made().traffic

    @property
    def outputs(self) -> tuple[Known, ...]:
        """What is known of its outputs."""
        return self._made().outputs

    @property
    def shapes(self) -> Iterator[tuple[tuple[int, ...], str]]:
        """The lengths and spaces of outputs that are tensors."""
        values = self.values
        for known, shape in zip(self.layout.general.outputs, self.layout.shapes, strict=True):
            if shape is not None and isinstance(known, Tensor):
                yield tuple([values[place] for place in shape]), known.space


def _mapped(places: FormPlaces, values: Sequence[Poly]) -> Mapping[Any, Poly]:
    return MappingProxyType({key: values[place] for key, place in places})


def layout_of(general: Lowered, forms: tuple[Poly, ...]) -> Layout:
    """Where the forms of a scheme stand in what it gives."""
    at = {form: place for place, form in enumerate(forms)}

    def places(mapping: Mapping[Any, Poly]) -> FormPlaces:
        return tuple((key, at[form]) for key, form in mapping.items())

    counts, traffic = general.counts, general.traffic
    return Layout(
        general,
        forms,
        places(counts.histogram),
        places(counts.index),
        places(counts.atoms),
        at[counts.macs],
        places(traffic.read),
        places(traffic.written),
        None if traffic.least is None else places(traffic.least),
        tuple(
            tuple(at[d] for d in known.shape) if isinstance(known, Tensor) else None
            for known in general.outputs
        ),
    )
