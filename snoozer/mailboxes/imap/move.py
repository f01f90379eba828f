"""Move messages between folders so that each is in a folder at every moment, and prove that they arrived.

Three ways only: UID MOVE; else UID COPY, \\Deleted and UID EXPUNGE; else UID COPY and \\Deleted. Never a bare EXPUNGE
or CLOSE: they destroy messages that other programs have marked. A server's OK is no proof: a message counts as moved if
COPYUID names it, or if it is seen in the target and no longer in the source.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from snoozer.mailboxes.imap import folders
from snoozer.mailboxes.imap.errors import ImapError, response_codes
from snoozer.mailboxes.imap.find import MAX_LOOKED_AT, is_same
from snoozer.mailboxes.imap.messages import (
    BATCH,
    DELETED,
    Fingerprint,
    batches,
    change_flag,
    existing,
    heads,
    uid_set,
    uids_from,
)
from snoozer.mailboxes.imap.session import MAX_NUMBER, Reply, Session, quoted
from snoozer.runtime.failpoint import FailpointHook

_RANGE = re.compile(rb"(\d{1,10})(?::(\d{1,10}))?")

OnCopied = Callable[[Mapping[int, int]], None]

# After these codes a retry by COPY would fail in the same way.
_NO_USE_TO_COPY = frozenset({"no_folder", "quota", "throttled"})


@dataclass(frozen=True)
class Place:
    """A folder by its raw name, and its state when its UIDs were read. Without `uidvalidity` it is not compared."""

    name: str
    uidvalidity: int | None


@dataclass(frozen=True)
class Arrival:
    """The outcome for one message.

    `moved`: it is in the target under `uid`. `gone`: it was not in the source. `stayed`: it still is. `unknown`: it has
    left the source, and cannot be distinguished from others in the target.
    """

    outcome: Literal["moved", "gone", "stayed", "unknown"]
    uid: int | None = None


@dataclass
class Mover:
    """One move. `select` opens a folder unless it is the selected one."""

    session: Session
    select: Callable[[str], folders.Selected]
    source: Place
    target: Place
    known: Mapping[int, Fingerprint] | None
    on_copied: OnCopied | None
    failpoint: FailpointHook
    _fingerprints: dict[int, Fingerprint] = field(default_factory=dict)
    _uidnext: int = 0
    _can_delete: bool = True

    def move(self, uids: Iterable[int]) -> dict[int, Arrival]:
        """Return the outcome for each UID. Raise ImapError before anything is changed if a folder is not as expected,
        and in the middle if the connection dies."""
        wanted = sorted(set(uids))
        self._compare_folders()
        arrivals = {uid: Arrival("gone") for uid in wanted}
        for batch in batches(wanted):
            arrivals |= self._move_batch(self._look_at(batch))
        return arrivals

    def _compare_folders(self) -> None:
        opened = self.select(self.source.name)
        require_same(self.source, opened.uidvalidity)
        self._can_delete = opened.can_delete
        found = folders.statuses(self.session, [self.target.name]).get(self.target.name)
        if found is None:
            raise ImapError("no_folder", "The folder that messages are to be moved to is not there.")
        require_same(self.target, found.uidvalidity)
        self._uidnext = found.uidnext

    def _look_at(self, batch: Sequence[int]) -> list[int]:
        """Return the UIDs that exist, and note the fingerprint of each."""
        known = self.known or {}
        unknown = [uid for uid in batch if uid not in known]
        fetched = {head.uid: head.fingerprint for head in heads(self.session, unknown)}
        self._fingerprints = {uid: known[uid] for uid in batch if uid in known} | fetched
        there = existing(self.session, [uid for uid in batch if uid in known]) | fetched.keys()
        return sorted(there)

    def _move_batch(self, uids: Sequence[int]) -> dict[int, Arrival]:
        if not uids:
            return {}
        if not self.session.has_capability("MOVE"):
            return self._copy_and_delete(uids)
        reply = self.session.run("MOVE", uid_set(uids), quoted(self.target.name), uid=True)
        if reply.ok:
            self._pass("imap_moved", uids)
            return self._verified(uids, copyuids(reply))
        error = ImapError.from_reply("refused to move messages", reply.text)
        codes = response_codes(reply.text)
        if error.code in _NO_USE_TO_COPY or "NOPERM" in codes:
            raise error
        # A server may have moved some messages before it refused.
        moved = copyuids(reply)
        left = sorted(existing(self.session, uids))
        arrivals = self._verified([uid for uid in uids if uid not in left], moved)
        if "EXPUNGEISSUED" in codes:
            return arrivals | {uid: Arrival("stayed") for uid in left}
        return arrivals | (self._copy_and_delete(left) if left else {})

    def _verified(self, uids: Sequence[int], proven: Mapping[int, int]) -> dict[int, Arrival]:
        """Check a MOVE: search for messages without a COPYUID in the source, then in the target."""
        arrivals = {uid: Arrival("moved", proven[uid]) for uid in uids if uid in proven}
        doubtful = [uid for uid in uids if uid not in proven]
        if not doubtful:
            return arrivals
        stayed = existing(self.session, doubtful)
        left = [uid for uid in doubtful if uid not in stayed]
        found = self._seen_in_target(left, taken=proven.values()) if left else {}
        arrivals |= {uid: Arrival("stayed") for uid in stayed}
        return arrivals | {uid: Arrival("moved", found[uid]) if uid in found else Arrival("unknown") for uid in left}

    def _copy_and_delete(self, uids: Sequence[int]) -> dict[int, Arrival]:
        """Delete originals only after their copies are proven."""
        if not self._can_delete:
            raise ImapError("denied", "The mail server lets no message be taken out of this folder.")
        reply = self.session.run("COPY", uid_set(uids), quoted(self.target.name), uid=True)
        if not reply.ok:
            return self._not_copied(reply, uids)
        self._pass("imap_copied", uids)
        copied = copyuids(reply)
        doubtful = [uid for uid in uids if uid not in copied]
        if doubtful:
            copied |= self._seen_in_target(doubtful, taken=copied.values())
        if self.on_copied is not None and copied:
            self.on_copied(copied)
        originals = sorted(uid for uid in uids if uid in copied)
        delete(self.session, originals, after_flag=lambda: self._pass("imap_flagged", originals))
        self._pass("imap_moved", originals)
        there = existing(self.session, doubtful) if doubtful else set()
        return {uid: self._copy_of(uid, copied, there) for uid in uids}

    def _not_copied(self, reply: Reply, uids: Sequence[int]) -> dict[int, Arrival]:
        """COPY is all or nothing; a message that another program has just expunged is no reason to give up."""
        if "EXPUNGEISSUED" not in response_codes(reply.text):
            raise ImapError.from_reply("refused to copy messages", reply.text)
        there = existing(self.session, uids)
        return {uid: Arrival("stayed" if uid in there else "gone") for uid in uids}

    def _copy_of(self, uid: int, copied: Mapping[int, int], there: set[int]) -> Arrival:
        if uid in copied:
            return Arrival("moved", copied[uid])
        return Arrival("stayed" if uid in there else "gone")

    def _seen_in_target(self, uids: Sequence[int], *, taken: Iterable[int]) -> dict[int, int]:
        """The new UIDs of messages that have arrived since the move began; the source is selected again after it.

        Messages that cannot be distinguished are matched in their order, if as many have arrived as have left.
        """
        self.select(self.target.name)
        new = [head for head in heads(self.session, self._newest()) if not head.deleted]
        self.select(self.source.name)
        free = [head for head in new if head.uid not in set(taken)]
        found: dict[int, int] = {}
        for known, alike in self._alike(uids):
            arrived = [head.uid for head in free if is_same(head, known)]
            exact = [head.uid for head in free if is_same(head, known) and head.fingerprint.sha256 == known.sha256]
            if len(exact) >= len(alike):
                # More arrived than were sent: another program copied the same message at the same time.
                found |= dict(zip(alike, exact[-len(alike) :], strict=True))
            elif len(arrived) == len(alike):
                found |= dict(zip(alike, arrived, strict=True))
        return found

    def _newest(self) -> list[int]:
        """The UIDs that are new in the target; without UIDNEXT, the newest few thousand."""
        return uids_from(self.session, self._uidnext)[-MAX_LOOKED_AT:]

    def _alike(self, uids: Sequence[int]) -> Iterator[tuple[Fingerprint, list[int]]]:
        groups: dict[tuple[str | None, str], list[int]] = defaultdict(list)
        for uid in uids:
            known = self._fingerprints[uid]
            groups[known.message_id, known.sha256].append(uid)
        for alike in groups.values():
            yield self._fingerprints[alike[0]], alike

    def _pass(self, step: str, uids: Iterable[int]) -> None:
        for uid in uids:
            self.failpoint(step, self._fingerprints[uid].message_id or "")


def delete(session: Session, uids: Sequence[int], *, after_flag: Callable[[], None] | None = None) -> None:
    """Mark messages of the selected folder as deleted, and expunge only these if the server can."""
    change_flag(session, uids, DELETED, add=True)
    if after_flag is not None:
        after_flag()
    if not session.has_capability("UIDPLUS"):
        return
    for batch in batches(uids):
        reply = session.run("EXPUNGE", uid_set(batch), uid=True)
        if not reply.ok:
            # They are marked as deleted, which our own pages treat as gone.
            return


def copyuids(reply: Reply) -> dict[int, int]:
    """Old and new UIDs by COPYUID, which comes in the tagged reply or before it (RFC 4315, RFC 6851)."""
    found: dict[int, int] = {}
    for value in reply.untagged.get("COPYUID", [])[:BATCH]:
        words = value.split() if isinstance(value, bytes) else []
        if len(words) == 3:
            old, new = _uids_of(words[1]), _uids_of(words[2])
            if len(old) == len(new):
                found |= dict(zip(old, new, strict=True))
    return found


def _uids_of(numbers: bytes) -> list[int]:
    """The UIDs of a set in its order; empty if it is no valid set, or larger than what we ask for."""
    found: list[int] = []
    for part in numbers.split(b",")[: BATCH + 1]:
        found_range = _RANGE.fullmatch(part)
        if found_range is None:
            return []
        low, high = sorted((int(found_range[1]), int(found_range[2] or found_range[1])))
        if low < 1 or high > MAX_NUMBER or len(found) + high - low >= BATCH:
            return []
        found.extend(range(low, high + 1))
    return found


def require_same(place: Place, uidvalidity: int) -> None:
    """Raise ImapError (`uidvalidity`) if the folder's UIDs now mean other messages."""
    if place.uidvalidity is not None and place.uidvalidity != uidvalidity:
        raise ImapError("uidvalidity", "The mail server has renumbered the messages of a folder.")
