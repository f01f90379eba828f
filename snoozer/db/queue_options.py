"""The queue, continued: how workers treat a snooze, changed by its owner."""

from sqlalchemy import Connection

from snoozer.db.queue import EnqueueOptions
from snoozer.db.statements import execute


def set_options(
    connection: Connection, *, id: int, user_email: str, options: EnqueueOptions, keeps_key: bool = True
) -> bool:
    """Change how workers treat a snooze, in what `options` names; the key, too, unless it `keeps_key`. Returns False
    when it is over or a worker holds it."""
    values = {"id": id, "user_email": user_email, "keeps_key": keeps_key, **vars(options)}
    return execute(connection, "queue/set_options", **values).first() is not None
