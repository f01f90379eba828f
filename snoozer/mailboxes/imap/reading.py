"""Lists of messages in the selected folder, and parts of a message, for a page. No message is marked as read."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from imapclient.response_types import BodyData

from snoozer.mail.headers import thread_ids
from snoozer.mail.snippet import snippet, snippet_of_part
from snoozer.mail.structure import Headers
from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.imap.messages import (
    HEAD_ITEMS,
    Head,
    batches,
    head_of,
    heads,
    is_head,
    search,
    uid_set,
    uids_from,
    word,
)
from snoozer.mailboxes.imap.session import Reply, Session, fetched_leniently, quoted
from snoozer.mailboxes.imap.threads import MAX_UIDS, by_ids, read_trees, thread_command

# How far around a page to look for the rest of its conversations.
THREAD_REACH = 1_000
# The same for a search, for which a server may read each header again.
SEARCH_REACH = 300
# Asked for conversations, a server reads the whole folder the first time: this many messages take a few seconds.
MAX_THREADED = 20_000
MAX_CONVERSATION = 100
_ITEMS = HEAD_ITEMS.removesuffix(b")") + b" BODYSTRUCTURE)"
# Bytes of the first text to fetch with it, for servers that make no snippets themselves (RFC 8970).
_START_BYTES = 2_048
_MAX_PARTS = 200
_SIGNATURES = frozenset({"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"})


@dataclass(frozen=True, kw_only=True)
class PartInfo:
    """A part that is no multipart. `number` is what servers call it: 1, 2.1. `size` is as transferred."""

    number: str
    type: str
    charset: str | None
    name: str | None
    disposition: str | None
    content_id: str | None
    encoding: str
    size: int

    @property
    def is_attachment(self) -> bool:
        """Whether people regard it as a file, and not as text or a picture within the text."""
        if self.disposition == "attachment":
            return self.type not in _SIGNATURES
        if self.type.startswith("text/"):
            return self.name is not None and self.type not in ("text/plain",)
        is_picture_within = self.type.startswith("image/") and self.content_id is not None
        return self.type not in _SIGNATURES and not is_picture_within


@dataclass(frozen=True)
class Listed:
    """A message in a list: its head, its number in the folder, its parts and the beginning of its text, if the server
    reports them."""

    head: Head
    number: int
    parts: tuple[PartInfo, ...]
    snippet: str | None = None

    @property
    def charset(self) -> str | None:
        """The charset of its first text, which raw header fields most likely use, too."""
        return next((part.charset for part in self.parts if part.charset), None)

    @property
    def has_attachments(self) -> bool:
        return any(part.is_attachment for part in self.parts)


@dataclass(frozen=True)
class Window:
    """Messages with consecutive numbers, ascending. `trees` are the UIDs of each conversation in and around it; None if
    the server was not asked, or cannot report them."""

    listed: list[Listed]
    trees: list[frozenset[int]] | None


def window(session: Session, first: int, last: int, *, exists: int, threads: bool) -> Window:
    """The messages with these numbers in the folder, of `exists`: one round trip."""
    commands: list[tuple[bytes, ...]] = [(b"FETCH", b"%d:%d" % (first, last), _listed_items(session))]
    thread = thread_command(session) if threads and exists <= MAX_THREADED else None
    if thread is not None:
        around = b"%d:%d" % (max(1, first - THREAD_REACH), min(exists, last + THREAD_REACH))
        commands.append((*thread, around, b"UNDELETED"))
    shown, *threaded = session.run_at_once(commands)
    listed = _listed(session, shown) if shown.ok else _one_by_one(session, first, last, shown)
    trees = read_trees(threaded[0]) if threaded and threaded[0].ok else None
    return Window(listed, trees)


def listed(session: Session, uids: Iterable[int]) -> list[Listed]:
    """The existing messages with these UIDs, ascending."""
    found: list[Listed] = []
    for batch in batches(uids):
        reply = session.run("FETCH", uid_set(batch), _listed_items(session), uid=True)
        wanted = frozenset(batch)
        if reply.ok:
            found += [each for each in _listed(session, reply) if each.head.uid in wanted]
        else:
            found += _without_parts(heads(session, batch))
    return sorted(found, key=lambda each: each.head.uid)


def start_of(session: Session, uid: int, *, size: int) -> tuple[Listed, bytes] | None:
    """A message with its parts and the first `size` bytes of it; None when it is not there."""
    reply = session.run("FETCH", b"%d" % uid, _ITEMS.removesuffix(b")") + b" BODY.PEEK[]<0.%d>)" % size, uid=True)
    values = fetched_leniently(reply).get(uid, {}) if reply.ok else {}
    original = values.get(b"BODY[]<0>", values.get(b"BODY[]"))
    if is_head(values) and isinstance(original, bytes):
        return _one(values), original[:size]
    return _start_without_parts(session, uid, size=size)


def _start_without_parts(session: Session, uid: int, *, size: int) -> tuple[Listed, bytes] | None:
    """Fetch the beginning of a message whose parts the server cannot report."""
    found = _without_parts(heads(session, [uid]))
    original = fetch_section(session, uid, "", size=size) if found else None
    return None if original is None else (found[0], original)


def fetch_section(session: Session, uid: int, section: str, *, size: int) -> bytes | None:
    """At most `size` bytes of a section: a part's number, "2.MIME", or "" for the whole message. None if it does not
    exist."""
    item = b"(UID BODY.PEEK[%s]<0.%d>)" % (section.encode("ascii"), size)
    reply = session.run("FETCH", b"%d" % uid, item, uid=True)
    if not reply.ok:
        raise ImapError.from_reply("refused to show a message", reply.text)
    values = fetched_leniently(reply).get(uid, {})
    found = (value for name, value in values.items() if name.startswith(b"BODY[") and isinstance(value, bytes))
    # A server may send more than it was asked for.
    return next((value[:size] for value in found), None)


def conversation(session: Session, uid: int, *, number: int, exists: int, ids: Sequence[str]) -> list[int]:
    """The UIDs of the messages that belong together with one, itself included, near it in its folder. `ids` are its own
    Message-ID and the ids that it refers to."""
    thread = thread_command(session) if exists <= MAX_THREADED else None
    reach = SEARCH_REACH if thread is None else THREAD_REACH
    around = b"%d:%d" % (max(1, number - reach), max(1, min(exists, number + reach)))
    if thread is not None:
        [reply] = session.run_at_once([(*thread, around, b"UNDELETED")])
        trees = read_trees(reply) if reply.ok else []
        tree = next((tree for tree in trees if uid in tree), frozenset((uid,)))
        return sorted(sorted(tree, key=lambda each: abs(each - uid))[:MAX_CONVERSATION])
    if not ids:
        return [uid]
    near = heads(session, search(session, around, b"UNDELETED", *_naming(ids))[:MAX_CONVERSATION])
    trees = by_ids({head.uid: ids_of(head) for head in near})
    return sorted(next((tree for tree in trees if uid in tree), {uid}))


def conversations(session: Session, uids: Collection[int]) -> list[frozenset[int]]:
    """The conversations of messages of the selected folder, each with its older messages, wherever they are in the
    folder; those near it if the server knows no conversations. A message that has no others is a conversation by
    itself."""
    there = [uid for uid in uids_from(session, 0) if uid <= max(uids)]
    thread = thread_command(session) if len(there) <= MAX_THREADED else None
    if thread is not None and there:
        [reply] = session.run_at_once([(*thread, b"UID", b"1:%d" % there[-1], b"UNDELETED")])
        trees = read_trees(reply, most=MAX_THREADED) if reply.ok else []
    else:
        there = there[max(0, bisect_left(there, min(uids)) - SEARCH_REACH) :][-MAX_UIDS:]
        trees = by_ids({head.uid: ids_of(head) for head in heads(session, there) if not head.deleted})
    older = frozenset(there)
    found = [frozenset(sorted(tree & older)[-MAX_CONVERSATION:]) for tree in trees if not tree.isdisjoint(uids)]
    return found + [frozenset((uid,)) for uid in uids if not any(uid in tree for tree in found)]


def ids_of(head: Head) -> tuple[str, ...]:
    """The ids that a message refers to, with its own last."""
    return thread_ids(head.references or head.in_reply_to, head.message_id)


def _naming(ids: Sequence[str]) -> list[bytes]:
    """Criteria for messages that have or refer to the first, or the last two of these ids."""
    chosen = list(dict.fromkeys([ids[0], *ids[-2:]]))
    tests = [[b"HEADER", field, quoted(id)] for id in chosen for field in (b"Message-ID", b"References")]
    return [b"OR"] * (len(tests) - 1) + [each for test in tests for each in test]


def _listed(session: Session, reply: Reply) -> list[Listed]:
    """Parse a list of messages; fetch again, without its parts, any that cannot be parsed, so that it does not hide the
    rest.
    """
    shown = fetched_leniently(reply)
    found = {uid: _one(values) for uid, values in shown.items() if is_head(values)}
    unread = shown.keys() - found.keys()
    found |= {each.head.uid: each for each in (_without_parts(heads(session, unread)) if unread else ())}
    return [found[uid] for uid in sorted(found)]


def _one_by_one(session: Session, first: int, last: int, reply: Reply) -> list[Listed]:
    """The server refused to show the whole range: fetch what it can show by halves, without the parts."""
    error = ImapError.from_reply("refused to show messages", reply.text)
    if error.code != "protocol":
        raise error
    return _without_parts(heads(session, search(session, b"%d:%d" % (first, last))))


def _without_parts(found: Iterable[Head]) -> list[Listed]:
    return [Listed(head, 0, ()) for head in found]


def _listed_items(session: Session) -> bytes:
    """Fetch both: Cyrus offers PREVIEW and returns none."""
    preview = b" PREVIEW" if session.has_capability("PREVIEW") else b""
    return _ITEMS.removesuffix(b")") + preview + b" BODY.PEEK[1]<0.%d>)" % _START_BYTES


def _one(values: dict[bytes, Any]) -> Listed:
    parts = parts_of(values.get(b"BODYSTRUCTURE"))
    return Listed(head_of(values[b"UID"], values), int(values.get(b"SEQ") or 0), parts, _snippet(values, parts))


def _snippet(values: dict[bytes, Any], parts: Sequence[PartInfo]) -> str | None:
    """The server's own snippet, or the beginning of the first part if that is text."""
    if isinstance(preview := values.get(b"PREVIEW"), bytes):
        return snippet(preview.decode("utf-8", "replace"))
    start = values.get(b"BODY[1]<0>", values.get(b"BODY[1]"))
    if not isinstance(start, bytes) or not parts or parts[0].is_attachment or not parts[0].type.startswith("text/"):
        return None
    first = parts[0]
    content = _within(start[:_START_BYTES], depth=first.number.count("."))
    return snippet_of_part(content, type=first.type, encoding=first.encoding, charset=first.charset)


