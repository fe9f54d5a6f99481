"""What lasts for the process: nothing is lowered twice, and nothing of one model is told of another."""

from collections import Counter
from threading import Thread

import pytest
from onnx import ModelProto, helper

from tolcost.catalogue.reading import model_of
from tolcost.catalogue.specs import new_library
from tolcost.models import schemes
from tolcost.models.analysis import GraphCost, analyze_graph
from tolcost.models.facts import FactTable, as_tensor
from tolcost.models.walking import Session


def chain(prefix: str, *shape: int | str) -> ModelProto:
    """Some nodes, with names of their own; one of them cannot be, another decides by data."""
    nodes = [
        helper.make_node("LpNormalization", ["x"], ["a"], name=f"{prefix}norm"),
        helper.make_node("NonZero", ["a"], ["b"], name=f"{prefix}nonzero"),
        helper.make_node("Celu", ["x"], ["c"], name=f"{prefix}celu", wrong=1.0),
    ]
    given = [helper.make_tensor_value_info("x", 1, shape)]
    gives = [helper.make_tensor_value_info(name, 1, None) for name in "abc"]
    graph = helper.make_graph(nodes, "chain", given, gives)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def told(cost: GraphCost) -> list[object]:
    """What is said of all nodes and values."""
    known = [str(cost.known(name)) for name in "ab"]
    return [*known, *(item.why.message for applied in cost.nodes for item in applied.uncosted)]


def test_a_second_session_lowers_no_node_again(calls: Counter[str]) -> None:
    library = new_library(())
    model = model_of(chain("", 3, 50), "chain")
    analyze_graph(model, Session(library))
    assert calls["LpNormalization"] == 1
    analyze_graph(model, Session(library))
    assert calls["LpNormalization"] == 1
    analyze_graph(model, Session(new_library(())))
    assert calls["LpNormalization"] == 2  # other definitions, for all that is known


def test_names_are_no_reason_to_lower_the_same_model_again(calls: Counter[str]) -> None:
    library = new_library(())
    model, other = (model_of(chain(prefix, "n", 50), "chain") for prefix in ("one", "other"))
    first = told(analyze_graph(model, Session(library)))
    lowered = calls.copy()
    assert lowered["NonZero"] == 1
    assert told(analyze_graph(model, Session(library))) == first
    assert calls == lowered
    analyze_graph(other, Session(library))
    assert calls["NonZero"] > 1


def test_names_are_those_of_the_model_whatever_came_before() -> None:
    library = new_library(())
    models = [model_of(chain(prefix, "n", 50), "chain") for prefix in ("one", "other")]
    after = [told(analyze_graph(model, Session(library))) for model in models]
    assert after == [told(analyze_graph(model, Session(new_library(())))) for model in models]
    assert any("other" in str(line) for line in after[1])


def test_what_is_too_much_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    library = new_library(())
    first = Session(library)
    analyze_graph(model_of(chain("", 3, 50), "chain"), first)
    assert Session(library).table is first.table
    monkeypatch.setattr(schemes, "MOST_FACTS", 1)
    second = Session(library)
    assert second.table is not first.table
    assert second.schemes is first.schemes
    monkeypatch.setattr(schemes, "MOST_PATTERNS", 0)
    assert Session(library).schemes is not first.schemes


def test_threads_may_share_a_table() -> None:
    table = FactTable()
    found: list[list[int]] = []

    def number() -> None:
        found.append([table.tensor((n, 7), "float32") for n in range(2000)])

    threads = [Thread(target=number) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [list(range(1, 2001))] * 8
    assert len(table.facts) == 2001


def kept(how_many: str) -> ModelProto:
    """A model that keeps as many as an input says."""
    node = helper.make_node("TopK", ["x", how_many], ["v", "i"])
    given = [helper.make_tensor_value_info("x", 1, [7]), helper.make_tensor_value_info(how_many, 7, [1])]
    graph = helper.make_graph([node], "kept", given, [helper.make_tensor_value_info("v", 1, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_what_data_decides_is_called_the_same_whatever_the_session_saw_before() -> None:
    session = Session(new_library(()))
    for name in ("k", "k", "often", "k"):
        cost = analyze_graph(model_of(kept(name), "kept"), session)
        assert f"`{name}{{0}}`" in str(cost.known("v"))


def test_a_number_in_a_tensor_is_one_whoever_asks_for_it() -> None:
    nodes = [
        helper.make_node("Tile", ["x", "k"], ["a"]),
        helper.make_node("TopK", ["x", "k"], ["b", ""]),
        helper.make_node("TopK", ["x", "k"], ["c", ""], largest=0),
        helper.make_node("TopK", ["x", "other"], ["d", ""]),
        helper.make_node("TopK", ["x", "k"], ["e", ""]),
        helper.make_node("TopK", ["x", "k{0}"], ["f", ""]),
    ]
    given = [helper.make_tensor_value_info("x", 1, [7])]
    given += [helper.make_tensor_value_info(name, 7, [1]) for name in ("k", "other", "k{0}")]
    gives = [helper.make_tensor_value_info(name, 1, None) for name in "abcdef"]
    graph = helper.make_graph(nodes, "kept", given, gives)
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    cost = analyze_graph(model_of(model, "kept"), Session(new_library(())))
    forms = {name: cost.settled(as_tensor(cost.known(name)).shape[0]) for name in "abcdef"}
    assert forms["a"] == 7 * forms["b"]
    assert forms["b"] == forms["c"] == forms["e"]
    assert len({forms["b"], forms["d"], forms["f"]}) == 3
