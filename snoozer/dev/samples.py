"""Sample mail for a new mailbox, delivered to the inbound server as any other mail would be."""

import smtplib
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from pathlib import Path

from sqlalchemy import Engine, func, select

from snoozer.db import engine as database
from snoozer.db import mailbox_store
from snoozer.db.models import MailboxMessage, is_kept_by
from snoozer.dev.environment import OWNER
from snoozer.settings import Settings

MARKER_FILE = "samples"
_GERMAN_DAYS = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")


class _Day(datetime):
    """A day that formats itself: `Friday 27 November`, with `:de` `Freitag, 27.11.`, with `:ics` `20261127`."""

    def __format__(self, spec: str) -> str:
        if spec == "de":
            return f"{_GERMAN_DAYS[self.weekday()]}, {self.day}.{self.month}."
        if spec == "ics":
            return self.strftime("%Y%m%d")
        return f"{self.strftime('%A')} {self.day} {self.strftime('%B')}"


def are_wanted(home: Path, settings: Settings) -> bool:
    """Whether the owner's mailbox is empty and this home never delivered samples."""
    if (home / MARKER_FILE).exists():
        return False
    with open_engine(settings) as engine, engine.connect() as connection:
        stored = select(func.count()).select_from(MailboxMessage).where(is_kept_by(OWNER))
        return connection.execute(stored).scalar_one() == 0


def deliver(home: Path, settings: Settings, *, now: datetime) -> int:
    """Deliver the samples to the inbound server, as a week of mail, and return how many. Raises SMTPException, OSError
    or SQLAlchemyError."""
    # This home does not try again after a refusal: some would come twice.
    (home / MARKER_FILE).write_text(f"{now.isoformat()}\n")
    client = smtplib.LMTP if settings.inbound_protocol == "lmtp" else smtplib.SMTP
    samples = list(messages(now))
    with client(settings.inbound_host, settings.inbound_port, local_hostname="up.snoozer.example") as inbound:
        for message in samples:
            inbound.sendmail("sample@snoozer.example", [OWNER], message)
    ids = [str(message_from_bytes(message)["Message-ID"]) for message in samples]
    with open_engine(settings) as engine, engine.begin() as connection:
        mailbox_store.date_arrivals(connection, user_email=OWNER, message_ids=ids)
    return len(samples)


@contextmanager
def open_engine(settings: Settings) -> Iterator[Engine]:
    engine = database.make_engine(settings.database_url.get_secret_value(), name="up", pgbouncer=settings.pgbouncer)
    try:
        yield engine
    finally:
        engine.dispose()


def messages(now: datetime, *, host: str = "") -> Iterator[bytes]:
    """The samples as bytes of RFC 5322, the oldest first. `host` is put before the domains of their Message-IDs."""
    days = [_Day.fromtimestamp((now + timedelta(days=ahead)).timestamp(), tz=now.tzinfo) for ahead in range(15)]
    samples = tomllib.loads(Path(__file__).with_name("samples.toml").read_text(encoding="utf-8"))["message"]
    threads: dict[int, list[str]] = {}
    for number, sample in enumerate(samples, start=1):
        message = EmailMessage(policy=SMTP.clone(max_line_length=78))
        message["From"] = sample["sender"]
        message["To"] = OWNER
        if "subject" in sample:
            message["Subject"] = sample["subject"].format(*days)
        message["Date"] = format_datetime(now - timedelta(hours=sample["hours_ago"]))
        domain = sample["sender"].rpartition("@")[2].rstrip(">")
        earlier = threads.get(sample.get("answers", 0), [])
        message["Message-ID"] = id = f"<sample-{number}.{int(now.timestamp())}@{host}{domain}>"
        threads[number] = [*earlier, id]
        if earlier:
            message["In-Reply-To"], message["References"] = earlier[-1], " ".join(earlier)
        if "html" in sample:
            message.set_content(sample["html"], subtype="html")
        else:
            message.set_content(sample["text"].format(*days))
        if attachment := sample.get("attachment"):
            text = attachment["text"].format(*days).lstrip()
            message.add_attachment(text, subtype="calendar", filename=attachment["name"])
        yield message.as_bytes()
