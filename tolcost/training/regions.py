"""Which nodes are computed again in backward: scopes by a pattern, or groups of layers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from tolcost.diagnostics import quoted, refuse, visible
from tolcost.training.joint import JointGraph
from tolcost.training.memory import Recomputed

_EVERY = re.compile(r"\s*every\s+(?P<k>[0-9]{1,6})(\s+layers?)?\s*")
_NUMBER = re.compile(r"[0-9]+")


def regions_of(joint: JointGraph, recompute: str | None) -> tuple[Recomputed, ...]:
    """Return the regions that ``--recompute`` asks for."""
    if recompute is None:
        return ()
    every = _EVERY.fullmatch(recompute)
    if every is not None:
        return _layers(joint, int(every["k"]))
    found = _matching(joint, recompute)
    if not found:
        hint = f"there are {_some(joint)}"
        refuse("T0912", f"no scope is like {quoted(recompute)}", hint=hint)
    return found


def scopes_of(joint: JointGraph) -> dict[str, frozenset[int]]:
    """Return the scopes of a model, each with the places of the nodes in it."""
    places: dict[str, set[int]] = {}
    for step in joint.steps:
        path = step.node.path
        for n in range(len(path)):
            places.setdefault(".".join(path[: n + 1]), set()).add(step.place)
    return {name: frozenset(some) for name, some in places.items()}


def scopes_to_choose(joint: JointGraph) -> tuple[Recomputed, ...]:
    """Return the scopes of which some may be computed again: layers, and all that is inside of one.

    A model without layers has its scopes that do not hold most of its nodes.
    """
    scopes, layers = scopes_of(joint), layers_of(joint)
    if layers:
        found = {
            name: places for name, places in scopes.items() if any(places <= one.places for one in layers)
        }
    else:
        found = {name: places for name, places in scopes.items() if 2 * len(places) <= len(joint.steps)}
    same: dict[frozenset[int], str] = {}
    for name, places in found.items():
        same.setdefault(places, name)
    return tuple([Recomputed(name, places) for places, name in same.items()])


def _matching(joint: JointGraph, patterns: str) -> tuple[Recomputed, ...]:
    """Return the outermost scopes that are like one of some patterns, each a region."""
    scopes = scopes_of(joint)
    meant: set[str] = set()
    for pattern in filter(None, (one.strip() for one in patterns.split(","))):
        found = {pattern} if pattern in scopes else {name for name in scopes if _is_like(name, pattern)}
        if not found:
            refuse("T0912", f"no scope is like {quoted(pattern)}", hint=f"there are {_some(joint)}")
        meant |= found
    places: dict[str, set[int]] = {}
    for step in joint.steps:
        path = step.node.path
        names = (".".join(path[: n + 1]) for n in range(len(path)))
        name = next((one for one in names if one in meant), None)
        if name is not None:
            places.setdefault(name, set()).add(step.place)
    return tuple([Recomputed(name, frozenset(some)) for name, some in places.items()])


def _is_like(name: str, pattern: str) -> bool:
    """Whether a scope is like a pattern, which may leave out the scopes around it."""
    return fnmatchcase(name, pattern) or fnmatchcase(name, f"*.{pattern}")


def layers_of(joint: JointGraph) -> tuple[Recomputed, ...]:
    """Return the layers of a model: of all scopes that differ in one number, those with the most nodes."""
    families: dict[str, dict[str, set[int]]] = {}
    for step in joint.steps:
        path = step.node.path
        for n, part in enumerate(path):
            if _NUMBER.search(part):
                name = ".".join(path[: n + 1])
                kind = ".".join((*path[:n], _NUMBER.sub("*", part)))
                families.setdefault(kind, {}).setdefault(name, set()).add(step.place)
    many = [family for family in families.values() if len(family) > 1]
    if not many:
        return ()
    best = max(many, key=lambda family: sum(map(len, family.values())))
    return tuple([Recomputed(name, frozenset(places)) for name, places in best.items()])


def _layers(joint: JointGraph, k: int) -> tuple[Recomputed, ...]:
    """Return groups of ``k`` layers that follow each other."""
    layers = layers_of(joint)
    if not layers:
        refuse("T0912", "the model has no layers: no scopes that differ in a number alone", hint=_some(joint))
    if k < 1:
        refuse("T0912", "layers are computed again in groups of at least 1")
    groups = [layers[n : n + k] for n in range(0, len(layers), k)]
    return tuple([_together(group) for group in groups])


def _together(group: Iterable[Recomputed]) -> Recomputed:
    listed = list(group)
    title = listed[0].title if len(listed) == 1 else f"{listed[0].title} to {listed[-1].title}"
    return Recomputed(title, frozenset().union(*(region.places for region in listed)))


def _some(joint: JointGraph) -> str:
    names = dict.fromkeys(
        ".".join(path[: n + 1])
        for step in joint.steps
        for path in (step.node.path,)
        for n in range(len(path))
    )
    listed = [visible(name) for name in names][:6]
    return f"{', '.join(listed)}{' and others' if len(names) > 6 else ''}" if listed else "none"
