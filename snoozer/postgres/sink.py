"""What the mail sink of `snoozer up` accepted."""

from sqlalchemy import Connection

from snoozer.postgres.statements import run


def keep(connection: Connection, *, mail_from: str, rcpt_to: str, original: bytes) -> int:
    """Keep one accepted message; answers its id."""
    return int(run(connection, "sink/keep", mail_from=mail_from, rcpt_to=rcpt_to, original=original).scalar_one())