def _within(start: bytes, *, depth: int) -> bytes:
    """The first leaf of a nested part: after the boundary and the header of each level, and before the
    next boundary."""
    for _ in range(depth):
        _, _, start = start.partition(b"--")
        boundary, _, rest = start.partition(b"\n")
        _, _, start = (b"\n" + rest.replace(b"\r\n", b"\n")).partition(b"\n\n")
        start, _, _ = start.partition(b"\n--" + boundary.strip())
    return start


def parts_of(structure: object) -> tuple[PartInfo, ...]:
    """The leaves of a BODYSTRUCTURE; empty if it cannot be parsed."""
    found: list[PartInfo] = []
    try:
        for part in _leaves(structure, ""):
            found.append(part)
            if len(found) >= _MAX_PARTS:
                break
    except (IndexError, TypeError, ValueError, AttributeError, RecursionError):
        pass
    return tuple(found)


def _leaves(structure: Any, number: str) -> Iterator[PartInfo]:
    if not isinstance(structure, BodyData):
        return
    if structure.is_multipart:
        for index, part in enumerate(structure[0], start=1):
            yield from _leaves(part, f"{number}.{index}" if number else str(index))
        return
    yield _leaf(structure, number or "1")


def _leaf(structure: Sequence[Any], number: str) -> PartInfo:
    kind = f"{word(structure[0])}/{word(structure[1])}".lower()
    # Embedded messages and texts have extra fields before the common ones (RFC 3501 §7.4.2).
    before = 3 if kind == "message/rfc822" else 1 if kind.startswith("text/") else 0
    placed = structure[8 + before] if len(structure) > 8 + before else None
    disposition, named = (word(placed[0]).lower(), placed[1]) if isinstance(placed, tuple) else (None, ())
    parameters = structure[2]
    head = Headers((("content-disposition", _field("x", named)), ("content-type", _field(kind, parameters))))
    return PartInfo(
        number=number,
        type=kind,
        charset=head.parameter("content-type", "charset"),
        name=head.filename,
        disposition=disposition,
        content_id=None if structure[3] is None else word(structure[3]).strip("<> "),
        encoding=word(structure[5]).lower(),
        size=int(structure[6] or 0),
    )


def _field(value: str, parameters: object) -> bytes:
    """A header field with its parameters, as it stood in the message."""
    if not isinstance(parameters, tuple):
        return value.encode("utf-8", "surrogateescape")
    pairs = zip(parameters[::2], parameters[1::2], strict=False)
    text = value + "".join(f'; {word(name)}="{_escaped(word(given))}"' for name, given in pairs)
    return text.encode("utf-8", "surrogateescape")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
