"""The cost of a step of training of a model: its work, what it keeps, and its memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import Poly, Symbol, const, total_known
from tolcost.catalogue.specs import NamedText
from tolcost.diagnostics import refuse
from tolcost.models.memory import Holdings, Peak
from tolcost.result.metrics import COLUMNS, HELD, whole_json
from tolcost.result.model import ModelStudy, compared_by_operator, group_json, model_record
from tolcost.result.point import Point
from tolcost.result.rows import TableRow, rows_added, scope_of
from tolcost.result.study import (
    ComparedFigure,
    Coverage,
    Figures,
    Group,
    Located,
    MissingNode,
    Show,
    Study,
    at_json,
    form_json,
    symbol_json,
)
from tolcost.result.time import TimedNodes
from tolcost.result.totals import by_operator, by_scope, node_rows, operator_rows, scope_rows, total_figures
from tolcost.result.totals import steps_of as timed_steps
from tolcost.show.document import Cell, Code, Column, Fact, Form, Json, ReportTable, Section
from tolcost.show.shorten import short_form, si
from tolcost.training.analysis import Training, training_of
from tolcost.training.choice import MemoryLimit
from tolcost.training.programs import texts_of
from tolcost.training.request import TrainingRequest
from tolcost.training.written import written_file

if TYPE_CHECKING:
    from tolcost.models.analysis import GraphCost

_MOST_SHOWN = 12
"""Rows of tensors that a report shows; a document has all."""


class PartOfStep(Struct, frozen=True):
    """A part of a step of training: forward, what is computed again, backward, or the optimiser."""

    title: str
    figures: Figures


class KeptKind(Struct, frozen=True):
    """Tensors of one size that nodes of one operator make and backward reads."""

    op: str
    readers: tuple[str, ...]
    scope: str
    count: int
    bytes: Poly | None


class TrainingStudy(Study, dict=True, frozen=True):
    """A step of training of a model, and the study of the model itself."""

    inner: ModelStudy
    training: Training
    parts: tuple[PartOfStep, ...]
    kind = "model"
    report = "training"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the model and what was asked; a copy is analysed again."""
        return training_study, (self.inner, self.training.asked)

    # ---- memory ----------------------------------------------------------------------------------

    @property
    def holdings(self) -> Holdings:
        """Parameters, inputs and outputs of the model."""
        return self.inner.holdings

    @cached_property
    def gradient_bytes(self) -> Poly:
        """The bytes of the gradients of all parameters that are trained."""
        return self.inner.adder.settle(self.training.held.gradients)

    @cached_property
    def state_bytes(self) -> Poly:
        """The bytes of what the optimiser holds, with a copy of the parameters if there is one."""
        held = self.training.held
        return self.inner.adder.settle(held.state + held.master)

    @cached_property
    def kept_bytes(self) -> Poly | None:
        """The bytes of the activations that forward keeps for backward."""
        found = self.training.memory.kept_bytes
        return None if found is None else self.inner.adder.settle(found)

    @cached_property
    def train_peak(self) -> Peak | None:
        """The most memory that a step takes at once, with parameters and what the optimiser holds."""
        throughout = self.training.held.throughout(self.training.asked.accumulate)
        given = self.holdings.input_bytes
        if given is None:
            return None
        found = self.training.memory.timeline.peak(throughout + given)
        if found is None:
            return None
        sure = found.exact and not self.coverage.missing
        return Peak(found.bytes.map_forms(self.inner.adder.settle), found.node, sure)

    @property
    def peak(self) -> Peak | None:
        """The memory of a step, which is what can be a bound of all figures of memory."""
        return self.train_peak

    # ---- what a report says ------------------------------------------------------------------------

    def types(self, put: Callable[[Form], Form | None]) -> Iterator[tuple[str, str, str]]:
        """Yield the inputs and outputs of the model."""
        return self.inner.types(put)

    def head(self) -> Iterator[Fact]:
        """Yield what was asked, and the coverage."""
        asked, joint = self.training.asked, self.training.joint
        options = {
            "precision": "" if asked.precision == "float32" else asked.precision,
            "gradients of": "" if asked.accumulate == 1 else f"{asked.accumulate} runs added up",
            "computed again": ""
            if self.training.chosen
            else _first([r.title for r in self.training.regions]),
        }
        said = "; ".join(f"{key} {text}" for key, text in options.items() if text)
        yield Fact("training", f"a step with {asked.optimizer}", said)
        yield from self._chosen()
        loss = joint.seeds[0] if len(joint.seeds) == 1 else ""
        given = (
            "a single number" if loss and self._is_scalar(loss) else "what is to come of it is taken as given"
        )
        yield Fact("differentiated", _first(joint.seeds), given)
        yield Fact("trained", *self._trained())
        if joint.frozen:
            yield Fact(
                "frozen", f"{len(joint.frozen):,} of {len(joint.frozen) + len(joint.trained):,} tensors"
            )
        if self.written:
            said = "as frameworks run them; --backward derived takes derivatives alone"
            yield Fact("written", ", ".join(self.written), said)
        yield from self.inner.head()

    def _chosen(self) -> Iterator[Fact]:
        """Tell which scopes were chosen to be computed again, and how much less work there may be."""
        chosen = self.training.chosen
        if chosen is None:
            return
        memory = str(si(chosen.memory, "B"))
        if not chosen.regions:
            yield Fact("computed again", "nothing", f"a step fits in {memory}")
            return
        gap = chosen.work - chosen.least
        sure = "no other choice that fits has less" if gap <= 0 else f"at most {si(gap)} more than the least"
        said = f"{si(chosen.work)} EOPs again to fit in {memory}; {sure}"
        yield Fact("computed again", _first([region.title for region in chosen.regions]), said)

    def _trained(self) -> tuple[str, str]:
        """Tell how much is trained, and how this is known."""
        joint, many = self.training.joint, self.training.held.trained
        numbers = f"{many.constant:,}" if many.constant is not None else str(many)
        said = "the file does not say which tensors are buffers: --freeze leaves some out"
        if joint.stored.noted:
            said = "without what the exporter notes as buffers and constants"
        return f"{len(joint.trained):,} tensors of {numbers} numbers", said

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The operators of which a written backward pass is taken."""
        nodes = (one.step.node.title for one in self.training.joint.order if one.found.is_written)
        return tuple(sorted(set(nodes)))

    def _is_scalar(self, name: str) -> bool:
        known = self.training.joint.cost.known(name)
        shape = getattr(known, "shape", None)
        return shape is not None and all(extent == 1 for extent in shape)

    def behind(self) -> tuple[NamedText, ...]:
        """Return the optimiser, the written backward passes, and what adds gradients up."""
        steps = (one.step.node for one in self.training.joint.order if one.found.is_written)
        written = {(node.domain, node.op): written_file(node.domain, node.op) for node in steps}
        files = [
            NamedText(parsed.source.name, (parsed.source.text,), False)
            for parsed in written.values()
            if parsed is not None
        ]
        return (*files, *texts_of(self.training.asked.optimizer))

    def remarks(self) -> Iterator[Fact]:
        """Yield the remarks on the model."""
        return self.inner.remarks()

    def extra(self, at: Located | None, exact: bool) -> Iterator[Section]:
        """Yield the tables of a report besides that of operators: parts of a step, and what is kept."""
        put = _shower(at, exact)
        columns = (Column("part", "part"), *(Column(m.key, m.label, "number") for m in COLUMNS))
        rows: list[tuple[Cell, ...]] = [
            (part.title, *(put(m.of(part.figures) if m.of else None, m.key) for m in COLUMNS))
            for part in self.parts
        ]
        yield ReportTable(columns, rows)
        kinds = self.kept_kinds
        if not kinds:
            return
        settle = self.inner.adder.settle
        titles = ("activations kept", "times", "bytes", "read by", "first in")
        kept: list[tuple[Cell, ...]] = []
        for kind in kinds[:_MOST_SHOWN]:
            size = None if kind.bytes is None else settle(kind.bytes) * kind.count
            kept.append(
                (Code(kind.op), kind.count, put(size, "bytes"), ", ".join(kind.readers[:3]), kind.scope)
            )
        if len(kinds) > _MOST_SHOWN:
            rest = kinds[_MOST_SHOWN:]
            sizes = [None if one.bytes is None else settle(one.bytes) * one.count for one in rest]
            kept.append(
                (
                    f"{len(rest):,} more",
                    sum(one.count for one in rest),
                    put(total_known(sizes), "bytes"),
                    "",
                    "",
                )
            )
        columns = tuple(
            Column(t, t, "number" if t in ("times", "bytes") else "text", is_name=t == "first in")
            for t in titles
        )
        yield ReportTable(columns, kept)

    @cached_property
    def kept_kinds(self) -> tuple[KeptKind, ...]:
        """What is kept, with tensors together that have one size, one maker and the same readers."""
        found: dict[tuple[object, ...], KeptKind] = {}
        for one in self.training.memory.kept:
            readers = tuple(dict.fromkeys(step.node.title for step in one.readers))
            key = (one.maker.node.title, readers, one.bytes)
            before = found.get(key)
            scope = ".".join(one.maker.node.path)
            found[key] = (
                KeptKind(one.maker.node.title, readers, scope, 1, one.bytes)
                if before is None
                else replace(before, count=before.count + 1)
            )
        typical = self.inner.typical
        return tuple(sorted(found.values(), key=lambda kind: -kind.count * _size(kind.bytes, typical)))

    def compared_parts(self) -> Iterator[ComparedFigure]:
        """Yield the totals by operator."""
        return compared_by_operator(self, self.groups("op"))

    def groups(self, by: str) -> tuple[Group, ...]:
        """Return the figures of a step by node, operator or scope."""
        found: list[Group] = []
        for title, cost in self.training.runs:
            found += [self._moved(group) for group in self._groups(title, cost, by)]
        added = self.inner.adder.add(self.training.update)
        asked = self.training.asked.optimizer
        return (*_merged(found), Group(asked, len(self.training.joint.trained), added))

    def _groups(self, title: str, cost: GraphCost, by: str) -> Iterator[Group]:
        adder = self.inner.adder
        if by == "scope":
            yield from by_scope(cost, adder, lambda step: scope_of(step, 2))
            return
        end = "" if title == "forward" else " again" if title == "computed again" else ""
        if by == "op":
            yield from (replace(g, title=f"{g.title}{end}") for g in by_operator(cost, adder) if g.nodes)
            return
        ends = {"forward": "", "computed again": " again", "backward": " backward"}
        for step, applied in cost.steps:
            if applied.parts or applied.uncosted or title == "forward":
                yield Group(f"{step.name or step.title}{ends[title]}", 1, adder.node(applied))

    def _moved(self, group: Group) -> Group:
        k = self.training.asked.accumulate
        return group if k == 1 else replace(group, figures=group.figures.map_forms(lambda form: form * k))

    def rows(self, by: str, depth: int) -> tuple[TableRow, ...]:
        """Return the rows of a table by operator, node or scope; those of the optimiser are one."""
        k, adder = self.training.asked.accumulate, self.inner.adder
        tables: list[list[TableRow]] = []
        for title, cost in self.training.runs:
            match by:
                case "scope":
                    rows = scope_rows(cost, adder, depth)
                case "node":
                    ends = {"forward": "", "computed again": " again", "backward": " backward"}
                    rows = tuple(_ended(node_rows(cost, adder), cost, ends[title]))
                case _:
                    end = " again" if title == "computed again" else ""
                    groups = tuple(g for g in by_operator(cost, adder) if g.nodes)
                    rows = tuple(
                        replace(row, title=f"{row.title}{end}") for row in operator_rows(cost, groups, adder)
                    )
            if title != "forward":
                rows = tuple([_without_parameters(row) for row in rows if row.nodes])
            tables.append([row.map_forms(lambda form: form * k) if k > 1 else row for row in rows])
        asked, figures = self.training.asked, adder.add(self.training.update)
        amounts: dict[str, Poly | None] = {**figures.amounts, HELD: const(0)}
        update = TableRow(
            asked.optimizer, len(self.training.joint.trained), MappingProxyType(amounts), asked.optimizer
        )
        if by == "scope":
            tables = [[*_added(tables)]]
        return (*(row for table in tables for row in table), update)

    def record(self, cost: Located, metrics: frozenset[str] | None) -> dict[str, Json]:
        """Return the document of the model, with the figures of a step and what it keeps."""

        def totals(show: Show) -> dict[str, Json]:
            return whole_json(self, show, metrics)

        of_model = model_record(self.inner, Located(self.inner, cost.point))
        kept = {key: value for key, value in of_model.items() if key not in ("at", "partly")}
        return {
            **kept,
            "train": self._training_json(),
            "symbols": [symbol_json(symbol) for symbol in self.symbols],
            "totals": {**dict.fromkeys(_keys(of_model["totals"])), **totals(Show(cost))},
            "leading": form_json(self.leading),
            "status": cost.status,
            **at_json(cost, totals),
            "by_op": [group_json(cost, group, "op", metrics) for group in cost.groups("op")],
            "by_scope": [group_json(cost, group, "scope", metrics) for group in cost.groups("scope")],
            "nodes": [],
        }

    def _training_json(self) -> dict[str, Json]:
        asked, joint, settle = self.training.asked, self.training.joint, self.inner.adder.settle
        peak = self.train_peak
        return {
            "optimizer": asked.optimizer,
            "differentiated": list(joint.seeds),
            "precision": asked.precision,
            "accumulate": asked.accumulate,
            "recompute": asked.recompute,
            **self._chosen_json(),
            "backward": asked.backward,
            "written": list(self.written),
            "trained": form_json(settle(self.training.held.trained)),
            "noted": joint.stored.noted,
            "frozen": list(joint.frozen),
            "parts": [
                {
                    "part": part.title,
                    **{m.key: form_json(m.of(part.figures) if m.of else None) for m in COLUMNS},
                }
                for part in self.parts
            ],
            "peak_at": "" if peak is None else peak.node,
            "kept": [
                {
                    "tensor": one.name,
                    "op": one.maker.node.title,
                    "scope": "/".join(one.maker.node.path),
                    "bytes": form_json(None if one.bytes is None else settle(one.bytes)),
                    "for": list(dict.fromkeys(step.node.name or step.node.title for step in one.readers)),
                }
                for one in self.training.memory.kept
            ],
        }

    def _chosen_json(self) -> dict[str, Json]:
        chosen = self.training.chosen
        if chosen is None:
            return {}
        scopes: list[Json] = [region.title for region in chosen.regions]
        work: dict[str, Json] = {"again": chosen.work, "again_at_least": chosen.least}
        return {"chosen": {"memory": chosen.memory, "scopes": scopes, **work}}

    # ---- lengths -----------------------------------------------------------------------------------

    def assuming(self, texts: Sequence[str], lenient: bool = False) -> Study:
        """Return the step under assumptions about lengths."""
        return training_study(self.inner.assuming(texts, lenient), self.training.asked) if texts else self

    def check_names(self, dims: Mapping[str, int]) -> None:  # type: ignore[override]
        """Accept any name, as the model does."""

    def ties(self) -> Mapping[Symbol, Poly]:
        """Return lengths that equal forms in others."""
        return self.inner.ties()

    def locate(self, dims: Mapping[str, int]) -> Point:
        """Return the point of the general form at lengths given by name."""
        return self.inner.locate(dims)

    def at(self, dims: Mapping[str, int]) -> tuple[Study, Point]:
        """Locate the model at lengths; where its general form does not hold, its step is analysed again."""
        there, point = self.inner.at(dims)
        if there is self.inner:
            return self, point
        assert isinstance(there, ModelStudy)
        return training_study(there, self.training.asked), point

    @property
    def general(self) -> Mapping[str, Symbol]:
        """The lengths in which these forms hold wherever conditions are fulfilled."""
        return self.inner.general

    def steps(self, by: str) -> tuple[TimedNodes, ...]:
        """Return the work of nodes in forward and backward; that of the optimiser is not among them."""
        return tuple(
            step for _, cost in self.training.runs for step in timed_steps(cost, self.inner.adder, by)
        )


def _first(names: Sequence[str], most: int = 3) -> str:
    """Write the first names, and how many there are besides."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _keys(totals: Json) -> tuple[str, ...]:
    return tuple(totals) if isinstance(totals, dict) else ()


