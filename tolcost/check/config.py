"""The settings of a project: ``[tool.tolcost]`` of pyproject.toml, or ``tolcost.toml``.

    paths = ["ops"]                              # programs to check besides those with cases; default "."
    exclude = ["ops/old/*"]
    metrics = ["eops", "flops", "macs", "bytes"]
    specs = ["ops/lib"]                          # folders of operators and library files
    seal = true                                  # unchanged programs are taken from the lock file

    [budgets]                                    # under pyproject.toml: [tool.tolcost.budgets]
    "ops/softmax.tol" = ["eops <= 6*vol(x)", "seq=4096: 2.5 GFLOP"]

    [points]                                     # lengths at which reports show figures
    "models/*" = "batch=1, seq=4096"

    [cases."ops/anyrank.tol".matrix]             # inputs of a program, under the name of a case
    shapes = { x = ["n", "m"] }
    attrs = { axis = 2 }
    assume = ["n = 32*k", "m <= 512"]            # assumptions about its lengths

    [cases."models/net.onnx".step]               # a step of training of a model
    train = { optimizer = "adamw", recompute = "every 2" }

    [modules."my.models:encoder"]                # a module of PyTorch, exported when it is checked
    shapes = { "ids:int64" = ["batch", "seq"] }  # or tables like this one, each under the name of a case

    [formulas]                                   # cost formulas to check against the definitions
    files = ["ops/costs.toml"]                   # as `tolcost referee` reads them

Every key is checked: an unknown key is an error, because a misspelt budget would otherwise never be
enforced.  All mistakes are reported at once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import TypeAlias, cast

from msgspec import Struct, field

from tolcost.check.records import GATED, metric_named, metrics_known
from tolcost.diagnostics import Diagnostic, Rejected, Source, Span, quoted, refuse

FILE, PYPROJECT = "tolcost.toml", "pyproject.toml"
MAX_BYTES = 1 << 20
"""Settings are untrusted input; a megabyte is far more than any project writes by hand."""
_KEYS = ("paths", "exclude", "metrics", "specs", "seal", "budgets", "points", "cases", "modules", "formulas")
_CASE_KEYS = ("shapes", "attrs", "assume", "train")
_MODULE_KEYS = ("shapes", "opset", "weights", "assume", "train")
_LABEL = re.compile(r"[A-Za-z0-9_.+-]{1,100}")
_MOST_ENTRIES = 10_000
_MODULE = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")
_PROGRAM = re.compile(r".*\.(tol|onnx)", re.IGNORECASE)

GivenValue: TypeAlias = "int | float | bool | str | tuple[GivenValue, ...]"
GivenShape: TypeAlias = "tuple[int | str, ...] | tuple[tuple[int | str, ...], ...]"
Texts: TypeAlias = tuple[str, ...]


class ProgramCase(Struct, frozen=True):
    """Shapes, attributes and assumptions for a program's inputs; ``label`` names the case."""

    label: str = ""
    shapes: Mapping[str, GivenShape] = field(default_factory=dict)
    attrs: Mapping[str, GivenValue] = field(default_factory=dict)
    assume: Texts = ()
    train: Mapping[str, GivenValue] = field(default_factory=dict)
    """What is asked of a step of training of a model; empty if its figures are those of a run."""


class Config(Struct, frozen=True):
    """The settings of a project; all paths are relative to ``root``."""

    root: Path
    paths: Texts = (".",)
    exclude: Texts = ()
    metrics: Texts = GATED
    specs: Texts = ()
    seal: bool = True
    budgets: tuple[tuple[str, Texts], ...] = ()
    points: tuple[tuple[str, Texts], ...] = ()
    cases: Mapping[str, tuple[ProgramCase, ...]] = field(default_factory=dict)
    modules: Mapping[str, tuple[ProgramCase, ...]] = field(default_factory=dict)
    """Models that an application makes of ``module:function``, with their cases."""
    formulas: Texts = ()
    source: Source = Source("", "")
    first_specs: Texts = ()
    """Folders of operators given on the command line, searched before those of the settings."""
    working: Path | None = None
    """The root in the working tree, if this is the project at a revision, in a folder of its own."""

    @property
    def libraries(self) -> tuple[Path, ...]:
        """The folders of operators and library files, in search order."""
        return tuple(self.root / folder for folder in (*self.first_specs, *self.specs))

    def span_of(self, *keys: str) -> Span:
        """Return where the settings have a key, each searched after the one before; else their beginning."""
        at, span = 0, Span(Source(self.source.name, ""), 0, 0)
        for key in filter(None, keys):
            at = self.source.text.find(key, at)
            if at < 0:
                break
            span = Span(self.source, at, at + len(key))
            at += len(key)
        return span


