"""``tolcost lower``: show a program as its syntax tree, as atoms, or as unrolled atoms."""

from __future__ import annotations

import click
from msgspec import Struct

from tolcost.atoms.nodes import Program
from tolcost.cli import options
from tolcost.cli.analyze import Request, lowered, source_of, warn
from tolcost.cli.output import deliver
from tolcost.diagnostics import Span, place, visible
from tolcost.platform import with_deep_stack
from tolcost.syntax.tree import Comment, Module


@click.command(
    cls=options.Command,
    examples=(
        "tolcost lower matmul.tol",
        "tolcost lower matmul.tol --stage ast",
        "tolcost lower matmul.tol --unroll --dim n=2 --dim k=2 --dim m=2",
    ),
)
@click.argument("file", metavar="FILE.tol")
@click.option(
    "--stage",
    type=click.Choice(["ast", "atoms"]),
    default="atoms",
    help="Show the tree or the atoms.",
)
@click.option("--unroll", is_flag=True, help="Show nothing but the five atoms, at lengths given by --dim.")
@options.dim_option
@options.input_options
@options.output_option
def command(
    file: str,
    stage: str,
    unroll: bool,
    dims: tuple[str, ...],
    shapes: tuple[str, ...],
    attrs: tuple[str, ...],
    specs: tuple[str, ...],
    output: str | None,
) -> int:
    """Show a program as its syntax tree, its atoms, or its atoms unrolled."""
    lengths = options.read_dims(dims)
    if lengths and not unroll:
        raise click.UsageError("--dim needs --unroll: other stages are the same for all lengths")
    if unroll and stage == "ast":
        raise click.UsageError("--unroll is about atoms, not about --stage ast")
    request = Request.read(shapes, attrs, specs)
    text = _tree(file) if stage == "ast" else _atoms(file, request, lengths if unroll else None)
    deliver(text, output, "text")
    return 0


def _tree(file: str) -> str:
    from tolcost.syntax import parse

    return tree_text(parse(source_of(file)))


def _atoms(file: str, request: Request, dims: dict[str, int] | None) -> str:
    program = lowered(file, request)
    warn(program.warnings)
    if dims is not None:
        return _unrolled(program.program, dims)
    from tolcost.atoms.text import program_text

    return with_deep_stack(lambda: program_text(program.program))


def _unrolled(program: Program, dims: dict[str, int]) -> str:
    from tolcost.atoms.text import unrolled_text
    from tolcost.atoms.unroll import unroll

    return with_deep_stack(lambda: unrolled_text(unroll(program, dims)))


# ---- a syntax tree as an outline: one node per line, with its children below it ----------------


_LONGEST = 80


def tree_text(program: Module) -> str:
    """Write the outline of a program, without recursion, because programs may be nested deeply."""
    lines: list[str] = []
    stack: list[tuple[int, str, object]] = [(0, "", s) for s in reversed(program.statements)]
    while stack:
        indent, role, node = stack.pop()
        scalars, children = _content(node)
        head = " ".join([type(node).__name__, *scalars])
        lines.append(f"{'  ' * indent}{role}{head}  {_where(node)}".rstrip())
        stack.extend((indent + 1, name, child) for name, child in reversed(children))
    return "\n".join(lines) + "\n"


def _content(node: object) -> tuple[list[str], list[tuple[str, object]]]:
    """Return the plain fields of a node as text, and its child nodes with their roles."""
    scalars: list[str] = []
    children: list[tuple[str, object]] = []
    for name in node.__struct_fields__ if isinstance(node, Struct) else ():
        if name not in ("span", "comments"):
            _sort_in(name, getattr(node, name), scalars, children)
    return scalars, children


def _sort_in(name: str, value: object, scalars: list[str], children: list[tuple[str, object]]) -> None:
    if isinstance(value, Struct) and not isinstance(value, Comment):
        children.append((f"{name}: ", value))
    elif isinstance(value, tuple) and any(isinstance(item, (Struct, tuple)) for item in value):
        for item in value:
            pair = item if isinstance(item, tuple) else (None, item)
            label = "" if pair[0] is None else f"{visible(str(pair[0]))} "
            children.append((f"{name}: {label}", pair[-1]))
    elif value not in (None, False, ()):
        scalars.append(_scalar(name, value))


def _scalar(name: str, value: object) -> str:
    if value is True:
        return name
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    shown = visible(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
    return f"{name}=({shown})" if isinstance(value, tuple) else f"{name}={shown}"


def _where(node: object) -> str:
    span = getattr(node, "span", None)
    if not isinstance(span, Span):
        return ""
    found = place(span)
    return f"@{found.line}:{found.column}"
