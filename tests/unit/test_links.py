"""Links: only what was signed is verified."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snoozer.mail import links
from snoozer.mail.links import InvalidLink, Link, is_old, occurrence_id, sign, verify

PROMISED = datetime(2026, 3, 6, 7, 0, 0, 123_456, tzinfo=UTC)
DONE = Link(snooze_id=42, scheduled_for=PROMISED, action="done")

LINKS = st.builds(
    Link,
    snooze_id=st.integers(-(2**63), 2**63 - 1),
    scheduled_for=st.datetimes(timezones=st.just(UTC)),
    action=st.sampled_from(["done", "again", "see"]),
    phrase=st.none() | st.text(st.characters(codec="utf-8"), min_size=1, max_size=links.MAX_PHRASE_LENGTH),
)


@given(link=LINKS)
def test_a_link_comes_back_as_it_was_signed(link: Link) -> None:
    token = sign(link, keys=["new", "old"])
    assert verify(token, keys=["new", "old"]) == link
    assert set(token) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@pytest.mark.parametrize(
    ("token", "action", "phrase"),
    [
        ("AWR1j-sAAAAAAAAAKgAGTFWaA55AABErEJymco_5mDMmo2lAq7s", "done", None),
        ("AWR1j-sAAAAAAAAAKgAGTFWaA55AAXRvbW9ycm93BOMEOo87LW-eMbuKNL_riQ", "again", "tomorrow"),
        ("AWR1j-sAAAAAAAAAKgAGTFWaA55AAW5leHQgd2Vlayok_yLJEwYziL9QcbAh4s8", "again", "next week"),
        ("AWR1j-sAAAAAAAAAKgAGTFWaA55AAe1Rz4iAsu_eLpLO7afaqx0", "again", None),
        ("AWR1j-sAAAAAAAAAKgAGTFWaA55AAkj-_Xlwf2dgKPXCh0yFzV8", "see", None),
    ],
)
def test_links_that_were_mailed_are_read_for_ever(token: str, action: links.Action, phrase: str | None) -> None:
    link = Link(snooze_id=42, scheduled_for=PROMISED, action=action, phrase=phrase)
    assert verify(token, keys=["newer key", "key"]) == link


def test_every_act_is_one_piece_of_a_path() -> None:
    assert all(re.fullmatch("[a-z-]+", act) for act in links.ACTS)


@given(junk=st.text(st.characters(), max_size=400) | st.text("ABCabc012-_=", max_size=2_000))
def test_any_other_string_raises_invalid_link(junk: str) -> None:
    with pytest.raises(InvalidLink):
        verify(junk, keys=["key"])


@given(junk=st.binary(max_size=200))
def test_any_other_bytes_in_canonical_base64_raise_invalid_link(junk: bytes) -> None:
    with pytest.raises(InvalidLink):
        verify(urlsafe_b64encode(junk).rstrip(b"=").decode(), keys=["key", "other"])


def test_a_change_of_any_bit_is_refused() -> None:
    token = sign(Link(snooze_id=1, scheduled_for=PROMISED, action="again", phrase="tomorrow"), keys=["key"])
    raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    for index in range(len(raw) * 8):
        changed = bytearray(raw)
        changed[index // 8] ^= 1 << index % 8
        with pytest.raises(InvalidLink):
            verify(urlsafe_b64encode(changed).rstrip(b"=").decode(), keys=["key"])


def test_a_change_of_any_letter_is_refused_even_where_it_decodes_to_the_same_bytes() -> None:
    for phrase in ("a", "ab", "abc"):
        token = sign(Link(snooze_id=1, scheduled_for=PROMISED, action="again", phrase=phrase), keys=["key"])
        for index in range(len(token)):
            for letter in "Aa0-_=. \n":
                changed = token[:index] + letter + token[index + 1 :]
                if changed != token:
                    with pytest.raises(InvalidLink):
                        verify(changed, keys=["key"])
        for padded in (token + "=", token + "\n", " " + token, token + "==", token[:-1]):
            with pytest.raises(InvalidLink):
                verify(padded, keys=["key"])


def test_three_generations_of_keys_sign_with_the_newest_and_verify_with_all() -> None:
    rings = [["one"], ["two", "one"], ["three", "two", "one"]]
    tokens = [sign(DONE, keys=ring) for ring in rings]
    assert len(set(tokens)) == 3
    assert tokens[2] == sign(DONE, keys=["three"])
    assert all(verify(token, keys=rings[2]) == DONE for token in tokens)
    with pytest.raises(InvalidLink):
        verify(tokens[0], keys=["three", "two"])
    with pytest.raises(InvalidLink):
        verify(tokens[0], keys=[])


def test_the_same_link_and_key_give_the_same_token_in_any_zone() -> None:
    tokyo = PROMISED.astimezone(timezone(timedelta(hours=9)))
    assert sign(DONE, keys=["key"]) == sign(Link(snooze_id=42, scheduled_for=tokyo, action="done"), keys=["key"])


def test_another_occurrence_act_or_phrase_is_another_token() -> None:
    later = PROMISED + timedelta(microseconds=1)
    asked = [
        DONE,
        Link(snooze_id=43, scheduled_for=PROMISED, action="done"),
        Link(snooze_id=42, scheduled_for=later, action="done"),
        Link(snooze_id=42, scheduled_for=PROMISED, action="again"),
        Link(snooze_id=42, scheduled_for=PROMISED, action="again", phrase="tomorrow"),
    ]
    assert len({sign(link, keys=["key"]) for link in asked}) == len(asked)


def test_a_link_grows_old_after_thirty_days() -> None:
    assert not is_old(PROMISED, PROMISED + timedelta(days=30))
    assert is_old(PROMISED, PROMISED + timedelta(days=30, microseconds=1))
    assert not is_old(PROMISED, PROMISED - timedelta(days=400))


def test_nonsense_is_not_signed() -> None:
    naive = PROMISED.replace(tzinfo=None)
    for link, keys in [
        (DONE, []),
        (Link(snooze_id=1, scheduled_for=naive, action="done"), ["key"]),
        (Link(snooze_id=2**63, scheduled_for=PROMISED, action="done"), ["key"]),
        (Link(snooze_id=1, scheduled_for=PROMISED, action="again", phrase="x" * 101), ["key"]),
    ]:
        with pytest.raises(ValueError):
            sign(link, keys=keys)


def test_the_occurrence_id_reveals_nothing_and_opens_nothing() -> None:
    token = sign(DONE, keys=["key"])
    name = occurrence_id(token)
    assert re.fullmatch("[0-9a-f]{32}", name)
    assert name == occurrence_id(sign(DONE, keys=["key", "old"]))
    assert name != occurrence_id(sign(DONE, keys=["other"]))
    with pytest.raises(InvalidLink):
        verify(name, keys=["key"])


def test_the_error_states_what_happened() -> None:
    with pytest.raises(InvalidLink, match=r"^This link was not made here, or it was changed on its way\.$"):
        verify("", keys=["key"])
