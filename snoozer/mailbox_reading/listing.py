"""One page of a folder, or of what a search finds in it, read from its server: at most two round trips for a page."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from snoozer.domain import search_terms
from snoozer.domain.search_terms import Term
from snoozer.imap.connection import Connection
from snoozer.imap.folders import Selected
from snoozer.imap.reading import Listed, ids_of
from snoozer.imap.search import FIELDS, Field
from snoozer.imap.threads import by_ids
from snoozer.mailbox_reading.keys import Cursor

# What is hidden may fill a page: then the ones before it are read, too.
MAX_WINDOWS = 3


@dataclass(frozen=True, kw_only=True)
class Found:
    """Messages, the newest first, in a folder as it was then. With conversations, `members` are the UIDs of the one
    that each message stands for."""

    uidvalidity: int
    uidnext: int
    messages: list[Listed]
    members: dict[int, frozenset[int]]
    read: dict[int, Listed]
    next: Cursor | None
    total: int | None


def read_folder(
    connection: Connection, folder: str, *, after: Cursor | None, hidden: Collection[int], threads: bool, size: int
) -> Found:
    """The newest `size` messages, or as many before `after`. Raises ImapError."""
    opened = connection.examine(folder)
    after = after if after is not None and after.uidvalidity == opened.uidvalidity else None
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
    return Found(
        uidvalidity=opened.uidvalidity,
        uidnext=opened.uidnext,
        messages=shown,
        members=members,
        read=read,
        next=ends,
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
    """What is searched for, by at most so many terms; nothing where nothing was typed."""
    return search_terms.parse(search or "", FIELDS)[: search_terms.MAX_TERMS]


def _is_shown(each: Listed, *, below: int | None, hidden: Collection[int]) -> bool:
    uid = each.head.uid
    return not each.head.deleted and uid not in hidden and (below is None or uid < below)


def _conversations(
    read: dict[int, Listed],
    trees: Sequence[frozenset[int]] | None,
    *,
    hidden: Collection[int],
) -> dict[int, frozenset[int]]:
    """By its newest message: the UIDs of each conversation, whose newest message is on this page. By the server's
    knowledge, or by the ids that the messages of this page name."""
    known = by_ids({uid: ids_of(each.head) for uid, each in read.items()}) if not trees else _joined(trees)
    visible = (frozenset(uid for uid in tree if uid not in hidden) for tree in known)
    found = {max(tree): tree for tree in visible if tree}
    in_some = frozenset().union(*found.values())
    alone = {uid: frozenset((uid,)) for uid in read if uid not in in_some}
    return {uid: tree for uid, tree in (found | alone).items() if uid in read}


def _joined(trees: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Of several windows around one place, each conversation once."""
    found: dict[int, frozenset[int]] = {}
    for tree in trees:
        # Each of them once, and not once for each of its UIDs.
        whole = tree.union(*{found[uid] for uid in tree if uid in found})
        found |= dict.fromkeys(whole, whole)
    return list(set(found.values()))
