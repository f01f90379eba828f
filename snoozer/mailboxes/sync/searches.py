"""Put away the messages of snoozes that programs made: find each by its Message-ID, and enter it as a page does. The
message is moved by the same pass or, if it is in another mailbox, by the process that watches that one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from sqlalchemy import Connection

from snoozer.db import mailbox_searches, mailbox_store
from snoozer.db.mailbox_searches import Result, Search
from snoozer.db.mailbox_store import Sighting
from snoozer.db.statements import database_time
from snoozer.mailboxes import sightings
from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.imap.messages import Fingerprint
from snoozer.mailboxes.sync import conversations, origins
from snoozer.mailboxes.sync.session import INBOX, Session
from snoozer.queue import events

ROUTE = "mailbox"
SEARCHED_AT_ONCE = 96
MAX_FOLDERS = 60

_Found = dict[int, list[Sighting]]
# Each message, followed by older messages of its conversation, which leave with it.
_Whole = dict[int, list[list[Sighting]]]


def search(session: Session, *, above: int) -> int | None:
    """Search for the messages of some new snoozes, with ids `above` this one. A message that is in one place is
    entered; otherwise the snooze stays a reminder, and its history says why. Return the last of these snoozes, None if
    there was none. Raise ImapError."""
    mailbox_id = session.mailbox.id
    with session.transaction() as connection:
        mailbox_searches.prune(connection, mailbox_id=mailbox_id, is_closed=session.mailbox.is_closed)
        wanted = mailbox_searches.list_open(connection, mailbox_id=mailbox_id, above=above, batch_size=SEARCHED_AT_ONCE)
    if not wanted:
        return None
    _record(session, _with_older(session, wanted, _find(session, wanted)))
    for each in wanted:
        session.failpoint("noticed", each.message_id)
    return wanted[-1].snooze_id


def _record(session: Session, found: _Whole) -> None:
    with session.transaction() as connection:
        live = mailbox_searches.lock(connection, found)
        results = {id: seen for id, seen in found.items() if id in live}
        owner = {"mailbox_id": session.mailbox.id, "fence": session.fence}
        reported = mailbox_searches.report(connection, results, **owner)
        _decide(connection, mailbox_searches.decide(connection, reported))


def _decide(connection: Connection, results: Iterable[Result]) -> None:
    """Enter the messages that are in one place, and append an event to the other snoozes."""
    ordered = sorted(results, key=lambda result: result.snooze_id)
    chosen: list[Result] = []
    stayed: list[tuple[int, Mapping[str, object]]] = []
    for id, group in groupby(ordered, key=lambda result: result.snooze_id):
        found = [result for result in group if result.found]
        if len(found) == 1 and found[0].seen:
            chosen.append(found[0])
        else:
            stayed.append((id, {"why": "mailboxes" if len(found) > 1 else "copies" if found else "absent"}))
    chosen.sort(key=lambda result: result.mailbox_id)
    for mailbox_id, there in groupby(chosen, key=lambda result: result.mailbox_id):
        seen = [replace(one, snooze_id=one.snooze_id or result.snooze_id) for result in there for one in result.seen]
        mailbox_store.enter(connection, seen, mailbox_id=mailbox_id)
    events.append_many(connection, kind="stayed", actor=ROUTE, route=ROUTE, lines=stayed)


def _find(session: Session, wanted: Sequence[Search]) -> _Found:
    """Search the inbox, then other folders from which people snooze messages, then the folder of all mail. That folder
    is asked before the others, too: a message that it does not have is nowhere."""
    found = _find_in(session, wanted, [INBOX])
    left = [each for each in wanted if not found[each.snooze_id]]
    if not left:
        return found
    session.folders = session.imap.folders()
    everything = _find_in(session, left, session.names(r"\All"))
    if session.names(r"\All"):
        left = [each for each in left if everything[each.snooze_id]]
    others = [name for name in origins.folders(session) if name.upper() != INBOX][:MAX_FOLDERS]
    elsewhere = _find_in(session, left, others)
    return {id: seen or elsewhere.get(id) or everything.get(id, []) for id, seen in found.items()}


def _with_older(session: Session, wanted: Sequence[Search], found: _Found) -> _Whole:
    """Look for the rest of each conversation, if the message is in one place."""
    wholes = [found[each.snooze_id][0] for each in wanted if each.whole and len(found[each.snooze_id]) == 1]
    older: dict[tuple[str, int], list[Sighting]] = {}
    for (folder, home), group in groupby(sorted(wholes, key=_place), key=_place):
        there = list(group)
        if session.imap.select(folder).uidvalidity == there[0].uidvalidity:
            others = conversations.older(
                session, {one.uid for one in there}, folder=folder, uidvalidity=there[0].uidvalidity, home=home
            )
            older |= {(folder, uid): rest for uid, rest in others.items()}
    return {
        id: [[one, *(older.get((one.folder, one.uid), ()) if len(seen) == 1 else ())] for one in seen]
        for id, seen in found.items()
    }


def _place(seen: Sighting) -> tuple[str, str]:
    return seen.folder, seen.home


def _find_in(session: Session, wanted: Sequence[Search], folders: Sequence[str]) -> _Found:
    found: _Found = {each.snooze_id: [] for each in wanted}
    there = session.imap.statuses(folders) if wanted and len(folders) > 1 else {}
    for name in folders if wanted else ():
        if session.is_late:
            break
        if name in there and not there[name].messages:
            continue
        try:
            _add_from(session, wanted, name, found)
        except ImapError as error:
            # Skip folders that cannot be opened or searched, and search the rest.
            if error.code == "throttled" or not session.imap.alive:
                raise
    return found


def _add_from(session: Session, wanted: Sequence[Search], name: str, found: _Found) -> None:
    with session.reading() as connection:
        now = database_time(connection)
    marks = {each.snooze_id: Fingerprint(each.message_id, "", -1, now) for each in wanted}
    uidvalidity = session.imap.select(name).uidvalidity
    hits = session.imap.heads_of_each(marks)
    if not hits:
        return
    with session.reading() as connection:
        taken = mailbox_store.list_in_folder(
            connection, mailbox_id=session.mailbox.id, folder=name, uidvalidity=uidvalidity
        )
    homes = origins.folders(session)
    for each in wanted:
        for head in hits.get(each.snooze_id, ()):
            if head.uid in taken:
                continue
            taken.add(head.uid)
            seen = sightings.sighting(
                head,
                mailbox_id=session.mailbox.id,
                user_email=each.user_email,
                folder=name,
                uidvalidity=uidvalidity,
                home=name if name in homes else INBOX,
                place="home",
            )
            found[each.snooze_id].append(replace(seen, message_id=each.message_id))
