"""Building tolcost with its busiest parts compiled by mypyc."""
