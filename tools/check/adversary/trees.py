"""Random projects and random edits of them, in memory: what somebody might do to get past the gate.

A ``Tree`` is everything a revision holds.  An edit gives another one, and says of every program where
it went; whether it became costlier is for the oracle to say, not for the edit.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath

from msgspec import Struct, field
from msgspec.structs import replace
from onnx import TensorProto, helper

from tools.check.adversary.programs import LIBRARIES, Program, Term, random_axis, random_program, random_term


class Placed(Struct, frozen=True):
    """A program in a tree: ``path`` is what is checked, ``real`` the file that it leads to."""

    program: Program
    path: str
    real: str
    is_broken: bool = False


class Tree(Struct, frozen=True):
    """A project: programs by what they are to us, settings, a library, links."""

    placed: Mapping[int, Placed]
    settings: Mapping[str, object] = field(default_factory=dict)
    library: int | None = None
    library_at: str = "mine/lib/double.tol"
    library_real: str = ""
    is_submodule: bool = False
    is_absent: bool = False
    model: tuple[int, str] | None = None
    """A model of so many nodes, and what its free length is called."""
    model_at: str = "models/net.onnx"
    folders: Mapping[str, str] = field(default_factory=dict)
    """Links to folders: where they stand, and the folder whose files they show."""
    relu: str = ""
    """A definition of the project's own for what nodes of the model do."""
    cased: tuple[int, int] | None = None
    """What the settings say of a program with an attribute, and how much it takes for each time."""

    @property
    def library_text(self) -> str:
        return LIBRARIES[self.library or 0]

    def settings_text(self) -> str | None:
        if not self.settings and self.cased is None:
            return None
        if self.settings.get("broken"):
            return "nonsense = = 1\n"
        lines = [f"{key} = {_toml(value)}" for key, value in self.settings.items() if key != "budgets"]
        budgets = self.settings.get("budgets")
        lines += ["[budgets]", *(f"'{k}' = '{v}'" for k, v in budgets.items())] if budgets else []  # type: ignore[attr-defined]
        if self.cased is not None:
            lines += [f"[cases.'{CASED}'.c]", f"attrs = {{ times = {self.cased[0]} }}"]
        return "\n".join([*lines, ""])

    def files(self) -> dict[str, str]:
        """Every file that is not in a submodule, by path, a byte a character; a link is ``-> TARGET``."""
        found: dict[str, str] = {}
        if self.model is not None:
            found[self.model_at] = model_bytes(*self.model).decode("latin-1")
        for one in self.placed.values():
            text = one.program.text()
            found[one.real] = text.replace(":=", ":= (", 1) if one.is_broken else text
            if one.real != one.path:
                found[one.path] = _link(one.path, one.real)
        text = self.settings_text()
        if text is not None:
            found["tolcost.toml"] = text
        if self.library is not None and not self.is_submodule:
            real = self.library_real or self.library_at
            found[real] = self.library_text
            if real != self.library_at:
                found[self.library_at] = _link(self.library_at, real)
        if self.relu:
            found["own/onnx/Relu.tol"] = self.relu
        if self.cased is not None:
            found[CASED] = TIMES.format(" + x[1]" * self.cased[1])
        for at, folder in self.folders.items():
            found = {
                (f"{folder}/{path.removeprefix(f'{at}/')}" if path.startswith(f"{at}/") else path): text
                for path, text in found.items()
            }
            found[at] = _link(at, folder)
        return found


CASED = "cased/times.tol"
TIMES = "tol x: R [n]\nattr times: Z\ny := map(tol[times, n], x[1]{}, [i, j])\n"
OUTSIDE = "../outside"
"""A folder beside the repository."""
RELUS = (
    "operator Relu 14\ntol X: R [...]\nY := X\n",
    "operator Relu 14\ntol X: R [...]\nY := map(X, max(*, 0))\n",
    "operator Relu 14\ntol X: R [...]\nY := map(X, exp(max(*, 0)))\n",
)


