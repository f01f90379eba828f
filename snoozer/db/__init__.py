"""Everything that speaks SQL. Statements never commit: whoever opens the transaction owns it."""
