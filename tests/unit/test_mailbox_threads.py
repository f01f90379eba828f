"""Conversations as a server tells them."""

import pytest

from snoozer.mailboxes.imap.session import Reply
from snoozer.mailboxes.imap.threads import MAX_UIDS, read_trees


def trees(*rows: str) -> list[set[int]]:
    reply = Reply(ok=True, text=b"", untagged={"THREAD": [row.encode() for row in rows]})
    return [set(tree) for tree in read_trees(reply)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["(2)(3 6 (4 23)(44 7 96))"], [{2}, {3, 6, 4, 23, 44, 7, 96}]),
        (["(1 2)", "(3)"], [{1, 2}, {3}]),
        (["(1 2)(2 3)(1 2)"], [{1, 2}, {3}]),
        ([f"(1 {'9' * 5000})"], [{1}]),
        (["(" * 9_000 + "1" + ")" * 9_000], [{1}]),
    ],
    ids=["nested", "rows", "overlapping", "digits", "deep"],
)
def test_a_message_is_in_one_conversation(rows: list[str], expected: list[set[int]]) -> None:
    assert trees(*rows) == expected


def test_more_messages_than_were_asked_about_are_left_out() -> None:
    many = " ".join(map(str, range(10, 10 + MAX_UIDS)))
    assert trees("(1 2)", f"({many})", "(3)") == [{1, 2}]
