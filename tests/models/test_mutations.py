"""A slice of the campaign on models with changed structure; ``make soak`` runs more."""

from tests.models.mutations import attempts, outcome
from tolcost.catalogue.specs import open_library
from tolcost.models.walking import Session


def test_changed_models_are_costed_or_told() -> None:
    session = Session(open_library())
    found = {outcome(proto, session) for _, proto in attempts(120, seed=0)}
    assert found == {"costed", "in part", "refused"}
