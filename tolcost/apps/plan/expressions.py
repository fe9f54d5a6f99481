"""Expressions over the keys of a configuration, as ``specs/serving/types.toml`` writes them.

They have Python's grammar, and nothing else of Python: names of keys, numbers, texts, arithmetic on exact
numbers, comparisons, ``or``, ``if``, and a few functions.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import Any


class WrongValue(Exception):
    """A key of the configuration has a value that an expression cannot use."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


@cache
def parsed(text: str) -> ast.expr:
    """Parse an expression."""
    return ast.parse(text, mode="eval").body


def keys_of(text: str) -> frozenset[str]:
    """Return the keys of the configuration that an expression mentions.

    >>> sorted(keys_of("head_dim or hidden_size / num_attention_heads"))
    ['head_dim', 'hidden_size', 'num_attention_heads']
    """
    return frozenset(
        node.id for node in ast.walk(parsed(text)) if isinstance(node, ast.Name) and node.id not in _FUNCTIONS
    )


def other_names(text: str) -> tuple[frozenset[str], ...]:
    """Return the keys of which an expression takes the first that is there.

    >>> [sorted(names) for names in other_names("n_layer or num_hidden_layers or 2 * d")]
    [['n_layer', 'num_hidden_layers']]
    """
    found = []
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            names = frozenset(one.id for one in node.values if isinstance(one, ast.Name))
            found += [names] if len(names) > 1 else []
    return tuple(found)


def value_of(text: str, config: Mapping[str, Any]) -> Any:
    """Evaluate an expression; what needs a key that is not there is None.

    >>> value_of("n or 4 * d", {"d": 8})
    Fraction(32, 1)
    >>> value_of("d / heads", {"d": 8}) is None
    True
    """
    return _value(parsed(text), config)


def _value(node: ast.expr, config: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return Fraction(value) if type(value) is int else value
        case ast.Name(id=name):
            return _given(name, config.get(name))
        case ast.Attribute(value=of, attr=name):
            inner = _value(of, config)
            return _given(name, inner.get(name)) if isinstance(inner, Mapping) else None
        case ast.BoolOp(op=ast.Or(), values=values):
            found = [_value(value, config) for value in values]
            return next((one for one in found if one is not None and one is not False), found[-1])
        case ast.BoolOp(values=values):
            return all(_value(value, config) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, config)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body if _value(test, config) else orelse, config)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _COMPARED[type(op)](_value(left, config), _value(right, config))
        case ast.BinOp(left=left, op=op, right=right):
            return _arithmetic(op, _value(left, config), _value(right, config), ast.unparse(node))
        case ast.Call(func=ast.Name(id=name), args=args):
            found = [_value(arg, config) for arg in args]
            return None if found[0] is None else _called(name, found, ast.unparse(node))
        case _:
            raise AssertionError(ast.dump(node))


def exact(value: Any) -> Any:
    """Make a number exact; other values stay as they are."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)


def _given(name: str, value: Any) -> Any:
    """Return a value of the configuration; numbers become exact."""
    if isinstance(value, float) and not math.isfinite(value):
        raise WrongValue(name, f"{value} is no number")
    if isinstance(value, int | float) and abs(value) >= 1 << 62:
        raise WrongValue(name, "it is larger than any model has")
    return exact(value)


def _arithmetic(op: ast.operator, left: Any, right: Any, text: str) -> Any:
    if left is None or right is None:
        return None
    if not isinstance(left, Fraction) or not isinstance(right, Fraction):
        raise WrongValue(text, "needs numbers")
    if isinstance(op, ast.Div) and right == 0:
        raise WrongValue(text, "divides by 0")
    return _OPERATORS[type(op)](left, right)


def _called(name: str, values: list[Any], text: str) -> Any:
    try:
        return _FUNCTIONS[name](*values)
    except (TypeError, AttributeError):
        raise WrongValue(text, "has a value of a wrong type") from None


_OPERATORS: Mapping[type, Callable[[Fraction, Fraction], Fraction]] = MappingProxyType(
    {
        ast.Add: Fraction.__add__,
        ast.Sub: Fraction.__sub__,
        ast.Mult: Fraction.__mul__,
        ast.Div: Fraction.__truediv__,
    }
)
_COMPARED: Mapping[type, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        ast.Is: lambda a, b: a is b,
        ast.IsNot: lambda a, b: a is not b,
        ast.Eq: lambda a, b: a == b,
        ast.NotEq: lambda a, b: a != b,
    }
)
_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "count": lambda entries, what: Fraction(list(entries).count(what)),
        "len": lambda entries: Fraction(len(entries)),
        "floor": lambda x: Fraction(math.floor(x)),
        "ceil": lambda x: Fraction(math.ceil(x)),
        "min": min,
        "max": max,
    }
)
