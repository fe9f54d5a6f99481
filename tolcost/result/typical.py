"""Typical values of lengths, by their role: a batch of 1, a sequence of 1,024, an image of 224 by 224.

A role comes from the words in the name of a length, else from the input that the length is an axis of, else
from its place in the shapes of inputs.  ``ROLES`` is the one table of roles; nothing here knows an operator.
Values may break conditions: ``example`` finds the nearest lengths that fulfil them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from tolcost.algebra import Cond, Eq, Poly, Symbol, atom
from tolcost.algebra.poly import affine_parts
from tolcost.result.lengths import InputShape, ShapedInput


class LengthRole(Struct, frozen=True):
    """A role of lengths: its typical value, and the names that have it, by a word in them or as a whole."""

    value: int
    words: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()


def _role(value: int, words: str = "", names: str = "") -> LengthRole:
    return LengthRole(value, frozenset(words.split()), frozenset(names.split()))


BATCH = _role(1, "batch batches bs bsz", "b B")
PAST = _role(1024, "past cache cached kv history")
WHOLE = _role(1024, "total whole")
SOURCE = _role(1024, "source src encoder enc memory")
SEQUENCE = _role(
    1024,
    "seq seqlen sequence sequences length len tokens token text prompt target tgt decoder query key time "
    "frames context ctx",
    "s t S T",
)
STEP = _role(1)
"""A sequence beside a past: a model with a cache makes one token after another."""
AUDIO = _role(16_000, "samples audio waveform wav speech")
"""One second."""
SIDE = _role(224, "height width image img")
STRIDE = _role(1, "stride strides dilation dilations")
PADDING = _role(0, "pad pads padding")
KERNEL = _role(3, "kernel", "kh kw ky kx")
SIZE = _role(1024, "rows points", "size n m k N M K ni nj nk nl nm np nq nr nx ny")
"""The size of a problem: of a vector, or of a matrix."""
WIDTH = _role(64, "", "d w e")
"""The width of a head of an attention, or of a vector of features."""
OTHER = _role(16)
ROLES = (BATCH, AUDIO, PAST, WHOLE, SOURCE, SEQUENCE, SIDE, STRIDE, PADDING, KERNEL, SIZE, WIDTH, OTHER)
"""The roles, in the order in which names are held against them, and in which lengths are chosen."""
_LAST = (BATCH, WHOLE, OTHER)
"""Lengths that often follow from others, or are told to equal them, are chosen last."""

_SIDES = (("h", "w"), ("H", "W"), ("y", "x"), ("ho", "wo"))
"""Names that are the sides of an image where they are neighbours in a shape."""
_LEADING = ("n", "N")
"""Names that are a batch in a program where they only lead shapes, and one of three lengths or more."""
_SETTINGS = {"s": STRIDE, "p": PADDING, "k": KERNEL}
"""Letters of windows, where none is a length of an input and the stride is there."""
_CHANNELS = (1, 3, 4)
"""The numbers of channels of images."""
_OF_INPUTS: tuple[tuple[frozenset[str], int, LengthRole], ...] = (
    (frozenset({"past", "cache", "kv"}), -2, PAST),
    (frozenset({"ids", "mask", "tokens", "embeds", "text", "prompt", "positions"}), 1, SEQUENCE),
    (AUDIO.words, -1, AUDIO),
)
"""Words in the name of an input, and the role of one of its axes."""
_MATRIX = 2
_SEQUENCES = 3
_IMAGES = 4
"""The number of axes of a matrix, of a batch of sequences, and of a batch of images."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_AXIS = re.compile(r".*\[\d+\]")
"""A length without a name is called after its axis."""


def words_in(name: str) -> frozenset[str]:
    """Return the words of a name, in lower case.

    >>> sorted(words_in("past_sequenceLength2"))
    ['length', 'past', 'sequence']
    """
    return frozenset(word.lower() for word in _WORD.findall(name))


def typical_lengths(
    symbols: Iterable[Symbol],
    inputs: Sequence[ShapedInput],
    facts: Iterable[Cond] = (),
    model: bool = False,
) -> dict[Symbol, int]:
    """Return the typical values of lengths, in the order in which they are best chosen.

    An axis that ``facts`` call by a name has the role of that name.  Programs have lengths of a letter,
    which say less than those of a ``model``.  Letters that are no length of an input are settings: beside
    ``s``, ``p`` and ``k`` are those of windows.

    >>> from tolcost.algebra import length
    >>> batch, past, seq = length("batch"), length("past"), length("seq")
    >>> ids, cache = ShapedInput("ids", ((batch, seq),)), ShapedInput("cache", ((batch, 2 * past),))
    >>> typical_lengths((batch + past + seq).free, [ids, cache], model=True)
    {past: 512, seq: 1, batch: 1}
    """
    symbols = tuple(symbols)
    model = model or any(_AXIS.fullmatch(symbol.name) for symbol in symbols)
    places = _places(inputs, _named(facts))
    roles = {symbol: _role_of(symbol, places.get(symbol, ()), model) for symbol in symbols}
    settings = {symbol.name: symbol for symbol in symbols if symbol not in places} if places else {}
    if "s" in settings:
        roles |= {settings[name]: role for name, role in _SETTINGS.items() if name in settings}
    ranks = {symbol: (role in _LAST, ROLES.index(role), symbol.key) for symbol, role in roles.items()}
    steps = PAST in roles.values()
    return {
        symbol: max(
            _value(STEP if steps and roles[symbol] is SEQUENCE else roles[symbol], places.get(symbol, ())),
            0 if symbol.lo is None else symbol.lo.constant or 0,
        )
        for symbol in sorted(roles, key=lambda symbol: ranks[symbol])
    }


