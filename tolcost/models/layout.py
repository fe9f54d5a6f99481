"""Where the forms of a scheme stand in what it gives: an instance is made of values by their places."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tolcost.algebra import Poly
from tolcost.cost import Counts, Traffic
from tolcost.dataclass import dataclass
from tolcost.elaborate import Tensor
from tolcost.models.facts import Known, changed
from tolcost.models.lowered import Lowered

Places = tuple[tuple[Hashable, int], ...]
"""Keys of a mapping, with the place of the form of each."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The places of all forms."""

    general: Lowered
    forms: tuple[Poly, ...]
    histogram: Places
    index: Places
    atoms: Places
    macs: int
    read: Places
    written: Places
    least: Places | None
    shapes: tuple[tuple[int, ...] | None, ...]
    """Those of outputs that are tensors."""

    def at(self, values: Sequence[Poly]) -> tuple[Counts, Traffic, tuple[Known, ...]]:
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
        return counts, traffic, tuple(outputs)

    def _output(self, known: Known, shape: tuple[int, ...] | None, values: Sequence[Poly]) -> Known:
        if shape is not None and isinstance(known, Tensor):
            return Tensor(tuple([values[place] for place in shape]), known.space)
        return changed(known, dict(zip(self.forms, values, strict=False)).__getitem__)


def _mapped(places: Places, values: Sequence[Poly]) -> Mapping[Any, Poly]:
    return MappingProxyType({key: values[place] for key, place in places})


def layout_of(general: Lowered, forms: tuple[Poly, ...]) -> Layout:
    """Where the forms of a scheme stand in what it gives."""
    at = {form: place for place, form in enumerate(forms)}

    def places(mapping: Mapping[Any, Poly]) -> Places:
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
