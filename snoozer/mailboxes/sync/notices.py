"""Notices to the owner of a mailbox: a message appended to it, or a reminder if the mailbox cannot be opened."""

import hashlib
from datetime import datetime

from sqlalchemy import Connection

from snoozer.db.mailbox_leases import OwnedMailbox
from snoozer.db.queries.accounts import locale_of
from snoozer.db.statements import database_time
from snoozer.mail.notices import compose_unreadable_folder
from snoozer.mailboxes.imap.folder_meanings import Folder
from snoozer.mailboxes.sync.session import Session
from snoozer.queue.promise import ReminderTime
from snoozer.snoozes import acts
from snoozer.snoozes.acts import By, Wanted
from snoozer.snoozes.input import Message, SnoozeError
from snoozer.translations import N_, gettext, language_of, speaking

DEFAULT_SUGGESTIONS = ("tomorrow", "fri 9am", "in 3 days")


def unreadable_folder(
    session: Session, folder: Folder, *, error: SnoozeError, uidvalidity: int, now: datetime, language: str
) -> tuple[str, bytes]:
    """The Message-ID and the bytes of the notice that a folder's name is not a time: one per folder and day."""
    occasion = f"{session.mailbox.id} {folder.name} {uidvalidity} {now.date().isoformat()}"
    message_id = f"<{hashlib.sha256(occasion.encode()).hexdigest()[:32]}@notice.snoozer.invalid>"
    mail = compose_unreadable_folder(
        to=session.mailbox.address,
        folder=" / ".join(folder.levels),
        reason=error.message,
        suggestions=error.suggestions or DEFAULT_SUGGESTIONS,
        mail_from=session.sender.mail_from,
        instance=session.sender.instance,
        now=now,
        message_id=message_id,
        language=language,
    )
    return message_id, mail


# The request to the owner, by whether the mailbox has a password: the subject and the note.
_ASKS = {
    True: (
        N_("Enter the new password of %(address)s in Snoozer's settings"),
        N_(
            "Its mail server refuses the password that Snoozer has. Until you enter the new one, nothing can be "
            "snoozed or brought back there; nothing is lost."
        ),
    ),
    False: (
        N_("Sign in again to %(address)s in Snoozer's settings"),
        N_(
            "Its provider no longer accepts the sign-in that Snoozer has. Until you sign in again, nothing can be "
            "snoozed or brought back there; nothing is lost."
        ),
    ),
}


def ask_for_login(connection: Connection, mailbox: OwnedMailbox) -> None:
    """Have one reminder sent that the mailbox's server refuses its password, or its provider the sign-in."""
    now = database_time(connection)
    subject, note = _ASKS[mailbox.login_method == "password"]
    with speaking(language_of(locale_of(connection, user_email=mailbox.user_email))):
        subject, note = gettext(subject, address=mailbox.address), gettext(note)
    message = Message(message_id=f"<{mailbox.id}.{mailbox.fence}@password.snoozer.invalid>", subject=subject)
    time = ReminderTime(remind_at=now, duration_hours=0, note=note, zone="UTC")
    acts.snooze(connection, [Wanted(message=message, time=time)], By(mailbox.user_email, "mailbox"))
