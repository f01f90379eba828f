"""To and Cc as strangers write them: divided into mailboxes, counted, and no address is cut into another one."""

import pytest

from snoozer.mail.message_parser import parse


@pytest.mark.parametrize(
    ("raw", "mailboxes"),
    [
        ("ann@a.example", [(None, "ann@a.example")]),
        ("Ann <ann@a.example>, bob@b.example", [("Ann", "ann@a.example"), (None, "bob@b.example")]),
        ("Doe, Ann <ann@a.example>; Bob <bob@b.example>", [("Doe, Ann", "ann@a.example"), ("Bob", "bob@b.example")]),
        ('"Doe, Ann" <ann@a.example>,bob@b.example', [("Doe, Ann", "ann@a.example"), (None, "bob@b.example")]),
        ('"x@y.example, z" <ann@a.example>', [("x@y.example, z", "ann@a.example")]),
        ("Friends: ann@a.example, Bob <bob@b.example>;", [(None, "ann@a.example"), ("Bob", "bob@b.example")]),
        ("undisclosed-recipients:;", []),
        ("A:; Bob <bob@b.example>", [("Bob", "bob@b.example")]),
        (
            "=?utf-8?q?Doe=2C_=C3=84nn?= <a@a.example>, b@b.example",
            [("Doe, Änn", "a@a.example"), (None, "b@b.example")],
        ),
        ("ann@a.example (Ann, of A), bob@b.example", [("Ann, of A", "ann@a.example"), (None, "bob@b.example")]),
        (",, ,ann@a.example,,", [(None, "ann@a.example")]),
        ("<@relay.example,@c.example:ann@a.example>, b@b.example", [(None, "ann@a.example"), (None, "b@b.example")]),
        ('"Ann <ann@a.example>', [("Ann", "ann@a.example")]),
        ("", []),
    ],
)
def test_to_is_divided_into_mailboxes(raw: str, mailboxes: list[tuple[str | None, str | None]]) -> None:
    found = parse(f"To: {raw}\r\nSubject: x\r\n\r\nHello".encode())
    assert [(one.name, one.email) for one in found.to.mailboxes] == mailboxes
    assert (found.to.more, found.cc.mailboxes) == (0, ())


def test_all_fields_are_one_list_and_what_is_not_read_is_counted() -> None:
    many = ", ".join(f"person-{n}@mail.example" for n in range(300))
    found = parse(f"To: ann@a.example\r\nCc: {many}\r\nTo: bob@b.example\r\n\r\nHello".encode())
    assert [one.email for one in found.to.mailboxes] == ["ann@a.example", "bob@b.example"]
    assert (len(found.cc.mailboxes), found.cc.more) == (100, 200)


@pytest.mark.parametrize("length", range(180, 200))
def test_no_address_is_cut_into_another_one(length: int) -> None:
    long = ", ".join(f"{'p' * length}@mail.example" for _ in range(99))
    found = parse(f"Cc: {long}\r\n\r\nHello".encode()).cc
    assert {one.email for one in found.mailboxes} == {f"{'p' * length}@mail.example"}
    assert found.cut is (99 * (length + 15) - 2 > 20_000)


def test_a_name_turns_nothing_around() -> None:
    found = parse("To: \u202eAnn\n <ann@a.example>\r\n\r\nHello".encode())
    assert [(one.name, one.email) for one in found.to.mailboxes] == [("Ann", "ann@a.example")]
