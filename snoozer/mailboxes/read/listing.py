"""One page of a folder, or of a search in it, read from its server in at most two round trips."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from snoozer.db.queries import Found as DatabaseRow
from snoozer.db.queries.messages import MAX_BACK
from snoozer.mailboxes import search_terms
from snoozer.mailboxes.imap.connection import Connection
from snoozer.mailboxes.imap.folders import Selected
from snoozer.mailboxes.imap.reading import Listed, ids_of
from snoozer.mailboxes.imap.search import FIELDS, Field
from snoozer.mailboxes.imap.threads import by_ids
from snoozer.mailboxes.read.keys import Cursor, MessageKey
from snoozer.mailboxes.search_terms import Term

# Hidden messages may fill a page: then the previous window is read, too.
MAX_WINDOWS = 3


@dataclass(frozen=True, kw_only=True)
class Found:
    """Messages, the newest first, in a folder as it was then. With conversations, `members` are the UIDs of the one
    that each message stands for. `back` are the pinned messages: they returned and are still unread."""

    uidvalidity: int
    uidnext: int
    messages: list[Listed]
    members: dict[int, frozenset[int]]
    read: dict[int, Listed]
    next: Cursor | None
    total: int | None
    back: list[Listed] = field(default_factory=list)


def read_folder(
    connection: Connection,
    folder: str,
    *,
    after: Cursor | None,
    hidden: Collection[int],
    threads: bool,
    size: int,
    back: Sequence[MessageKey] = (),
) -> Found:
    """The newest `size` messages, or as many before `after`. Unread messages of `back` are pinned to the first page,
    and appear on no other page. Raises ImapError."""
    opened = connection.examine(folder)
    after = after if after is not None and after.uidvalidity == opened.uidvalidity else None
    returned = _unread_of(connection, back, uidvalidity=opened.uidvalidity, hidden=hidden)
    hidden = {*hidden, *returned} if after is not None else hidden
    last = opened.exists if after is None else min(after.before, opened.exists)
    below = None if after is None else after.uid
    read: dict[int, Listed] = {}
    trees: list[frozenset[int]] | None = [] if threads else None
    lowest = below
    for _ in range(MAX_WINDOWS):
        if last < 1 or len(read) >= max(1, size // 3):
            break
        first = max(1, last - size + 1)
        window = connection.window(first, last, exists=opened.exists, threads=threads)
        lowest = min([each.head.uid for each in window.listed] + ([lowest] if lowest else []), default=None)
        read |= {each.head.uid: each for each in window.listed if _is_shown(each, below=below, hidden=hidden)}
        trees = None if window.trees is None or trees is None else [*trees, *window.trees]
        last = first - 1
    members = _conversations(read, trees, hidden=hidden) if threads else {}
    shown = [read[uid] for uid in sorted(read, reverse=True) if not threads or uid in members]
    ends = Cursor(opened.uidvalidity, lowest, last) if last >= 1 and lowest is not None else None
    above = [] if after is not None else _above(connection, returned, shown=shown, members=members, read=read)
    return Found(
        uidvalidity=opened.uidvalidity,
        uidnext=opened.uidnext,
        messages=shown,
        members=members,
        read=read | {each.head.uid: each for each in above},
        next=ends,
        total=opened.exists,
        back=above,
    )


def read_asleep(
    connection: Connection,
    folder: str,
    asleep: Sequence[DatabaseRow],
    *,
    entered: Callable[[int], set[int]] | None,
    size: int,
) -> Found:
    """The messages of these entries that lie in the folder of snoozed messages. With `entered`, which returns the UIDs
    of all entries there, also the newest messages without an entry. Raises ImapError."""
    opened = connection.examine(folder)
    uids = [row.uid for row in asleep if (row.folder, row.uidvalidity) == (folder, opened.uidvalidity)]
    if entered is not None:
        known = entered(opened.uidvalidity)
        uids += [uid for uid in connection.uids() if uid not in known][-size:] if opened.exists > len(known) else []
    listed = [each for each in connection.listed(uids) if not each.head.deleted]
    return Found(
        uidvalidity=opened.uidvalidity,
        uidnext=opened.uidnext,
        messages=listed[::-1],
        members={},
        read={each.head.uid: each for each in listed},
        next=None,
        total=opened.exists,
    )


def search_folder(
    connection: Connection, folder: str, terms: Sequence[Term[Field]], *, after: Cursor | None, size: int
) -> Found:
    """The newest messages that meet all terms, or those before `after`. Raises ImapError."""
    opened: Selected = connection.examine(folder)
    after = after if after is not None and after.uidvalidity == opened.uidvalidity else None
    uids = connection.search(terms, below=None if after is None else after.uid, most=size + 1)
    listed = connection.listed(uids[-size:])
    ends = Cursor(opened.uidvalidity, uids[-size]) if len(uids) > size else None
    return Found(
        uidvalidity=opened.uidvalidity,
        uidnext=opened.uidnext,
        messages=listed[::-1],
        members={},
        read={each.head.uid: each for each in listed},
        next=ends,
        total=None,
    )


def terms_of(search: str | None) -> list[Term[Field]]:
    """Parse a search into at most MAX_TERMS terms; empty if there is no text."""
    return search_terms.parse(search or "", FIELDS)[: search_terms.MAX_TERMS]


def _unread_of(
    connection: Connection, back: Sequence[MessageKey], *, uidvalidity: int, hidden: Collection[int]
) -> list[int]:
    """The unread UIDs in their order, at most the number of pinned messages."""
    uids = [at.uid for at in back if at.uidvalidity == uidvalidity and at.uid not in hidden]
    unread = connection.unread(uids) if uids else ()
    return [uid for uid in uids if uid in unread][:MAX_BACK]


def _above(
    connection: Connection,
    returned: Sequence[int],
    *,
    shown: Sequence[Listed],
    members: Mapping[int, frozenset[int]],
    read: Mapping[int, Listed],
) -> list[Listed]:
    """Return the messages that are not yet on the page, alone or in a conversation."""
    on_page = {each.head.uid for each in shown}.union(*(members.get(each.head.uid, ()) for each in shown)) & read.keys()
    there = {each.head.uid: each for each in connection.listed([uid for uid in returned if uid not in on_page])}
    return [there[uid] for uid in returned if uid in there]


def _is_shown(each: Listed, *, below: int | None, hidden: Collection[int]) -> bool:
    uid = each.head.uid
    return not each.head.deleted and uid not in hidden and (below is None or uid < below)


def _conversations(
    read: dict[int, Listed],
    trees: Sequence[frozenset[int]] | None,
    *,
    hidden: Collection[int],
) -> dict[int, frozenset[int]]:
    """The UIDs of each conversation whose newest message is on this page, by that message. Uses the server's threads,
    or the ids in the messages of this page."""
    known = by_ids({uid: ids_of(each.head) for uid, each in read.items()}) if not trees else _joined(trees)
    visible = (frozenset(uid for uid in tree if uid not in hidden) for tree in known)
    found = {max(tree): tree for tree in visible if tree}
    in_some = frozenset().union(*found.values())
    alone = {uid: frozenset((uid,)) for uid in read if uid not in in_some}
    return {uid: tree for uid, tree in (found | alone).items() if uid in read}


def _joined(trees: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Merge the conversations of several windows, so that each appears once."""
    found: dict[int, frozenset[int]] = {}
    for tree in trees:
        # Use each set once, not once for each of its UIDs.
        whole = tree.union(*{found[uid] for uid in tree if uid in found})
        found |= dict.fromkeys(whole, whole)
    return list(set(found.values()))
