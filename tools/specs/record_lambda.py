"""Record how a published interpreter reduces terms of the lambda calculus: ``make lambda`` runs this.

The interpreter is ``lambda-calculus`` of PyPI, which reduces named terms in normal order.  The terms are
Church's numbers and sums of them, terms that tell orders of reduction apart, and random ones.  Each is
written to ``reports/data/lambda.json`` as ``specs/lambda/normal_order.tol`` reads it, with every reduct.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from importlib.metadata import version
from itertools import count, islice
from pathlib import Path
from typing import Any

from lambda_calculus.terms import Abstraction, Application, Term, Variable
from lambda_calculus.visitors.normalisation import BetaNormalisingVisitor, Conversion

RECORD = Path(__file__).parents[2] / "reports" / "data" / "lambda.json"
ROOM, MOST_STEPS, RANDOM = 64, 40, 110

NAMED = {
    "identity applied to itself": "(\\x.x) (\\x.x)",
    "S K K is the identity": "(\\x.\\y.\\z.x z (y z)) (\\x.\\y.x) (\\x.\\y.x) a",
    "an argument that is dropped is not reduced": "(\\x.\\y.y) ((\\x.x x) (\\x.x x)) a",
    "a term without a normal form": "(\\x.x x) (\\x.x x)",
    "a term that grows": "(\\x.x x x) (\\x.x x x)",
    "a name that would be captured": "(\\x.\\y.x) y",
    "two names that would be captured": "(\\x.\\y.\\z.x y z) (y z)",
    "a bound variable that is renamed to the name being replaced": "(\\x.\\b.x) (b ((\\b.b) (\\x.x))) b",
    "a redex below an abstraction": "\\x.(\\y.y) x",
    "a redex in an argument": "x ((\\y.y) z)",
    "2 + 3": "(\\m.\\n.\\f.\\x.m f (n f x)) (\\f.\\x.f (f x)) (\\f.\\x.f (f (f x)))",
    "2 * 3": "(\\m.\\n.\\f.m (n f)) (\\f.\\x.f (f x)) (\\f.\\x.f (f (f x)))",
    "2 to the power of 3": "(\\m.\\n.n m) (\\f.\\x.f (f x)) (\\f.\\x.f (f (f x)))",
    "the successor of 3": "(\\n.\\f.\\x.f (n f x)) (\\f.\\x.f (f (f x)))",
    "the predecessor of 3": "(\\n.\\f.\\x.n (\\g.\\h.h (g f)) (\\u.x) (\\u.u)) (\\f.\\x.f (f (f x)))",
    "is 0 zero": "(\\n.n (\\x.\\t.\\e.e) (\\t.\\e.t)) (\\f.\\x.x)",
    "is 2 zero": "(\\n.n (\\x.\\t.\\e.e) (\\t.\\e.t)) (\\f.\\x.f (f x))",
    "true and false": "(\\p.\\q.p q p) (\\t.\\e.t) (\\t.\\e.e)",
    "not true": "(\\p.p (\\t.\\e.e) (\\t.\\e.t)) (\\t.\\e.t)",
    "the first of a pair": "(\\p.p (\\x.\\y.x)) ((\\x.\\y.\\f.f x y) a b)",
    "the second of a pair": "(\\p.p (\\x.\\y.y)) ((\\x.\\y.\\f.f x y) a b)",
    "a fixed point that ignores itself": "(\\f.(\\x.f (x x)) (\\x.f (x x))) (\\s.a)",
}
FREE = ("a", "b", "x", "y", "z")


def parsed(text: str) -> Term[str]:
    """Read a term: applications from the left, and abstractions as far as they go."""
    rest = list(text.replace(" ", "  "))

    def atom() -> Term[str]:
        sign = rest.pop(0)
        if sign == "\\":
            name = rest.pop(0)
            assert rest.pop(0) == "."
            return Abstraction(name, application())
        if sign == "(":
            inner = application()
            assert rest.pop(0) == ")"
            return inner
        return Variable(sign)

    def application() -> Term[str]:
        found = atom()
        while True:
            while rest[:1] == [" "]:
                rest.pop(0)
            if not rest or rest[0] == ")":
                return found
            found = Application(found, atom())

    return application()


def places(term: Term[str], around: tuple[str, ...] = ()) -> list[int]:
    """Write a term as the program reads it; a name that nothing binds counts on from the abstractions."""
    match term:
        case Application():
            return [1, *places(term.abstraction, around), *places(term.argument, around)]
        case Abstraction():
            return [2, *places(term.body, (term.bound, *around))]
        case Variable():
            known = (*around, *FREE)
            return [3 + known.index(term.name)]
    raise TypeError(term)


def named_apart(tokens: list[int]) -> Term[str]:
    """Make a term of places in which every abstraction binds a name of its own."""
    rest, names = iter(tokens), count()

    def term(around: tuple[str, ...]) -> Term[str]:
        token = next(rest)
        if token == 1:
            function = term(around)
            return Application(function, term(around))
        if token == 2:
            name = f"v{next(names)}"
            return Abstraction(name, term((name, *around)))
        return Variable((*around, *FREE)[token - 3])

    return term(())


def as_named(term: Term[str]) -> Iterator[list[int]]:
    """Yield the term, and what each step of the interpreter leaves of it."""
    yield places(term)
    for conversion, left in term.accept(BetaNormalisingVisitor()):
        if conversion is Conversion.BETA:
            yield places(left)


def reducts(term: Term[str]) -> Iterator[list[int]]:
    """Yield the term and its reducts, where each step of the interpreter starts from names of its own."""
    tokens: list[int] | None = places(term)
    while tokens is not None:
        yield tokens
        tokens = next(islice(as_named(named_apart(tokens)), 1, 2), None)


def random_term(rng: random.Random, size: int, bound: tuple[str, ...] = ()) -> Term[str]:
    """Draw a term with so many applications and abstractions; few names, so that captures are frequent."""
    if size == 0:
        return Variable(rng.choice((*bound, *bound, *FREE[:3])))
    if rng.random() < 0.45:
        name = rng.choice("abxyz")
        return Abstraction(name, random_term(rng, size - 1, (name, *bound)))
    left = rng.randint(0, size - 1)
    return Application(random_term(rng, left, bound), random_term(rng, size - 1 - left, bound))


def case_of(name: str, term: Term[str]) -> dict[str, Any]:
    """Reduce a term while its reducts fit into the room, up to some steps; say how it ended.

    Version 3.1.2 renames some bound variables to the name that it is replacing.  Such a case says that the
    interpreter contradicts itself; its reducts are those for names that need no renaming.
    """
    kept: list[list[int]] = []
    end = "normal form"
    for left in reducts(term):
        if len(left) > ROOM or len(kept) > MOST_STEPS:
            end = "no room" if len(left) > ROOM else "goes on"
            break
        kept.append(left)
    same = list(islice(as_named(term), len(kept))) == kept
    return {"name": name, "reducts": kept, "end": end} | ({} if same else {"contradicts": True})


def main() -> int:
    """Write the record."""
    cases = [case_of(name, parsed(text)) for name, text in NAMED.items()]
    rng = random.Random(1)
    while len(cases) < len(NAMED) + RANDOM:
        case = case_of("random", random_term(rng, rng.randint(5, 16)))
        if len(case["reducts"]) > 3:
            cases.append(case)
    about = {"interpreter": "lambda-calculus of PyPI", "version": version("lambda-calculus"), "room": ROOM}
    head = json.dumps(about)
    rows = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    RECORD.write_text(f'{head[:-1]}, "cases": [\n{rows}\n]}}\n', encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
