"""Applications: each is a folder that builds on the core, and can be deleted with everything it adds.

The core imports none of them.  The tables below list their additions: commands for the command line, further
functions for Python, and for the gate further checks and forms of models.  Delete the rows of a folder
together with it.
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
        "plan": ("plan.command", "Plan a language model: memory, time and tokens per second."),
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
"""The module of each command, which defines it as ``command``, and a line about it."""

FUNCTIONS: Mapping[str, str] = MappingProxyType({"from_torch": "torch.api", "plan": "plan.api"})
"""Functions of ``import tolcost`` that an application adds, with their modules."""

GATE: Mapping[str, tuple[str, str]] = MappingProxyType({"formulas": ("referee.judge", "held_formulas")})
"""Settings of ``tolcost.toml`` that an application checks, with the module and its function."""

TARGETS: Mapping[str, tuple[str, str]] = MappingProxyType({"modules": ("torch.gate", "exported_target")})
"""Settings of ``tolcost.toml`` that declare models in other forms, with the function for one."""

ENTRIES: Mapping[str, tuple[str, str]] = MappingProxyType({".json": ("plan.gate", "costed_config")})
"""Files of the gate's settings in other forms, by how their names end, with the function that costs one."""


def is_there(module: str) -> bool:
    """Whether the application of a module is installed."""
    return (Path(__file__).parent / module.partition(".")[0] / "__init__.py").exists()


def load(module: str) -> Any:
    """Load a module of an application."""
    return import_module(f"{__name__}.{module}")


def commands() -> Iterator[tuple[str, str, str]]:
    """Yield the installed commands: name, module and a line about each."""
    for name, (module, line) in COMMANDS.items():
        if is_there(module):
            yield name, f"{__name__}.{module}", line
