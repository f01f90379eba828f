"""Composes the mails that are not reminders: notices about an account, answers, and notices in a mailbox."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache

from snoozer.mail import headers
from snoozer.mail.compose import address_fields, fixed_fields, quoted
from snoozer.mail.mime_writer import TEMPLATES, BodyTemplate, write_fields
from snoozer.translations import gettext as _
from snoozer.translations import speaking

_ANSWER_ID = re.compile(r"<answer\.\d+\.\d+@")


def answer_id(id: int, *, received_at: datetime, domain: str) -> str:
    """The Message-ID of the answer to a mail."""
    return f"<answer.{id}.{int(received_at.timestamp())}@{domain}>"


def is_answer_id(message_id: str) -> bool:
    """Whether a Snoozer, this or another one, gave this Message-ID to an answer."""
    return _ANSWER_ID.match(message_id) is not None


def compose_notice(
    template: str,
    words: Mapping[str, str],
    *,
    to: str,
    mail_from: str,
    instance: str,
    now: datetime,
    message_id: str,
    language: str = "en",
    answers: str | None = None,
    reply_to: str | None = None,
) -> bytes:
    """A mail about an account: its subject, which contains no secret, and its body, which `words` fill; an empty one is
    absent. `about` is foreign text, the subject of the mail that this one `answers`, and its subject has it, too."""
    about = headers.sanitize_line(words.get("about", ""))
    with speaking(language):
        subject = f"Re: {about}" if about else TEMPLATES.get_template(f"{template}/subject.txt").render().strip()
    submitted = "auto-generated" if answers is None else "auto-replied"
    fields = fixed_fields(mail_from, instance, submitted)
    fields += address_fields(to=to, subject=subject, at=now, message_id=message_id)
    if answers is not None:
        fields += [("In-Reply-To", answers), ("References", answers)]
    if reply_to is not None:
        fields.append(("Reply-To", reply_to))
    present = {name: word for name, word in (dict(words) | {"about": quoted(about)}).items() if word}
    absent = tuple(name for name in words if name not in present)
    body = _notice_body(template, tuple(present), absent, language)
    return write_fields(fields) + b"\r\n" + body.fill(present)


@cache
def _notice_body(template: str, words: tuple[str, ...], absent: tuple[str, ...], language: str) -> BodyTemplate:
    return BodyTemplate(template, words=words, texts=dict.fromkeys(absent, ""), language=language)


def compose_unreadable_folder(
    *,
    to: str,
    folder: str,
    reason: str,
    suggestions: Sequence[str],
    mail_from: str,
    instance: str,
    now: datetime,
    message_id: str,
    language: str = "en",
) -> bytes:
    """The notice in a connected mailbox that a folder's name is not a time; `suggestions` are names that are."""
    fields = fixed_fields(mail_from, instance)
    with speaking(language):
        subject = _("Not snoozed: %(folder)s", folder=folder)
    fields += address_fields(to=to, subject=subject, at=now, message_id=message_id)
    words = {"folder": quoted(folder), "reason": quoted(reason), "suggestions": ", ".join(suggestions)}
    return write_fields(fields) + b"\r\n" + _notice_body("unreadable_folder", tuple(words), (), language).fill(words)
