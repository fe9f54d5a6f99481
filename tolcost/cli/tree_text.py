"""A syntax tree as an outline: one node a line, with what it holds below it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from tolcost.diagnostics import Span, place, visible
from tolcost.syntax.tree import Comment, Module

_LONGEST = 80


def tree_text(program: Module) -> str:
    """Give the outline of a program.  It goes as deep as the program does, without recursion."""
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
    """Give the plain fields of a node as text, and its child nodes with their roles."""
    scalars: list[str] = []
    children: list[tuple[str, object]] = []
    for field in fields(node) if is_dataclass(node) else ():
        if field.name not in ("span", "comments"):
            _sort_in(field.name, getattr(node, field.name), scalars, children)
    return scalars, children


def _sort_in(name: str, value: object, scalars: list[str], children: list[tuple[str, object]]) -> None:
    if is_dataclass(value) and not isinstance(value, Comment):
        children.append((f"{name}: ", value))
    elif isinstance(value, tuple) and any(is_dataclass(item) or isinstance(item, tuple) for item in value):
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
