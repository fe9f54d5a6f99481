"""The general forms that come with tolcost: for how many operators, of which text, and right on every test.

`make general` finds them anew, and takes minutes.  Here every form is put to the measures and counts that it
was held to, every operator's tests are there, and the definitions are those that the forms were found from.
"""

import re

import pytest

from tolcost.catalogue.general.record import GeneralForms, OperatorForms, digest
from tolcost.catalogue.specs import Library, open_library
from tolcost.platform import stored_conformance, stored_general
from tolcost.result.conformance import conformance_of, general_of


@pytest.fixture(scope="module")
def forms() -> GeneralForms:
    return general_of(stored_general() or "")


@pytest.fixture(scope="module")
def library() -> Library:
    return open_library()


def test_nearly_all_verified_operators_have_general_forms(forms: GeneralForms) -> None:
    assert sum(one.is_general for one in forms.operators) >= 180


def test_each_form_is_proved_in_some_case(forms: GeneralForms) -> None:
    """At all lengths of it: many forms meet a few points."""
    assert [one.op for one in forms.operators if any(not row.proved for row in one.rows)] == []


def test_each_form_gives_the_count_of_each_test(forms: GeneralForms) -> None:
    assert [problem for one in forms.operators for problem in one.problems] == []


def test_every_node_test_of_an_operator_is_among_them(forms: GeneralForms) -> None:
    passing = conformance_of(stored_conformance() or "")
    assert forms.onnx == passing.onnx
    for one in forms.operators:
        if one.is_general:
            held = {test.name for row in one.rows for test in row.tests}
            assert held >= {case.name for case in passing.of(one.op) if case.status == "pass"}, one.op


def test_forms_are_those_of_the_definitions_as_they_are(forms: GeneralForms, library: Library) -> None:
    """A definition that changed has no form until `make general` found it."""
    changed = [one.op for one in forms.operators if one.digest != _digest(one, library)]
    assert changed == []


def _digest(one: OperatorForms, library: Library) -> str:
    spec = library.find(one.domain, one.op)
    return "" if spec is None else digest(spec)


def test_no_form_is_that_of_a_number_that_a_test_has(forms: GeneralForms, library: Library) -> None:
    """Forms speak of measures alone, and no condition is about an integer other than 0, 1 and 2."""
    for one in forms.operators:
        spec = library.find(one.domain, one.op)
        integers = {s.name for s in spec.attributes if s.space == "Z"} if spec is not None else set()
        for row in one.rows:
            assert integers.isdisjoint(re.findall(r"(?<!\()\b(\w+) = (?![012]\b)-?[0-9]", row.when)), (
                one.op,
                row.when,
            )
