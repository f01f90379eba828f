"""Sample mail for a new mailbox, brought to the inbound door as any other mail would be."""

import smtplib
from datetime import datetime
from pathlib import Path

from sqlalchemy import func, select

from snoozer.db import engine as database
from snoozer.db.models import MailboxMessage
from snoozer.dev.environment import OWNER
from snoozer.dev.sample_messages import letters
from snoozer.settings import Settings

MARKER_FILE = "samples"


def are_wanted(home: Path, chosen: Settings) -> bool:
    """Whether the owner's mailbox is empty and this home never brought samples."""
    if (home / MARKER_FILE).exists():
        return False
    engine = database.make_engine(chosen.database_url.get_secret_value(), name="up", pgbouncer=chosen.pgbouncer)
    try:
        with engine.connect() as connection:
            kept = connection.execute(
                select(func.count()).select_from(MailboxMessage).where(MailboxMessage.user_email == OWNER)
            ).scalar_one()
    finally:
        engine.dispose()
    return kept == 0


def deliver(home: Path, chosen: Settings, *, now: datetime) -> int:
    """Bring the samples to the inbound door and answer how many were accepted.

    Raises smtplib.SMTPException or OSError when the door refuses one; this home does not try again then, so that
    nobody gets half of them twice.
    """
    (home / MARKER_FILE).write_text(f"{now.isoformat()}\n")
    door = smtplib.LMTP if chosen.inbound_protocol == "lmtp" else smtplib.SMTP
    count = 0
    with door(chosen.inbound_host, chosen.inbound_port, local_hostname="up.snoozer.example") as inbound:
        for letter in letters(now):
            inbound.sendmail("sample@snoozer.example", [OWNER], letter)
            count += 1
    return count
