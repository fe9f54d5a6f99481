"""Data classes as mypyc wants them: with the ``__init__`` that ``@dataclass`` would make, written out.

mypyc compiles what it reads.  The ``__init__`` of a data class is made when the program runs, is
interpreted, and sets each field by name; slots make a second class, which is not the compiled one.  So
before a module is compiled, ``@dataclass(frozen=True, slots=True)`` becomes
``@dataclass(frozen=True, init=False)`` with an ``__init__``, and with a ``__reduce__``, since a compiled
object has no state that pickle could find.  Comparison, hash, ``fields``, ``replace`` and the refusal to
set a field are still those of ``dataclass``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

Maker = dict[str, ast.Call]
"""Functions of a module that only give a ``field(...)``, by name."""


def written_out(text: str) -> str:
    r"""A module whose data classes have their ``__init__`` written out.

    >>> print(written_out("@dataclass(slots=True)\nclass A:\n    n: int = 0"))
    @dataclass(init=False)
    class A:
        n: int = 0
    <BLANKLINE>
        def __init__(self, n: int=0) -> None:
            self.n = n
    <BLANKLINE>
        def __reduce__(self) -> tuple[object, ...]:
            return (A, (self.n,))
    """
    tree = ast.parse(text)
    makers, absent = _makers(tree), _absent(tree)
    for kind in tree.body:
        if isinstance(kind, ast.ClassDef) and any(_called(d) == "dataclass" for d in kind.decorator_list):
            _write_out(kind, makers, absent)
    return ast.unparse(ast.fix_missing_locations(tree))


def _write_out(kind: ast.ClassDef, makers: Maker, absent: set[str]) -> None:
    if kind.bases:
        raise NotImplementedError(f"{kind.name}: the fields that a data class inherits are not seen here")
    fields = [node for node in kind.body if isinstance(node, ast.AnnAssign) and "ClassVar" not in _type(node)]
    for node in fields:
        if isinstance(node.value, ast.Call):
            node.value = makers.get(_called(node.value), node.value)
    own = {node.name for node in kind.body if isinstance(node, ast.FunctionDef)}
    if fields and "__init__" not in own:
        kind.body += ast.parse("\n".join(_methods(kind.name, fields, own))).body
    if any(_type(node) in absent for node in fields):
        # mypyc hands the classes of fields to ``dataclass``; one that does not exist yet would crash.
        kind.decorator_list = []
        for node in fields:
            node.value = None
    else:
        kind.decorator_list = [_without_slots(decorator) for decorator in kind.decorator_list]


def _methods(name: str, fields: list[ast.AnnAssign], own: set[str]) -> Iterator[str]:
    given = [(node, options) for node in fields if (options := _options(node)).get("init") != "False"]
    parameters = "".join(f", {_parameter(node, options)}" for node, options in given)
    yield f"def __init__(self{parameters}) -> None:"
    for node, options in given:
        field, factory = ast.unparse(node.target), options.get("default_factory")
        if factory is not None:
            made = factory.removeprefix("lambda: ") if "lambda" in factory else f"{factory}()"
            yield f"    if {field} is None: self.{field} = {made}"
            yield f"    else: self.{field} = {field}"
        else:
            yield f"    self.{field} = {field}"
    if "__post_init__" in own:
        yield "    self.__post_init__()"
    if "__reduce__" not in own:
        yield "def __reduce__(self) -> tuple[object, ...]:"
        yield f"    return {name}, ({''.join(f'self.{ast.unparse(node.target)},' for node, _ in given)})"


def _parameter(node: ast.AnnAssign, options: dict[str, str]) -> str:
    declared = f"{ast.unparse(node.target)}: {_type(node)}"
    if "default_factory" in options:
        return f"{declared} | None = None"
    return f"{declared} = {options['default']}" if "default" in options else declared


def _options(node: ast.AnnAssign) -> dict[str, str]:
    """What ``field`` is told about a field."""
    value = node.value
    if isinstance(value, ast.Call) and _called(value) == "field":
        return {k.arg: ast.unparse(k.value) for k in value.keywords if k.arg}
    return {} if value is None else {"default": ast.unparse(value)}


def _without_slots(decorator: ast.expr) -> ast.expr:
    if not isinstance(decorator, ast.Call) or _called(decorator) != "dataclass":
        return decorator
    kept = [k for k in decorator.keywords if k.arg != "slots"]
    return ast.Call(decorator.func, [], [*kept, ast.keyword("init", ast.Constant(False))])


def _makers(tree: ast.Module) -> Maker:
    functions = {node.name: node.body[-1] for node in tree.body if isinstance(node, ast.FunctionDef)}
    given = {name: last.value for name, last in functions.items() if isinstance(last, ast.Return)}
    calls = {name: value for name, value in given.items() if isinstance(value, ast.Call)}
    return {name: call for name, call in calls.items() if _called(call) == "field"}


def _absent(tree: ast.Module) -> set[str]:
    """Names that a module imports for the type checker alone: they are not there when it is run."""
    guards = [n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    imports = [node for guard in guards for node in guard.body if isinstance(node, ast.ImportFrom)]
    return {name.asname or name.name for node in imports for name in node.names}


def _type(node: ast.AnnAssign) -> str:
    return ast.unparse(node.annotation)


def _called(node: ast.expr) -> str:
    name = node.func if isinstance(node, ast.Call) else node
    return name.id if isinstance(name, ast.Name) else ""