def is_module(name: str) -> bool:
    """Whether the settings can name a module so.

    >>> is_module("my.models:encoder"), is_module("ops:x.tol"), is_module("ops/x")
    (True, False, False)
    """
    return bool(_MODULE.fullmatch(name)) and not _PROGRAM.fullmatch(name)


def find_config(start: Path) -> Config:
    """Find the settings that apply in a folder: those of the folder, or of its nearest parent with any.

    A lock file without settings ends the search: its folder is a project with default settings.
    """
    for folder in (start, *start.parents):
        found = _config_in(folder)
        if found is not None:
            return found
        if (folder / "tolcost.lock").exists():
            return Config(folder)
    return Config(start)


def config_of(root: Path) -> Config:
    """Return the settings of the project in a folder, or the default settings if it has none."""
    return _config_in(root) or Config(root)


def narrowed(old: Config, new: Config) -> Iterator[str]:
    """Describe the metrics, budgets and formulas that old settings enforce and new settings do not.

    Programs that are no longer checked are not listed here: the gate reports each by its name.
    """
    for metric in old.metrics:
        if metric not in new.metrics:
            yield f"`metrics` names {metric} no more"
    kept = {(pattern, text) for pattern, texts in new.budgets for text in texts}
    for pattern, texts in old.budgets:
        for text in texts:
            if (pattern, text) not in kept:
                yield f"`budgets` holds {quoted(pattern)} to {quoted(text)} no more"
    for file in old.formulas:
        if file not in new.formulas:
            yield f"`formulas` names {quoted(file)} no more"


def _config_in(folder: Path) -> Config | None:
    own, project = folder / FILE, folder / PYPROJECT
    table = _section(project)
    if own.is_file():
        if table is not None:
            refuse("T0711", f"settings stand in both {FILE} and {PYPROJECT}", hint="keep one of the two")
        source = _read(own)
        return read_config(_toml(source), folder, source)
    return None if table is None else read_config(table[0], folder, table[1])


def _section(project: Path) -> tuple[Mapping[str, object], Source] | None:
    """Return the ``[tool.tolcost]`` table of a pyproject.toml, if it has one."""
    if not project.is_file():
        return None
    source = _read(project)
    if "tolcost" not in source.text:
        return None  # a project that does not use tolcost may have a file that is not even TOML
    tool = _toml(source).get("tool", {})
    table = tool.get("tolcost") if isinstance(tool, dict) else None
    return (table, source) if isinstance(table, dict) else None


