"""Conversations: as the server reports them (RFC 5256), or by the ids in messages."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from snoozer.mailboxes.imap.session import Reply, Session

# REFS is REFERENCES without joining messages that only share a subject.
_ALGORITHMS = ("REFS", "REFERENCES")
# The largest number of UIDs in one request to a server; its reply is ignored beyond that.
MAX_UIDS = 5_000


def thread_command(session: Session) -> tuple[bytes, ...] | None:
    """The beginning of a command for conversations, by UID; None if the server has none."""
    for algorithm in _ALGORITHMS:
        if session.has_capability(f"THREAD={algorithm}"):
            return b"UID", b"THREAD", algorithm.encode("ascii"), b"UTF-8"
    return None


def read_trees(reply: Reply, *, most: int = MAX_UIDS) -> list[frozenset[int]]:
    """The UIDs of each conversation. A message is in one only, because joining overlaps takes quadratic time."""
    found: list[frozenset[int]] = []
    seen: set[int] = set()
    for row in reply.rows("THREAD"):
        text = row[-1] if row and isinstance(row[-1], bytes) else b""
        for uids in _top_level(text):
            if len(seen) + len(uids) > most:
                return found
            if alone := uids - seen:
                found.append(alone)
                seen |= alone
    return found


def _top_level(text: bytes) -> Iterator[frozenset[int]]:
    """Parse by counting brackets: a conversation may be nested too deep for a recursive parser."""
    depth, uids = 0, set[int]()
    for token in text.replace(b"(", b" ( ").replace(b")", b" ) ").split():
        if token == b"(":
            depth += 1
        elif token == b")":
            depth -= 1
            if depth == 0:
                yield frozenset(uids)
                uids = set()
        elif token.isdigit() and len(token) <= 10:
            uids.add(int(token))


def by_ids(messages: Mapping[int, Iterable[str]]) -> list[frozenset[int]]:
    """Conversations by the ids that each message has and refers to: two messages that share one belong together."""
    leader: dict[Any, Any] = {}

    def root(of: Any) -> Any:
        while leader.setdefault(of, of) != of:
            leader[of] = leader[leader[of]]
            of = leader[of]
        return of

    for uid, ids in messages.items():
        for id in ids:
            leader[root(id)] = root(uid)
    together: dict[Any, set[int]] = {}
    for uid in messages:
        together.setdefault(root(uid), set()).add(uid)
    return [frozenset(uids) for uids in together.values()]