def _value(role: LengthRole, places: Sequence[_Place]) -> int:
    """Return the value of a length such that the axes it stands in have that of their role: 32*h is 224."""
    factor = min((place.factor for place in places), default=1)
    return max(role.value // factor, min(role.value, 1))


def _named(facts: Iterable[Cond]) -> dict[Poly, Symbol]:
    """Return the forms that facts say are a length."""
    found: dict[Poly, Symbol] = {}
    for fact in facts:
        if not isinstance(fact, Eq):
            continue
        for symbol in fact.p.free:
            parts = affine_parts(fact.p, symbol)
            if parts is not None and parts[0].constant in (1, -1):
                found.setdefault(parts[1] * -parts[0].constant, symbol)
    return found


class _Place(Struct, frozen=True):
    """An axis of an input."""

    input: str
    axis: int
    shape: InputShape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def factor(self) -> int:
        """The number by which the length of the axis is divisible, if it has one symbol."""
        (symbol, *others) = self.shape[self.axis].free
        parts = None if others else affine_parts(self.shape[self.axis], symbol)
        return 1 if parts is None else parts[0].constant or 1

    def size(self, axis: int) -> int | None:
        """Return the length of an axis, if it is a number."""
        return self.shape[axis].constant


def _places(inputs: Iterable[ShapedInput], named: Mapping[Poly, Symbol]) -> Mapping[Symbol, Sequence[_Place]]:
    """Return the axes that a length stands in, by itself or in a form."""
    found: dict[Symbol, list[_Place]] = {}
    for one in inputs:
        for shape in one.shapes:
            called = tuple(atom(named[form]) if form in named else form for form in shape)
            for axis, forms in enumerate(zip(shape, called, strict=True)):
                for form in dict.fromkeys(forms):
                    put = (*called[:axis], form, *called[axis + 1 :])
                    for symbol in form.free:
                        found.setdefault(symbol, []).append(_Place(one.name, axis, put))
    return found


def _role_of(symbol: Symbol, places: Sequence[_Place], model: bool) -> LengthRole:
    return next(filter(None, _roles_of(symbol, places, model)), OTHER)


def _roles_of(symbol: Symbol, places: Sequence[_Place], model: bool) -> Iterator[LengthRole | None]:
    """Yield the roles that a length may have, the surest first."""
    name = symbol.name
    first = bool(places) and not any(place.axis for place in places)
    if not _AXIS.fullmatch(name):
        words = words_in(name) if len(name) > 1 else frozenset()
        said = next((role for role in ROLES if name in role.names or role.words & words), None)
        if len(name) == 1:
            yield _of_letter(name, said, places, model)
        else:
            yield BATCH if said is AUDIO and first else SIDE if _is_side(name, places) else said
    large = any(place.rank > _MATRIX for place in places)
    if first and (model or (large and name in _LEADING)):
        yield BATCH
    for place in places:
        if model and _alone(symbol, place):
            yield from _roles_at(place)
    yield SIZE if first and not large and all(_alone(symbol, place) for place in places) else None


def _of_letter(
    name: str, said: LengthRole | None, places: Sequence[_Place], model: bool
) -> LengthRole | None:
    """Return the role of a letter by the shapes that it stands in; elsewhere it is any number."""
    if not places:
        return OTHER
    if _is_side(name, places):
        return SIDE
    if said is BATCH:
        return said if any(place.rank >= _MATRIX for place in places) else None
    deep = any(place.rank > _MATRIX for place in places)
    return None if model or (said is SIZE and deep) else said


def _is_side(name: str, places: Sequence[_Place]) -> bool:
    shapes = ([_name(form) for form in place.shape] for place in places)
    return any(pair in _SIDES and name in pair for names in shapes for pair in pairwise(names))


def _name(form: Poly) -> str:
    return next(iter(form.free)).name if len(form.free) == 1 else ""


def _alone(symbol: Symbol, place: _Place) -> bool:
    """Whether an axis is a multiple of a length, perhaps with a number added."""
    form = place.shape[place.axis]
    return form.free == {symbol} and affine_parts(form, symbol) is not None


def _roles_at(place: _Place) -> Iterator[LengthRole]:
    """Yield the roles of an axis of a model's input: by the name of the input, or by the other axes."""
    words = words_in(place.input)
    for known, axis, role in _OF_INPUTS:
        if words & known and place.axis == axis % place.rank and place.axis:
            yield role
    sides = (2, 3) if place.rank == _IMAGES and place.size(1) in _CHANNELS else ()
    sides = (1, 2) if not sides and place.rank == _IMAGES and place.size(3) in _CHANNELS else sides
    if place.axis in sides:
        yield SIDE
    if place.rank == _SEQUENCES and place.axis == 1 and place.size(2) is not None:
        yield SEQUENCE