def _read(path: Path) -> Source:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise Rejected(_unreadable(path, f"it is larger than {MAX_BYTES >> 20} MiB"))
        return Source(path.name, data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Rejected(_unreadable(path, "it is not UTF-8")) from None
    except OSError as error:
        raise Rejected(_unreadable(path, (error.strerror or "unknown reason").lower())) from None


def _unreadable(path: Path, reason: str) -> Diagnostic:
    return Diagnostic("T0710", f"the settings cannot be read: {reason}", Span(Source(path.name, ""), 0, 0))


def _toml(source: Source) -> Mapping[str, object]:
    try:
        return tomllib.loads(source.text)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise Rejected(_unreadable(Path(source.name), reason)) from None


# ---- the table ------------------------------------------------------------------------------------


class _Mistakes(Struct):
    """Collects the mistakes in the settings."""

    source: Source
    found: list[Diagnostic] = field(default_factory=list)

    def add(self, key: str, message: str, hint: str | None = None) -> None:
        """Record a mistake, located at the first occurrence of its key in the text if there is one."""
        at = self.source.text.find(key) if key else -1
        span = Span(self.source, at, at + len(key)) if at >= 0 else Span(Source(self.source.name, ""), 0, 0)
        self.found.append(Diagnostic("T0711", message, span, hint=hint))


def read_config(table: Mapping[str, object], root: Path, source: Source) -> Config:
    """Read the settings of a project, or reject them with all their mistakes."""
    mistakes = _Mistakes(source)
    _known_keys(mistakes, table, _KEYS, "")
    config = Config(
        root=root,
        paths=_inside(mistakes, table, "paths", (".",)),
        exclude=_texts(mistakes, table, "exclude", ()),
        metrics=_metrics(mistakes, table),
        specs=_inside(mistakes, table, "specs", ()),
        seal=_truth(mistakes, table, "seal", True),
        budgets=_by_pattern(mistakes, table, "budgets", "budget"),
        points=_by_pattern(mistakes, table, "points", "point"),
        cases=_cases(mistakes, table.get("cases", {})),
        modules=_modules(mistakes, table.get("modules", {})),
        formulas=_formulas(mistakes, table.get("formulas", {})),
        source=source,
    )
    if mistakes.found:
        raise Rejected(*mistakes.found)
    return config


def _known_keys(mistakes: _Mistakes, table: Mapping[str, object], known: Texts, where: str) -> None:
    for key in table:
        if key not in known:
            near = get_close_matches(key[:100], known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(known)}"
            mistakes.add(key, f"there is no setting {quoted(key)}{where}", hint)


def _texts(mistakes: _Mistakes, table: Mapping[str, object], key: str, default: Texts) -> Texts:
    value = table.get(key, default)
    if value is default:
        return default
    if not isinstance(value, list) or not all(isinstance(text, str) and text for text in value):
        mistakes.add(key, f"`{key}` is a list of texts")
        return default
    return tuple(value)


def _truth(mistakes: _Mistakes, table: Mapping[str, object], key: str, default: bool) -> bool:
    value = table.get(key, default)
    if not isinstance(value, bool):
        mistakes.add(key, f"`{key}` is true or false")
        return default
    return value


def _inside(mistakes: _Mistakes, table: Mapping[str, object], key: str, default: Texts) -> Texts:
    """Read paths, and refuse a path that leads out of the project."""
    paths = _texts(mistakes, table, key, default)
    for path in paths:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or "\0" in path:
            mistakes.add(path, f"{quoted(path)} leads out of the project")
    return paths


def _metrics(mistakes: _Mistakes, table: Mapping[str, object]) -> Texts:
    asked = _texts(mistakes, table, "metrics", GATED)
    named = [metric_named(name) for name in asked]
    for name, found in zip(asked, named, strict=True):
        if found is None:
            mistakes.add(name, f"there is no metric {quoted(name)}", metrics_known())
    if not asked:
        mistakes.add("metrics", "`metrics` names no metric: the gate would compare nothing")
    return tuple(dict.fromkeys(name for name in named if name is not None))


def _by_pattern(
    mistakes: _Mistakes, settings: Mapping[str, object], key: str, one: str
) -> tuple[tuple[str, Texts], ...]:
    """Read budgets or points by pattern: a text, or a list of texts."""
    table = settings.get(key, {})
    if not isinstance(table, dict):
        mistakes.add(key, f"`{key}` is a table: a pattern, and what holds for the programs it matches")
        return ()
    found = []
    for pattern, given in table.items():
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            mistakes.add(pattern, f"the {one} of {quoted(pattern)} is a text, or a list of texts")
        else:
            found.append((pattern, tuple(texts)))
    return tuple(found)


def _formulas(mistakes: _Mistakes, table: object) -> Texts:
    """Read the paths of files with cost formulas."""
    if not isinstance(table, dict):
        mistakes.add("formulas", "`formulas` is a table with files = [...]")
        return ()
    _known_keys(mistakes, table, ("files",), " under `formulas`")
    return _inside(mistakes, table, "files", ())


# ---- cases ----------------------------------------------------------------------------------------


def _cases(mistakes: _Mistakes, table: object) -> Mapping[str, tuple[ProgramCase, ...]]:
    if not isinstance(table, dict) or not all(isinstance(cases, dict) for cases in table.values()):
        mistakes.add("cases", "`cases` has a table for each program, and in it one for each case")
        return {}
    return {
        file: tuple(_case(mistakes, file, label, given) for label, given in cases.items())
        for file, cases in table.items()
    }


def _label(mistakes: _Mistakes, label: str) -> None:
    if not _LABEL.fullmatch(label):
        hint = "letters, digits, `_`, `.`, `+`, `-`"
        mistakes.add(label, f"{quoted(label)} is not the name of a case", hint)


def _case(mistakes: _Mistakes, file: str, label: str, given: object) -> ProgramCase:
    where = f" in the case {quoted(label)} of {quoted(file)}"
    _label(mistakes, label)
    if not isinstance(given, dict):
        mistakes.add(label, f"a case is a table{where}")
        return ProgramCase(label)
    _known_keys(mistakes, given, _CASE_KEYS, where)
    shapes, attrs = given.get("shapes", {}), given.get("attrs", {})
    if not isinstance(shapes, dict) or not isinstance(attrs, dict):
        mistakes.add(label, f"`shapes` and `attrs` are tables{where}")
        return ProgramCase(label)
    return ProgramCase(
        label,
        {name: _shape(mistakes, name, value, where) for name, value in shapes.items()},
        {name: _value(mistakes, name, value, where) for name, value in attrs.items()},
        _texts(mistakes, given, "assume", ()),
        _train(mistakes, given.get("train", {}), where),
    )


def _train(mistakes: _Mistakes, given: object, where: str) -> Mapping[str, GivenValue]:
    """Read what is asked of a step of training, or the name of its optimiser alone."""
    asked = {"optimizer": given} if isinstance(given, str) else given
    if isinstance(asked, dict) and (not asked or isinstance(asked.get("optimizer"), str)):
        lists = {key: tuple(value) if isinstance(value, list) else value for key, value in asked.items()}
        if all(isinstance(value, str | int | tuple) for value in lists.values()):
            return lists
    mistakes.add("train", f'`train` is an optimiser, or a table with `optimizer = "adamw"`{where}')
    return {}


def _modules(mistakes: _Mistakes, table: object) -> Mapping[str, tuple[ProgramCase, ...]]:
    """Read the modules: each is one case without a name, or a table of cases."""
    if not isinstance(table, dict) or not all(isinstance(given, dict) for given in table.values()):
        mistakes.add("modules", "`modules` has a table for each module:function")
        return {}
    found = {}
    for name, given in table.items():
        if not is_module(name):
            hint = 'such as [modules."my.models:encoder"]'
            mistakes.add(name, f"{quoted(name)} does not name a module as module:function", hint)
        tables = [one for one in given.values() if isinstance(one, dict)]
        has_cases = len(tables) == len(given) and any(key in one for one in tables for key in _MODULE_KEYS)
        cases = given if has_cases else {"": given}
        found[name] = tuple(_module_case(mistakes, name, label, one) for label, one in cases.items())
    return found


def _module_case(mistakes: _Mistakes, name: str, label: str, given: Mapping[str, object]) -> ProgramCase:
    where = f" in the case {quoted(label)} of {quoted(name)}" if label else f" of {quoted(name)}"
    if label:
        _label(mistakes, label)
    _known_keys(mistakes, given, _MODULE_KEYS, where)
    shapes = given.get("shapes")
    if not isinstance(shapes, dict) or not shapes:
        hint = 'such as shapes = { "ids:int64" = ["batch", "seq"] }'
        mistakes.add(label or name, f"`shapes` has an entry for each argument of `forward`{where}", hint)
        shapes = {}
    attrs: dict[str, GivenValue] = {}
    if "weights" in given and not _truth(mistakes, given, "weights", True):
        attrs["weights"] = False
    opset = given.get("opset")
    if opset is not None:
        if isinstance(opset, bool) or not isinstance(opset, int) or opset < 1:
            mistakes.add("opset", f"`opset` is a number{where}")
        else:
            attrs["opset"] = opset
    read = {key: _shape(mistakes, key, value, where) for key, value in shapes.items()}
    train = _train(mistakes, given.get("train", {}), where)
    return ProgramCase(label, read, attrs, _texts(mistakes, given, "assume", ()), train)


def _shape(mistakes: _Mistakes, name: str, value: object, where: str) -> GivenShape:
    """Read a shape: a list of names and numbers, or a list of such lists for a variadic input."""
    rows = value if isinstance(value, list) else None
    if rows is None or not all(_is_length(row) or _is_row(row) for row in rows):
        mistakes.add(name, f"the shape of {quoted(name)}{where} is a list of names and numbers")
        return ()
    return cast(GivenShape, tuple(tuple(row) if isinstance(row, list) else row for row in rows))


def _is_length(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _is_row(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_length, value))


def _value(mistakes: _Mistakes, name: str, value: object, where: str, depth: int = 0) -> GivenValue:
    """Read a number, a text, a truth value, or a nested list of these."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list) and len(value) <= _MOST_ENTRIES and depth < 8:
        return tuple(_value(mistakes, name, entry, where, depth + 1) for entry in value)
    mistakes.add(name, f"{quoted(name)}{where} is neither a number, a text, nor a list of them")
    return 0
