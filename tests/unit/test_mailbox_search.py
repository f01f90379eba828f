"""What a person types into the search of a connected mailbox."""

import pytest

from snoozer.mailboxes.imap.search import Field, newest
from snoozer.mailboxes.imap.session import Reply
from snoozer.mailboxes.read.listing import terms_of
from snoozer.mailboxes.search_terms import Term


@pytest.mark.parametrize(
    ("typed", "terms"),
    [
        ("", ()),
        (' "" \x00 from: ', (Term("text", "from:"),)),
        ("From:Ann", (Term("from", "Ann"),)),
        ('subject:"two words" x', (Term("subject", "two words"), Term("text", "x"))),
        ('"no end', (Term("text", "no end"),)),
        ("a\tb\r\nc", tuple(Term("text", word) for word in "abc")),
        ("x" * 500, (Term("text", "x" * 100),)),
        (" ".join("abcdefghijkl"), tuple(Term("text", word) for word in "abcdefgh")),
    ],
)
def test_what_is_typed_is_read_as_terms(typed: str, terms: tuple[Term[Field], ...]) -> None:
    assert tuple(terms_of(typed)) == terms


def answer(uid_set: str) -> Reply:
    return Reply(ok=True, text=b"", untagged={"ESEARCH": [b'(TAG "A1") UID ALL ' + uid_set.encode()]})


@pytest.mark.parametrize(
    ("uid_set", "below", "uids"),
    [
        ("1:3,7,9", None, [3, 7, 9]),
        ("9,7,3:1", 9, [2, 3, 7]),
        ("1:5", 4, [1, 2, 3]),
        ("4294967295,0,1", None, [1, 2**32 - 1]),
        ("1:4294967295", None, [2**32 - 3, 2**32 - 2, 2**32 - 1]),
        (",".join(["1:4294967295"] * 1_000), 100, [97, 98, 99]),
        (",".join(f"{first}:{first + 999_998}" for first in range(1, 4_000_000_000, 1_000_000)), 11, [8, 9, 10]),
        ("9" * 50_000, None, []),
    ],
)
def test_of_ranges_only_the_newest_are_written_out(uid_set: str, below: int | None, uids: list[int]) -> None:
    assert newest(answer(uid_set), below=below, most=3) == uids
