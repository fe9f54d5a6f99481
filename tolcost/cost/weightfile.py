"""Reading the TOML of a cost model strictly: every key, function, space and number is checked.

Only the form is checked here; what rules mean together is for ``weights``.  Decimals are kept
as written, exactly.  All mistakes of a file are reported at once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction

from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.elementary import FUNCTIONS
from tolcost.spaces import SPACES

ANY = "*"
_TOP_KEYS = ("name", "unit", "description", "default", "per_mac", "rule")
FAMILIES = ("B", "Z", "R", "C", "S")
_RULE_KEYS = ("functions", "spaces", "families", "weight", "source")
_DECIMAL = re.compile(r"[+-]?\d[\d_]{0,40}(\.[\d_]{1,40})?([eE][+-]?\d{1,2})?")
_MAX_RULES = 10_000
_MAX_INTEGER = 10**60


@dataclass(frozen=True, slots=True)
class FileRule:
    """One rule as written; ``("*",)`` stands for all functions or all spaces.

    A family among the spaces is marked: see ``family``.
    """

    functions: tuple[str, ...]
    spaces: tuple[str, ...]
    weight: Fraction
    source: str = ""


def family(kind: str) -> str:
    """Give the mark under which rules for a whole family of spaces are kept."""
    return f"family {kind}"


@dataclass(frozen=True, slots=True)
class WeightFile:
    """A checked weight file."""

    name: str
    unit: str
    default: Fraction | None
    per_mac: Fraction
    rules: tuple[FileRule, ...]
    description: str = ""


@dataclass(slots=True)
class _Reader:
    """The mistakes found so far in one file."""

    file: str
    mistakes: list[Diagnostic] = field(default_factory=list)

    def complain(self, message: str, hint: str | None = None) -> None:
        self.mistakes.append(Diagnostic("T0612", f"{self.file}: {message}", hint=hint))


def parse_weight_file(text: str, name: str) -> WeightFile:
    """Check the form of a weight file, or reject it with everything that is wrong."""
    reader = _Reader(name)
    raw = _toml(text, name)
    _check_keys(reader, raw, _TOP_KEYS, "")
    rules = _rules(reader, raw.get("rule", []))
    file = WeightFile(
        name=_text(reader, raw, "name", ""),
        unit=_text(reader, raw, "unit", ""),
        default=_default(reader, raw),
        per_mac=_number(reader, raw.get("per_mac", 0), "per_mac"),
        rules=rules,
        description=_text(reader, raw, "description", "", required=False),
    )
    if reader.mistakes:
        raise Rejected(*reader.mistakes)
    return file


def _toml(text: str, name: str) -> Mapping[str, object]:
    try:
        return tomllib.loads(text, parse_float=_decimal)
    except (ValueError, RecursionError) as error:
        raise Rejected(Diagnostic("T0611", f"{name}: not a TOML file tolcost reads: {error}")) from error


def _decimal(text: str) -> Fraction:
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text[:50]} is not a plain decimal of moderate size")
    return Fraction(text.replace("_", ""))


def _check_keys(reader: _Reader, raw: Mapping[str, object], known: Sequence[str], where: str) -> None:
    for key in raw:
        if key not in known:
            reader.complain(f"unknown key {key[:60]!r}{where}", _did_you_mean(key, known))


def _did_you_mean(word: str, known: Sequence[str]) -> str:
    close = get_close_matches(word[:60], known, 1)
    return f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"


def _text(reader: _Reader, raw: Mapping[str, object], key: str, where: str, required: bool = True) -> str:
    value = raw.get(key, None if required else "")
    if isinstance(value, str):
        return value
    reader.complain(f"{key} must be text{where}", f'{key} = "..."')
    return ""


def _default(reader: _Reader, raw: Mapping[str, object]) -> Fraction | None:
    match raw.get("default"):
        case "error":
            return None
        case None:
            reader.complain('"default" is missing', 'default = "error", or the number that is meant')
            return None
        case value:
            return _number(reader, value, "default")


def _number(reader: _Reader, value: object, what: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        reader.complain(f"{what} must be a number")
        return Fraction(0)
    if value < 0 or value > _MAX_INTEGER:
        reader.complain(f"{what} must not be negative, nor above 1e60")
    return Fraction(value)


def _rules(reader: _Reader, raw: object) -> tuple[FileRule, ...]:
    if not isinstance(raw, list) or len(raw) > _MAX_RULES:
        reader.complain(f"rules are [[rule]] tables, at most {_MAX_RULES}")
        return ()
    return tuple(_rule(reader, entry, number) for number, entry in enumerate(raw, 1))


def _rule(reader: _Reader, raw: object, number: int) -> FileRule:
    where = f" in rule {number}"
    if not isinstance(raw, dict):
        reader.complain(f"rule {number} is not a table", "[[rule]]")
        return FileRule((), (), Fraction(0))
    _check_keys(reader, raw, _RULE_KEYS, where)
    if "weight" not in raw:
        reader.complain(f"weight is missing{where}")
    return FileRule(
        functions=_names(reader, raw.get("functions"), tuple(FUNCTIONS), "function", where),
        spaces=_spaces(reader, raw, where),
        weight=_number(reader, raw.get("weight", 0), f"weight{where}"),
        source=_text(reader, raw, "source", where, required=False),
    )


def _spaces(reader: _Reader, raw: Mapping[str, object], where: str) -> tuple[str, ...]:
    """Read the spaces of a rule, given by name, by family, or both."""
    families: tuple[str, ...] = ()
    if "families" in raw:
        families = tuple(map(family, _names(reader, raw["families"], FAMILIES, "family", where)))
    if "spaces" not in raw and families:
        return families
    return (*_names(reader, raw.get("spaces"), tuple(SPACES), "space", where), *families)


def _names(reader: _Reader, raw: object, known: tuple[str, ...], what: str, where: str) -> tuple[str, ...]:
    if raw == ANY and what != "family":
        return (ANY,)
    if not isinstance(raw, list) or not raw or not all(isinstance(name, str) for name in raw):
        reader.complain(f'each {what} must be named in a list, or all of them as "*"{where}')
        return ()
    for name in raw:
        if name not in known:
            reader.complain(f"unknown {what} {name[:60]!r}{where}", _did_you_mean(name, known))
    return tuple(dict.fromkeys(raw))
