"""Find changes of the rules by which figures are counted.

A figure depends on more than its program: on the settings for its inputs, on definitions of operators, and on
tables.  Changing these can make any program look cheap.  So a change of rules is reported separately from
changes of figures, and fails until the baseline has it or somebody agrees to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tolcost.check.records import CostRules, UsedDefinition
from tolcost.diagnostics import quoted


def changed_rules(old: CostRules | None, new: CostRules | None) -> Iterator[str]:
    """Describe the rules that changed; there are none if the old or the new rules were not recorded.

    >>> list(changed_rules(CostRules('{"attrs": {"axis": 2}}'), CostRules()))
    ['the settings said {"attrs": {"axis": 2}} of its inputs and say nothing']
    """
    if old is None or new is None:
        return
    if old.given != new.given:
        was, now = (rules.given or "nothing" for rules in (old, new))
        yield f"the settings said {was} of its inputs and say {now}"
    if old.costs and new.costs and old.costs != new.costs:
        yield f"the cost model was {old.costs} and is {new.costs}"
    before = {used.name: used for used in old.uses}
    for used in new.uses:
        yield from _changed_use(before.get(used.name), used)


def _changed_use(old: UsedDefinition | None, new: UsedDefinition) -> Iterator[str]:
    """Describe a changed definition or table; a newly used one is reported only if it is the project's own.

    A definition of tolcost that comes into use results from a change of the program, whose figures show it.
    """
    name, own = quoted(new.name), "the project's own"
    if old is None:
        if new.own:
            yield f"{name} is {own}, and was not used before"
    elif old.digest != new.digest:
        who = {False: "tolcost's", True: own}
        same = old.own == new.own
        yield f"{name} is another" if same else f"{name} was {who[old.own]} and is {who[new.own]}"
