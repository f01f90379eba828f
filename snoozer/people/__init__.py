"""Accounts, ways to sign in, tokens, quotas, and what belongs to one person."""
