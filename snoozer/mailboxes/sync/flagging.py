"""Messages that got the flag which snoozes, in the inbox and with any mail program: they are snoozed, each with the
older messages of its conversation there."""

from snoozer.db import mailbox_store
from snoozer.db.statements import database_time
from snoozer.mailboxes.folder_times import BY_HAND, personal_times, read_label
from snoozer.mailboxes.sync import conversations
from snoozer.mailboxes.sync.flags import newly_flagged
from snoozer.mailboxes.sync.noticing import snooze_all
from snoozer.mailboxes.sync.session import INBOX, Session


def notice_flagged(session: Session) -> bool:
    """Snooze what got the flag since its owner chose it; returns whether all of it was. Raises ImapError, and
    OwnerChanged."""
    if session.mailbox.snooze_flag is None:
        return True
    uids, uidvalidity = newly_flagged(session)
    if not uids:
        return True
    with session.transaction() as connection:
        known = mailbox_store.list_at(
            connection, uids, mailbox_id=session.mailbox.id, folder=INBOX, uidvalidity=uidvalidity
        )
        times = personal_times(connection, account_id=session.mailbox.account_id)
        now = database_time(connection)
        reading = read_label(session.mailbox.snooze_flag_time or BY_HAND, times, now=now)
    wanted_already = {uid for uid, (_, is_wanted) in known.items() if is_wanted}
    heads = [head for head in session.imap.heads(sorted(uids - wanted_already)) if not head.deleted]
    older = conversations.older(
        session, {head.uid for head in heads}, folder=INBOX, uidvalidity=uidvalidity, home=INBOX
    )
    session.imap.select(session.ours.snoozed)
    session.snoozed_uids = frozenset(session.imap.uids())
    return snooze_all(
        session,
        INBOX,
        heads,
        uidvalidity=uidvalidity,
        reading=reading,
        now=now,
        place="home",
        known={uid: message_id for uid, (message_id, _) in known.items()},
        older=older,
    )
