"""The older messages of conversations: they leave with a message that a program or the snoozing flag snoozed. What a
person moves into a folder is what they chose, and leaves alone."""

from collections.abc import Collection
from dataclasses import replace
from itertools import chain

from snoozer.db.mailbox_store import Sighting
from snoozer.db.queries import messages
from snoozer.mailboxes import sightings
from snoozer.mailboxes.sync.session import Session


def older(
    session: Session, uids: Collection[int], *, folder: str, uidvalidity: int, home: str
) -> dict[int, list[Sighting]]:
    """By the newest of these messages of the selected folder in each conversation, its older messages there. A message
    that is about to leave is left out; a message with a live snooze keeps that. Raises ImapError."""
    if not uids:
        return {}
    trees = {max(tree.intersection(uids)): tree.difference(uids) for tree in session.imap.conversations(uids)}
    before = {newest: sorted(uid for uid in tree if uid < newest) for newest, tree in trees.items()}
    heads = {head.uid: head for head in session.imap.heads({*chain(*before.values())}) if not head.deleted}
    if not heads:
        return {}
    id, user_email = session.mailbox.id, session.mailbox.user_email
    seen = {
        uid: sightings.sighting(
            head,
            mailbox_id=id,
            user_email=user_email,
            folder=folder,
            uidvalidity=uidvalidity,
            home=home,
            place="home",
        )
        for uid, head in heads.items()
    }
    with session.transaction() as connection:
        hidden = messages.leaving(connection, mailbox_id=id, folder=folder)
        entries = messages.entered_at(
            connection, mailbox_id=id, folder=folder, uidvalidity=uidvalidity, uids=heads.keys() - hidden
        )
        live = {entry.uid: (entry.message_id, entry.snooze_id) for entry in entries}
        pairs = [(heads[uid], seen[uid]) for uid in sorted(heads.keys() - hidden - live.keys())]
        found = sightings.identified_many(
            connection,
            pairs,
            mailbox_id=id,
            is_another_copy=lambda known: known.is_snoozed,
            taken=[message_id for message_id, _ in live.values()],
        )
        ids = [one.message_id for one, _ in found]
        rows = messages.not_entered(connection, user_email=user_email, message_ids=ids)
    own = {row.message_id: row.snooze_id for row in rows}
    live |= {one.uid: (one.message_id, own.get(one.message_id)) for one, _ in found}
    return {
        newest: [
            replace(seen[uid], message_id=live[uid][0], snooze_id=live[uid][1]) for uid in before[newest] if uid in live
        ]
        for newest in before
    }
