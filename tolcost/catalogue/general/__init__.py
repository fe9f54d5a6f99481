"""General forms: what an operator costs at any rank, in norms of the names that its definition has."""
