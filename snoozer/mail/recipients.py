"""To and Cc of any message: lists of mailboxes, split without parsing the mailboxes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from snoozer.mail.headers import Sender, decode_plain, sender

MAX_LENGTH = 20_000
MAX_RECIPIENTS = 100

# The tokens of a list of mailboxes: an encoded word, a quoted string, a comment or an address in angle brackets, all
# indivisible; a run of other characters, or a single one. Their lengths are limited, so that a list takes linear time.
_PIECE = re.compile(
    r'=\?[^?\s]{1,60}\?[bBqQ]\?[^?\s]{0,500}\?=|"(?:[^"\\]|\\.){0,300}"|\([^()]{0,300}\)|<[^<>]{0,300}>'
    r'|(?:(?!=\?)[^"(<,;:])+|.',
    re.DOTALL,
)


@dataclass(frozen=True)
class Recipients:
    """The mailboxes of a To or Cc header, as declared, and how many more follow; `cut` if even that count is
    incomplete."""

    mailboxes: tuple[Sender, ...] = ()
    more: int = 0
    cut: bool = False


def recipients(raw: bytes, *, fallback: str | None = None) -> Recipients:
    """The mailboxes of a To or Cc header, without the names of groups; each as in `sender`."""
    text = decode_plain(raw[:MAX_LENGTH].decode("utf-8", "surrogateescape"), fallback)
    members = [member for member in _members(text) if member.strip()]
    cut = len(raw) > MAX_LENGTH
    if cut:
        # A truncated address would be another address.
        members = members[:-1]
    found = [sender(member, fallback=fallback) for member in members[:MAX_RECIPIENTS]]
    more = len(members) - MAX_RECIPIENTS
    return Recipients(tuple(one for one in found if one.name or one.email), more=max(0, more), cut=cut)


def _members(text: str) -> Iterator[str]:
    """Split a list of mailboxes. A comma in an unquoted name does not split: Doe, Ann <ann@a.example>."""
    member: list[str] = []
    is_addressed = False
    for piece in _PIECE.findall(text):
        if piece in ",;" and (is_addressed or not member):
            yield "".join(member)
            member, is_addressed = [], False
        elif piece == ":" and not is_addressed:
            member = []
        else:
            member.append(piece)
            is_addressed = is_addressed or piece[0] == "<" or (piece[0] not in '"(=' and "@" in piece)
    yield "".join(member)
