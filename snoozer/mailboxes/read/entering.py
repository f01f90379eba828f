"""Snoozing messages of a connected mailbox from a page: they are entered with their snoozes, in one transaction, and
the process that watches the mailbox moves them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from snoozer.db import mailbox_store
from snoozer.db.mailbox_store import Known, Sighting
from snoozer.db.queries import Found, messages
from snoozer.mail import headers
from snoozer.mailboxes import sightings
from snoozer.mailboxes.imap.messages import Head
from snoozer.mailboxes.read.connected import ConnectedMailbox
from snoozer.mailboxes.read.keys import GONE, MessageKey
from snoozer.mailboxes.read.looking import Seen, entries_of, existing, look, older_in_conversations, sighting_of
from snoozer.mailboxes.read.mailbox import MailboxError
from snoozer.snoozes.input import Message
from snoozer.translations import gettext


@dataclass(frozen=True, kw_only=True)
class SnoozeTarget:
    """A message to be snoozed: for `acts.snooze`, and where `enter` finds it. `others` are older messages of its
    conversation, which leave and return with it."""

    message: Message
    sighting: Sighting
    mailbox_id: int
    others: tuple[Sighting, ...] = ()

    @property
    def count(self) -> int:
        """How many messages leave."""
        return 1 + len(self.others)

    def sightings(self, snooze_id: int) -> list[Sighting]:
        """The messages to enter for this snooze."""
        first = replace(self.sighting, snooze_id=snooze_id)
        return [first, *(replace(other, snooze_id=other.snooze_id or snooze_id) for other in self.others)]


def snooze_target(mailbox: ConnectedMailbox, key: str, *, whole: bool = False, alone: bool = False) -> SnoozeTarget:
    """Look at a message that is about to be snoozed, with `whole` at its conversation, too. Asks the mail server, so no
    transaction may be open. Raises MailboxError."""
    found = snooze_targets(mailbox, look(mailbox, [MessageKey.parse(key)]), whole=whole, alone=alone)
    if not found:
        raise MailboxError("gone", gettext(GONE))
    return found[0]


def snooze_targets(
    mailbox: ConnectedMailbox, seen: Sequence[Seen], *, whole: bool = False, alone: bool = False
) -> list[SnoozeTarget]:
    """As `snooze_target` for fetched messages: each has its own id. A second copy of a snoozed message
    has another id. A message that is asleep with its conversation stands for all of it, unless it is to be `alone`. An
    older message that has a live snooze already leaves, too, and keeps that."""
    older = older_in_conversations(mailbox, seen) if whole else {}
    taken_along = {other.at for others in older.values() for other in others}
    leading = [each for each in seen if each.at not in taken_along]
    seen = [*leading, *(other for each in leading for other in older.get(each.at, ()))]
    with mailbox.engine.begin() as transaction:
        entries = entries_of(transaction, mailbox, seen)
    ids = {at: entry.message_id for at, entry in entries.items()}
    about = {} if alone else {at: entry.snoozed_as for at, entry in entries.items()}
    places = {each.at: sighting_of(mailbox, each) for each in seen}
    pairs = [(each.head, places[each.at]) for each in seen if each.at not in ids]
    found = _identified(mailbox, pairs, taken=set(ids.values()))
    identified = {MessageKey(one.folder, one.uidvalidity, one.uid): (one, sender) for one, sender in found} | {
        each.at: (replace(places[each.at], message_id=ids[each.at]), headers.sender(each.head.sender).email)
        for each in seen
        if each.at in ids
    }
    live = _live_snoozes(mailbox, [identified[each.at][0].message_id for each in seen], entries.values())
    return [
        SnoozeTarget(
            message=Message(
                message_id=about.get(each.at, identified[each.at][0].message_id),
                subject=headers.subject(each.head.subject),
                sender_email=identified[each.at][1],
            ),
            sighting=identified[each.at][0],
            mailbox_id=mailbox.access.id,
            others=tuple(
                replace(other, snooze_id=live.get(other.message_id))
                for other in (identified[other.at][0] for other in older.get(each.at, ()))
            ),
        )
        for each in leading
    ]


def _live_snoozes(mailbox: ConnectedMailbox, message_ids: Sequence[str], entries: Iterable[Found]) -> dict[str, int]:
    """The live snoozes of messages, by Message-ID, whether they are entered or only snoozed by a program."""
    with mailbox.engine.begin() as transaction:
        rows = messages.not_entered(transaction, user_email=mailbox.user_email, message_ids=message_ids)
    return {row.message_id: row.snooze_id for row in (*rows, *entries)}


def enter(connection: Connection, target: SnoozeTarget, *, snooze_id: int) -> bool:
    """Enter a message that `acts.snooze` snoozed in the same transaction, and its conversation. Return False if one was
    entered for another mailbox in the meantime, or this one is being disconnected; then nothing may be committed."""
    return mailbox_store.enter(connection, target.sightings(snooze_id), mailbox_id=target.mailbox_id)


def _identified(
    mailbox: ConnectedMailbox, pairs: Sequence[tuple[Head, Sighting]], *, taken: set[str]
) -> list[tuple[Sighting, str | None]]:
    """Identify messages. A page's message is a copy if the snoozed one still lies in its last known place."""
    snoozed: dict[int, MessageKey] = {}

    def note(known: Known) -> bool:
        if known.is_snoozed:
            snoozed[known.id] = MessageKey(known.folder, known.uidvalidity, known.uid)
        return False

    def identify(is_another_copy: sightings.IsAnotherCopy) -> list[tuple[Sighting, str | None]]:
        with mailbox.engine.begin() as transaction:
            return sightings.identified_many(
                transaction, pairs, mailbox_id=mailbox.access.id, is_another_copy=is_another_copy, taken=taken
            )

    found = identify(note)
    there = existing(mailbox, list(snoozed.values()))
    return identify(lambda known: snoozed.get(known.id) in there) if there else found
