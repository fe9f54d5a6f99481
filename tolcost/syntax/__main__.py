"""``python -m tolcost.syntax``: stores the parse table again after an edit of the grammar."""

from tolcost.syntax.tables import store

store()
