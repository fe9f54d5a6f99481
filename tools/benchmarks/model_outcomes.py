"""What became of the models that were checked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from model_branches import Place
from model_runs import Dims

from tolcost.algebra import ZERO, Poly


@dataclass
class Tally:
    """How shapes compare.

    ``by_data`` are values some of whose lengths only data decides, ``declared`` those where only the file
    says a length, behind an operator without a definition; all their other lengths agree.  ``single`` are
    those of one entry that is a scalar at some turns of a loop and a vector at others.  ``unknown`` are
    those of which no shape is known, ``others`` sequences and maps, which have none, and ``unseen`` those
    that never came out of a run.
    """

    agree: int = 0
    by_data: int = 0
    declared: int = 0
    single: int = 0
    unknown: int = 0
    others: int = 0
    unseen: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many values came out of a run."""
        short = self.by_data + self.declared + self.single + self.unknown + self.others
        return self.agree + short + len(self.wrong)

    @property
    def full(self) -> bool:
        """Whether every shape is known, and is what was observed."""
        short = self.by_data or self.declared or self.single or self.unknown
        return not (short or self.unseen or self.wrong)

    def __str__(self) -> str:
        more = (
            (self.by_data, "up to lengths that data decides"),
            (self.declared, "up to lengths that only the file declares"),
            (self.single, "up to the rank of a single entry, which data decides"),
            (self.unknown, "not known"),
            (self.others, "no tensor"),
            (self.unseen, "not observed"),
            (len(self.wrong), "WRONG"),
        )
        return ", ".join([str(self.agree), *(f"{count} {what}" for count, what in more if count)])


@dataclass
class Seen:
    """How all shapes compare at one set of lengths: those of the graph, and those inside of its nodes.

    ``sides`` are the sides of branches that were run, ``failed`` those that fail at these lengths.
    """

    dims: Dims
    values: Tally
    inner: Tally
    sides: frozenset[Place]
    failed: frozenset[Place]

    @property
    def full(self) -> bool:
        """Whether every shape is known, and is what was observed."""
        return self.values.full and self.inner.full

    @property
    def inner_text(self) -> str:
        """How the values inside of branches and loops compare; nothing where there are none."""
        if not (self.sides or self.inner.count or self.inner.unseen):
            return ""
        count = len(self.failed)
        return f"{self.inner}, {count} side{'s' * (count > 1)} cannot be run" if count else str(self.inner)


@dataclass
class Outcome:
    """What became of a model, and which state of tolcost says so."""

    name: str
    digest: str = ""
    state: str = ""
    opset: str = ""
    nodes: int = 0
    costed: int = 0
    eops: str = ""
    macs: str = ""
    params: str = ""
    status: str = ""
    form: Poly = ZERO
    longest: str = ""
    characters: int = 0
    seconds: float = 0.0
    uncosted: tuple[str, ...] = ()
    values: int = 0
    fixed: bool = False
    seen: list[Seen] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def looked_at(self) -> bool:
        """Whether anything came of it, if only a note that nothing did."""
        return self.analysed or bool(self.notes)

    @property
    def analysed(self) -> bool:
        """Whether the model was not refused."""
        return self.nodes > 0

    @property
    def twice(self) -> bool:
        """Whether every side of every branch was run as often as the model itself is to be run."""
        times = Counter(side for seen in self.seen for side in seen.sides)
        failed = {side for seen in self.seen for side in seen.failed}
        return all(times[side] >= self.wanted for side in failed)

    @property
    def wanted(self) -> int:
        """How often the model is to be run."""
        return 1 if self.fixed else 2

    @property
    def agrees(self) -> bool:
        """Whether every shape agrees, wherever there is to look, and as often as it is to be looked at."""
        return len(self.seen) >= self.wanted and self.twice and all(s.full for s in self.seen)

    @property
    def wrong(self) -> list[str]:
        """The shapes that are not what was observed."""
        return [what for seen in self.seen for what in (*seen.values.wrong, *seen.inner.wrong)]

    @property
    def inner(self) -> int:
        """How many values inside of branches and loops were seen at all."""
        return max((seen.inner.count for seen in self.seen), default=0)


# ---- telling -----------------------------------------------------------------------------


def shown(dims: Dims) -> str:
    return ", ".join(f"{name}={value}" for name, value in dims.items()) or "fixed"


def short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def cells(o: Outcome) -> dict[str, object]:
    status = o.status + (f" ({', '.join(o.uncosted)})" if o.uncosted else "")
    return {
        "model": o.name,
        "opset": o.opset,
        "nodes": o.nodes,
        "costed": o.costed,
        "EOPs": o.eops,
        "MACs": o.macs,
        "parameters": o.params,
        "status": status or ("refused" if o.looked_at else "not looked at"),
        "characters": o.characters,
        "seconds": f"{o.seconds:.1f}",
        "values": o.values,
        "shapes that agree": "; ".join(str(seen.values) for seen in o.seen) or "not run",
        "values inside": o.inner or "",
        "those that agree": "; ".join(filter(None, (seen.inner_text for seen in o.seen))),
        "lengths": "; ".join(shown(s.dims) for s in o.seen),
        "notes": ". ".join([*o.notes, *o.wrong[:4]]),
    }