@cache
def model_bytes(nodes: int, length: str) -> bytes:
    """A model that costs more with every node."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [length, 4])
    y = helper.make_tensor_value_info(f"x{nodes}", TensorProto.FLOAT, None)
    names = ["x", *(f"x{n}" for n in range(1, nodes + 1))]
    made = [helper.make_node("Relu", [a], [b]) for a, b in pairwise(names)]
    graph = helper.make_graph(made, "net", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return bytes(model.SerializeToString(deterministic=True))


def _toml(value: object) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    return str(value).lower() if isinstance(value, bool) else f"'{value}'"


def _link(at: str, to: str) -> str:
    up = "../" * (len(PurePosixPath(at).parts) - 1)
    return f"-> {up}{to}"


def random_tree(draw: random.Random) -> Tree:
    """A project of one to three programs that its settings check, all of them."""
    library = draw.randrange(len(LIBRARIES)) if draw.random() < 0.35 else None
    placed = {}
    for number in range(draw.choice((1, 1, 1, 2, 2, 3))):
        path = f"ops/{draw.choice(('sum', 'net', 'p'))}{number}.tol"
        real = path if draw.random() < 0.85 else f"real/r{number}.tol"
        placed[number] = Placed(random_program(draw, library is not None), path, real)
    paths = draw.choice((["ops"], ["ops", "real"], ["ops/*.tol"], ["ops/*", "models/*.onnx", "ops"]))
    settings: dict[str, object] = {"metrics": draw.choice((["eops"], ["eops"], ["eops", "bytes"]))}
    needs_paths = library is not None or any(one.real != one.path for one in placed.values())
    if needs_paths or draw.random() < 0.5:
        kept = [path for path in paths if not path.startswith(("models", "real"))]
        settings["paths"] = kept if draw.random() < 0.6 else [*kept, "."][:1]
    if library is not None:
        settings["specs"] = ["mine"]
    if draw.random() < 0.05:
        settings["budgets"] = {"*": "eops <= 10**60"}
    tree = Tree(placed, settings, library)
    if library is not None and draw.random() < 0.25:
        tree = replace(tree, library_real="shared/double.tol")
    elif library is not None and draw.random() < 0.2:
        tree = replace(tree, is_submodule=True)
    if draw.random() < 0.1:
        tree = replace(tree, folders={"ops": "really"})
    if draw.random() < 0.4:
        tree = replace(tree, cased=(draw.randrange(1, 9), draw.randrange(1, 4)))
    if draw.random() < 0.3 and "paths" in settings:
        patterns = draw.choice((["models"], ["models/*.onnx"], ["*.onnx"]))
        listed = [*settings["paths"], *patterns]  # type: ignore[misc]
        tree = replace(tree, model=(draw.randrange(1, 4), "batch"), settings={**settings, "paths": listed})
    return tree


# ---- edits ------------------------------------------------------------------------------------------

Edit = Callable[[Tree, random.Random], Tree]


def _one(tree: Tree, draw: random.Random) -> tuple[int, Placed] | None:
    return draw.choice(list(tree.placed.items())) if tree.placed else None


def _with(tree: Tree, number: int, **what: object) -> Tree:
    return replace(tree, placed={**tree.placed, number: replace(tree.placed[number], **what)})  # type: ignore[arg-type]


def _programs(change: Callable[[Program, random.Random, bool], Program]) -> Edit:
    """An edit of the text of one program."""

    def edit(tree: Tree, draw: random.Random) -> Tree:
        found = _one(tree, draw)
        if found is None:
            return tree
        program = change(found[1].program, draw, tree.library is not None)
        return _with(tree, found[0], program=program)

    return edit


def _fitting(term: Term, library: bool) -> Term:
    return replace(term, kind="plus") if term.kind == "double" and not library else term


def _more(program: Program, draw: random.Random, library: bool) -> Program:
    term = _fitting(random_term(draw, program.axes, 0.0 if program.is_exact else 0.5), library)
    return replace(program, terms=(*program.terms, term))


def _other(program: Program, draw: random.Random, library: bool) -> Program:
    term = _fitting(random_term(draw, program.axes, 0.1 if program.is_exact else 0.5), library)
    at = draw.randrange(len(program.terms))
    return replace(program, terms=(*program.terms[:at], term, *program.terms[at + 1 :]))


def _less(program: Program, draw: random.Random, library: bool) -> Program:
    return replace(program, terms=program.terms[1:] or program.terms)


def _turned(program: Program, draw: random.Random, library: bool) -> Program:
    return replace(program, terms=program.terms[::-1])


def _of_another(program: Program, draw: random.Random, library: bool) -> Program:
    """The same of another input: with names swapped, this looks like nothing."""
    first, *rest = program.terms
    ranks = [n for n, axes in enumerate(program.axes) if len(axes) == len(program.axes[first.of])]
    return replace(program, terms=(replace(first, of=draw.choice(ranks)), *rest))


def _names_swapped(program: Program, draw: random.Random, library: bool) -> Program:
    return replace(program, lengths=tuple(draw.sample(program.lengths, 3)))


def _new_names(program: Program, draw: random.Random, library: bool) -> Program:
    return replace(program, lengths=tuple(f"{name}{draw.randrange(9)}" for name in program.lengths))


def _inputs_renamed(program: Program, draw: random.Random, library: bool) -> Program:
    return replace(program, inputs=tuple(f"{name}_" for name in program.inputs))


def _inputs_swapped(program: Program, draw: random.Random, library: bool) -> Program:
    return replace(program, inputs=tuple(draw.sample(program.inputs, len(program.inputs))))


def _another_input(program: Program, draw: random.Random, library: bool) -> Program:
    if len(program.inputs) > 3:
        return program
    return replace(program, axes=(*program.axes, (random_axis(draw, 3),)), inputs=(*program.inputs, "extra"))


def _another_axis(program: Program, draw: random.Random, library: bool) -> Program:
    """An input that is longer, or shorter, or as long as another one from now on."""
    at = draw.randrange(len(program.axes))
    axes = list(program.axes[at])
    axes[draw.randrange(len(axes))] = random_axis(draw, 3)
    return replace(program, axes=(*program.axes[:at], tuple(axes), *program.axes[at + 1 :]))


def _remark(program: Program, draw: random.Random, library: bool) -> Program:
    return replace(
        program, remark="# " + "a long remark, longer than what it is about; " * draw.randrange(1, 6)
    )


def _line_ends(program: Program, draw: random.Random, library: bool) -> Program:
    return replace(program, line_end="\r\n" if program.line_end == "\n" else "\n")


def _rename(tree: Tree, draw: random.Random) -> Tree:
    found = _one(tree, draw)
    if found is None:
        return tree
    number, one = found
    path = draw.choice(("ops/other{}.tol", "ops/sub/moved{}.tol", "ops/{}.tol", "elsewhere/p{}.tol")).format(
        number
    )
    return _with(tree, number, path=path, real=path if one.real == one.path else one.real)


def _capitals(tree: Tree, draw: random.Random) -> Tree:
    found = _one(tree, draw)
    if found is None:
        return tree
    number, one = found
    path = one.path.removesuffix(".tol") + ".TOL" if one.path.endswith(".tol") else one.path
    return _with(tree, number, path=path, real=path if one.real == one.path else one.real)


def _linked(tree: Tree, draw: random.Random) -> Tree:
    found = _one(tree, draw)
    if found is None:
        return tree
    number, one = found
    return _with(tree, number, real=f"real/r{number}.tol" if one.real == one.path else one.path)


def _folder_linked(tree: Tree, draw: random.Random) -> Tree:
    return replace(tree, folders={} if tree.folders else {"ops": "really"})


def _deleted(tree: Tree, draw: random.Random) -> Tree:
    found = _one(tree, draw)
    if found is None or len(tree.placed) == 1:
        return tree
    return replace(tree, placed={n: one for n, one in tree.placed.items() if n != found[0]})


def _added(tree: Tree, draw: random.Random) -> Tree:
    number = 10 + len(tree.placed)
    path = f"ops/new{number}.tol"
    return replace(
        tree,
        placed={**tree.placed, number: Placed(random_program(draw, tree.library is not None), path, path)},
    )


def _library(tree: Tree, draw: random.Random) -> Tree:
    return tree if tree.library is None else replace(tree, library=draw.randrange(len(LIBRARIES)))


def _library_linked(tree: Tree, draw: random.Random) -> Tree:
    if tree.library is None or tree.is_submodule:
        return tree
    return replace(tree, library_real="" if tree.library_real else "shared/double.tol")


def _library_elsewhere(tree: Tree, draw: random.Random) -> Tree:
    if tree.library is None or tree.is_submodule:
        return tree
    return replace(
        tree,
        library=draw.randrange(len(LIBRARIES)),
        library_at="others/lib/double.tol",
        settings={**tree.settings, "specs": ["others"]},
    )


def _model(tree: Tree, draw: random.Random) -> Tree:
    return tree if tree.model is None else replace(tree, model=(draw.randrange(1, 4), tree.model[1]))


def _model_renamed(tree: Tree, draw: random.Random) -> Tree:
    places = ("models/other.onnx", "models/net.ONNX", "models/deep/net.onnx")
    return tree if tree.model is None else replace(tree, model_at=draw.choice(places))


def _model_length(tree: Tree, draw: random.Random) -> Tree:
    return tree if tree.model is None else replace(tree, model=(tree.model[0], "rows"))


def _metrics(tree: Tree, draw: random.Random) -> Tree:
    return replace(tree, settings={**tree.settings, "metrics": draw.choice((["bytes"], ["macs", "eops"]))})


def _excluded(tree: Tree, draw: random.Random) -> Tree:
    found = _one(tree, draw)
    if found is None or len(tree.placed) == 1:
        return tree
    return replace(tree, settings={**tree.settings, "exclude": [found[1].path]})


def _fewer_paths(tree: Tree, draw: random.Random) -> Tree:
    found = _one(tree, draw)
    return tree if found is None else replace(tree, settings={**tree.settings, "paths": [found[1].path]})


def _no_settings(tree: Tree, draw: random.Random) -> Tree:
    if tree.library is not None or any(one.real != one.path for one in tree.placed.values()):
        return tree
    return replace(tree, settings={})


def _folder_out(tree: Tree, draw: random.Random) -> Tree:
    """Programs are from somewhere else now, where one of them takes more."""
    return replace(_programs(_more)(tree, draw), folders={"ops": OUTSIDE})


def _other_case(tree: Tree, draw: random.Random) -> Tree:
    """The settings say less of a program, which takes more for each time."""
    if tree.cased is None:
        return tree
    times, each = tree.cased
    return replace(tree, cased=(draw.randrange(1, times + 1), each + draw.randrange(3)))


def _own_definition(tree: Tree, draw: random.Random) -> Tree:
    """What nodes of the model do is what the project says of it, and the model may have more of them."""
    if tree.model is None:
        return tree
    specs = tree.settings.get("specs", [])
    settings = {**tree.settings, "specs": [*specs, "own"] if "own" not in specs else specs}  # type: ignore[misc, operator]
    nodes = tree.model[0] + draw.randrange(3)
    return replace(tree, relu=draw.choice(RELUS), settings=settings, model=(nodes, tree.model[1]))


def _taken_for_another(tree: Tree, draw: random.Random) -> Tree:
    """A program moves, and from now on takes what another one did that goes; its text is neither's."""
    if len(tree.placed) < 2:
        return tree
    number, other = draw.sample(sorted(tree.placed), 2)
    program = replace(tree.placed[other].program, output=draw.choice(("res", "y", "z")))
    path = draw.choice((f"ops/other{number}.tol", f"ops/deep/{PurePosixPath(tree.placed[other].path).name}"))
    moved = _with(tree, number, program=program, path=path, real=path)
    return replace(moved, placed={n: one for n, one in moved.placed.items() if n != other})


