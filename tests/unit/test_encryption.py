"""Encrypted passwords: readable while their key is in the ring, and never otherwise."""

import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snoozer.runtime import encryption
from snoozer.runtime.encryption import Undecryptable

OLD, NEW, OTHER = "the-old-key-of-a-test", "the-new-key-of-a-test", "another-key-of-a-test"


@given(text=st.text())
def test_every_text_comes_back(text: str) -> None:
    assert encryption.decrypt([NEW], encryption.encrypt([NEW], text)) == text


def test_a_rotated_ring_reads_old_tokens_and_knows_that_they_are_old() -> None:
    before = encryption.encrypt([OLD], "wordpass")
    assert encryption.is_current([OLD], before)
    assert encryption.decrypt([NEW, OLD], before) == "wordpass"
    assert not encryption.is_current([NEW, OLD], before)
    after = encryption.encrypt([NEW, OLD], "wordpass")
    assert encryption.is_current([NEW, OLD], after)
    assert encryption.decrypt([NEW], after) == "wordpass"


@pytest.mark.parametrize("ring", [[NEW], [OTHER, NEW]])
def test_a_key_that_left_the_ring_asks_for_the_password_again(ring: list[str]) -> None:
    token = encryption.encrypt([OLD], "wordpass")
    with pytest.raises(Undecryptable) as raised:
        encryption.decrypt(ring, token)
    assert "Enter the password again" in str(raised.value)
    shown = "".join(traceback.format_exception(raised.value))
    assert all(secret not in shown for secret in (*ring, OLD, "wordpass"))


def test_a_changed_token_is_refused_and_two_of_one_password_differ() -> None:
    token = encryption.encrypt([NEW], "wordpass")
    assert token != encryption.encrypt([NEW], "wordpass")
    assert b"wordpass" not in token
    for broken in (token[:-4], token[:40] + b"AAAA" + token[44:], b"", b"\xff"):
        with pytest.raises(Undecryptable):
            encryption.decrypt([NEW], broken)


def test_the_key_serves_no_other_purpose() -> None:
    """The signing keys of links and forms come from the same ring."""
    from snoozer.runtime import secret_keys

    assert secret_keys.derive(NEW, purpose=encryption.PURPOSE) != secret_keys.derive(NEW, purpose=b"links")
