"""The mail that says that a webhook was switched off."""

from datetime import datetime
from functools import cache

from snoozer.domain.webhook_message import OFF_WORDS
from snoozer.mime.compose import TEMPLATES, BodyTemplate, fields_of, fixed_fields
from snoozer.mime.mime_writer import write_fields
from snoozer.translations import gettext as _
from snoozer.translations import speaking


def compose_webhook_off(
    *,
    to: str,
    reason: str,
    link: str,
    mail_from: str,
    instance: str,
    now: datetime,
    message_id: str,
    language: str = "en",
) -> bytes:
    """The notice that a webhook was switched off, for a reason that is a code; `link` is its page."""
    with speaking(language):
        subject, words = TEMPLATES.get_template("webhook_off/subject.txt").render().strip(), _(OFF_WORDS[reason])
    fields = fixed_fields(mail_from, instance) + fields_of(to=to, subject=subject, at=now, message_id=message_id)
    return write_fields(fields) + b"\r\n" + _body(language).fill({"reason": words, "link": link})


@cache
def _body(language: str) -> BodyTemplate:
    return BodyTemplate("webhook_off", words=("reason", "link"), texts={}, language=language)
