"""Make what is missing in ``build/corpus``, and write the corpus."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import skl2onnx
from architectures import ARCHITECTURES
from export_pipelines import fitted, register
from export_torch import export

from tests.models.corpus import FOLDER, Observed, facts, files, located, observed, study_of, wrong_shapes
from tests.syntax.cases import Case, read, write
from tools.corpus.forms import export_small, give_form
from tools.corpus.members import MEMBERS, PADDED, Member
from tools.corpus.packing import first_feeds, observe, without_weights, write_archive

MADE = Path(__file__).parents[2] / "build" / "corpus"


def path_of(name: str) -> Path:
    """Where a model is made."""
    return MADE / f"{name}.onnx"


def make(member: Member) -> None:
    """Make a model, and what it is a form of, where they are not there: whole or not at all."""
    to, part = path_of(member.name), MADE / f"{member.name}.part"
    if to.exists():
        return
    if member.form:
        source = MEMBERS[member.name.rpartition("@")[0] if member.form.startswith("@") else member.of]
        make(source)
        give_form(member.form, path_of(source.name), part, first_feeds(path_of(source.name), member))
    elif member.network.startswith("small_"):
        export_small(member.network, part)
    elif member.exporter == "pipeline":
        register()
        model, inputs = fitted()[member.network]()
        found = skl2onnx.to_onnx(model, initial_types=inputs, target_opset={"": 18, "ai.onnx.ml": 3})
        part.write_bytes(found.SerializeToString())
    else:
        export(ARCHITECTURES[member.network], part, member.exporter, member.opset)
    part.replace(to)
    print(member.name, flush=True)


def made(wanted: Iterable[Member]) -> Iterator[Member]:
    """The members that are there, once what is not there is made; what cannot be made is told."""
    for member in wanted:
        try:
            make(member)
            yield member
        except Exception as error:  # whatever an exporter cannot do
            print(f"{member.name}: {str(error).strip().splitlines()[0][:160]}", flush=True)


def head_of(member: Member, seen: list[Observed], outputs: list[str]) -> str:
    """Where a model comes from, and which outputs onnxruntime gives."""
    lines = [f"from: {member.said}"]
    lines += [f"macs of: {member.of}"] if member.form and member.name not in PADDED else []
    for one in seen:
        at = ", ".join(f"{name}={value}" for name, value in one.dims.items()) or "once"
        told = ", ".join(f"{name} {one.shapes[name]}" for name in outputs if name in one.shapes)
        lines.append(f"onnxruntime at {at}: {told or one.refused}")
    return "\n".join(lines) + "\n"


# ---- what is kept --------------------------------------------------------------------------


class Kept(NamedTuple):
    """A model without weights, what was observed of it, and what its case begins with."""

    model: bytes
    observed: list[Observed]
    head: str


def keep(member: Member) -> Kept | None:
    """What is kept of a model; nothing where it costs something else without its weights."""
    raw, points = path_of(member.name).read_bytes(), observe(path_of(member.name), member)
    less = without_weights(raw)
    whole, found = study_of(raw, member.name), study_of(less, member.name)
    if facts(whole, points) != facts(found, points):
        print(f"{member.name}: it costs something else without its weights", flush=True)
        return None
    for one in points:
        if one.shapes:
            for wrong in wrong_shapes(located(found, one.dims), one):
                print(f"{member.name}: {wrong}", flush=True)
    return Kept(less, points, head_of(member, points, list(found.model.graph.outputs)))


def main() -> None:
    """Make what is missing, and write all of it."""
    MADE.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name in sys.argv[1:]:
        path_of(name).unlink(missing_ok=True)
    before = {case.name: case for case in read(FOLDER)}
    all_: dict[str, Kept] = {}
    for name in before.keys() & MEMBERS.keys() - set(sys.argv[1:]):
        all_[name] = Kept(files()[f"{name}.onnx"], observed()[name], before[name].program)
    models = {kept.model for kept in all_.values()}
    for member in made(member for member in MEMBERS.values() if member.name not in all_):
        found = keep(member)
        if found is not None and found.model not in models:  # a further level may change nothing
            all_[member.name] = found
            models.add(found.model)
    write_all({name: all_[name] for name in MEMBERS if name in all_}, before)


def write_all(all_: Mapping[str, Kept], before: Mapping[str, Case]) -> None:
    """Write the archive and the cases, with what was said of each before."""
    write_archive({n: k.model for n, k in all_.items()}, {n: k.observed for n, k in all_.items()})
    for file in dict.fromkeys(member.file for member in MEMBERS.values()):
        path = FOLDER / f"{file}.txt"
        said = {name: before[name].expected if name in before else "" for name in all_}
        write(path, [Case(path, n, k.head, said[n]) for n, k in all_.items() if MEMBERS[n].file == file])


if __name__ == "__main__":
    main()
