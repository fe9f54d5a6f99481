"""Make ``specs/backward.tsv`` again: the backward passes that come with tolcost.

    python -m tools.models.store_backward [MODEL.onnx ...]

Every pass that is stored is made anew from the definitions of now; those that a step of training of the given
models asks for are added.  Only patterns that have a stored scheme can have stored passes.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import field

from tolcost.catalogue.specs import Library, folder_of, line_digest_of, open_library
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.models.lowered import Lowered
from tolcost.models.schemes import GeneralProgram
from tolcost.models.stored_schemes import NotStored, text_of
from tolcost.models.walking import Session
from tolcost.platform import specs_root, with_deep_stack
from tolcost.result.model import study_file
from tolcost.training.backward_pass import BackwardPass
from tolcost.training.joint import joint_of
from tolcost.training.memory import Following
from tolcost.training.passes import Passes, view_of
from tolcost.training.request import TrainingRequest
from tolcost.training.stored import (
    FILE,
    FORMAT,
    PassKey,
    pass_data,
    pattern_line,
    read_pattern,
    rules_digest,
)
from tolcost.training.written import DefinedNode, written_file, written_name
from tools.models.store_schemes import Operator, Pattern

Asked = dict[Operator, dict[str, set[PassKey]]]


class Recording(Passes):
    """Derives what a step asks for, and notes it."""

    asked: Asked = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))

    def backward(
        self, definition: DefinedNode, lowered: Lowered, inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> BackwardPass | Diagnostic | None:
        """Note which backward pass is asked for."""
        general = lowered.lowered
        if isinstance(general, GeneralProgram):
            self.asked[general.domain, general.name][general.pattern].add((inputs, outputs))
        return super().backward(definition, lowered, inputs, outputs)

    def view(self, lowered: Lowered, title: str) -> str | None:
        """Note whose views are asked for."""
        general = lowered.lowered
        if isinstance(general, GeneralProgram):
            _ = self.asked[general.domain, general.name][general.pattern]
        return super().view(lowered, title)


def recorded(models: Iterable[Path]) -> Asked:
    """Return what steps of training of some models ask for."""
    passes, asked, library = Recording(is_written=True), TrainingRequest("sgd"), open_library()
    for path in models:
        print(path.name, flush=True)

        def step(path: Path = path) -> None:
            cost = study_file(path, Session(library)).cost
            joint = joint_of(cost, asked, passes)
            Following(joint, passes, "", 1, asked.optimizer, (), cost.settled).run()

        try:
            with_deep_stack(step)
        except Rejected as rejected:
            print(rejected)
    return passes.asked


def stored_before(root: Path) -> Asked:
    """Return which passes are stored, whether or not they fit the definitions of now."""
    domains = {folder_of(domain): domain for domain in open_library().domains()}
    found: Asked = defaultdict(lambda: defaultdict(set))
    file = root / FILE
    for line in file.read_text("utf-8").splitlines()[1:] if file.is_file() else ():
        name, text, _ = line.split("\t")
        place, _, pattern = name.partition(" ")
        folder, _, operator = place.partition("/")
        if pattern:
            found[domains[folder], operator][pattern].update(read_pattern(text).passes)
    return found


def text_anew(library: Library, operator: Operator, text: str, keys: Iterable[PassKey]) -> str | None:
    """Return what is to be stored of a pattern: everything is lowered and derived from the files of now."""
    pattern = Pattern(library, operator, text)
    lowered = pattern.at({})
    if isinstance(lowered, Rejected):
        return None
    program, definition = lowered.program, DefinedNode(library, pattern.node, pattern.spec)
    views = {} if lowered.counts.eops.terms else {title: view_of(lowered, title) for title in lowered.titles}
    data = {}
    for key in keys:
        found = Passes(is_written=True).backward(definition, lowered, *key)
        if isinstance(found, Diagnostic):
            continue
        try:
            data[key] = None if found is None else pass_data(found)
        except NotStored as one:
            print(operator, key, "is not stored:", one)
    return pattern_line((given.name for given in program.inputs), views, data)


def about(library: Library, operator: Operator) -> str:
    """Return the digests of the files that the passes of an operator are made from."""
    domain, name = operator
    files = set(library.made_from(domain, name))
    written = written_file(domain, name)
    if written is not None:
        files.update(library.used_by(written.source))
    files.add(written_name(domain, name))  # without a digest if there is none
    return text_of({"rules": rules_digest(), "from": {file: library.digest(file) for file in sorted(files)}})


def lines(library: Library, asked: Asked) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the file."""
    for operator, patterns in asked.items():
        name = f"{folder_of(operator[0])}/{operator[1]}"
        yield name, about(library, operator)
        for pattern, keys in patterns.items():
            text = text_anew(library, operator, pattern, sorted(keys))
            if text is not None:
                yield f"{name} {pattern}", text


def main(arguments: list[str]) -> None:
    """Write the file."""
    library, root = open_library(), specs_root()
    assert isinstance(root, Path)
    asked = stored_before(root)
    for operator, patterns in recorded(map(Path, arguments)).items():
        for pattern, keys in patterns.items():
            asked[operator][pattern] |= keys
    sealed = (f"{name}\t{text}\t{line_digest_of(name, text)}" for name, text in sorted(lines(library, asked)))
    (root / FILE).write_text("\n".join((f"format {FORMAT}", *sealed, "")), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
