"""What lasts for the process: numbers of things known, schemes, and nodes that were seen.

None of it depends on a model, only on the definitions that it came from, and on names where these are part of
what a node comes to.  The next session with the same definitions goes on with it, as long as it is not too
much.
"""

from __future__ import annotations

from threading import Lock

from tolcost.catalogue.specs import Library
from tolcost.dataclass import dataclass, field
from tolcost.models.applied import Applied
from tolcost.models.facts import FactTable
from tolcost.models.schemes import Schemes

MOST_THINGS, MOST_PATTERNS = 20_000, 2_000
"""With more things, or nodes, or patterns, the next session starts anew."""

NodeKey = tuple[object, ...]
Seen = dict[NodeKey, Applied]


@dataclass(slots=True)
class Lasting:
    """What was found with some definitions; nodes are by numbers of the table."""

    library: Library
    schemes: Schemes | None = field(default_factory=Schemes)
    table: FactTable = field(default_factory=FactTable)
    done: dict[NodeKey, Seen] = field(default_factory=dict)
    checked: set[NodeKey] = field(default_factory=set)


_last: list[Lasting] = []
_lock = Lock()


def lasting(library: Library) -> Lasting:
    """What the sessions before found with these definitions."""
    with _lock:
        before = _last.pop() if _last else None
        if before is None or before.library is not library:
            found = Lasting(library)
        elif max(len(before.table.things), sum(map(len, before.done.values()))) <= MOST_THINGS:
            found = before
        else:
            found = Lasting(library, before.schemes)
        if found.schemes is not None and len(found.schemes.found) > MOST_PATTERNS:
            found = Lasting(library)
        _last.append(found)
        return found
