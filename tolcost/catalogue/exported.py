"""What exporters note about a node beside the graph: the modules of the source that it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

_SCOPES, _NAMESPACE = "pkg.torch.onnx.name_scopes", "namespace"
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_MOST_CHARACTERS, _MOST_LEVELS = 10_000, 64


class Entry(Protocol):
    """An entry of the metadata of a node."""

    key: str
    value: str | bytes
    """Bytes where it is no text."""


def scope_in(entries: Iterable[Entry]) -> tuple[str, ...]:
    """The modules around a node, outermost first, as newer exporters of PyTorch write them; else none.

    Both spellings list names that grow: ``model``, ``model.encoder``, ``model.encoder.layer.0``, and
    last what the node itself is called.
    """
    noted = {
        entry.key: entry.value
        for entry in entries
        if entry.key in (_SCOPES, _NAMESPACE) and isinstance(entry.value, str)
    }
    if _SCOPES in noted:
        text = noted[_SCOPES][:_MOST_CHARACTERS]
        return grown([single or double for single, double in _QUOTED.findall(text)][:-1])
    parts = noted.get(_NAMESPACE, "")[:_MOST_CHARACTERS].split("/")
    return grown([part.split(":")[0].strip() for part in parts[:-1]])


def grown(names: Sequence[str]) -> tuple[str, ...]:
    """What each name adds to the one before.

    >>> grown(["", "model", "model.layer.0", "model.layer.0.norm"])
    ('model', 'layer.0', 'norm')
    """
    found: list[str] = []
    before = ""
    for name in names[:_MOST_LEVELS]:
        added = name.removeprefix(f"{before}.") if before else name
        if added:
            found.append(added)
            before = name
    return tuple(found)
