"""Large tensors of a model file stay where they are: protobuf copies what it reads, and what is looked at.

Of the wire format no more is known than where fields begin and end.  What is not so written is left to
protobuf, which says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count

_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9
"""The fields of ONNX's messages that lead to the elements of a tensor."""

_VARINT, _EIGHT_BYTES, _SIZED, _FOUR_BYTES = 0, 1, 2, 5
"""How a field is written."""

LARGE = 1 << 14
"""More bytes than a tensor has that decides a shape."""

_Parts = list[memoryview | bytes]


class _Unusual(ValueError):
    """What is left to protobuf."""


def without_data(raw: bytes) -> tuple[bytes, Mapping[int, memoryview]]:
    """A model without the elements of its large initializers; and these, by their places among all."""
    view, held, places = memoryview(raw), dict[int, memoryview](), count()

    def graph(start: int, end: int) -> _Parts:
        return _field(_GRAPH, _changed(view, start, end, _INITIALIZER, tensor))

    def tensor(start: int, end: int) -> _Parts | None:
        place = next(places)

        def data(start: int, end: int) -> _Parts | None:
            held.pop(place, None)  # of several the last counts
            if end - start <= LARGE:
                return None
            held[place] = view[start:end]
            return []

        if end - start <= LARGE:
            return None
        return _field(_INITIALIZER, _changed(view, start, end, _RAW_DATA, data))

    try:
        parts = _changed(view, 0, len(raw), _GRAPH, graph) if len(raw) > LARGE else []
    except (_Unusual, IndexError):
        return raw, {}
    return (b"".join(parts), held) if held else (raw, held)


def _changed(
    raw: memoryview, start: int, end: int, number: int, change: Callable[[int, int], _Parts | None]
) -> _Parts:
    """A message in which other fields stand for those of a number; None keeps one."""
    parts: _Parts = []
    for found, begin, first, last in _fields(raw, start, end):
        instead = change(first, last) if found == number else None
        if instead is not None:
            parts += [raw[start:begin], *instead]
            start = last
    return [*parts, raw[start:end]]


def _fields(raw: memoryview, place: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """The fields of a message that have a size: number, where it begins, and from where to where it goes."""
    while place < end:
        begin = place
        key, place = _number(raw, place)
        kind = key & 7
        if kind == _SIZED:
            size, place = _number(raw, place)
            yield key >> 3, begin, place, place + size
            place += size
        elif kind == _VARINT:
            _, place = _number(raw, place)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            place += 8 if kind == _EIGHT_BYTES else 4
        else:
            raise _Unusual
    if place != end:
        raise _Unusual


def _number(raw: memoryview, place: int) -> tuple[int, int]:
    """The number at a place, seven bits a byte, and the place after it."""
    byte, value, shift = raw[place], 0, 0
    while byte > 127 and shift < 63:
        value |= (byte & 127) << shift
        shift += 7
        place += 1
        byte = raw[place]
    return value | byte << shift, place + 1


def _field(number: int, parts: _Parts) -> _Parts:
    """A field of some content."""
    return [_written(number << 3 | _SIZED), _written(sum(map(len, parts))), *parts]


def _written(number: int) -> bytes:
    """A number, seven bits a byte.

    >>> _written(5).hex(), _written(300).hex()
    ('05', 'ac02')
    """
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes((*found, number))
