"""Markdown says what a terminal does."""

from tolcost.show.document import Code, Fact, Facts
from tolcost.show.tables import markdown


def told(*rows: Fact) -> list[str]:
    return [line for line in markdown((Facts(rows),)).splitlines() if line]


def test_what_stands_behind_a_value_is_told() -> None:
    """That figures are those of an example, or of older definitions, was left out."""
    assert told(Fact("opset", "ai.onnx 99", "the definitions are those of ai.onnx 28 here")) == [
        "- opset: ai.onnx 99 (the definitions are those of ai.onnx 28 here)"
    ]
    assert told(Fact("input", Code("x: R"), "any")) == ["- input `x: R` (any)"]


def test_a_colon_leads_to_something() -> None:
    rows = (Fact("begins"), Fact("operator Foo", level=1), Fact("or give shapes"))
    assert told(*rows) == ["Begins:", "- `operator Foo`", "Or give shapes"]