def _size(form: Poly | None, typical: Mapping[Symbol, int]) -> int:
    from tolcost.result.study import size

    return 0 if form is None else size(form, typical)


def _shower(at: Located | None, exact: bool) -> Callable[[Form | None, str], Cell]:
    """Return how a table writes a form: as a number at a point, else as a short form."""

    def put(form: Form | None, key: str) -> Cell:
        if form is None:
            return ""
        found = None if at is None else at.number(form)
        return short_form(form, 44) if found is None else si(found, "B" if key == "bytes" else "", exact)

    return put


def _ended(rows: Sequence[TableRow], cost: GraphCost, end: str) -> Iterator[TableRow]:
    """Yield rows of nodes with another end of their titles; nodes that are not in a part have none."""
    for row, applied in zip(rows, cost.nodes, strict=False):
        if not end or applied.parts or applied.uncosted:
            yield replace(row, title=f"{row.title}{end}")
    yield from rows[len(cost.nodes) :] if not end else ()


def _without_parameters(row: TableRow) -> TableRow:
    amounts = MappingProxyType({**row.amounts, HELD: const(0)})
    return replace(row, amounts=amounts, children=tuple(map(_without_parameters, row.children)))


def _added(tables: Sequence[Sequence[TableRow]]) -> Iterator[TableRow]:
    """Add up the rows of scopes; parameters are those of forward."""
    first = {row.title: row.amounts[HELD] for row in tables[0]} if tables else {}
    for row in rows_added(tables):
        yield replace(row, amounts=MappingProxyType({**row.amounts, HELD: first.get(row.title, const(0))}))


