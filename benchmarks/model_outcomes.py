"""What became of the models that were checked, and the report on it, as Markdown and CSV."""

from __future__ import annotations

import csv
import io
import platform
from collections import Counter
from dataclasses import dataclass, field

import onnx
import onnxruntime as ort  # type: ignore[import-untyped]
from model_branches import Place
from model_runs import Dims

import tolcost


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
    """What became of a model."""

    name: str
    digest: str = ""
    opset: str = ""
    nodes: int = 0
    costed: int = 0
    eops: str = ""
    macs: str = ""
    params: str = ""
    status: str = ""
    seconds: float = 0.0
    uncosted: tuple[str, ...] = ()
    values: int = 0
    fixed: bool = False
    seen: list[Seen] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

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
        "status": status or "refused",
        "values": o.values,
        "shapes that agree": "; ".join(str(seen.values) for seen in o.seen) or "not run",
        "values inside": o.inner or "",
        "those that agree": "; ".join(filter(None, (seen.inner_text for seen in o.seen))),
        "lengths": "; ".join(shown(s.dims) for s in o.seen),
        "notes": ". ".join([*o.notes, *o.wrong[:4]]),
    }


def summary(outcomes: list[Outcome]) -> list[str]:
    whole = sum(o.analysed and o.costed == o.nodes for o in outcomes)
    agree = Counter(o.fixed for o in outcomes if o.agrees)
    rest = [o.name for o in outcomes if not o.agrees]
    different = len({o.digest for o in outcomes})
    return [
        f"- {sum(o.analysed for o in outcomes)} of {len(outcomes)} models ({different} different files) are "
        f"analysed without failure; in {whole} of them every node is costed, the others say what is missing.",
        f"- {agree[False]} models with open lengths agree with onnxruntime in the shape of every value, at "
        f"two sets of lengths or more; {agree[True]} whose lengths are all fixed agree at the one there is.",
        f"- That is {sum(o.values for o in outcomes):,} values of main graphs, and {_branches(outcomes)}",
        f"- In {sum(bool(o.wrong) for o in outcomes)} models a shape is wrong. Short of full agreement: "
        f"{', '.join(rest) or 'none'}.",
    ]


def _branches(outcomes: list[Outcome]) -> str:
    """Say what was seen inside of branches and loops."""
    having = [o for o in outcomes if any(seen.inner_text for seen in o.seen)]
    values = sum(o.inner for o in having)
    failed = sum(bool(seen.failed) for o in having for seen in o.seen)
    unseen = [o.name for o in outcomes if any(seen.inner.unseen for seen in o.seen)]
    late = (
        f"at {failed} of the sets of lengths one side cannot be run, so these models are run at a third"
        if failed
        else "all sides can be run"
    )
    return (
        f"{values:,} inside of the branches and loops of {len(having)} models ({late}). Values inside of "
        f"nodes that are not observed: {', '.join(unseen) or 'none'}."
    )


def markdown(outcomes: list[Outcome], command: str) -> str:
    versions = f"tolcost {tolcost.__version__}, onnx {onnx.__version__}, onnxruntime {ort.__version__}"
    wide = [c for c in cells(outcomes[0]) if c not in ("MACs", "notes")]
    lines = [
        "# Models from packages and exporters",
        "",
        "Real models that packages carry (speech, OCR, detection, wake word and others), and BERT, GPT-2 and "
        "Llama as torch exports them (`benchmarks/export_torch.py`); each with what `tolcost model` says of "
        "it, and the shapes of its values held to those onnxruntime observes on random input.",
        "",
        "onnxruntime shows values of the main graph only. So in a copy each If is replaced by the side it "
        "takes, until none is left, and a turn of each Loop is put after it (no model here has a Scan); "
        "then, one at a time, each If by the other side, wherever the condition depends on more than "
        "lengths. What lengths alone rule out never runs, and constants inside of branches are not counted. "
        "Values of a Loop have the same shape at all of its turns, or count as wrong.",
        "",
        f"Made by `{command}` with {versions}, Python {platform.python_version()}. The models are not part "
        "of the repository.",
        "",
        *summary(outcomes),
        "",
        f"| {' | '.join(wide)} |",
        f"| {' | '.join('---' for _ in wide)} |",
    ]
    for o in outcomes:
        row = cells(o)
        row["EOPs"], row["parameters"] = f"`` {short(o.eops)} ``", f"`` {short(o.params)} ``"
        lines.append(f"| {' | '.join(str(row[c]).replace('|', '/') for c in wide)} |")
    noted = [o for o in outcomes if cells(o)["notes"]]
    if noted:
        lines += ["", "## Notes", "", *(f"- {o.name}: {cells(o)['notes']}" for o in noted)]
    return "\n".join(lines) + "\n"


def table(outcomes: list[Outcome]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(cells(outcomes[0])), lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(cells, outcomes))
    return text.getvalue()
