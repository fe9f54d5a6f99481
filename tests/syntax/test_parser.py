"""What the parser makes of single constructs."""

from __future__ import annotations

import pytest

from tolcost.diagnostics import Source
from tolcost.syntax import parse
from tolcost.syntax.tree import (
    Arrow,
    BlockExpr,
    Bracket,
    Call,
    CapacityOf,
    Compose,
    Define,
    Ellipsis,
    Expr,
    Infix,
    InputDecl,
    ListDecl,
    ListSubscript,
    Module,
    Name,
    Numeral,
    Operator,
    OperatorName,
    Power,
    RangeExpr,
    ShapeOf,
    SpaceDecl,
    Splice,
    Star,
    Statement,
    Subscript,
    Text,
    Tuple,
    Unary,
    Unpack,
    Use,
    ZerosDecl,
    ZeroTol,
)

a, b, c, f, g, h, i, j, n, x = map(Name, "abcfghijnx")
one, two = Numeral("1"), Numeral("2")
star = Star()


def program(text: str) -> Module:
    return parse(Source("test.tol", text))


def statement(text: str) -> Statement:
    (found,) = program(text).statements
    return found


def expression(text: str) -> Expr:
    found = statement(f"y = {text}")
    assert isinstance(found, Define)
    return found.value


def chain(first: Expr, *rest: Expr | str) -> Infix:
    return Infix(first, tuple(zip(rest[::2], rest[1::2], strict=True)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text, tree",
    [
        ("1e-5", Numeral("1e-5")),
        ("2.", Numeral("2.")),
        ('"a\\"b"', Text('a"b')),
        ("'a\\n'", Text("a\n")),
        ("1..n", RangeExpr(one, n)),
        ("a - b + c", chain(a, "-", b, "+", c)),
        ("a + b * c", chain(a, "+", chain(b, "*", c))),
        ("(a + b) * c", chain(chain(a, "+", b), "*", c)),
        ("(a + b) + c", chain(chain(a, "+", b), "+", c)),
        ("a ^ b ^ c", Power(a, Power(b, c))),
        ("-a ^ b", Unary("-", Power(a, b))),
        ("a ^ -b", Power(a, Unary("-", b))),
        ("-a * b", chain(Unary("-", a), "*", b)),
        ("a * -b + c", chain(chain(a, "*", Unary("-", b)), "+", c)),
        ("not a == b and c", chain(Unary("not", chain(a, "==", b)), "and", c)),
        ("a or b and c xor f", chain(a, "or", chain(b, "and", c), "xor", f)),
        ("a < b or c", chain(chain(a, "<", b), "or", c)),
        ("not(a) == b", chain(Call(Name("not"), (a,)), "==", b)),
        ("1..n + 1", RangeExpr(one, chain(n, "+", one))),
        ("* * *", chain(star, "*", star)),
        ("*[i] * 2", chain(Subscript(star, (i,)), "*", two)),
        ("[*i, * , *(i + 1)]", Bracket((Splice(i), star, Splice(chain(i, "+", one))))),
        ("[*|x|]", Bracket((Splice(ShapeOf(x)),))),
        ("|*|", ShapeOf(star)),
        ("||x||", ShapeOf(ShapeOf(x))),
        ("|x|' + ||x|'|", chain(CapacityOf(x), "+", ShapeOf(CapacityOf(x)))),
        ("|a| * |b|", chain(ShapeOf(a), "*", ShapeOf(b))),
        ("|a + |b||", ShapeOf(chain(a, "+", ShapeOf(b)))),
        ("x[i, j][1]'", ListSubscript(Subscript(x, (i, j)), one)),
        ("part'(x, 1)", Call(Name("part'"), (x, one))),
        ("f(x, axis: 2)", Call(f, (x,), (("axis", two),))),
        ("f()", Call(f, ())),
        ("f.g.h(x)", Call(Compose((f, g, h)), (x,))),
        ("f(*, 2).g", Compose((Call(f, (star, two)), g))),
        ("reduce(x, +, and)", Call(Name("reduce"), (x, OperatorName("+"), Name("and")))),
        ("f(-, -x)", Call(f, (OperatorName("-"), Unary("-", x)))),
        ("and(a, b) and c", chain(Call(Name("and"), (a, b)), "and", c)),
        ("(a, b)", Tuple((a, b))),
        ("(a) => a", Arrow(("a",), a)),
        ("() => 1", Arrow((), one)),
        ("(a, b) => (c) => a", Arrow(("a", "b"), Arrow(("c",), a))),
        ("tol[n, *x]", ZeroTol((n, Splice(x)))),
        ("tol[]", ZeroTol(())),
        ("[]", Bracket(())),
        ("space(x) + list", chain(Call(Name("space"), (x,)), "+", Name("list"))),
        ("tol + 1", chain(Name("tol"), "+", one)),
        ("convert(x, Z+)", Call(Name("convert"), (x, Name("Z+")))),
        ("{ a }", BlockExpr((), a)),
        ("{ a = 1; f(i) = i; (b, c) = x; a }", BlockExpr(
            (Define("a", None, one), Define("f", ("i",), i), Unpack(("b", "c"), x)), a)),
        ("{\n\n a = 1 # why\n\n a\n}", BlockExpr((Define("a", None, one),), a)),
        ("{ a = 1 +\n 2\n a }", BlockExpr((Define("a", None, chain(one, "+", two)),), a)),
        ("{ a = f(1,\n 2)\n (a, b) }", BlockExpr((Define("a", None, Call(f, (one, two))),), Tuple((a, b)))),
        ("f({ a = 1\n a }, 2)", Call(f, (BlockExpr((Define("a", None, one),), a), two))),
    ],
)  # fmt: skip
def test_expressions(text: str, tree: Expr) -> None:
    assert expression(text) == tree


@pytest.mark.parametrize(
    "text, tree",
    [
        ("x = 1", Define("x", None, one)),
        ("f(i, j) = i", Define("f", ("i", "j"), i)),
        ("f() = 1", Define("f", (), one)),
        ("x := 1", Define("x", None, one, output=True)),
        ("xs... := x", Define("xs", None, x, output=True, variadic=True)),
        ("(a, b) = x", Unpack(("a", "b"), x)),
        ("tol x: R [n, ...]", InputDecl("tol", "x", "R", (n, Ellipsis()))),
        ("tol x: R", InputDecl("tol", "x", "R")),
        ("tol x: R+", InputDecl("tol", "x", "R+")),
        ("tol xs...: R* [...]", InputDecl("tol", "xs", "R*", (Ellipsis(),), variadic=True)),
        ("static axes?: Z [n]", InputDecl("static", "axes", "Z", (n,), optional=True)),
        ("attr x: R = -1", InputDecl("attr", "x", "R", default=Unary("-", one))),
        ("attr x: Z [2] = [1, 2]", InputDecl("attr", "x", "Z", (two,), default=Bracket((one, two)))),
        ("tol result = |x|", ZerosDecl("result", ShapeOf(x))),
        ("space pixel: N [1, 2]", SpaceDecl("pixel", "N", one, two)),
        ("space pixel: N", SpaceDecl("pixel", "N")),
        ("list p: [R, R*], B", ListDecl("p", ("R", "R*", "B"))),
        ("operator Softmax 13", Operator("Softmax", 13)),
        ("operator Relu", Operator("Relu")),
        ("use axes, windows", Use(("axes", "windows"))),
        ("list = 1", Define("list", None, one)),
        ("use(x) = 1", Define("use", ("x",), one)),
        ("and(a, b) = a", Define("and", ("a", "b"), a)),
    ],
)
def test_statements(text: str, tree: Statement) -> None:
    assert statement(text) == tree


@pytest.mark.parametrize(
    "text, count",
    [
        ("x = 1\ny = 2", 2),
        ("x = 1\n\n# c\n  + 2", 1),
        ("x =\n1", 1),
        ("x = a +\nb", 1),
        ("x = a *\nb", 1),
        ("x = [a,\nb]", 1),
        ("x = f(\n\n# c\n)\ny = 2", 2),
        ("tol x: Z+\ntol y: R*\ny = 1", 3),
        ("x = *\ny = 1", 2),
        ("x = {\na = 1\na\n}\ny = 1", 2),
        ("  x = 1", 1),
        ("", 0),
        ("# nothing", 0),
        ("x = 1\r\ny = 2\r\n", 2),
        ("\ufeffx = 1", 1),
        ("x = 1 // c\n\t+ 2", 1),
    ],
)
def test_where_statements_end(text: str, count: int) -> None:
    assert len(program(text).statements) == count


def test_comments_are_kept() -> None:
    found = program("# a\nx = f( // b\n 1) # c  \n\n//d").comments
    assert [comment.text for comment in found] == ["# a", "// b", "# c", "//d"]
    assert [comment.span.source.text[comment.span.start] for comment in found] == ["#", "/", "#", "/"]


def test_spans_cover_what_was_written() -> None:
    text = "y := map(x, f.g(* + 1)[2]', [i])"
    for node in _nodes(program(text).statements[0]):
        assert 0 <= node.span.start < node.span.end <= len(text)
    call = expression("f(a,\n  b)")
    assert call.span.source.text[call.span.start : call.span.end] == "f(a,\n  b)"


def _nodes(node: Statement | Expr) -> list[Statement | Expr]:
    from tolcost.syntax.tree import children

    return [node, *(inner for child in children(node) for inner in _nodes(child))]


def test_names_are_compared_as_they_look() -> None:
    composed, decomposed = "\u00e9", "e\u0301"
    assert expression(composed) == expression(decomposed) == Name(composed)


def test_positions_do_not_matter_for_equality() -> None:
    assert program("x = f( a )") == program("# c\nx   =   f(a)")
    assert hash(expression("f(a)")) == hash(expression("f( a )"))
