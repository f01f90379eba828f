"""DKIM signatures, judged by dkimpy: they cover what RFC 8058 asks for, and are the same in every process."""

import hashlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import dkim
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from hypothesis import HealthCheck, given, settings

from snoozer.mail.dkim import InvalidKeyError, Signer
from snoozer.settings import Settings
from snoozer.web.people.sign_in.mailing import deliver_notice
from tests.mail.composed import opened, reminder
from tests.mail.conftest import Sends
from tests.mail.hostile import HOSTILE
from tests.mail.scripted_server import ScriptedServer


def in_pem(key: PrivateKeyTypes, *, password: bytes | None = None) -> bytes:
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


@cache
def a_key() -> bytes:
    return in_pem(rsa.generate_private_key(65537, 2048))


@cache
def a_signer() -> Signer:
    return Signer(a_key(), domain="snoozer.example", selector="s1")


def is_valid(mail: bytes) -> bool:
    """Whether a receiver accepts the signature, with the record that `snoozer doctor` prints."""
    asked: list[bytes] = []

    def record(name: bytes, timeout: int = 5) -> bytes:
        asked.append(name)
        return a_signer().record.encode()

    valid = dkim.verify(mail, dnsfunc=record)
    assert asked == [b"s1._domainkey.snoozer.example."]
    return bool(valid)


def test_a_signature_covers_one_click_and_what_could_be_added(a_send: Sends) -> None:
    plain = reminder(a_send(repeats=True), inbound_domain="in.snoozer.example")
    mail = a_signer().sign(plain)
    assert mail.endswith(plain)
    assert is_valid(mail)
    signature = opened(mail)["DKIM-Signature"].replace(" ", "")
    assert ";t=" not in signature
    covered = signature.partition(";h=")[2].partition(";")[0].split(":")
    assert {"list-unsubscribe", "list-unsubscribe-post", "from", "reply-to", "content-type"} <= set(covered)
    for field in (b"List-Unsubscribe: <", b"List-Unsubscribe-Post: ", b"Subject: ", b"Reply-To: ", b"To: "):
        assert not is_valid(mail.replace(b"\n" + field, b"\n" + field + b"x", 1))
    for added in (b"Subject: x\r\n", b"From: x@evil.example\r\n", b"Reply-To: x@evil.example\r\n"):
        assert not is_valid(added + mail)
        assert not is_valid(mail.replace(plain, added + plain))
    assert not is_valid(mail + b"more\r\n")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(subject=HOSTILE, sender=HOSTILE, note=HOSTILE, message_id=HOSTILE)
def test_what_strangers_wrote_does_not_break_a_signature(
    a_send: Sends, subject: str, sender: str, note: str, message_id: str
) -> None:
    mail = reminder(
        a_send(subject=subject, sender_email=sender, note=note, message_id=message_id, repeats=True),
        sign=a_signer().sign,
    )
    assert is_valid(mail)
    # A server may fold fields in another way.
    head, _, body = mail.partition(b"\r\n\r\n")
    assert is_valid(head.replace(b"\r\n ", b"\r\n\t  ") + b"\r\n\r\n" + body)


def test_the_same_row_and_key_give_the_same_bytes_in_every_process(a_send: Sends, tmp_path: Path) -> None:
    import pickle

    file = tmp_path / "key.pem"
    file.write_bytes(a_key())
    program = (
        "import sys, hashlib, pickle; from pathlib import Path\n"
        "from snoozer.mail.dkim import signer; from tests.mail.composed import reminder\n"
        "sign = signer(Path(sys.argv[1]), domain='snoozer.example', selector='s1').sign\n"
        "print(hashlib.sha256(reminder(pickle.loads(bytes.fromhex(sys.stdin.read())), sign=sign)).hexdigest())"
    )
    send = a_send(subject="דוח 🎉")
    digests = {
        subprocess.run(
            [sys.executable, "-c", program, str(file)],
            input=pickle.dumps(send).hex(),
            env=os.environ | {"PYTHONHASHSEED": seed, "TZ": zone},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }
    assert digests == {hashlib.sha256(reminder(send, sign=a_signer().sign)).hexdigest()}


def test_a_second_copy_has_the_signature_of_the_first(a_send: Sends) -> None:
    first = reminder(a_send(repeats=True), keys=["old"], sign=a_signer().sign)
    again = a_send(bytes_sha256=hashlib.sha256(first).hexdigest())
    assert reminder(again, keys=["new", "old"], sign=a_signer().sign) == first


def test_a_sign_in_mail_is_signed_as_well(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_bytes(a_key())
    with ScriptedServer() as server:
        given = Settings(
            SMTP_URL=f"smtp://127.0.0.1:{server.smtp_server().port}",
            MAIL_FROM="Snoozer <snoozer@snoozer.example>",
            SNOOZER_DKIM_KEY_FILE=file,
            SNOOZER_DKIM_SELECTOR="s1",
        )
        words = {"link": "https://snoozer.example/sign-in/abc", "code": "482 913", "minutes": "10"}
        deliver_notice("sign_in", words, to="ann@example.com", settings=given, language="en")
        assert is_valid(server.received[0].data)


@pytest.mark.parametrize(
    ("pem", "words"),
    [
        (b"", "holds no private key"),
        (b"\xff-----BEGIN", "holds no private key"),
        (in_pem(ed25519.Ed25519PrivateKey.generate()), "must hold an RSA key"),
        (in_pem(ed25519.Ed25519PrivateKey.generate(), password=b"secret"), "holds no private key"),
    ],
)
def test_a_key_that_cannot_sign_is_refused_in_one_sentence(pem: bytes, words: str) -> None:
    with pytest.raises(InvalidKeyError, match=words):
        Signer(pem, domain="snoozer.example", selector="s1")
