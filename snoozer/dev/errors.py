"""What ends in one sentence when Snoozer's own PostgreSQL cannot do what it was asked."""


class PostgresRefused(Exception):
    """PostgreSQL could not be made, started or stopped."""
