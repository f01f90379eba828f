"""The acts on many messages of a list, as the buttons of its bar."""

from dataclasses import dataclass

from flask import url_for

from snoozer.translations import gettext as _
from snoozer.web.mailboxes.mail.pages import FolderChoice, MailboxPages


@dataclass(frozen=True, kw_only=True)
class BulkAct:
    """A button. Keys and commands find it by its `name`; if it `leaves`, its messages disappear from the list."""

    name: str
    words: str
    icon: str
    action: str
    leaves: bool = True


def of_asleep() -> list[BulkAct]:
    """The acts for snoozed messages."""
    return [
        BulkAct(
            name="snooze", words=_("Change the time"), icon="pencil", action=url_for("bulk.reschedule"), leaves=False
        ),
        BulkAct(name="wake", words=_("Back now"), icon="sunrise", action=url_for("bulk.wake")),
        BulkAct(name="cancel", words=_("Cancel"), icon="close", action=url_for("bulk.cancel")),
    ]


def of_folder(pages: MailboxPages, here: FolderChoice) -> list[BulkAct]:
    """The acts for a folder of a mailbox, equal to the acts on its rows."""
    acts = []
    if here.takes_snooze:
        acts.append(
            BulkAct(
                name="snooze",
                words=_("Change the time") if here.role == "snoozed" else _("Snooze"),
                icon="moon",
                action=pages.bulk_url("snooze"),
                leaves=here.role != "snoozed",
            )
        )
    if here.role == "snoozed":
        acts.append(BulkAct(name="wake", words=_("Back now"), icon="sunrise", action=pages.bulk_url("wake")))
    if here.role == "inbox":
        acts.append(BulkAct(name="done", words=_("Done"), icon="check", action=pages.bulk_url("done")))
    elif here.takes_inbox:
        acts.append(BulkAct(name="inbox", words=_("To the inbox"), icon="inbox", action=pages.bulk_url("to_inbox")))
    return acts
