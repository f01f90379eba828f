"""Servers that stand in for those of the world, shared by lab, storm and tests; none is in the wheel."""
