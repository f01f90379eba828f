"""Sends and certificates for the tests of mail."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from snoozer.queue.reminder import Send
from snoozer.runtime.outbound import tls_context as trusted_by_us
from tests.mail.inbound_servers import RunningServer, StartServer

Sends = Callable[..., Send]


@pytest.fixture
def a_send() -> Sends:
    """One row of the ledger, promised for Friday 6 March 2026, 08:00 in Berlin."""

    def make(**changes: Any) -> Send:
        row: dict[str, Any] = {
            "snooze_id": 42,
            "claim_token": UUID(int=7),
            "user_email": "ann@example.com",
            "message_id": "<original@example.com>",
            "scheduled_for": datetime(2026, 3, 6, 7, 0, tzinfo=UTC),
            "dated": datetime(2026, 3, 6, 7, 0, tzinfo=UTC),
            "reminder_message_id": "<0123456789abcdef@snoozer.example>",
            "subject": "Quarterly figures",
            "sender_email": "Anna Berg <anna.berg@example.com>",
            "note": "Ask about travel.",
            "zone": "Europe/Berlin",
            "bytes_sha256": None,
        }
        return Send(**(row | changes))

    return make


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    """A server's TLS for `localhost`, and the file a client must trust to accept it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=12))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    trusted, both = folder / "trusted.pem", folder / "server.pem"
    trusted.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    both.write_bytes(
        trusted.read_bytes()
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return context, trusted


@pytest.fixture
def trusting(certificate: tuple[ssl.SSLContext, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """We trust the certificate of the tests."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    trusted_by_us.cache_clear()
    yield
    trusted_by_us.cache_clear()


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    with ExitStack() as servers:

        def start(protocol: Literal["lmtp", "smtp"] = "lmtp", **changes: Any) -> RunningServer:
            server = RunningServer(protocol=protocol, **changes)
            servers.callback(server.inbound.stop)
            return server

        yield start
