"""Select messages of a connected mailbox for an act, and fetch their heads."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

from sqlalchemy import Connection as DatabaseConnection

from snoozer.db.mailbox_store import Sighting
from snoozer.db.queries import Found, messages
from snoozer.mailboxes import sightings
from snoozer.mailboxes.imap.connection import Connection
from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.imap.messages import Head
from snoozer.mailboxes.read import listing
from snoozer.mailboxes.read.connected import ConnectedMailbox
from snoozer.mailboxes.read.folder_views import INBOX, archive_of, roles
from snoozer.mailboxes.read.keys import GONE, Bound, MessageKey, folder_name
from snoozer.mailboxes.read.mailbox import MailboxError, Role
from snoozer.translations import gettext


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A message as its server shows it, in a folder with this `role`."""

    at: MessageKey
    head: Head
    role: Role


def matching(
    mailbox: ConnectedMailbox, folder: str | None, *, search: str | None, bound: str | None, most: int
) -> list[MessageKey]:
    """The newest messages of a folder that a search finds, restricted to the messages that existed when the list with
    this bound was shown. Raises MailboxError."""
    name, terms, until = INBOX if folder is None else folder_name(folder), listing.terms_of(search), Bound.parse(bound)

    def find(connection: Connection) -> list[MessageKey]:
        uidvalidity = connection.examine(name).uidvalidity
        if until is None or until.uidvalidity != uidvalidity:
            raise MailboxError("gone", gettext(GONE))
        uids = connection.search(terms, below=until.uidnext, most=most + len(hidden))
        return [MessageKey(name, uidvalidity, uid) for uid in reversed(uids) if uid not in hidden][:most]

    with mailbox.engine.begin() as transaction:
        hidden = messages.leaving(transaction, mailbox_id=mailbox.access.id, folder=name)
    return mailbox.run(find)


def look(mailbox: ConnectedMailbox, places: Collection[MessageKey]) -> list[Seen]:
    """Fetch the heads of messages that exist, for a person. Asks the mail server, so no transaction may be open. Raises
    MailboxError."""

    def heads(connection: Connection) -> list[Seen]:
        by_name = roles(connection.folders())
        return [
            Seen(at=MessageKey(folder, uidvalidity, head.uid), head=head, role=by_name.get(folder, "other"))
            for (folder, uidvalidity), uids in _by_folder(places)
            for head in _heads_in(connection, folder, uidvalidity, uids)
        ]

    return mailbox.run(heads) if places else []


def existing(mailbox: ConnectedMailbox, places: Collection[MessageKey]) -> set[MessageKey]:
    """As `look`; a missing folder contains none of them."""

    def find(connection: Connection) -> set[MessageKey]:
        return {
            MessageKey(folder, uidvalidity, head.uid)
            for (folder, uidvalidity), uids in _by_folder(places)
            for head in _heads_in(connection, folder, uidvalidity, uids)
        }

    return mailbox.run(find) if places else set()


def older_in_conversations(mailbox: ConnectedMailbox, seen: Sequence[Seen]) -> dict[MessageKey, list[Seen]]:
    """The older messages of the conversations of these messages in their folders, by the newest of them in each
    conversation. Messages that are about to leave their folder are left out. Asks the mail server, so no transaction
    may be open. Raises MailboxError."""
    chosen = {each.at: each.role for each in seen if each.role not in ("snoozed", "snooze_into")}
    places = _by_folder(chosen)
    with mailbox.engine.begin() as transaction:
        hidden = {
            folder: messages.leaving(transaction, mailbox_id=mailbox.access.id, folder=folder)
            for (folder, _), _ in places
        }

    def read(connection: Connection) -> dict[MessageKey, list[Seen]]:
        found: dict[MessageKey, list[Seen]] = {}
        for (folder, uidvalidity), uids in places:
            if connection.examine(folder).uidvalidity != uidvalidity:
                continue
            trees = {max(tree.intersection(uids)): tree - hidden[folder] for tree in connection.conversations(uids)}
            heads = {head.uid: head for head in connection.heads({*chain(*trees.values())}) if not head.deleted}
            for newest, tree in trees.items():
                at = MessageKey(folder, uidvalidity, newest)
                found[at] = [
                    Seen(at=MessageKey(folder, uidvalidity, uid), head=heads[uid], role=chosen[at])
                    for uid in sorted(tree & heads.keys())
                    if uid < newest
                ]
        return found

    return mailbox.run(read) if places else {}


def archive_in(mailbox: ConnectedMailbox) -> str:
    """The raw name of the archive folder, which is created if necessary."""
    return mailbox.run(lambda connection: archive_of(connection.folders()) or connection.create_archive())


def entries_of(
    transaction: DatabaseConnection, mailbox: ConnectedMailbox, seen: Iterable[Seen]
) -> dict[MessageKey, Found]:
    """The entries at the places of these messages, each with its live snooze."""
    found: dict[MessageKey, Found] = {}
    for (folder, uidvalidity), uids in _by_folder([each.at for each in seen]):
        entries = messages.entered_at(
            transaction, mailbox_id=mailbox.access.id, folder=folder, uidvalidity=uidvalidity, uids=uids
        )
        found |= {MessageKey(folder, uidvalidity, entry.uid): entry for entry in entries}
    return found


def sighting_of(mailbox: ConnectedMailbox, seen: Seen) -> Sighting:
    """A message at its place, to be snoozed from there."""
    role, at = seen.role, seen.at
    return sightings.sighting(
        seen.head,
        mailbox_id=mailbox.access.id,
        user_email=mailbox.user_email,
        folder=at.folder,
        uidvalidity=at.uidvalidity,
        home=INBOX if role in ("snoozed", "snooze_into", "junk", "trash") else at.folder,
        place="snoozed" if role in ("snoozed", "snooze_into") else "home",
    )


def _heads_in(connection: Connection, folder: str, uidvalidity: int, uids: Sequence[int]) -> list[Head]:
    try:
        opened = connection.examine(folder)
    except ImapError as error:
        if error.code != "no_folder":
            raise
        return []
    found = connection.heads(uids) if opened.uidvalidity == uidvalidity else []
    return [head for head in found if not head.deleted]


def _by_folder(places: Iterable[MessageKey]) -> list[tuple[tuple[str, int], list[int]]]:
    ordered = sorted(set(places))
    return [(folder, [at.uid for at in group]) for folder, group in groupby(ordered, key=lambda at: (at[0], at[1]))]
