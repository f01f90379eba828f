"""The database's clock, which is the only one that counts for what others see."""

from datetime import datetime

from sqlalchemy import Connection, func, select


def now(connection: Connection) -> datetime:
    """This moment, aware; it also moves inside a transaction."""
    moment: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return moment