def _resized(program: Program, draw: random.Random, library: bool) -> Program:
    """Numbers among the axes are others: what was there four times is six times."""
    axes = tuple(
        tuple(
            axis._replace(plus=axis.plus + draw.choice((0, 1, 2, -1))) if axis.times == 0 else axis
            for axis in one
        )
        for one in program.axes
    )
    return (
        replace(program, axes=axes)
        if all(a.plus > 0 for one in axes for a in one if not a.times)
        else program
    )


def _broken(tree: Tree, draw: random.Random) -> Tree:
    found = _one(tree, draw)
    return tree if found is None else _with(tree, found[0], is_broken=True)


TEXTS: tuple[Edit, ...] = tuple(
    _programs(change)
    for change in (
        *(_more, _more, _other, _other, _less, _turned, _of_another, _names_swapped),
        *(_another_input, _another_axis, _another_axis),
    )
)
NEUTRAL: tuple[Edit, ...] = (
    *(_programs(change) for change in (_names_swapped, _new_names, _remark, _line_ends, _inputs_renamed)),
    *(_rename, _capitals, _linked, _folder_linked, _library_linked, _model_renamed, _model_length),
)
OTHERS: tuple[Edit, ...] = (
    *(_programs(_inputs_swapped), _deleted, _added, _library, _library, _library_elsewhere),
    *(_metrics, _excluded, _fewer_paths, _no_settings, _model, _model),
    *(_folder_out, _other_case, _own_definition, _taken_for_another, _programs(_resized)),
)
FOLDER_OUT, OTHER_CASE, OWN_DEFINITION = _folder_out, _other_case, _own_definition
TAKEN_FOR_ANOTHER, RESIZED = _taken_for_another, _programs(_resized)
ATTACKS: tuple[Edit, ...] = (
    *(FOLDER_OUT, OTHER_CASE, OWN_DEFINITION, TAKEN_FOR_ANOTHER, TAKEN_FOR_ANOTHER, RESIZED, RESIZED),
)
"""What once went past the gate, each alone."""
BEFORE: tuple[Edit, ...] = (_broken,)
"""What may have been wrong with the old revision."""


def random_edits(draw: random.Random) -> list[Edit]:
    """One to four edits; some cases have only such as change nothing."""
    if draw.random() < 0.3:
        return [*([draw.choice(TEXTS)] if draw.random() < 0.3 else []), draw.choice(ATTACKS)]
    if draw.random() < 0.2:
        return [draw.choice(NEUTRAL) for _ in range(draw.randrange(1, 4))]
    return [draw.choice(draw.choice((TEXTS, TEXTS, NEUTRAL, OTHERS))) for _ in range(draw.randrange(1, 5))]
