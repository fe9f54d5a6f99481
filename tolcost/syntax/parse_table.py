"""The parse table: made from ``grammar.lark`` by Lark, kept beside it, loaded without Lark.

Building the LALR table and importing Lark take longer than reading a small program, so the table is
stored as ``parse_table.json``.  It records which grammar it was made from: after an edit of the grammar the
stored table is out of date, and Lark builds a fresh one in memory.  ``python -m
tolcost.syntax.parse_table`` stores it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tolcost.dataclass import dataclass
from tolcost.diagnostics import InternalError

if TYPE_CHECKING:
    from logging import LogRecord

GRAMMAR = Path(__file__).with_name("grammar.lark")
STORED = Path(__file__).with_name("parse_table.json")
END = "$END"


class Production(NamedTuple):
    """What a rule does: take ``size`` values, make one of them by ``action``, go on as ``symbol``."""

    action: str | None
    size: int
    symbol: str


@dataclass(frozen=True, slots=True, eq=False)
class ParseTable:
    """An LALR(1) automaton.

    The first state is 0.  ``moves[state][symbol]`` is the next state if it is not
    negative, else ``~index`` of a reduction.
    ``terminals`` holds (name, pattern) in the order in which a contextual lexer has to try them.
    """

    terminals: tuple[tuple[str, str], ...]
    productions: tuple[Production, ...]
    moves: tuple[dict[str, int], ...]
    final: int


@cache
def parse_table() -> ParseTable:
    """The table of the grammar, stored or built."""
    grammar = GRAMMAR.read_text("utf-8")
    try:
        stored = json.loads(STORED.read_text("utf-8"))
    except (OSError, ValueError):
        stored = {}
    return _decode(stored if stored.get("grammar") == fingerprint(grammar) else encode(grammar))


def fingerprint(grammar: str) -> str:
    """What a stored table and its grammar have in common."""
    return hashlib.sha256(grammar.encode()).hexdigest()


def encode(grammar: str) -> dict[str, Any]:
    """The table of a grammar as plain data, made by Lark; a conflict in the grammar is an error."""
    from lark import Lark

    with _no_conflicts():
        lark = Lark(grammar, parser="lalr", lexer="contextual", start="statement", keep_all_tokens=True)
    table = lark.parser.parser._parse_table
    rules = sorted(lark.rules, key=str)
    order = {rule: ~index for index, rule in enumerate(rules)}
    states = _numbered(table.states, table.start_states["statement"])
    return {
        "grammar": fingerprint(grammar),
        "terminals": [[t.name, t.pattern.to_regexp()] for t in sorted(lark.terminals, key=_trial_order)],
        "productions": [[rule.alias, len(rule.expansion), rule.origin.name] for rule in rules],
        "moves": [
            {name: states.get(arg, order.get(arg)) for name, (_, arg) in _by_name(table.states[state])}
            for state in states
        ],
        "final": states[table.end_states["statement"]],
    }


@contextmanager
def _no_conflicts() -> Iterator[None]:
    """Lark settles shift/reduce conflicts by itself and only logs them; here they are errors."""
    import logging

    from lark import logger

    def refuse(record: LogRecord) -> bool:
        raise InternalError(f"the grammar is not LALR(1): {record.getMessage()}")

    level = logger.level
    logger.addFilter(refuse)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeFilter(refuse)
        logger.setLevel(level)


def _by_name(actions: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(actions.items(), key=lambda item: item[0])


def _numbered(states: dict[int, dict[str, Any]], start: int) -> dict[int, int]:
    """Numbers for the states in the order in which they are reached: Lark's own differ from run to run."""
    numbers = {start: 0}
    for state in (waiting := [start]):
        for _, (_, target) in _by_name(states[state]):
            if isinstance(target, int) and target not in numbers:
                numbers[target] = len(numbers)
                waiting.append(target)
    return numbers


def _trial_order(terminal: Any) -> tuple[int, int, int, str]:
    """Lark's own order: by priority, then the longer pattern first."""
    pattern = terminal.pattern
    return -terminal.priority, -pattern.max_width, -len(pattern.value), terminal.name


def _decode(data: dict[str, Any]) -> ParseTable:
    return ParseTable(
        terminals=tuple((name, pattern) for name, pattern in data["terminals"]),
        productions=tuple(Production(*parts) for parts in data["productions"]),
        moves=tuple(data["moves"]),
        final=data["final"],
    )


def store() -> None:
    """Write the table of the present grammar beside it."""
    data = encode(GRAMMAR.read_text("utf-8"))
    STORED.write_text(json.dumps(data, separators=(",", ":"), ensure_ascii=True) + "\n", "utf-8")


if __name__ == "__main__":
    store()
