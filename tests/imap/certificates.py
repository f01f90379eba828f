"""A certificate authority of our own, and what it signs."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class ServerFiles:
    """What a server of that name is configured with."""

    certificate: Path
    key: Path


class Authority:
    """Signs server certificates; a client that trusts `certificate` trusts them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("Snoozer's tests")
        self._certificate = (
            _draft(self._name, self._name, self._key, ends_in=12 * _HOUR)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate = folder / "authority.pem"
        self.certificate.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, host: str, *, ends_in: timedelta = 6 * _HOUR) -> ServerFiles:
        """A certificate for that name; one that ends in the past has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        made = (
            _draft(_name(host), self._name, key, ends_in=ends_in)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        files = ServerFiles(
            certificate=self._folder / f"{made.serial_number}.pem", key=self._folder / f"{made.serial_number}.key"
        )
        files.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        files.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return files


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _draft(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, *, ends_in: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 24 * _HOUR)
        .not_valid_after(now + ends_in)
    )
