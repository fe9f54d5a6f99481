"""Type spaces: the mathematical ones of the paper and the finite ones of real machines."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Literal

from msgspec import Struct

SpaceKind = Literal["B", "Z", "R", "C", "S"]


class Bounds(Struct, frozen=True):
    """From where to where the values of a space go, both included, and whether 0 is among them.

    >>> -1 in Bounds(0, 255), str(Bounds(0, 255)), str(Bounds(0, zero=False))
    (False, 'from 0 to 255', 'from 0 on, without 0')
    """

    lo: int | float | Fraction | None = None
    hi: int | float | Fraction | None = None
    zero: bool = True

    def __contains__(self, value: int | float | Fraction) -> bool:
        """Whether a number lies within; what is no number does."""
        low = self.lo is not None and value < self.lo
        high = self.hi is not None and value > self.hi
        return not (low or high or (not self.zero and value == 0))

    def __str__(self) -> str:
        """Say it in words."""
        ends = {
            (False, False): f"from {self.lo} to {self.hi}",
            (False, True): f"from {self.lo} on",
            (True, False): f"up to {self.hi}",
            (True, True): "all numbers",
        }[self.lo is None, self.hi is None]
        return ends if self.zero else f"{ends}, without 0"


ALL = Bounds()


class Space(Struct, frozen=True):
    """A space: its family, its range where it has one, and the bits of one element.

    ``bits`` is None for a mathematical space, whose elements have no size of their own.
    """

    name: str
    kind: SpaceKind
    bits: int | None = None
    lo: float | int | None = None
    hi: float | int | None = None
    zero: bool = True

    @property
    def finite(self) -> bool:
        """Whether values are rounded or wrapped to fit."""
        return self.bits is not None


def _integer(name: str, bits: int, signed: bool) -> Space:
    lo, hi = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return Space(name, "Z", bits, lo, hi)


_MATHEMATICAL = (
    Space("B", "B", lo=0, hi=1),
    Space("N", "Z", lo=0),
    Space("N*", "Z", lo=1),
    Space("Z", "Z"),
    Space("Z*", "Z", zero=False),
    Space("Z+", "Z", lo=1),
    Space("Z-", "Z", hi=-1),
    *(Space(name, "R") for name in ("Q", "R", "I")),
    *(Space(name, "R", zero=False) for name in ("Q*", "R*")),
    *(Space(name, "R", lo=0, zero=False) for name in ("Q+", "R+")),
    *(Space(name, "R", hi=0, zero=False) for name in ("Q-", "R-")),
    Space("C", "C"),
    Space("S", "S"),
    Space("G", "S"),  # a graph of an ONNX model, which a program applies as a function
)

_FLOATS = (
    Space("float16", "R", 16, -65504.0, 65504.0),
    Space("bfloat16", "R", 16, -3.3895313892515355e38, 3.3895313892515355e38),
    Space("float32", "R", 32, -3.4028234663852886e38, 3.4028234663852886e38),
    Space("float64", "R", 64, -1.7976931348623157e308, 1.7976931348623157e308),
    Space("float8_e4m3fn", "R", 8, -448.0, 448.0),
    Space("float8_e4m3fnuz", "R", 8, -240.0, 240.0),
    Space("float8_e5m2", "R", 8, -57344.0, 57344.0),
    Space("float8_e5m2fnuz", "R", 8, -57344.0, 57344.0),
    Space("float8_e8m0fnu", "R", 8, 2.0**-127, 2.0**127),
    Space("float6_e2m3fn", "R", 6, -7.5, 7.5),
    Space("float6_e3m2fn", "R", 6, -28.0, 28.0),
    Space("float4_e2m1fn", "R", 4, -6.0, 6.0),
)

_INTEGERS = tuple(
    _integer(f"{'' if signed else 'u'}int{bits}", bits, signed)
    for bits in (2, 4, 8, 16, 32, 64)
    for signed in (True, False)
)

SPACES: dict[str, Space] = {
    s.name: s
    for s in (
        *_MATHEMATICAL,
        *_FLOATS,
        *_INTEGERS,
        Space("bool", "B", 8, 0, 1),
        Space("complex64", "C", 64),
        Space("complex128", "C", 128),
        Space("string", "S"),
    )
}

_ORDER = ("B", "Z", "R", "C")


def kind_of(space: str) -> SpaceKind:
    """The family of a space by its name; a space declared by a program counts as its base's.

    >>> kind_of("float16"), kind_of("N*")
    ('R', 'Z')
    """
    return SPACES[space].kind


def bounds_of(space: str) -> Bounds:
    """The numbers of its family that a mathematical space leaves out; a machine type wraps or rounds instead.

    >>> str(bounds_of("N*")), bounds_of("int8") is ALL
    ('from 1 on', True)
    """
    found = SPACES.get(space)
    if found is None or found.finite or found.kind not in "ZR":
        return ALL
    return (
        Bounds(found.lo, found.hi, found.zero)
        if (found.lo, found.hi, found.zero) != (None, None, True)
        else ALL
    )


def bounded_text(space: str, bounds: Bounds) -> str:
    """A space as a program would write it, with its bounds where it has others than its own.

    >>> bounded_text("N", Bounds(0, 255)), bounded_text("N", Bounds(0))
    ('N [0, 255]', 'N')
    """
    return space if bounds in (ALL, bounds_of(space)) else f"{space} [{bounds.lo}, {bounds.hi}]"


def narrowed(left: Bounds, right: Bounds) -> Bounds:
    """Return the bounds of the numbers that lie within both."""
    los = [b.lo for b in (left, right) if b.lo is not None]
    his = [b.hi for b in (left, right) if b.hi is not None]
    return Bounds(max(los, default=None), min(his, default=None), left.zero and right.zero)


def closed_space(space: str, function: str) -> str:
    """The space that a function of values of a mathematical space stays in: that one, or its whole family.

    >>> closed_space("N", "add"), closed_space("N", "sub"), closed_space("int8", "sub")
    ('N', 'Z', 'int8')
    """
    if bounds_of(space) is ALL or function in _CLOSED[space]:
        return space
    return kind_of(space)


_ROUNDED = frozenset({"floor", "ceil", "round", "trunc"})
_WHOLE = frozenset({"add", "mul", "max", "min", "pow", "sqr", "abs", "sgn", *_ROUNDED})
_POSITIVE = frozenset(
    {"add", "mul", "div", "recip", "max", "min", "pow", "sqr", "sqrt", "rsqrt", "abs", "sgn"}
)
_SIGNED = frozenset({"mul", "neg", "abs", "sqr", "sgn", "max", "min"})
_CLOSED: dict[str, frozenset[str]] = {
    "N": _WHOLE | {"mod", "fmod", "and", "or", "xor", "shl", "shr"},
    **dict.fromkeys(("N*", "Z+"), _WHOLE),
    "Z*": _SIGNED | _ROUNDED,
    "Z-": frozenset({"add", "max", "min"}) | _ROUNDED,
    **dict.fromkeys(("Q+", "R+"), _POSITIVE),
    **dict.fromkeys(("Q*", "R*"), _SIGNED | {"div", "recip"}),
    **dict.fromkeys(("Q-", "R-"), frozenset({"add", "max", "min"})),
}
"""Which functions of arguments from a space that leaves something out give values of that space again."""


@cache
def _holding(a: Space, b: Space) -> Space:
    """The least machine type that holds what two of one family do; the wider one, signed, if none does."""
    wider = max(a, b, key=lambda space: (space.bits or 0, space.lo is not None and space.lo < 0))
    if a.bits != b.bits and _spans(wider, a) and _spans(wider, b):
        return wider
    others = (s for s in (*_INTEGERS, *_FLOATS) if s.kind == a.kind and (s.bits or 0) > (wider.bits or 0))
    fitting = [space for space in others if _spans(space, a) and _spans(space, b)]
    return min(fitting, key=lambda space: space.bits or 0, default=_signed(wider))


def _spans(wide: Space, narrow: Space) -> bool:
    """Whether one range lies within another; complex numbers have none."""
    if wide.lo is None or wide.hi is None or narrow.lo is None or narrow.hi is None:
        return True
    return wide.lo <= narrow.lo and narrow.hi <= wide.hi


def _signed(space: Space) -> Space:
    return next((s for s in _INTEGERS if s.bits == space.bits and s.lo != 0 and space.kind == "Z"), space)


def join_spaces(left: str, right: str) -> str:
    """The space of two together: of one family the machine type, of two such the least that holds both.

    >>> join_spaces("Z", "R"), join_spaces("float16", "float32"), join_spaces("B", "int8")
    ('R', 'float32', 'int8')
    >>> join_spaces("int8", "uint8"), join_spaces("float16", "bfloat16"), join_spaces("uint64", "int8")
    ('int16', 'float32', 'int64')
    """
    if left == right:
        return left
    a, b = SPACES[left], SPACES[right]
    if a.kind != b.kind:
        if "S" in (a.kind, b.kind):
            return "S"
        wide = a if _ORDER.index(a.kind) > _ORDER.index(b.kind) else b
        return wide.name
    if a.finite and b.finite:
        return _holding(a, b).name
    if a.finite != b.finite:
        return a.name if a.finite else b.name
    return a.kind
