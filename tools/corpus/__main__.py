"""Make what is missing in ``build/corpus``, and write the corpus."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

import onnxruntime
import skl2onnx
import torch
import transformers
from architectures import ARCHITECTURES
from export_pipelines import fitted, register
from export_torch import export

from tests.models.corpus import FOLDER, Observed, facts, files, located, observed, study_of, wrong_shapes
from tests.syntax.cases import Case, read, write
from tools.corpus.forms import export_small, give_form
from tools.corpus.members import MEMBERS, Member
from tools.corpus.packing import feeds, observe, without_weights, write_archive

MADE = Path(__file__).parents[2] / "build" / "corpus"


def path_of(name: str) -> Path:
    """Where a model is made."""
    return MADE / f"{name}.onnx"


def make(member: Member) -> None:
    """Make a model, whole or not at all."""
    to, part = path_of(member.name), MADE / f"{member.name}.part"
    if member.form:
        source = path_of(member.name.rpartition("@")[0] if member.form.startswith("@") else member.of)
        give_form(member.form, source, part, feeds(source, MEMBERS[member.of]))
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


def make_all(wanted: Iterable[Member]) -> None:
    """Make what is not there; what cannot be made is told."""
    for member in wanted:
        if path_of(member.name).exists():
            continue
        try:
            make(member)
            print(member.name, flush=True)
        except Exception as error:  # whatever an exporter cannot do
            print(f"{member.name}: {str(error).strip().splitlines()[0][:160]}", flush=True)


def head_of(member: Member, seen: list[Observed], outputs: list[str]) -> str:
    """Where a model comes from, and which outputs onnxruntime gives."""
    lines = [f"from: {member.said}"]
    lines += [f"macs of: {member.of}"] if member.form else []
    for one in seen:
        at = ", ".join(f"{name}={value}" for name, value in one.dims.items()) or "once"
        told = ", ".join(f"{name} {one.shapes[name]}" for name in outputs if name in one.shapes)
        lines.append(f"onnxruntime at {at}: {told or one.refused}")
    return "\n".join(lines) + "\n"


# ---- what is kept --------------------------------------------------------------------------


def pack(members: Iterable[Member]) -> tuple[dict[str, bytes], dict[str, list[Observed]], dict[str, str]]:
    """Models without weights, what was observed of each, and what its case begins with."""
    models, seen, heads = {}, {}, {}
    for member in members:
        raw = path_of(member.name).read_bytes()
        observations = observe(path_of(member.name), member)
        less = without_weights(raw)
        if less in models.values():
            print(f"{member.name}: there is one like it", flush=True)
            continue
        whole, found = study_of(raw, member.name), study_of(less, member.name)
        if facts(whole, observations) != facts(found, observations):
            print(f"{member.name}: it costs something else without its weights", flush=True)
            continue
        for one in (one for one in observations if one.shapes):
            print(*(f"{member.name}: {wrong}\n" for wrong in wrong_shapes(located(found, one.dims), one)), end="")
        models[member.name], seen[member.name] = less, observations
        heads[member.name] = head_of(member, observations, list(found.model.graph.outputs))
        print(member.name, len(raw), len(less), flush=True)
    return models, seen, heads


def main() -> None:
    """Make what is missing, and write all of it."""
    MADE.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name in sys.argv[1:]:
        path_of(name).unlink(missing_ok=True)
    make_all(MEMBERS.values())
    before = {case.name: case for case in read(FOLDER)}
    kept = before.keys() - set(sys.argv[1:])
    made = [m for m in MEMBERS.values() if m.name not in kept and path_of(m.name).exists()]
    models, seen, heads = pack(made)
    models = {**{name: files()[f"{name}.onnx"] for name in kept & MEMBERS.keys()}, **models}
    seen = {**{name: observed()[name] for name in kept & MEMBERS.keys()}, **seen}
    names = [name for name in MEMBERS if name in models]
    write_archive({name: models[name] for name in names}, {name: seen[name] for name in names})
    for file in dict.fromkeys(member.file for member in MEMBERS.values()):
        path = FOLDER / f"{file}.txt"
        cases = [
            Case(path, n, heads.get(n) or before[n].program, before[n].expected if n in before else "")
            for n in names
            if MEMBERS[n].file == file
        ]
        write(path, cases)


if __name__ == "__main__":
    main()
