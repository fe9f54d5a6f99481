"""Whether figures are still counted by the rules that they were counted by.

A figure rests on more than its program: on what the settings say of its inputs, on definitions of operators,
on tables.  Who changes these may make anything look cheap, so a change of them is told as such, beside what
the figures say, and fails until the base has it or somebody agrees to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tolcost.check.records import CostRules, UsedDefinition
from tolcost.diagnostics import quoted


def changed_rules(old: CostRules | None, new: CostRules | None) -> Iterator[str]:
    """Which rules are others now, in words; nothing where nobody wrote down those of before.

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
    """What is told of a definition or a table; of one that came, only where it is no one else's."""
    name, own = quoted(new.name), "the project's own"
    if old is None:
        if new.own:
            yield f"{name} is {own}, and was not used before"
    elif old.digest != new.digest:
        who = {False: "tolcost's", True: own}
        same = old.own == new.own
        yield f"{name} is another" if same else f"{name} was {who[old.own]} and is {who[new.own]}"
