"""The source of choices: seeded, with fresh names and the mood of the program being written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")
Option = tuple[float, Callable[[], str | None]]
WORK = 72
"""How often the innermost body of a program may be evaluated, roughly."""


class Draw:
    """Everything that is random about one program.

    ``exact`` programs compute with functions whose results are exact, and may compare data; the
    others use any function but never branch on data, so that rounding cannot change a path.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.exact = self.chance(0.7)
        self._serial: dict[str, int] = {}

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def number(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def pick(self, items: Sequence[T]) -> T:
        return items[self.random.randrange(len(items))]

    def name(self, stem: str) -> str:
        self._serial[stem] = self._serial.get(stem, 0) + 1
        return f"{stem}{self._serial[stem]}"

    def first_of(self, options: Sequence[Option], otherwise: str) -> str:
        """Try options, likelier ones sooner; one that does not apply gives None."""
        left = [option for option in options if option[0] > 0]
        while left:
            weights = [weight for weight, _ in left]
            at = self.random.choices(range(len(left)), weights)[0]
            found = left.pop(at)[1]()
            if found is not None:
                return found
        return otherwise
