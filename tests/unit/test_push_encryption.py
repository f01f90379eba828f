"""What is pushed can be read by the browser alone, and the push service knows who sent it."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from snoozer.notify import push_encryption
from snoozer.notify.push_encryption import InvalidSubscription
from tests.push_service import Subscription, claims_of, decoded, encoded, point

# RFC 8291, appendix A.
PLAIN = b"When I grow up, I want to be a watermelon"
SENDER = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
RECEIVER = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
AUTH, SALT = "BTBZMqHH6r4Tts7J_aSIgg", "DGv6ra1nlYgDCS1FRnbzlw"
SEALED = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_"
    "yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)


def test_the_example_of_the_rfc_is_encrypted_as_there() -> None:
    private = ec.derive_private_key(int.from_bytes(decoded(SENDER), "big"), ec.SECP256R1())
    keys = {"public_key": decoded(RECEIVER), "auth_secret": decoded(AUTH)}
    assert encoded(push_encryption.seal(PLAIN, private=private, salt=decoded(SALT), **keys)) == SEALED


@pytest.mark.parametrize("length", [0, 1, 500, push_encryption.MAX_PLAINTEXT])
def test_a_browser_reads_what_was_encrypted_for_it(length: int) -> None:
    browser = Subscription("https://push.example/1")
    public, auth = push_encryption.read_keys(*browser.keys)
    body = push_encryption.encrypt(b"x" * length, public_key=public, auth_secret=auth)
    assert browser.decrypt(body) == b"x" * length
    assert len(body) <= 4096


def test_the_same_text_is_never_the_same_body_and_one_that_is_too_long_is_none() -> None:
    browser = Subscription("https://push.example/1")
    keys = {"public_key": point(browser.key), "auth_secret": browser.auth}
    assert push_encryption.encrypt(PLAIN, **keys) != push_encryption.encrypt(PLAIN, **keys)
    with pytest.raises(ValueError, match="3993"):
        push_encryption.encrypt(b"x" * (push_encryption.MAX_PLAINTEXT + 1), **keys)


def test_a_request_is_signed_for_its_push_service_for_less_than_a_day() -> None:
    pair = push_encryption.new_key_pair()
    header = push_encryption.authorization(
        "https://push.example:8443/secret/1?x=y", private_key=pair.private, subject="mailto:a@b.example", now=1_000_000
    )
    claims = claims_of(header)
    assert claims["aud"] == "https://push.example:8443"
    assert claims["sub"] == "mailto:a@b.example"
    assert 0 < claims["exp"] - 1_000_000 <= 86_400
    assert claims["key"] == pair.public
    assert "secret" not in str(claims)


@pytest.mark.parametrize(
    ("public", "auth"),
    [
        ("", ""),
        (RECEIVER, ""),
        (RECEIVER, encoded(b"x" * 15)),
        (RECEIVER[:-4], AUTH),
        (encoded(b"\x04" + b"x" * 64), AUTH),
        ("ä", AUTH),
        (encoded(b"\x02" + b"x" * 32), AUTH),
        (RECEIVER, "!!"),
    ],
)
def test_keys_that_are_none_are_refused(public: str, auth: str) -> None:
    with pytest.raises(InvalidSubscription):
        push_encryption.read_keys(public, auth)


def test_the_key_is_not_in_a_repr() -> None:
    pair = push_encryption.new_key_pair()
    assert pair.private not in repr(pair)
