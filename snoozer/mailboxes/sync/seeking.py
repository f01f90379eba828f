"""Find snoozed messages that are not in their place: a person moved or deleted them, or the UIDVALIDITY changed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from snoozer.db import mailbox_store
from snoozer.db.mailbox_store import Entry
from snoozer.db.queries import snoozes
from snoozer.db.statements import database_time
from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.imap.folders import Status
from snoozer.mailboxes.imap.move import Place
from snoozer.mailboxes.sync import moves
from snoozer.mailboxes.sync.flags import leave_flagged
from snoozer.mailboxes.sync.session import INBOX, OwnerChanged, Session, fingerprint
from snoozer.queue import events
from snoozer.snoozes import acts
from snoozer.snoozes.acts import By, Cancel

# How long to search for a missing message: servers show a message in two folders, or in none, for moments.
GIVEN_UP_AFTER = timedelta(minutes=10)
MAX_FOLDERS = 60
# The others are sought by the next passes.
SOUGHT_AT_ONCE = 200
_ELSEWHERE = (r"\Archive", r"\Trash", r"\Junk", r"\All")

Found = tuple[Place, int]


def seek(session: Session, lost: Sequence[Entry]) -> None:
    """Search for messages wherever people put them. If a message is still in place, under a new
    UID or folder name, that is recorded. If its owner took it out of a folder of ours, its snooze ends. If it is found
    nowhere, later passes search again; after ten minutes it counts as deleted, and its snooze ends, too."""
    lost = lost[:SOUGHT_AT_ONCE]
    with session.transaction() as connection:
        given_up = {entry.id for entry in lost if _is_over(entry, now=database_time(connection))}
        # No reminder is sent during the search, which takes time.
        taken = [entry.id for entry in lost if entry.place == "snoozed"]
        mailbox_store.mark_missing(connection, taken, fence=session.fence)
    for id in given_up:
        # Search each folder once more, whether it has changed or not.
        session.sought.pop(id, None)
    found, was_all_searched = _find(session, lost)
    for entry in lost:
        if entry.id in found:
            session.sought.pop(entry.id, None)
            _found(session, entry, *found[entry.id])
        else:
            _not_found(session, entry, is_over=entry.id in given_up, was_all_searched=was_all_searched)


def _is_over(entry: Entry, *, now: datetime) -> bool:
    return entry.missing_since is not None and now - entry.missing_since >= GIVEN_UP_AFTER


def _found(session: Session, entry: Entry, place: Place, uid: int) -> None:
    is_expected = place.name in (entry.home, INBOX) and (entry.wanted == "home" or entry.is_due)
    if "aside" in (entry.place, entry.wanted) and not is_expected:
        # Its owner was done with it, or has moved it since: it stays there.
        let_go(session, entry)
    elif entry.place == "home" or is_expected:
        # It was not in a folder of ours, or was to leave it anyway, no matter by which program.
        moves.settle(session, {entry.id: uid}, where="home", place=place)
    elif place.name in (session.ours.snoozed, entry.folder) or _is_renamed(session, entry, place, uid):
        # It did not leave, or its folder was renamed or has a new UIDVALIDITY: move it on into ours.
        moves.settle(session, {entry.id: uid}, where="snoozed", place=place)
    else:
        leave_flagged(session, [uid], place)
        release(session, entry, because="moved")


def _find(session: Session, lost: Sequence[Entry]) -> tuple[dict[int, Found], bool]:
    """Find messages, except at places that belong to other entries; also return whether every folder was searched. One
    round trip asks all folders for their statuses; a folder in which a message was not found is searched again only
    after others came into it."""
    found: dict[int, Found] = {}
    usual, others = _places(session, lost)
    now = session.imap.statuses([*usual, *others])
    for name in _ordered(usual, others, now, {entry.uidvalidity for entry in lost}):
        came = replace(now[name], messages=0)
        left = [entry for entry in lost if entry.id not in found]
        left = [entry for entry in left if session.sought.get(entry.id, {}).get(name) != came]
        if not left:
            continue
        if session.is_late:
            return found, False
        there = _find_in(session, left, name)
        if there is None:
            continue
        found |= there
        for entry in left:
            session.sought.setdefault(entry.id, {})[name] = came
    return found, True


def _ordered(usual: Sequence[str], others: Sequence[str], now: Mapping[str, Status], numbers: set[int]) -> list[str]:
    """First the usual folders, then folders with a known UIDVALIDITY under another name, then the rest; empty folders
    are left out."""
    rest = sorted(others, key=lambda name: name not in now or now[name].uidvalidity not in numbers)
    return [name for name in [*usual, *rest] if name in now and now[name].messages]


def _find_in(session: Session, entries: Sequence[Entry], name: str) -> dict[int, Found] | None:
    """The messages that are in this folder, by one search for many; None if it cannot be opened or searched."""
    try:
        hits = session.imap.find_each({entry.id: fingerprint(entry) for entry in entries}, name)
        place = Place(name, session.imap.select(name).uidvalidity) if hits else None
    except ImapError as error:
        if error.code == "throttled" or not session.imap.alive:
            raise
        return None
    if place is None:
        return {}
    taken = _entered(session, place)
    found: dict[int, Found] = {}
    for entry in entries:
        is_own = (entry.folder, entry.uidvalidity) == (place.name, place.uidvalidity)
        uids = [uid for uid in hits.get(entry.id, ()) if uid not in taken or (is_own and uid == entry.uid)]
        if len(uids) == 1 or (uids and name != session.ours.snoozed):
            found[entry.id] = (place, uids[0])
            taken.add(uids[0])
    return found


def _entered(session: Session, place: Place) -> set[int]:
    """The UIDs of a folder that belong to entries."""
    with session.transaction() as connection:
        return mailbox_store.list_in_folder(
            connection, mailbox_id=session.mailbox.id, folder=place.name, uidvalidity=place.uidvalidity or 0
        )


def _places(session: Session, lost: Sequence[Entry]) -> tuple[list[str], list[str]]:
    """The folders in which lost messages usually are, and all other folders of the person."""
    usual = [session.ours.snoozed, *(entry.home for entry in lost), INBOX]
    usual += [name for entry in lost for name in (entry.folder, entry.target_folder or INBOX)]
    usual += [name for special_use in _ELSEWHERE for name in session.names(special_use)]
    usual = list(dict.fromkeys(usual))[:MAX_FOLDERS]
    own = [folder.name for folder in session.folders if folder.selectable and folder.namespace == "personal"]
    return usual, [name for name in own if name not in usual][: MAX_FOLDERS - len(usual)]


def _is_renamed(session: Session, entry: Entry, place: Place, uid: int) -> bool:
    """Whether the message is in the same place, in a folder that was renamed and keeps its UIDVALIDITY (RFC 3501
    §6.3.5). Two folders made in the same second may have equal ones: then ours still exists with that number, too."""
    if (entry.uidvalidity, entry.uid) != (place.uidvalidity, uid):
        return False
    return session.imap.select(session.ours.snoozed).uidvalidity != entry.uidvalidity


def _not_found(session: Session, entry: Entry, *, is_over: bool, was_all_searched: bool) -> None:
    if entry.place in ("home", "aside"):
        if was_all_searched:
            let_go(session, entry)
    elif is_over and was_all_searched:
        session.sought.pop(entry.id, None)
        release(session, entry, because="gone")


def let_go(session: Session, entry: Entry) -> None:
    """The owner handles the message, which Snoozer had not hidden: its snooze continues as a reminder only."""
    with session.transaction() as connection:
        mailbox_store.forget(connection, id=entry.id, fence=session.fence)


def release(session: Session, entry: Entry, *, because: str) -> None:
    """The owner takes the message over. A snooze is cancelled, with the reason, if the message left before its time;
    otherwise its reminder is sent. If others of its conversation are still asleep, the snooze goes on with them; if it
    is due and the others are back, the conversation is. A paused snooze stays paused, and its history says that only
    the reminder will come. The snooze is locked before its message, as everywhere else."""
    with session.transaction() as connection:
        is_promised = entry.returns_at is not None
        paused, id = (None, entry.snooze_id) if is_promised else (_paused(connection, entry), None)
        by = By(entry.user_email, "mailbox")
        others_are_asleep, others_are_back = mailbox_store.others(connection, id=entry.id)
        stays = id is not None and others_are_asleep
        if id is not None and not entry.is_due and not stays:
            acts.act(connection, [id], Cancel(detail={"why": because}, folder=None), by)
        if entry.is_due and others_are_back:
            mailbox_store.settle(
                connection,
                {entry.id: entry.uid},
                place="home",
                folder=entry.folder,
                uidvalidity=entry.uidvalidity,
                fence=session.fence,
            )
        if not mailbox_store.forget(connection, id=entry.id, fence=session.fence):
            raise OwnerChanged
        if id is not None and (entry.is_due or stays):
            detail: dict[str, Any] = {"why": because} | ({"conversation": True} if stays else {})
            events.append(connection, snooze_id=id, kind="left", actor=by.actor, route=by.door, **detail)
        if paused is not None:
            where = {"actor": "user", "route": "mailbox", "why": because}
            events.append(connection, snooze_id=paused, kind="left", paused=True, **where)


def _paused(connection: Connection, entry: Entry) -> int | None:
    """The paused snooze of a message, which promises no return."""
    snooze = entry.snooze_id and snoozes.one(connection, id=entry.snooze_id, user_email=entry.user_email)
    return int(snooze.id) if snooze and snooze.inactive and snooze.outcome is None else None
