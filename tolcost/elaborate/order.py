"""The order in which the values of a long program can be computed, each after what it mentions."""

from __future__ import annotations

from tolcost.syntax import tree
from tolcost.syntax.depth import children


def value_order(program: tree.Program) -> list[str]:
    """The names of a program's definitions, what is mentioned before what mentions it.

    Found without recursion, so that a chain of 10,000 definitions is no deeper than two.
    """
    defines = {s.name: s for s in program.statements if isinstance(s, tree.Define)}
    needs = {name: [n for n in mentioned(s.value) if n in defines] for name, s in defines.items()}
    order: dict[str, None] = {}
    for start in defines:
        path, open_ = [(start, iter(needs[start]))], {start}
        while path:
            name, rest = path[-1]
            needed = next((n for n in rest if n not in order and n not in open_), None)
            if needed is None:
                order[name] = None
                path.pop()
            else:
                open_.add(needed)
                path.append((needed, iter(needs[needed])))
    return list(order)


def mentioned(expr: tree.Expr) -> list[str]:
    """The names an expression mentions, wherever in it."""
    names: dict[str, None] = {}
    stack: list[tree.Expr | tree.Statement] = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, tree.Name):
            names[node.name] = None
        stack.extend(children(node))
    return list(names)
