"""The doctor's look at the DNS records that make mail of this Snoozer trusted: SPF (RFC 7208), DKIM (RFC 6376), DMARC
(RFC 7489), MX, and the name of the mail server's address."""

import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dns.exception import DNSException
from dns.name import Name
from dns.resolver import NXDOMAIN, NoAnswer, Resolver
from dns.reversename import from_address

from snoozer.cli.finding import Finding
from snoozer.mail.smtp.url import is_private

SECONDS = 4.0
MAX_ADDRESSES = 4

_ALL = re.compile(r"([-~?+]?)all", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Sender:
    """How reminders are sent: the domain of MAIL_FROM, the domain to which they bounce, the mail server's host (empty
    if it is not known), and the DKIM selector with its record if Snoozer signs."""

    domain: str
    bounces: str
    host: str
    dkim: tuple[str, str] | None = None


def sender_findings(sender: Sender, name_server: Resolver | None = None) -> Iterator[Finding]:
    """A finding for each kind of record, with the record to add; by the machine's name server unless one is given."""
    records = _Records(name_server)
    looks: dict[str, Callable[[], Finding]] = {
        "SPF": lambda: _spf(sender.bounces, records),
        "DKIM": lambda: _dkim(sender, records),
        "DMARC": lambda: _dmarc(sender.domain, records),
        "MX": lambda: _mx(sender.bounces, records),
        "PTR": lambda: _ptr(sender.host, records),
    }
    for check, look in looks.items():
        try:
            yield look()
        except _NoReplyError:
            yield Finding(check, "skipped", "No name server answered.")


class _NoReplyError(Exception):
    """No name server answered."""


class _Records:
    def __init__(self, name_server: Resolver | None) -> None:
        self._name_server = name_server
        self._is_silent = False

    def ask(self, name: str | Name, kind: Literal["A", "AAAA", "MX", "PTR", "TXT"]) -> Sequence[Any]:
        """The records, none if the name has none of this kind. If no server answered once, none is asked again."""
        if self._is_silent:
            raise _NoReplyError
        try:
            server = self._name_server or Resolver()
            return list(server.resolve(name, kind, search=False, lifetime=SECONDS))
        except (NXDOMAIN, NoAnswer, UnicodeError):
            return []
        except (DNSException, OSError):
            self._is_silent = True
            raise _NoReplyError from None

    def texts(self, name: str, version: str) -> list[str]:
        """The TXT records of one version, such as v=spf1. The strings of one record belong together."""
        found = [b"".join(record.strings).decode("ascii", "replace") for record in self.ask(name, "TXT")]
        return [text for text in found if re.split(r"[ ;]", text, maxsplit=1)[0].lower() == version]

    def addresses(self, host: str) -> list[str]:
        try:
            return [str(ipaddress.ip_address(host))]
        except ValueError:
            return [record.address for record in (*self.ask(host, "A"), *self.ask(host, "AAAA"))][:MAX_ADDRESSES]


def _spf(domain: str, records: _Records) -> Finding:
    found = records.texts(domain, "v=spf1")
    if not found:
        add = f'Add: {domain} TXT "v=spf1 … -all", with the hosts that send its mail in place of the dots.'
        return Finding("SPF", "advice", f"{domain} has no SPF record, so receivers may take its mail for forged.", add)
    if len(found) > 1:
        text = f"{domain} has {len(found)} SPF records, so receivers use none of them."
        return Finding("SPF", "wrong", text, "Make one of them.")
    terms = found[0].split()[1:]
    others = next((match[1] or "+" for term in terms if (match := _ALL.fullmatch(term))), "?")
    is_elsewhere = any(term.lower().startswith("redirect=") for term in terms)
    if others == "+":
        text = f"{domain} lets every host send its mail: {found[0]}"
        return Finding("SPF", "wrong", text, "Name the hosts, and end with -all.")
    if others == "?" and not is_elsewhere:
        text = f"{domain} says nothing of hosts that it does not name: {found[0]}"
        return Finding("SPF", "advice", text, "End it with -all or ~all.")
    return Finding("SPF", "right", f"{domain}: {found[0]}")


def _dkim(sender: Sender, records: _Records) -> Finding:
    if sender.dkim is None:
        return Finding(
            "DKIM", "skipped", "Snoozer signs no mail here, and the selector of the mail server is not known."
        )
    selector, wanted = sender.dkim
    name = f"{selector}._domainkey.{sender.domain}"
    found = [b"".join(record.strings).decode("ascii", "replace") for record in records.ask(name, "TXT")]
    if _key(wanted) in map(_key, found):
        return Finding("DKIM", "right", f"{name} has the key that Snoozer signs with.")
    text = f"{name} has {'another key' if found else 'no record'}, so receivers find every signature wrong."
    return Finding("DKIM", "wrong", text, f'Set: {name} TXT "{wanted}"')


def _key(record: str) -> str:
    """The public key of a DKIM record."""
    tags = dict(tag.split("=", 1) for tag in re.sub(r"\s", "", record).split(";") if "=" in tag)
    return tags.get("p", "")


def _dmarc(domain: str, records: _Records) -> Finding:
    labels = domain.split(".")
    for above in range(len(labels) - 1):
        name = ".".join(("_dmarc", *labels[above:]))
        if not (found := records.texts(name, "v=dmarc1")):
            continue
        if len(found) > 1:
            text = f"{name} has {len(found)} records, so receivers use none of them."
            return Finding("DMARC", "wrong", text, "Make one of them.")
        return Finding("DMARC", "right", f"{name}: {found[0]}")
    add = f'Add: _dmarc.{domain} TXT "v=DMARC1; p=none; rua=mailto:…", and p=quarantine once its reports are good.'
    return Finding("DMARC", "advice", f"{domain} has no DMARC record; large providers want one.", add)


def _mx(domain: str, records: _Records) -> Finding:
    hosts = sorted((record.preference, str(record.exchange).rstrip(".")) for record in records.ask(domain, "MX"))
    if hosts == [(0, "")]:
        text = f"{domain} says that it takes no mail (RFC 7505), so bounces and replies are lost."
        return Finding("MX", "wrong", text, f"Name the host that takes its mail: {domain} MX 10 …")
    if hosts:
        return Finding("MX", "right", f"Mail to {domain} goes to {', '.join(host for _, host in hosts)}.")
    add = f"Add: {domain} MX 10 …, with the host that takes its mail."
    if records.addresses(domain):
        return Finding("MX", "advice", f"{domain} has no MX record; mail to it goes to its own address.", add)
    return Finding("MX", "advice", f"No mail reaches {domain}, so bounces and replies are lost.", add)


def _ptr(host: str, records: _Records) -> Finding:
    if not host or is_private(host):
        return Finding("PTR", "skipped", "SMTP_URL names no public mail server here.")
    addresses, unnamed = records.addresses(host), []
    if not addresses:
        return Finding("PTR", "skipped", f"{host} has no address.")
    for address in addresses:
        names = [str(record.target) for record in records.ask(from_address(address), "PTR")]
        if not any(address in records.addresses(name) for name in names[:MAX_ADDRESSES]):
            unnamed.append(address)
    if unnamed:
        text = (
            f"{', '.join(unnamed)} of {host} has no name that leads back to it; receivers refuse mail from such hosts."
        )
        return Finding("PTR", "advice", text, "If it sends to other providers itself, have its provider set the name.")
    return Finding("PTR", "right", f"The addresses of {host} have names that lead back to them.")