def _merged(groups: Sequence[Group]) -> list[Group]:
    found: dict[str, list[Group]] = {}
    for group in groups:
        found.setdefault(group.title, []).append(group)
    return [
        same[0]
        if len(same) == 1
        else Group(title, same[0].nodes, total_figures([group.figures for group in same]))
        for title, same in found.items()
    ]


# ---- from a model to a step ------------------------------------------------------------------------


def training_study(study: ModelStudy, asked: TrainingRequest, at: Point | None = None) -> TrainingStudy:
    """Analyse a step of training of a model; scopes to compute again are chosen at a point."""
    limit = None
    if asked.checked().is_best:
        limit = MemoryLimit(asked.most_bytes, {} if at is None else at.values, study.holdings.input_bytes)
    training = training_of(study.cost, asked, study.adder.settle, limit)
    adder = study.adder
    parts = []
    for title, cost in training.runs:
        groups = by_operator(cost, adder)
        found = total_figures([g.figures for g in groups], any(n.uncosted for n in cost.nodes))
        k = asked.accumulate
        parts.append(PartOfStep(title, found if k == 1 else found.map_forms(lambda form, k=k: form * k)))  # type: ignore[misc]
    parts.append(PartOfStep(asked.optimizer, adder.add(training.update)))
    covered = _coverage(study, training)
    total = total_figures([part.figures for part in parts], bool(covered.missing))
    forms = (total.eops, total.macs, *total.atoms.values(), *total.index.values())
    free = frozenset[Symbol](study.symbols).union(*(form.free for form in forms))
    return TrainingStudy(
        name=study.name,
        file=study.file,
        inputs=study.inputs,
        symbols=tuple(sorted((s for s in free if s.kind != "coord"), key=lambda s: s.key)),
        total=total,
        requirements=study.requirements,
        coverage=covered,
        inner=study,
        training=training,
        parts=tuple(parts),
        assumed=study.assumed,
    )


def _coverage(study: ModelStudy, training: Training) -> Coverage:
    """Return the nodes whose forward or backward is not costed."""
    missing = [
        MissingNode(f"{step.node.name or step.node.title} backward", step.node.title, why.message)
        for step, why in training.joint.missing
    ]
    done = sum(1 for applied in training.joint.backward.nodes if applied.parts or applied.uncosted)
    return Coverage(study.coverage.nodes + done, (*study.coverage.missing, *missing))


def requested(optimizer: str, asked: Mapping[str, object]) -> TrainingRequest:
    """Read what is asked of a step in Python."""
    try:
        return msgspec.convert({"optimizer": optimizer, **asked}, TrainingRequest)
    except msgspec.ValidationError as error:
        refuse("T0910", f"this is not asked of a step of training: {error}")
