"""An operator lowered before, with other symbols for what only data decides."""

from __future__ import annotations

from collections.abc import Mapping
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
        counts=counts_with(lowered.counts, by),
        traffic=traffic_with(lowered.traffic, by),
        outputs=tuple(replaced(known, by) for known in lowered.outputs),
        conditions=tuple(replace(c, condition=substitute_cond(c.condition, by)) for c in lowered.conditions),
        equal={s: substitute(p, by) for s, p in lowered.equal.items() if s not in by},
        data=frozenset(the_symbol(by[s]) for s in lowered.data),
    )


def counts_with(counts: Counts, by: Mapping[Symbol, Poly]) -> Counts:
    """Counts with expressions in place of symbols; places in the source are not kept."""
    return Counts(
        histogram=_all(counts.histogram, by),
        index=_all(counts.index, by),
        atoms=_all(counts.atoms, by),
        macs=substitute(counts.macs, by),
        terms=(),
        status=counts.status,
    )


def traffic_with(traffic: Traffic, by: Mapping[Symbol, Poly]) -> Traffic:
    """Traffic with expressions in place of symbols."""
    return Traffic(_all(traffic.read, by), _all(traffic.written, by), traffic.unsized)


def _all(forms: Mapping[_K, Poly], by: Mapping[Symbol, Poly]) -> Mapping[_K, Poly]:
    return MappingProxyType({key: substitute(form, by) for key, form in forms.items()})
