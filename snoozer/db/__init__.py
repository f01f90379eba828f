"""Access to Postgres. Statements never commit: the caller that opens a transaction ends it."""
