"""An operator lowered before, with other symbols for what only data decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from tolcost.algebra import Poly, Symbol, substitute, substitute_cond, the_symbol
from tolcost.cost import Counts, Traffic
from tolcost.models.known import replaced
from tolcost.models.lowering import Lowered

_K = TypeVar("_K")


def renamed(lowered: Lowered, by: Mapping[Symbol, Poly]) -> Lowered:
    """Put symbols in place of others, wherever the cost or an output mentions them."""
    return replace(
        lowered,
        counts=counts_with(lowered.counts, lambda form: substitute(form, by)),
        traffic=traffic_with(lowered.traffic, lambda form: substitute(form, by)),
        outputs=tuple(replaced(known, by) for known in lowered.outputs),
        conditions=tuple(replace(c, condition=substitute_cond(c.condition, by)) for c in lowered.conditions),
        equal={s: substitute(p, by) for s, p in lowered.equal.items() if s not in by},
        data=frozenset(the_symbol(by[s]) for s in lowered.data),
        inside={at: tuple(substitute(d, by) for d in shape) for at, shape in lowered.inside.items()},
    )


Change = Callable[[Poly], Poly]


def counts_with(counts: Counts, change: Change) -> Counts:
    """Counts with every form changed; places in the source are not kept."""
    return Counts(
        histogram=_all(counts.histogram, change),
        index=_all(counts.index, change),
        atoms=_all(counts.atoms, change),
        macs=change(counts.macs),
        terms=(),
        status=counts.status,
    )


def traffic_with(traffic: Traffic, change: Change) -> Traffic:
    """Traffic with every form changed."""
    return Traffic(_all(traffic.read, change), _all(traffic.written, change), traffic.unsized)


def _all(forms: Mapping[_K, Poly], change: Change) -> Mapping[_K, Poly]:
    return MappingProxyType({key: change(form) for key, form in forms.items()})
