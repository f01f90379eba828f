"""One pass over a mailbox: recover unfinished moves, notice messages put into folders that mean a time or taken out of
ours, and move what is due. If a pass is interrupted, the next one finishes its work."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from snoozer.db import mailbox_leases, mailbox_store
from snoozer.db.mailbox_store import Entry
from snoozer.mailboxes.imap import folder_meanings
from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.imap.folder_meanings import Folder
from snoozer.mailboxes.imap.folders import OurFolders, Status
from snoozer.mailboxes.imap.move import Place
from snoozer.mailboxes.sync import moves, origins, replies
from snoozer.mailboxes.sync.flagging import notice_flagged
from snoozer.mailboxes.sync.giving_back import forget_given_back
from snoozer.mailboxes.sync.noticing import notice, notice_by_hand
from snoozer.mailboxes.sync.searches import search
from snoozer.mailboxes.sync.seeking import let_go, release, seek
from snoozer.mailboxes.sync.session import INBOX, Session
from snoozer.mailboxes.sync.verifying import verify

log = logging.getLogger(__name__)

BATCH_SIZE = 500
# If a glance shows no change, all folders are listed after this many; not every server's glance shows new folders.
LISTED_EVERY, LISTED_EVERY_WITHOUT_DIGEST = 10, 2


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of one pass. `is_done`: everything is in its place. `goes_on`: there is more work than
    one pass does."""

    is_done: bool
    goes_on: bool = False


