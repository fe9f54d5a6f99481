"""General forms: an operator's cost at any rank, in norms of the names in its definition."""
