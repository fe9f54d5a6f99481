"""Inputs for the programs of specs/families, the same numbers everywhere; needs no more than numpy."""

from __future__ import annotations

import ast
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

FAMILIES = Path(__file__).parents[2] / "specs" / "families"


def inputs_of(family: str, lengths: Mapping[str, int]) -> dict[str, np.ndarray[Any, Any]]:
    """Inputs for a family, by name."""
    text = (FAMILIES / f"{family}.tol").read_text("utf-8")
    declared = re.findall(r"^tol (\w+): \w+ \[(.*)\]$", text, re.M)
    return {
        name: numbers(family, name, tuple(number(entry, lengths) for entry in shape.split(", ")), lengths)
        for name, shape in declared
    }


def number(text: str, lengths: Mapping[str, int]) -> int:
    """A length that is a sum of products."""

    def value(node: ast.expr) -> int:
        match node:
            case ast.BinOp(left, ast.Mult(), right):
                return value(left) * value(right)
            case ast.BinOp(left, ast.Add(), right):
                return value(left) + value(right)
            case ast.Name(name):
                return lengths[name]
            case ast.Constant(int(found)):
                return found
        raise ValueError(text)

    return value(ast.parse(text, mode="eval").body)


def numbers(
    family: str, name: str, shape: tuple[int, ...], lengths: Mapping[str, int]
) -> np.ndarray[Any, Any]:
    """Small numbers; tables of angles, places in a vocabulary, and masks are what they are."""
    draw = np.random.RandomState(zlib.crc32(name.encode()))
    match family, name:
        case _, "ids" | "targets":
            return draw.randint(0, lengths["v"], shape)
        case _, "cosines" | "sines":
            angles = np.outer(np.arange(shape[0]), 10000.0 ** (-np.arange(shape[1]) / shape[1]))
            return np.cos(angles) if name == "cosines" else np.sin(angles)
        case "resnet", "norms" | "stem_norm":  # variances are positive
            return draw.uniform(0.5, 1.5, shape)
        case "t5", "near":
            return np.zeros(shape)
        case "t5", "past":
            return np.where(np.tril(np.ones(shape)), 0.0, -np.inf)
    return draw.uniform(-0.5, 0.5, shape)
