"""Applications: each is a folder that stands on the core, and can be deleted with all that it brings.

The core imports none of them.  What they add to it is in the tables below: the command line finds their
commands there, Python further functions, and the gate what else it checks.  A folder that is deleted takes
its rows along.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "torch": ("torch.command", "Count what a module of PyTorch costs, by torch's own exporter."),
        "sql": ("sql.command", "Count what a query in SQL costs, as a program in ToLang."),
        "circuit": ("circuits.command", "Write programs as arithmetic circuits, read and compare these."),
        "fleet": ("fleet.command", "Count what many models cost, as one table."),
        "referee": (
            "referee.command",
            "Check cost formulas typed by hand against the definitions.",
        ),
        "alternatives": (
            "referee.algorithms",
            "Compare algorithms for an operator, and show where they cross.",
        ),
        "report": ("paper.command", "Derive the paper's tables again, with charts and errata, as files."),
        "lsp": ("editor.command", "Serve editors over the language server protocol."),
        "mcp": ("agents.command", "Serve the commands as tools to programs that speak MCP."),
    }
)
"""For each command the module that holds it, as ``command``, and a line about it."""

FUNCTIONS: Mapping[str, str] = MappingProxyType({"from_torch": "torch.api"})
"""Functions of ``import tolcost`` that an application brings, and where they are."""

GATE: Mapping[str, tuple[str, str]] = MappingProxyType({"formulas": ("referee.judge", "held_formulas")})
"""For each setting of ``tolcost.toml`` that an application checks: the module, and its function."""


def is_there(module: str) -> bool:
    """Whether the application of a module is installed."""
    return (Path(__file__).parent / module.partition(".")[0] / "__init__.py").exists()


def load(module: str) -> Any:
    """Load a module of an application."""
    return import_module(f"{__name__}.{module}")


def commands() -> Iterator[tuple[str, str, str]]:
    """The commands that are there: name, module and a line about each."""
    for name, (module, line) in COMMANDS.items():
        if is_there(module):
            yield name, f"{__name__}.{module}", line
