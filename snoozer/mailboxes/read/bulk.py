"""Acts on many messages of a connected mailbox. The messages are fetched first, with no transaction open; then the
whole act is one transaction, and the process that watches the mailbox moves the messages."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from snoozer.db import mailbox_store
from snoozer.db.mailbox_store import Sighting
from snoozer.db.queries import Found
from snoozer.mailboxes import sightings
from snoozer.mailboxes.read.connected import ConnectedMailbox
from snoozer.mailboxes.read.entering import snooze_targets
from snoozer.mailboxes.read.folder_views import INBOX
from snoozer.mailboxes.read.keys import MessageKey
from snoozer.mailboxes.read.looking import Seen, archive_in, entries_of, look, matching, sighting_of
from snoozer.mailboxes.read.mailbox import MailboxError
from snoozer.queue.limits import MAX_CHOSEN
from snoozer.snoozes import acts, bulk
from snoozer.snoozes.acts import By, Cancel, Snooze
from snoozer.snoozes.bulk import Before, Done, Name, Reason, Summary, counted
from snoozer.translations import gettext

Work = Callable[[Connection], Done]


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Messages of a mailbox as they were fetched just now. `total` counts the chosen messages, `missing` those among
    them no longer there."""

    mailbox: ConnectedMailbox
    seen: list[Seen]
    missing: int
    total: int


def choose(mailbox: ConnectedMailbox, keys: Collection[str]) -> Chosen:
    """Fetch these messages of a list. Asks the mail server, so no transaction may be open. Raises MailboxError."""
    return _looked_at(mailbox, [_parsed(key) for key in dict.fromkeys(keys)])


def choose_all(mailbox: ConnectedMailbox, folder: str | None, *, search: str | None, bound: str | None) -> Chosen:
    """All that a list matched when it was shown, the newest first."""
    return _looked_at(mailbox, matching(mailbox, folder, search=search, bound=bound, most=MAX_CHOSEN + 1))


def snoozing(chosen: Chosen, what: Snooze, by: By, *, traceparent: str | None, whole: bool) -> Work:
    """Prepares what `bulk.snooze` does, with `whole` to the conversations of these messages."""
    mailbox = chosen.mailbox
    targets = snooze_targets(mailbox, chosen.seen, whole=whole)

    def work(connection: Connection) -> Done:
        messages = [target.message for target in targets]
        done = bulk.snooze(connection, messages, what, by, traceparent=traceparent, gone=chosen.missing)
        snoozed = list(zip(targets, done.results, strict=True))
        seen = [sighting for target, result in snoozed for sighting in target.sightings(result.id)]
        if not mailbox_store.enter(connection, seen, mailbox_id=mailbox.access.id):
            raise MailboxError("busy", gettext("Another mailbox of yours is moving this message just now. Try again."))
        older = sum(len(target.others) for target, result in snoozed if result.left is None)
        return done._replace(summary=replace(done.summary, older=older))

    return work


def waking(chosen: Chosen, by: By) -> Work:
    """Prepares what `bulk.wake` does."""

    def work(connection: Connection) -> Done:
        entries = entries_of(connection, chosen.mailbox, chosen.seen)
        ids = list(dict.fromkeys(entry.snoozed_as for entry in entries.values()))
        return bulk.wake(connection, ids, by, gone=chosen.missing + len(chosen.seen) - len(entries))

    return work


def being_done(chosen: Chosen) -> Work:
    """Prepares the move of messages into the archive."""
    archive = archive_in(chosen.mailbox) if chosen.seen else INBOX

    def work(connection: Connection) -> Done:
        seen = [replace(one, home=one.folder, place="home") for one in _sightings(connection, chosen, chosen.seen)]
        done = _relocated(connection, chosen.mailbox, seen, to_aside=archive)
        return _with_left(done, {}, gone=chosen.missing)

    return work


def to_inbox(chosen: Chosen, by: By) -> Work:
    """Prepare the move of messages into the inbox; snoozes of sleeping messages are cancelled."""
    mailbox = chosen.mailbox

    def work(connection: Connection) -> Done:
        entries = entries_of(connection, mailbox, chosen.seen)
        asleep = {at: int(entry.snooze_id) for at, entry in entries.items() if _is_asleep(entry)}
        cancelled = bulk.summed("cancel", acts.act(connection, list(asleep.values()), Cancel(), by))
        others = _sightings(connection, chosen, [each for each in chosen.seen if each.at not in asleep])
        seen = [replace(one, home=INBOX, place="snoozed" if one.place == "snoozed" else "aside") for one in others]
        moved = _relocated(connection, mailbox, [one for one in seen if one.folder.upper() != INBOX])
        name: Name = "bring_home" if others else "give_back"
        done = cancelled.summary.done + moved.summary.done
        before = replace(cancelled.before, moves=moved.before.moves)
        summary = Summary(act=name, done=done, left=moved.summary.left, may_arrive=cancelled.summary.may_arrive)
        return _with_left(Done(summary, before), cancelled.summary.left, gone=chosen.missing)

    return work


def _looked_at(mailbox: ConnectedMailbox, places: Sequence[MessageKey | None]) -> Chosen:
    taken = places[:MAX_CHOSEN]
    seen = look(mailbox, [at for at in taken if at is not None])
    return Chosen(mailbox=mailbox, seen=seen, missing=len(taken) - len(seen), total=len(places))


def _parsed(key: str) -> MessageKey | None:
    try:
        return MessageKey.parse(key)
    except MailboxError:
        return None


def _is_asleep(entry: Found) -> bool:
    return entry.snooze_id is not None and (entry.moving or entry.place == "snoozed")


def _sightings(connection: Connection, chosen: Chosen, seen: Sequence[Seen]) -> list[Sighting]:
    """Return each message under the id of its entry, its own id, or a substitute id for this copy if another has that
    id.
    """
    mailbox = chosen.mailbox
    entries = entries_of(connection, mailbox, seen)
    found = {each.at: sighting_of(mailbox, each) for each in seen}
    own = [one.message_id for one in found.values()]
    taken = {*mailbox_store.find(connection, user_email=mailbox.user_email, message_ids=own)}
    shown: list[Sighting] = []
    for each in seen:
        one = found[each.at]
        id = entries[each.at].message_id if each.at in entries else one.message_id
        if each.at not in entries and id in taken:
            id = sightings.substitute_id(each.head, mailbox_id=mailbox.access.id, uidvalidity=one.uidvalidity)
        taken.add(id)
        shown.append(replace(one, message_id=id))
    return shown


def _relocated(
    connection: Connection, mailbox: ConnectedMailbox, seen: Sequence[Sighting], *, to_aside: str | None = None
) -> Done:
    wanted: mailbox_store.Where = "home" if to_aside is None else "aside"
    moved = mailbox_store.relocate(connection, seen, mailbox_id=mailbox.access.id, wanted=wanted, aside=to_aside)
    summary = Summary(act="done", done=len(moved), left={"changed": len(seen) - len(moved)})
    return Done(summary, Before(moves=[(id, place, wanted) for id, place in moved]))


def _with_left(done: Done, also: Mapping[Reason, int], *, gone: int) -> Done:
    left = Counter[Reason]({"gone": gone})
    left.update(done.summary.left)
    left.update(also)
    return done._replace(summary=replace(done.summary, left=counted(left)))
