"""Dataclasses that are compiled late are what the standard library's are."""

import copy
import dataclasses
import inspect
import itertools
import pickle
from typing import Any

import pytest

from tolcost import dataclass as late

OPTIONS = [
    dict(zip(("frozen", "slots", "eq", "by_name"), options, strict=True))
    for options in itertools.product((False, True), repeat=4)
]


def pair(by_name: bool = True, **options: bool) -> list[Any]:
    """The same class by both, with fields of every kind that is in use; one is perhaps told by name only."""

    def made(by: Any) -> Any:
        @by(**options)
        class Base:
            first: int
            if by_name:
                named: str = dataclasses.field(default="n", kw_only=True, repr=False)

        @by(**options)
        class Kind(Base):
            """Has everything."""

            listed: list[int] = dataclasses.field(default_factory=list)
            second: int = 2
            aside: int = dataclasses.field(default=0, compare=False)
            only: int = dataclasses.field(default=0, compare=False, hash=True)
            hashed: tuple[int, ...] = dataclasses.field(default=(), hash=False)

        return Kind

    return [made(late.dataclass), made(dataclasses.dataclass)]


ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, (), 3), {"named": "m"}),
    ((1, (), 3, 4, 5, (6,)), {}),
    ((1, (7,)), {"aside": 1}),
    ((1,), {"only": 4}),
    ((), {}),
    ((1, (), 3, 4, 5, (6,), 7), {}),
    ((1,), {"none": 2}),
]


def attempt(action: Any) -> object:
    """What something gives, or the kind of error."""
    try:
        return action()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_behaves_like_the_standard_library_s(options: dict[str, bool]) -> None:
    mine, theirs = pair(**options)
    found = [[attempt(lambda k=k, a=a, n=n: k(*a, **n)) for a, n in ARGUMENTS] for k in (mine, theirs)]
    assert list(map(repr, found[0])) == list(map(repr, found[1]))
    objects = [[one for one in row if not isinstance(one, type)] for row in found]
    for told in (
        lambda a, b: a == b,
        lambda a, b: attempt(lambda: hash(a) == hash(b)),
        lambda a, b: attempt(lambda: setattr(a, "second", 2)),
        lambda a, b: attempt(lambda: delattr(copy.copy(a), "first")),
        lambda a, b: repr(dataclasses.replace(a, second=b.second)),
        lambda a, b: repr(copy.deepcopy(a)),
        lambda a, b: dataclasses.astuple(a),
    ):
        rows = [[told(a, b) for a in row for b in row] for row in objects]
        assert rows[0] == rows[1]
    assert mine.__match_args__ == theirs.__match_args__
    assert hasattr(mine(1), "__dict__") is hasattr(theirs(1), "__dict__")


@late.dataclass(frozen=True, slots=True)
class Kept:
    """One that pickle finds."""

    length: int
    twice: int = dataclasses.field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Work out what follows."""
        object.__setattr__(self, "twice", 2 * self.length)


def test_pickles_and_completes_itself() -> None:
    again = pickle.loads(pickle.dumps(Kept(3)))  # noqa: S301
    assert (again, again.twice) == (Kept(3), 6)
    assert {Kept(3): 1}[again] == 1


def test_own_methods_stay() -> None:
    @late.dataclass(frozen=True, slots=True)
    class Own:
        """Has its own methods."""

        length: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "own"

    assert (Own(1) == Own(2), hash(Own(1)), repr(Own(1))) == (True, 7, "own")


def test_what_is_called_often_is_compiled_and_does_the_same() -> None:
    mine, _ = pair(frozen=True)
    one = mine(1, ())
    stub = vars(mine)["__init__"]
    told = repr(one), hash(one), one == mine(1, ())
    assert vars(mine)["__init__"] is stub
    for _ in range(100):
        assert (repr(mine(1, ())), hash(mine(1, ())), one == mine(1, ())) == told
    assert vars(mine)["__init__"] is not stub
    stub(one, 2)  # whoever kept it
    assert one.first == 2


def test_nothing_is_compiled_for_a_few_fields() -> None:
    mine, theirs = pair(by_name=False, frozen=True, slots=True)
    first = vars(mine)["__init__"]
    one, *_ = [mine(1, ()) for _ in range(20)]
    fitted = vars(mine)["__init__"]
    assert [mine(1, ()) for _ in range(1000)] == [one] * 1000
    assert vars(mine)["__init__"] is fitted is not first
    assert list(inspect.signature(mine).parameters) == list(inspect.signature(theirs).parameters)
    first(one, 2)  # whoever kept it
    assert one.first == 2


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("wrong", [((), {}), ((1,), {"none": 2}), ((1,), {"first": 2})])
def test_arguments_that_do_not_fit_are_told_from_the_start(wrong: Any, by_name: bool) -> None:
    mine, theirs = pair(by_name, frozen=True)
    messages = []
    for kind in (mine, theirs):
        with pytest.raises(TypeError) as told:
            kind(*wrong[0], **wrong[1])
        messages.append(str(told.value).rpartition(".")[2])
    assert messages[0] == messages[1]
