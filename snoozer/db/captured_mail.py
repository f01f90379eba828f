"""What the mail sink of `snoozer up` accepted."""

from sqlalchemy import Connection

from snoozer.db.statements import execute


def save(connection: Connection, *, mail_from: str, rcpt_to: str, original: bytes) -> int:
    """Keep one accepted message; answers its id."""
    return int(
        execute(connection, "captured_mail/save", mail_from=mail_from, rcpt_to=rcpt_to, original=original).scalar_one()
    )
