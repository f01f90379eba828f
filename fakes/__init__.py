"""Fake servers, shared by lab, storm and tests; they are not in the wheel."""
