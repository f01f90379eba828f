"""Keys that can be guessed are refused before anything is signed with them."""

import secrets

import pytest

from snoozer.runtime import secret_keys

GOOD = "a-test-key-of-enough-length"


@pytest.mark.parametrize(
    "weak",
    [
        "aaaaaaaaaaaaaaaa",
        "password12345678",
        "Passw0rd!Passw0rd!",
        "0123456789abcdef",
        "qwertyuiopasdfgh",
        "snoozersnoozersnoozer",
        "abcabcabcabcabcabc",
        "please-change-this-key",
        "my-super-secret-key",
        "00000000000000000000000000000001",
        "brief-key",
        "changeme",
    ],
)
def test_a_key_that_can_be_guessed_is_refused_wherever_it_stands_in_the_ring(weak: str) -> None:
    for ring in ([weak], [GOOD, weak]):
        with pytest.raises(ValueError, match=r"SECRET_KEY holds .*; make one with") as refused:
            secret_keys.validate(ring)
        assert weak not in str(refused.value)


@pytest.mark.parametrize("good", [GOOD, "correct horse battery staple", "3141592653589793238462643383"])
def test_a_long_passphrase_is_accepted(good: str) -> None:
    secret_keys.validate([good])


def test_the_proposed_way_to_make_a_key_makes_good_ones() -> None:
    for _ in range(1_000):
        secret_keys.validate([secrets.token_urlsafe(48), secrets.token_hex(32)])
