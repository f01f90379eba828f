"""The rows of the invariants' views."""

from sqlalchemy import Connection, Engine

from snoozer.db import health_checks


def shown(connection: Connection) -> dict[str, list[int | None]]:
    """The snoozes in each view that is not empty."""
    health_checks.set_thresholds(connection, lease=0.001, sweep=0.001, backoff=0.001)
    rows = {
        name: [row.snooze_id for row in health_checks.violations(connection, name)] for name in health_checks.INVARIANTS
    }
    return {name: ids for name, ids in rows.items() if ids}


def look(engine: Engine) -> dict[str, list[int | None]]:
    with engine.begin() as connection:
        return shown(connection)
