"""What a person is told when the database does not do as asked."""

import logging
from dataclasses import dataclass

from sqlalchemy.exc import DBAPIError

from snoozer import settings

# A table, a column, a function or an object that the statement names is not there (Appendix A of the Postgres manual).
_NO_SUCH_THING = ("42P01", "42703", "42883", "42704")
_LOCKED = "55P03"


@dataclass(frozen=True)
class Complaint:
    """What is wrong, and what to do where that is known; neither with a full stop."""

    says: str
    do: str = ""

    def __str__(self) -> str:
        return f"{self.says}; {self.do}" if self.do else self.says


def of_failure(error: DBAPIError) -> Complaint:
    """Why the database could not be asked."""
    code = getattr(error.orig, "sqlstate", None)
    if code is not None and code.startswith(_NO_SUCH_THING) and (wrong := _of_schema()):
        return wrong
    first_line = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else "it does not answer"
    if code == _LOCKED:
        return Complaint(
            "Another session holds a lock that is needed, such as a pg_dump or a long query, and nothing was changed",
            "wait for it to end, then run this again",
        )
    if code is None or code.startswith(("08", "57P", "28", "3D")):
        return Complaint(f"The database cannot be reached: {first_line}", "check DATABASE_URL and that the server runs")
    return Complaint(f"The database refused: {first_line}")


def _of_schema() -> Complaint | None:
    """What is wrong with the schema, asked of it; None when nothing is."""
    logging.disable(logging.INFO)  # Alembic tells how it goes about it, and one sentence is promised.
    from snoozer.db import schema
    from snoozer.db.engine import make_engine

    given = settings.load()
    engine = make_engine(given.database_url.get_secret_value(), name="migrate", pool_size=1, pgbouncer=given.pgbouncer)
    try:
        with engine.connect() as connection:
            stands = schema.status(connection)
    except DBAPIError:
        return None
    finally:
        engine.dispose()
    return None if stands.where == "at head" else Complaint(stands.message, stands.do)
