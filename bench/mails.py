"""The mails of a run: composed as a worker does it, or canned, which costs nothing to make."""

from functools import cache

from snoozer.mail.compose import ReminderWriter
from snoozer.queue.reminder import Send

SECRET = "a-key-for-benchmarks-that-signs-nothing-real"  # noqa: S105 - signs links in mails that are thrown away
INSTANCE = "snoozer.example"
MAIL_FROM = f"Snoozer <bench@{INSTANCE}>"
BASE_URL = f"http://{INSTANCE}"

LINE = b"It lies on top of your inbox again. What you wrote down then stands below these words.\r\n"
BODY_LINES = 70


@cache
def _writer() -> ReminderWriter:
    return ReminderWriter(mail_from=MAIL_FROM, base_url=BASE_URL, keys=(SECRET,), instance=INSTANCE)


def composed(send: Send) -> bytes:
    """The mail that a worker would send."""
    return _writer().write(send)


def canned(reminder_message_id: str) -> bytes:
    """A mail of a reminder's size."""
    return b"Message-ID: %s\r\n\r\n%s" % (reminder_message_id.encode("ascii"), LINE * BODY_LINES)