class Sync:
    """Passes over one mailbox, through one connection. Folders without a change since the last pass are not read again:
    such a pass costs one round trip, and no query.

    `replies_read_to` is the UID up to which the inbox is read for replies; None while no snooze waits for one.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen: dict[str, Status] = {}
        # The next UIDs of folders that mean a time, when they were last read.
        self._uidnexts: dict[str, int] = {}
        # The folders whose changes the server was asked to report.
        self._reported: tuple[list[str], list[str]] | None = None
        # The folders from which messages may be moved into ours, since the last look; None before the first look.
        self._places: dict[str, Status] | None = None
        self._glance: object = None
        self._glances = 0
        self._is_settled = False
        # A look postponed for lack of time comes first in the next pass; the first folder of a look is always read.
        self._owes_look = self._has_read = False
        # Whether a message was missing in this pass: the next look searches for it, even if a glance shows no change.
        self._has_missed = False
        self.replies_read_to: int | None = None

    def run(self, *, look: bool, move: bool, reads: bool, is_hinted: bool, ends_at: float) -> Outcome:
        """One pass: `look` for messages that people moved; if it `is_hinted`, even if a glance shows no change. `move`
        messages that are due, or left over from the last pass. Raises ImapError, and OwnerChanged if another process
        owns the mailbox."""
        session = self._session
        session.ends_at, self._has_missed = ends_at, False
        if session.mailbox.state == "leaving":
            is_done = self._leave()
            return Outcome(is_done=is_done, goes_on=session.is_late and not is_done)
        is_listed = not session.folders
        if is_listed:
            self._list_folders()
        outcome = self._pass(look=look, move=move, is_hinted=is_hinted, is_listed=is_listed)
        if session.mailbox.is_closed or not (reads or self.replies_read_to is not None):
            return outcome
        return self._receive(outcome)

    def has_news(self) -> bool:
        """Whether a message has come into a folder that means a time since the last look. Also asks the server, if it
        can, to report changes of our folders during IDLE. To be called with the inbox selected, before IDLE: what the
        server tells of other folders during a pass is dropped."""
        session = self._session
        if not session.folders:
            return False
        reported = [session.ours.snoozed], [root.name for root in folder_meanings.snooze_roots(session.folders)]
        if reported != self._reported:
            session.imap.report_changes(reported[0], below=reported[1])
            self._reported = reported
        now = session.imap.statuses_below(self._prefixes()) or session.imap.statuses(list(self._uidnexts))
        # In a folder that is not listed yet, the first message has the UID 1.
        before = {folder.name: now[folder.name].uidnext for folder in session.folders if folder.name in now}
        before |= self._uidnexts
        return any(status.uidnext != before.get(name, 1) for name, status in now.items())

    def _prefixes(self) -> list[str]:
        roots = folder_meanings.snooze_roots(self._session.folders)
        return [root.name + (root.delimiter or "") for root in roots]

    def _pass(self, *, look: bool, move: bool, is_hinted: bool, is_listed: bool) -> Outcome:
        session = self._session
        looks = look and not session.mailbox.is_closed
        # Due messages come first, because a server may be slow to answer a glance.
        glance = self._take_glance() if looks and self._is_settled and not move else None
        if self._is_settled and not move and not (looks and (is_hinted or self._is_news(glance))):
            return Outcome(is_done=True)
        was_settled, self._is_settled = self._is_settled, False
        is_done, is_read = self._recover_and_move(), was_settled or session.mailbox.is_closed
        if move:
            is_done = self._put_away() and is_done
        if look and session.mailbox.is_closed:
            is_done = self._seek_missing()
        goes_on = self._owes_look = looks and session.is_late and not self._owes_look
        if looks and not goes_on:
            self._glance, self._glances = glance or self._take_glance(), 0
            if not is_listed:
                self._list_folders()
            goes_on, is_read = self._look()
            is_done = self._move()
        self._is_settled = is_done and is_read and not (goes_on or self._has_missed)
        return Outcome(is_done=is_done, goes_on=goes_on or (session.is_late and not is_done))

    def _receive(self, outcome: Outcome) -> Outcome:
        """Read new messages if a snooze waits for a reply, and answer the ledger's questions."""
        session = self._session
        self.replies_read_to = replies.receive(session)
        verify(session)
        if self.replies_read_to is None:
            return outcome
        is_done = self._move()
        self._is_settled = self._is_settled and is_done and not self._has_missed
        return replace(outcome, is_done=is_done, goes_on=outcome.goes_on or (session.is_late and not is_done))

    def _take_glance(self) -> object:
        """A value that changes whenever a message is moved in or out of a folder of ours, by one round trip."""
        session = self._session
        named = folder_meanings.snooze_folders(session.folders)
        digest = session.imap.digest([session.ours.snoozed], below=self._prefixes())
        self._glances += 1 if digest is not None else LISTED_EVERY // LISTED_EVERY_WITHOUT_DIGEST
        glance = digest or session.imap.statuses([session.ours.snoozed, *(folder.name for folder in named)])
        return glance, tuple(self._flagged())

    def _flagged(self) -> list[int]:
        """The messages with the flag that snoozes, if there is one. If the server refuses to list them, the look tries
        again.
        """
        flag, imap = self._session.mailbox.snooze_flag, self._session.imap
        if flag is None:
            return []
        try:
            imap.select(INBOX)
            return imap.flagged(flag)
        except ImapError:
            if not imap.alive:
                raise
            return []

    def _is_news(self, glance: object) -> bool:
        """Whether something changed. All folders are listed periodically in any case: a glance may not
        show new ones."""
        return glance != self._glance or self._glances >= LISTED_EVERY

    def _list_folders(self) -> None:
        session = self._session
        session.folders = session.imap.folders()
        ours = folder_meanings.snoozed_folder(session.folders)
        if ours is None or folder_meanings.snooze_root(session.folders) is None:
            session.ours = session.imap.create_folders([])
            session.folders = session.imap.folders()
        else:
            root = folder_meanings.snooze_root(session.folders)
            session.ours = OurFolders(snoozed=ours.name, root=root.name if root else "")

    def _look(self) -> tuple[bool, bool]:
        """Notice messages that people moved. Return whether there is more to read at once, and whether everything was
        read. A folder that cannot be read does not stop the others."""
        session = self._session
        self._has_read = False
        named = folder_meanings.snooze_folders(session.folders)
        # Read before the folders that mean a time: the next look compares with these, and notices what moves now.
        places = origins.read(session)
        now = session.imap.statuses([session.ours.snoozed, *(folder.name for folder in named)])
        self._uidnexts = {folder.name: now[folder.name].uidnext for folder in named if folder.name in now}
        changed = [folder for folder in named if folder.name in now and self._has_changed(folder.name, now)]
        changed = [folder for folder in changed if now[folder.name].messages]
        if changed:
            session.imap.select(session.ours.snoozed)
            session.snoozed_uids = frozenset(session.imap.uids())
        is_new = changed or self._has_changed(session.ours.snoozed, now)
        session.origin = INBOX
        if is_new:
            # The inbox is no longer selected. While it is, some servers count messages that have left it.
            places = origins.read(session)
            session.origin = origins.origin(self._places, places)
        self._places = places
        refused: set[str] = set()
        unread = {folder.name for folder in changed if not self._notice(folder, refused)}
        checks = is_new or self._is_missing_any()
        if checks and not self._check_snoozed(now.get(session.ours.snoozed), named={folder.name for folder in named}):
            unread.add(session.ours.snoozed)
        if not self._look_at_flags(refused):
            unread.add(INBOX)
        self._seen = {name: status for name, status in now.items() if name not in unread | refused}
        return bool(unread), not unread and not refused and not self._is_missing_any()

    def _notice(self, folder: Folder, refused: set[str]) -> bool:
        """Return False if there is more to read; folders that the server does not let us read are added
        to `refused`."""
        return self._try(lambda: notice(self._session, folder), folder.name, refused)

    def _look_at_flags(self, refused: set[str]) -> bool:
        """As `_notice` for messages that got the flag that snoozes."""
        return self._try(lambda: notice_flagged(self._session), INBOX, refused)

    def _try(self, read: Callable[[], bool], name: str, refused: set[str]) -> bool:
        if self._session.is_late and self._has_read:
            return False
        self._has_read = True
        try:
            return read()
        except ImapError as error:
            if not self._session.imap.alive:
                raise
            log.warning("a folder of mailbox %d is left out: %s", self._session.mailbox.id, error.code)
            refused.add(name)
            return True

    def _has_changed(self, name: str, now: Mapping[str, Status]) -> bool:
        return name not in now or now[name] != self._seen.get(name)

    def _check_snoozed(self, status: Status | None, *, named: set[str]) -> bool:
        """Compare the entries of snoozed messages with the folder's contents; return whether all were handled. Messages
        that a person moved from there into a folder that means a time (`named`) were already followed; other missing
        messages were taken out, and are sought."""
        session = self._session
        name = session.ours.snoozed
        if status is not None and not status.messages:
            here, session.snoozed_uids = Place(name, status.uidvalidity), frozenset()
        else:
            here = Place(name, session.imap.select(name).uidvalidity)
            session.snoozed_uids = frozenset(session.imap.uids())
        with session.reading() as connection:
            entries = mailbox_store.list_snoozed(connection, mailbox_id=session.mailbox.id)
        entries = [entry for entry in entries if entry.place == "missing" or entry.folder not in named]
        # A missing message that reappears is entered again, even under its old UID.
        kept = {entry.id for entry in entries if entry.place == "snoozed" and _is_at(entry, here)}
        there = {entry.uid for entry in entries if entry.id in kept} & session.snoozed_uids
        rest = [entry for entry in entries if entry.id not in kept or entry.uid not in there]
        heads = [head for head in session.imap.heads(sorted(session.snoozed_uids - there)) if not head.deleted]
        found = moves.match(rest, heads)
        moves.settle(session, found, where="snoozed", place=here)
        lost = [entry for entry in rest if entry.id not in found]
        if lost:
            self._seek(lost)
        strangers = [head for head in heads if head.uid not in found.values()]
        return not strangers or notice_by_hand(session, name, strangers, uidvalidity=here.uidvalidity or 0)

    def _seek(self, lost: Sequence[Entry]) -> None:
        self._has_missed = True
        seek(self._session, lost)

    def _seek_missing(self) -> bool:
        """When looks have stopped, missing messages that reappear still return. Returns the same as `_move`."""
        missing = [entry for entry in self._work() if entry.place == "missing"]
        if missing:
            self._seek(missing)
        return self._move()

    def _is_missing_any(self) -> bool:
        return any(entry.place == "missing" for entry in self._work())

    def _recover_and_move(self) -> bool:
        """Lost messages are sought last, because searching takes time."""
        work = self._work()
        lost = self._recover(work)
        is_done = not work or self._move(at_least_once=True)
        if lost:
            self._seek(lost)
            is_done = self._move()
        return is_done

    def _put_away(self) -> bool:
        """Find and move the messages of snoozes that programs made; return whether everything is in its place."""
        above, is_done = search(self._session, above=0), True
        while above is not None:
            is_done = self._move()
            above = None if self._session.is_late else search(self._session, above=above)
        return is_done

    def _recover(self, work: Sequence[Entry]) -> list[Entry]:
        begun = [entry for entry in work if entry.moving_to is not None]
        lost = moves.recover(self._session, begun)
        forget_given_back(self._session, begun)
        return lost

    def _move(self, *, at_least_once: bool = False) -> bool:
        """Move until everything is in its place, or no more messages move; return whether all are. With
        `at_least_once`, move even if the turn's time is over: otherwise a slow server would return no messages at all.
        """
        before: list[Entry] | None = None
        while True:
            work = [entry for entry in self._work() if entry.moving_to is None and entry.place != "missing"]
            is_over = self._session.is_late and not (at_least_once and before is None)
            if not work or work == before or is_over:
                return not work
            before = work
            lost = self._move_each(work)
            if lost:
                self._seek(lost)

    def _move_each(self, work: Sequence[Entry]) -> list[Entry]:
        away = [entry for entry in work if entry.place in ("snoozed", "aside")]
        back = [entry for entry in away if entry.is_due or entry.wanted == "home"]
        out = [entry for entry in work if self._is_to_be_hidden(entry)]
        aside = [entry for entry in work if entry.wanted == "aside" and entry.place != "aside" and not entry.is_due]
        again = [entry for entry in work if entry.place == "home" and entry.is_due]
        if again:
            moves.surface(self._session, again)
        deleted = moves.marked_as_deleted(self._session, back)
        for entry in deleted:
            if entry.place == "aside":
                let_go(self._session, entry)
            else:
                release(self._session, entry, because="gone")
        back = [entry for entry in back if entry not in deleted]
        moves.describe(self._session, out)
        if out and self._session.mailbox.brings_back == "reminder":
            moves.put_away(self._session, out)  # They are moved with what goes back, in the next round.
            out = []
        lost = moves.move(self._session, back, to="home")
        forget_given_back(self._session, back)
        lost += moves.move(self._session, out, to="snoozed")
        lost += moves.move(self._session, aside, to="aside")
        if any(entry.place == "home" for entry in out + aside):
            self._places = origins.read(self._session)
        return lost

    def _is_to_be_hidden(self, entry: Entry) -> bool:
        """Also true for messages in a folder that means a time: they move on into the folder of snoozed messages."""
        is_hidden = entry.place == "missing" or _is_in(entry, self._session.ours.snoozed)
        return entry.wanted == "snoozed" and not entry.is_due and not is_hidden

    def _work(self) -> list[Entry]:
        with self._session.reading() as connection:
            return mailbox_store.list_work(
                connection,
                mailbox_id=self._session.mailbox.id,
                snoozed_folder=self._session.ours.snoozed,
                batch_size=BATCH_SIZE,
            )

    def _leave(self) -> bool:
        """Bring everything back, then delete the mailbox."""
        session = self._session
        with session.transaction() as connection:
            mailbox_store.leave(connection, mailbox_id=session.mailbox.id, fence=session.fence)
        self._list_folders()
        self._recover_and_move()
        self._seek_missing()
        with session.transaction() as connection:
            return mailbox_leases.remove(connection, id=session.mailbox.id, fence=session.fence)


def _is_in(entry: Entry, folder: str) -> bool:
    return entry.place == "snoozed" and entry.folder == folder


def _is_at(entry: Entry, place: Place) -> bool:
    return (entry.folder, entry.uidvalidity) == (place.name, place.uidvalidity)
