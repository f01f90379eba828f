"""Moves of snoozed messages between their folder and ours: the intent is committed, then the message is moved, then the
result is recorded. Each step can be repeated by any process."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from snoozer.db import mailbox_store
from snoozer.db.mailbox_store import Entry, Target, Where
from snoozer.mail import headers
from snoozer.mailboxes.imap import folder_meanings
from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.imap.messages import RETURNED, SEEN, Head
from snoozer.mailboxes.imap.move import Arrival, Place
from snoozer.mailboxes.sync.flags import leave_flagged, take_off
from snoozer.mailboxes.sync.session import INBOX, OwnerChanged, Session, fingerprint
from snoozer.queue import changes

log = logging.getLogger(__name__)

# Messages per move; a lost connection leaves at most these to be found again.
MOVED_AT_ONCE = 200
# Codes of a refusal for one folder, which the server may not repeat for another.
_OF_ONE_FOLDER = frozenset({"quota", "denied", "protocol"})
# After a change of UIDVALIDITY, how many of a folder's newest messages to check.
MAX_LOOKED_AT = 2_000


def move(session: Session, entries: Sequence[Entry], *, to: Where) -> list[Entry]:
    """Move messages to the folder of snoozed messages, aside, or home. Return the messages that were not in their
    place. If the server refuses some, the others are moved before ImapError is raised."""
    lost: list[Entry] = []
    refused: ImapError | None = None
    for (source, uidvalidity, target), group in groupby(
        sorted(entries, key=_route(session, to)), key=_route(session, to)
    ):
        together = list(group)
        for start in range(0, len(together), MOVED_AT_ONCE):
            batch = together[start : start + MOVED_AT_ONCE]
            try:
                lost += _move_batch(session, batch, source=Place(source, uidvalidity), target=target, to=to)
            except ImapError as error:
                if error.code not in _OF_ONE_FOLDER or not session.imap.alive:
                    raise
                refused = refused or error
    if refused is not None:
        raise refused
    return lost


def _route(session: Session, to: Where) -> Callable[[Entry], tuple[str, int, str]]:
    def target(entry: Entry) -> str:
        return {"snoozed": session.ours.snoozed, "aside": entry.aside, "home": entry.home}[to] or INBOX

    return lambda entry: (entry.folder, entry.uidvalidity, target(entry))


def _move_batch(session: Session, batch: Sequence[Entry], *, source: Place, target: str, to: Where) -> list[Entry]:
    try:
        unread = _unread(session, batch, source) if to == "snoozed" and session.mailbox.reads_asleep else frozenset()
        target, selected = _existing_target(session, target, to=to)
    except ImapError as error:
        if error.code != "no_folder":
            raise
        return []
    if target == source.name:
        settle(session, {entry.id: entry.uid for entry in batch}, where=to, place=source)
        return []
    by_id = {entry.id: entry for entry in batch}
    with session.transaction() as connection:
        allowed = mailbox_store.intend(
            connection, list(by_id), moving_to=to, target=selected, unread=unread, fence=session.fence
        )
    if not allowed:
        raise OwnerChanged
    entries = [replace(by_id[id], was_unread=by_id[id].was_unread or id in unread) for id in sorted(allowed)]
    _pass_step(session, "intended", entries)
    try:
        if session.imap.select(source.name).uidvalidity != source.uidvalidity:
            return entries
        if to != "aside":
            take_off(session, [entry.uid for entry in entries], source)
        if to == "home":
            _mark_returned(session, [entry for entry in entries if entry.is_due])
        else:
            session.imap.change_keyword([entry.uid for entry in entries], RETURNED, add=False)
        _mark_asleep(session, entries, to=to, read=frozenset(unread))
        _pass_step(session, "imap_marked", entries)
        arrivals = session.imap.move(
            [entry.uid for entry in entries],
            source=source,
            target=Place(target, selected.uidvalidity),
            fingerprints={entry.uid: fingerprint(entry) for entry in entries},
        )
    except ImapError as error:
        if error.code in {"uidvalidity", "no_folder"}:
            return entries
        if error.code in _OF_ONE_FOLDER and session.imap.alive:
            _stay(session, entries, source, to=to)
        raise
    _pass_step(session, "arrived", entries)
    return _write_down(session, entries, arrivals, to=to, source=source, target=Place(target, selected.uidvalidity))


def _unread(session: Session, entries: Sequence[Entry], place: Place) -> frozenset[int]:
    """The entries whose messages are unread in their place."""
    if session.imap.select(place.name).uidvalidity != place.uidvalidity:
        return frozenset()
    unread = session.imap.unread([entry.uid for entry in entries])
    return frozenset(entry.id for entry in entries if entry.uid in unread)


def _mark_asleep(session: Session, entries: Sequence[Entry], *, to: Where, read: frozenset[int]) -> None:
    """In the selected folder: mark as read what falls asleep, and as unread again what leaves, if that is known."""
    if to != "snoozed":
        session.imap.remove_flag([entry.uid for entry in entries if entry.was_unread], SEEN)
    elif read:
        session.imap.add_flag([entry.uid for entry in entries if entry.id in read], SEEN)


def _existing_target(session: Session, name: str, *, to: Where) -> tuple[str, Target]:
    """The target folder in its current state: the inbox if a person's folder is gone or closed; a new folder if ours
    is.
    """
    try:
        selected = session.imap.select(name)
    except ImapError as error:
        if error.code != "no_folder" and (error.code != "denied" or to == "snoozed"):
            raise
        if to == "snoozed":
            session.ours = session.imap.create_folders([])
            name = session.ours.snoozed
        else:
            name = INBOX
        selected = session.imap.select(name)
    return name, Target(folder=name, uidvalidity=selected.uidvalidity, uidnext=selected.uidnext)


def _write_down(
    session: Session, entries: Sequence[Entry], arrivals: dict[int, Arrival], *, to: Where, source: Place, target: Place
) -> list[Entry]:
    arrived = {entry.id: arrivals[entry.uid] for entry in entries if entry.uid in arrivals}
    moved = {id: arrival.uid for id, arrival in arrived.items() if arrival.outcome == "moved" and arrival.uid}
    stayed = [id for id, arrival in arrived.items() if arrival.outcome == "stayed"]
    if stayed:
        _stay(session, [entry for entry in entries if entry.id in stayed], source, to=to)
    settle(session, moved, where=to, place=target)
    return [entry for entry in entries if entry.id not in moved and entry.id not in stayed]


def marked_as_deleted(session: Session, entries: Sequence[Entry]) -> list[Entry]:
    """The messages that some program has marked as deleted in their place: their owner regards them as gone."""
    found: list[Entry] = []
    for (folder, uidvalidity), group in groupby(sorted(entries, key=_place), key=_place):
        there = list(group)
        try:
            if session.imap.select(folder).uidvalidity != uidvalidity:
                continue
        except ImapError as error:
            if error.code != "no_folder":
                raise
            continue
        marked = {head.uid for head in session.imap.heads([entry.uid for entry in there]) if head.deleted}
        found += [entry for entry in there if entry.uid in marked]
    return found


def describe(session: Session, entries: Iterable[Entry]) -> None:
    """Fill in the subject and the sender of nameless snoozes from their messages, which are about to be moved."""
    names: dict[int, tuple[str | None, str | None]] = {}
    nameless = [entry for entry in entries if entry.nameless]
    for (folder, uidvalidity), group in groupby(sorted(nameless, key=_place), key=_place):
        snoozes = {entry.uid: entry.snooze_id for entry in group}
        try:
            is_there = session.imap.select(folder).uidvalidity == uidvalidity
            heads = session.imap.heads(snoozes) if is_there else []
        except ImapError:
            if not session.imap.alive:
                raise
            continue
        for head in heads:
            if (id := snoozes[head.uid]) is not None:
                names[id] = headers.subject(head.subject), headers.sender(head.sender).email
    if names:
        with session.transaction() as connection:
            changes.describe(connection, names)


def surface(session: Session, entries: Sequence[Entry]) -> None:
    """Mark messages unread in their place: they repeat, and are due again after a previous return. A message that its
    owner has moved since is left alone."""
    for (folder, uidvalidity), group in groupby(sorted(entries, key=_place), key=_place):
        due = list(group)
        try:
            there = _still_there(session, folder, uidvalidity)
        except ImapError as error:
            if error.code != "denied":
                raise
            there = set()  # Its owner may no longer open that folder; messages due elsewhere still return.
        here = [entry for entry in due if entry.uid in there]
        _mark_returned(session, here)
        settle(session, {entry.id: entry.uid for entry in here}, where="home", place=Place(folder, uidvalidity))
        with session.transaction() as connection:
            for entry in due:
                if entry.uid not in there:
                    mailbox_store.forget(connection, id=entry.id, fence=session.fence)


def _mark_returned(session: Session, entries: Sequence[Entry]) -> None:
    uids = [entry.uid for entry in entries if entry.marks_unread]
    session.imap.remove_flag(uids, SEEN)
    session.imap.change_keyword(uids, RETURNED, add=True)


def put_away(session: Session, entries: Sequence[Entry]) -> None:
    """Have messages moved into the archive, or to the inbox if there is no archive, and stay there: their owner wants
    only a reminder."""
    archive = folder_meanings.archive_folder(session.folders)
    home = INBOX if archive is None else archive.name
    with session.transaction() as connection:
        mailbox_store.stay(connection, [entry.id for entry in entries], home=home, fence=session.fence)


def settle(session: Session, uids: dict[int, int], *, where: Where, place: Place) -> None:
    """Record that messages were seen in a folder; `uids` maps their entries to UIDs."""
    if not uids:
        return
    uidvalidity = place.uidvalidity
    if uidvalidity is None:
        uidvalidity = session.imap.select(place.name).uidvalidity
    if where == "home":
        leave_flagged(session, uids.values(), place)
    with session.transaction() as connection:
        mailbox_store.settle(
            connection, uids, place=where, folder=place.name, uidvalidity=uidvalidity, fence=session.fence
        )


def _stay(session: Session, entries: Sequence[Entry], place: Place, *, to: Where) -> None:
    """Messages stayed in their place: the move is abandoned, and what it marked as read is unread again."""
    marked = [entry.uid for entry in entries if entry.was_unread and entry.place != "snoozed"]
    if to == "snoozed" and marked and session.imap.select(place.name).uidvalidity == place.uidvalidity:
        session.imap.remove_flag(marked, SEEN)
    with session.transaction() as connection:
        mailbox_store.abandon(connection, [entry.id for entry in entries], fence=session.fence)


def _pass_step(session: Session, step: str, entries: Iterable[Entry]) -> None:
    for entry in entries:
        session.failpoint(step, entry.message_id)


def recover(session: Session, entries: Sequence[Entry]) -> list[Entry]:
    """Find out the result of unfinished moves; until then, no message is moved again. Return the messages that are
    neither in their old place nor in the target."""
    lost: list[Entry] = []
    for target, group in groupby(sorted(entries, key=_intent), key=_intent):
        lost += _recover_into(session, list(group), target=target[0], above=target[2], uidvalidity=target[1])
    return lost


def _intent(entry: Entry) -> tuple[str, int, int]:
    return (entry.target_folder or "", entry.target_uidvalidity or 0, entry.target_uidnext or 0)


def _recover_into(
    session: Session, entries: Sequence[Entry], *, target: str, above: int, uidvalidity: int
) -> list[Entry]:
    arrived = _arrived(session, entries, target=target, above=above, uidvalidity=uidvalidity)
    lost: list[Entry] = []
    for (source, validity), group in groupby(sorted(entries, key=_place), key=_place):
        there = _still_there(session, source, validity)
        for entry in group:
            hit = arrived.get(entry.id)
            is_there = entry.uid in there
            if hit is not None and not (is_there and not hit[2]):
                if is_there:  # Copied, and not yet deleted in the source.
                    session.imap.delete([entry.uid], source=Place(source, validity))
                settle(session, {entry.id: hit[0]}, where=entry.moving_to or "home", place=Place(target, hit[1]))
            elif is_there:
                _stay(session, [entry], Place(source, validity), to=entry.moving_to or "home")
            else:
                lost.append(entry)
    return lost


def _place(entry: Entry) -> tuple[str, int]:
    return (entry.folder, entry.uidvalidity)


def _arrived(
    session: Session, entries: Sequence[Entry], *, target: str, above: int, uidvalidity: int
) -> dict[int, tuple[int, int, bool]]:
    """The UID and UIDVALIDITY of each entry's message in the target, if it arrived after the intent, and whether it is
    proven to be the copy made then: it is new there and equal in every known byte."""
    try:
        selected = session.imap.select(target)
    except ImapError as error:
        if error.code in ("no_folder", "denied"):
            return {}
        raise
    counts_on = selected.uidvalidity == uidvalidity and above > 0
    heads = session.imap.heads(session.imap.uids(above=above if counts_on else 0)[-MAX_LOOKED_AT:])
    exact = {(head.uid, head.fingerprint.sha256, head.size) for head in heads} if counts_on else set()
    marks = {entry.id: (entry.fingerprint, entry.size) for entry in entries}
    matched = match(entries, heads)
    return {id: (uid, selected.uidvalidity, (uid, *marks[id]) in exact) for id, uid in matched.items()}


def _still_there(session: Session, source: str, uidvalidity: int) -> set[int]:
    try:
        selected = session.imap.select(source)
    except ImapError as error:
        if error.code == "no_folder":
            return set()
        raise
    return set(session.imap.uids()) if selected.uidvalidity == uidvalidity else set()


def match(entries: Iterable[Entry], heads: Iterable[Head]) -> dict[int, int]:
    """The UID of each entry's message among the heads of a folder, each at most once; messages marked as deleted do not
    count. Exact matches come first, because a message that was stored again may have another size and date."""
    left = [head for head in heads if not head.deleted]
    found: dict[int, int] = {}
    for key in (_exactly, _by_header):
        by_key: dict[object, list[Head]] = {}
        for head in left:
            by_key.setdefault(key(head.fingerprint.sha256, head.size), []).append(head)
        for entry in entries:
            same = by_key.get(key(entry.fingerprint, entry.size), [])
            if entry.id not in found and same:
                head = same.pop(0)
                found[entry.id] = head.uid
                left.remove(head)
    return found


def _exactly(sha256: str, size: int) -> object:
    return sha256, size


def _by_header(sha256: str, size: int) -> object:
    return sha256
