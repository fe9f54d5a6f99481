"""``python -m tolcost``: the same as the ``tolcost`` command."""

from tolcost.cli import main

if __name__ == "__main__":
    main()
