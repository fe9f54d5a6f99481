"""Random valid models, held node by node to onnx's evaluator and to a run that counts.

``python -m tools.models.random_models 10000 --start 1`` runs a campaign and writes down what is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import atom, evaluate, evaluate_cond, symbols_of_cond, the_symbol
from tolcost.catalogue.conformance import count_difference, shape_difference, value_difference
from tolcost.catalogue.graph import GraphNode, met
from tolcost.catalogue.reading import model_of
from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Seq
from tolcost.execute import run_reference
from tolcost.models.analysis import conditions_of
from tolcost.models.facts import Known, shape_of, space_of
from tolcost.models.lowered import Applied, Lowered
from tolcost.models.walking import Session
from tolcost.platform import with_deep_stack
from tolcost.result.model import ModelStudy, Wanted, model_cost, of_model
from tools.generate.valid_graphs import Item
from tools.generate.valid_models import Made, at_other_lengths, valid_model

RTOL, ATOL = 1e-3, 1e-5
SLOW = 10.0


class Wrong(Exception):
    """Something that is not what the evaluator or a run says."""


def judge(made: Made, session: Session) -> str:
    """How a model is answered at its point: costed, in part or refused; ``Wrong`` where that is wrong."""
    try:
        cost = model_cost(model_of(made.proto, "m"), "m.onnx", session, Wanted(dict(made.dims), lenient=True))
    except Rejected as rejected:
        return f"refused: {rejected.diagnostics[0].code} {rejected.diagnostics[0].message[:90]}"
    study = of_model(cost)
    broken = _broken(study, made)
    if broken is not None:
        return f"refused by data: {broken}"
    steps = zip(study.model.graph.nodes, study.cost.nodes, strict=True)
    ran = [_node(step, applied, made, study, session) for step, applied in steps if not applied.uncosted]
    total, executed = cost.number(cost.total.eops), sum(number or 0 for number in ran)
    if total is not None and cost.status == "exact" and None not in ran and total != executed:
        raise Wrong(f"{executed} functions executed, but the total is {total}")
    if study.coverage.missing:
        return f"in part: {study.coverage.missing[0].op} {study.coverage.missing[0].why[:90]}"
    return f"costed, {cost.status}"


def _broken(study: ModelStudy, made: Made) -> str | None:
    """A condition that does not hold for this data: the lengths that it decides are those of the values."""
    shapes = [(study.cost.known(name), value) for name, value in made.values.items()]
    point = {
        the_symbol(form): size
        for known, value in shapes
        if known is not None and isinstance(value, np.ndarray)
        for form, size in zip(shape_of(known) or (), value.shape, strict=False)
        if form in map(atom, form.free)
    }
    for one in conditions_of(study.cost):
        if symbols_of_cond(one.condition) <= point.keys() and not evaluate_cond(one.condition, point):
            return one.reason
    return None


def _own_lengths(lowered: Lowered, study: ModelStudy, made: Made) -> dict[str, int]:
    """What stands for lengths in the program of a scheme, by name."""
    point = {s: made.dims[name] for name, form in study.cost.dimensions.items() for s in form.free}
    point |= {s: made.dims[s.name] for s in study.cost.equal if s.name in made.dims}
    known = {symbol: form for symbol, form in lowered.lengths.items() if form.free <= point.keys()}
    at = {symbol: evaluate(form, point) for symbol, form in known.items()}
    return {symbol.name: value for symbol, value in {**at, **lowered.point}.items()}


def _node(step: GraphNode, applied: Applied, made: Made, study: ModelStudy, session: Session) -> int | None:
    for name in step.outputs:
        _shape(step, name, made, study)
    if step.held is not None:
        return 0
    ((lowered, _),) = applied.parts if len(applied.parts) == 1 else ((None, 0),)
    if lowered is None:  # by a body of nodes
        return None
    arrays = _arrays(step, made, study, session)
    used = {needed.name: arrays[needed.name] for needed in lowered.program.inputs}
    lengths = {s for form in study.cost.dimensions.values() for s in form.free}
    lengths |= {s for s in study.cost.equal if s.name in made.dims}  # the same in a smaller range
    own = (*lengths, *lowered.lengths, *lowered.point)
    program = replace(lowered.program, symbols=tuple(dict.fromkeys((*lowered.program.symbols, *own))))
    try:
        execution = run_reference(program, used, {**made.dims, **_own_lengths(lowered, study, made)})
    except Rejected as rejected:
        if rejected.diagnostics[0].code == "T0345" and any(applied.data for applied in study.cost.nodes):
            return None  # what data decided at another node
        raise Wrong(f"{step.shown} cannot be run: {rejected.diagnostics[0].message}") from None
    forms = (
        *lowered.counts.histogram.values(),
        *lowered.counts.atoms.values(),
        *lowered.counts.index.values(),
    )
    if any(not form.free <= execution.bindings.keys() for form in forms):
        return None  # what data decided at another node
    counted = count_difference(lowered.counts, execution)
    if counted is not None:
        raise Wrong(f"{step.shown}: {counted}")
    for title, name, known in zip(lowered.titles, step.outputs, lowered.outputs, strict=False):
        theirs = made.values.get(name)
        if name and theirs is not None:
            _same(step, title, known, theirs, execution.outputs)
    return execution.counts.eops


def _shape(step: GraphNode, name: str, made: Made, study: ModelStudy) -> None:
    theirs, known = made.values.get(name), study.cost.known(name)
    shape = None if known is None else shape_of(known)
    if not isinstance(theirs, np.ndarray) or shape is None:
        return
    values = {s: made.dims[s.name] for d in shape for s in d.free if s.name in made.dims}
    if all(d.free <= values.keys() for d in shape):
        said = tuple(evaluate(d, values) for d in shape)
        if said != theirs.shape:
            raise Wrong(f"{step.shown}: shape {list(said)}, not {list(theirs.shape)}")


def _arrays(step: GraphNode, made: Made, study: ModelStudy, session: Session) -> dict[str, np.ndarray]:
    spec = session.library.find(step.domain, step.op, study.model.opsets.get(step.domain))
    assert spec is not None
    found: dict[str, np.ndarray] = {}
    given = [made.values.get(name) for name in step.inputs]
    for n, (statement, item) in enumerate(zip(met(spec.inputs, len(given)), given, strict=False)):
        name = f"{statement.name}.{n + 2 - len(spec.inputs)}" if statement.variadic else statement.name
        found.update(_named(name, item))
    held = {f"around {w.key}": w.array() for w in step.weights()} if step.graphs else {}
    found.update(held)
    for name in step.free:
        found.update(_named(f"around {name}", made.values.get(name)))
    return found


def _named(name: str, item: Item | None) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(item, list):
        yield from ((f"{name}.{k}", array) for k, array in enumerate(item, start=1))
    elif item is not None:
        yield name, item


def _same(step: GraphNode, title: str, known: Known, theirs: Item, outputs: dict) -> None:
    parts = known.items if isinstance(known, Seq) else [known]
    titles = [f"{title}.{k}" for k in range(1, len(parts) + 1)] if isinstance(known, Seq) else [title]
    arrays = theirs if isinstance(theirs, list) else [theirs]
    if len(arrays) != len(parts) or isinstance(known, Seq) != isinstance(theirs, list):
        raise Wrong(f"{step.shown}, {title}: {len(parts)} tensors, not {len(arrays)}")
    for name, part, array in zip(titles, parts, arrays, strict=True):
        held_apart = isinstance(known, Seq) and space_of(part) in ("R", "Z")  # no schema tells these
        if space_of(part) != array.dtype.name and not held_apart:
            raise Wrong(f"{step.shown}, {name}: element type {space_of(part)}, not {array.dtype.name}")
        ours = np.asarray(outputs[name])
        ours = ours if ours.dtype == array.dtype else ours.astype(array.dtype)
        problem = shape_difference(ours, array) or value_difference(ours, array, RTOL, ATOL)
        if problem is not None:
            raise Wrong(f"{step.shown}, {name}: {problem}")


def judged(seed: int, session: Session) -> Iterator[str]:
    """The model of a seed at its point, and at another where it can be run."""
    made = valid_model(seed)
    yield judge(made, session)
    other = at_other_lengths(made, seed)
    if other is not None:
        yield judge(other, session)


class Campaign(Struct, frozen=True):
    """What is done with the models of many seeds: which model a seed makes, and how it is judged."""

    name: str
    proto: Callable[[int], onnx.ModelProto]
    judged: Callable[[int, Session], Iterator[str]]

    def run(self, start: int, count: int, folder: Path) -> int:
        """Try many models; give how many were wrong."""
        session, found, wrong = Session(open_library()), Counter[str](), 0
        began = time.monotonic()
        for seed in range(start, start + count):
            clock = time.process_time()
            try:
                found.update(self.judged(seed, session))
            except Exception as error:
                wrong += 1
                print(seed, type(error).__name__, str(error)[:600], flush=True)
                if not isinstance(error, Wrong):
                    print("   ", "\n".join(traceback.format_exc().splitlines()[-6:]))
                onnx.save(self.proto(seed), folder / f"{self.name}_{seed}.onnx")
            if time.process_time() - clock > SLOW:
                wrong += 1
                print(seed, f"took {time.process_time() - clock:.0f} s", flush=True)
            if len(session.table.facts) > 200_000:
                session = Session(open_library())
            if (seed + 1 - start) % 500 == 0:
                print(
                    f"{seed + 1 - start} models, {time.monotonic() - began:.0f} s, {wrong} wrong", flush=True
                )
        for answer, times in found.most_common(60):
            print(f"{times:6} {answer}")
        print(f"{count} models from seed {start}: {wrong} wrong")
        return wrong


def main(arguments: list[str], campaign: Campaign, described: str | None) -> int:
    """Run a campaign."""
    parser = argparse.ArgumentParser(description=described)
    parser.add_argument("count", type=int)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("."))
    asked = parser.parse_args(arguments)
    return int(with_deep_stack(lambda: campaign.run(asked.start, asked.count, asked.folder)) > 0)


RANDOM = Campaign("random", lambda seed: valid_model(seed).proto, judged)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], RANDOM, __doc__))
